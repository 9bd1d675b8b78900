#!/usr/bin/env python3
"""Private Frank-Wolfe and private greedy coordinate descent beside the plain numpy method, and beside their own plain
mode.

  bench/private_speed.py [--driver build/bench/private_driver] [--shared ../shared] [--sets a9a news20] [--pairs 5]
  [--costs | --dense]

The peer is what a published implementation does, written here: each iteration computes the full gradient (two sparse
products), draws noise for every candidate (2d Laplace numbers for Frank-Wolfe, d for greedy coordinate descent) and
takes the argmax. Both run with (1, 1/n^2) and T = 1000 of which the peer, whose iterations all cost the same, does
--peer-steps. One thread each, CPU time per iteration, alternating, median of the per-pair ratios. `--costs` prints the
cost of a step over d = 1e3..1e6 at fixed nonzeros, `--dense` the share of the memory's read bandwidth that a pass over
a dense matrix reaches.
"""
import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import peers  # noqa: E402

peers.use(["numpy", "scipy", "scikit-learn"], ["numpy", "scipy", "sklearn"])
import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402

import exact_sparse_data as data  # noqa: E402

STEPS = 1000


def dorothea(shared):
    return data.libsvm(shared / "data/dorothea/dorothea.xz", 100000)


def wide(columns, rows=20000, per_row=50, seed=5):
    """Rows of a fixed number of ones among `columns` columns by Zipf's law; labels of a sparse model."""
    rng = np.random.default_rng(seed)
    popularity = np.cumsum(1 / np.arange(10, columns + 10) ** 0.9)
    chosen = np.searchsorted(popularity / popularity[-1], rng.random((rows, per_row)))
    x = sp.csr_matrix((np.ones(rows * per_row), chosen.ravel(), np.arange(rows + 1) * per_row), shape=(rows, columns))
    x.sum_duplicates()
    x.data[:] = 1
    model = np.where(rng.random(columns) < 0.05, rng.normal(size=columns), 0)
    return x, np.where(x @ model + rng.normal(size=rows) > 0, 1.0, -1.0)


data.SETS.update({"dorothea": dorothea, "wide-1e6": lambda _: wide(1_000_000)})
for power in (3, 4, 5, 6):
    data.SETS[f"costs-1e{power}"] = lambda _, power=power: wide(10**power, rows=10000)


class Driver:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ask("threads 1")

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as file:
            words = file.read().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def run(self, algorithm, delta, steps=STEPS, seed=1, mode="auto", bound=1.0):
        """Seconds per step, and the final objective."""
        told = self.ask(f"run {algorithm} {steps} 0 {bound} 0 0 1 {delta!r} {seed} proved {mode}")
        if told.startswith("error"):
            raise RuntimeError(told)
        words = told.split()
        return float(words[0]), float(words[2])


def derivative(task, margin, y):
    return -y / (1 + np.exp(y * margin)) if task == "logistic" else margin - y


def peer(kind, task, x, y, radius, delta, steps):
    """Seconds per iteration of the numpy method."""
    rng = np.random.default_rng(0)
    n, d = x.shape
    w = np.zeros(d)
    transposed = sp.csr_matrix(x.T)
    begin = time.process_time()
    for t in range(steps):
        gradient = transposed @ derivative(task, x @ w, y) / n
        if kind == "frank-wolfe":
            scale = np.sqrt(8 * STEPS * np.log(1 / delta)) / n
            scores = np.concatenate([-gradient, gradient]) + rng.laplace(scale=scale, size=2 * d)
            best = np.argmax(scores)
            step = 2 / (t + 2)
            w *= 1 - step
            w[best % d] += step * (radius if best < d else -radius)
        else:
            scale = 8 * np.sqrt(STEPS * np.log(1 / delta)) / n
            best = np.argmax(np.abs(gradient + rng.laplace(scale=scale, size=d)))
            w[best] -= 4 * (gradient[best] + rng.laplace(scale=scale))
    return (time.process_time() - begin) / steps


