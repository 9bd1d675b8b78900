# labels: slow
"""Every private algorithm of the catalog, on neighbouring tables: whatever is written or printed outside `simulation` is
equal, or is on the list of released values below."""
import fractions
import json
import random
import re
import unittest

from parley_cli import CliTest, catalog

RECORDS = 60
COLUMNS = 4

# What a private run releases, by the file it stands in. Everything else outside `simulation` must not depend on a record.
RELEASED = {
    "model.json": (r"columns\.[^.]+\.weights?(\[\d+\])?", r"intercept\.values\[\d+\]"),
    "result.json": (r"model\.(nonzeros|l1_norm)",
                    # Sparse messages have the size of what they carry, which is released.
                    r"communication\.(uplink|downlink)_bytes", r"communication\.per_party\[\d+\]\.(uplink|downlink)_bytes"),
    "stdout": (r"  nonzero weights .*", r"  traffic .*"),
}
# Which setting won is released by a search, and these follow from it.
CHOSEN = {
    "model.json": (r"objective\.(l1|l2|l1_radius)", r"provenance\.algorithm"),
    "result.json": (r"rounds", r"privacy\.(tuned\.settings\[\d+\]|releases|noise_to_signal)"),
    "stdout": (r"leaks: .*",),
}
HEADING = "  Not covered by the claim, for the holder of the data only:\n"
MODELS = ("l2 = 0.2", "l1_radius = 3.0", "sparsity = 2\nl2 = 0.2")  # the first that an algorithm takes
# The fewest settings that make a private run: of an algorithm by its name, of one that is not here by its partition.
SETTINGS = {"single": "", "horizontal": "iterations = 3\nclip = 1.0\n", "vertical": "iterations = 3\n", "relational": "iterations = 3\n"}
SCHEMA = "".join(f'[[column]]\nname = "c{j}"\ntype = "number"\nbound = 1\n' for j in range(COLUMNS))
LABEL = '[[column]]\nname = "y"\ntype = "label"\nlevels = ["0", "1"]\n'


def private(partition=None):
    return [algorithm for algorithm in catalog() if algorithm.private and partition in (None, algorithm.partition)]


def usual(seed):
    """Rows (label, values) that use all but the last column, within their bounds."""
    draw = random.Random(seed)
    return [(draw.choice((0, 1)), [round(draw.uniform(-1, 1), 3) for _ in range(COLUMNS - 1)] + [0]) for _ in range(RECORDS)]


# Records to put in the place of another: of the other class, beyond every bound, with a column that nobody else has, with nothing at all.
ODD = ((1, [1, 1, 1, 1]), (0, [-9, 1e6, 0, 0.123456789]), (0, [0, 0, 0, 0]))


def neighbours(rows, relation):
    if relation == "replace-one":
        return [[*rows[:-1], odd] for odd in ODD] + [[ODD[1], *rows[1:]]]
    return [rows[:-1], [*rows, ODD[0]], [*rows[:3], ODD[1], *rows[3:]]]


