# labels: slow
"""Jobs that state little: the scale that follows from a schema's bounds, the algorithm that is chosen, the ridge that is
added, and what is said of all that."""
import json
import math
import random
import unittest

from parley_cli import CliTest

SCHEMA = """
[[column]]
name = "year"
type = "integer"
lower = 1985
upper = 2016
[[column]]
name = "gain"
type = "number"
lower = 0
upper = 100000
[[column]]
name = "kind"
type = "category"
levels = ["a", "b", "c"]
[[column]]
name = "y"
type = "label"
levels = ["0", "1"]
"""
PARTY = '[[party]]\nname = "site"\ndata = "data.csv"\nschema = "schema.toml"\n'
PRIVATE = "[privacy]\nepsilon = 2.0\n"


class Defaults(CliTest):
    def setUp(self):
        super().setUp()
        self.runs = 0
        self.write("schema.toml", SCHEMA)
        self.table(4000)

    def table(self, rows):
        draw = random.Random(3)
        lines = ["year,gain,kind,y"]
        for _ in range(rows):
            year, gain, kind = draw.randrange(1985, 2017), int(draw.expovariate(1 / 900)), draw.choice("abc")
            margin = 0.1 * (year - 2000) + gain / 900 - 1 + (kind == "a") + draw.gauss(0, 1)
            lines.append(f"{year},{gain},{kind},{int(margin > 0)}")
        self.write("data.csv", "\n".join(lines) + "\n")

    def job(self, text="", task="logistic", name="job"):
        return self.write(f"{name}.toml", f'[job]\nname = "{name}"\ntask = "{task}"\n{text}{PARTY}')

    def trained(self, job, *settings):
        arguments = [part for setting in settings for part in ("--set", setting)]
        self.runs += 1  # each with a budget of its own
        if "[privacy]" in job.read_text():
            arguments += ["--set", f"privacy.ledger=ledger-{self.runs}"]
        result = self.json_of("train", job, "--out", "out", "--overwrite", "--quiet", *arguments)
        return result, json.loads((self.folder / "out/model.json").read_text())

    def columns(self, model):
        return {column["name"]: column for column in model["columns"]}

    def notes(self, result):
        return "\n".join(result.get("simulation", result)["notes"])

    def test_bounds_that_exclude_0_centre_and_predict_inverts_it(self):
        result, model = self.trained(self.job())
        columns = self.columns(model)
        self.assertEqual((columns["year"]["center"], columns["year"]["scale"]), (2000.5, 1 / 15.5))
        self.assertEqual((columns["gain"]["center"], columns["gain"]["scale"]), (0, 1e-5))
        self.write("two.csv", "year,gain,kind\n2016,0,a\n1985,900,b\n")
        told = self.json_of("predict", "--model", "out", "--data", "two.csv")
        weight = {name: column["weight"] for name, column in columns.items()}
        margins = (weight["year"] + weight["kind=a"], 0.009 * weight["gain"] - weight["year"] + weight["kind=b"])
        for row, margin in zip(told["predictions"], margins):
            odds = math.exp(margin + model["intercept"]["values"][0])
            self.assertAlmostEqual(row["probability"], odds / (1 + odds), places=9)

    def test_a_column_may_say_whether_it_is_centred(self):
        self.write("schema.toml", SCHEMA.replace("upper = 2016", "upper = 2016\ncenter = false")
                   .replace("upper = 100000", "upper = 100000\ncenter = true"))
        columns = self.columns(self.trained(self.job())[1])
        self.assertEqual((columns["year"]["center"], columns["year"]["scale"]), (0, 1 / 2016))
        self.assertEqual((columns["gain"]["center"], columns["gain"]["scale"]), (50000, 1 / 50000))

    def test_centring_does_not_move_an_optimum_without_penalty(self):
        objective = self.trained(self.job())[0]["objective"]["final"]
        self.write("schema.toml", SCHEMA.replace("upper = 2016", "upper = 2016\ncenter = false"))
        self.assertAlmostEqual(self.trained(self.job())[0]["objective"]["final"], objective, places=7)

    def test_center_is_refused_where_there_is_nothing_to_centre(self):
        for old, new in (('levels = ["a", "b", "c"]', 'levels = ["a", "b", "c"]\ncenter = true'),
                         ("lower = 0\nupper = 100000", "center = true"),
                         ("upper = 2016", "upper = 1985\ncenter = true")):
            self.write("schema.toml", SCHEMA.replace(old, new))
            self.refuses("train", self.job(), says="center")

    def test_a_job_that_names_no_algorithm_gets_one_and_is_told(self):
        result, _ = self.trained(self.job())
        self.assertIn("algorithm.name was not given: exact, because", self.notes(result))
        result, model = self.trained(self.job(PRIVATE))
        self.assertIn("algorithm.name was not given: gradient-descent, because the run is private", self.notes(result))
        self.assertIn("intercept", model)
        self.assertGreater(result["model"]["l2_used"], 0)
        self.assertGreater(result["simulation"]["metrics"]["train"]["auc"], 0.85)
        self.assertLessEqual(result["privacy"]["epsilon"], 2.0)

    def test_a_stated_penalty_is_kept_and_nothing_is_added(self):
        result, model = self.trained(self.job("[model]\nl2 = 0.05\n" + PRIVATE))
        self.assertNotIn("l2_used", result["model"])
        self.assertEqual(model["objective"]["l2"], 0.05)

    def test_a_constraint_gets_an_algorithm_that_takes_it(self):
        result, _ = self.trained(self.job("[model]\nl1_radius = 3.0\n" + PRIVATE))
        self.assertIn("frank-wolfe, because", self.notes(result))
        result, _ = self.trained(self.job("[model]\nsparsity = 2\n" + PRIVATE))
        self.assertIn("sgd, because", self.notes(result))

    def test_settings_without_a_name_are_those_of_the_chosen_algorithm(self):
        result, _ = self.trained(self.job("[algorithm]\niterations = 7\n" + PRIVATE))
        self.assertEqual(result["rounds"], 7)
        self.refuses("train", self.job('[algorithm]\nbatch_rate = 0.5\n' + PRIVATE), says="batch_rate")
        self.refuses("train", self.job('[algorithm]\niterations = 0\n' + PRIVATE), says="iterations")
        self.refuses("train", self.job('[algorithm]\nclip = -1.0\n' + PRIVATE), says="clip")

    def test_a_job_that_cannot_work_is_told_so_and_gets_the_base_rate(self):
        self.table(200)
        job = self.job("[privacy]\nepsilon = 0.05\ndelta = 1e-5\n")
        plan = self.json_of("plan", job)
        self.assertTrue(any("this job cannot work" in warning for warning in plan["warnings"]), plan["warnings"])
        result, model = self.trained(job)
        self.assertIn("the model is the base rate alone", self.notes(result))
        self.assertEqual({column["weight"] for column in model["columns"]}, {0})

    def test_the_looks_are_in_the_plan(self):
        plan = self.json_of("plan", self.job(PRIVATE))
        self.assertEqual([release["mechanism"] for release in plan["privacy"]["releases"]],
                         ["gaussian", "subsampled-gaussian"])
        without = self.json_of("plan", self.job(PRIVATE), "--set", "algorithm.look=false")
        self.assertEqual(len(without["privacy"]["releases"]), 1)

    def test_a_real_label_far_below_its_bound_is_learnt(self):
        draw = random.Random(4)
        lines = ["year,gain,kind,y"]
        for _ in range(6000):
            year = draw.randrange(1985, 2017)
            lines.append(f"{year},0,a,{max(0, 10 + 0.3 * (year - 2000) + draw.gauss(0, 1)):.3f}")
        self.write("data.csv", "\n".join(lines) + "\n")
        self.write("schema.toml", SCHEMA.replace('levels = ["0", "1"]', "lower = 0\nupper = 1000"))
        result, _ = self.trained(self.job(PRIVATE, task="linear"))
        self.assertGreater(result["simulation"]["metrics"]["train"]["r2"], 0.5)


if __name__ == "__main__":
    unittest.main()
