# labels: slow
"""Sites that pin each other, clients that drop out, certificates that were revoked: daemons over gRPC."""
import json
import re
import time
import unittest

from daemons import FederationTest
from parley_cli import SOURCE

CLIENTS = """[privacy]
epsilon = 4.0
delta = 1e-4
unit = "client"
"""
BUDGET = 'epsilon = 1000.0\ndelta = 1e-4\nunit = "client"\n'


class Clients(FederationTest):
    """A private job whose unit is the client, over sites with budgets."""

    def clients_job(self, rounds=3, extra=""):
        job = self.split_by_rows(rounds, CLIENTS + extra, "fedavg", "", "local_steps = 2\nstep = 0.5\nclip = 0.5\n")
        text = job.read_text().replace("seed = 7\n", "")
        return self.write("job.toml", text)

    def site_with(self, name, pins):
        file = self.site(name, limits=BUDGET, without_privacy="false")
        peers = "".join(f'[[peer]]\nname = "{other}"\nkey = "{key}"\n' for other, key in pins.items() if other != name)
        file.write_text(file.read_text() + peers)
        return file

    def identities(self):
        return {name: re.search(r'key = "(\w+)"', self.succeeds("keys", "identity", "keys", name).stdout)[1]
                for name in self.PARTIES}


class PinnedPeers(Clients):
    def test_a_run_of_sites_that_pin_each_other_says_so_in_its_claim(self):
        job, pins = self.clients_job(), self.identities()
        coordinator = self.coordinate(job)
        parties = [self.spawn("join", self.site_with(name, pins), "--once") for name in self.PARTIES]
        self.finish(coordinator)
        for party in parties:
            self.finish(party)
        self.assertEqual(self.result()["privacy"]["against"], "the coordinator, together with one other client")
        self.assertIn("need not be trusted", self.result()["privacy"]["statement"])
        self.assertIn("has keys of pinned peers alone", self.account("north"))

    def test_every_algorithm_with_masked_sums_learns_the_same_with_pins(self):
        job = self.split_by_rows(20, "", "newton", "l2 = 0.01\n", "")
        job.write_text(job.read_text().replace("seed = 7\n", ""))
        expected, pins = self.trained_here(job), self.identities()
        coordinator = self.coordinate(job)
        parties = []
        for name in self.PARTIES:
            file = self.site_with(name, pins)
            file.write_text(file.read_text().replace("without_privacy = false", "without_privacy = true"))
            parties.append(self.spawn("join", file, "--once"))
        self.finish(coordinator)
        for party in parties:
            self.finish(party)
        self.assertEqual(self.model(), expected)

    def test_a_site_that_shows_another_identity_than_the_pinned_one_ends_the_run_before_anything_is_sent(self):
        job, pins = self.clients_job(), self.identities()
        (self.folder / "keys" / "west.identity").unlink()
        self.succeeds("keys", "identity", "keys", "west")
        coordinator = self.coordinate(job)
        parties = [self.spawn("join", self.site_with(name, pins), "--once") for name in self.PARTIES]
        self.finish(coordinator, code=1)
        for party in parties:
            party.terminate()
            party.wait()
        self.assertIn("the key of 'west' is missing", self.account("north"))


class DropOut(Clients):
    PARTIES = ("north", "south", "west", "east")

    def test_a_client_that_is_killed_is_missed_and_the_run_goes_on(self):
        job = self.clients_job(rounds=40, extra='[rounds]\non_missing = "proceed"\ndeadline_seconds = 3\nquorum = 3\n')
        coordinator = self.coordinate(job)
        parties = {name: self.spawn("join", self.site_with(name, {}), "--once") for name in self.PARTIES}
        for _ in range(6000):
            if "is charged" in self.account("east"):  # with its first task: the run has begun with it
                break
            time.sleep(0.001)
        parties["east"].kill()
        parties["east"].wait()
        self.finish(coordinator)
        notes = " ".join(self.result()["simulation"]["notes"])
        self.assertIn("party 'east' answered", notes)
        self.assertEqual(self.result()["rounds"], 2 + 3 * 40)
        for name in ("north", "south", "west"):
            self.finish(parties[name])
            self.assertEqual(self.plans(name), 1)

    def test_a_quorum_that_two_lists_could_have_is_refused(self):
        job = self.clients_job(extra='[rounds]\non_missing = "proceed"\ndeadline_seconds = 3\nquorum = 2\n')
        self.refuses("train", job, says="rounds.quorum: must be at least 3 of 4 clients")

    def test_in_one_process_it_learns_what_the_run_of_everybody_learns(self):
        job = self.clients_job(extra='[rounds]\non_missing = "proceed"\ndeadline_seconds = 3\nquorum = 3\n')
        self.succeeds("train", job, "--out", "here", "--quiet")
        self.assertTrue(json.loads((self.folder / "here" / "result.json").read_text())["privacy"]["claimed"])


