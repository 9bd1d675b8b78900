"""Privacy accounting and calibration beside Opacus and Google's dp-accounting.

Calibration: (epsilon, delta, sampling rate, steps) -> the smallest noise multiplier each tool finds. Ours runs in its
own process and times itself; peers run here, and their imports are not timed. Ours is the median of three calls; `cold`
is the ratio for the first of the three, which also pays for fresh memory and tables, beside a peer that has long been
warm. Calls alternate, ratios are medians over the pairs. The peers' answers are also put to our accountant, so that
"smaller" never means "invalid". Opacus' accountants need numpy and scipy only: they are
loaded without the rest of the package, which would ask for torch.
"""
import json
import os
import statistics
import subprocess
import sys
import time
import types
import warnings

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, "build-bench", "venv")
BINARY = os.path.join(os.environ.get("PARLEY_BENCH_BUILD", os.path.join(ROOT, "build")), "bench", "accounting_bench")
CASES = [  # epsilon, delta, sampling rate, steps
    (1.0, 1e-5, 0.01, 1000),
    (3.0, 1e-6, 0.01, 10000),
    (8.0, 1e-5, 0.004, 5000),
    (0.5, 1e-6, 0.001, 20000),
    (2.0, 1e-5, 0.1, 300),
]
PAIRS = 5


def into_venv():
    """Runs this file again inside build-bench/venv, which is made on first use."""
    python = os.path.join(VENV, "bin", "python")
    if os.path.realpath(sys.prefix) == os.path.realpath(VENV):
        return
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    pip = [python, "-m", "pip", "install", "-q"]
    probe = "import numpy, scipy, dp_accounting, importlib.util as u; assert u.find_spec('opacus')"
    if subprocess.run([python, "-c", probe], capture_output=True, check=False).returncode:
        subprocess.run([*pip, "numpy", "scipy", "dp-accounting==0.6.0"], check=True)
        subprocess.run([*pip, "--no-deps", "opacus==1.6.0", "opt_einsum"], check=True)
    sys.exit(subprocess.run([python, os.path.abspath(__file__), *sys.argv[1:]], check=False).returncode)


def load_opacus():
    import importlib.util

    spec = importlib.util.find_spec("opacus")
    package = types.ModuleType("opacus")
    package.__path__ = list(spec.submodule_search_locations)
    sys.modules["opacus"] = package
    optimizers = types.ModuleType("opacus.optimizers")
    optimizers.DPOptimizer = object
    sys.modules["opacus.optimizers"] = optimizers
    from opacus.accountants.utils import get_noise_multiplier

    return get_noise_multiplier


def ours(*arguments):
    result = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, check=True)
    return json.loads(result.stdout)


def timed(call):
    start = time.perf_counter()
    value = call()
    return value, time.perf_counter() - start


def main():
    into_venv()
    warnings.filterwarnings("ignore")
    get_noise_multiplier = load_opacus()
    import dp_accounting
    from dp_accounting import pld, rdp

    def google(epsilon, delta, rate, steps, make):
        def event(sigma):
            inner = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(sigma))
            return dp_accounting.SelfComposedDpEvent(inner, steps)

        return dp_accounting.calibrate_dp_mechanism(make, event, epsilon, delta,
                                                    dp_accounting.LowerEndpointAndGuess(0, 1))

    peers = {
        "opacus rdp": lambda e, d, q, t: get_noise_multiplier(target_epsilon=e, target_delta=d, sample_rate=q, steps=t,
                                                              accountant="rdp"),
        "opacus prv": lambda e, d, q, t: get_noise_multiplier(target_epsilon=e, target_delta=d, sample_rate=q, steps=t,
                                                              accountant="prv"),
        "google rdp": lambda e, d, q, t: google(e, d, q, t, rdp.RdpAccountant),
        "google pld": lambda e, d, q, t: google(e, d, q, t, pld.PLDAccountant),
    }
    chosen = [p for p in peers if not sys.argv[1:] or any(word in p for word in sys.argv[1:])]
    print(
        f"{'case':>34} {'peer':>11} {'their s':>9} {'our s':>9} {'ratio':>7} {'cold':>6} {'their sigma':>12} "
        f"{'our sigma':>12} {'their true eps':>15}"
    )
    failures = 0
    for epsilon, delta, rate, steps in CASES:
        for peer in chosen:
            ratios, cold, their_seconds, our_seconds = [], [], [], []
            for pair in range(PAIRS):
                theirs, seconds = timed(lambda: peers[peer](epsilon, delta, rate, steps))
                own = ours("calibrate", epsilon, delta, rate, steps, "best", 3)
                mine = statistics.median(own["seconds"])
                ratios.append(seconds / mine)
                cold.append(seconds / own["seconds"][0])
                their_seconds.append(seconds)
                our_seconds.append(mine)
                if pair == 0 and seconds > 20:
                    break  # one pair of this length says enough
            true = ours("account", "pld", delta, theirs, rate, steps, 1)["epsilon"]
            ratio = statistics.median(ratios)
            # A peer whose noise is smaller than ours must have overstepped the target.
            bad = own["sigma"] > theirs and true <= epsilon * (1 - 1e-4)
            failures += bad
            print(f"{f'eps={epsilon} delta={delta} q={rate} T={steps}':>34} {peer:>11} "
                  f"{statistics.median(their_seconds):9.3f} "
                  f"{statistics.median(our_seconds):9.4f} {ratio:7.0f} {statistics.median(cold):6.0f} {theirs:12.6f} "
                  f"{own['sigma']:12.6f} {true:15.6f}{'  OURS LARGER' if bad else ''}")
    for accountant in ("pld", "rdp"):
        run = ours("account", accountant, 1e-5, 1.0, 0.01, 10000, 7)
        print(
            f"10,000 sampled Gaussian steps by {accountant}: {1e3 * statistics.median(run['seconds']):.2f} ms, "
            f"epsilon {run['epsilon']:.6f}"
        )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
