# labels: slow
"""Models that people ask for: counts, weights, thresholds, cross-validation and paths, standard errors."""
import csv
import json
import math
import random
import unittest

from parley_cli import CliTest

JOB = """[job]
task = "{task}"
partition = "{partition}"
[model]
intercept = true
{model}
[algorithm]
name = "{algorithm}"
{algorithm_settings}
[data]
scale = "{scale}"
{data}
[labels]
column = "y"
{labels}
{rest}
"""
PARTY = '[[party]]\nname = "{0}"\ndata = "{0}.csv"\n'


class ModelTest(CliTest):
    def job(self, parties=("table",), schema="", **settings):
        defaults = {"task": "logistic", "partition": "single", "model": "", "algorithm": "exact", "labels": "",
                    "algorithm_settings": "", "scale": "none", "data": "", "rest": ""}
        text = JOB.format(**{**defaults, **settings})
        for party in parties:
            text += PARTY.format(party) + ('schema = "schema.toml"\n' if schema else "")
        if schema:
            self.write("schema.toml", schema)
        self.write("job.toml", text)
        return "job.toml"

    def trained(self, *arguments, out="out", **settings):
        result = self.json_of("train", self.job(**settings), "--out", out, "--quiet", *arguments)
        model = json.loads((self.folder / out / "model.json").read_text())
        weights = {column["name"]: column["weight"] for column in model["columns"]}
        return result, {**weights, "(intercept)": (model["intercept"]["values"] or [0])[0]}

    def predicted(self, data, *columns, model="out"):
        rows = csv.DictReader(self.succeeds("predict", "--model", model, "--data", data).stdout.splitlines())
        return [tuple(row[column] for column in columns) for row in rows]


class Counts(ModelTest):
    """The rate of each group is its mean: a Poisson model of groups has a closed form."""
    TABLE = "g,y\n" + "a,1\na,3\na,2\n" + "b,8\nb,4\nb,9\nb,7\n"

    def test_rates_are_the_means_of_the_groups(self):
        self.write("table.csv", self.TABLE)
        result, _ = self.trained(task="poisson")
        for (rate,), mean in zip(self.predicted("table.csv", "prediction"), [2] * 3 + [7] * 4):
            self.assertAlmostEqual(float(rate), mean, places=6)
        deviance = 2 * sum(y * math.log(y / m) - (y - m) for y, m in [(1, 2), (3, 2), (2, 2), (8, 7), (4, 7), (9, 7),
                                                                        (7, 7)])
        self.assertAlmostEqual(result["metrics"]["train"]["deviance"], deviance, places=6)
        self.assertGreater(result["metrics"]["train"]["r2"], 0.5)

    def test_parties_that_hold_records_find_the_same_rates(self):
        lines = self.TABLE.splitlines()
        self.write("one.csv", "\n".join([lines[0], *lines[1::2]]) + "\n")
        self.write("two.csv", "\n".join([lines[0], *lines[2::2]]) + "\n")
        self.write("table.csv", self.TABLE)
        schema = '[[column]]\nname = "y"\ntype = "label"\n[[column]]\nname = "g"\ntype = "category"\nlevels = ["a", "b"]\n'
        self.trained(task="poisson", algorithm="newton", partition="horizontal", parties=("one", "two"), schema=schema)
        rates = [float(p) for p, in self.predicted("table.csv", "prediction")]
        for rate, mean in zip(rates, [2] * 3 + [7] * 4):
            self.assertAlmostEqual(rate, mean, places=5)

    def test_a_rate_beyond_all_bounds_stays_finite(self):
        self.write("table.csv", "x,y\n" + "".join(f"{x},{10 ** (x % 9)}\n" for x in range(20)))
        result, _ = self.trained(task="poisson")
        self.assertEqual(result["status"], "done")
        self.write("far.csv", "x\n1e6\n-1e6\n")
        for rate, in self.predicted("far.csv", "prediction"):
            self.assertTrue(math.isfinite(float(rate)))

    def test_what_is_no_count_is_refused(self):
        for bad, says in (("-1", "count"), ("1e10", "e^20"), ("nan", "finite")):
            self.write("table.csv", f"x,y\n1,2\n2,{bad}\n3,1\n")
            self.refuses("train", self.job(task="poisson"), "--quiet", says="y")
        self.write("table.csv", "x,y\n1,0\n2,0\n")
        self.refuses("train", self.job(task="poisson"), "--quiet", says="all 0")
        self.write("table.csv", self.TABLE)
        self.refuses("train", self.job(task="poisson", algorithm="sgd"), "--quiet", says="exact, newton")
        self.refuses("train", self.job(task="poisson", rest="[privacy]\nepsilon = 1\n", model=""),
                     "--set", "model.intercept=none", "--quiet", says="no private form")


