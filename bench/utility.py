#!/usr/bin/env python3
"""Utility of the private trainers on one site, at (1, 1/n^2): relative suboptimality (f - f*)/f*, min/mean/max of 5
seeds.

  bench/utility.py [--driver build/bench/private_driver] [--shared ../shared] [--sets square ...] [--csv utility.csv]
                   [--seconds 30]

What the CSV holds already is not run again, so that a table can be made in parts. A search tries its grid in a fixed
random order and ends after --seconds; the column `tried` says how many of how many settings it got to.

Two ways to choose hyper-parameters, told apart in the table:
  tuned    the best of a grid over steps, step size, derivative bound and feature bound, as Mangold et al. (2023) do:
           the choice looks at the data and is NOT private. Chosen on two seeds, reported on five others. Their grid has
           50 clips and 10 step sizes; this one is thinner around the values that they chose (sets with more than 3e5
           nonzeros get the thinnest), and has one more dimension for greedy-cd: the share of the selection, by its rule or 0.05
           or 0.25. Step sizes of greedy-cd multiply 1/M_j with M_j of the bounds, so the square of the feature bound is
           among them.
  default  nothing but public numbers: the algorithm's own steps, step size and split, features clipped to 3 deviations
           (or 1 for 0/1 data), derivative and label bound 1 (logistic) or 3 (least squares, labels of deviation 1), rows
           bounded by their columns' bounds together (or 1 where rows are normalised).
`paper` is the published noise (Laplace noisy-max, advanced composition), whose true cost is in the column epsilon.
sgd-1 is the DP-SGD that the paper compares with: batches of one record, no momentum, last iterate. sgd is ours: whole
batches and momentum at the same (epsilon, delta). frank-wolfe trains over an l1 ball and is judged by the penalised
objective like the others; its tuned radius is a share of the optimum's l1 norm. "nothing" is the gap of W = 0.
Penalties of the l1 problems are those at which the optimum has as many nonzeros as in Table 3 of the paper.
"""
import argparse
import csv
import itertools
import os
import random
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import peers  # noqa: E402

peers.use(["numpy", "scipy", "scikit-learn"], ["numpy", "scipy", "sklearn"])
import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402

import exact_sparse_data as data  # noqa: E402
from private_speed import Driver, dorothea  # noqa: E402

TUNING_SEEDS, SEEDS = (101, 102), (1, 2, 3, 4, 5)
MOST_NOISES = 3e7  # steps times columns of one run of sgd-1
PUBLISHED = {"square": 0.35, "california": 0.00056, "dorothea": 0.64, "madelon": 0.0015}


def standard(x):
    x = np.asarray(x.todense() if sp.issparse(x) else x, dtype=float)
    x = x - x.mean(axis=0)
    deviation = x.std(axis=0)
    return sp.csr_matrix(x / np.where(deviation > 0, deviation, 1))


def log_normal(sigma, columns=100, nonzeros=None, signs=True):
    rng = np.random.default_rng(int(10 * sigma) + columns)
    x = rng.normal(size=(1000, columns))
    w = rng.lognormal(0, sigma, size=columns)
    if nonzeros is not None:
        w[rng.permutation(columns)[nonzeros:]] = 0
    y = x @ w + rng.normal(size=1000)
    return sp.csr_matrix(x), np.sign(y) if signs else y / y.std()


def california(shared):
    import io
    import lzma

    with lzma.open(shared / "data/california/cal_housing.data.xz") as file:
        table = np.loadtxt(io.BytesIO(file.read()), delimiter=",")
    y = table[:, -1]
    return standard(table[:, :-1]), (y - y.mean()) / y.std()


def madelon(shared):
    x, y = data.libsvm(shared / "data/madelon/madelon.xz", 500)
    more, labels = data.libsvm(shared / "data/madelon/madelon.t.xz", 500)
    return standard(sp.vstack([x, more])), np.concatenate([y, labels])


def rcv1_small(shared):
    folder = shared / "data/rcv1_small"
    return data.libsvm(sorted(p for p in folder.iterdir() if not p.name.endswith(".t.xz"))[0], 47236)


UNIT_ROWS = {"rcv1"}

