"""Block-coordinate Frank-Wolfe over parties with columns: the comparisons of Lou & Cheung, Section V, by the binary.

  bench/vertical.py [--shared ../shared] [--full] [--only NAME ...]

  samplings   Figure 1: objective against rounds for three samplings, with p_min by its definition and with the
              paper's 0.16
  parties     Figure 2: objective after 200 rounds over K parties, with balls of l1_radius each (the paper), shares of
              it, and one ball
  bytes       what goes up against the objective, for sketches of m numbers a column, whole columns, and one shot of
              all columns
  rcv1        the same on the shape of rcv1, m = 1 % of n
  private     a9a over two parties: test accuracy and objective by epsilon, number of parties and share of the budget
  step        a step's time against the number of columns, the nonzeros being the same

Data are made by `parley data generate sparse-regression` (n = 800, d = 8,000; 400 and 4,000 without --full) and read
from the shared folder; a table whose data are not there is left out. Everything runs in one process through the
messages that would travel.
"""
import argparse
import json
import lzma
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PARLEY = pathlib.Path(os.environ.get("PARLEY_BENCH_BUILD", ROOT / "build")) / "parley"


class Workplace:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.ledgers = 0

    def rows(self, path):
        opened = lzma.open if str(path).endswith(".xz") else open
        with opened(path, "rt") as file:
            for line in file:
                label, *cells = line.split()
                yield label, [(int(j), v) for j, v in (cell.split(":") for cell in cells)]

    def split(self, name, columns, parties, train, test=None, borders=None):
        """Files of so many parties, about equal; the text of their [[party]] sections."""
        borders = borders or [columns * k // parties for k in range(parties + 1)]
        text = ""
        for k in range(parties):
            schema = self.folder / f"{name}-{parties}-{k}.toml"
            schema.write_text(
                f'[table]\nformat = "libsvm"\nfeatures = {borders[k + 1] - borders[k]}\nbound = 1.0\nconfirmed = true\n'
            )
            text += f'[[party]]\nname = "p{k}"\ndata = "{name}-{parties}-{k}"\nschema = "{schema.name}"\n'
            text += f'test = "{name}-{parties}-{k}.t"\n' if test else ""
        for source, ending in ((train, ""), (test, ".t")):
            if source is None:
                continue
            files = [open(self.folder / f"{name}-{parties}-{k}{ending}", "w") for k in range(parties)]
            for label, cells in self.rows(source):
                for k, file in enumerate(files):
                    own = " ".join(f"{j - borders[k]}:{v}" for j, v in cells if borders[k] < j <= borders[k + 1])
                    file.write(f"{label if k == 0 else 0} {own}\n")
            for file in files:
                file.close()
        return text

    def train(self, parties, task="linear", eta=10.0, algorithm="bcfw", scale="none", privacy="", **settings):
        lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())
        if privacy:
            self.ledgers += 1
            privacy = f'[privacy]\n{privacy}\nledger = "ledger-{self.ledgers}"\n'
        job = self.folder / "job.toml"
        job.write_text(f'[job]\npartition = "vertical"\ntask = "{task}"\n[model]\nl1_radius = '
                       f'{eta}\n[algorithm]\nname = "{algorithm}"\n'
                       f'{lines}[data]\nscale = "{scale}"\n[labels]\nparty = "p0"\npublic = true\n{privacy}{parties}')
        done = subprocess.run([PARLEY, "train", job, "--json", "--quiet", "--out", self.folder / "out", "--overwrite"],
                              capture_output=True, text=True)
        if done.returncode not in (0, 3):
            raise RuntimeError(done.stderr.strip())
        return json.loads(done.stdout)


def table(title, head, rows):
    print(f"\n{title}\n")
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row) + " |")


def generated(place, full, density=0.01):
    n, d = (800, 8000) if full else (400, 4000)
    out = place.folder / f"sparse-{density}"
    subprocess.run([
        PARLEY, "data", "generate", "sparse-regression", "-n",
        str(n), "-d",
        str(d), "--density",
        str(density), "--format", "libsvm", "--out", out
    ], check=True, capture_output=True)
    found = [file for file in out.iterdir() if file.suffix in (".libsvm", ".svm", ".txt")]
    return n, d, found[0]