class Weights(ModelTest):
    def setUp(self):
        super().setUp()
        draw = random.Random(2)
        self.rows = [(draw.gauss(0, 1), draw.gauss(0, 1), draw.randint(0, 3)) for _ in range(120)]
        self.rows = [(a, b, w, "yes" if a - b + draw.gauss(0, 1.5) > 0.7 else "no") for a, b, w in self.rows]
        self.write("table.csv", "a,b,w,y\n" + "".join(f"{a},{b},{w},{y}\n" for a, b, w, y in self.rows))
        self.write("copies.csv", "a,b,y\n" + "".join(f"{a},{b},{y}\n" * w for a, b, w, y in self.rows))
        self.schema = ('[[column]]\nname = "y"\ntype = "label"\nlevels = ["no", "yes"]\n'
                       '[[column]]\nname = "w"\ntype = "weight"\n'
                       '[[column]]\nname = "a"\ntype = "number"\n[[column]]\nname = "b"\ntype = "number"\n')

    def same(self, one, other, places=6):
        self.assertEqual(set(one), set(other))
        for name in one:
            self.assertAlmostEqual(one[name], other[name], places=places)

    def test_a_record_that_weighs_two_counts_twice(self):
        for task in ("logistic", "squared-hinge"):
            _, weighted = self.trained(schema=self.schema, task=task)
            self.write("table2.csv", (self.folder / "copies.csv").read_text())
            _, copied = self.trained(parties=("table2",), task=task, out="copied")
            self.same(weighted, copied, places=5)

    def test_parties_that_hold_records_weigh_them_alike(self):
        lines = (self.folder / "table.csv").read_text().splitlines()
        for name, some in (("one", lines[1:40]), ("two", lines[40:])):
            self.write(f"{name}.csv", "\n".join([lines[0], *some]) + "\n")
        _, alone = self.trained(schema=self.schema, labels="weights = [1, 3]")
        _, together = self.trained(schema=self.schema, algorithm="newton", partition="horizontal", out="both",
                                   parties=("one", "two"), labels="weights = [1, 3]")
        self.same(alone, together)

    def test_classes_weigh_as_stated_or_alike(self):
        positive = sum(y == "yes" for *_, y in self.rows)
        numbers = [len(self.rows) / 2 / n for n in (len(self.rows) - positive, positive)]
        self.write("table.csv", "a,b,y\n" + "".join(f"{a},{b},{y}\n" for a, b, _, y in self.rows))
        _, balanced = self.trained(labels='weights = "balanced"')
        _, stated = self.trained(labels=f"weights = [{numbers[0]!r}, {numbers[1]!r}]", out="stated")
        self.same(balanced, stated)
        result, _ = self.trained(labels="weights = [1, 9]", out="more")
        plain, _ = self.trained(out="plain")
        self.assertGreater(result["metrics"]["train"]["recall"], plain["metrics"]["train"]["recall"])

    def test_several_classes_weigh(self):
        draw = random.Random(4)
        rows = [(draw.gauss(0, 1), draw.randint(0, 2)) for _ in range(90)]
        self.write("table.csv", "a,y\n" + "".join(f"{a + y},c{y}\n" for a, y in rows))
        self.write("copies.csv", "a,y\n" + "".join(f"{a + y},c{y}\n" * (y + 1) for a, y in rows))
        # Of a sum over n records each penalty is its share.
        copies = sum(y + 1 for _, y in rows)
        self.json_of("train", self.job(task="softmax", model="l2 = 0.01", labels="weights = [1, 2, 3]"), "--out",
                     "weighted", "--quiet")
        self.json_of("train", self.job(task="softmax", model=f"l2 = {0.01 * len(rows) / copies!r}", parties=("copies",)),
                     "--out", "copied", "--quiet")
        for one, other in zip(self.predicted("table.csv", "probability=c0", "probability=c2", model="weighted"),
                              self.predicted("table.csv", "probability=c0", "probability=c2", model="copied")):
            for p, q in zip(one, other):
                self.assertAlmostEqual(float(p), float(q), places=5)

    def test_bad_weights_are_refused_in_one_line_and_nothing_is_written(self):
        table = (self.folder / "table.csv").read_text()
        first = table.splitlines()[1]
        for weight, says in (("-1", "must not be negative"), ("", "missing"), ("many", "finite number")):
            cells = first.split(",")
            self.write("table.csv", table + ",".join([*cells[:2], weight, cells[3]]) + "\n")
            self.refuses("train", self.job(schema=self.schema), "--quiet", says=says)
        self.write("table.csv", table)
        for labels, says in (("weights = [1]", "two numbers"), ("weights = [1, -1]", ">= 0"),
                             ('weights = "equal"', "balanced")):
            self.refuses("train", self.job(schema=self.schema, labels=labels), "--quiet", says=says)
        self.refuses("train", self.job(schema=self.schema, algorithm="sgd"), "--quiet", says="weight")
        self.refuses("train", self.job(schema=self.schema, labels="weights = [1, 2]", algorithm="sgd"), "--quiet",
                     says="exact, newton")
        private = self.job(schema=self.schema.replace('"number"\n', '"number"\nbound = 5\n'), algorithm="sgd",
                           rest="[privacy]\nepsilon = 1\n")
        self.refuses("train", private, "--set", "model.intercept=none", "--quiet", says="no private form")
        self.assertFalse((self.folder / "out").exists())