# task, penalty, nonzeros of the optimum (l1) or l2, default feature bound, feature bounds of the grid
PROBLEMS = {
    "log1": (lambda _: log_normal(1), "logistic", "l2", 1e-3, 3.0, (1.0, 2.0, 3.0)),
    "log2": (lambda _: log_normal(2), "logistic", "l2", 1e-3, 3.0, (1.0, 2.0, 3.0)),
    "square": (lambda _: log_normal(1, 1000, 10, False), "linear", "l1", 7, 3.0, (1.0, 2.0, 3.0)),
    "california": (california, "linear", "l1", 3, 3.0, (1.0, 2.0, 3.0)),
    "madelon": (madelon, "logistic", "l1", 3, 3.0, (1.0, 2.0, 3.0)),
    "dorothea": (dorothea, "logistic", "l1", 72, 1.0, (1.0,)),
    "a9a": (data.a9a, "logistic", "l2", 1e-3, 1.0, (1.0,)),
    "gisette": (data.gisette_standin, "logistic", "l1", 30, 1.0, (1.0,)),
    "rcv1": (rcv1_small, "logistic", "l1", 30, 1.0, (1.0,)),
}


class Refused(Exception):
    pass


class Bench:
    def __init__(self, driver, name, shared, cache, seconds):
        make, self.task, self.penalty, self.size, self.default_bound, self.bounds = PROBLEMS[name]
        data.SETS[name] = make
        self.driver, self.name = driver, name
        x, y, self.binary = data.load(f"{name}", shared, cache)
        self.n, self.d = x.shape
        self.seconds = seconds
        self.coarse = x.nnz > 3e5
        at_zero = np.mean(y**2) / 2 if self.task == "linear" else np.log(2)
        self.load(self.default_bound)
        self.optimum, self.nonzeros, self.radius = self.solve()
        self.nothing = (at_zero - self.optimum) / self.optimum

    def load(self, bound):
        self.driver.ask(f"load {self.binary} {bound}")
        self.loaded = bound

    def solve(self):
        if self.penalty == "l2":
            self.driver.ask(f"objective {self.task} 0 {self.size} -1")
            value, nonzeros, norm = self.driver.ask("optimum").split()
            return float(value), int(nonzeros), float(norm)
        low, high = 1e-6, 10.0  # more penalty, fewer nonzeros
        for _ in range(40):
            middle = (low * high) ** 0.5
            self.driver.ask(f"objective {self.task} {middle!r} 0 -1")
            value, nonzeros, norm = self.driver.ask("optimum").split()
            if int(nonzeros) == self.size:
                break
            if int(nonzeros) > self.size:
                low = middle
            else:
                high = middle
        return float(value), int(nonzeros), float(norm)

    def run(self, setting, seed):
        """Relative gap, right, wrong, epsilon, seconds."""
        if setting["bound"] != self.loaded:
            self.load(setting["bound"])
        told = self.driver.ask(f"run {setting['algorithm']} {setting['steps']} {setting['step']} "
                               f"{setting['derivative']} {setting['share']} {setting['clip']} 1 "
                               f"{1 / self.n**2!r} {seed} {setting['calibration']} auto {setting['radius']} "
                               f"{setting['smoothness']} {1 if self.name in UNIT_ROWS else 0} "
                               f"{3 if self.task == 'linear' else 1}")
        if told.startswith("error"):
            raise Refused(f"{setting}: {told}")
        _, seconds, value, steps, right, wrong, epsilon = (float(word) for word in told.split())
        gap = (value - self.optimum) / self.optimum
        return (gap if np.isfinite(gap) else 1e300), int(right), int(wrong), epsilon, seconds, int(steps)

    def setting(self, algorithm, calibration="proved", **more):
        chosen = {
            "algorithm": algorithm, "calibration": calibration, "steps": 0, "step": 0, "clip": 0, "radius": 0,
            "share": 0, "smoothness": "bounds", "derivative": 1.0 if self.task == "logistic" else 3.0,
            "bound": self.default_bound
        }
        if algorithm == "frank-wolfe":
            chosen["radius"] = 10.0
        return {**chosen, **more}

    def grid(self, algorithm, calibration):
        def product(**values):
            return [
                self.setting(algorithm, calibration, **dict(zip(values, chosen)))
                for chosen in itertools.product(*values.values())
            ]

        derivatives = (0.25, 0.5, 1.0) if self.task == "logistic" else (0.5, 1.0, 2.0, 4.0)
        bounds = {"derivative": derivatives[-2:] if self.coarse else derivatives, "bound": self.bounds}
        if algorithm == "frank-wolfe":
            return product(steps=(1, 4, 20, 100) if self.coarse else (1, 2, 4, 10, 20, 50, 100),
                           radius=[share * self.radius for share in (0.1, 0.3, 1.0)], **bounds)
        if algorithm == "coordinate-descent":
            return product(steps=(1, 5) if self.coarse else (1, 2, 5, 10), step=(0.01, 0.046, 0.22, 1.0), **bounds)
        if algorithm == "sgd":
            return product(steps=(10, 50) if self.coarse else (10, 50, 200), step=(0.001, 0.01, 0.1, 1.0),
                           clip=(0.1, 0.5, 1.0))
        if algorithm == "sgd-1":
            steps = {max(1, round(passes * self.n)) for passes in (0.1, 1, 5, 20)}
            fit = sorted(count for count in steps if count * self.d <= MOST_NOISES) or [1]
            return product(steps=fit[-1:] if self.coarse else fit, step=(1e-4, 4.6e-4, 2e-3, 1e-2, 1e-1, 1.0),
                           clip=(0.05, 0.18, 0.75, 3.0))
        tried = product(steps=(1, 2, 4, 10, 20) if self.coarse else (1, 2, 3, 4, 7, 10, 20),
                        step=(0.46, 1.0, 2.15, 4.64, 10.0, None),
                        share=(0, ) if calibration == "paper" or self.coarse else (0, 0.05, 0.25), **bounds)
        # Step sizes multiply 1/M_j. The paper's M_j are the data's; ours are the bounds', so bound^2 is the paper's 1
        # here.
        return [{**setting, "step": setting["step"] or setting["bound"] ** 2} for setting in tried]

    def tuned(self, algorithm, calibration):
        """The best setting of the grid, or of as much of it as time allows: a share of it for each feature bound."""
        grid = self.grid(algorithm, calibration)
        random.Random(7).shuffle(grid)
        if algorithm != "sgd-1":
            grid.insert(0, self.setting(algorithm, calibration))  # the algorithm's own choice is one of the settings
        bounds = list(dict.fromkeys(setting["bound"] for setting in grid))
        scored, begin = [], self.driver.cpu_seconds()
        for at, bound in enumerate(bounds):
            ends = begin + 0.8 * self.seconds * (at + 1) / len(bounds)
            for setting in (setting for setting in grid if setting["bound"] == bound):
                if self.driver.cpu_seconds() < ends or not scored:
                    scored.append((self.run(setting, TUNING_SEEDS[0])[0], len(scored), setting))
        again = []
        for gap, at, setting in sorted(scored)[:20]:
            if self.driver.cpu_seconds() < begin + self.seconds or len(again) < 3:
                again.append((gap + sum(self.run(setting, seed)[0] for seed in TUNING_SEEDS[1:]), at, setting))
        return min(again)[2], f"{len(scored)}/{len(grid)}"

    def report(self, label, setting, writer, tried=""):
        runs = [self.run(setting, seed) for seed in SEEDS]
        gaps = [r[0] for r in runs]
        row = {
            "set": self.name, "algorithm": setting["algorithm"], "chosen": label, "calibration": setting["calibration"],
            "min": min(gaps), "mean": statistics.mean(gaps), "max": max(gaps),
            "right": statistics.mean(r[1] for r in runs), "wrong": statistics.mean(r[2] for r in runs),
            "epsilon": runs[0][3], "seconds": statistics.mean(r[4] for r in runs), "steps": runs[0][5],
            "step": setting["step"], "share": setting["share"], "clip": setting["clip"], "radius": setting["radius"],
            "derivative_bound": setting["derivative"], "feature_bound": setting["bound"], "nothing": self.nothing,
            "smoothness": setting["smoothness"], "published": PUBLISHED.get(self.name, ""), "tried": tried
        }
        writer.writerow(row)
        print(f"{self.name:11} {setting['algorithm']:18} {label:8} "
              f"{setting['calibration'] if setting['smoothness'] == 'bounds' else 'smooth':7} {row['min']:9.2e} "
              f"{row['mean']:9.2e} "
              f"{row['max']:9.2e}  {row['right']:4.1f} / {row['wrong']:4.1f}  {row['epsilon']:5.2f} {row['steps']:5d} "
              f"{row['seconds']:8.3f}  "
              f"{row['published']}", flush=True)


