# labels: slow
"""Federations in one process: what a person sees who generates or splits data and trains on it."""
import csv
import json
import random
import unittest

from daemons import NEEDS, of_several_parties
from parley_cli import CliTest


class HorizontalTest(CliTest):
    def generated(self, kind="non-iid-regression", *more):
        self.succeeds("data", "generate", kind, "--out", self.folder / "sim", "--seed", 3, "--clients", 6, "--rows", 40,
                      "--columns", 60, "--nonzeros", 5, *more)
        return self.folder / "sim" / "job.toml"

    def test_a_generated_federation_trains_as_it_was_drafted(self):
        result = self.json_of("train", self.generated(), "--set", "algorithm.seed=1", "--set",
                              "algorithm.iterations=30")
        self.assertEqual(result["status"], "done")
        self.assertEqual(result["rounds"], 30)
        self.assertEqual(len(result["objective"]["history"]), 30)
        self.assertLess(result["objective"]["final"], result["objective"]["history"][0])
        self.assertLessEqual(result["model"]["nonzeros"], 5)
        self.assertFalse(result["privacy"]["claimed"])

    def test_the_wire_carries_the_kept_entries_only(self):
        tau, rounds = 5, 12
        sent = self.json_of("train", self.generated(), "--set", f"algorithm.iterations={rounds}")["communication"]
        self.assertEqual(sent["rounds"], rounds)
        self.assertEqual(len(sent["per_party"]), 6)
        for party in sent["per_party"]:
            for direction in ("uplink_bytes", "downlink_bytes"):
                self.assertLessEqual(party[direction], rounds * (1.1 * 12 * tau + 200), party)

    def test_the_same_seed_gives_the_same_bytes(self):
        job = self.generated()
        settings = ("--set", "algorithm.seed=5", "--set", "algorithm.batch=7", "--set", "algorithm.iterations=5")
        for out, threads in (("a", 1), ("b", 2)):
            self.succeeds("train", job, *settings, "--out", out, "--threads", threads)
        self.assertEqual((self.folder / "a/model.json").read_bytes(), (self.folder / "b/model.json").read_bytes())

    def test_every_horizontal_algorithm_runs(self):
        job = self.generated("non-iid-classification", "--positives", "10")
        drafted = job.read_text()
        self.assertIn("sparsity = 5\n", drafted)
        for algorithm in of_several_parties("horizontal"):
            job.write_text(drafted.replace("sparsity = 5\n", algorithm.line_of(NEEDS).model))
            settings = ("--set", f"algorithm.name={algorithm.name}", "--set", "algorithm.iterations=3")
            self.assertEqual(self.json_of("train", job, *settings)["status"], "done")

    def test_the_positive_class_is_the_second_level_of_the_schema(self):
        rows = "".join(f"{k % 7},{('sick', 'well')[k % 7 > 3]}\n" for k in range(40))
        parties = ""
        for name, levels in (("a", '["well", "sick"]'), ("b", '["well", "sick"]'), ("c", '["sick", "well"]')):
            self.write(f"{name}.csv",
                       "x,state\n" + rows + "1,sick\n" * "abc".index(name))  # no two of them the same table
            self.write(f"{name}.toml", f'[[column]]\nname = "x"\ntype = "number"\nlower = 0\nupper = 7\n'
                                       f'[[column]]\nname = "state"\ntype = "label"\nlevels = {levels}\n')
            if name != "c":
                parties += f'[[party]]\nname = "{name}"\ndata = "{name}.csv"\nschema = "{name}.toml"\n'
        head = '[job]\npartition = "horizontal"\ntask = "logistic"\n[algorithm]\nname = "fedavg"\niterations = 3\n'
        self.succeeds("train", self.write("job.toml", head + parties), "--out", "out")
        self.assertEqual(json.loads((self.folder / "out" / "model.json").read_text())["classes"], ["well", "sick"])
        mixed = self.write("mixed.toml", head + parties.replace("b.toml", "c.toml"))
        self.refuses("train", mixed,
                     says="party.b: its schema orders the levels of the label otherwise than that of 'a'")
        self.succeeds("train", mixed, "--set", 'labels.positive="sick"', "--out", "named")
        self.assertEqual(json.loads((self.folder / "named" / "model.json").read_text())["classes"], ["well", "sick"])

    def rows_by_class(self):
        draw = random.Random(4)
        self.write("all.csv", "a,b,y\n" + "".join(
            f"{draw.gauss(k, 1):.4f},{draw.gauss(-k, 1):.4f},{'xyz'[k]}\n" for _ in range(60) for k in range(3)))
        self.succeeds("data", "split", "all.csv", "--out", "parts", "--parts", 3, "--skew", "shards", "--shards", 1,
                      "--seed", 2)
        return self.folder / "parts" / "job.toml"

    def test_parties_that_see_one_class_each_learn_all(self):
        job = self.rows_by_class()
        result = self.json_of("train", job, "--set", "algorithm.iterations=150")
        self.assertGreater(result["metrics"]["train"]["accuracy"], 0.45)  # a third by chance
        model = json.loads((self.folder / "out/split/model.json").read_text())
        self.assertEqual(model["classes"], ["x", "y", "z"])
        self.assertEqual(self.json_of("evaluate", "--model", "out/split", "--data", "all.csv")["metrics"]["accuracy"],
                         result["metrics"]["train"]["accuracy"])

    def classes_of(self, job, *settings):
        self.succeeds("train", job, *settings, "--out", "ordered", "--quiet")
        return json.loads((self.folder / "ordered" / "model.json").read_text())["classes"]

    def test_listed_classes_keep_their_order_on_one_site_as_among_parties(self):
        parties = self.rows_by_class()
        site = self.write("site.toml", '[job]\ntask = "softmax"\n[model]\nl2 = 0.01\n[algorithm]\nname = "exact"\n'
                                       '[[party]]\nname = "all"\ndata = "all.csv"\n')
        for job in (site, parties):
            self.assertEqual(self.classes_of(job), ["x", "y", "z"], job)
            self.assertEqual(self.classes_of(job, "--set", 'labels.classes=["y", "z", "x"]'), ["y", "z", "x"], job)
        self.write("two.csv", "a,b,y\n" + "".join(f"{i % 7},{i % 3},{'no' if i % 2 else 'yes'}\n" for i in range(40)))
        self.succeeds("data", "split", "two.csv", "--out", "halves", "--parts", 2)
        site.write_text(site.read_text().replace("softmax", "logistic").replace("all.csv", "two.csv"))
        for job in (site, self.folder / "halves" / "job.toml"):
            self.assertEqual(self.classes_of(job), ["no", "yes"], job)
            listed = ("--set", 'labels.classes=["yes", "no"]')
            self.assertEqual(self.classes_of(job, *listed), ["yes", "no"], job)
            self.assertEqual(self.classes_of(job, *listed, "--set", "labels.positive=yes"), ["no", "yes"], job)
            self.refuses("train", job, "--set", 'labels.classes=["yes", "maybe"]', "--out", "ordered",
                         says="is not one of the known classes")
            self.refuses("train", job, "--set", 'labels.classes=["no", "yes", "maybe"]', "--out", "ordered",
                         says="a binary task has two classes")

    def test_parties_with_other_columns_are_refused(self):
        self.write("a.csv", "u,v,y\n1,2,0\n2,1,1\n")
        self.write("b.csv", "u,w,y\n1,2,0\n2,1,1\n")
        self.write("job.toml", """[job]
partition = "horizontal"
task = "logistic"
[algorithm]
name = "fedavg"
[[party]]
name = "a"
data = "a.csv"
[[party]]
name = "b"
data = "b.csv"
""")
        self.refuses("train", "job.toml", says="is a column that 'a' does not have")
        self.refuses("train", "job.toml", "--set", "data.scale=standardize", says="data.scale")


