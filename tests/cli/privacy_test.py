# labels: slow
import contextlib
import hashlib
import json
import math
import random
import re
import sqlite3
import subprocess
import unittest

from parley_cli import BINARY, CliTest

SCHEMA = """
[[column]]
name = "age"
type = "integer"
lower = 0
upper = 100
[[column]]
name = "dose"
type = "number"
bound = 1
[[column]]
name = "y"
type = "label"
levels = ["0", "1"]
"""

JOB = """
[job]
name = "private"
task = "logistic"
[model]
l1_radius = 3.0
[algorithm]
name = "frank-wolfe"
iterations = 20
[data]
scale = "bounds"
[privacy]
epsilon = 2.0
delta = 1e-5
[[party]]
name = "site"
data = "data.csv"
schema = "schema.toml"
"""


def append_plan(folder, data_set, plan):
    """An entry as an earlier version wrote it, with the price in it."""
    with contextlib.closing(sqlite3.connect(folder / "ledger.sqlite")) as database:
        number, hash_before = database.execute("SELECT number, hash FROM head").fetchone()
        entry = (number + 1, 1700000000, "plan", data_set, "record", "replace-one", f"old {number + 1}", "plan 1",
                 json.dumps(plan))
        fields = [str(field) for field in (hash_before, *entry)]
        link = hashlib.sha256("".join(f"{len(field)}:{field}" for field in fields).encode()).hexdigest()
        database.execute("INSERT INTO entry VALUES (?,?,?,?,?,?,?,?,?,?)", (*entry, link))
        database.execute("UPDATE head SET number = ?, hash = ?", (number + 1, link))
        database.commit()