def tasks(name, algorithms):
    """(algorithm, how its settings are chosen, noise, smoothness) of the rows of a set."""
    smooth = PROBLEMS[name][2] == "l2"
    for algorithm in algorithms:
        if (algorithm == "gs" and not smooth) or (algorithm.startswith("gs-") and smooth):
            continue  # without an l1 penalty the rules coincide with gs
        if algorithm != "sgd-1":
            yield algorithm, "default", "proved", "bounds"
        if algorithm in ("gs", "gs-r", "coordinate-descent"):
            yield algorithm, "default", "proved", "private"
        yield algorithm, "tuned", "proved", "bounds"
        if algorithm in ("gs", "gs-r") and (name in PUBLISHED or name in ("log1", "log2")):
            yield algorithm, "tuned", "paper", "bounds"


def main():
    root = Path(__file__).resolve().parent.parent
    build = Path(os.environ.get("PARLEY_BENCH_BUILD", root / "build"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", default=build / "bench/private_driver")
    parser.add_argument("--shared", type=Path, default=os.environ.get("PARLEY_SHARED", root.parent / "shared"))
    parser.add_argument("--sets", nargs="*", default=list(PROBLEMS))
    parser.add_argument("--algorithms", nargs="*",
                        default=["gs-r", "gs-s", "gs-q", "gs", "frank-wolfe", "coordinate-descent", "sgd-1", "sgd"])
    parser.add_argument("--csv", default=root / "build-bench/utility.csv")
    parser.add_argument("--seconds", type=float, default=30, help="of CPU time, for one search")
    parser.add_argument("--chosen", nargs="*", default=["default", "tuned"])
    options = parser.parse_args()
    if Path("/dev/shm").is_dir():  # ledgers go with the runs: no need to wait for a disk
        os.environ["TMPDIR"] = "/dev/shm"
    driver = Driver(str(options.driver))
    fields = [
        "set", "algorithm", "chosen", "calibration", "min", "mean", "max", "right", "wrong", "epsilon", "seconds",
        "steps", "step", "share", "clip", "radius", "derivative_bound", "feature_bound", "smoothness", "nothing",
        "published", "tried"
    ]
    Path(options.csv).parent.mkdir(parents=True, exist_ok=True)
    done = set()
    if Path(options.csv).exists():
        with open(options.csv, newline="") as file:
            done = {(row["set"], row["algorithm"], row["chosen"], row["calibration"], row["smoothness"])
                    for row in csv.DictReader(file)}
    with open(options.csv, "a", newline="") as file:
        writer = csv.DictWriter(file, fields)
        if not done:
            writer.writeheader()
        print(
            "set         algorithm          chosen   noise         min      mean       max  right/wrong   eps. steps  "
            "seconds  published"
        )
        for name in options.sets:
            todo = [
                task for task in tasks(name, options.algorithms)
                if (name, *task) not in done and task[1] in options.chosen
            ]
            if not todo:
                continue
            bench = Bench(driver, name, Path(options.shared), root / "build-bench/data", options.seconds)
            print(
                f"{name}: n = {bench.n}, d = {bench.d}, f* = {bench.optimum:.6f}, nonzeros = {bench.nonzeros}, "
                f"nothing {bench.nothing:.3g}",
                flush=True)
            for algorithm, chosen, calibration, smoothness in todo:
                if chosen == "tuned":
                    setting, tried = bench.tuned(algorithm, calibration)
                    bench.report(chosen, setting, writer, tried)
                else:
                    try:
                        bench.report(chosen, bench.setting(algorithm, smoothness=smoothness), writer)
                    except Refused as refusal:  # as a private estimate of smoothness is where it would be noise alone
                        print(f"{name:11} {algorithm:18} {chosen:8} refused: {str(refusal).split('error ')[-1]}",
                              flush=True)
                file.flush()


if __name__ == "__main__":
    main()
