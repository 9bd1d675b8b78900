# labels: slow
"""Private runs over tables that join, as a user meets them: what is refused, charged, claimed and planned."""
import json
import unittest

from neighbours_test import JOINED, tables, write_tables
from parley_cli import CliTest

HEAD = """[job]
name = "joined"
partition = "single"
task = "logistic"
[model]
l2 = 0.2
[algorithm]
name = "sgd"
"""
RECORD = "[privacy]\nepsilon = 1.0\ndelta = 1e-5\n"
TUPLE = RECORD + 'unit = "tuple"\ntable = "films"\n'
ENTITY = RECORD + 'unit = "entity"\nentity = "users.user"\n'


class PrivateJoins(CliTest):
    def setUp(self):
        super().setUp()
        write_tables(self.folder, tables())

    def job(self, privacy, more="", head=HEAD):
        self.write("job.toml", head + JOINED + more + privacy)
        return "job.toml"

    def train(self, out, *more):
        done = self.succeeds("train", "job.toml", "--out", out, "--json", *more)
        return json.loads(done.stdout)

    def test_a_claim_names_its_unit_and_is_charged_to_the_units_table(self):
        for privacy, data_set, unit in ((RECORD, "ratings", "record of 'ratings'"), (TUPLE, "films", "tuple of 'films'"),
                                        (ENTITY, "users.user", "entity, one value of 'users.user'")):
            with self.subTest(unit=unit):
                self.job(privacy + "most_rows = 4\n")
                privacy = self.train(f"out-{data_set}", "--set", f"privacy.ledger={data_set}")["privacy"]
                self.assertIs(privacy["claimed"], True)
                self.assertIn(f"for one {unit}, replace-one neighbours", privacy["statement"])
                self.assertIn("Keys are taken as public", privacy["statement"])
                self.assertIn("Nothing is claimed for a tuple of another table", privacy["statement"])
                self.assertIn("At most 4 of the rows of each are used", privacy["statement"])
                self.assertEqual((privacy["unit_in_full"], privacy["most_rows"]), (unit, 4))
                shown = self.succeeds("ledger", "show", data_set).stdout
                self.assertTrue(shown.startswith(f"{data_set} ({unit.split(' ')[0].rstrip(',')} unit"), shown)
                folder = self.folder / f"out-{data_set}"
                parts = json.loads((folder / "model.json").read_text())["parts"]
                self.assertEqual(len(parts), 3)
                for part in parts:
                    told = json.loads((folder / part["path"]).read_text())["privacy"]
                    self.assertIs(told["covered"], True)
                    self.assertIn(unit, told["statement"])

    def test_units_are_as_many_as_the_keys_say(self):
        for privacy, units in ((RECORD, 60), (TUPLE, 5), (ENTITY, 7)):
            self.job(privacy)
            self.assertEqual(self.train(f"out-{units}", "--set", f"privacy.ledger=l{units}")["privacy"]["records"], units)

    def test_a_plan_says_what_a_run_will_charge_and_charges_nothing(self):
        self.job(ENTITY)
        plan = self.json_of("plan", "job.toml")
        self.assertEqual(plan["privacy"]["unit"], "entity")
        self.assertEqual(plan["join"]["rows"], 60)
        self.assertFalse((self.folder / "ledger").exists())
        run = self.train("out")
        self.assertEqual([event["count"] for event in run["privacy"]["events"]], [plan["privacy"]["steps"]])
        self.assertAlmostEqual(run["privacy"]["epsilon"], plan["privacy"]["epsilon"])
        self.assertIn("for one entity, one value of 'users.user'", self.succeeds("plan", "job.toml").stdout)

    def test_a_second_run_needs_a_second_budget_and_another_unit_one_of_its_own(self):
        self.job(RECORD)
        self.train("one")
        self.assertEqual(self.run_parley("train", "job.toml", "--out", "two").returncode, 3)
        # The ratings were charged as records; entities of the same table are other purses.
        self.job(RECORD + 'unit = "entity"\nentity = "ratings.user"\n')
        told = self.run_parley("train", "job.toml", "--out", "three")
        self.assertEqual(told.returncode, 3)
        self.assertIn("sets a budget of their own", told.stderr)
        self.succeeds("ledger", "budget", "ledger", "--data-set", "ratings.user", "--unit", "entity", "--epsilon", 1,
                      "--delta", "1e-5")
        self.train("three")
        # And so are entities by another key of it.
        self.job(RECORD + 'unit = "entity"\nentity = "ratings.film"\n')
        self.assertEqual(self.run_parley("train", "job.toml", "--out", "four").returncode, 3)

    def test_what_contradicts_itself_is_refused_with_one_line_and_nothing_is_written(self):
        for privacy, says in (
                (RECORD + 'unit = "tuple"\n', "privacy.table"),
                (RECORD + 'unit = "tuple"\ntable = "film"\n', "names no table of this job"),
                (RECORD + 'unit = "entity"\n', "privacy.entity"),
                (RECORD + 'unit = "entity"\nentity = "user"\n', "TABLE.COLUMN"),
                (RECORD + 'unit = "entity"\nentity = "users."\n', "TABLE.COLUMN"),
                (RECORD + 'unit = "entity"\nentity = "users.c2"\n', "type = \"key\""),
                (RECORD + 'table = "films"\n', "needs unit = \"tuple\""),
                (RECORD + 'entity = "users.user"\n', "needs unit = \"entity\""),
                (RECORD + 'most_rows = 0\n', "most_rows"),
                (RECORD + 'records = 60\n', "records"),
                (RECORD + 'neighbours = "add-remove"\nrecords = 60\n', "neighbours"),
                (RECORD + 'unit = "client"\n', "client"),
                (RECORD + '[tune]\nchoices = ["model.l2=0.1|0.2"]\n', "tune")):
            with self.subTest(privacy=privacy):
                self.job(privacy)
                before = sorted(path.name for path in self.folder.iterdir())
                self.refuses("train", "job.toml", "--out", "out", says=says)
                self.assertEqual(sorted(path.name for path in self.folder.iterdir()), before)
        for name, says in (("exact", "no private form"), ("frank-wolfe", "trains on one table")):
            self.refuses("train", self.job(RECORD, head=HEAD.replace('"sgd"', f'"{name}"')), says=says)
        for name in ("relational-sgd", "relational-admm"):
            head = HEAD.replace('"sgd"', f'"{name}"').replace('"single"', '"relational"')
            self.refuses("train", self.job(RECORD, head=head), says='(job.partition = "single") sgd')
        self.refuses("train", self.job("", head=HEAD), says="without [privacy] exact")
        self.write("plain.toml", HEAD.replace("joined", "plain") + TUPLE + '[[party]]\nname = "a"\ndata = "a.csv"\n')
        self.refuses("train", "plain.toml", says="[[join]]")

    def test_a_column_without_a_bound_and_a_schema_that_nobody_wrote_are_refused_in_any_table(self):
        (self.folder / "films.toml").write_text('[[column]]\nname = "film"\ntype = "key"\n[[column]]\nname = "c3"\ntype = "number"\n')
        self.refuses("train", self.job(ENTITY), says="has no public bound")
        self.job(ENTITY)
        text = (self.folder / "job.toml").read_text().replace('schema = "films.toml"\n', "")
        self.write("job.toml", text)
        self.refuses("train", "job.toml", says="needs a schema")

    def test_a_real_label_needs_the_bound_of_the_table_that_has_it(self):
        schema = (self.folder / "ratings.toml").read_text().replace('levels = ["0", "1"]\n', "")
        (self.folder / "ratings.toml").write_text(schema)
        head = HEAD.replace("logistic", "linear")
        self.refuses("train", self.job(ENTITY, head=head), says="public bound of the label")
        (self.folder / "ratings.toml").write_text(schema + "bound = 1\n")
        self.job(ENTITY, head=head)
        self.assertIs(self.train("out")["privacy"]["claimed"], True)


if __name__ == "__main__":
    unittest.main()
