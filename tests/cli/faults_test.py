# labels: slow faults
"""kill -9 at any point, of anyone: the run goes on to the same bytes. The runs are shared out among the algorithms of
several parties. PARLEY_FAULTS=100 for many runs."""
import os
import random
import unittest

from daemons import FederationTest, of_several_parties

RUNS = int(os.environ.get("PARLEY_FAULTS", "6"))
SEED = int(os.environ.get("PARLEY_FAULTS_SEED", "1"))
ROUNDS = 60


class Faults(FederationTest):
    def check(self, partition, join, learnt):
        """`learnt`: the model that the run of the daemons ended in, and that of the run in one process."""
        listed = of_several_parties()
        for algorithm in of_several_parties(partition):
            with self.subTest(algorithm=algorithm.name):
                job = self.job_for(algorithm, ROUNDS)
                self.trained_here(job, algorithm=algorithm)
                for run in range(listed.index(algorithm), max(RUNS, len(listed)), len(listed)):
                    with self.subTest(run=run, seed=SEED):
                        out = f"out{run}"
                        self.run_through_kills(job, out, random.Random(1000 * SEED + run), join, longest=0.4)
                        self.assertEqual(*learnt(out))


class Rows(Faults):
    def test_whoever_is_killed_the_run_ends_in_the_same_bytes(self):
        self.check("horizontal", self.join, lambda out: (self.model(out), self.model("here")))


class Parts(Faults):
    def check_parts(self, partition, secret=None):
        limits = "public_labels = true\n"
        self.check(partition, lambda name: self.join(name, limits=limits, secret=secret, **self.columns_of(name)),
                   lambda out: ([self.part(kept) for kept in self.kept_parts(out)],
                                [self.part(self.folder / "here" / f"part-{p + 1}" / "model.json")
                                 for p in range(len(self.PARTIES))]))


class Columns(Parts):
    PARTIES = ("clinic", "insurer")

    def test_whoever_is_killed_the_run_ends_in_the_same_parts(self):
        self.check_parts("vertical")


class Tables(Parts):
    PARTIES = ("ratings", "users", "films")

    def test_whoever_is_killed_the_run_ends_in_the_same_parts(self):
        self.check_parts("relational", secret="../secret")


if __name__ == "__main__":
    unittest.main()
