#!/usr/bin/env python3
# The first private model of a newcomer: jobs that say nothing but the task, the bounds and epsilon = 1, beside the
# same job without privacy, diffprivlib and the best of a small grid of Parley's own settings, which would have been
# picked on the test rows.
#
#   bench/defaults.py [--parley build/apps/parley/parley] [--shared ../shared] [--sets a9a adult] [--seeds 5] [--quick]
#
# AUC of two classes, accuracy of several, R2 of numbers; all on test rows: the set's own where it has them, else a fifth
# (defaults_data.py). The noise has the seeds 1 to 5. `below` is the non-private model less the default.
import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import peers

peers.use(["numpy", "scipy", "scikit-learn", "diffprivlib"], ["numpy", "scipy", "sklearn", "diffprivlib"])

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402

import defaults_data as data  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = {"a9a": 0.006, "adult": 0.006, "bank-marketing": 0.015, "uci-credit": 0.02, "w8a": 0.025, "california": 0.04,
           "mnist": 0.065}
GRID = [{"algorithm.name": name, "algorithm.iterations": steps}
        for name in ("gradient-descent", "sgd") for steps in (20, 80, 320)]
WIDEST = 2000  # columns of what diffprivlib is given


def toml_list(values):
    return "[" + ", ".join(json.dumps(str(value)) for value in values) + "]"


def schema_text(table):
    lines = ["[table]", "header = true", ""]
    for column in table.columns:
        lines += ["[[column]]", f'name = "{column.name}"', f'type = "{column.kind}"']
        if column.kind == "category":
            lines += [f"levels = {toml_list(column.levels)}", 'unknown_level = "ignore"', 'missing = "zero"']
        else:
            lines += [f"lower = {column.lower}", f"upper = {column.upper}", 'missing = "zero"']
        lines.append("")
    lines += ["[[column]]", f'name = "{table.label}"', 'type = "label"']
    if table.task == "linear":
        lines += [f"lower = {table.label_bounds[0]}", f"upper = {table.label_bounds[1]}"]
    else:
        lines.append(f"levels = {toml_list(table.classes)}")
    return "\n".join(lines) + "\n"


def write_part(table, part, path):
    if table.columns:
        with open(path, "w", newline="") as out:
            writer = csv.writer(out)
            writer.writerow([column.name for column in table.columns] + [table.label])
            writer.writerows(part)
        return
    x, y = sp.csr_matrix(part[0]), part[1]
    with open(path, "w") as out:
        for i in range(x.shape[0]):
            entries = sorted(zip(x.indices[x.indptr[i]:x.indptr[i + 1]], x.data[x.indptr[i]:x.indptr[i + 1]]))
            out.write(f"{y[i]:g} " + " ".join(f"{j + 1}:{value:.17g}" for j, value in entries) + "\n")


def write(table, folder):
    ending = "csv" if table.columns else "libsvm"
    for name, part in (("train", table.train), ("test", table.test)):
        write_part(table, part, folder / f"{name}.{ending}")
    job = ["[job]", f'name = "{table.name}"', f'task = "{table.task}"', ""]
    if not table.columns:
        job += ["[data]", f"bound = {float(table.bound)}", f"features = {table.features}", ""]
        if table.classes and tuple(table.classes) != (-1, 1):
            job += ["[labels]", f"classes = {toml_list(table.classes)}", ""]
    else:
        (folder / "schema.toml").write_text(schema_text(table))
    party = ["[[party]]", 'name = "site"', f'data = "train.{ending}"', f'test = "test.{ending}"']
    if table.columns:
        party.append('schema = "schema.toml"')
    (folder / "open.toml").write_text("\n".join(job + party) + "\n")
    (folder / "private.toml").write_text("\n".join(job + ["[privacy]", "epsilon = 1.0", ""] + party) + "\n")


def score(metrics, task):
    return metrics["r2" if task == "linear" else "accuracy" if task == "softmax" else "auc"]


