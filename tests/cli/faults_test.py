# labels: slow faults
"""kill -9 at any point, of anyone: the run goes on to the same bytes. PARLEY_FAULTS=100 for many runs."""
import os
import random
import unittest

from daemons import FederationTest

RUNS = int(os.environ.get("PARLEY_FAULTS", "6"))
SEED = int(os.environ.get("PARLEY_FAULTS_SEED", "1"))
ROUNDS = 60


class Faults(FederationTest):
    def test_whoever_is_killed_the_run_ends_in_the_same_bytes(self):
        job = self.split_by_rows(rounds=ROUNDS)
        expected = self.trained_here(job)
        for run in range(RUNS):
            with self.subTest(run=run, seed=SEED):
                self.run_through_kills(job, f"out{run}", random.Random(1000 * SEED + run), self.join, longest=0.4)
                self.assertEqual(self.model(f"out{run}"), expected)


if __name__ == "__main__":
    unittest.main()