class RevokedCertificates(Clients):
    def revoke(self, name):
        self.succeeds("keys", "revoke", "keys", name)

    def test_a_coordinator_turns_a_revoked_party_away(self):
        job = self.clients_job()
        (self.folder / "old").mkdir()
        for file in ("ca.pem", "west.pem", "west.key"):
            (self.folder / "old" / file).write_bytes((self.folder / "keys" / file).read_bytes())
        (self.folder / "old" / "west.key").chmod(0o600)
        self.revoke("west")
        coordinator = self.coordinate(job)
        self.refuses("join", self.site_with("west", {}), says="was revoked by the authority")
        file = self.site_with("west", {})
        file.write_text(file.read_text().replace('tls = "../keys"', 'tls = "../old"'))
        joined = self.spawn("join", file, "--once")
        self.assertIn("its certificate was revoked", self.finish(joined, code=1))
        coordinator.terminate()
        coordinator.wait()

    def test_a_site_ends_the_connection_to_a_revoked_coordinator(self):
        job = self.clients_job()
        coordinator = self.coordinate(job)
        self.revoke("coordinator")
        joined = self.spawn("join", self.site_with("west", {}), "--once")
        for line in joined.stderr:
            if "was revoked by the authority" in line:
                break
        else:
            self.fail("the site did not say that the coordinator's certificate was revoked")
        self.assertNotIn("asked to take part", self.account("west"))
        joined.terminate()
        joined.wait()
        coordinator.terminate()
        coordinator.wait()
        self.refuses("coordinate", job, "--listen", "127.0.0.1:0", "--tls", "keys", "--out", "x",
                     says="was revoked by the authority")

    def test_a_list_that_the_authority_did_not_sign_is_refused(self):
        self.clients_job()
        self.port = 1
        self.succeeds("keys", "init", "theirs")
        self.succeeds("keys", "issue", "theirs", "west")
        self.succeeds("keys", "revoke", "theirs", "west")
        (self.folder / "keys" / "revoked.pem").write_bytes((self.folder / "theirs" / "revoked.pem").read_bytes())
        self.refuses("join", self.site_with("west", {}), says="is not a list that the authority in ca.pem signed")


class Check(Clients):
    def lines(self, done):
        return {line[3:15].strip(): (line[:2], line[16:]) for line in done.stdout.splitlines()}

    def test_everything_is_looked_at_and_nothing_is_joined(self):
        job = self.clients_job()
        pins = self.identities()
        coordinator = self.coordinate(job)
        file = self.site_with("north", pins)
        found = self.lines(self.succeeds("join", "--check", file))
        for about in ("config", "data", "state", "ledger", "identity", "certificate", "connection"):
            self.assertEqual(found[about][0], "ok", found)
        self.assertIn("clock", found)
        self.assertFalse((self.folder / "north" / "state" / "jobs.log").exists())
        coordinator.terminate()
        coordinator.wait()
        away = self.run_parley("join", "--check", file)
        self.assertEqual(away.returncode, 1, away.stdout)
        self.assertEqual(self.lines(away)["connection"], ("!!", f"127.0.0.1:{self.port}: nobody answers there now"))

    def test_what_is_wrong_at_the_site_is_said(self):
        self.clients_job()
        self.port = 1
        file = self.site_with("north", {"south": "0" * 64})
        wrong = self.run_parley("join", "--check", file)
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("parley keys identity makes it", self.lines(wrong)["identity"][1])
        (self.folder / "north" / "stays.csv").write_text("nonsense\n")
        self.assertEqual(self.lines(self.run_parley("join", "--check", file))["data"][0], "!!")
        (self.folder / "keys" / "north.pem").unlink()
        self.assertEqual(self.lines(self.run_parley("join", "--check", file))["certificate"][0], "!!")
        self.refuses("join", "--check", self.write("bad.toml", "[site]\nname = 7\n"), says="bad.toml")

    def test_a_certificate_that_ends_soon_is_warned_of(self):
        self.clients_job()
        self.port = 1
        for file in ("north.pem", "north.key"):
            (self.folder / "keys" / file).unlink()
        self.succeeds("keys", "issue", "keys", "north", "--days", "29")
        said = self.run_parley("join", "--check", self.site_with("north", {})).stderr
        self.assertRegex(said, r"warning: north\.pem expires on 20\d\d-\d\d-\d\d, in 2[89] days; parley keys request renews it")


class Explain(Clients):
    def test_a_page_for_whoever_answers_for_the_data(self):
        job = self.clients_job()
        self.port = 1
        page = self.succeeds("site", "explain", job, "--site", self.site_with("north", {"south": "0" * 64})).stdout
        for words in ("What leaves 'north'", "What leaves", "At what cost", "What stays", "This site pins south",
                      "under a mask", "epsilon 4.0" if "epsilon 4.0" in page else "epsilon 4"):
            self.assertIn(words, page)
        self.assertNotIn("PER PERSON", page)
        vertical = SOURCE / "examples" / "clinic-and-insurer" / "job.toml"
        self.assertIn("PER PERSON", self.succeeds("site", "explain", vertical).stdout)
        self.refuses("site", "explain", self.write("bad.toml", "x = 1\n"), says="bad.toml")

    def test_the_doctor_looks_at_the_machine(self):
        done = self.run_parley("doctor")
        self.assertIn(done.returncode, (0, 1))
        for about in ("version", "machine", "randomness", "disk", "descriptors", "clock"):
            self.assertRegex(done.stdout, rf"(?m)^(ok|!!|--) {about} ")


if __name__ == "__main__":
    unittest.main()