def samplings(place, args):
    n, d, path = generated(place, args.full)
    split = place.split("sparse", d, 2, path)
    tau, most = d * 2 // 5, 200
    columns = {"blocks": "coordinates"}
    rows = []
    for name, settings in (("elementary", {}), (f"tau-nice, tau = {tau} of {d}",
                                                {"sampling": "tau-nice", "tau": tau,
                                                 **columns}), (f"(2, {tau})-distributed, p_min by its definition, 0.8",
                                                               {"sampling": "distributed", "tau": tau, **columns}),
                           (f"(2, {tau})-distributed, the paper's step, 0.16",
                            {"sampling": "distributed", "tau": tau, "p_min": 0.16, **columns})):
        history = place.train(split, iterations=most, seed=1, **settings)["objective"]["history"]
        rows.append([name, *(history[t] for t in (25, 50, 100, most))])
    table(f"Samplings (Figure 1), n = {n}, d = {d}, two parties: objective after so many steps",
          ["sampling", "25", "50", "100", "200"], rows)


def parties(place, args):
    """Features of density 5 %: with the 1 % of Figure 1 every number is about a quarter."""
    n, d, path = generated(place, args.full, 0.05)
    rows = []
    for count in (2, 4, 8, 16):
        split = place.split("sparse", d, count, path)

        def reached(eta, **settings):
            return place.train(split, eta=eta, iterations=200, seed=1, **settings)["objective"]["final"]

        rows.append([
            count,
            reached(10, radius="paper"),
            reached(10),
            reached(10, ball="global"),
            reached(10 * count, ball="global")
        ])
    table(f"Parties (Figure 2), n = {n}, d = {d}, features of density 5 %, eta = 10: objective after 200 steps",
          ["K", "a ball of eta each (the paper)", "of eta/K each", "one ball of eta", "one ball of K eta"], rows)


def uplink(result, labels):
    """Without the labels, which are sent once."""
    return result["communication"]["uplink_bytes"] - 8 * labels


def sent(place, args):
    n, d, path = generated(place, args.full)
    split = place.split("sparse", d, 2, path)
    rows = []
    whole = None
    for name, share, algorithm in (("whole columns", 1.0, "bcfw"), *((f"m = {share:.0%} of n", share, "bcfw")
                                                                     for share in (0.01, 0.05, 0.2, 0.5, 1.0)),
                                   ("pride, m = 5% of n", 0.05, "pride")):
        settings = {} if name == "whole columns" else {"sketch": max(1, round(share * n))}
        result = place.train(split, algorithm=algorithm, iterations=200, seed=1, **settings)
        up = uplink(result, n)
        whole = whole or up
        rows.append([name, f"{up:,}", result["objective"]["final"], result["model"]["nonzeros"]])
    table(f"Bytes, n = {n}, d = {d}, two parties, 200 steps: what goes up beside the labels, and the objective",
          ["columns are sent", "bytes up", "objective", "nonzeros"], rows)