class Thresholds(ModelTest):
    def setUp(self):
        super().setUp()
        draw = random.Random(8)
        self.write("table.csv", "x,y\n" + "".join(
            f"{x},{'yes' if draw.random() < 1 / (1 + math.exp(-x)) else 'no'}\n"
            for x in (draw.gauss(0, 2) for _ in range(200))))

    def test_a_row_is_positive_above_the_threshold(self):
        result, _ = self.trained(model="threshold = 0.8")
        plain, _ = self.trained(out="plain")
        self.assertGreater(result["metrics"]["train"]["precision"], plain["metrics"]["train"]["precision"])
        for metric in ("auc", "log_loss", "brier"):
            self.assertEqual(result["metrics"]["train"][metric], plain["metrics"]["train"][metric])
        rows = self.predicted("table.csv", "prediction", "probability")
        for predicted, probability in rows:
            self.assertEqual(predicted, "yes" if float(probability) > 0.8 else "no")
        told = self.json_of("evaluate", "--model", "out", "--data", "table.csv")["metrics"]
        self.assertEqual(told["precision"], result["metrics"]["train"]["precision"])
        for model, says in (("threshold = 1", "below 1"), ("threshold = 0", "above 0")):
            self.refuses("train", self.job(model=model), "--quiet", says=says)
        self.refuses("train", self.job(model="threshold = 0.5", task="squared-hinge"), "--quiet", says="logistic")


