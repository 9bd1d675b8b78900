"""`parley init`: from a table to a job that trains at once, and what a person may then do to the drafts."""
import csv
import gzip
import json
import random
import sqlite3
import unittest

from parley_cli import CliTest


def patients(rows=60, header=True):
    """An id, a date, a number with missing cells, a category, a constant, and a label that the others tell."""
    draw = random.Random(5)
    lines = ["patient_id,admitted,age,ward,clinic,readmitted"] if header else []
    for k in range(rows):
        age = draw.randint(18, 90)
        lines.append(f"{7000 + k},20{10 + k % 9}-{1 + k % 12:02}-{1 + k % 28:02},{'' if k % 11 == 0 else age},"
                     f"{draw.choice(['east', 'west', 'north'])},main,{'yes' if age > 50 else 'no'}")
    return "\n".join(lines) + "\n"


class Init(CliTest):
    def schema(self, folder):
        return (self.folder / folder / "schema.toml").read_text()

    def test_the_drafted_job_trains_at_once(self):
        self.write("patients.csv", patients())
        done = self.succeeds("init", "patients.csv", "--label", "readmitted")
        self.assertIn("next: parley train patients/job.toml", done.stdout)
        result = self.json_of("train", "patients/job.toml", "--out", "run", "--quiet")
        self.assertEqual(result["status"], "done")
        self.assertGreater(result["metrics"]["train"]["auc"], 0.9)

    def test_ids_dates_and_missing_cells_are_recognised(self):
        self.write("patients.csv", patients())
        said = self.json_of("init", "patients.csv", "--label", "last")
        self.assertEqual((said["task"], said["label"]), ("logistic", "readmitted"))
        self.assertEqual(set(said["to_confirm"]), {"admitted", "age", "ward", "clinic", "readmitted"})
        schema = self.schema("patients")
        self.assertIn('name = "patient_id"\ntype = "id"', schema)
        self.assertIn('name = "admitted"\ntype = "date"\nlower = "2010-01-01"', schema)
        self.assertIn('missing = "indicator"', schema)
        self.succeeds("train", "patients/job.toml", "--out", "run", "--quiet")
        columns = {column["name"] for column in json.loads((self.folder / "run/model.json").read_text())["columns"]}
        self.assertEqual(columns, {"admitted", "age", "age=(missing)", "ward=east", "ward=north", "ward=west",
                                   "clinic=main"})

    def test_years_are_no_row_numbers(self):
        for first, kind in ((1, "id"), (1990, "integer")):
            self.write("table.csv", "when,y\n" + "".join(f"{first + k},{k * k % 7 / 3}\n" for k in range(30)))
            self.run_parley("init", "table.csv", "--force")
            if kind == "id":
                self.assertFalse((self.folder / "table").exists())  # nothing else is there to learn from
            else:
                self.assertIn('name = "when"\ntype = "integer"', self.schema("table"))

    def test_tasks_are_guessed_from_the_label(self):
        draw = random.Random(3)
        for label, task in ((lambda: draw.choice("ab"), "logistic"), (lambda: draw.choice("abc"), "softmax"),
                            (lambda: draw.randint(0, 1), "logistic"), (lambda: draw.randint(1, 5), "softmax"),
                            (lambda: draw.random() * 1e3, "linear"), (lambda: draw.randint(0, 5000), "linear")):
            rows = "".join(f"{draw.random()},{label()}\n" for _ in range(80))
            self.write("table.csv", "x,y\n" + rows)
            said = self.json_of("init", "table.csv", "--force")
            self.assertEqual(said["task"], task)
            self.succeeds("train", "table/job.toml", "--out", f"run-{task}", "--quiet")

    def test_a_label_has_a_name_or_a_number_and_tables_may_have_no_header(self):
        self.write("patients.csv", patients(header=False))
        for k, label in enumerate(("last", "6", "x5")):
            self.succeeds("init", "patients.csv", "--label", label, "--out", f"drafted{k}")
            self.succeeds("train", f"drafted{k}/job.toml", "--out", f"run{k}", "--quiet")
        self.assertIn("header = false", self.schema("drafted0"))
        line = self.refuses("init", "patients.csv", "--out", "none", says="--label")
        self.assertIn("last", line)
        self.refuses("init", "patients.csv", "--label", "nobody", "--out", "none", says="no such column")
        self.assertFalse((self.folder / "none").exists())

    def test_bounds_are_confirmed_by_name_or_all_and_edits_stay(self):
        self.write("patients.csv", patients())
        self.succeeds("init", "patients.csv", "--label", "readmitted", "--confirm", "age=0:120", "--epsilon", "1")
        self.assertIn("lower = 0\nupper = 120\n", self.schema("patients"))
        self.refuses("train", "patients/job.toml", "--out", "run", "--quiet", says="a person has confirmed")
        edited = self.schema("patients").replace('name = "ward"\ntype = "category"', 'name = "ward"\ntype = "ignore"')
        self.write("patients/schema.toml", edited)
        self.succeeds("init", "patients.csv", "--confirm", "admitted=2000-01-01:2030-12-31", "--confirm", "all")
        schema = self.schema("patients")
        self.assertIn('name = "ward"\ntype = "ignore"', schema)
        self.assertIn('lower = "2000-01-01"', schema)
        self.assertNotIn("confirmed = false", schema)
        self.succeeds("train", "patients/job.toml", "--out", "run", "--quiet")

    def test_every_column_of_a_draft_can_be_ignored(self):
        self.write("patients.csv", patients())
        self.succeeds("init", "patients.csv", "--label", "readmitted")
        drafted = self.schema("patients")
        for name, kind in (("patient_id", "id"), ("admitted", "date"), ("age", "integer"), ("ward", "category"),
                           ("clinic", "category")):
            before = f'name = "{name}"\ntype = "{kind}"'
            self.assertIn(before, drafted)
            self.write("patients/schema.toml", drafted.replace(before, f'name = "{name}"\ntype = "ignore"'))
            self.succeeds("train", "patients/job.toml", "--out", f"run-{name}", "--quiet")

    def test_what_cannot_be_confirmed_is_said_in_one_line_and_nothing_is_written(self):
        self.write("patients.csv", patients())
        for wish, says in (("age=120:0", "LO:HI"), ("age=0", "LO:HI"), ("age=nan:1", "LO:HI"), ("weight=0:1", "weight"),
                           ("ward=0:1", "category"), ("admitted=1:2", "two dates")):
            self.refuses("init", "patients.csv", "--label", "readmitted", "--confirm", wish, says=says)
            self.assertFalse((self.folder / "patients").exists())
        self.succeeds("init", "patients.csv", "--label", "readmitted")
        before = self.schema("patients")
        self.refuses("init", "patients.csv", "--label", "readmitted", says="is there already")
        self.refuses("init", "patients.csv", "--confirm", "weight=0:1", says="weight")
        self.assertEqual(self.schema("patients"), before)

    def test_labels_that_do_not_fit_a_task_are_refused(self):
        self.write("one.csv", "x,y\n1,a\n2,a\n3,a\n")
        self.refuses("init", "one.csv", says="nothing to learn")
        self.write("words.csv", "x,y\n1,a\n2,b\n3,c\n")
        self.refuses("init", "words.csv", "--task", "linear", says="words")
        self.refuses("init", "words.csv", "--task", "logistic", says="two classes")
        self.write("alone.csv", "id,y\n1,a\n2,b\n3,a\n")
        self.refuses("init", "alone.csv", says="no column beside the label")
        self.write("empty.csv", "")
        self.refuses("init", "empty.csv", says="empty.csv")
        self.refuses("init", "absent.csv", says="absent.csv")

    def test_libsvm_and_sqlite_tables_and_packed_ones(self):
        draw = random.Random(1)
        self.write("rows.libsvm", "".join(f"{draw.choice([-1, 1])} 1:{draw.random():.3f} 4:1\n" for _ in range(60)))
        self.assertEqual(self.json_of("init", "rows.libsvm", "--confirm", "bound=-1:1")["to_confirm"], [])
        self.succeeds("train", "rows/job.toml", "--out", "run", "--quiet")
        shop = sqlite3.connect(self.folder / "shop.db")
        shop.execute("create table orders (id integer primary key, price real, paid text)")
        shop.executemany("insert into orders values (?, ?, ?)",
                         [(k, draw.random(), draw.choice(["yes", "no"])) for k in range(60)])
        shop.commit()
        shop.close()
        self.succeeds("init", "sqlite:shop.db?table=orders", "--label", "paid", "--out", "orders")
        self.succeeds("train", "orders/job.toml", "--out", "run2", "--quiet")
        (self.folder / "packed.csv.gz").write_bytes(gzip.compress(patients().encode()))
        self.succeeds("init", "packed.csv.gz", "--label", "readmitted", "--out", "a/b")
        self.succeeds("train", "a/b/job.toml", "--out", "run3", "--quiet")

    def test_files_of_other_programs_say_what_they_are_and_what_to_do(self):
        sqlite3.connect(self.folder / "shop.db").executescript("create table t (a);")
        for name, content, *says in (
                ("a.arff", "% iris\n@RELATION iris\n@attribute x real\n@data\n1\n", "ARFF", "@data"),
                ("a.parquet", b"PAR1\x15\x04\x15" + bytes(40), "Parquet", "read_parquet"),
                ("a.feather", b"ARROW1\0\0" + bytes(40), "Arrow", "read_feather"),
                ("a.idx", b"\0\0\x08\x03\0\0\xea\x60\0\0\0\x1c\0\0\0\x1c" + bytes(40), "IDX", "LIBSVM"),
                ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(40), "Excel", "CSV"),
                ("a.xlsx", b"PK\x03\x04\x14\0\x06\0[Content_Types].xml" + bytes(40), "Excel", "CSV"),
                ("a.zip", b"PK\x03\x04\x14\0table.csv" + bytes(40), "zip", "unpack"),
                ("a.npy", b"\x93NUMPY\x01\0" + bytes(40), "NumPy", "savetxt"),
                ("shop.db", None, "SQLite", "sqlite:shop.db?table=")):
            if content is not None:
                self.write(name, content)
            for command in (("init", name), ("data", "describe", name)):
                line = self.refuses(*command)
                for word in says:
                    self.assertIn(word, line)
        self.write("job.toml", '[job]\ntask = "linear"\n[algorithm]\nname = "exact"\n'
                   '[[party]]\nname = "site"\ndata = "a.parquet"\n')
        self.refuses("train", "job.toml", "--quiet", says="Parquet")


