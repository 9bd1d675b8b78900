"""kill -9 at any point, of anyone: the run goes on to the same bytes. PARLEY_FAULTS=100 for many runs."""
import os
import random
import time
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
                self.one_run(job, f"out{run}", random.Random(1000 * SEED + run))
                self.assertEqual(self.model(f"out{run}"), expected)

    def one_run(self, job, out, dice):
        """Three kills at random moments; the time between them only decides where they strike, never the outcome."""
        coordinator = self.coordinate(job, out)
        parties = {name: self.join(name) for name in self.PARTIES}
        for _ in range(3):
            time.sleep(dice.uniform(0, 0.4))
            victim = dice.choice(("coordinator", *self.PARTIES))
            if victim == "coordinator":
                if coordinator.poll() is not None:
                    break
                coordinator.kill()
                coordinator.wait()
                coordinator = self.coordinate(job, out)
            elif parties[victim].poll() is None:
                parties[victim].kill()
                parties[victim].wait()
                parties[victim] = self.join(victim)
        self.finish(coordinator)
        # A party that was killed after it had closed the run has nothing left to do, and dials a coordinator that is gone.
        for party in parties.values():
            party.terminate()
            party.wait()


if __name__ == "__main__":
    unittest.main()