def compare(driver, name, x, y, binary, options):
    n = x.shape[0]
    delta = 1 / n**2
    rows = [("frank-wolfe", "logistic", 20.0), ("gs", "logistic", -1)]
    if name in ("news20", "rcv1-shape", "wide-1e6"):
        rows.append(("frank-wolfe", "linear", 20.0))
    driver.ask(f"load {binary} 1")
    for algorithm, task, radius in rows:
        driver.ask(f"objective {task} 0 {0.001 if radius < 0 else 0} {radius}")
        bound = 1.0 if task == "logistic" else 21.0
        ratios, ours, theirs = [], [], []
        for pair in range(options.pairs):
            kind = "frank-wolfe" if algorithm == "frank-wolfe" else "greedy"
            theirs.append(peer(kind, task, x, y, radius, delta, options.peer_steps))
            seconds, objective = driver.run(algorithm, delta, seed=pair, bound=bound)
            ours.append(seconds)
            ratios.append(theirs[-1] / ours[-1])
        plain, plain_objective = driver.run(algorithm, delta, steps=options.plain_steps, mode="plain", bound=bound)
        print(f"{name:12} {algorithm:12} {task:9} {1e3 * statistics.median(theirs):9.3f} "
              f"{1e3 * statistics.median(ours):9.4f} "
              f"{statistics.median(ratios):8.1f}  {1e3 * plain:9.3f} {plain / statistics.median(ours):8.1f}  "
              f"{objective:.5f}", flush=True)


def costs(driver, options, cache):
    print(
        "ms per step, 10000 rows of 50 ones, T = 1000:       d   greedy-cd   least-squares frank-wolfe   logistic "
        "frank-wolfe"
    )
    for power in (3, 4, 5, 6):
        x, _, binary = data.load(f"costs-1e{power}", options.shared, cache)
        delta = 1 / x.shape[0] ** 2
        driver.ask(f"load {binary} 1")
        told = []
        for algorithm, objective, bound in (("gs", "logistic 0 0.001 -1", 1.0), ("frank-wolfe", "linear 0 0 20", 21.0),
                                            ("frank-wolfe", "logistic 0 0 20", 1.0)):
            driver.ask(f"objective {objective}")
            told.append(statistics.median(driver.run(algorithm, delta, seed=seed, bound=bound)[0] for seed in range(3)))
        print(f"{x.shape[1]:60d} {1e3 * told[0]:11.4f} {1e3 * told[1]:27.4f} {1e3 * told[2]:22.4f}", flush=True)


def dense(driver, options):
    """A step of plain greedy-cd is one pass over the columns."""
    rows, columns = 2000, 20000
    size = int(driver.ask(f"dense {rows} {columns}"))
    driver.ask("objective logistic 0 0.001 -1")
    reads, steps = [], []
    for pair in range(options.pairs):
        reads.append(float(driver.ask(f"read {size}")))
        steps.append(driver.run("gs", 1 / rows**2, steps=options.plain_steps, seed=pair, mode="plain")[0])
    step, read = statistics.median(steps), statistics.median(reads)
    share = statistics.median(read / step for read, step in zip(reads, steps))
    print(f"dense {rows} x {columns}: {size / 1e6:.0f} MB a pass; greedy-cd, plain: {1e3 * step:.2f} ms a step, "
          f"{size / step / 1e9:.1f} GB/s; "
          f"a read-only sum: {size / read / 1e9:.1f} GB/s: {100 * share:.0f} %")


def main():
    root = Path(__file__).resolve().parent.parent
    build = Path(os.environ.get("PARLEY_BENCH_BUILD", root / "build"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", default=build / "bench/private_driver")
    parser.add_argument("--shared", default=os.environ.get("PARLEY_SHARED", root.parent / "shared"))
    parser.add_argument("--sets", nargs="*", default=["a9a", "dorothea", "news20", "rcv1-shape", "wide-1e6"])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--peer-steps", type=int, default=10)
    parser.add_argument("--plain-steps", type=int, default=30)
    parser.add_argument("--costs", action="store_true")
    parser.add_argument("--dense", action="store_true")
    options = parser.parse_args()
    if Path("/dev/shm").is_dir():  # a run's ledger goes with it: no need to wait for a disk
        os.environ["TMPDIR"] = "/dev/shm"
    driver = Driver(str(options.driver))
    cache = root / "build-bench/data"
    if options.costs:
        costs(driver, options, cache)
        return
    if options.dense:
        dense(driver, options)
        return
    print("ms per iteration        algorithm    task          numpy      ours    ratio      plain    ratio  objective")
    for name in options.sets:
        x, y, binary = data.load(name, options.shared, cache)
        compare(driver, name, x, y, binary, options)


if __name__ == "__main__":
    main()
