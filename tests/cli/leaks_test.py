# labels: slow
"""What stands beside a claim: nothing that data decide, unless it is released or marked as not covered."""
import gzip
import json
import random
import unittest

from daemons import FederationTest
from parley_cli import CliTest

SINGLE = """
[job]
name = "leaks"
task = "logistic"
[model]
l1_radius = 3.0
[algorithm]
name = "frank-wolfe"
iterations = 4
[data]
bound = 1.0
[privacy]
epsilon = 2.0
delta = 1e-5
[[party]]
name = "site"
data = "a.libsvm"
"""

SEVERAL = """
[job]
name = "leaks"
partition = "horizontal"
task = "logistic"
[algorithm]
name = "fedavg"
iterations = 2
clip = 1.0
[data]
bound = 1.0
[privacy]
epsilon = 2.0
delta = 1e-5
[[party]]
name = "a"
data = "a.libsvm"
[[party]]
name = "b"
data = "b.libsvm"
"""


def table(seed, rows=60, labels=("-1", "1")):
    draw = random.Random(seed)
    return [f"{draw.choice(labels)} 1:{draw.uniform(-1, 1):.3f} 2:{draw.uniform(-1, 1):.3f}" for _ in range(rows)]


class Leaks(CliTest):
    def lines(self, name, lines):
        return self.write(name, "\n".join(lines) + "\n")

    def model(self, out):
        return json.loads((self.folder / out / "model.json").read_text())


class DataDecideNothing(Leaks):
    def test_the_number_of_columns_of_a_private_model_is_stated(self):
        for job in (SINGLE, SEVERAL):
            self.write("job.toml", job)
            self.lines("a.libsvm", table(1))
            self.lines("b.libsvm", table(2))
            told = self.refuses("train", "job.toml", "--out", "out", "--quiet", says="data.features: is missing")
            self.assertFalse((self.folder / "ledger").exists())
            # One record with a column that nobody else has changes not even the refusal.
            self.lines("a.libsvm", [*table(1)[:-1], "1 9:1"])
            self.assertEqual(self.refuses("train", "job.toml", "--out", "out", "--quiet"), told)
            self.succeeds("train", "job.toml", "--set", "data.features=9", "--set", f"privacy.ledger=ledger-{len(job)}",
                          "--out", f"paid-{len(job)}", "--quiet")
            self.assertEqual(self.model(f"paid-{len(job)}")["column_count"], 9)
        self.write("job.toml", SINGLE)
        self.refuses("plan", "job.toml", says="data.features: is missing")
        # A schema may state it; without privacy the data may.
        self.write("schema.toml", "[table]\nbound = 1\nfeatures = 9\nfirst_index = 1\n")
        self.succeeds("train", "job.toml", "--set", "party.site.schema=schema.toml", "--set", "privacy.ledger=other",
                      "--out", "schema", "--quiet")
        self.write("job.toml", SINGLE.replace("[privacy]\nepsilon = 2.0\ndelta = 1e-5\n", ""))
        self.succeeds("train", "job.toml", "--out", "open", "--quiet")

    def test_no_record_decides_what_the_classes_of_several_parties_are_called(self):
        self.write("job.toml", SEVERAL)
        self.lines("b.libsvm", table(2, labels=("1",)))
        called = []
        for label in ("1", "0", "-1"):
            self.lines("a.libsvm", [*table(1, labels=("1",))[:-1], f"{label} 1:0.5"])
            self.succeeds("train", "job.toml", "--set", "data.features=2", "--set", f"privacy.ledger=ledger{label}",
                          "--out", f"out{label}", "--quiet")
            called.append(self.model(f"out{label}")["classes"])
        self.assertEqual(called, [["-1", "1"]] * 3)
        self.lines("a.libsvm", [*table(1)[:-1], "3 1:0.5"])
        self.refuses("train", "job.toml", "--set", "data.features=2", "--quiet", says="labels.classes: is missing")


class EveryModelSays(Leaks):
    def setUp(self):
        super().setUp()
        self.lines("a.libsvm", table(1))
        self.lines("b.libsvm", table(2))

    def test_what_is_claimed_and_whether_its_weights_are_covered(self):
        for name, job in (("single", SINGLE), ("several", SEVERAL)):
            self.write("job.toml", job)
            paid = ("train", "job.toml", "--set", "data.features=2", "--quiet", "--overwrite")
            result = self.json_of(*paid, "--set", f"privacy.ledger={name}", "--out", name)
            self.assertEqual(
                self.model(name)["privacy"],
                {"claimed": True, "covered": True, "statement": result["privacy"]["statement"]})
            # Noise from a seed: nothing is claimed, so nothing is covered.
            result = self.json_of(*paid, "--set", f"privacy.ledger={name}-seed", "--set", "algorithm.seed=3", "--out",
                                  name)
            self.assertEqual(
                self.model(name)["privacy"],
                {"claimed": False, "covered": False, "statement": result["privacy"]["statement"]})
            self.write("job.toml", job.replace("[privacy]\nepsilon = 2.0\ndelta = 1e-5\n", ""))
            result = self.json_of("train", "job.toml", "--quiet", "--overwrite", "--out", name)
            self.assertEqual(
                self.model(name)["privacy"],
                {"claimed": False, "covered": False, "statement": result["privacy"]["statement"]})
            self.assertIn("not private", result["privacy"]["statement"])

    def test_parts_and_their_list_too(self):
        example = self.example("clinic-and-insurer")
        self.succeeds("train", example / "job.toml", "--out", "out", "--quiet")
        for folder in ("out", "out/part-1", "out/part-2"):
            said = self.model(folder)["privacy"]
            self.assertEqual((said["claimed"], said["covered"]), (False, False))
            self.assertIn("not private", said["statement"])


