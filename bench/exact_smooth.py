"""`exact` with an l2 penalty beside LIBLINEAR and scikit-learn: time to 1e-6 relative suboptimality.

    bench/run exact_smooth
    python3 bench/exact_smooth.py [--sets a9a,news20] [--tasks logistic,squared-hinge] [--pairs 5]

Every peer first gets the loosest tolerance that reaches the goal (kept in build-bench/tolerances.json; --calibrate
does only that). Peers that then need more than three times the best's time are left out. The others run in turn, and
each pair of neighbouring runs gives one ratio. Loading and converting the data are outside the clock on both sides;
peers are measured in CPU seconds with one thread, `exact` in CPU seconds with one thread and in wall seconds with two.
"""
import argparse
import json
import os
import statistics
import subprocess
import time
import warnings
from pathlib import Path

import peers as peer_environment

peer_environment.use(["scikit-learn", "liblinear-official"], ["sklearn", "liblinear"])
ROOT = peer_environment.ROOT

import numpy as np  # noqa: E402

import exact_sparse_data as exact_data  # noqa: E402

GOAL = 1e-6
TOLERANCES = [10.0**-k for k in np.arange(-1.5, 9, 0.5)]


class Exact:
    """The driver: a process that answers one line per question."""

    def __init__(self, program, data_file):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"})
        self.ask(f"load {data_file}")

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().split()

    def solve(self, task, l2, stop, threads):
        self.ask(f"threads {threads}")
        cpu, wall, objective, gap, iterations, _ = self.ask(f"solve {task} 0 {l2!r} -1 {stop!r}")
        return {"cpu": float(cpu), "wall": float(wall), "objective": float(objective), "gap": float(gap),
                "iterations": int(iterations)}


def objective(task, x, y, w, l2):
    margins = y * (x @ w)
    losses = np.logaddexp(0, -margins) if task == "logistic" else np.maximum(0, 1 - margins) ** 2
    return losses.mean() + l2 / 2 * w @ w


def liblinear_peers(task, x, y):
    from liblinear import liblinear, liblinearutil

    prepared = liblinearutil.problem(y, x)
    solvers = {"logistic": (0, 7), "squared-hinge": (2, 1)}[task]

    def peer(solver):
        def run(tolerance):
            parameter = liblinear.parameter(f"-s {solver} -c 1 -e {tolerance:g} -q")
            start = time.process_time()
            model = liblinearutil.train(prepared, parameter)
            seconds = time.process_time() - start
            sign = 1 if model.get_labels()[0] == 1 else -1
            return seconds, sign * np.ctypeslib.as_array(model.w, (x.shape[1],)).copy()

        return run

    return {f"LIBLINEAR -s {s}": peer(s) for s in solvers}


def sklearn_peers(task, x, y):
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    def peer(make, features):
        def run(tolerance):
            model = make(tolerance)
            start = time.process_time()
            model.fit(features, y)
            return time.process_time() - start, model.coef_.ravel()

        return run

    common = {"C": 1.0, "fit_intercept": False, "max_iter": 2000}
    if task == "squared-hinge":
        return {"scikit-learn LinearSVC (primal)": peer(lambda t: LinearSVC(tol=t, dual=False, **common), x),
                "scikit-learn LinearSVC (dual)": peer(lambda t: LinearSVC(tol=t, dual=True, **common), x)}
    peers = {f"scikit-learn {s}": peer(lambda t, s=s: LogisticRegression(solver=s, tol=t, **common), x)
             for s in ("lbfgs", "newton-cg")}
    if x.shape[1] <= 1000:
        dense = x.toarray()
        peers["scikit-learn newton-cholesky"] = peer(
            lambda t: LogisticRegression(solver="newton-cholesky", tol=t, **common), dense)
    return peers


def calibrate(run, reached):
    """The loosest tolerance that reaches the goal, or None."""
    for tolerance in TOLERANCES:
        seconds, w = run(tolerance)
        if reached(w):
            return tolerance
        if seconds > 20:
            return None
    return None


def calibrated(key, peers, reached):
    """Tolerance and seconds of every peer that reaches the goal, from the file when it is there."""
    file = ROOT / "build-bench/tolerances.json"
    known = json.loads(file.read_text()) if file.exists() else {}
    if key not in known:
        known[key] = {}
        for peer, run in peers.items():
            tolerance = calibrate(run, reached)
            known[key][peer] = tolerance and [tolerance, run(tolerance)[0]]
        file.write_text(json.dumps(known, indent=1))
    return known[key]


def compare(name, task, arguments):
    x, y, data_file = exact_data.load(name, arguments.shared, arguments.cache)
    l2 = 1.0 / x.shape[0]
    ours = Exact(arguments.program, data_file)
    optimum = ours.solve(task, l2, -1.0, 2)
    goal = optimum["objective"] * (1 + GOAL)
    peers = {**liblinear_peers(task, x, y), **sklearn_peers(task, x, y)}
    found = calibrated(f"{name} {task}", peers, lambda w: objective(task, x, y, w, l2) <= goal)
    if arguments.calibrate:
        return
    quickest = min(seconds for _, seconds in filter(None, found.values()))
    usable = {peer: run for peer, run in peers.items() if found[peer] and found[peer][1] <= 3 * quickest}
    times = {peer: [] for peer in (*usable, "one", "two")}
    for _ in range(arguments.pairs):
        for peer, run in usable.items():
            times[peer].append(run(found[peer][0])[0])
        for label, threads, clock in (("one", 1, "cpu"), ("two", 2, "wall")):
            result = ours.solve(task, l2, goal, threads)
            assert result["objective"] <= goal
            times[label].append(result[clock])
    best = min(usable, key=lambda peer: statistics.median(times[peer]))
    ratio = {label: statistics.median(p / o for p, o in zip(times[best], times[label])) for label in ("one", "two")}
    described = [
        f"{peer} {statistics.median(times[peer]) * 1e3:.0f}" + (" (best)" if peer == best else "") for peer in usable
    ]
    described += [f"{peer} about {found[peer][1] * 1e3:.0f}" if found[peer] else f"{peer} never"
                  for peer in peers if peer not in usable]
    print(f"| {name} | {task} | {', '.join(described)} | {statistics.median(times['one']) * 1e3:.1f} | "
          f"{statistics.median(times['two']) * 1e3:.1f} | {ratio['one']:.2f} | {ratio['two']:.2f} | "
          f"{optimum['gap']:.0e} |",
          flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", default="a9a,news20,gisette-standin,rcv1-shape")
    parser.add_argument("--tasks", default="logistic,squared-hinge")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--program",
                        default=str(Path(os.environ.get("PARLEY_BENCH_BUILD", ROOT / "build")) / "bench/exact_driver"))
    parser.add_argument("--shared", default=os.environ.get("PARLEY_SHARED", str(ROOT / "../shared")))
    parser.add_argument("--cache", default=str(ROOT / "build-bench/data"))
    parser.add_argument("--calibrate", action="store_true")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    print(
        "| set | task | peers, CPU ms | exact, 1 thread, ms | 2 threads | best peer / exact, 1 thread | 2 threads | "
        "gap at the end |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name in arguments.sets.split(","):
        for task in arguments.tasks.split(","):
            compare(name, task, arguments)


if __name__ == "__main__":
    main()
