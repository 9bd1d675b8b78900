# labels: slow
"""A party that holds labels and a column of ones: a registry, or the machine of the coordinator itself."""
import csv
import json

from parley_cli import SOURCE, CliTest

EXAMPLE = SOURCE / "examples" / "clinic-and-insurer"
PARTY = '[[party]]\nname = "{0}"\ndata = "{0}.csv"\nschema = "{0}.schema.toml"\n'


class LabelsAlone(CliTest):
    def job(self, algorithm, model, holder):
        """The clinic's labels in a table of their own, or beside its columns."""
        with open(EXAMPLE / "clinic.csv", newline="") as file:
            header, *rows = list(csv.reader(file))
        label = header.index("readmitted")
        self.write("registry.csv", f"id,one,{header[label]}\n" + "".join(f"{row[0]},1,{row[label]}\n" for row in rows))
        schema = (EXAMPLE / "clinic.schema.toml").read_text().split("[[column]]")
        keep = [part for part in schema[1:] if '"id"' in part.split("\n")[1] or '"readmitted"' in part]
        self.write("registry.schema.toml", "[[column]]".join(["", *keep]) + '\n[[column]]\nname = "one"\ntype = "integer"\nlower = 0\nupper = 1\n')
        for name in ("clinic", "insurer"):
            self.write(f"{name}.csv", (EXAMPLE / f"{name}.csv").read_text())
            self.write(f"{name}.schema.toml", (EXAMPLE / f"{name}.schema.toml").read_text())
        if holder == "registry":
            self.write("clinic.csv", "".join(",".join(cell for j, cell in enumerate(row) if j != label) + "\n"
                                             for row in [header, *rows]))
            self.write("clinic.schema.toml", "[[column]]".join(part for part in schema if '"readmitted"' not in part))
        parties = ("registry", "clinic", "insurer") if holder == "registry" else ("clinic", "insurer")
        return self.write("job.toml", f"""[job]
name = "labels"
partition = "vertical"
task = "logistic"
[model]
{"" if holder == "registry" else 'intercept = "penalised"'}
{model}
[algorithm]
name = "{algorithm}"
[labels]
party = "{holder}"
column = "readmitted"
positive = "yes"
""" + "".join(PARTY.format(name) for name in parties))

    def objective(self, holder, algorithm, model, *more):
        self.job(algorithm, model, holder)
        self.succeeds("train", "job.toml", "--out", holder, "--overwrite", "--quiet", *more)
        result = json.loads((self.folder / holder / "result.json").read_text())
        return (result.get("objective") or result["simulation"]["objective"])["final"]

    def test_the_optimum_is_that_of_labels_beside_columns(self):
        for algorithm, model, steps, delta in (("admm-sharing", "l2 = 0.01", 2000, 1e-8), ("bcfw", "l1_radius = 1.0", 3000, 2e-3),
                                               ("dfw", "l1_radius = 1.0", 3000, 2e-3), ("vertical-sgd", "l2 = 0.01", 3000, 1e-3)):
            with self.subTest(algorithm=algorithm):
                more = ("--set", f"algorithm.iterations={steps}", "--set", "algorithm.seed=1")
                if algorithm == "bcfw":
                    more = (*more, "--set", "algorithm.ball=global")
                one, other = (self.objective(holder, algorithm, model, *more) for holder in ("registry", "clinic"))
                self.assertAlmostEqual(one, other, delta=delta)

    def test_its_part_of_the_model_predicts(self):
        self.objective("registry", "admm-sharing", "l2 = 0.01", "--set", "algorithm.iterations=50")
        data = [f"{name}={name}.csv" for name in ("registry", "clinic", "insurer")]
        judged = json.loads(self.succeeds("evaluate", "--model", "registry", "--data", *data, "--json").stdout)
        self.assertIn("accuracy", json.dumps(judged))

    def test_a_private_run(self):
        self.objective("registry", "admm-sharing", "l2 = 0.1", "--set", "algorithm.iterations=2", "--set", "privacy.epsilon=8",
                       "--set", "labels.public=true", "--set", "privacy.ledger=ledger")
