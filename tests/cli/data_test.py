import csv
import gzip
import json
import os
import signal
import subprocess
import unittest

from parley_cli import BINARY, CliTest

PATIENTS = """id,age,bmi,readmitted
p1,64,31.50,yes
p2,41,22,no
p3,70,27.25,yes
p4,35,24,no
p5,58,33.125,yes
p6,29,21,no
"""


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


class Generate(CliTest):
    def test_same_seed_same_bytes_and_the_drafted_job_trains(self):
        for out in ("one", "two"):
            self.succeeds("data", "generate", "sparse-regression", "-n", "40", "-d", "30", "--seed", "7", "--out", out)
        for name in ("data.libsvm", "truth.json", "job.toml"):
            self.assertEqual((self.folder / "one" / name).read_bytes(), (self.folder / "two" / name).read_bytes())
        self.succeeds("data", "generate", "sparse-regression", "-n", "40", "-d", "30", "--seed", "8", "--out", "three")
        self.assertNotEqual((self.folder / "one" / "data.libsvm").read_bytes(),
                            (self.folder / "three" / "data.libsvm").read_bytes())
        result = self.json_of("train", "one/job.toml", "--out", "run", "--quiet")
        self.assertEqual(result["status"], "done")

    def test_says_how_to_go_on_only_where_this_version_can(self):
        done = self.succeeds("data", "generate", "square", "-n", "20", "--out", "square")
        self.assertIn("next: parley train square/job.toml", done.stdout)
        self.succeeds("train", "square/job.toml", "--out", "run", "--quiet")
        done = self.succeeds("data", "generate", "non-iid-regression", "--clients", "2", "-n", "5", "-d", "120",
                             "--out", "clients")
        if "next: parley train clients/job.toml" not in done.stdout:
            self.assertIn("note: this version cannot train the job as drafted", done.stdout)
            self.refuses("train", "clients/job.toml", "--out", "run-clients", "--quiet", says="clients/job.toml")

    def test_what_was_written_is_said_as_json(self):
        said = self.json_of("data", "generate", "star", "--out", "star")
        self.assertEqual([table["path"] for table in said["tables"]],
                         ["star/dim1.csv", "star/dim2.csv", "star/fact.csv"])
        for table in said["tables"]:
            self.assertEqual(len(rows_of(self.folder / table["path"])), table["rows"])
        json.loads((self.folder / said["truth"]).read_text())

    def test_keeps_files_that_are_there(self):
        self.succeeds("data", "generate", "square", "-n", "20", "--out", "square")
        before = (self.folder / "square/job.toml").read_bytes()
        self.refuses("data", "generate", "square", "-n", "20", "--seed", "2", "--out", "square", says="square")
        self.assertEqual((self.folder / "square/job.toml").read_bytes(), before)
        self.succeeds("data", "generate", "square", "-n", "20", "--seed", "2", "--out", "square", "--force")


