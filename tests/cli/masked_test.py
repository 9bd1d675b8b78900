# labels: slow
"""masked-descent between sites: what a private run needs before anything is charged or sent."""
import unittest

from daemons import FederationTest

PRIVACY = "[privacy]\nepsilon = 1.0\ndelta = 1e-5\n"
BUDGET = "epsilon = 1000\ndelta = 0.01\n"


class Masked(FederationTest):
    PARTIES = ("clinic", "insurer")

    def private_job(self):
        return self.split_by_columns(rounds=4, extra=PRIVACY, algorithm="masked-descent")

    def test_a_private_run_of_sites_that_pin_nobody_ends_before_anything_is_charged_or_sent(self):
        coordinator = self.coordinate(self.private_job())
        parties = [self.join(name, limits=BUDGET, **self.columns_of(name)) for name in self.PARTIES]
        self.finish(coordinator, code=1)
        for party in parties:
            party.terminate()
            party.wait()
        self.assertIn("pins no peers", "".join(self.account(name) for name in self.PARTIES))
        self.assertEqual([self.plans(name) for name in self.PARTIES], [0, 0])

    def test_the_claim_says_what_it_assumes(self):
        job = self.private_job()
        self.succeeds("train", job, "--out", "here", "--quiet", "--set", f"privacy.ledger={self.folder / 'ledger'}")
        privacy = self.result("here")["privacy"]
        self.assertLessEqual(privacy["epsilon"], 1.0 + 1e-9, "parties release together: costs do not add up")
        self.assertIn("semi-honest", privacy["assumes"][0])
        self.assertIn("pools what it knows with no party", privacy["assumes"][1])
        for assumed in privacy["assumes"]:
            self.assertIn(assumed, privacy["statement"])
        self.assertEqual(privacy["against"], "everyone")


if __name__ == "__main__":
    unittest.main()