def libsvm(rows, same_class="0"):
    """Labels 1 and what is not 1: which of its two spellings occurs must not matter."""
    return "".join(f"{'1' if label else same_class} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(values) if v) + "\n" for label, values in rows)


def csv(rows, columns, labels):
    names = [f"c{j}" for j in columns] + (["y"] if labels else [])
    return "\n".join([",".join(names)] + [",".join([*(str(values[j]) for j in columns), *([str(label)] if labels else [])])
                                          for label, values in rows]) + "\n"


def flat(value, path=""):
    if isinstance(value, dict):
        return {k: v for key, item in value.items() for k, v in flat(item, f"{path}.{key}" if path else key).items()} or {path: {}}
    if isinstance(value, list):
        return {k: v for i, item in enumerate(value) for k, v in flat(item, f"{path}[{i}]").items()} or {path: []}
    return {path: value}


def fields(name, text):
    """path -> value of everything that stands outside `simulation`."""
    if name == "stdout":
        # Whole lines, told apart by their number.
        return {f"{i}": line for i, line in enumerate(text.partition(HEADING)[0].splitlines())}
    if not name.endswith(".json"):
        return {"": text}
    document = json.loads(text)
    document.pop("simulation", None)
    if isinstance(document.get("columns"), list):
        # A numbered column that is not listed has weight 0: which are listed is what was released.
        listed = {column["name"]: column for column in document["columns"]}
        if "numbered" in document:
            listed = {name: {"weight": column.get("weight", column.get("weights"))} for name, column in listed.items()}
        document["columns"] = listed
    return flat(document)


USERS, FILMS = 7, 5
JOINED = ('[labels]\nparty = "ratings"\ncolumn = "y"\n'
          + "".join(f'[[party]]\nname = "{name}"\ndata = "{name}.csv"\nschema = "{name}.toml"\n' for name in ("ratings", "users", "films"))
          + "".join(f'[[join]]\nleft = ["ratings.{one[:-1]}"]\nright = ["{one}.{one[:-1]}"]\n' for one in ("users", "films")))


def tables(change=lambda table, row: row):
    """Ratings of users and films, as `change` of a table's name and a row makes them."""
    rows = [(i % USERS, i % FILMS, *values[:2], label) for i, (label, values) in enumerate(usual(1))]
    users, films = [(u, round(0.3 * u - 1, 2)) for u in range(USERS)], [(f, round(0.1 * f, 2)) for f in range(FILMS)]
    return [[change(name, row) for row in table] for name, table in (("ratings", rows), ("users", users), ("films", films))]


def write_tables(folder, made):
    for name, header, rows in zip(("ratings", "users", "films"), ("user,film,c0,c1,y", "user,c2", "film,c3"), made):
        (folder / f"{name}.csv").write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    columns = ["[[column]]" + column for column in SCHEMA.split("[[column]]")[1:]]
    key = '[[column]]\nname = "{}"\ntype = "key"\n'.format
    (folder / "ratings.toml").write_text(key("user") + key("film") + columns[0] + columns[1] + LABEL)
    (folder / "users.toml").write_text(key("user") + columns[2])
    (folder / "films.toml").write_text(key("film") + columns[3])


class Neighbours(CliTest):
    def job(self, algorithm, model, privacy, extra="", parties=""):
        return (f'[job]\nname = "leaks"\npartition = "{algorithm.partition}"\ntask = "logistic"\n[model]\n{model}\n'
                f'[algorithm]\nname = "{algorithm.name}"\n{algorithm.line_of(SETTINGS)}[data]\nbound = 1.0\n{extra}'
                f"[privacy]\nepsilon = 3.0\ndelta = 1e-5\n{privacy}{parties}")

    def first_model(self, algorithm, write, job):
        """The settings of [model] that the algorithm takes."""
        for model in MODELS:
            folder = self.folder / f"try-{algorithm.name}"
            folder.mkdir(exist_ok=True)
            write(folder, usual(1))
            (folder / "job.toml").write_text(job(model))
            done = self.run_parley("train", folder / "job.toml", "--out", folder / f"out-{MODELS.index(model)}", "--quiet")
            if done.returncode == 0:
                return model
        self.fail(f"{done.stderr}{algorithm.name} takes none of MODELS with {algorithm.line_of(SETTINGS)!r}; where it "
                  "needs other settings, add to SETTINGS in tests/cli/neighbours_test.py: "
                  f'"{algorithm.name}": "KEY = VALUE\\n",')

    def told(self, folder, more=()):
        """Everything that a run leaves: its files, what it prints, and its exit code."""
        done = self.run_parley("train", folder / "job.toml", "--out", folder / "out", "--threads", 1, *more)
        said = {"exit code": str(done.returncode), "stderr": done.stderr, "stdout": done.stdout}
        for file in sorted((folder / "out").rglob("*.json")):
            said[str(file.relative_to(folder / "out"))] = file.read_text()
        return {name: text.replace(str(folder), "HERE") for name, text in said.items()}

    def compare(self, label, one, other, released):
        self.assertEqual(set(one), set(other), label)
        self.assertEqual(one["exit code"], "0", (label, one["stderr"]))
        for name in one:
            kind = name.rpartition("/")[2]
            a, b = fields(kind, one[name]), fields(kind, other[name])
            patterns = [pattern for lists in released for pattern in lists.get(kind, ())]
            for path in sorted(set(a) | set(b)):
                if a.get(path) == b.get(path):
                    continue
                shown = a.get(path, b.get(path)) if kind == "stdout" else path
                if not any(re.fullmatch(pattern, shown) for pattern in patterns):
                    self.fail(f"{label}: {name}: one record decides {path!r}: {a.get(path)!r} against {b.get(path)!r}")

    def check(self, label, write, job, tables, released=(RELEASED,), claiming=None):
        """A run on the first of the tables against one on each of the others; from one seed, so that nothing but data differ.
        `claiming`: the parties whose parts something is claimed of; none given: every one."""
        runs = []
        for number, rows in enumerate(tables):
            folder = self.folder / f"{label.replace(' ', '-')}-{number}"
            folder.mkdir()
            write(folder, rows)
            (folder / "job.toml").write_text(job)
            runs.append(self.told(folder, ("--set", "algorithm.seed=5")))
            self.compare(f"{label}, table {number}", runs[0], runs[-1], released)
        # With noise from the system something is claimed, and every file says what of it is covered.
        folder = self.folder / f"{label.replace(' ', '-')}-claimed"
        folder.mkdir()
        write(folder, tables[0])
        (folder / "job.toml").write_text(job)
        claimed = self.told(folder)
        self.assertEqual(set(claimed), set(runs[0]))
        result = json.loads(claimed["result.json"])
        self.assertIs(result["privacy"]["claimed"], True)
        self.assertIs(result["simulation"]["covered"], False)
        for field in ("objective", "metrics", "notes", "time"):
            self.assertNotIn(field, result)
        models = [json.loads(text) for name, text in claimed.items() if name.endswith("model.json")]
        for model in models:
            part = model.get("part", {}).get("party")
            claims = claiming is None or part is None or part in claiming
            self.assertIs(model["privacy"]["claimed"], claims)
            self.assertIs(model["privacy"]["covered"], claims and "keep_parts" not in job)
            self.assertTrue(model["privacy"]["statement"])
        return models

    # Relations: replace-one, and add-remove with a stated number of records.
    RELATIONS = {"replace-one": "", "add-remove": f'neighbours = "add-remove"\nrecords = {RECORDS}\n'}

    def test_single(self):
        def write(folder, rows):
            (folder / "a.libsvm").write_text(libsvm(rows, "0" if len(rows) == RECORDS else "-1"))
            (folder / "a.csv").write_text(csv(rows, range(COLUMNS), True))
            (folder / "schema.toml").write_text(SCHEMA + LABEL)

        for algorithm in private("single"):
            parties = {"libsvm": '[[party]]\nname = "a"\ndata = "a.libsvm"\n', "csv": '[[party]]\nname = "a"\ndata = "a.csv"\nschema = "schema.toml"\n'}
            features = f"features = {COLUMNS}\n"
            model = self.first_model(algorithm, write,
                                     lambda m: self.job(algorithm, m, "", features, parties["libsvm"]))
            for relation, privacy in self.RELATIONS.items():
                tables = [usual(1), *neighbours(usual(1), relation)]
                for form, party in parties.items():
                    if (form, relation) == ("csv", "add-remove"):
                        continue  # how a table is read does not depend on the relation
                    with self.subTest(algorithm=algorithm.name, relation=relation, form=form):
                        job = self.job(algorithm, model, privacy, features if form == "libsvm" else "", party)
                        self.check(f"{algorithm.name} {relation} {form}", write, job, tables)
                        if form == "libsvm":
                            self.plans_alike(f"{algorithm.name} {relation} {form}", 3)
            with self.subTest(algorithm=algorithm.name, tuned=True):
                key = model.split(" ")[0]
                tune = f'[tune]\ntrials = 3\nchoices = ["model.{key}=0.5|1.5"]\n'
                job = self.job(algorithm, model, "", features, tune + parties["libsvm"])
                tables = [usual(1), *neighbours(usual(1), "replace-one")[:2]]
                self.check(f"{algorithm.name} tuned", write, job, tables, (RELEASED, CHOSEN))

    def plans_alike(self, label, tables):
        said = []
        for number in range(tables):
            job = self.folder / f"{label.replace(' ', '-')}-{number}" / "job.toml"
            plan = self.json_of("plan", job)
            self.assertIs(plan.pop("simulation")["covered"], False)
            shown = self.succeeds("plan", job).stdout.partition(HEADING)[0]
            said.append((plan, shown))
        for other in said[1:]:
            self.assertEqual(said[0], other, label)

    def test_horizontal(self):
        def write(folder, rows):
            (folder / "a.libsvm").write_text(libsvm(rows, "0" if len(rows) == RECORDS else "-1"))
            (folder / "b.libsvm").write_text(libsvm(usual(2)))

        parties = '[[party]]\nname = "a"\ndata = "a.libsvm"\n[[party]]\nname = "b"\ndata = "b.libsvm"\n'
        units = {"client": 'unit = "client"\n', **self.RELATIONS}
        for algorithm in private("horizontal"):
            features = f"features = {COLUMNS}\n"
            model = self.first_model(algorithm, write, lambda m: self.job(algorithm, m, "", features, parties))
            for unit, privacy in units.items():
                with self.subTest(algorithm=algorithm.name, unit=unit):
                    # A client is its whole table: other rows, and another number of them.
                    tables = [usual(1), *([usual(4)[:7], [ODD[1]] * 3] if unit == "client" else neighbours(usual(1), unit))]
                    job = self.job(algorithm, model, privacy, features, parties)
                    self.check(f"{algorithm.name} {unit}", write, job, tables)

    def test_vertical(self):
        half = COLUMNS // 2

        def write(folder, rows):
            # Labels are declared public: neighbours differ in what is not.
            rows = [(label, values) for (_, values), (label, _) in zip(rows, usual(1))]
            (folder / "a.csv").write_text(csv(rows, range(half), True))
            (folder / "b.csv").write_text(csv(rows, range(half, COLUMNS), False))
            columns = SCHEMA.split("[[column]]")[1:]
            (folder / "a.toml").write_text("".join("[[column]]" + column for column in columns[:half]) + LABEL)
            (folder / "b.toml").write_text("".join("[[column]]" + column for column in columns[half:]))

        parties = ('[labels]\nparty = "a"\ncolumn = "y"\npublic = true\n[[party]]\nname = "a"\ndata = "a.csv"\nschema = "a.toml"\n'
                   '[[party]]\nname = "b"\ndata = "b.csv"\nschema = "b.toml"\n')
        for algorithm in private("vertical"):
            model = self.first_model(algorithm, write, lambda m: self.job(algorithm, m, "", "", parties))
            tables = [usual(1), *neighbours(usual(1), "replace-one")]
            with self.subTest(algorithm=algorithm.name):
                models = self.check(algorithm.name, write, self.job(algorithm, model, "", "", parties), tables)
                # What is released is on a grid; a number that was computed from the data alone has all of its bits.
                weights = [fractions.Fraction(column["weight"]) for part in models for column in part.get("columns", [])]
                self.assertTrue(weights)
                self.assertTrue(all(weight.denominator <= 2**44 for weight in weights), weights)
            with self.subTest(algorithm=algorithm.name, keep_parts=True):
                kept = f"{model}\nkeep_parts = true"
                if self.refuses_to_keep(write, self.job(algorithm, kept, "", "", parties)):
                    continue
                self.check(f"{algorithm.name} kept", write, self.job(algorithm, kept, "", "", parties), tables,
                           # Not covered, and each file says so (check()): what the parts weigh stands nowhere else.
                           ({"model.json": RELEASED["model.json"]},))

    def test_labels_that_leave_with_noise(self):
        """Labels alone: neighbours differ in them and in nothing else. Whole records: in everything."""
        half = COLUMNS // 2

        def write(folder, rows):
            (folder / "a.csv").write_text(csv(rows, range(half), True))
            (folder / "b.csv").write_text(csv(rows, range(half, COLUMNS), False))
            columns = SCHEMA.split("[[column]]")[1:]
            (folder / "a.toml").write_text("".join("[[column]]" + column for column in columns[:half]) + LABEL)
            (folder / "b.toml").write_text("".join("[[column]]" + column for column in columns[half:]))

        parties = ('[[party]]\nname = "a"\ndata = "a.csv"\nschema = "a.toml"\n'
                   '[[party]]\nname = "b"\ndata = "b.csv"\nschema = "b.toml"\n')
        same = usual(1)
        flipped = [[(1 - label if i in which else label, values) for i, (label, values) in enumerate(same)]
                   for which in ((0,), (RECORDS - 1,), (17,))]
        vertical = [algorithm for algorithm in catalog()
                    if algorithm.partition == "vertical" and algorithm.name != "masked-descent"]  # labels stay there
        self.assertGreaterEqual(len(vertical), 5)
        for algorithm in vertical:
            model = None
            for noise in ("randomised-response", "laplace"):
                labels = f'[labels]\nparty = "a"\ncolumn = "y"\nprivacy = "{noise}"\n'
                alone = lambda m: self.job(algorithm, m, 'unit = "label"\n', "", labels + parties)
                model = model or self.first_model(algorithm, write, alone)
                with self.subTest(algorithm=algorithm.name, noise=noise, unit="label"):
                    self.check(f"{algorithm.name} {noise} label", write, alone(model), [same, *flipped], claiming=("a",))
                if not algorithm.private:
                    continue
                with self.subTest(algorithm=algorithm.name, noise=noise, unit="record"):
                    job = self.job(algorithm, model, "", "", labels + "epsilon = 1.0\n" + parties)
                    self.check(f"{algorithm.name} {noise} record", write, job, [same, *neighbours(same, "replace-one")])

    def test_tables_that_join(self):
        """Whatever changes in the rows of one unit, keys apart: a rating, a film, or a user with all ratings."""
        def odd(row, label):
            return (*row[:2], 1e6, -9, label)

        others = {
            "record": [tables(lambda t, row: odd(row, y) if t == "ratings" and row == tables()[0][3] else row) for y in (0, 1)],
            'tuple"\ntable = "films': [tables(lambda t, row: (2, x) if t == "films" and row[0] == 2 else row) for x in (-1, 5)],
            'entity"\nentity = "users.user': [tables(
                lambda t, row: row if row[0] != 4 or t == "films" else odd(row, y) if t == "ratings" else (4, 9)) for y in (0, 1)],
        }
        joining = [algorithm for algorithm in private("single") if self.joins(algorithm, JOINED)]
        self.assertEqual([algorithm.name for algorithm in joining], ["sgd"])
        for algorithm in joining:
            for unit, changed in others.items():
                for more in ("", "most_rows = 3\n"):
                    with self.subTest(algorithm=algorithm.name, unit=unit, more=more):
                        job = self.job(algorithm, "l2 = 0.2", f'unit = "{unit}"\n{more}', "", JOINED)
                        label = f"{algorithm.name} {unit.partition(chr(34))[0]} {more[:4]}"
                        self.check(label, write_tables, job, [tables(), *changed])
                        # Whatever a plan of tables says follows from keys and schemas.
                        plans = [self.succeeds("plan", self.folder / f"{label.replace(' ', '-')}-{number}" / "job.toml", *form).stdout
                                 for number in range(3) for form in ((), ("--json",))]
                        self.assertEqual(plans[:2], plans[2:4])
                        self.assertEqual(plans[:2], plans[4:])

    def test_labels_of_tables_that_leave_with_noise(self):
        """Labels alone: neighbours differ in one label, which a row of the join has or several."""
        flipped = [tables(lambda t, row: (*row[:4], 1 - row[4]) if t == "ratings" and row == tables()[0][i] else row) for i in (0, 17)]
        relational = [algorithm for algorithm in catalog() if algorithm.partition == "relational"]
        self.assertGreaterEqual(len(relational), 2)
        for algorithm in relational:
            for noise in ("randomised-response", "laplace"):
                with self.subTest(algorithm=algorithm.name, noise=noise):
                    labels = JOINED.replace("[labels]\n", f'[labels]\nprivacy = "{noise}"\n')
                    job = self.job(algorithm, "l2 = 0.2", 'unit = "label"\n', "", labels)
                    self.check(f"{algorithm.name} {noise} tables", write_tables, job, [tables(), *flipped], claiming=("ratings",))

    def joins(self, algorithm, parties):
        (self.folder / "joins.toml").write_text(self.job(algorithm, "l2 = 0.2", "", "", parties))
        return "trains on one table" not in self.run_parley("plan", self.folder / "joins.toml").stderr

    def refuses_to_keep(self, write, job):
        """Whether an algorithm has no exact parts to keep, and says so."""
        folder = self.folder / "keeps"
        folder.mkdir(exist_ok=True)
        write(folder, usual(1))
        (folder / "job.toml").write_text(job)
        done = self.run_parley("train", folder / "job.toml", "--out", folder / "out", "--overwrite", "--quiet")
        return done.returncode == 2 and "model.keep_parts" in done.stderr

    def test_every_private_algorithm_is_looked_at(self):
        algorithms = private()
        self.assertLessEqual({algorithm.partition for algorithm in algorithms}, {"single", "horizontal", "vertical"},
                             "a partition that this suite has no tables for")
        self.assertGreaterEqual(len(algorithms), 9)
        # Whoever asks for privacy is told the same of them.
        self.write("ask.toml", '[job]\ntask = "logistic"\n[algorithm]\nname = "exact"\n[privacy]\nepsilon = 1\n'
                               '[[party]]\nname = "a"\ndata = "a"\n')
        told = self.refuses("train", "ask.toml", says="these have: ")
        self.assertEqual(re.search("these have: ([^;]*);", told)[1].split(", "),
                         [algorithm.name for algorithm in algorithms])
        for algorithm in algorithms:
            other = "horizontal" if algorithm.partition == "vertical" else "vertical"
            settings = ("--set", f"algorithm.name={algorithm.name}", "--set", f"job.partition={other}")
            self.refuses("train", "ask.toml", *settings, says=f"works on '{algorithm.partition}' data")


if __name__ == "__main__":
    unittest.main()