class TrueLabels(ModelTest):
    def test_labels_beyond_their_bound_are_measured_as_they_are(self):
        schema = ('[[column]]\nname = "y"\ntype = "label"\nlower = 0\nupper = 10\n'
                  '[[column]]\nname = "x"\ntype = "number"\nbound = 10\n')
        self.write("table.csv", "x,y\n0,0\n1,10\n0,0\n1,100\n")
        result, weights = self.trained(task="linear", schema=schema)
        self.assertAlmostEqual(weights["x"], 10, places=6)  # trained on what is within the bounds
        self.assertAlmostEqual(result["metrics"]["train"]["rmse"], math.sqrt(90 ** 2 / 4), places=6)
        told = self.json_of("evaluate", "--model", "out", "--data", "table.csv")["metrics"]
        self.assertAlmostEqual(told["rmse"], math.sqrt(90 ** 2 / 4), places=6)
        self.write("table.libsvm", "0 1:0\n10 1:1\n0 1:0\n100 1:1\n")
        job = self.job(task="linear", data="label_bound = 10\nbound = 1")
        text = (self.folder / job).read_text().replace("table.csv", "table.libsvm").replace('column = "y"', "")
        self.write("job.toml", text)
        result = self.json_of("train", "job.toml", "--out", "libsvm", "--quiet")
        self.assertAlmostEqual(result["metrics"]["train"]["rmse"], math.sqrt(90 ** 2 / 4), places=6)


class CrossValidation(ModelTest):
    def setUp(self):
        super().setUp()
        draw = random.Random(1)
        names = [f"x{j}" for j in range(12)]
        rows = [[draw.gauss(0, 1) for _ in names] for _ in range(240)]
        self.write("table.csv", ",".join([*names, "y"]) + "\n" + "".join(
            ",".join(map(repr, row)) + f",{row[0] - 2 * row[1] + draw.gauss(0, 1)!r}\n" for row in rows))
        self.write("classes.csv", ",".join([*names, "y"]) + "\n" + "".join(
            ",".join(map(repr, row)) + f",{'b' if row[0] - row[1] + draw.gauss(0, 1) > 1 else 'a'}\n" for row in rows))

    def test_a_path_falls_from_nothing_to_everything_and_finds_what_matters(self):
        for table, task, score in (("table", "linear", "mean squared error"), ("classes", "logistic", "log loss"),
                                   ("classes", "squared-hinge", "share of wrong classes")):
            job = self.job(parties=(table,), task=task, rest='[path]\npenalty = "l1"\npoints = 30\n')
            found = self.json_of("cv", job)
            self.assertEqual((found["folds"], found["scored_by"], len(found["points"])), (5, score, 30))
            values = [point["value"] for point in found["points"]]
            self.assertEqual(values, sorted(values, reverse=True))
            self.assertLessEqual(found["points"][0]["nonzeros"], 2)
            self.assertEqual(found["points"][-1]["nonzeros"], 12)
            self.assertEqual(found["best"]["score"], min(point["score"] for point in found["points"]))
            self.assertGreaterEqual(found["within_one_standard_error"]["value"], found["best"]["value"])
            self.assertLess(found["best"]["score"], found["points"][0]["score"])
            self.assertEqual(self.json_of("cv", job), found)

    def test_a_point_of_a_path_is_what_training_alone_finds(self):
        for penalty in ("l1", "l2"):
            path = self.job(rest=f'[path]\npenalty = "{penalty}"\nvalues = [1.0, 0.3, 0.1, 0.01]\n', task="linear")
            points = {point["value"]: point for point in self.json_of("cv", path, "--folds", "3")["points"]}
            for value, point in points.items():
                alone = self.json_of("cv", self.job(task="linear", model=f"{penalty} = {value}"), "--folds", "3")
                self.assertAlmostEqual(alone["best"]["score"], point["score"], places=4)

    def test_every_table_and_task_can_be_scored_without_a_path(self):
        found = self.json_of("cv", self.job(parties=("classes",), task="logistic", model="l2 = 0.01"), "--folds", "10")
        self.assertEqual(len(found["points"]), 1)
        self.assertGreater(found["best"]["auc"], 0.8)
        said = self.succeeds("cv", "job.toml").stdout
        self.assertIn("in 5 folds, scored by log loss", said)

    def test_bad_input_is_one_line(self):
        self.write("few.csv", "x,y\n1,a\n2,b\n3,a\n")
        self.refuses("cv", self.job(parties=("few",)), "--folds", "5", says="more than the 3 records")
        self.write("rare.csv", "x,y\n1,a\n2,b\n3,a\n4,a\n")
        self.refuses("cv", self.job(parties=("rare",), model="l2 = 0.1"), "--folds", "4", says="a class without a record")
        for rest, says in (('[path]\npenalty = "l1"\nvalues = []\n', "must not be empty"),
                           ('[path]\npenalty = "l1"\nvalues = [-1.0]\n', ">= 0"), ('[path]\npoints = 3\n', "penalty"),
                           ('[path]\npenalty = "l3"\n', "l1"), ('[path]\npenalty = "l1"\nsmallest = 1.5\n', "below 1"),
                           ('[path]\npenalty = "l1"\npoints = 0\n', "points")):
            self.refuses("cv", self.job(rest=rest, task="linear"), says=says)
        self.refuses("cv", self.job(task="linear", model="l1_radius = 1.0", rest='[path]\npenalty = "l1"\n'),
                     says="constraint")
        self.refuses("cv", self.job(task="linear", rest="[privacy]\nepsilon = 1\n", algorithm="sgd"), "--set",
                     "model.intercept=none", says="[tune]")
        self.refuses("cv", "absent.toml", says="absent.toml")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()),
                         ["classes.csv", "few.csv", "job.toml", "rare.csv", "table.csv"])