def uncovered(text):
    """The table on stdout behind the line that says so."""
    before, line, after = text.partition("  Not covered by the claim, for the holder of the data only:\n")
    return before, line, after


class WhatIsNotCovered(Leaks):
    OUTSIDE = {
        "status", "job", "algorithm", "rounds", "stop_reason", "model", "privacy", "communication", "seed", "version",
        "simulation"
    }

    def setUp(self):
        super().setUp()
        self.lines("a.libsvm", table(1))
        self.lines("b.libsvm", table(2))

    def test_is_in_one_object(self):
        for name, job in (("single", SINGLE), ("several", SEVERAL)):
            self.write("job.toml", job)
            printed = self.json_of("train", "job.toml", "--set", "data.features=2", "--set", f"privacy.ledger={name}",
                                   "--out", name)
            self.assertEqual(json.loads((self.folder / name / "result.json").read_text()), printed)
            self.assertEqual(set(printed), self.OUTSIDE)
            seen = printed["simulation"]
            self.assertEqual(set(seen), {"covered", "objective", "metrics", "time", "notes"})
            self.assertIs(seen["covered"], False)
            self.assertEqual(len(seen["objective"]["history"]), printed["rounds"])
            self.assertEqual(seen["metrics"]["train"]["rows"], 60 if name == "single" else 120)
            self.assertIn("total_seconds", seen["time"])
        # Without a claim everything is where it was.
        self.write("job.toml", SINGLE.replace("[privacy]\nepsilon = 2.0\ndelta = 1e-5\n", ""))
        result = self.json_of("train", "job.toml", "--out", "open")
        self.assertEqual(set(result), self.OUTSIDE - {"simulation"} | {"objective", "metrics", "time", "notes"})

    def test_stands_behind_a_line_that_says_so(self):
        self.write("job.toml", SINGLE)
        done = self.succeeds("train", "job.toml", "--set", "data.features=2", "--out", "out")
        covered, line, rest = uncovered(done.stdout)
        self.assertTrue(line)
        for word in ("objective ", "accuracy", " s reading", "note:"):
            self.assertNotIn(word, covered.replace("objective, metrics", ""))
            self.assertIn(word, rest)
        self.assertEqual(done.stderr, "")

    def test_no_time_of_a_search_is_told(self):
        self.write("job.toml", SINGLE + '[tune]\ntrials = 3\nchoices = ["algorithm.iterations=2|3"]\n')
        result = self.json_of("train", "job.toml", "--set", "data.features=2", "--set", "privacy.ledger=one", "--out",
                              "one")
        self.assertNotIn("time", result["simulation"])
        self.assertNotIn("seconds", json.dumps(result))
        self.assertEqual(len(result["privacy"]["tuned"]["settings"]), 1)
        done = self.succeeds("train", "job.toml", "--set", "data.features=2", "--set", "privacy.ledger=two", "--out",
                             "two")
        self.assertNotRegex(done.stdout, r"[0-9] s ")
        self.assertEqual(done.stderr, "")

    def test_a_hidden_number_of_records_is_nowhere(self):
        # 1,723 records, where the job states 1,500.
        self.lines("a.libsvm", table(1, 1723))
        self.lines("b.libsvm", table(2, 1723))
        exact = r"(?<![0-9.])(1,?723|3,?446)(?![0-9])"
        hidden = "epsilon = 2.0\ndelta = 1e-5\nneighbours = \"add-remove\"\nrecords = 1500\n"
        client = "epsilon = 2.0\ndelta = 1e-5\nunit = \"client\"\n"
        for name, job in (("single", SINGLE.replace("epsilon = 2.0\ndelta = 1e-5\n", hidden)),
                          ("several", SEVERAL.replace("epsilon = 2.0\ndelta = 1e-5\n", hidden)),
                          ("clients", SEVERAL.replace("epsilon = 2.0\ndelta = 1e-5\n", client))):
            self.write("job.toml", job)
            said = [
                self.succeeds("train", "job.toml", "--set", "data.features=2", "--set", f"privacy.ledger={name}",
                              "--out", name)
            ]
            if name == "single":
                said += [
                    self.succeeds("plan", "job.toml", "--set", "data.features=2", *more) for more in ((), ("--json", ))
                ]
            texts = [text for done in said for text in (done.stdout, done.stderr)]
            texts += [(self.folder / name / file).read_text() for file in ("model.json", "result.json")]
            for text in texts:
                self.assertNotRegex(text, exact)
            metrics = json.loads(texts[-1])["simulation"]["metrics"]["train"]
            self.assertIsNone(metrics["rows"])
            self.assertNotIn("deviance", metrics)  # 2 n log loss