def train(parley, folder, job, task, settings):
    with tempfile.TemporaryDirectory() as scratch:
        settings = dict(settings, **({"privacy.ledger": scratch + "/ledger"} if job == "private" else {}))
        command = [parley, "train", str(folder / f"{job}.toml"), "--json", "--quiet", "--out", scratch + "/out"]
        for key, value in settings.items():
            command += ["--set", f"{key}={value}"]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stderr.strip(), file=sys.stderr)
        return float("nan")
    result = json.loads(done.stdout)
    return score(result.get("simulation", result)["metrics"]["test"], task)


def auc(y, margin):
    from sklearn.metrics import roc_auc_score
    return roc_auc_score(y, margin)


def diffprivlib_score(table, seed):
    import warnings

    from diffprivlib.models import LinearRegression, LogisticRegression
    x, squares = data.features(table, table.train)
    test, _ = data.features(table, table.test)
    if x.shape[1] > WIDEST or table.name == "mnist":
        return float("nan")
    x, test = (part.toarray() if sp.issparse(part) else part for part in (x, test))
    y, test_y = data.labels_of(table, table.train), data.labels_of(table, table.test)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if table.task == "linear":
            model = LinearRegression(epsilon=1, bounds_X=(-1, 1), bounds_y=table.label_bounds, random_state=seed)
            return model.fit(x, y).score(test, test_y)
        model = LogisticRegression(epsilon=1, data_norm=np.sqrt(squares), max_iter=200, random_state=seed).fit(x, y)
    return auc(test_y, test @ model.coef_[0])


def mean(values):
    kept = [value for value in values if value == value]
    return statistics.mean(kept) if kept else float("nan")


def shown(value):
    return "-" if value != value else f"{value:.4f}"


def main():
    build = os.environ.get("PARLEY_BENCH_BUILD", str(ROOT / "build"))
    parser = argparse.ArgumentParser()
    parser.add_argument("--parley", default=build + "/parley")
    parser.add_argument("--shared", default=os.environ.get("PARLEY_SHARED", str(ROOT.parent / "shared")))
    parser.add_argument("--sets", nargs="*", default=list(data.SETS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="no grid and no diffprivlib")
    arguments = parser.parse_args()
    if not Path(arguments.shared, "data").is_dir():
        print(f"skipped: {arguments.shared}/data is not there")
        return
    print(f"{'set':<16} {'n':>7} {'d':>6} {'open':>8} {'default':>8} {'below':>8} {'allowed':>8} {'dpl':>8} {'grid':>8}")
    for name in arguments.sets:
        table = data.load(name, arguments.shared)
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            write(table, folder)
            # What the optimum overfits, a ridge does not: the better of two.
            best = max(train(arguments.parley, folder, "open", table.task, settings)
                       for settings in ({"model.l2": 1e-6}, {"model.l2": 1e-3}))
            seeds = range(1, arguments.seeds + 1)
            ours = mean(train(arguments.parley, folder, "private", table.task, {"algorithm.seed": seed})
                        for seed in seeds)
            grid, peer = float("nan"), float("nan")
            if not arguments.quick:
                grid = max(mean(train(arguments.parley, folder, "private", table.task,
                                      dict(setting, **{"algorithm.seed": seed, "model.intercept": "penalised"}))
                                for seed in (1, 2)) for setting in GRID)
                peer = mean(diffprivlib_score(table, seed) for seed in seeds)
        rows = len(table.train) if table.columns else table.train[0].shape[0]
        columns = data.features(table, table.test)[0].shape[1]
        allowed = shown(ALLOWED[name]) if name in ALLOWED else "-"
        print(f"{name:<16} {rows:>7} {columns:>6} {shown(best):>8} {shown(ours):>8} {shown(best - ours):>8} "
              f"{allowed:>8} {shown(peer):>8} {shown(grid):>8}", flush=True)


if __name__ == "__main__":
    main()