class Describe(CliTest):
    JOB = """
[job]
task = "linear"
[algorithm]
name = "exact"
[[party]]
name = "site"
data = "table.csv"
"""

    def test_numbers_with_commas_are_not_taken_for_categories_in_silence(self):
        self.write("job.toml", self.JOB)
        for table, cell in (("size;colour;y\n3,14;red;1\n2,5;blue;2\n7;red;3\n-1,5e1;blue;4\n", "3,14"),
                            ('size,colour,y\n"1,234",red,1\n"2,345,678",blue,2\n3,red,3\n"4,000",blue,4\n', "1,234")):
            self.write("table.csv", table)
            said = self.json_of("data", "describe", "table.csv")
            remedy = ("column 'size' looks like numbers with commas; write them with a decimal point and no other "
                      f"marks (got '{cell}')")
            self.assertEqual([note for note in said["notes"] if "commas" in note], [remedy + ": drafted as a category"])
            told = self.refuses("train", "job.toml", "--out", "run", "--quiet",
                                says="table.csv: size: looks like numbers with commas")
            self.assertIn(f"(got '{cell}')", told)
        # Somebody who means it says so.
        self.write("table.csv", "size;y\n3,14;1\n2,5;2\n3,14;3\n")
        self.write(
            "s.toml",
            '[[column]]\nname = "size"\ntype = "category"\nlevels = ["2,5", "3,14"]\n[[column]]\nname = "y"\ntype = '
            '"label"\n'
        )
        self.succeeds("train", "job.toml", "--set", "party.site.schema=s.toml", "--set", "model.l2=0.1", "--out", "run",
                      "--quiet")
        self.write("s.toml", '[[column]]\nname = "size"\ntype = "number"\n[[column]]\nname = "y"\ntype = "label"\n')
        self.refuses("train", "job.toml", "--set", "party.site.schema=s.toml", "--out", "other", "--quiet",
                     says="table.csv:2: size: must be a finite number, with a decimal point and no commas (got '3,14')")

    def test_words_for_true_and_false_are_one_column_with_and_without_a_schema(self):
        self.write("job.toml", self.JOB)
        self.write("table.csv", "smoker,size,y\nyes,1,2\nno,2,3\nyes,3,5\nno,5,1\n")
        said = self.json_of("data", "describe", "table.csv", "--schema-out", "s.toml")
        self.assertEqual(said["features"], 2)
        models = []
        for name, more in (("without", ()), ("with", ("--set", "party.site.schema=s.toml", "--set",
                                                      "data.scale=none"))):
            self.succeeds("train", "job.toml", "--set", "data.scale=none", "--out", name, "--quiet", *more)
            models.append(json.loads((self.folder / name / "model.json").read_text())["columns"])
        for without, with_schema in zip(*models, strict=True):
            self.assertEqual((without["name"], without["weight"]), (with_schema["name"], with_schema["weight"]))
        self.assertEqual([column["name"] for column in models[0]], ["smoker", "size"])
        self.write("new.csv", "smoker,size\nno,2\n")
        self.succeeds("predict", "--model", "without", "--data", "new.csv")
        self.write("other.csv", "smoker,size\nFALSE,2\n")
        self.assertEqual(*(self.succeeds("predict", "--model", "without", "--data", name).stdout
                           for name in ("new.csv", "other.csv")))
        self.write("gap.csv", "smoker,size\n,2\n")
        self.refuses("predict", "--model", "without", "--data", "gap.csv", says="gap.csv:2: smoker: missing value")
        # A cell that is missing is neither: the two stay categories, with a level for it.
        self.write("table.csv", "smoker,size,y\nyes,1,2\nno,2,3\nyes,3,5\n,5,1\n")
        self.succeeds("train", "job.toml", "--set", "model.l2=1", "--out", "missing", "--quiet")
        columns = json.loads((self.folder / "missing/model.json").read_text())["columns"]
        self.assertEqual([column["name"] for column in columns],
                         ["smoker=no", "smoker=yes", "smoker=(missing)", "size"])

    def test_the_draft_replaces_no_table_and_no_schema_unasked(self):
        table = self.write("v.csv", "a,y\n1,2\n3,4\n")
        before = table.read_bytes()
        (self.folder / "link.toml").symlink_to("v.csv")
        os.link(table, self.folder / "twin.toml")
        for out in ("v.csv", "./v.csv", "link.toml", "twin.toml"):
            self.refuses("data", "describe", "v.csv", "--schema-out", out, "--force",
                         says=f"{out}: is the file to read")
        self.write("s.toml", "mine")
        self.refuses("data", "describe", "v.csv", "--schema-out", "s.toml", says="s.toml: exists; --force replaces it")
        self.assertEqual((self.folder / "s.toml").read_text(), "mine")
        self.succeeds("data", "describe", "v.csv", "--schema-out", "s.toml", "--force")
        self.assertIn("[[column]]", (self.folder / "s.toml").read_text())
        self.assertEqual(table.read_bytes(), before)

    def test_lists_of_words_with_commas_are_categories_as_before(self):
        self.write("table.csv", "kind;code;y\na,b;1,x;1\nc,d;2,y;2\na,b;1,x;3\n")
        self.assertEqual([note for note in self.json_of("data", "describe", "table.csv")["notes"] if "commas" in note],
                         [])


