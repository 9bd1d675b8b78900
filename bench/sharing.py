"""ADMM sharing over parties with columns, by the binary: rounds, optima and test loss.

  bench/sharing.py [--shared ../shared] [--only NAME ...]

  counts    rounds until the mean objective is within 1e-6 and 1e-8 of the optimum: averaged, Gauss-Seidel and the paper's (6), on a9a (66 and 57 columns)
            and gisette-standin (2000, 2000 and 1000)
  optima    how near every penalty and set comes to the optimum of `exact`
  epochs    test log loss by epochs of admm-sharing and vertical-sgd, beside the first party alone and all features
  samplings steps of bcfw until it stays within 1e-3 of the optimum of `exact` over the same balls, relatively, by sampling

Everything runs in one process through the messages that would travel.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import vertical
from vertical import PARLEY, ROOT, Workplace, table

BORDERS = {"a9a": [0, 66, 123], "gisette": [0, 2000, 4000, 5000], "colon": [0, 1000, 2000], "leukemia": [0, 3000, 7129]}
FILES = {"a9a": ("a9a/a9a.xz", "a9a/a9a.t.xz"), "gisette": ("gisette-standin/gisette_standin.xz", "gisette-standin/gisette_standin.t.xz"),
         "colon": ("colon-cancer/colon-cancer.xz", None), "leukemia": ("leukemia/leu.xz", "leukemia/leu.t.xz")}


class Sharing(Workplace):
    """One data set of the shared folder, cut into its parties' columns."""

    def __init__(self, folder, shared, name):
        super().__init__(folder)
        self.name, self.columns = name, BORDERS[name][-1]
        self.files = [shared / "data" / file if file else None for file in FILES[name]]
        self.there = self.files[0].is_file()
        if self.there:
            self.parties = self.split(name, self.columns, len(BORDERS[name]) - 1, *self.scaled(), BORDERS[name])
            self.whole = self.split(name, self.columns, 1, *self.scaled(), [0, self.columns])

    def scaled(self):
        """gisette-standin's values divided by 999, as in optima.json."""
        if self.name != "gisette":
            return self.files
        made = []
        for source, ending in zip(self.files, ("train", "test")):
            path = self.folder / f"gisette.{ending}"
            if not path.exists():
                with open(path, "w") as file:
                    for label, cells in self.rows(source):
                        file.write(f"{label} " + " ".join(f"{j}:{float(v) / 999!r}" for j, v in cells) + "\n")
            made.append(path)
        return made

    def run(self, parties, partition, algorithm, model, task="logistic", **settings):
        job = self.folder / "job.toml"
        lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())
        penalties = "".join(f"{key} = {value!r}\n" for key, value in model.items())
        job.write_text(f'[job]\npartition = "{partition}"\ntask = "{task}"\n[model]\n{penalties}[algorithm]\nname = "{algorithm}"\n{lines}'
                       f'[data]\nscale = "none"\n{parties}')
        done = subprocess.run([PARLEY, "train", job, "--json", "--quiet", "--out", self.folder / "out", "--overwrite"],
                              capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        return json.loads(done.stdout)

    def exact(self, model, task="logistic"):
        return self.run(self.whole, "single", "exact", model, task, tolerance=1e-13)["objective"]["final"]

    def share(self, model, task="logistic", **settings):
        return self.run(self.parties, "vertical", "admm-sharing", model, task, **settings)

    def rounds_to(self, optimum, model, gap, messages=1, **settings):
        """The first round from which on f(x) stays within `gap`; of Gauss-Seidel a sweep."""
        try:
            history = self.share(model, **settings)["objective"]["history"]
        except RuntimeError as refused:
            return "fails" if "diverges" in str(refused) else str(refused)[:60]
        after = [value for t, value in enumerate(history) if t > 0 and t % messages == 0]
        far = [t for t, value in enumerate(after) if value > optimum + gap]
        return far[-1] + 2 if far and far[-1] + 1 < len(after) else "-"


def counts(place_of, args):
    rows = []
    for name, label, model, most in (("a9a", "C = 1", {"l2": 1 / 32561}, 1000), ("a9a", "l2 = 1e-3", {"l2": 1e-3}, 400),
                                     ("gisette", "l2 = 1e-3", {"l2": 1e-3}, 800), ("gisette", "l2 = 1e-4", {"l2": 1e-4}, 1200)):
        place = place_of(name)
        if not place.there:
            continue
        optimum = place.exact(model)
        parties = len(BORDERS[name]) - 1
        forms = {"averaged": {}, "gauss-seidel": {"order": "gauss-seidel", "messages": parties},
                 "paper at the same rho": {"update": "paper"}, "paper by default": {"update": "paper"}}
        row = [f"{name}, {label}"]
        for form, settings in forms.items():
            if form == "paper at the same rho":
                settings = {**settings, "rho": place.rho}
            for gap in (1e-6, 1e-8):
                row.append(place.rounds_to(optimum, model, gap, iterations=most, tolerance=0, **settings))
            if form == "averaged":
                place.rho = rho_of(place, model)
        rows.append(row)
        print(row, flush=True)
    table("Rounds to 1e-6 / 1e-8 of the optimum", ["set", "averaged", "", "gauss-seidel", "", "(6), same rho", "", "(6), its rho", ""], rows)


def rho_of(place, model):
    """The default, 5 sqrt(l2 L M) / B, from the rows."""
    largest = 0
    for _, cells in place.rows(place.scaled()[0]):
        parts = [0.0] * (len(BORDERS[place.name]) - 1)
        for j, v in cells:
            parts[next(k for k in range(len(parts)) if j <= BORDERS[place.name][k + 1])] += float(v) ** 2
        largest = [max(a, b) for a, b in zip(largest or parts, parts)]
    return 5 * (model["l2"] * 0.25 * len(largest)) ** 0.5 / sum(largest) ** 0.5


def optima(place_of, args):
    rows = []
    cases = (("a9a", "l2", {"l2": 1e-3}, {}), ("a9a", "l1", {"l1": 1e-3}, {}), ("a9a", "elastic net", {"l1": 1e-3, "l2": 1e-3}, {}),
             ("a9a", "none, squared loss", {}, {"task": "linear"}), ("a9a", "l2, squared loss", {"l2": 1e-2}, {"task": "linear"}),
             ("colon", "l2", {"l2": 0.1}, {}), ("colon", "l1", {"l1": 0.02}, {}), ("colon", "elastic net", {"l1": 0.02, "l2": 0.01}, {}), ("leukemia", "l2", {"l2": 0.1}, {}), ("leukemia", "l1", {"l1": 0.0381}, {}),
             ("gisette", "l2", {"l2": 1e-3}, {}), ("gisette", "l1", {"l1": 0.01635}, {}))
    for name, label, model, more in cases:
        place = place_of(name)
        if not place.there or (args.sets and name not in args.sets):
            continue
        best = place.exact(model, **more)
        for form, settings in (("averaged", {}), ("balanced", {"rho": "balanced"}), ("gauss-seidel", {"order": "gauss-seidel"})):
            result = place.share(model, **more, **settings, iterations=args.most, tolerance=1e-10)
            rows.append([name, label, form, result["rounds"], result["stop_reason"], f"{(result['objective']['final'] - best) / best:.1e}",
                         result["time"]["compute_seconds"]])
            print(rows[-1], flush=True)
    table("Relative distance from the optimum of exact, tolerance 1e-10", ["set", "penalty", "form", "rounds", "ended", "distance", "seconds"], rows)


def epochs(place_of, args):
    """An epoch is a round of admm-sharing, and n / 256 batches of vertical-sgd."""
    rows = []
    for name, l2 in (("a9a", 1e-3), ("gisette", 1e-3)):
        place = place_of(name)
        if not place.there or (args.sets and name not in args.sets):
            continue
        model = {"l2": l2}
        records = sum(1 for _ in place.rows(place.scaled()[0]))
        first = place.split(f"first-{name}", BORDERS[name][1], 1, *place.scaled(), [0, BORDERS[name][1]])

        def loss(result):
            return result["metrics"]["test"]["log_loss"]

        alone, everybody = (loss(place.run(parties, "single", "exact", model, tolerance=1e-10)) for parties in (first, place.whole))
        for count in (1, 2, 5, 10, 20):
            shared = loss(place.share(model, iterations=count, tolerance=0))
            steps = [loss(place.run(place.parties, "vertical", "vertical-sgd", model, seed=1, batch=256,
                                    iterations=max(1, count * records // 256), **step)) for step in ({}, {"step": args.step})]
            rows.append([name, count, shared, *steps, alone, everybody])
            print(rows[-1], flush=True)
    table("Test log loss", ["set", "epochs", "admm-sharing", "vertical-sgd", f"step {args.step}", "first party alone", "all features"], rows)


# Blocks are the parties, with a ball each; or columns, in the ball of their party or in one ball of all.
SAMPLINGS = (("all", {}), ("one party a step", {"sampling": "uniform-serial"}), ("importance, 0.3 and the rest", {"sampling": "importance"}),
             ("custom, one party or all", {"sampling": "custom"}),
             ("tau-nice, a quarter of the columns", {"sampling": "tau-nice", "blocks": "coordinates"}),
             ("distributed, a quarter of each party's", {"sampling": "distributed", "blocks": "coordinates"}),
             ("stratified, a quarter of each party's", {"sampling": "stratified", "blocks": "coordinates"}),
             ("one ball of all, tau-nice", {"sampling": "tau-nice", "blocks": "coordinates", "ball": "global"}))


def samplings(place_of, args):
    rows = []
    for name, radius, most in (("colon", 2.0, 20000), ("leukemia", 2.0, 20000), ("a9a", 10.0, 10000), ("gisette", 10.0, 4000)):
        place = place_of(name)
        if not place.there or (args.sets and name not in args.sets):
            continue
        borders = BORDERS[name]
        parties = len(borders) - 1
        widths = [b - a for a, b in zip(borders, borders[1:])]
        balls = place.run(place.whole, "single", "exact", {"l1_radius": radius, "l1_groups": widths}, tolerance=1e-9)["objective"]["final"]
        one = place.run(place.whole, "single", "exact", {"l1_radius": radius}, tolerance=1e-9)["objective"]["final"]
        for sampling, settings in SAMPLINGS:
            settings = dict(settings)
            if settings.get("sampling") == "importance":
                settings["probabilities"] = [0.3, *[0.7 / (parties - 1)] * (parties - 1)]
            if settings.get("sampling") == "custom":
                settings["sets"] = [*([k + 1] for k in range(parties)), list(range(1, parties + 1))]
                settings["probabilities"] = [0.5 / parties] * parties + [0.5]
            best = one if settings.get("ball") else balls
            result = place.run(place.parties, "vertical", "bcfw", {"l1_radius": radius}, iterations=min(most, args.most), seed=1, **settings)
            history, every = result["objective"]["history"], result["objective"].get("history_every", 1)
            far = [t for t, value in enumerate(history) if value > best * (1 + 1e-3)]
            rows.append([name, sampling, every * (far[-1] + 1) if far and far[-1] + 1 < len(history) else "-",
                         f"{(result['objective']['final'] - best) / best:.1e}", result["rounds"], result["time"]["compute_seconds"]])
            print(rows[-1], flush=True)
    table("Steps of bcfw to within 1e-3 of exact over the same set", ["set", "sampling", "steps", "at the end", "of", "seconds"], rows)


TABLES = {"counts": counts, "optima": optima, "epochs": epochs, "samplings": samplings}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=pathlib.Path, default=ROOT.parent / "shared")
    parser.add_argument("--only", nargs="*", choices=TABLES, default=list(TABLES))
    parser.add_argument("--sets", nargs="*", choices=BORDERS)
    parser.add_argument("--step", type=float, default=0.1)
    parser.add_argument("--most", type=int, default=5000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        places = {}

        def place_of(name):
            if name not in places:
                places[name] = Sharing(folder, args.shared, name)
            return places[name]

        for name in args.only:
            TABLES[name](place_of, args)


if __name__ == "__main__":
    sys.exit(main())
