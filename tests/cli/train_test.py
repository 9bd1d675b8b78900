import csv
import json
import math
import os
import signal
import subprocess
import unittest

from parley_cli import BINARY, CliTest

JOB = """
[job]
task = "{task}"
[model]
l2 = 0.1
[algorithm]
name = "exact"
seed = 1
[data]
scale = "none"
[[party]]
name = "site"
data = "data.csv"
"""


class Train(CliTest):
    def test_the_readmission_example_finds_what_was_planted(self):
        folder = self.example("readmission")
        result = self.json_of("train", folder / "job.toml", "--out", "run", "--quiet")
        self.assertEqual(result["status"], "done")
        self.assertEqual(result["stop_reason"], "converged")
        self.assertLess(result["objective"]["gap"], 1e-10)
        self.assertGreater(result["metrics"]["test"]["auc"], 0.6)
        self.assertFalse(result["privacy"]["claimed"])
        self.assertIn("not private", result["privacy"]["statement"])
        model = json.loads((self.folder / "run" / "model.json").read_text())
        weights = {column["name"]: column["weight"] for column in model["columns"]}
        self.assertGreater(weights["prior_stays"], 0)
        self.assertLess(weights["ward=orthopaedics"], 0)
        self.assertEqual(
            json.loads((self.folder / "run" / "result.json").read_text())["objective"], result["objective"])

    def test_same_job_and_seed_give_the_same_model_bytes(self):
        folder = self.example("readmission")
        for out in ("one", "two"):
            self.succeeds("train", folder / "job.toml", "--out", out, "--quiet")
        self.assertEqual((self.folder / "one" / "model.json").read_bytes(),
                         (self.folder / "two" / "model.json").read_bytes())

    def test_threads_do_not_change_the_model(self):
        folder = self.example("readmission")
        for threads in ("1", "2"):
            self.succeeds("train", folder / "job.toml", "--out", threads, "--quiet", "--threads", threads)
        self.assertEqual((self.folder / "1" / "model.json").read_bytes(),
                         (self.folder / "2" / "model.json").read_bytes())

    def test_frank_wolfe_stays_in_its_ball(self):
        folder = self.example("readmission")
        result = self.json_of("train", folder / "ball.toml", "--out", "run", "--quiet")
        self.assertLessEqual(result["model"]["l1_norm"], 6.0 + 1e-9)

    def test_overrides_win_over_the_file(self):
        folder = self.example("readmission")
        result = self.json_of("train", folder / "job.toml", "--set", "model.l1=10", "--out", "run", "--quiet")
        self.assertEqual(result["model"]["nonzeros"], 0)

    def test_softmax_learns_three_classes(self):
        rows = ["id,a,b,y"]
        for i in range(60):
            kind = i % 3
            rows.append(
                f"r{i},{1.0 if kind == 0 else 0.1 * (i % 5)},{1.0 if kind == 1 else 0.1 * (i % 4)},{'xyz'[kind]}")
        self.write("data.csv", "\n".join(rows) + "\n")
        self.write("job.toml", JOB.format(task="softmax").replace("l2 = 0.1", "l2 = 0.001\nintercept = true"))
        result = self.json_of("train", "job.toml", "--out", "run", "--quiet")
        self.assertGreater(result["metrics"]["train"]["accuracy"], 0.9)
        predicted = self.succeeds("predict", "--model", "run", "--data", "data.csv").stdout.splitlines()
        self.assertEqual(len(predicted), 61)
        self.assertIn(predicted[1].split(",")[1], "xyz")

    def test_a_table_without_a_header_is_not_predicted_from_shifted_columns(self):
        kinds = (("pid", "id"), ("a", "number"), ("b", "number"), ("y", "label"))
        columns = "".join(f'[[column]]\nname = "{name}"\ntype = "{kind}"\n' for name, kind in kinds)
        self.write("s.toml", "[table]\nheader = false\n" + columns)
        rows = [(k, k % 3, k * k % 7, k % 5) for k in range(30)]
        write = lambda name, cells: self.write(name, "".join(",".join(str(row[c]) for c in cells) + "\n"
                                                             for row in rows))
        write("data.csv", (0, 1, 2, 3))
        self.write("job.toml", JOB.format(task="linear") + 'schema = "s.toml"\n')
        self.succeeds("train", "job.toml", "--out", "run", "--quiet")
        predict = ("predict", "--model", "run", "--data")
        answers = lambda name: [line.split(",")[-1] for line in self.succeeds(*predict, name).stdout.splitlines()]
        write("features.csv", (1, 2))
        self.assertEqual(answers("features.csv"), answers("data.csv"))
        for name, cells in (("no-id.csv", (1, 2, 3)), ("no-label.csv", (0, 1, 2))):
            write(name, cells)
            self.refuses(*predict, name,
                         says=f"{name}:1: the schema has 4 columns, the file has 3: the label or the id is missing")

    def test_predictions_are_written_through_links_and_never_over_a_pipe(self):
        readmission = self.example("readmission")
        self.succeeds("train", readmission / "job.toml", "--out", "m", "--quiet")
        predict = ("predict", "--model", "m", "--data", readmission / "clinic.csv", "--out")
        (self.folder / "real").mkdir()
        (self.folder / "link.csv").symlink_to("real/p.csv")
        self.succeeds(*predict, "link.csv")
        self.assertTrue((self.folder / "link.csv").is_symlink())
        self.assertTrue((self.folder / "real" / "p.csv").read_text().startswith("id,prediction"))
        os.mkfifo(self.folder / "pipe")
        self.refuses(*predict, "pipe", says="pipe: is not a regular file, and is left as it is")
        self.assertTrue((self.folder / "pipe").is_fifo())
        self.refuses(*predict, "nowhere/p.csv", says="nowhere/p.csv: --out: is in a folder that does not exist")

    def test_predictions_replace_neither_the_table_nor_the_model(self):
        readmission = self.example("readmission")
        self.succeeds("train", readmission / "job.toml", "--out", "m", "--quiet")
        table = readmission / "clinic.csv"
        (self.folder / "link.csv").symlink_to(table)
        os.link(self.folder / "m/model.json", self.folder / "twin.json")
        kept = [table, self.folder / "m/model.json", self.folder / "m/result.json"]
        before = [path.read_bytes() for path in kept]
        for model in ("m", "m/model.json"):
            for out in (table, "link.csv", "m/model.json", "m/result.json", "twin.json"):
                self.refuses("predict", "--model", model, "--data", table, "--out", out,
                             says=f"{out}: is the file to read")
        self.assertEqual([path.read_bytes() for path in kept], before)

    def test_what_is_not_taken_as_it_stands_in_a_file_is_said_on_stderr(self):
        self.write("train.libsvm", "+1 1:1 2:0.5\n-1 1:-1\n+1 2:1\n-1 2:-1\n")
        self.write("job.toml", JOB.format(task="logistic").replace("data.csv", "train.libsvm"))
        self.succeeds("train", "job.toml", "--out", "m", "--quiet")
        self.write("wider.libsvm", "+1 1:1 3:5\n-1 1:-1 4:2 900:1\n")
        self.write("narrow.libsvm", "+1 1:1\n-1 1:-1\n")
        told = "parley: note: wider.libsvm: 3 values of columns that the training data do not have were left out\n"
        for verb in ("predict", "evaluate"):
            wider = self.succeeds(verb, "--model", "m", "--data", "wider.libsvm", "--json")
            narrow = self.succeeds(verb, "--model", "m", "--data", "narrow.libsvm", "--json")
            self.assertEqual((wider.stderr, narrow.stderr), (told, ""))
            self.assertEqual(json.loads(wider.stdout), json.loads(narrow.stdout))
        result = self.json_of("train", "job.toml", "--set", "party.site.test=wider.libsvm", "--out", "tested",
                              "--quiet")
        self.assertIn("test file: 3 values of columns that the training data do not have were left out",
                      result["notes"])

    def test_columns_counted_from_zero_are_not_shifted_against_the_model(self):
        self.write("train.libsvm", "+1 1:1 2:0.5\n-1 1:-1\n+1 2:1\n-1 2:-1\n")
        self.write("zero.libsvm", "+1 1:1\n-1 0:-1\n")
        self.write("job.toml", JOB.format(task="logistic").replace("data.csv", "train.libsvm"))
        self.succeeds("train", "job.toml", "--out", "m", "--quiet")
        told = "zero.libsvm:2: index: indices begin at 1 in the training data"
        for verb in ("predict", "evaluate"):
            self.refuses(verb, "--model", "m", "--data", "zero.libsvm", says=told)
        self.refuses("train", "job.toml", "--set", "party.site.test=zero.libsvm", "--out", "tested", "--quiet",
                     says=told)
        # A model that counts from 0 itself takes both.
        self.write("job.toml", JOB.format(task="logistic").replace("data.csv", "zero.libsvm"))
        self.succeeds("train", "job.toml", "--out", "z", "--quiet")
        for name in ("zero.libsvm", "train.libsvm"):
            self.succeeds("predict", "--model", "z", "--data", name)

    def test_the_positive_class_may_be_a_number(self):
        self.write("data.csv", "a,y\n1,1\n2,0\n3,1\n1,0\n4,2.5\n")
        self.write("data.libsvm", "1 1:1\n0 1:2\n1 1:3\n0 1:1\n2.5 1:4\n")
        for name in ("data.csv", "data.libsvm"):
            self.write("job.toml", JOB.format(task="logistic").replace("data.csv", name) + "[labels]\npositive = 0\n")
            for positive in ("0", "0.0", "1", "2.5", '"2.5"'):
                self.succeeds("train", "job.toml", "--set", f"labels.positive={positive}", "--out", "run", "--quiet")
                classes = json.loads((self.folder / "run" / "model.json").read_text())["classes"]
                self.assertEqual(float(classes[1]), float(positive.strip('"')))
            self.refuses("train", "job.toml", "--set", "labels.positive=3", "--out", "none", "--quiet",
                         says="no row has the positive class")
        self.refuses("train", "job.toml", "--set", "labels.positive=true", "--quiet", says="labels.positive")

    def test_levels_and_rows_that_a_model_cannot_use_are_said(self):
        self.write("data.csv", "colour,size,y\nred,1,1\nblue,2,0\nred,3,1\nblue,1,0\n")
        self.write("job.toml", JOB.format(task="logistic"))
        self.succeeds("train", "job.toml", "--out", "m", "--quiet")
        self.write("new.csv", "colour,size\ngreen,2\n")
        done = self.succeeds("predict", "--model", "m", "--data", "new.csv")
        self.assertEqual(
            done.stderr,
            "parley: note: new.csv: column 'colour': 1 cell holds a level that is not listed, and counts as none\n")

    def test_a_model_of_zeros_is_as_accurate_as_its_predictions(self):
        readmission = self.example("readmission")
        self.succeeds("train", readmission / "job.toml", "--set", "model.l1=10", "--set", "model.intercept=false",
                      "--out", "m", "--quiet")
        data = readmission / "clinic.csv"
        said = self.json_of("predict", "--model", "m", "--data", data)["predictions"]
        with open(data, newline="") as file:
            truth = [row["readmitted"] for row in csv.DictReader(file)]
        right = sum(row["prediction"] == label for row, label in zip(said, truth, strict=True)) / len(truth)
        metrics = self.json_of("evaluate", "--model", "m", "--data", data)["metrics"]
        self.assertAlmostEqual(metrics["accuracy"], right, places=12)
        self.assertEqual(metrics["balanced_accuracy"], 0.5)

    def test_the_support_of_a_model_is_held_against_the_truth(self):
        self.write("data.csv", "a,b,c,y\n1,0,0,1\n0,1,0,0\n2,1,0,2\n0,0,1,3\n1,1,1,4\n")
        self.write("job.toml", JOB.format(task="linear"))
        self.succeeds("train", "job.toml", "--out", "m", "--quiet")
        self.write("truth.json", json.dumps({"coefficients": {"a": 1, "c": 3, "elsewhere": 2}}))
        evaluate = ("evaluate", "--model", "m", "--data", "data.csv", "--truth")
        metrics = self.json_of(*evaluate, "truth.json")["metrics"]
        self.assertEqual({key: metrics["support"][key] for key in ("true_positives", "missing", "spurious")},
                         {"true_positives": 2, "missing": 1, "spurious": 1})
        for key in ("precision", "recall", "f1"):
            self.assertAlmostEqual(metrics["support"][key], 2 / 3)
        self.assertIn("spurious", self.succeeds(*evaluate, "truth.json").stdout)
        self.write("parties.json",
                   json.dumps({"parties": [{"coefficients": {"a": 1, "b": 0}}, {"coefficients": {"a": -1, "b": 2}}]}))
        self.assertEqual(self.json_of(*evaluate, "parties.json")["metrics"]["support"]["true_positives"], 2)
        self.write("other.json", json.dumps({"coefficients": {"x1": 1}}))
        self.refuses(*evaluate, "other.json", says="other.json: coefficients: names no column of the model (got 'x1')")
        self.refuses(*evaluate, "data.csv", says="data.csv: is not a truth as parley data generate writes it")
        self.refuses(*evaluate, "absent.json", says="absent.json: cannot be read")

    def test_a_long_history_is_thinned(self):
        self.write("data.csv", "a,b,y\n1,0,1\n0,1,0\n2,1,2\n0,3,3\n1,1,4\n")
        self.write("job.toml", JOB.format(task="linear").replace('"exact"', '"frank-wolfe"'))
        for iterations, every in ((10000, 1), (25001, 3)):
            objective = self.json_of("train", "job.toml", "--out", "m", "--quiet", "--set", "model.l1_radius=1",
                                     "--set", "algorithm.step=open-loop", "--set", "algorithm.gap_tolerance=0", "--set",
                                     f"algorithm.iterations={iterations}")["objective"]
            self.assertEqual(objective["history_every"], every)
            self.assertLessEqual(len(objective["history"]), 10001)
            self.assertEqual(len(objective["history"]),
                             len(range(0, iterations, every)) + ((iterations - 1) % every != 0))

    def test_a_table_needs_no_id_to_be_predicted(self):
        folder = self.example("readmission")
        self.succeeds("train", folder / "job.toml", "--out", "run", "--quiet")
        header, *records = (folder / "clinic.csv").read_text().splitlines()
        self.assertTrue(header.startswith("id,"), header)
        self.write("bare.csv", "\n".join(line.split(",", 1)[1] for line in [header, *records]) + "\n")
        named = self.succeeds("predict", "--model", "run", "--data", folder / "clinic.csv").stdout.splitlines()
        bare = self.succeeds("predict", "--model", "run", "--data", "bare.csv").stdout.splitlines()
        self.assertEqual([line.split(",", 1)[1] for line in bare], [line.split(",", 1)[1] for line in named])
        self.assertEqual([line.split(",")[0] for line in bare[1:]], [str(row + 1) for row in range(len(records))])
        self.assertEqual(self.json_of("evaluate", "--model", "run", "--data", "bare.csv"),
                         self.json_of("evaluate", "--model", "run", "--data", folder / "clinic.csv"))

    def test_squared_hinge_predictions_carry_their_decision_value(self):
        self.write("data.csv", "a,y\n1,b\n2,b\n-1,a\n-2,a\n")
        self.write("job.toml", JOB.format(task="squared-hinge"))
        self.succeeds("train", "job.toml", "--out", "run", "--quiet")
        weight = json.loads((self.folder / "run/model.json").read_text())["columns"][0]["weight"]
        header, *rows = (
            line.split(",")
            for line in self.succeeds("predict", "--model", "run", "--data", "data.csv").stdout.splitlines())
        self.assertEqual(header, ["id", "prediction", "decision"])
        self.assertEqual([row[1] for row in rows], ["b", "b", "a", "a"])
        self.assertEqual([float(row[2]) for row in rows], [weight * a for a in (1, 2, -1, -2)])
        said = self.json_of("predict", "--model", "run", "--data", "data.csv")["predictions"]
        self.assertEqual([entry["decision"] for entry in said], [float(row[2]) for row in rows])

    def test_predictions_agree_with_the_metrics(self):
        folder = self.example("readmission")
        self.succeeds("train", folder / "job.toml", "--set", "data.test_fraction=0.5", "--out", "run", "--quiet")
        metrics = self.json_of("evaluate", "--model", "run", "--data", folder / "clinic.csv")["metrics"]
        lines = self.succeeds("predict", "--model", "run", "--data", folder / "clinic.csv").stdout.splitlines()
        header = lines[0].split(",")
        truth = [line.split(",")[-1] for line in (folder / "clinic.csv").read_text().splitlines()[1:]]
        predicted = [line.split(",")[header.index("prediction")] for line in lines[1:]]
        accuracy = sum(p == t for p, t in zip(predicted, truth)) / len(truth)
        self.assertAlmostEqual(accuracy, metrics["accuracy"], places=12)

    def test_a_stop_while_data_are_read_leaves_the_earlier_model(self):
        self.write("train.libsvm", "1 1:1 2:3\n0 1:2\n1 2:1\n0 1:1 2:2\n")
        self.write("schema.toml", '[table]\nformat = "libsvm"\n')
        for algorithm in ("exact", "sgd", "frank-wolfe"):
            ball = ("--set", "model.l1_radius=1") if algorithm == "frank-wolfe" else ()
            self.write(
                "job.toml",
                JOB.format(task="logistic").replace('"exact"', f'"{algorithm}"').replace("data.csv", "train.libsvm") +
                'schema = "schema.toml"\n')
            self.succeeds("train", "job.toml", "--out", "run", "--quiet", *ball)
            kept = {path.name: path.read_bytes() for path in (self.folder / "run").iterdir()}
            pipe = self.folder / f"{algorithm}.libsvm"
            os.mkfifo(pipe)
            run = subprocess.Popen(
                [BINARY, "train", "job.toml", "--out", "run", "--set", f"party.site.data={pipe.name}", *ball],
                cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            with open(pipe, "w") as data:  # waits for the reader
                run.send_signal(signal.SIGINT)
                data.write((self.folder / "train.libsvm").read_text())
            said, told = run.communicate(timeout=60)
            self.assertEqual((run.returncode, said, told),
                             (1, "", "parley: interrupted before the first iteration; nothing was written\n"))
            self.assertEqual({path.name: path.read_bytes() for path in (self.folder / "run").iterdir()}, kept)

    def test_a_run_that_is_interrupted_keeps_its_best_model(self):
        self.succeeds("data", "generate", "sparse-regression", "--out", "big", "--rows", "3000", "--columns", "3000",
                      "--seed", "1")
        job = (self.folder / "big" / "job.toml").read_text()
        self.assertIn("[algorithm]", job)
        run = subprocess.Popen([
            BINARY, "train", "big/job.toml", "--out", "run", "--set", "algorithm.name=frank-wolfe", "--set",
            "model.l1_radius=5", "--set", "model.l1=0", "--set", "algorithm.iterations=2000000000", "--set",
            "algorithm.gap_tolerance=1e-300"
        ], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        # The first plain progress line says that training is under way.
        line = run.stderr.readline()
        run.send_signal(signal.SIGINT)
        _, rest = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 1, line + rest)
        result = json.loads((self.folder / "run" / "result.json").read_text())
        self.assertEqual(result["status"], "interrupted")
        self.assertEqual(result["stop_reason"], "interrupted")
        self.assertTrue((self.folder / "run" / "model.json").exists())
        self.assertTrue(math.isfinite(result["objective"]["final"]))


class BadTables(CliTest):
    """Exit 2, one clear line, no partial output files."""

    def check(self, content, says, task="logistic", name="data.csv", extra=()):
        self.write(name, content)
        self.write("job.toml", JOB.format(task=task).replace("data.csv", name))
        line = self.refuses("train", "job.toml", "--out", "run", *extra, says=says)
        self.assertFalse((self.folder / "run").exists(), "left output behind")
        return line

    def test_empty_file(self):
        self.check("", "empty")

    def test_header_only(self):
        self.check("a,y\n", "data.csv")

    def test_ragged_rows(self):
        self.assertIn("data.csv:3", self.check("a,b,y\n1,2,1\n1,0\n1,2,0\n", ""))

    def test_not_a_number(self):
        self.write("s.toml", '[[column]]\nname = "a"\ntype = "number"\n[[column]]\nname = "y"\ntype = "label"\n')
        line = self.check("a,y\n1,1\nx,0\n", "a", extra=("--set", "party.site.schema=s.toml"))
        self.assertIn("data.csv:3", line)
        self.assertIn("'x'", line)

    def test_duplicate_column_names(self):
        self.check("a,a,y\n1,2,1\n1,3,0\n", "a")

    def test_label_missing(self):
        self.check("a,b\n1,2\n1,3\n", "label")

    def test_one_class_only(self):
        self.check("a,y\n1,1\n2,1\n", "class")

    def test_nan_and_infinity(self):
        for cell in ("inf", "-inf", "1e999"):
            self.check(f"a,y\n1,1\n{cell},0\n", "data.csv:3")

    def test_constant_column_cannot_be_standardized(self):
        self.check("a,b,y\n1,5,1\n2,5,0\n", "constant", extra=("--set", "data.scale=standardize"))

    def test_one_row(self):
        self.check("a,y\n1,1\n", "")
        self.check("a,y\n1,1.5\n", "", task="linear")

    def test_truncated_gzip(self):
        import gzip
        packed = gzip.compress(b"a,y\n" + b"1,1\n2,0\n" * 1000)
        self.check(packed[: len(packed) // 2], "data.csv.gz", name="data.csv.gz")

    def test_libsvm_index_out_of_range(self):
        self.check("+1 1:1 3:2\n-1 2:1\n", "data.libsvm:1", name="data.libsvm", extra=("--set", "data.features=2"))

    def test_libsvm_indices_not_ascending(self):
        self.check("+1 1:1 3:2\n-1 2:1 1:1\n", "data.libsvm:2", name="data.libsvm")

    def test_missing_file(self):
        self.write("job.toml", JOB.format(task="logistic"))
        self.refuses("train", "job.toml", says="data.csv")

    def test_an_output_folder_that_is_a_file(self):
        self.write("taken", "x")
        self.write("data.csv", "a,y\n1,1\n2,0\n")
        self.write("job.toml", JOB.format(task="logistic"))
        self.refuses("train", "job.toml", "--out", "taken", says="taken")


class BadJobs(CliTest):
    def check(self, *overrides, says):
        folder = self.example("readmission")
        arguments = [part for override in overrides for part in ("--set", override)]
        self.refuses("train", folder / "job.toml", "--out", "run", *arguments, says=says)
        self.assertFalse((self.folder / "run").exists())
        import shutil
        shutil.rmtree(folder)

    def test_unknown_keys_get_a_suggestion(self):
        self.check("model.l1_radus=3", says="did you mean 'l1_radius'?")
        self.check("algoritm.name=exact", says="did you mean 'algorithm'?")
        self.check("algorithm.name=frank-wolf", says="did you mean 'frank-wolfe'?")

    def test_a_name_that_would_leave_the_output_folder(self):
        for name in ("../../evil", "a/b", "..", ".", ".hidden", "a\\\\b", "line\\nbreak"):
            job = JOB.format(task="linear").replace("[job]\n", f'[job]\nname = "{name}"\n')
            self.assertIn(name, job)
            self.write("job.toml", job)
            self.refuses("train", "job.toml", "--quiet", says="job.name: must be a name that a folder can have")
        self.assertFalse((self.folder / "out").exists())

    def test_contradictions(self):
        self.check("model.l1_radius=3", says="contradicts")
        self.check("party.clinic.test=clinic.csv", says="contradicts")
        self.check("job.task=softmax", says="positive")
        self.check("model.sparsity=3", "model.l1=0", says="job.toml: model.sparsity: exact")
        self.check("algorithm.name=frank-wolfe", says="job.toml: model.l1_radius: frank-wolfe needs")
        self.check("data.test_fraction=0.00001", says="job.toml: data.test_fraction: leaves 0 of")

    def test_wrong_label_names(self):
        self.check("labels.column=readmited", says="readmited")
        self.check("labels.positive=maybe", says="maybe")

    def test_a_task_that_does_not_fit_the_label(self):
        self.check("job.task=linear", "labels.positive=", says="")

    def test_privacy_is_not_promised_by_an_algorithm_without_it(self):
        self.check("privacy.epsilon=1.0", "model.intercept=false", says="exact has no private form")

    def test_absurd_numbers(self):
        self.check("model.l2=-1", says="at least 0")
        self.check("model.l1=nan", says="model.l1")
        self.check("data.test_fraction=1.5", says="data.test_fraction")
        self.check("algorithm.iterations=0", says="algorithm.iterations")

    def test_a_job_that_is_not_there(self):
        self.refuses("train", "nowhere.toml", says="nowhere.toml")

    def test_a_job_that_is_not_toml(self):
        self.write("job.toml", "[job\nx = 1")
        self.refuses("train", "job.toml", says="job.toml:1")


class Usage(CliTest):
    def test_no_verb_shows_help(self):
        done = self.run_parley()
        self.assertEqual(done.returncode, 2)
        self.assertIn("train", done.stderr + done.stdout)

    def test_an_unknown_verb_gets_a_suggestion(self):
        self.refuses("trian", says="did you mean 'train'?")

    def test_every_verb_shows_an_example(self):
        for verb in (["train"], ["predict"], ["evaluate"], ["data",
                                                            "describe"], ["data",
                                                                          "split"], ["data",
                                                                                     "generate"], ["data", "convert"]):
            text = self.succeeds(*verb, "--help").stdout
            self.assertRegex(text, "[Ee]xamples?:", verb)
            self.assertIn("parley " + " ".join(verb), text)

    def test_version(self):
        self.assertRegex(self.succeeds("--version").stdout, r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    unittest.main()
