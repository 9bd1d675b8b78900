#!/usr/bin/env python3
"""`exact` with an l1 penalty beside its peers: time to a relative suboptimality of 1e-6, without an intercept.

    bench/run exact_sparse
    python3 bench/exact_sparse.py [--driver build/bench/exact_driver] [--shared ../shared] [--sets a9a] [--problems
    lasso]

L1 logistic regression at C = 1 (l1 = 1/n) and the Lasso at 0.05 of the largest useful penalty, on the sets of
exact_sparse_data.py. The optimum comes from `exact` at its full accuracy (gap <= 1e-10); objectives are
evaluated here, in numpy, from the weights each solver returns. Every peer first gets the loosest of a list of
tolerances that reaches the target (a call of more than --patience CPU seconds ends its list); then peers and `exact`
alternate, --pairs times, on one thread each, and the median of the per-pair ratios of CPU time is reported. Data
conversion (CSC for those that want it) and compilation (a call before) are not timed. Needs the peers: scikit-learn,
skglm, celer, liblinear-official, python-glmnet.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

import peers as peer_environment

peer_environment.use(["scikit-learn", "skglm", "celer", "liblinear-official", "python-glmnet"],
                     ["sklearn", "skglm", "celer", "liblinear", "glmnet"])

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402

import exact_sparse_data as exact_data  # noqa: E402

warnings.filterwarnings("ignore")
TARGET = 1e-6
TOLERANCES = [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8]


class Driver:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def solve(self, task, l1, stop=-1.0):
        """CPU seconds, wall seconds, objective, gap, rounds, nonzeros."""
        return [float(word) for word in self.ask(f"solve {task} {l1!r} 0 -1 {stop!r}").split()]


def objective(task, x, y, l1, w):
    margin = x @ w
    loss = np.logaddexp(0, -y * margin).mean() if task == "logistic" else 0.5 * np.mean((margin - y) ** 2)
    return loss + l1 * np.abs(w).sum()


def logistic_peers(x, y, l1):
    n = x.shape[0]
    columns = sp.csc_matrix(x)

    def liblinear(tolerance):
        from liblinear.liblinearutil import parameter, problem, train

        data = problem(y, x)
        start = time.process_time()
        model = train(data, parameter(f"-s 6 -c {1 / (n * l1)} -e {tolerance} -q"))
        spent = time.process_time() - start
        w = np.ctypeslib.as_array(model.w, shape=(x.shape[1],)).copy()
        return spent, w if model.label[0] > 0 else -w

    def sklearn_saga(tolerance):
        from sklearn.linear_model import LogisticRegression

        model = LogisticRegression(l1_ratio=1.0, C=1 / (n * l1), solver="saga", tol=tolerance, fit_intercept=False,
                                   max_iter=2000)
        return timed(lambda: model.fit(x, y).coef_.ravel())

    def skglm(tolerance):
        from skglm import SparseLogisticRegression

        model = SparseLogisticRegression(alpha=l1, tol=tolerance, fit_intercept=False)
        return timed(lambda: model.fit(columns, y).coef_.ravel())

    def celer(tolerance):
        from celer import LogisticRegression

        model = LogisticRegression(C=1 / (n * l1), tol=tolerance, fit_intercept=False)
        return timed(lambda: model.fit(columns, y).coef_.ravel())

    def glmnet(tolerance):
        from glmnet import LogitNet

        path = np.geomspace(abs(x.T @ y).max() / (2 * n), l1, 20)
        model = LogitNet(alpha=1, lambda_path=path, standardize=False, fit_intercept=False, n_splits=0,
                         tol=tolerance * 1e-3)
        return timed(lambda: model.fit(columns, y).coef_path_[0, :, -1])

    return {
        "LIBLINEAR -s 6": liblinear, "scikit-learn saga": sklearn_saga, "skglm": skglm, "celer": celer, "glmnet": glmnet
    }


def lasso_peers(x, y, l1):
    n = x.shape[0]
    columns = sp.csc_matrix(x)

    def sklearn(tolerance):
        from sklearn.linear_model import Lasso

        model = Lasso(alpha=l1, tol=tolerance, fit_intercept=False, max_iter=100000)
        return timed(lambda: model.fit(columns, y).coef_)

    def skglm(tolerance):
        from skglm import Lasso

        model = Lasso(alpha=l1, tol=tolerance, fit_intercept=False)
        return timed(lambda: model.fit(columns, y).coef_)

    def celer(tolerance):
        from celer import Lasso

        model = Lasso(alpha=l1, tol=tolerance, fit_intercept=False)
        return timed(lambda: model.fit(columns, y).coef_)

    def glmnet(tolerance):
        from glmnet import ElasticNet

        path = np.geomspace(abs(x.T @ y).max() / n, l1, 10)
        model = ElasticNet(alpha=1, lambda_path=path, standardize=False, fit_intercept=False, n_splits=0,
                           tol=tolerance * 1e-3)
        return timed(lambda: model.fit(columns, y).coef_path_[:, -1])

    return {"scikit-learn": sklearn, "skglm": skglm, "celer": celer, "glmnet": glmnet}


def timed(fit):
    start = time.process_time()
    w = fit()
    return time.process_time() - start, np.asarray(w, dtype=float)


def calibrate(peer, reached, patience):
    """The loosest tolerance that reaches the target, and its time; None when none does within patience."""
    try:
        peer(TOLERANCES[0])
        for tolerance in TOLERANCES:
            spent, w = peer(tolerance)
            if reached(w):
                return tolerance, spent
            if spent > patience:
                return None
    except Exception as error:  # a peer that cannot take the problem is reported, not fatal
        print(f"    ({type(error).__name__}: {str(error)[:100]})", file=sys.stderr)
    return None


def compare(driver, name, problem, options):
    x, y, binary = exact_data.load(name, options.shared, options.cache)
    n = x.shape[0]
    driver.ask("threads 1")
    driver.ask(f"load {binary}")
    task = "logistic" if problem == "logistic" else "linear"
    l1 = float(1 / n if problem == "logistic" else 0.05 * abs(x.T @ y).max() / n)
    full = driver.solve(task, l1)
    driver.ask(f"model {options.cache}/w.bin")
    optimum = objective(task, x, y, l1, np.fromfile(f"{options.cache}/w.bin"))
    stop = float(optimum * (1 + TARGET))
    print(
        f"{name} {problem}: optimum {optimum:.12g}, gap {full[3]:.1e}, {full[5]:.0f} nonzeros; to full accuracy "
        f"{full[0]:.4f} s"
    )
    peers = (logistic_peers if problem == "logistic" else lasso_peers)(x, y, l1)
    settings = {}
    for peer, run in peers.items():
        found = calibrate(run, lambda w: objective(task, x, y, l1, w) <= stop, options.patience)
        print(f"    {peer:18s} " + (f"tol {found[0]:.0e}  {found[1]:.4f} s" if found else "did not reach the target"))
        if found:
            settings[peer] = found[0]
    times = {peer: [] for peer in settings}
    own = []
    for _ in range(options.pairs):
        for peer in settings:
            own.append(driver.solve(task, l1, stop)[0])
            times[peer].append((peers[peer](settings[peer])[0], own[-1]))
    driver.ask("threads 2")
    wall = statistics.median(driver.solve(task, l1, stop)[1] for _ in range(options.pairs))
    result = {"set": name, "problem": problem, "exact_cpu": statistics.median(own), "exact_wall_2_threads": wall,
              "exact_to_1e-10": full[0], "peers": {}}
    for peer, pairs in times.items():
        result["peers"][peer] = {"cpu": statistics.median(p for p, _ in pairs),
                                 "ratio": statistics.median(p / o for p, o in pairs)}
    best = min(result["peers"].items(), key=lambda item: item[1]["cpu"], default=(None, None))
    print(f"    exact {result['exact_cpu']:.4f} s (2 threads, wall {wall:.4f} s); best peer {best[0]} "
          f"{best[1]['cpu']:.4f} s: {best[1]['ratio']:.2f}x" if best[0] else "    no peer reached the target")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver",
                        default=str(Path(os.environ.get("PARLEY_BENCH_BUILD", "build")) / "bench/exact_driver"))
    parser.add_argument("--shared", default=os.environ.get("PARLEY_SHARED", "../shared"))
    parser.add_argument("--cache", default="build-bench/data")
    parser.add_argument("--sets", nargs="*", default=list(exact_data.SETS))
    parser.add_argument("--problems", nargs="*", default=["logistic", "lasso"])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--patience", type=float, default=10)
    parser.add_argument("--json", help="append results to this file, one document per line")
    options = parser.parse_args()
    driver = Driver(options.driver)
    for name in options.sets:
        if name != "rcv1-shape" and not Path(options.shared, "data").is_dir():
            print(f"{name}: skipped, {options.shared}/data is not there")
            continue
        for problem in options.problems:
            result = compare(driver, name, problem, options)
            if options.json:
                with open(options.json, "a") as file:
                    file.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