class Private(CliTest):
    def setUp(self):
        super().setUp()
        rng = random.Random(1)
        rows = ["age,dose,y"]
        for _ in range(3000):
            age, dose = rng.randint(20, 90), round(rng.uniform(-1, 1), 3)
            rows.append(f"{age},{dose},{1 if dose + rng.gauss(0, 0.3) > 0 else 0}")
        self.write("data.csv", "\n".join(rows) + "\n")
        self.write("schema.toml", SCHEMA)
        self.write("job.toml", JOB)

    def test_a_private_run_says_what_it_claims(self):
        result = self.json_of("train", "job.toml", "--out", "run", "--quiet")
        privacy = result["privacy"]
        self.assertTrue(privacy["claimed"])
        self.assertLessEqual(privacy["epsilon"], 2.0)
        self.assertGreater(privacy["epsilon"], 1.9)
        self.assertEqual((privacy["delta"], privacy["unit"], privacy["neighbours"], privacy["against"]),
                         (1e-5, "record", "replace-one", "everyone"))
        self.assertIn(", delta 1e-05) differential privacy for one record", privacy["statement"])
        self.assertGreater(result["simulation"]["metrics"]["train"]["auc"], 0.7)
        model = json.loads((self.folder / "run" / "model.json").read_text())
        self.assertEqual(model["provenance"]["privacy"], privacy["statement"])
        self.succeeds("ledger", "verify", "ledger")

    def test_the_account_of_the_events_agrees_with_the_claim(self):
        privacy = self.json_of("train", "job.toml", "--out", "run", "--quiet")["privacy"]
        self.write("events.json", json.dumps({"neighbours": privacy["neighbours"], "events": privacy["events"]}))
        account = self.json_of("account", "events.json", "--delta", "1e-5")
        self.assertAlmostEqual(account["epsilon"], privacy["epsilon"], places=9)

    def test_add_remove_needs_a_public_number_of_records(self):
        hidden = ("--set", "privacy.neighbours=add-remove")
        for verb in ("train", "plan"):
            told = self.refuses(verb, "job.toml", *hidden, says="privacy.records")
            self.assertIn("records = 10000", told)
        for number, says in ((0, "must lie between"), (-3, "must lie between"), (1e12, "must lie between"),
                             (100, "a quarter")):
            self.refuses("train", "job.toml", *hidden, "--set", f"privacy.records={number:.0f}", "--out", "run",
                         "--quiet", says=says)
        stated = (*hidden, "--set", "privacy.records=2500")
        self.refuses("train", "job.toml", *stated, "--set", "data.test_fraction=0.2", "--quiet", says="test_fraction")
        privacy = self.json_of("train", "job.toml", *stated, "--out", "run", "--quiet")["privacy"]
        self.assertEqual((privacy["neighbours"], privacy["records"]), ("add-remove", 2500))
        self.assertIn("the number that the job states", privacy["statement"])
        self.assertEqual(self.json_of("plan", "job.toml", *stated)["records"], 2500)
        self.succeeds("train", "job.toml", *hidden, "--set", "party.site.records=2500", "--set",
                      "privacy.ledger=other-ledger", "--out", "other", "--quiet")

    def test_replace_one_takes_the_true_number_of_records_or_none(self):
        self.refuses("train", "job.toml", "--set", "privacy.records=2999", "--quiet", says="privacy.records")
        privacy = self.json_of("train", "job.toml", "--set", "privacy.records=3000", "--out", "run",
                               "--quiet")["privacy"]
        self.assertEqual(privacy["records"], 3000)

    def test_add_remove_shows_no_trace_of_how_many_records_there_are(self):
        # A row of zeros adds nothing to any sum: with and without it the same seed writes the same model, to the byte.
        rows = (self.folder / "data.csv").read_text().splitlines()[:1024]  # a header and 1023 records
        self.write("plain.toml", JOB.replace("l1_radius = 3.0", "").replace("iterations = 20", ""))
        models = {}
        for name in ("frank-wolfe", "greedy-cd", "coordinate-descent", "sgd"):
            for zeros in (False, True):
                self.write("data.csv", "\n".join(rows[:500] + (["0,0,1"] if zeros else []) + rows[500:]) + "\n")
                job = "job.toml" if name == "frank-wolfe" else "plain.toml"
                self.succeeds("train", job, "--set", f"privacy.ledger={name}-{zeros}-ledger", "--set",
                              f"algorithm.name={name}", "--set", "algorithm.seed=7", "--set",
                              "privacy.neighbours=add-remove", "--set", "privacy.records=1000", "--out",
                              f"{name}-{zeros}", "--quiet")
                models[zeros] = (self.folder / f"{name}-{zeros}" / "model.json").read_bytes()
            self.assertEqual(models[False], models[True], name)
            self.assertEqual(json.loads(models[True])["provenance"]["rows"], 1000)

    def test_libsvm_tables_need_a_bound_and_no_schema(self):
        rng = random.Random(2)
        rows = [f"{1 if value > 0 else -1} 1:{value:.3f} 2:1" for value in (rng.uniform(-1, 1) for _ in range(2000))]
        self.write("data.libsvm", "\n".join(rows) + "\n")
        self.write("job.toml", JOB.replace("data.csv", "data.libsvm").replace('schema = "schema.toml"\n', ""))
        classes = ("--set", 'labels.classes=["-1", "+1"]')
        train = ("train", "job.toml", "--set", "data.features=2", *classes, "--quiet")
        self.refuses(*train, "--out", "run", says="bound")
        self.assertFalse((self.folder / "ledger").exists())
        result = self.json_of(*train, "--set", "data.bound=1", "--out", "run")
        self.assertTrue(result["privacy"]["claimed"])
        self.assertGreater(result["simulation"]["metrics"]["train"]["auc"], 0.9)
        # Whether a file counts from 0 would be found in the data: a schema says so.
        self.write("data.libsvm", "\n".join([*rows, "1 0:1"]) + "\n")
        self.refuses(*train, "--set", "data.bound=1", "--out", "other",
                     says="data.libsvm:2001: index: indices begin at 1")

    def test_what_a_private_model_says_of_columns_and_classes_is_not_found_in_the_data(self):
        # One record of another class, with a column that nobody else has, changes nothing that stands in the model but
        # its weights.
        rng = random.Random(3)
        usual = [f"{rng.choice((1, 2))} 1:{rng.uniform(-1, 1):.3f} 2:1" for _ in range(300)]
        self.write("usual.libsvm", "\n".join(usual) + "\n")
        self.write("odd.libsvm", "\n".join([*usual[:-1], "3 1:0.5 9:1"]) + "\n")
        self.write("schema.toml", "[table]\nbound = 1\n")
        for task, listed in (("softmax", ["1", "2", "3"]), ("logistic", ["not 2", "2"])):
            job = JOB.replace("logistic", task)
            if task == "logistic":
                job += "[labels]\npositive = 2\n"
            says = []
            for table in ("usual", "odd"):
                self.write(
                    "job.toml",
                    job.replace("data.csv", f"{table}.libsvm").replace('name = "site"', f'name = "{table}-{task}"'))
                train = ("train", "job.toml", "--out", f"{table}-{task}", "--quiet")
                features, classes = ("--set", "data.features=9"), ("--set", 'labels.classes=["1", "2", "3"]')
                self.refuses(*train, *features,
                             says="labels.classes: is missing: which classes there are would be found in the data")
                self.succeeds(*train, *features, *classes)
                model = json.loads((self.folder / f"{table}-{task}" / "model.json").read_text())
                says.append((model["classes"], model["column_count"], model["numbered"], model["schema"]))
            self.assertEqual(says[0], says[1])
            self.assertEqual(says[0][0], listed)
        # Nor is it found there where indices begin.
        self.write("odd.libsvm", "\n".join([*usual[:-1], "1 0:0.5"]) + "\n")
        self.refuses(*train, *features, *classes, "--overwrite", says="odd.libsvm:300: index: indices begin at 1")

    def test_a_private_model_has_the_classes_of_the_schema_and_no_others(self):
        self.write("schema.toml", SCHEMA.replace('levels = ["0", "1"]\n', ""))
        table = (self.folder / "data.csv").read_text()
        self.write(
            "data.csv", "\n".join(line[:-1] + {"0": "no", "1": "yes"}.get(line[-1], line[-1])
                                  for line in table.splitlines()) + "\n")
        for verb in (("plan", "job.toml"), ("train", "job.toml", "--quiet")):
            self.refuses(*verb, says="labels.classes: is missing")
        self.write("data.csv", table)
        self.write("schema.toml", SCHEMA.replace('["0", "1"]', '["0", "1", "2"]'))
        self.refuses("train", "job.toml", "--quiet", says="a binary task has two classes")
        self.assertFalse((self.folder / "ledger").exists())
        self.succeeds("train", "job.toml", "--set", "labels.positive=1", "--out", "run", "--quiet")
        self.assertEqual(json.loads((self.folder / "run" / "model.json").read_text())["classes"], ["not 1", "1"])

    def test_two_labels_by_convention_need_no_list(self):
        self.write("schema.toml", SCHEMA.replace('levels = ["0", "1"]\n', ""))
        result = self.json_of("train", "job.toml", "--out", "run", "--quiet")
        self.assertTrue(any("labels are 0 and 1 is a convention" in note for note in result["simulation"]["notes"]),
                        result["simulation"]["notes"])

    def test_no_record_decides_what_classes_by_convention_are_called(self):
        self.write("schema.toml", SCHEMA.replace('levels = ["0", "1"]\n', ""))
        lines = (self.folder / "data.csv").read_text().splitlines()
        says = []
        for name, last in (("all", "1"), ("but-one", "0"), ("other", "-1")):
            self.write("data.csv",
                       "\n".join([lines[0], *(line[:-1] + "1" for line in lines[1:-1]), lines[-1][:-1] + last]) + "\n")
            self.write(f"{name}.toml", JOB.replace('name = "site"', f'name = "{name}"'))
            self.succeeds("train", f"{name}.toml", "--out", name, "--quiet")
            model = json.loads((self.folder / name / "model.json").read_text())
            says.append((model["classes"], model["column_count"], model["schema"]))
        self.assertEqual(says, [says[0]] * 3)
        self.assertEqual(says[0][0], ["0", "1"])
        # A table that spells them in the other way is no surprise to the model.
        self.succeeds("evaluate", "--model", "other", "--data", "data.csv")

    def test_a_plan_warns_of_steps_far_beyond_those_it_would_choose(self):
        self.write("open.toml", JOB.replace("iterations = 20\n", ""))
        chosen = self.json_of("plan", "open.toml")
        steps = chosen["privacy"]["steps"]
        self.assertEqual(chosen["privacy"]["steps_suggested"], steps)
        self.assertEqual([line for line in chosen["warnings"] if "share the budget" in line], [])
        asked = self.json_of("plan", "open.toml", "--set", f"algorithm.iterations={5 * steps}")
        self.assertEqual(asked["privacy"]["steps_suggested"], steps)
        self.assertEqual(len([line for line in asked["warnings"] if f"suggest {steps};" in line]), 1, asked["warnings"])

    def test_the_private_example_learns_more_in_its_own_number_of_steps_than_in_a_thousand(self):
        folder = self.example("readmission")

        def objective(name, *settings):
            runs = [
                self.json_of("train", folder / "private.toml", "--set", f"algorithm.seed={seed}", "--set",
                             f"privacy.ledger=ledger-{name}-{seed}", *settings, "--out", f"{name}-{seed}",
                             "--quiet")["simulation"]["objective"]["final"] for seed in range(1, 7)
            ]
            return sum(runs) / len(runs)

        # Means of six seeds: 0.557 and 0.596, with deviations of 0.004 and 0.003.
        self.assertLess(objective("own"), objective("thousand", "--set", "algorithm.iterations=1000") - 0.01)

    def test_a_second_run_needs_more_budget(self):
        self.succeeds("train", "job.toml", "--out", "run", "--quiet")
        before = (self.folder / "run" / "model.json").read_bytes()
        self.refuses("train", "job.toml", "--out", "run", "--overwrite", "--quiet", code=3, says="budget")
        self.assertEqual((self.folder / "run" / "model.json").read_bytes(), before)

    def test_a_model_that_was_paid_for_is_not_replaced_unasked(self):
        self.succeeds("train", "job.toml", "--out", "run", "--quiet")
        self.succeeds("ledger", "budget", "ledger", "--data-set", "site", "--epsilon", "5", "--delta", "1e-4")
        model = self.folder / "run" / "model.json"
        before = model.read_bytes()
        not_private = ("train", "plain.toml", "--out", "run", "--quiet")
        self.write("plain.toml", JOB.split("[privacy]")[0] + "[[party]]" + JOB.split("[[party]]")[1])
        for again in (("train", "job.toml", "--out", "run", "--quiet"), not_private):
            self.refuses(*again, says="run/model.json: is a private model that a budget paid for")
        self.assertEqual(model.read_bytes(), before)
        self.assertEqual(self.json_of("ledger", "show", "ledger")["purses"][0]["charges"], 1)
        self.succeeds("train", "job.toml", "--out", "run", "--overwrite", "--quiet")
        self.assertEqual(self.json_of("ledger", "show", "ledger")["purses"][0]["charges"], 2)
        # What cost nothing gives way to the next run.
        self.succeeds(*not_private, "--overwrite")
        self.succeeds(*not_private)

    def test_a_file_that_is_no_model_is_not_replaced_and_nothing_is_charged(self):
        (self.folder / "run").mkdir()
        for content in ("mine", "{}", '{"parts": [{"path": "gone/model.json"}]}'):
            model = self.write("run/model.json", content)
            self.refuses("train", "job.toml", "--out", "run", "--quiet", says="model.json")
            self.assertEqual(model.read_text(), content)
        self.assertFalse((self.folder / "ledger").exists())

    def test_a_budget_says_which_half_of_it_ran_out(self):
        self.succeeds("train", "job.toml", "--out", "run", "--quiet")
        # Epsilon is raised a little, delta is not.
        self.succeeds("ledger", "budget", "ledger", "--data-set", "site", "--epsilon", "2.05", "--delta", "1e-5")
        told = "delta 1e-05 of 1e-05 (100 %) are used; delta is used up, and only what needs none still fits"
        self.assertIn(told, self.succeeds("ledger", "show", "ledger").stdout)
        self.assertIn("of 2.05 (9", self.refuses("train", "job.toml", "--out", "more", "--quiet", code=3, says=told))

    def test_a_budget_below_what_was_spent_is_called_overspent(self):
        self.succeeds("train", "job.toml", "--out", "run", "--quiet")
        self.assertFalse(self.json_of("ledger", "show", "ledger")["purses"][0]["overspent"])
        for composition in ("plans", "steps"):
            set_lower = ("ledger", "budget", "ledger", "--data-set", "site", "--epsilon", "0.5", "--delta", "1e-5",
                         "--composition", composition)
            for text in (self.succeeds(*set_lower).stdout, self.succeeds("ledger", "show", "ledger").stdout):
                self.assertIn("it is overspent, and nothing more is released", text)
                self.assertNotIn("the budget holds", text)
            self.assertTrue(self.json_of("ledger", "show", "ledger")["purses"][0]["overspent"])
            self.refuses("train", "job.toml", "--out", "more", "--quiet", code=3, says="it is overspent")

    def test_another_output_folder_is_no_new_budget(self):
        self.succeeds("train", "job.toml", "--out", "one", "--quiet")
        self.refuses("train", "job.toml", "--out", "two", "--quiet", code=3, says="budget")
        self.refuses("train", self.folder / "job.toml", "--out", "three", "--quiet", code=3, says="budget")

    def test_a_budget_that_ends_mid_run_keeps_the_model(self):
        self.succeeds("ledger", "budget", "site-ledger", "--data-set", "site", "--epsilon", "1", "--delta", "1e-5")
        done = self.run_parley("train", "job.toml", "--set", "privacy.ledger=site-ledger", "--out", "run", "--quiet",
                               "--json")
        self.assertEqual(done.returncode, 3, done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual((result["status"], result["stop_reason"]), ("budget-ended", "budget-ended"))
        self.assertLess(result["rounds"], 20)
        self.assertLessEqual(result["privacy"]["epsilon"], 1.0)
        self.assertTrue((self.folder / "run" / "model.json").exists())

    def test_a_seed_repeats_the_model_and_voids_the_claim(self):
        for out in ("one", "two"):
            settings = ("--set", "algorithm.seed=3", "--set", f"privacy.ledger={out}-ledger")
            result = self.json_of("train", "job.toml", *settings, "--out", out, "--quiet")
            self.assertFalse(result["privacy"]["claimed"])
            self.assertIn("no privacy is claimed", result["privacy"]["statement"])
        self.assertEqual((self.folder / "one" / "model.json").read_bytes(),
                         (self.folder / "two" / "model.json").read_bytes())
        entries = self.json_of("ledger", "show", "one-ledger", "--entries")["entries"]
        self.assertEqual([entry["kind"] for entry in entries], ["budget", "void-plan"])

    def test_a_ledger_that_lost_its_file_is_not_made_anew(self):
        self.succeeds("train", "job.toml", "--set", "privacy.ledger=site", "--out", "run", "--quiet")
        again = ("train", "job.toml", "--set", "privacy.ledger=site", "--out", "other", "--quiet")
        self.write("site/ledger.sqlite", "")
        self.refuses(*again, code=1, says="is empty")
        self.refuses("ledger", "verify", "site", code=1, says="is empty")
        (self.folder / "site" / "ledger.sqlite").unlink()
        self.refuses(*again, code=1, says="is gone, though a ledger was made here")
        self.refuses("plan", "job.toml", "--set", "privacy.ledger=site", code=1, says="is gone")
        self.refuses("ledger", "show", "site", code=1, says="is gone")
        self.assertFalse((self.folder / "site" / "ledger.sqlite").exists())

    def test_an_older_file_put_back_into_the_ledger_is_refused(self):
        def train(out):
            return ("train", "job.toml", "--set", "privacy.ledger=site", "--out", out, "--quiet")
        self.succeeds("ledger", "budget", "site", "--data-set", "site", "--epsilon", "4", "--delta", "1e-4")
        self.succeeds(*train("one"))
        older = (self.folder / "site" / "ledger.sqlite").read_bytes()
        self.succeeds(*train("two"))
        (self.folder / "site" / "ledger.sqlite").write_bytes(older)
        for command in (train("three"), ("plan", "job.toml", "--set", "privacy.ledger=site"), ("ledger", "verify",
                                                                                               "site")):
            self.refuses(*command, code=1, says="this is an older copy (of 2 entries)")
        self.assertFalse((self.folder / "three").exists())

    def test_a_plan_that_was_priced_too_low_is_named_and_counts_as_what_it_costs(self):
        self.succeeds("ledger", "budget", "site", "--data-set", "site", "--epsilon", "3", "--delta", "1e-4")
        plan = {
            "events": [{"mechanism": "gaussian", "sigma": 2.0, "sensitivity": 1.0, "count": 1}],
            "neighbours": "replace-one", "epsilon": 0.001, "delta": 1e-5, "steps": 1, "of": 1
        }
        right = json.loads(
            self.run_parley("account",
                            self.write("plan.json", json.dumps({key: plan[key]
                                                                for key in ("events", "neighbours")})), "--delta",
                            "1e-5", "--json").stdout)["epsilon"]
        append_plan(self.folder / "site", "clinic", {**plan, "epsilon": 2.0})  # of another data set, and enough
        append_plan(self.folder / "site", "site", plan)
        done = self.run_parley("ledger", "verify", "site")
        self.assertEqual(done.returncode, 1)
        self.assertIn("a plan was priced too low by an earlier version", done.stderr)
        self.assertIn("entry 3 (data set 'site', run 'old 3') was charged epsilon 0.001 and costs 1.99", done.stdout)
        self.assertNotIn("entry 2", done.stdout)
        self.assertIn("the budget holds", done.stdout)
        [spent] = [purse for purse in self.json_of("ledger", "show", "site")["purses"] if purse["data_set"] == "site"]
        self.assertEqual(spent["epsilon_spent"], right)
        # A job of epsilon 2 fits beside what was charged, and beside what it costs its first steps do.
        done = self.run_parley("train", "job.toml", "--set", "privacy.ledger=site", "--out", "run", "--json", "--quiet")
        self.assertEqual(done.returncode, 3)
        self.assertLessEqual(json.loads(done.stdout)["privacy"]["epsilon"], 3 - right)
        append_plan(self.folder / "site", "site", plan)
        done = self.run_parley("ledger", "verify", "site", "--json")
        self.assertEqual(done.returncode, 1)
        found = json.loads(done.stdout)["priced_too_low"]
        self.assertEqual([one["entry"] for one in found], [3, 5])
        self.assertEqual([one["overspent"] for one in found], [True, True])
        self.refuses("train", "job.toml", "--set", "privacy.ledger=site", "--out", "more", "--quiet", code=3,
                     says="it is overspent")

    def test_runs_at_once_set_one_budget(self):
        def start(out):
            command = [BINARY, "train", "job.toml", "--set", "privacy.ledger=site", "--set", "algorithm.seed=3"]
            return subprocess.Popen([*command, "--out", out, "--quiet"], cwd=self.folder, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL)

        codes = sorted(run.wait(timeout=120) for run in [start(f"run{k}") for k in range(4)])
        self.assertEqual(codes, [0, 3, 3, 3])
        kinds = [entry["kind"] for entry in self.json_of("ledger", "show", "site", "--entries")["entries"]]
        self.assertEqual(kinds, ["budget", "void-plan"])

    def test_the_ledger_says_for_what_it_speaks(self):
        self.succeeds("train", "job.toml", "--set", "privacy.ledger=site", "--out", "run", "--quiet")
        purse = self.json_of("ledger", "show", "site")["purses"][0]
        self.assertEqual((purse["charges"], purse["void_charges"], purse["claimed"]), (1, 0, True))
        text = self.succeeds("ledger", "show", "site").stdout
        self.assertIn(f"1 charge, for {purse['releases']} releases", text)
        self.assertGreaterEqual(purse["releases"], 20)
        self.assertIn("All that was charged here so far", text)
        self.assertNotIn("No privacy is claimed", text)
        factor = float(re.search(r"at most a factor ([0-9.]+)", text)[1])
        self.assertGreaterEqual(factor, math.exp(purse["epsilon_spent"]))

    def test_the_ledger_of_a_simulation_claims_nothing(self):
        settings = ("--set", "privacy.ledger=site", "--set", "algorithm.seed=3")
        self.succeeds("train", "job.toml", *settings, "--out", "run", "--quiet")
        text = self.succeeds("ledger", "show", "site").stdout
        self.assertIn("No privacy is claimed: 1 of 1 charge drew noise from a seed", text)
        purse = self.json_of("ledger", "show", "site")["purses"][0]
        self.assertEqual((purse["void_charges"], purse["claimed"]), (1, False))

    def test_budgets_that_mean_nothing_are_refused(self):
        budget = ("ledger", "budget", "site", "--epsilon")
        self.refuses(*budget, "1", "--delta", "1e-6", "--data-set", "", says="needs a name")
        self.refuses(*budget, "1e308", "--delta", "1e-320", "--data-set", "a", "--composition", "steps",
                     says="must lie between 1e-9 and 1e9")
        for extreme in (("1e9", "0.999999"), ("1e-9", "1e-300"), ("1e9", "1e-300")):
            self.succeeds(*budget, extreme[0], "--delta", extreme[1], "--data-set", "a", "--composition", "steps")

    def test_a_budget_by_steps_makes_no_run_free(self):
        self.succeeds("ledger", "budget", "site", "--data-set", "site", "--epsilon", "4", "--delta", "1e-5",
                      "--composition", "steps")
        privacy = self.json_of("train", "job.toml", "--set", "privacy.ledger=site", "--out", "run",
                               "--quiet")["privacy"]
        self.assertGreater(privacy["epsilon"], 0.1)
        self.assertNotIn("Nothing was released", privacy["statement"])
        self.succeeds("ledger", "budget", "site", "--data-set", "site", "--epsilon", "2", "--delta", "1e-5")
        purse = self.json_of("ledger", "show", "site")["purses"][0]
        self.assertGreaterEqual(purse["epsilon_spent"], privacy["epsilon"])
        self.succeeds("ledger", "verify", "site")

    def test_a_job_opens_no_second_purse_by_itself(self):
        both = ("train", "job.toml", "--set", "privacy.ledger=site", "--quiet")
        other = ("--set", "privacy.neighbours=add-remove", "--set", "privacy.records=3000")
        self.succeeds(*both, "--out", "run")
        self.refuses(*both, *other, "--out", "more", code=3, says="--neighbours add-remove sets a budget of their own")
        self.assertEqual(len(self.json_of("ledger", "show", "site")["purses"]), 1)
        self.succeeds("ledger", "budget", "site", "--data-set", "site", "--epsilon", "2", "--delta", "1e-5",
                      "--neighbours", "add-remove")
        self.succeeds(*both, *other, "--out", "more")
        text = self.succeeds("ledger", "show", "site").stdout
        self.assertEqual(text.count("comes on top, and is not counted here"), 2)

    def test_what_a_ledger_says_of_odd_names_heads_and_nothing(self):
        name = b"\xff\xfe"
        budget = ["ledger", "budget", "odd", "--epsilon", "1e9", "--delta", "0.5", "--data-set"]
        subprocess.run([BINARY, *budget, name], cwd=self.folder, check=True, capture_output=True)
        self.assertEqual(self.json_of("ledger", "show", "odd")["purses"][0]["charges"], 0)
        text = self.succeeds("ledger", "show", "odd").stdout
        self.assertIn("Nothing was charged to this budget so far", text)
        self.assertNotIn("inf", text)
        head = self.json_of("ledger", "verify", "odd")["head"]
        self.succeeds("ledger", "verify", "odd", "--head", head.upper())
        self.succeeds("ledger", "verify", "odd", "--head", "0" * 64)
        for wrong in ("", "abc", "z" * 64):
            self.refuses("ledger", "verify", "odd", "--head", wrong, says="64 hexadecimal digits")
        self.refuses("ledger", "verify", "odd", "--head", "1" * 64, code=1, says="rewritten")

    def test_calibrate_refuses_what_it_would_not_use(self):
        ask = ("calibrate", "--epsilon", "1", "--delta", "1e-6")
        self.refuses(*ask, "--share", "0.4", says="--plan select+release only")
        self.refuses(*ask, "--sampling-rate", "0.1", "--noise", "laplace", says="Gaussian noise")

    def test_what_is_not_public_is_refused(self):
        def refused(assignment, says):
            self.refuses("train", "job.toml", "--set", assignment, "--out", "run", "--quiet", says=says)

        refused("privacy.smoothness=private",
                "only greedy-cd and coordinate-descent take steps by smoothness constants")
        refused("privacy.epsilon=0", "privacy.epsilon")
        refused("privacy.delta=1.5", "privacy.delta")
        refused("data.scale=standardize", "data.scale")
        refused("model.intercept=true", "model.intercept")
        refused("algorithm.name=exact", "no private form")
        self.write("schema.toml", SCHEMA.replace("bound = 1", ""))
        self.refuses("train", "job.toml", "--out", "run", "--quiet", says="dose: has no public bound")

    def test_labels_outside_their_bound_are_clipped_and_counted_or_refused(self):
        rows = ["age,dose,y"] + [f"{30 + i % 40},{i % 3 - 1},{5 if i == 7 else (i % 11) / 10}" for i in range(500)]
        self.write("data.csv", "\n".join(rows) + "\n")
        self.write("schema.toml", SCHEMA.replace('levels = ["0", "1"]', 'bound = 1'))
        linear = ("train", "job.toml", "--set", "job.task=linear", "--quiet")
        result = self.json_of(*linear, "--out", "run")
        self.assertTrue(any("1 value beyond its bound" in note for note in result["simulation"]["notes"]),
                        result["simulation"]["notes"])
        self.write("schema.toml",
                   '[table]\nout_of_bounds = "refuse"\n' + SCHEMA.replace('levels = ["0", "1"]', 'bound = 1'))
        self.refuses(*linear, "--out", "other", says="must lie between -1 and 1")

    def test_an_epsilon_too_small_works_and_warns(self):
        result = self.json_of("train", "job.toml", "--set", "privacy.epsilon=0.001", "--out", "run", "--quiet")
        self.assertTrue(any("is small for" in note for note in result["simulation"]["notes"]),
                        result["simulation"]["notes"])
        plan = self.json_of("plan", "job.toml", "--set", "privacy.epsilon=0.001")
        self.assertTrue(any("cannot work" in warning for warning in plan["warnings"]), plan["warnings"])

    def test_a_plan_charges_nothing_and_agrees_with_the_run(self):
        plan = self.json_of("plan", "job.toml")["privacy"]
        self.assertFalse((self.folder / "ledger").exists())
        privacy = self.json_of("train", "job.toml", "--out", "run", "--quiet")["privacy"]
        self.assertAlmostEqual(plan["epsilon"], privacy["epsilon"], places=9)
        self.assertEqual(sum(release["count"] for release in plan["releases"]), privacy["releases"])
        after = self.json_of("plan", "job.toml")
        self.assertEqual(after["privacy"]["steps_the_budget_holds"], 0)
        self.assertTrue(any("exit 3" in warning for warning in after["warnings"]))
        self.assertIn("noise / signal", self.succeeds("plan", "job.toml").stdout)

    def test_a_single_record_does_not_decide_whether_there_is_a_model(self):
        for label in ("0", "1"):
            self.write("data.csv", "age,dose,y\n" + "".join(f"{20 + i % 60},0.5,{label}\n" for i in range(300)))
            model_folder = f"run{label}"
            self.succeeds("train", "job.toml", "--out", model_folder, "--set", f"privacy.ledger=ledger{label}",
                          "--quiet")
            model = json.loads((self.folder / model_folder / "model.json").read_text())
            self.assertEqual(model["classes"], ["0", "1"])

    def test_the_papers_noise_of_frank_wolfe_is_what_it_says_under_add_remove(self):
        # Talwar et al., Theorem: scale R sqrt(8 T ln 1/delta) / (n epsilon), which is valid when a record comes or
        # goes.
        events = {}
        for relation, more in (("replace-one", []), ("add-remove", ["--set", "privacy.records=3000"])):
            plan = self.json_of("plan", "job.toml", "--set", 'privacy.calibration=paper', "--set",
                                f"privacy.neighbours={relation}", *more)
            events[relation] = plan["privacy"]["releases"][0]["epsilon"]
        self.assertAlmostEqual(events["add-remove"], 2 * 2.0 / math.sqrt(8 * 20 * math.log(1e5)), places=9)
        self.assertAlmostEqual(events["replace-one"], 2 * events["add-remove"], places=9)

    def test_labels_beyond_their_bound_are_refused_where_the_schema_says_so(self):
        self.write("data.libsvm", "".join(f"{0.1 * i} 1:1\n" for i in range(20)))
        self.write("libsvm.toml", '[table]\nformat = "libsvm"\nbound = 1\nlabel_bound = 1\nout_of_bounds = "refuse"\n')
        self.write(
            "job.toml",
            JOB.replace("logistic", "linear").replace("data.csv", "data.libsvm").replace("schema.toml", "libsvm.toml"))
        self.refuses("train", "job.toml", "--out", "run", "--quiet", says="must lie within the bound 1")

    def test_a_tiny_epsilon_works_and_warns(self):
        for epsilon in ("1e-4", "1e-8"):
            result = self.json_of("train", "job.toml", "--set", "algorithm.name=sgd", "--set",
                                  f"privacy.epsilon={epsilon}", "--set", f"privacy.ledger=ledger{epsilon}", "--out",
                                  f"run{epsilon}", "--quiet")
            self.assertTrue(result["privacy"]["claimed"])
            self.assertTrue(any("expect a model that says little" in note for note in result["simulation"]["notes"]),
                            result["simulation"]["notes"])

    def test_a_tuned_model_says_how_it_was_made(self):
        self.write("job.toml", JOB + '[tune]\ntrials = 3\nchoices = ["model.l1_radius=1.5"]\n')
        self.json_of("train", "job.toml", "--out", "run", "--quiet")
        model = json.loads((self.folder / "run" / "model.json").read_text())
        self.assertEqual(model["objective"]["l1_radius"], 1.5)

    def test_tuning_is_inside_the_claim(self):
        self.write("job.toml",
                   JOB + '[tune]\ntrials = 3\nchoices = ["model.l1_radius=1|3", "algorithm.iterations=10|20"]\n')
        result = self.json_of("train", "job.toml", "--out", "run", "--quiet")
        self.assertTrue(result["privacy"]["claimed"])
        self.assertLessEqual(result["privacy"]["epsilon"], 2.0)
        self.assertGreater(result["privacy"]["epsilon"], 1.8)
        self.assertTrue(any("chosen by private tuning" in note for note in result["simulation"]["notes"]))
        self.write("job.toml", JOB + '[tune]\nchoices = ["data.bound=1|3"]\n')
        self.refuses("train", "job.toml", "--out", "other", "--quiet", says="tune.choices")
        self.write("job.toml",
                   JOB.replace("[privacy]\nepsilon = 2.0\ndelta = 1e-5\n", "") + '[tune]\nchoices = ["model.l2=1|3"]\n')
        self.refuses("train", "job.toml", "--out", "other", "--quiet", says="tune")


if __name__ == "__main__":
    unittest.main()
