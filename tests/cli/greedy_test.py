import random
import unittest

import privacy_test
from parley_cli import CliTest


class Greedy(CliTest):
    """Greedy coordinate descent under a [privacy] section, as a user runs it."""

    def setUp(self):
        super().setUp()
        rng = random.Random(1)
        rows = ["age,dose,y"]
        for _ in range(3000):
            age, dose = rng.randint(20, 90), round(rng.uniform(-1, 1), 3)
            rows.append(f"{age},{dose},{1 if dose + rng.gauss(0, 0.3) > 0 else 0}")
        self.write("data.csv", "\n".join(rows) + "\n")
        self.write("schema.toml", privacy_test.SCHEMA)

    def train(self, *more):
        job = privacy_test.JOB.replace("frank-wolfe",
                                       "greedy-cd").replace("l1_radius = 3.0",
                                                            "l2 = 0.001").replace("iterations = 20\n", "")
        self.write("job.toml", job)
        return self.json_of("train", "job.toml", "--quiet", *more)

    def test_steps_come_from_public_numbers_and_the_claim_holds(self):
        result = self.train("--out", "run")
        self.assertTrue(result["privacy"]["claimed"])
        self.assertLessEqual(result["privacy"]["epsilon"], 2.0)
        self.assertEqual(result["privacy"]["releases"], 2 * result["rounds"])
        self.assertGreater(result["simulation"]["metrics"]["train"]["auc"], 0.8)

    def test_the_papers_noise_is_charged_at_what_it_costs(self):
        result = self.train("--set", "privacy.calibration=paper", "--set", "algorithm.iterations=1", "--out", "run")
        self.assertAlmostEqual(result["privacy"]["epsilon"], 3.0, places=3)  # 1 for the value, 2 for the selection

    def test_smoothness_is_one_more_release_within_the_same_claim(self):
        result = self.train("--set", "privacy.smoothness=private", "--out", "run")
        self.assertLessEqual(result["privacy"]["epsilon"], 2.0)
        self.assertEqual(result["privacy"]["releases"], 2 * result["rounds"] + 1)
        plan = self.json_of("plan", "job.toml", "--set", "privacy.smoothness=private")
        self.assertEqual(len(plan["privacy"]["releases"]), 3)
        self.assertAlmostEqual(sum(release["share"] for release in plan["privacy"]["releases"]), 1, places=6)
        self.assertTrue(0 < plan["privacy"]["smoothness_floor"] < 0.1)
        text = self.succeeds("plan", "job.toml", "--set", "privacy.smoothness=private").stdout
        self.assertIn("one release before the steps", text)
        self.assertNotIn("one release before the steps", self.succeeds("plan", "job.toml").stdout)
        self.refuses("train", "job.toml", "--set", "privacy.smoothness=private", "--set", "privacy.epsilon=0.001",
                     "--out", "other", "--quiet", says="would say nothing")

    def test_what_would_look_at_the_data_is_refused(self):
        self.train("--out", "run")
        self.refuses("train", "job.toml", "--set", "algorithm.smoothness=data", "--out", "other", "--quiet",
                     says="smoothness")


if __name__ == "__main__":
    unittest.main()
