"""Private sgd beside Opacus: time of a step and quality of the model, at equal batch, noise, steps, step size and clip.

  bench/private_sgd.py --driver build/bench/descent_driver --shared ../shared [--sets a9a] [--accuracy]

Logistic regression, batches of 256 expected records (Poisson on both sides), clip 1 on rows of norm 1, no momentum,
last iterate; the noise multiplier is what our accountant proves for (1, 1/n^2) under add-remove, and Opacus gets the
same one. Opacus 1.6 is GradSampleModule and DPOptimizer on a linear layer, single precision, dense batches. Two times
of it:
  step     from the forward pass to the end of the optimiser's step
  loaded   the same and the batch that its Poisson loader (DPDataLoader) makes, as a training loop has it; rows are
           dense tensors already where they fit (a9a), else made dense one by one as the loader asks for them (news20)
and two of ours:
  step     what one more step costs, sampling included: a long run less a short one, over the steps between them
  call     the whole call of the long run over its steps: calibration, ledger and objective included
The ratio that is asked for is loaded / step, where both sides draw their batches; step / step and loaded / call are
printed beside it. CPU seconds of one thread each, in turns; medians. Needs torch and opacus in build-bench/venv.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import quality  # noqa: E402

BATCH = 256
#        steps timed (ours, Opacus), steps of the quality runs, step size, ratio that is needed
SETS = {"a9a": (4000, 200, 500, 4.0, 40), "news20": (600, 6, 60, 8.0, 450)}


def into_venv():
    python = quality.VENV / "bin" / "python"
    if Path(sys.prefix).resolve() == quality.VENV.resolve():
        return
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", quality.VENV], check=True)
    if subprocess.run([python, "-c", "import scipy, sklearn, torch, opacus"], capture_output=True,
                      check=False).returncode:
        subprocess.run(
            [python, "-m", "pip", "install", "-q", "numpy", "scipy", "scikit-learn", "torch", "opacus==1.6.0"],
            check=True)
    sys.exit(subprocess.run([python, os.path.abspath(__file__), *sys.argv[1:]], check=False).returncode)


class Opacus:
    """Stochastic gradient descent as Opacus does it, without its data loader."""

    def __init__(self, columns, noise, step):
        import torch
        from opacus import GradSampleModule
        from opacus.optimizers import DPOptimizer

        torch.set_num_threads(1)
        self.torch = torch
        layer = torch.nn.Linear(columns, 1, bias=False)
        torch.nn.init.zeros_(layer.weight)
        self.module = GradSampleModule(layer)
        self.optimiser = DPOptimizer(torch.optim.SGD(self.module.parameters(), lr=step), noise_multiplier=noise,
                                     max_grad_norm=1.0, expected_batch_size=BATCH)
        self.loss = torch.nn.BCEWithLogitsLoss()

    def step(self, rows, targets):
        """CPU seconds of one step."""
        x = self.torch.from_numpy(rows)
        y = self.torch.from_numpy(targets)
        start = time.process_time()
        self.optimiser.zero_grad()
        self.loss(self.module(x).squeeze(1), y).backward()
        self.optimiser.step()
        return time.process_time() - start

    def loaded_steps(self, x, y, steps):
        """CPU seconds of each of some steps on the batches of its own loader."""
        from opacus.data_loader import DPDataLoader

        torch = self.torch
        targets = torch.from_numpy(((y + 1) / 2).astype("float32"))
        if x.shape[0] * x.shape[1] < 1e8:
            rows = torch.utils.data.TensorDataset(torch.from_numpy(x.toarray().astype("float32")), targets)
        else:
            class Rows(torch.utils.data.Dataset):
                def __len__(self):
                    return x.shape[0]

                def __getitem__(self, at):
                    return torch.from_numpy(x[at].toarray().ravel().astype("float32")), targets[at]

            rows = Rows()
        plain = torch.utils.data.DataLoader(rows, batch_size=BATCH)
        times = []
        while len(times) < steps:
            batches = iter(DPDataLoader.from_data_loader(plain))
            while len(times) < steps:
                start = time.process_time()
                batch = next(batches, None)
                if batch is None:
                    break
                self.optimiser.zero_grad()
                self.loss(self.module(batch[0]).squeeze(1), batch[1]).backward()
                self.optimiser.step()
                times.append(time.process_time() - start)
        return times

    def weights(self):
        return next(self.module.parameters()).detach().numpy().ravel().astype(float)


def run_opacus(x, y, noise, step, steps, rng):
    import numpy as np

    peer = Opacus(x.shape[1], noise, step)
    times = []
    for _ in range(steps):
        batch = np.flatnonzero(rng.random(x.shape[0]) < BATCH / x.shape[0])
        times.append(peer.step(x[batch].toarray().astype(np.float32), ((y[batch] + 1) / 2).astype(np.float32)))
    return times, peer.weights()


def noise_draws(x, steps, rng):
    """Noises that a run draws: one for each entry of each step, or for each entry that a batch reads, and all at the
    end."""
    import numpy as np

    n, d = x.shape
    if 8 * BATCH > d:
        return d * steps, ""
    return sum(len(np.unique(x[np.flatnonzero(rng.random(n) < BATCH / n)].indices)) for _ in range(steps)) + d, "lazy"


def compare(driver, folder, name, options):
    import numpy as np
    from exact_sparse_data import write
    from sklearn.metrics import roc_auc_score

    x, y, test, test_y = quality.load(name, options.shared)
    write(f"{folder}/{name}.bin", x, y)
    driver.ask(f"load {folder}/{name}.bin")
    n, delta, rng = x.shape[0], 1.0 / x.shape[0] ** 2, np.random.default_rng(1)
    own_steps, peer_steps, quality_steps, step, needed = SETS[name]

    def ours(steps, seed):
        spent = driver.train("sgd", 1.0, delta, neighbours="add-remove", steps=steps, batch_rate=BATCH / n, step=step,
                             momentum=0, clip=1, result="last", seed=seed)
        return spent[0]

    if not options.accuracy:
        noise = float(driver.ask(f"noise 1 {delta!r} {BATCH / n!r} {own_steps}"))
        run_opacus(x, y, noise, step, 2, rng)
        short = own_steps // 5
        ours(short, 0)
        rows = []
        for pair in range(options.pairs):
            call = ours(own_steps, pair)
            own = (call - ours(short, pair)) / (own_steps - short)
            alone = statistics.median(run_opacus(x, y, noise, step, peer_steps, rng)[0])
            loaded = statistics.median(Opacus(x.shape[1], noise, step).loaded_steps(x, y, peer_steps))
            rows.append((own, call / own_steps, alone, loaded))
        own, call, alone, loaded = (statistics.median(column) for column in zip(*rows))
        ratios = [statistics.median(ratio) for ratio in zip(*((d / a, c / a, d / b) for a, b, c, d in rows))]
        draws, kind = noise_draws(x, own_steps, rng)
        share = float(driver.ask(f"draws {draws} {2**26 * noise} {kind}")) / own_steps / own
        print(f"{name}: ours {1e3 * own:.4f} ms a step, {1e3 * call:.4f} with the call; Opacus {1e3 * loaded:.2f} ms "
              f"a loaded step, {1e3 * alone:.2f} alone: "
              f"{ratios[0]:.0f}x (needed {needed}x), alone {ratios[1]:.0f}x, loaded to call {ratios[2]:.0f}x; "
              f"noise {100 * share:.0f} % of our step, {draws / own_steps:.0f} draws {kind}", flush=True)
        return
    noise = float(driver.ask(f"noise 1 {delta!r} {BATCH / n!r} {quality_steps}"))
    results = {"ours": [], "Opacus": []}
    for seed in range(options.seeds):
        ours(quality_steps, seed)
        results["ours"].append(test @ driver.weights(folder))
        results["Opacus"].append(test @ run_opacus(x, y, noise, step, quality_steps, rng)[1])
    for metric, of in (("accuracy", lambda m: float(np.mean(np.sign(m) == test_y))),
                       ("AUC", lambda m: roc_auc_score(test_y, m))):
        values = {who: [of(margins) for margins in runs] for who, runs in results.items()}
        means = {who: statistics.mean(v) for who, v in values.items()}
        error = sum(statistics.variance(v) / len(v) for v in values.values()) ** 0.5
        print(f"{name}, {quality_steps} steps, noise {noise:.3f}, {options.seeds} runs each: test {metric} ours "
              f"{means['ours']:.4f}, Opacus {means['Opacus']:.4f}, "
              f"difference {means['ours'] - means['Opacus']:+.4f} = {(means['ours'] - means['Opacus']) / error:+.1f} "
              f"standard errors", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    build = os.environ.get("PARLEY_BENCH_BUILD", str(quality.ROOT / "build"))
    parser.add_argument("--driver", default=f"{build}/bench/descent_driver")
    parser.add_argument("--shared", default=os.environ.get("PARLEY_SHARED", "../shared"))
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--accuracy", action="store_true", help="compare the models instead of the times")
    options = parser.parse_args()
    if not Path(options.shared, "data").is_dir():
        print(f"skipped: {options.shared}/data is not there")
        return
    into_venv()
    driver = quality.Driver(options.driver)
    with tempfile.TemporaryDirectory() as folder:
        for name in options.sets:
            compare(driver, folder, name, options)


if __name__ == "__main__":
    main()
