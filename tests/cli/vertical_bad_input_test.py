"""Parties with columns that do not fit together, and settings that no run could have: one line on stderr, exit 2, and
nothing was written."""
import unittest

from parley_cli import CliTest

RECORDS = 30
JOB = """[job]
partition = "vertical"
task = "logistic"
[model]
l1_radius = 2.0
[algorithm]
name = "bcfw"
iterations = 5
seed = 1
[data]
bound = 1.0
[labels]
party = "a"
column = "y"
[[party]]
name = "a"
data = "a.csv"
[[party]]
name = "b"
data = "b.csv"
"""
A = ["id,c0,c1,y", *(f"r{i},0.{i:02},{(7 * i) % 10 / 10},{i % 2}" for i in range(RECORDS))]
B = ["id,c2,c3", *(f"r{i},{(3 * i) % 10 / 10},0.{(5 * i) % 100:02}" for i in range(RECORDS))]


class BadInput(CliTest):
    def refused(self, says, a=A, b=B, job=JOB, settings=()):
        self.write("a.csv", "\n".join(a) + "\n")
        self.write("b.csv", "\n".join(b) + "\n")
        self.write("job.toml", job)
        arguments = [part for setting in settings for part in ("--set", setting)]
        line = self.refuses("train", "job.toml", "--out", "out", "--quiet", *arguments, says=says)
        self.assertFalse((self.folder / "out").exists(), "a run that was refused writes nothing")
        self.assertFalse((self.folder / "ledger").exists(), "and sets no budget")
        return line

    def test_what_is_refused_here_is_taken_without_the_mistake(self):
        self.write("a.csv", "\n".join(A) + "\n")
        self.write("b.csv", "\n".join(B) + "\n")
        self.write("job.toml", JOB)
        self.succeeds("train", "job.toml", "--out", "out", "--quiet")

    # ---- tables ----

    def test_different_row_counts(self):
        self.assertIn("29 records", self.refused("party.b", b=B[:-1]))

    def test_ids_out_of_step(self):
        self.refused("record ids are not those of 'a'", b=[B[0], B[2], B[1], *B[3:]])

    def test_overlapping_column_names(self):
        for name in ("c0", "c1"):
            line = self.refused("party.b: has a column that 'a' has too", b=[B[0].replace("c2", name), *B[1:]])
            self.assertIn(f"'{name}'", line)

    def test_a_party_without_columns(self):
        self.refused("b.csv", b=[row.split(",")[0] for row in B])

    def test_one_class_only(self):
        ones = [A[0], *(row[:-1] + "1" for row in A[1:])]
        self.refused("one class only", a=ones)
        self.refused("one class only", a=ones, settings=['labels.classes=["0","1"]'])

    def test_a_tolerance_of_a_private_run(self):
        for name in ("bcfw", "dfw", "pride"):
            self.refused("algorithm.tolerance: a private run does not know its gap",
                         settings=[f"algorithm.name={name}", "algorithm.tolerance=0.1", "privacy.epsilon=1",
                                   "labels.public=true"])

    # ---- samplings ----

    def test_probabilities_that_do_not_sum(self):
        for sampling in ("custom", "importance"):
            sets = ["algorithm.sets=[[1],[2]]"] if sampling == "custom" else []
            self.refused("algorithm.probabilities: must sum to 1",
                         settings=[f"algorithm.sampling={sampling}", *sets, "algorithm.probabilities=[0.5,0.4]"])

    def test_a_sampling_that_never_reaches_a_block(self):
        self.refused("algorithm.sets: must reach every block",
                     settings=["algorithm.sampling=custom", "algorithm.sets=[[1]]", "algorithm.probabilities=[1.0]"])
        self.refused("algorithm.probabilities: must be above 0",
                     settings=["algorithm.sampling=importance", "algorithm.probabilities=[1.0,0.0]"])

    def test_p_min(self):
        self.refused("algorithm.p_min: must be above 0", settings=["algorithm.p_min=0"])
        self.refused("algorithm.p_min: must be at most",
                     settings=["algorithm.p_min=0.9", "algorithm.sampling=uniform-serial"])

    # ---- labels ----

    def test_labels_that_leave_with_noise(self):
        noise = 'labels.privacy="randomised-response"'
        for settings, says in (
                ([noise], "labels.epsilon: is missing"),
                (["labels.epsilon=1"], "labels.epsilon: is of the noise"),
                (['labels.privacy="gaussian"', "labels.epsilon=1"], "labels.privacy"),
                ([noise, "labels.epsilon=0"], "labels.epsilon: must be above 0"),
                ([noise, "labels.epsilon=23"], "labels.epsilon: must be at most 22"),
                ([noise, "labels.epsilon=1", "labels.public=true"], "contradicts labels.public"),
                ([noise, "labels.epsilon=1", 'job.task="squared-hinge"'], "labels.privacy: has no squared hinge"),
                ([noise, "labels.epsilon=1", 'job.task="linear"'], "labels.privacy: randomised response is for classes"),
                ([noise, "labels.epsilon=2", "privacy.epsilon=2"], "labels.epsilon: is a part of privacy.epsilon"),
                ([noise, "privacy.epsilon=2"], "labels.epsilon: is missing"),
                ([noise, "labels.epsilon=1", "privacy.epsilon=2", 'privacy.unit="label"'], "labels.epsilon: is all that the run spends"),
                ([noise, "privacy.epsilon=2", 'privacy.unit="label"', "privacy.records=30"], "privacy.records: is about records"),
                (["privacy.epsilon=2", 'privacy.unit="label"'], "privacy.unit"),
        ):
            with self.subTest(settings=settings):
                self.refused(says, settings=settings)
        single = JOB.replace("vertical", "single").replace('party = "a"\n', "").partition('[[party]]\nname = "b"')[0]
        single = single.replace('"bcfw"', '"frank-wolfe"')
        self.refused("labels.privacy: only admm-sharing", job=single, settings=[noise, "labels.epsilon=1"])


if __name__ == "__main__":
    unittest.main()