class Split(CliTest):
    def test_rows_are_dealt_out_once_each_with_their_digits(self):
        self.write("patients.csv", PATIENTS)
        said = self.json_of("data", "split", "patients.csv", "--by", "rows", "--parts", "3", "--label", "readmitted",
                            "--out", "parts")
        self.assertEqual([party["rows"] for party in said["parties"]], [2, 2, 2])
        lines = []
        for party in said["parties"]:
            header, *records = (self.folder / party["path"]).read_text().splitlines()
            self.assertEqual(header, PATIENTS.splitlines()[0])
            lines += records
        self.assertEqual(sorted(lines), sorted(PATIENTS.splitlines()[1:]))

    def test_columns_go_where_they_are_asked_to_and_ids_go_everywhere(self):
        self.write("patients.csv", PATIENTS)
        self.succeeds("data", "split", "patients.csv", "--by", "columns", "--groups", "age;bmi", "--label",
                      "readmitted", "--label-party", "2", "--names", "clinic,lab", "--out", "parts")
        clinic = rows_of(self.folder / "parts/clinic.csv")
        lab = rows_of(self.folder / "parts/lab.csv")
        self.assertEqual(set(clinic[0]), {"id", "age"})
        self.assertEqual(set(lab[0]), {"id", "bmi", "readmitted"})
        whole = {row["id"]: row for row in csv.DictReader(PATIENTS.splitlines())}
        for row in clinic + lab:
            self.assertEqual(row, {name: whole[row["id"]][name] for name in row})
        job = (self.folder / "parts/job.toml").read_text()
        self.assertIn('partition = "vertical"', job)
        self.assertIn('party = "lab"', job)

    def test_tables_join_back_to_what_was_split(self):
        self.write("orders.csv", "customer,city,amount,y\n1,Bern,5,1\n2,Basel,7,0\n1,Bern,9,1\n")
        self.succeeds("data", "split", "orders.csv", "--by", "tables", "--key", "customer:city", "--out", "parts")
        tables = [rows_of(path) for path in sorted((self.folder / "parts").glob("*.csv"))]
        fact = next(table for table in tables if "amount" in table[0])
        customers = next(table for table in tables if "city" in table[0])
        self.assertEqual(len(customers), 2)
        cities = {row["customer"]: row["city"] for row in customers}
        self.assertEqual([(cities[row["customer"]], row["amount"]) for row in fact], [("Bern", "5"), ("Basel", "7"),
                                                                                      ("Bern", "9")])

    def test_parts_get_their_schema_and_the_drafted_job_trains(self):
        self.example("readmission")
        split = ("data", "split", "readmission/clinic.csv", "--schema", "readmission/clinic.schema.toml")
        rows = self.succeeds(*split, "--parts", 3, "--skew", "label", "--out", "people")
        columns = self.succeeds(*split, "--by", "columns", "--groups", "age,ward;creatinine,*", "--names", "clinic,lab",
                                "--label-party", "lab", "--out", "columns")
        for folder, done in (("people", rows), ("columns", columns)):
            self.assertIn(f"next: parley train {folder}/job.toml\n", done.stdout)
            result = self.json_of("train", f"{folder}/job.toml", "--out", f"{folder}/run", "--quiet")
            self.assertEqual(result["status"], "done")
        clinic = (self.folder / "columns/clinic.schema.toml").read_text()
        self.assertEqual([name in clinic for name in ('"age"', '"ward"', '"id"', '"creatinine"', '"readmitted"')],
                         [True, True, True, False, False])
        self.refuses(*split, "--by", "tables", "--key", "ward", "--out", "tables", says="--schema")

    def test_ids_that_were_added_are_in_the_schemas_and_the_job_trains(self):
        self.write("in.csv", "a,b,y\n" + "".join(f"{k % 3},{k % 5},{k % 2}\n" for k in range(20)))
        self.succeeds("data", "describe", "in.csv", "--schema-out", "s.toml")
        self.succeeds("data", "split", "in.csv", "--by", "columns", "--schema", "s.toml", "--out", "parts")
        self.assertIn('name = "id"\ntype = "id"\n', (self.folder / "parts/party-2.schema.toml").read_text())
        self.assertEqual(self.json_of("train", "parts/job.toml", "--out", "run", "--quiet")["status"], "done")

    def test_the_schema_says_how_the_table_is_written_and_the_job_trains(self):
        records = "".join(f"{k};{k % 3};{k % 5};{k % 2}\n" for k in range(20))
        columns = "".join(f'[[column]]\nname = "{name}"\ntype = "{kind}"\n{more}'
                          for name, kind, more in (("pid", "id", ""), ("a", "number", "bound = 3\n"),
                                                   ("b", "number", "bound = 5\n"), ("out", "label", "")))
        written = {
            "bare": ("header = false\n", records),
            "late": ('skip_lines = 2\ncomment = "!"\n', "made;by\nhand\npid;a;b;out\n! first\n" + records + "! last\n")
        }
        for name, (table, text) in written.items():
            self.write(f"{name}.csv", text)
            self.write(f"{name}.toml", '[table]\ndelimiter = ";"\n' + table + columns)
            for by in ("rows", "columns"):
                out = f"{name}-{by}"
                said = self.json_of("data", "split", f"{name}.csv", "--by", by, "--schema", f"{name}.toml", "--out",
                                    out)
                self.assertEqual([party["columns"] for party in said["parties"]], [2, 2] if by == "rows" else [1, 1])
                self.assertEqual(sum(party["rows"] for party in said["parties"]), 20 if by == "rows" else 40)
                self.assertIn('column = "out"', (self.folder / out / "job.toml").read_text())
                self.assertEqual(
                    self.json_of("train", f"{out}/job.toml", "--out", f"{out}/run", "--quiet")["status"], "done")

    def test_a_schema_that_does_not_fit_the_table_or_the_options_is_refused(self):
        self.write("in.csv", "pid,a,b,out\n1,2,3,0\n2,3,4,1\n3,4,5,0\n4,5,6,1\n")
        kinds = {"pid": "id", "a": "number", "b": "number", "out": "label"}
        for file, names in (("whole.toml", "pid a b out"), ("short.toml", "pid a out")):
            self.write(file,
                       "".join(f'[[column]]\nname = "{name}"\ntype = "{kinds[name]}"\n' for name in names.split()))
        for by in ("rows", "columns"):
            split = ("data", "split", "in.csv", "--by", by, "--out", "parts", "--schema")
            self.refuses(*split, "short.toml", says="short.toml: does not have this column of the table (got 'b')")
            self.refuses(*split, "whole.toml", "--label", "a",
                         says="--label: the schema's label is 'out'; another one was asked for (got 'a')")
            self.refuses(*split, "whole.toml", "--id", "a",
                         says="--id: the schema's id is 'pid'; another one was asked for (got 'a')")
        self.assertFalse((self.folder / "parts").exists())
        self.succeeds(*split, "whole.toml", "--label", "out", "--id", "pid")

    def test_a_table_without_a_label_is_not_said_to_train(self):
        self.write("in.csv", "a,b\n1,2\n3,4\n5,6\n7,8\n")
        done = self.succeeds("data", "split", "in.csv", "--out", "parts")
        self.assertIn("no label column was found", done.stdout)
        self.assertNotIn("next:", done.stdout)

    def test_columns_beyond_counting_are_refused(self):
        self.write("h.libsvm", "1 1:2 2147483646:3\n0 5:1\n")
        self.refuses("data", "split", "h.libsvm", "--by", "columns", "--out", "parts",
                     says="h.libsvm: index: must be at most 16777216, to split by columns (got '2147483646')")

    def test_contradictions_are_refused_and_nothing_is_written(self):
        self.write("patients.csv", PATIENTS)
        for arguments, says in [(("--by", "rows", "--groups", "age;bmi"), "--groups"),
                                (("--by", "rows", "--parts", "7"), "7"),
                                (("--by", "columns", "--groups", "age;height", "--label", "readmitted"), "height")]:
            self.refuses("data", "split", "patients.csv", *arguments, "--out", "parts", says=says)
        self.refuses("data", "split", "absent.csv", "--by", "rows", "--parts", "2", "--out", "parts", says="absent.csv")
        self.assertFalse((self.folder / "parts").exists())