def rcv1(place, args):
    """The shape of rcv1: 20,242 records, 47,236 columns of about 32 nonzeros each."""
    n, d, parties, steps = 20_242, 47_236, 4, 200
    made = place.folder / "rcv1"
    subprocess.run([PARLEY, "data", "generate", "sparse-regression", "-n", str(n), "-d", str(d), "--density", "0.0016",
                    "--model-density", "0.002", "--format", "libsvm", "--out", made], check=True, capture_output=True)
    split = place.split("rcv1", d, parties, next(file for file in made.iterdir() if file.suffix == ".libsvm"))
    rows = []
    for name, settings in (("as they are stored", {}), ("m = 1 % of n", {"sketch": n // 100, "sketch_kind": "osnap"})):
        result = place.train(split, eta=100, iterations=steps, seed=1, **settings)
        up = uplink(result, n)
        columns = result["model"]["nonzeros"]  # every column that was sent has a weight
        raw = columns * 4 * n  # a number for each record, in float32
        entries = 4 * columns * settings["sketch"] if settings else None
        formula = entries and (4 + 64) * parties * steps + entries  # an index and the frame of each reply
        rows.append([name, columns, f"{up:,}", f"{raw:,}", f"{1 - up / raw:.2%}", f"{up / formula:.2f}" if formula else ""])
    table(f"Bytes on the shape of rcv1, {parties} parties, {steps} steps",
          ["columns are sent", "columns", "bytes up", "one number a record", "fewer", "of indices + frames + entries"], rows)


def private(place, args):
    folder = args.shared / "data" / "a9a"
    if not folder.is_dir():
        print("\nprivate: a9a is not here")
        return

    def judged(split, **settings):
        accuracies, objectives = [], []
        for seed in range(args.seeds):
            try:
                result = place.train(split, task="logistic", scale="bounds", seed=seed, **settings)["simulation"]
            except RuntimeError as refused:
                return str(refused).split(": ", 1)[-1][:60], ""
            accuracies.append(result["metrics"]["test"]["accuracy"])
            objectives.append(result["objective"]["final"])
        return statistics.mean(accuracies), statistics.mean(objectives)

    def at(epsilon):
        return f"epsilon = {epsilon}\ndelta = 1e-6"

    splits = {
        count: place.split("a9a", 123, count, folder / "a9a.xz", folder / "a9a.t.xz",
                           [0, 66, 123] if count == 2 else None)
        for count in (2, 4, 8)
    }
    table(f"a9a over two parties (66 and 57 columns), defaults, delta 1e-6, mean of {args.seeds} seeds",
          ["epsilon", "test accuracy", "objective"],
          [[epsilon, *judged(splits[2], privacy=at(epsilon))] for epsilon in (0.1, 1, 10, 100)])
    table("a9a by the number of parties, epsilon 1, 20 steps", ["K", "test accuracy", "objective"],
          [[count, *judged(splits[count], privacy=at(1), iterations=20)] for count in splits])
    table("a9a by the indices' share of the budget (the rest is for columns of 326 numbers), epsilon 1, 20 steps",
          ["share", "test accuracy", "objective"],
          [[share, *judged(splits[2], privacy=at(1), iterations=20, share=share, sketch=326, sketch_kind="osnap")]
           for share in (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)])
    table("a9a, the paper's form with valid noise: own columns as they were shared",
          ["epsilon", "test accuracy", "objective"], [[
              epsilon, *judged(splits[2], privacy=at(epsilon), iterations=20, own_columns="shared", sketch=326,
                               sketch_kind="osnap", offset=False)
          ] for epsilon in (1, 100)])


def step(place, args):
    draw = random.Random(1)
    rows = []
    for d in (10**4, 10**5, 10**6):
        path = place.folder / f"text-{d}"
        with open(path, "w") as file:
            for i in range(20_000):
                columns = sorted(draw.sample(range(1, d + 1), 75))
                file.write(f"{draw.choice((-1, 1))} " + " ".join(f"{j}:0.{(7 * j + i) % 9 + 1}"
                                                                 for j in columns) + "\n")
        split = place.split(f"text{d}", d, 2, path)
        seconds = {}
        for name, settings in (("every column", {}), ("100 sampled columns of each party",
                                                      {"sampling": "distributed", "blocks": "coordinates",
                                                       "tau": 100})):
            results = [
                place.train(split, task="logistic", eta=100, iterations=200, seed=1, **settings) for _ in range(3)
            ]
            seconds[name] = statistics.median(result["time"]["compute_seconds"] for result in results) / 200
        rows.append([f"{d:,}", *(f"{1e3 * value:.3f} ms" for value in seconds.values())])
    table("A step over 20,000 records of 75 nonzeros, two parties", ["columns", *seconds], rows)


TABLES = {"samplings": samplings, "parties": parties, "bytes": sent, "rcv1": rcv1, "private": private, "step": step}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=pathlib.Path, default=ROOT.parent / "shared")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", nargs="*", choices=TABLES, default=list(TABLES))
    args = parser.parse_args()
    for name in args.only:
        with tempfile.TemporaryDirectory() as folder:
            TABLES[name](Workplace(folder), args)


if __name__ == "__main__":
    sys.exit(main())
