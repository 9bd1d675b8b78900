# labels: slow
"""Tables that join: over parties, in one process and on new tables, as a user runs them."""
import csv
import json
import shutil
import unittest

from parley_cli import SOURCE, CliTest

EXAMPLE = SOURCE / "examples" / "ratings"


class Relational(CliTest):
    def setUp(self):
        super().setUp()
        shutil.copytree(EXAMPLE, self.folder / "ratings")
        self.here = self.folder / "ratings"

    def train(self, job, out, *settings):
        self.succeeds("train", job, "--out", out, "--quiet", *settings)
        return json.loads((self.folder / out / "result.json").read_text())

    def weights(self, out):
        """By table and column."""
        found = {}
        for part in json.loads((self.folder / out / "model.json").read_text())["parts"]:
            model = json.loads((self.folder / out / part["path"]).read_text())
            found |= {(part["party"], column["name"]): column["weight"] for column in model["columns"]}
            found |= {(part["party"], "intercept"): value for value in model["intercept"]["values"]}
        return found

    def near(self, one, other, tolerance):
        self.assertEqual(one.keys(), other.keys())
        for name, weight in one.items():
            self.assertAlmostEqual(weight, other[name], delta=tolerance, msg=str(name))

    def materialise(self):
        """The table that training never makes, for `exact` of one table."""
        tables = {}
        for name in ("ratings", "users", "films"):
            with open(self.here / f"{name}.csv", newline="") as file:
                tables[name] = list(csv.DictReader(file))
        users = {row["user"]: row for row in tables["users"]}
        films = {row["film"]: row for row in tables["films"]}
        rows = [{**row, **users[row["user"]], **films[row["film"]]} for row in tables["ratings"]]
        columns = [name for name in rows[0] if name not in ("user", "film")]
        with open(self.here / "joined.csv", "w", newline="") as file:
            written = csv.DictWriter(file, columns, extrasaction="ignore")
            written.writeheader()
            written.writerows(rows)
        schema = "".join(
    section for name in tables for section in (
        "[[column]]" +
        text for text in (
            self.here /
            f"{name}.schema.toml").read_text().split("[[column]]")[
                1:]) if 'type = "key"' not in section)
        (self.here / "joined.schema.toml").write_text(schema)
        head = (self.here / "one-process.toml").read_text().split("[[party]]")[0].replace('party = "ratings"\n', "")
        (self.here / "joined.toml").write_text(head + \
         '[[party]]\nname = "joined"\ndata = "joined.csv"\nschema = "joined.schema.toml"\n')

    def test_parties_one_process_and_the_materialised_join_have_one_model(self):
        self.materialise()
        whole = self.train(
    "ratings/joined.toml",
    "whole",
    "--set",
    "data.test_fraction=0",
    "--set",
     "algorithm.tolerance=1e-16")
        here = self.train(
    "ratings/one-process.toml",
    "here",
    "--set",
    "data.test_fraction=0",
    "--set",
     "algorithm.tolerance=1e-16")
        self.assertAlmostEqual(here["objective"]["final"], whole["objective"]["final"], delta=1e-12)
        model = json.loads((self.folder / "whole" / "model.json").read_text())
        whole_weights = {column["name"]: column["weight"] for column in model["columns"]}
        for (_, column), weight in self.weights("here").items():
            expected = whole_weights[column] if column != "intercept" else model["intercept"]["values"][0]
            self.assertAlmostEqual(weight, expected, delta=1e-8, msg=column)
        for settings in ((), ("--set", "algorithm.update=majorised"), ("--set", "algorithm.order=gauss-seidel")):
            with self.subTest(settings=settings):
                parts = self.train("ratings/job.toml", "parts", "--set", "data.test_fraction=0",
                                   "--set", "algorithm.tolerance=1e-9", *settings)
                self.assertEqual(parts["stop_reason"], "converged")
                self.assertAlmostEqual(parts["objective"]["final"], whole["objective"]["final"], delta=1e-12)
                self.near(self.weights("parts"), self.weights("here"), 1e-6)
                shutil.rmtree(self.folder / "parts")

    def test_new_rows_are_predicted_and_evaluated_through_the_join(self):
        trained = self.train("ratings/job.toml", "out", "--set", "data.test_fraction=0")
        files = [f"{name}=ratings/{name}.csv" for name in ("ratings", "users", "films")]
        evaluated = self.json_of("evaluate", "--model", "out", "--data", *files)
        self.assertAlmostEqual(evaluated["metrics"]["auc"], trained["metrics"]["train"]["auc"], delta=1e-12)
        (self.here / "new.csv").write_text("user,film,hour\nu01,f03,12\nu01,f99,12\nu02,f03,20\n")
        predicted = self.succeeds("predict", "--model", "out", "--data", "ratings=ratings/new.csv", *files[1:]).stdout
        self.assertEqual(len(predicted.splitlines()), 1 + 2, "f99 is no film, so an inner join has no row for it")

    def test_a_left_join_keeps_rows_without_a_partner(self):
        films = (self.here / "films.csv").read_text().splitlines()
        (self.here / "films.csv").write_text("\n".join(films[:20]) + "\n")  # most films are not known
        for name in ("job", "one-process"):
            text = (self.here / f"{name}.toml").read_text()
            (
    self.here /
    f"{name}.toml").write_text(
        text.replace(
            'right = ["films.film"]\n',
             'right = ["films.film"]\nkind = "left"\nmissing = "indicator"\n'))
        parts = self.train("ratings/job.toml", "parts", "--set", "algorithm.tolerance=1e-9")
        here = self.train("ratings/one-process.toml", "here")
        self.assertEqual(parts["metrics"]["train"]["rows"], 675)
        self.assertAlmostEqual(parts["objective"]["final"], here["objective"]["final"], delta=1e-12)
        self.assertAlmostEqual(parts["metrics"]["test"]["auc"], here["metrics"]["test"]["auc"], delta=1e-6)
        part = json.loads((self.folder / "parts" / "part-3" / "model.json").read_text())["part"]
        self.assertEqual(len(part["without_tuple"]), 1)
        self.assertNotEqual(part["without_tuple"], [0.0])

    def split_ratings(self, sizes):
        """Several clubs hold the ratings between them."""
        header, *rows = (self.here / "ratings.csv").read_text().splitlines()
        sections, first = "", 0
        names = [f"club-{k}" for k in range(len(sizes))]
        for name, size in zip(names, sizes):
            (self.here / f"{name}.csv").write_text("\n".join([header, *rows[first:first + size]]) + "\n")
            sections += f'[[party]]\nname = "{name}"\ndata = "{name}.csv"\nschema = "ratings.schema.toml"\n'
            first += size
        job = (self.here / "job.toml").read_text().replace("test_fraction = 0.25", "test_fraction = 0.0")
        whole = '[[party]]\nname = "ratings"\ndata = "ratings.csv"\nschema = "ratings.schema.toml"\n'
        self.assertIn(whole, job)
        listed = ", ".join(f'"{name}"' for name in names)
        (self.here / "clubs.toml").write_text(job.replace(whole, sections) + \
         f'[[union]]\ntable = "ratings"\nparties = [{listed}]\n')

    def test_a_table_of_several_parties_is_trained_as_if_it_were_whole(self):
        self.train("ratings/job.toml", "whole", "--set", "data.test_fraction=0", "--set", "algorithm.iterations=20")
        self.split_ratings((500, 37, 363))
        self.train("ratings/clubs.toml", "clubs", "--set", "algorithm.iterations=20")
        whole, clubs = self.weights("whole"), self.weights("clubs")
        for club in range(3):
            self.near({column: clubs[f"club-{club}", column] for table, column in whole if table == "ratings"},
                      {column: weight for (table, column), weight in whole.items() if table == "ratings"}, 1e-10)

    def test_gradient_steps_over_a_table_of_several_parties_are_those_over_the_whole(self):
        for more in ((), ("--set", "algorithm.batch_rate=0.3")):
            with self.subTest(settings=more):
                settings = ("--set", "data.test_fraction=0", "--set", "algorithm.name=relational-sgd",
                            "--set", "algorithm.iterations=25", *more)
                shutil.rmtree(self.folder / "whole", ignore_errors=True)
                shutil.rmtree(self.folder / "clubs", ignore_errors=True)
                whole_run = self.train("ratings/job.toml", "whole", *settings)
                self.split_ratings((500, 37, 363))
                clubs_run = self.train("ratings/clubs.toml", "clubs", *settings)
                self.assertAlmostEqual(clubs_run["objective"]["final"], whole_run["objective"]["final"], delta=1e-12)
                self.assertEqual((whole_run["rounds"], clubs_run["rounds"]), (26, 51))
                whole, clubs = self.weights("whole"), self.weights("clubs")
                for club in range(3):
                    self.near({column: clubs[f"club-{club}", column] for table, column in whole if table == "ratings"},
                              {column: weight for (table, column), weight in whole.items() if table == "ratings"}, 1e-10)

    def test_labels_that_leave_with_noise_still_teach(self):
        """Randomised response at epsilon 2, drawn once for each rating: the corrected loss finds about the same model."""
        for name in ("relational-admm", "relational-sgd"):
            with self.subTest(algorithm=name):
                told = self.train("ratings/job.toml", f"told-{name}", "--set", f"algorithm.name={name}",
                                  "--set", "algorithm.iterations=300", "--set", "labels.privacy=randomised-response",
                                  "--set", "privacy.unit=label", "--set", "privacy.epsilon=2", "--set", f"privacy.ledger={name}")
                self.assertIn("one label", told["privacy"]["statement"])
                self.assertIs(told["privacy"]["claimed"], False)  # from the example's seed
                self.assertTrue(1.99 < told["privacy"]["epsilon"] <= 2)
                # Of 675 labels about 80 are told wrong; without noise it is .76, and a coin .5.
                self.assertGreater(told["simulation"]["metrics"]["train"]["auc"], 0.68)

    def test_bytes_are_a_number_for_each_used_tuple_each_way(self):
        def traffic(iterations, *settings):
            shutil.rmtree(self.folder / "out", ignore_errors=True)
            result = self.train(
    "ratings/job.toml",
    "out",
    "--set",
    "data.test_fraction=0",
    "--set",
    "algorithm.tolerance=0",
    "--set",
    f"algorithm.iterations={iterations}",
     *settings)
            return result["communication"]["uplink_bytes"] + result["communication"]["downlink_bytes"]
        used = sum(len({row.split(",")[k] for row in (
            self.here / "ratings.csv").read_text().splitlines()[1:]}) for k in (0, 1)) + 900
        around = 3 * 2 * 250  # frames, and the counts of the lists that a message has
        reduced = (traffic(12) - traffic(2)) / 10
        self.assertLess(16 * used, reduced)
        self.assertLess(reduced, 16 * used + around)
        unreduced = (traffic(12, "--set", "algorithm.reduce_bytes=false") - \
                     traffic(2, "--set", "algorithm.reduce_bytes=false")) / 10
        self.assertLess(16 * 3 * 900, unreduced)

    def test_gradient_steps_fall_to_the_same_objective(self):
        best = self.train("ratings/one-process.toml", "here")["objective"]["final"]
        full = self.train(
    "ratings/job.toml",
    "full",
    "--set",
    "algorithm.name=relational-sgd",
    "--set",
     "algorithm.iterations=3000")
        self.assertLess(full["objective"]["final"], best * 1.0001)
        sampled = self.train(
    "ratings/job.toml",
    "sampled",
    "--set",
    "algorithm.name=relational-sgd",
    "--set",
    "algorithm.iterations=600",
    "--set",
    "algorithm.batch_rate=0.1",
    "--set",
     "algorithm.step=0.5")
        self.assertLess(sampled["objective"]["final"], best * 1.05)


if __name__ == "__main__":
    unittest.main()