class OneTableAtTwoParties(Leaks):
    """What a person gives would count twice, whatever is claimed for it."""

    PRIVATE = "[privacy]\nepsilon = 2.0\ndelta = 1e-5\n"

    def refused(self, job, says):
        for text in (job, job.replace(self.PRIVATE, "")):
            self.write("job.toml", text)
            self.refuses("train", "job.toml", "--set", "data.features=2", "--out", "out", "--quiet", says=says)
        self.assertFalse((self.folder / "ledger").exists())

    def test_is_refused_when_it_is_the_same_file(self):
        self.lines("a.libsvm", table(1))
        (self.folder / "link.libsvm").symlink_to("a.libsvm")
        (self.folder / "hard.libsvm").hardlink_to(self.folder / "a.libsvm")
        for other in ("a.libsvm", "./a.libsvm", "link.libsvm", "hard.libsvm"):
            self.refused(SEVERAL.replace("b.libsvm", other), "party.b.data: is the table of 'a' itself")

    def test_is_refused_when_it_is_a_copy(self):
        self.lines("a.libsvm", table(1))
        self.lines("b.libsvm", table(1))
        self.refused(SEVERAL, "party.b.data: is the table of 'a' byte for byte")
        (self.folder / "b.libsvm").write_bytes(gzip.compress((self.folder / "a.libsvm").read_bytes()))
        self.refused(SEVERAL, "party.b: has the same table as 'a'")

    def test_is_refused_when_ids_occur_at_both(self):
        schema = '[[column]]\nname = "who"\ntype = "id"\n[[column]]\nname = "x"\ntype = "number"\nbound = 1\n' \
                 '[[column]]\nname = "y"\ntype = "label"\nlevels = ["0", "1"]\n'
        self.write("schema.toml", schema)
        draw = random.Random(1)
        rows = [f"p{i},{draw.uniform(-1, 1):.3f},{i % 2}" for i in range(80)]
        job = SEVERAL.replace('"a.libsvm"',
                              '"a.csv"\nschema = "schema.toml"').replace('"b.libsvm"',
                                                                         '"b.csv"\nschema = "schema.toml"')
        self.write("a.csv", "\n".join(["who,x,y", *rows[:41]]) + "\n")
        self.write("b.csv", "\n".join(["who,x,y", *rows[40:]]) + "\n")
        self.refused(job, "party.b: has a record id that an earlier party has too")
        # Numbers that mean nothing beyond a table are no ids.
        self.write("schema.toml", schema.replace('"id"', '"ignore"'))
        self.write("job.toml", job)
        self.succeeds("train", "job.toml", "--out", "ignored", "--set", "privacy.ledger=one", "--quiet")
        self.write("schema.toml", schema)
        self.write("b.csv", "\n".join(["who,x,y", *rows[41:]]) + "\n")
        self.succeeds("train", "job.toml", "--out", "apart", "--set", "privacy.ledger=two", "--quiet")

    def test_equal_rows_without_ids_are_accepted_and_the_assumption_is_said(self):
        self.lines("a.libsvm", table(1))
        self.lines("b.libsvm", [*table(1)[:-1], "1 1:0.25"])
        self.write("job.toml", SEVERAL)
        result = self.json_of("train", "job.toml", "--set", "data.features=2", "--out", "out", "--quiet")
        self.assertIn("It is assumed that each person is at one party only", result["privacy"]["statement"])


class OneTableAtTwoSites(FederationTest):
    def test_is_refused_in_a_run_that_protects_nobody(self):
        job = self.split_by_rows(rounds=2)
        (self.folder / "west" / "stays.csv").write_bytes((self.folder / "south" / "stays.csv").read_bytes())
        said = self.federation(job, code=2)
        self.assertIn("party.west: has the same table as 'south': what a person gives would count at both", said)

    def test_is_an_assumption_where_a_digest_of_a_table_would_tell_of_its_records(self):
        job = self.split_by_rows(rounds=2, extra="[privacy]\nepsilon = 1.0\ndelta = 1e-5\n")
        job.write_text(job.read_text().replace("seed = 7\n", ""))
        (self.folder / "west" / "stays.csv").write_bytes((self.folder / "south" / "stays.csv").read_bytes())
        self.federation(job, limits="epsilon = 2.0\ndelta = 1e-4\n")
        statement = json.loads((self.folder / "out" / "result.json").read_text())["privacy"]["statement"]
        self.assertIn("It is assumed that each person is at one party only", statement)
        # In one process it is seen.
        self.refuses("train", job, "--quiet", says="party.west.data: is the table of 'south' byte for byte")


if __name__ == "__main__":
    unittest.main()
