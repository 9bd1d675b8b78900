# labels: slow
"""masked-descent between sites that pin each other, or do not."""
import random
import re
import unittest

from daemons import FederationTest

PRIVACY = "[privacy]\nepsilon = 1.0\ndelta = 1e-5\n"
BUDGET = "epsilon = 1000\ndelta = 0.01\n"


class Masked(FederationTest):
    PARTIES = ("clinic", "insurer")

    def private_job(self, rounds=4):
        return self.split_by_columns(rounds=rounds, extra=PRIVACY, algorithm="masked-descent")

    def pinned(self, name):
        """A daemon whose site pins the other one."""
        file = self.site(name, limits=BUDGET, **self.columns_of(name))
        for other in self.PARTIES:
            if other != name:
                file.write_text(file.read_text() + f'[[peer]]\nname = "{other}"\nkey = "{self.pins[other]}"\n')
        return self.spawn("join", file, "--once")

    def pin(self):
        self.pins = {name: re.search(r'key = "(\w+)"', self.succeeds("keys", "identity", "keys", name).stdout)[1]
                     for name in self.PARTIES}

    def trained(self, job):
        self.succeeds("train", job, "--out", "here", "--quiet", "--set", f"privacy.ledger={self.folder / 'ledger'}")
        return [self.part(self.folder / "here" / f"part-{p + 1}" / "model.json") for p in range(len(self.PARTIES))]

    def test_sites_that_pin_each_other_end_with_the_model_of_one_process(self):
        self.pin()
        job = self.private_job()
        coordinator = self.coordinate(job)
        parties = [self.pinned(name) for name in self.PARTIES]
        self.finish(coordinator)
        for party in parties:
            self.finish(party)
        self.assertEqual([self.part(kept) for kept in self.kept_parts()], self.trained(job))
        self.assertIn("which their sites pin", self.result()["privacy"]["statement"])
        self.assertEqual([self.plans(name) for name in self.PARTIES], [1, 1])

    def test_whoever_is_killed_is_charged_once_and_the_run_ends_in_the_same_model(self):
        self.pin()
        job = self.private_job(rounds=40)
        self.run_through_kills(job, "out", random.Random(5), self.pinned, longest=0.4)
        self.assertEqual([self.part(kept) for kept in self.kept_parts()], self.trained(job))
        self.assertEqual([self.plans(name) for name in self.PARTIES], [1, 1])

    def test_a_site_that_shows_another_identity_ends_the_run_before_anything_is_sent(self):
        self.pin()
        (self.folder / "keys" / "insurer.identity").unlink()
        self.succeeds("keys", "identity", "keys", "insurer")
        coordinator = self.coordinate(self.private_job())
        parties = [self.pinned(name) for name in self.PARTIES]
        self.finish(coordinator, code=1)
        for party in parties:
            party.terminate()
            party.wait()
        self.assertFalse((self.folder / "out" / "model.json").exists())

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
