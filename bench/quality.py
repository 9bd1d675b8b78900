"""Quality of the private descents: test AUC at epsilon = 1, delta = 1/n^2, with nothing tuned and on a small public
grid.

  bench/quality.py --driver build/bench/descent_driver --shared ../shared [--sets a9a] [--seeds 5] [--csv quality.csv]

Logistic regression on a9a (its own test file), w8a and news20 (classes 11-20 against 1-10, log counts; a fifth of the
rows held out by a fixed seed), rows of norm 1. "default" is what a job gets that sets nothing: every number of the run
is a formula in n, d, the bounds and epsilon. "best" is the best mean test AUC over a grid, chosen by looking at the
test rows: not private, and said so. Noise is from the system's generator, so figures differ from run to run by about
their standard errors. Add-remove is the relation under which peers report; it hides n, so a run states a public number
of records, and here that is n. Replace-one needs about twice the noise.
"""
import argparse
import csv
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / "build-bench" / "venv"
SETS = {"a9a": 0.895, "w8a": 0.918, "news20": 0.885}  # what Opacus reaches on the same sets
GRID = {"clip": [0.25, 0.5, 1.0], "steps": [25, 50, 100, 200]}  # for a model without and with an intercept


def into_venv():
    """Runs this file again inside build-bench/venv, which is made on first use."""
    python = VENV / "bin" / "python"
    if Path(sys.prefix).resolve() == VENV.resolve():
        return
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    if subprocess.run([python, "-c", "import scipy, sklearn"], capture_output=True, check=False).returncode:
        subprocess.run([python, "-m", "pip", "install", "-q", "numpy", "scipy", "scikit-learn"], check=True)
    sys.exit(subprocess.run([python, os.path.abspath(__file__), *sys.argv[1:]], check=False).returncode)


class Driver:
    def __init__(self, program, threads=1):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ask(f"threads {threads}")

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if answer.startswith("error"):
            raise RuntimeError(f"{line}: {answer}")
        return answer

    def train(self, algorithm, epsilon, delta, **options):
        """CPU seconds, wall seconds, steps, objective."""
        words = " ".join(f"{key}={value}" for key, value in options.items())
        return [float(word) for word in self.ask(f"{algorithm} {epsilon} {delta!r} {words}").split()]

    def weights(self, folder):
        import numpy as np

        self.ask(f"model {folder}/w.bin")
        return np.fromfile(f"{folder}/w.bin")


def load(name, shared):
    """Training and test rows and labels, rows of norm 1."""
    import numpy as np
    from exact_sparse_data import libsvm, unit_rows

    data = Path(shared) / "data"
    if name == "a9a":
        x, y = libsvm(data / "a9a/a9a.xz", 123)
        test, test_y = libsvm(data / "a9a/a9a.t.xz", 123)
        return unit_rows(x), y, unit_rows(test), test_y
    if name == "w8a":
        x, y = libsvm(data / "w8a/w8a.xz", 300)
    else:
        x, y = libsvm(data / "news20/news20.xz", 62061)
        x.data = np.log1p(x.data)
        y = np.where(y > 10, 1.0, -1.0)
    x = unit_rows(x)
    order = np.random.RandomState(0).permutation(len(y))
    held_out, kept = order[: len(y) // 5], order[len(y) // 5 :]
    return x[kept], y[kept], x[held_out], y[held_out]


def auc_of(driver, folder, test, test_y):
    from sklearn.metrics import roc_auc_score

    weights = driver.weights(folder)
    return roc_auc_score(test_y, test @ weights[: test.shape[1]])  # an intercept ranks nothing


def measure(driver, folder, test, test_y, seeds, algorithm, epsilon, delta, **options):
    aucs, times = [], []
    for seed in range(seeds):
        times.append(driver.train(algorithm, epsilon, delta, seed=seed, **options)[1])
        aucs.append(auc_of(driver, folder, test, test_y))
    error = statistics.stdev(aucs) / len(aucs) ** 0.5 if len(aucs) > 1 else 0.0
    return statistics.mean(aucs), error, statistics.median(times)


def rows_of(driver, folder, name, shared, seeds):
    from exact_sparse_data import write

    x, y, test, test_y = load(name, shared)
    write(f"{folder}/{name}.bin", x, y)
    driver.ask(f"load {folder}/{name}.bin")
    delta = 1.0 / x.shape[0] ** 2

    def row(what, repeats, algorithm, epsilon, **options):
        auc, error, seconds = measure(driver, folder, test, test_y, repeats, algorithm, epsilon, delta, **options)
        return {"set": name, "what": what, "auc": auc, "error": error, "seconds": seconds,
                "settings": " ".join(f"{key}={value}" for key, value in options.items())}

    yield row("not private: coordinate-descent", 1, "cd", "inf", intercept=1)
    for relation in ("add-remove", "replace-one"):
        for intercept in (0, 1):
            yield row(f"sgd default, {relation}", seeds, "sgd", 1.0, neighbours=relation, intercept=intercept)
    yield row("coordinate-descent default, add-remove", seeds, "cd", 1.0, neighbours="add-remove", intercept=1)
    for relation, intercept in itertools.product(("add-remove", "replace-one"), (0, 1)):
        tried = [dict(zip(GRID, values), intercept=intercept) for values in itertools.product(*GRID.values())]
        quick = [row("", 2, "sgd", 1.0, neighbours=relation, momentum=0.9, **each) for each in tried]
        best = tried[max(range(len(tried)), key=lambda at: quick[at]["auc"])]
        yield row(f"sgd best of the grid, {relation}", seeds, "sgd", 1.0, neighbours=relation, momentum=0.9, **best)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    build = os.environ.get("PARLEY_BENCH_BUILD", str(ROOT / "build"))
    parser.add_argument("--driver", default=f"{build}/bench/descent_driver")
    parser.add_argument("--shared", default=os.environ.get("PARLEY_SHARED", "../shared"))
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--csv")
    options = parser.parse_args()
    if not Path(options.shared, "data").is_dir():
        print(f"skipped: {options.shared}/data is not there")
        return
    into_venv()
    sys.path.insert(0, str(ROOT / "bench"))
    driver = Driver(options.driver)
    rows = []
    print(f"{'set':7} {'what':42} {'AUC':>7} {'s.e.':>7} {'needed':>7} {'wall s':>7}  settings")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.sets:
            for row in rows_of(driver, folder, name, options.shared, options.seeds):
                rows.append(row)
                print(
                    f"{name:7} {row['what']:42} {row['auc']:7.4f} {row['error']:7.4f} {SETS[name]:7.3f} "
                    f"{row['seconds']:7.3f}  {row['settings']}",
                    flush=True)
    if options.csv:
        with open(options.csv, "w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