class TableRules(CliTest):
    JOB = """[job]
task = "{task}"
[model]
intercept = true
[algorithm]
name = "exact"
[data]
{data}
[[party]]
name = "site"
data = "table.csv"
schema = "schema.toml"
"""

    def model(self, schema, table, task="linear", data="scale = \"none\""):
        self.write("schema.toml", schema)
        self.write("table.csv", table)
        self.write("job.toml", self.JOB.format(task=task, data=data))
        self.succeeds("train", "job.toml", "--out", "out", "--quiet")
        return {column["name"]: column["weight"]
                for column in json.loads((self.folder / "out/model.json").read_text())["columns"]}

    LABEL = '[[column]]\nname = "y"\ntype = "label"\n'

    def test_a_date_is_a_number_of_days(self):
        schema = self.LABEL + '[[column]]\nname = "day"\ntype = "date"\ndate_format = "DD.MM.YYYY"\n'
        # y grows by 2 a day, over the end of a leap year's February.
        table = "day,y\n27.02.2024,0\n29.02.2024,4\n01.03.2024,6\n01.03.2024 12:00,7\n"
        self.assertAlmostEqual(self.model(schema, table)["day"], 2, places=6)
        for bad in ("30.02.2024", "2024-02-29", "1.1.24", "soon"):
            self.write("table.csv", table + f"{bad},1\n")
            self.refuses("train", "job.toml", "--out", "out2", "--quiet", says="date")
        self.write("schema.toml", schema + 'lower = "2024-02-30"\nupper = "2025-01-01"\n')
        self.refuses("train", "job.toml", "--out", "out2", "--quiet", says="must be a date")

    def test_missing_numbers_become_the_middle_of_the_bounds_or_a_column_of_their_own(self):
        table = "x,y\n0,0\n10,10\n,5\n4,4\n"
        schema = self.LABEL + '[[column]]\nname = "x"\ntype = "number"\nlower = 0\nupper = 10\nmissing = "{}"\n'
        weights = self.model(schema.format("middle"), table)
        self.assertAlmostEqual(weights["x"], 1, places=6)
        weights = self.model(schema.format("indicator"), table.replace(",5\n", ",9\n"))
        self.assertAlmostEqual(weights["x"], 1, places=6)
        self.assertAlmostEqual(weights["x=(missing)"], 4, places=6)  # 9, where 5 is the middle
        self.write("schema.toml", self.LABEL + '[[column]]\nname = "x"\ntype = "number"\nmissing = "middle"\n')
        self.refuses("train", "job.toml", "--quiet", says="needs bounds")

    def test_rare_levels_share_a_column_and_unseen_ones_join_it(self):
        table = "ward,y\n" + "a,1\n" * 5 + "b,2\n" * 5 + "c,3\n" + "d,4\n"
        weights = self.model(self.LABEL + '[[column]]\nname = "ward"\ntype = "category"\nmin_count = 3\n', table)
        self.assertEqual(set(weights), {"ward=a", "ward=b", "ward=(other)"})
        self.assertAlmostEqual(weights["ward=(other)"] - weights["ward=a"], 2.5, places=5)
        self.write("new.csv", "ward\nc\nnever seen\na\n")
        done = self.succeeds("predict", "--model", "out", "--data", "new.csv")
        predicted = [float(row["prediction"]) for row in csv.DictReader(done.stdout.splitlines())]
        self.assertAlmostEqual(predicted[0], predicted[1])
        self.assertAlmostEqual(predicted[0], 3.5, places=5)
        self.assertIn("1 cell holds a level that is not listed", done.stderr)
        stated = self.model(self.LABEL + '[[column]]\nname = "ward"\ntype = "category"\nlevels = ["a", "b"]\n'
                            'rare = ["c", "d"]\nunknown_level = "other"\n', table)
        for name, weight in weights.items():
            self.assertAlmostEqual(stated[name], weight, places=6)
        self.write("schema.toml", self.LABEL + '[[column]]\nname = "ward"\ntype = "category"\nlevels = ["a"]\n'
                   'min_count = 3\n')
        self.refuses("train", "job.toml", "--quiet", says="min_count")

    def test_levels_found_in_the_data_are_refused_in_a_private_run(self):
        self.write("schema.toml", self.LABEL + 'bound = 5\n[[column]]\nname = "ward"\ntype = "category"\n'
                   'min_count = 3\n')
        self.write("table.csv", "ward,y\n" + "a,1\n" * 5 + "b,2\n")
        job = self.JOB.format(task="linear", data="").replace("intercept = true", "").replace("exact", "sgd")
        self.write("job.toml", job + "[privacy]\nepsilon = 1\n")
        self.refuses("train", "job.toml", "--quiet", says="ward")

    def test_an_unseen_level_is_refused_in_training_and_counted_in_prediction(self):
        table = "ward,y\na,1\nb,2\na,1\nb,2\n"
        schema = self.LABEL + '[[column]]\nname = "ward"\ntype = "category"\nlevels = ["a", "b"]\n'
        self.model(schema, table)
        self.write("new.csv", "ward\nc\na\n")
        done = self.succeeds("predict", "--model", "out", "--data", "new.csv")
        self.assertIn("1 cell holds a level that is not listed", done.stderr)
        self.write("table.csv", table + "c,3\n")
        self.refuses("train", "job.toml", "--quiet", says="is not a level")
        self.model(schema + 'unknown_level = "refuse"\n', table)
        self.refuses("predict", "--model", "out", "--data", "new.csv", says="is not a level")

    def test_a_job_chooses_among_the_columns(self):
        schema = self.LABEL + "".join(f'[[column]]\nname = "{name}"\ntype = "number"\n' for name in "abc")
        table = "a,b,c,y\n1,2,3,1\n2,5,1,2\n3,1,1,3\n4,0,2,4\n"
        self.assertEqual(set(self.model(schema, table, data='exclude = ["b"]')), {"a", "c"})
        self.assertEqual(set(self.model(schema, table, data='include = ["a"]')), {"a"})
        self.write("other.csv", table)
        self.succeeds("evaluate", "--model", "out", "--data", "other.csv")
        for data, says in (('include = ["a", "d"]', "data.include"), ('exclude = ["d"]', "data.exclude"),
                           ('include = ["a"]\nexclude = ["a"]', "exclude"), ('exclude = ["a", "b", "c"]', "feature")):
            self.write("job.toml", self.JOB.format(task="linear", data=data))
            self.refuses("train", "job.toml", "--out", "none", "--quiet", says=says)
        self.assertFalse((self.folder / "none").exists())


if __name__ == "__main__":
    unittest.main()