class Convert(CliTest):
    def test_there_and_back_gives_the_same_numbers(self):
        self.write("a.csv", "y,u,v\n1,0.1,0\n-1,0,-2.5e-3\n1,7,1e300\n")
        self.succeeds("data", "convert", "a.csv", "a.libsvm", "--names", "names.txt")
        self.assertEqual((self.folder / "names.txt").read_text().split(), ["u", "v"])
        self.succeeds("data", "convert", "a.libsvm", "b.csv")
        numbers = lambda path: [[float(cell) for cell in row.values()] for row in rows_of(path)]
        self.assertEqual(numbers(self.folder / "b.csv"), numbers(self.folder / "a.csv"))

    def test_packs_by_the_name(self):
        self.write("a.csv", "y,u\n1,2\n-1,3\n")
        self.succeeds("data", "convert", "a.csv", "a.libsvm")
        self.succeeds("data", "convert", "a.csv", "a.libsvm.gz")
        self.assertEqual(gzip.decompress((self.folder / "a.libsvm.gz").read_bytes()),
                         (self.folder / "a.libsvm").read_bytes())

    def test_what_is_read_is_never_written_over(self):
        self.write("in.csv", PATIENTS)
        schema = self.succeeds("data", "describe", "in.csv", "--label", "readmitted", "--schema-out",
                               "s.toml") and self.folder / "s.toml"
        before = schema.read_bytes()
        convert = ("data", "convert", "in.csv", "out.libsvm", "--label", "readmitted", "--schema", "s.toml", "--force",
                   "--names")
        self.refuses(*convert, "s.toml", says="s.toml: is the file to read")
        self.refuses(*convert, "in.csv", says="in.csv: is the file to read")
        self.assertFalse((self.folder / "out.libsvm").exists())
        self.assertEqual(schema.read_bytes(), before)
        self.write("party-1.csv", PATIENTS)
        self.refuses("data", "split", "party-1.csv", "--label", "readmitted", "--out", ".", "--force",
                     says="is the file to read")
        self.assertEqual((self.folder / "party-1.csv").read_text(), PATIENTS)
        os.mkfifo(self.folder / "pipe.csv")
        self.refuses("data", "convert", "in.csv", "pipe.csv", "--force",
                     says="pipe.csv: is not a regular file, and is left as it is")

    def test_the_names_do_not_take_the_place_of_the_table(self):
        self.write("in.csv", "y,u,v\n1,2,3\n-1,4,5\n")
        for names in ("out.libsvm", "./out.libsvm"):
            self.refuses("data", "convert", "in.csv", "out.libsvm", "--names", names, says=f"{names}: is written twice")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["in.csv"])

    def test_a_stop_leaves_no_unfinished_file(self):
        for signal_sent in (signal.SIGINT, signal.SIGTERM):
            os.mkfifo(self.folder / "in.csv")
            run = subprocess.Popen([BINARY, "data", "convert", "in.csv", "new/out.csv", "--from", "csv"],
                                   cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            with open(self.folder / "in.csv", "w") as data:  # waits for the reader, which has its output open
                data.write("y,a\n1,2\n")
                data.flush()
                self.assertTrue(list((self.folder / "new").glob(".out.csv.*")))
                run.send_signal(signal_sent)
                said, told = run.communicate(timeout=60)
            self.assertEqual((run.returncode, said, told),
                             (1, "", "parley: interrupted; unfinished files were removed\n"))
            self.assertEqual([path.name for path in self.folder.iterdir()], ["in.csv"])
            (self.folder / "in.csv").unlink()

    def test_bad_input_leaves_no_file(self):
        self.write("ragged.csv", "y,u\n1,2\n-1,3,4\n")
        said = self.refuses("data", "convert", "ragged.csv", "out.libsvm", says="ragged.csv")
        self.assertIn("3", said)  # the line
        self.write("cut.csv.gz", gzip.compress(b"y,u\n" + b"1,2\n" * 1000)[:-9])
        self.refuses("data", "convert", "cut.csv.gz", "out.libsvm", says="cut.csv.gz")
        self.assertEqual(list(self.folder.glob("out*")), [])


if __name__ == "__main__":
    unittest.main()