class Inference(ModelTest):
    """Against closed forms: they are what any statistics program says."""

    def coefficients(self, result):
        return {one["name"]: one for one in result["inference"]["coefficients"]}

    def check_line(self, result):
        # x = 0, 1, 2, 3: slope, its error from the residuals, and Student's t with 2 degrees of freedom.
        xs, ys = [0, 1, 2, 3], [1.0, 2.5, 2.0, 4.5]
        mx, my = sum(xs) / 4, sum(ys) / 4
        sxx = sum((x - mx) ** 2 for x in xs)
        slope = sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / sxx
        start = my - slope * mx
        rss = sum((y - start - slope * x) ** 2 for x, y in zip(xs, ys))
        error = math.sqrt(rss / 2 / sxx)
        told = self.coefficients(result)
        self.assertAlmostEqual(told["x"]["estimate"], slope, places=8)
        self.assertAlmostEqual(told["x"]["standard_error"], error, places=8)
        t = slope / error
        self.assertAlmostEqual(told["x"]["p_value"], 1 - abs(t) / math.sqrt(2 + t * t), places=8)
        self.assertAlmostEqual(told["x"]["upper"], slope + 4.302652729696142 * error, places=6)
        self.assertAlmostEqual(told["(intercept)"]["standard_error"], math.sqrt(rss / 2 * (1 / 4 + mx * mx / sxx)),
                               places=8)
        self.assertAlmostEqual(result["inference"]["null_deviance"], sum((y - my) ** 2 for y in ys), places=8)
        self.assertAlmostEqual(result["inference"]["residual_deviance"], rss, places=8)
        self.assertEqual((result["inference"]["null_degrees"], result["inference"]["residual_degrees"]), (3, 2))

    def test_a_line_whatever_the_scale(self):
        self.write("table.csv", "x,y\n0,1.0\n1,2.5\n2,2.0\n3,4.5\n")
        schema = '[[column]]\nname = "y"\ntype = "label"\n[[column]]\nname = "x"\ntype = "number"\nlower = 0\nupper = 40\n'
        for scale in ("none", "bounds", "standardize"):
            result, _ = self.trained(task="linear", model="inference = true", scale=scale, schema=schema)
            self.check_line(result)
        said = self.succeeds("train", "job.toml", "--out", "again", "--quiet").stdout
        self.assertIn("std. error", said)

    def test_a_line_over_parties(self):
        self.write("one.csv", "x,y\n0,1.0\n3,4.5\n")
        self.write("two.csv", "x,y\n1,2.5\n2,2.0\n")
        result, _ = self.trained(task="linear", model="inference = true", algorithm="newton", partition="horizontal",
                                 parties=("one", "two"))
        self.check_line(result)

    # exposed: 30 of 50 ill; others: 10 of 60. The odds ratio's error is the root of the sum of reciprocals.
    TABLE = "x,y\n" + "1,1\n" * 30 + "1,0\n" * 20 + "0,1\n" * 10 + "0,0\n" * 50

    def check_odds(self, result):
        told = self.coefficients(result)
        ratio, error = math.log(30 * 50 / (20 * 10)), math.sqrt(1 / 30 + 1 / 20 + 1 / 10 + 1 / 50)
        self.assertAlmostEqual(told["x"]["estimate"], ratio, places=6)
        self.assertAlmostEqual(told["x"]["standard_error"], error, places=6)
        self.assertAlmostEqual(told["x"]["statistic"], ratio / error, places=5)
        self.assertAlmostEqual(told["x"]["p_value"], math.erfc(ratio / error / math.sqrt(2)), places=10)
        self.assertAlmostEqual(told["x"]["lower"], ratio - 1.959963984540054 * error, places=6)
        entropy = lambda k, n: -2 * (k * math.log(k / n) + (n - k) * math.log(1 - k / n))
        self.assertAlmostEqual(result["inference"]["null_deviance"], entropy(40, 110), places=6)
        self.assertAlmostEqual(result["inference"]["residual_deviance"], entropy(30, 50) + entropy(10, 60), places=6)

    def test_odds(self):
        self.write("table.csv", self.TABLE)
        result, _ = self.trained(model="inference = true")
        self.check_odds(result)
        lines = self.TABLE.splitlines()
        self.write("one.csv", "\n".join([lines[0], *lines[1::3]]) + "\n")
        self.write("two.csv", "\n".join([lines[0], *lines[2::3], *lines[3::3]]) + "\n")
        result, _ = self.trained(model="inference = true", algorithm="newton", partition="horizontal", out="both",
                                 parties=("one", "two"))
        self.check_odds(result)

    def test_rates(self):
        self.write("table.csv", "x,y\n0,2\n0,4\n0,3\n1,9\n1,7\n")
        result, _ = self.trained(task="poisson", model="inference = true")
        told = self.coefficients(result)["x"]
        self.assertAlmostEqual(told["estimate"], math.log(8 / 3), places=6)
        self.assertAlmostEqual(told["standard_error"], math.sqrt(1 / 16 + 1 / 9), places=6)
        deviance = lambda pairs: 2 * sum(y * math.log(y / m) - y + m for y, m in pairs)
        self.assertAlmostEqual(result["inference"]["null_deviance"],
                               deviance([(2, 5), (4, 5), (3, 5), (9, 5), (7, 5)]), places=6)

    def test_where_nothing_can_be_said_it_is_said(self):
        self.write("table.csv", "x,z,y\n" + "".join(f"{k},{2 * k},{k * k % 7}\n" for k in range(12)))
        result, _ = self.trained(task="linear", model="inference = true")
        self.assertNotIn("inference", result)
        self.assertTrue(any("depend on each other" in note for note in result["notes"]), result["notes"])
        self.write("table.csv", "x,z,y\n1,2,3\n2,1,4\n4,4,9\n")
        result, _ = self.trained(task="linear", model="inference = true", out="few")
        self.assertTrue(any("too few" in note for note in result["notes"]), result["notes"])
        for settings, says in (({"model": "inference = true\nl2 = 0.1"}, "penalty"),
                               ({"model": "inference = true", "task": "squared-hinge"}, "linear, logistic and poisson"),
                               ({"model": "inference = true", "algorithm": "sgd", "task": "linear"}, "exact, newton"),
                               ({"model": "inference = true", "rest": "[privacy]\nepsilon = 1\n", "task": "linear",
                                 "algorithm": "sgd"}, "not available in a private run")):
            overrides = ["--set", "model.intercept=none"] if "rest" in settings else []
            self.refuses("train", self.job(**settings), *overrides, "--out", "none", "--quiet", says=says)
        self.assertFalse((self.folder / "none").exists())


if __name__ == "__main__":
    unittest.main()