class PrivateTest(CliTest):
    def job(self, example, *changes):
        """The example without a seed (a claim needs noise from the operating system), with a privacy section."""
        text = (self.example(example) / "job.toml").read_text()
        for old, new in (("seed = 7", ""), *changes):
            self.assertIn(old, text)
            text = text.replace(old, new)
        return self.write(f"{example}/private.toml", text + "\n[privacy]\nepsilon = 2.0\ndelta = 1e-5\n")

    def test_parties_with_records_of_their_own_cost_a_record_what_its_party_spent(self):
        job = self.job("hospitals", ("intercept = true ", "intercept = false "), ("iterations = 60", "iterations = 6"))
        privacy = self.json_of("train", job, "--out", "out")["privacy"]
        self.assertTrue(privacy["claimed"])
        self.assertLessEqual(privacy["epsilon"], 2.0)
        self.assertGreater(privacy["epsilon"], 1.8)
        self.assertEqual(privacy["releases"], 3 * 6 * 10)
        self.assertIn("3 parties, each with records of its own", privacy["statement"])
        self.assertIn("The model is covered", privacy["statement"])
        self.succeeds("ledger", "verify", "hospitals/ledger")

    def test_a_tiny_epsilon_is_paid_for_noise_that_can_be_drawn(self):
        job = self.job("hospitals", ("intercept = true ", "intercept = false "), ("iterations = 60", "iterations = 2"))
        self.succeeds("train", job, "--set", "privacy.epsilon=1e-4", "--set", "privacy.delta=1e-9", "--out", "out",
                      "--quiet")

    def test_a_job_that_is_refused_sets_no_budget(self):
        job = self.job("clinic-and-insurer", ("iterations = 2000", "iterations = 5"))
        self.refuses("train", job, "--set", "privacy.epsilon=1", "--set", "privacy.delta=1e-5", says="labels.public")
        # Found only when the first party was looked at and found good.
        right = ("train", job, "--set", "labels.public=true", "--set", "privacy.epsilon=3", "--set",
                 "privacy.delta=1e-5", "--out", "out")
        insurer = job.parent / "insurer.schema.toml"
        whole = insurer.read_text()
        insurer.write_text(whole.replace("[table]\n", "[table]\nconfirmed = false\n"))
        self.refuses(*right, "--set", "privacy.epsilon=1", says="confirmed")
        insurer.write_text(whole)
        self.succeeds(*right, "--quiet")
        for purse in self.json_of("ledger", "show", job.parent / "ledger")["purses"]:
            self.assertEqual(purse["budget"]["epsilon"], 3)

    def test_parties_with_parts_of_a_record_cost_it_the_sum(self):
        job = self.job("clinic-and-insurer", ("iterations = 2000", "iterations = 5"),
                       ('positive = "yes"', 'positive = "yes"\npublic = true'))
        privacy = self.json_of("train", job, "--out", "out")["privacy"]
        self.assertTrue(privacy["claimed"])
        self.assertLessEqual(privacy["epsilon"], 2.0)
        self.assertGreater(privacy["epsilon"], 1.8)
        self.assertEqual(privacy["releases"], 2 * (5 + 1))  # five rounds of values, then the part
        self.assertIn("whose costs add up", privacy["statement"])
        self.assertIn("Labels are declared public, and nothing is claimed about them.", privacy["statement"])
        self.assertIn("The model is covered: it is made of what the parties released.", privacy["statement"])
        self.assertEqual([event["count"] for event in privacy["events"]], [1, 5])
        for number in (1, 2):
            part = json.loads((self.folder / "out" / f"part-{number}" / "model.json").read_text())["privacy"]
            self.assertEqual((part["claimed"], part["covered"]), (True, True))
            self.assertIn(part["statement"], (privacy["statement"][-len(part["statement"]):], part["statement"]))
        whole = json.loads((self.folder / "out" / "model.json").read_text())["privacy"]
        self.assertEqual(whole, {"claimed": True, "covered": True, "statement": privacy["statement"]})

    def test_parts_that_are_kept_are_not_covered_and_say_so(self):
        job = self.job("clinic-and-insurer", ("iterations = 2000", "iterations = 5"),
                       ('positive = "yes"', 'positive = "yes"\npublic = true'))
        result = self.json_of("train", job, "--set", "model.keep_parts=true", "--out", "out")
        self.assertEqual(result["privacy"]["releases"], 2 * 5)
        told = "Its own part of the model is not covered: the job keeps parts (model.keep_parts)"
        self.assertIn(told, result["privacy"]["statement"])
        self.assertNotIn("The model is covered", result["privacy"]["statement"])
        self.assertEqual((result["model"]["nonzeros"], result["model"]["l1_norm"]), (None, None))
        for folder in ("out", "out/part-1", "out/part-2"):
            said = json.loads((self.folder / folder / "model.json").read_text())["privacy"]
            self.assertEqual((said["claimed"], said["covered"]), (True, False))
            self.assertIn(told, said["statement"])
        clinic, insurer = (job.parent / f"{name}.csv" for name in ("clinic", "insurer"))
        for verb in ("predict", "evaluate"):
            self.refuses(verb, "--model", "out/part-1", "--data", clinic,
                         says="says nothing about a record without the others")
            self.succeeds(verb, "--model", "out", "--data", clinic, insurer)
        self.refuses("train",
                     self.example("readmission") / "job.toml", "--set", "model.keep_parts=true",
                     says="model.keep_parts")

    def test_a_budget_of_a_few_rounds_still_releases_the_parts(self):
        job = self.job("clinic-and-insurer", ("iterations = 2000", "iterations = 5"),
                       ('positive = "yes"', 'positive = "yes"\npublic = true'))
        for party, share in (("clinic", 1.1), ("insurer", 2)):
            self.succeeds("ledger", "budget", job.parent / "ledger", "--data-set", party, "--epsilon", share, "--delta",
                          "1e-4")
        done = self.run_parley("train", job, "--out", "out", "--json")
        self.assertEqual(done.returncode, 3, done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual((result["status"], result["stop_reason"]), ("budget-ended", "budget-ended"))
        rounds = result["rounds"] - 2  # the labels before, the parts after
        self.assertIn(rounds, (1, 2, 3, 4))
        self.assertEqual(result["privacy"]["releases"], 2 * (rounds + 1))
        self.assertTrue(json.loads((self.folder / "out" / "part-1" / "model.json").read_text())["privacy"]["covered"])

    def test_a_budget_that_ends_keeps_the_model(self):
        job = self.job("hospitals", ("intercept = true ", "intercept = false "), ("iterations = 60", "iterations = 6"))
        self.succeeds("train", job, "--out", "out")
        done = self.run_parley("train", job, "--out", "again")
        self.assertEqual(done.returncode, 3, done.stderr)


class VerticalTest(CliTest):
    def setUp(self):
        super().setUp()
        draw = random.Random(7)
        self.truth = [1.5, -2.0, 0.5, 0.0, 1.0]
        with open(self.folder / "all.csv", "w", newline="") as file:
            out = csv.writer(file)
            out.writerow(["id", "a", "b", "c", "d", "e", "y"])
            for i in range(200):
                x = [round(draw.gauss(0, 1), 4) for _ in self.truth]
                margin = sum(w * v for w, v in zip(self.truth, x)) + draw.gauss(0, 0.5)
                out.writerow([f"r{i}", *x, "sick" if margin > 0 else "well"])
        self.succeeds("data", "split", "all.csv", "--by", "columns", "--parts", 2, "--names", "clinic,insurer", "--out",
                      "parts")
        self.job = self.folder / "parts" / "job.toml"

    def test_the_drafted_job_reaches_the_optimum_of_the_pooled_table(self):
        result = self.json_of("train", self.job)
        self.write("pooled.toml", """[job]
task = "logistic"
[model]
l2 = 0.001
[algorithm]
name = "exact"
[data]
scale = "none"
[labels]
column = "y"
[[party]]
name = "all"
data = "all.csv"
""")
        exact = self.json_of("train", "pooled.toml")
        self.assertEqual(result["stop_reason"], "converged")
        self.assertAlmostEqual(result["objective"]["final"], exact["objective"]["final"], delta=1e-8)
        self.assertAlmostEqual(result["metrics"]["train"]["auc"], exact["metrics"]["train"]["auc"], delta=1e-6)

    def test_one_value_per_record_travels(self):
        result = self.json_of("train", self.job, "--set", "algorithm.iterations=3", "--set", "algorithm.tolerance=0")
        # The labels, then three rounds of 200 numbers: a frame of 48 bytes and the fields beside them, 24 up, 32 down.
        for party in result["communication"]["per_party"]:
            self.assertLessEqual(party["uplink_bytes"], 4 * (200 * 8 + 72))
            self.assertEqual(party["downlink_bytes"], 3 * (200 * 8 + 80) + 80)

    def test_parts_predict_together(self):
        trained = self.json_of("train", self.job, "--out", "out")
        files = [f"clinic={self.folder}/parts/clinic.csv", f"insurer={self.folder}/parts/insurer.csv"]
        together = self.json_of("evaluate", "--model", "out", "--data", *files)
        self.assertEqual(together["metrics"]["accuracy"], trained["metrics"]["train"]["accuracy"])
        predicted = self.succeeds("predict", "--model", "out", "--data", *reversed(files)).stdout.splitlines()
        self.assertEqual(len(predicted), 201)
        self.assertTrue(predicted[1].startswith("r0,"))
        self.refuses("predict", "--model", "out", "--data", files[0], says="2 parts")

    def test_parties_with_other_records_are_refused(self):
        insurer = self.folder / "parts" / "insurer.csv"
        lines = insurer.read_text().splitlines()
        insurer.write_text("\n".join(lines[:-1]) + "\n")
        self.refuses("train", self.job, says="same records")
        insurer.write_text("\n".join([lines[0], lines[2], lines[1], *lines[3:]]) + "\n")
        self.refuses("train", self.job, says="record ids")


if __name__ == "__main__":
    unittest.main()
