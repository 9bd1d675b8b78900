import os
import shutil
import signal
import socket
import time
import unittest

from daemons import FederationTest


class Daemons(FederationTest):
    def test_daemons_over_grpc_give_the_model_of_one_process(self):
        job = self.split_by_rows()
        coordinator = self.coordinate(job)
        parties = [self.join(name) for name in self.PARTIES]
        self.finish(coordinator)
        for party in parties:
            self.finish(party)
        self.assertEqual(self.model(), self.trained_here(job))
        result, here = self.result(), self.result("here")
        self.assertEqual(result["communication"]["uplink_bytes"], here["communication"]["uplink_bytes"])
        self.assertEqual(result["communication"]["downlink_bytes"], here["communication"]["downlink_bytes"])
        self.assertEqual(len(result["communication"]["per_party"]), 3)
        self.assertFalse((self.folder / "out" / "checkpoint").exists())
        account = (self.folder / "north" / "state" / "jobs.log").read_text()
        self.assertIn("asked to take part in", account)
        self.assertIn("over: 20 rounds answered", account)

    def test_the_time_between_continents_is_told(self):
        job = self.split_by_rows(rounds=4, extra="[network]\nlatency_ms = 136\nbandwidth_mbps = 420\n")
        self.trained_here(job)
        communication = self.result("here")["communication"]
        self.assertGreater(communication["network_seconds"], 4 * 2 * 0.136)
        self.assertLess(communication["network_seconds"], 4 * 2 * 0.136 + 0.1)

    def test_a_certificate_that_names_no_party_is_turned_away(self):
        job = self.split_by_rows()
        self.coordinate(job)
        self.succeeds("keys", "issue", "keys", "stranger")
        (self.folder / "stranger").mkdir()
        stranger = self.join("stranger", data="../north/stays.csv")
        self.assertIn("turns this party away", self.finish(stranger, code=1))

    def test_the_coordinator_says_for_whom_it_waits_and_a_second_daemon_takes_the_place_of_the_first(self):
        job = self.split_by_rows(rounds=4)
        coordinator = self.coordinate(job)
        first = self.join("north")
        while "north is ready" not in "".join(coordinator.lines):
            time.sleep(0.01)
        self.folder.joinpath("north").rename(self.folder / "elsewhere")  # its state: another daemon, under the same name
        shutil.copytree(self.folder / "elsewhere", self.folder / "north", ignore=shutil.ignore_patterns("state"))
        parties = [self.join(name) for name in self.PARTIES]
        self.assertIn("another daemon with this one's certificate joined, and has taken its place", self.finish(first, code=1))
        said = self.finish(coordinator)
        for party in parties:
            self.finish(party)
        for line in ("waiting for: north, south, west", "north joined", "north is ready; waiting for: south, west",
                     "north joined once more", "all are here"):
            self.assertIn(line, said)
        self.assertNotIn("nan", said)

    def test_nothing_is_said_when_quiet(self):
        job = self.split_by_rows(rounds=4)
        self.port = 1
        quiet = self.spawn("join", self.site("north"), "--quiet")
        coordinator = self.spawn("coordinate", job, "--listen", "127.0.0.1:0", "--tls", "keys", "--out", "out", "--quiet")
        while not (self.folder / "out" / "checkpoint").exists():
            time.sleep(0.01)
        coordinator.send_signal(signal.SIGINT)
        quiet.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(coordinator, code=1), "parley: stopped after round 0; the same command goes on from there\n")
        self.assertEqual(self.finish(quiet), "")

    def said_by(self, name, what, **site):
        """A daemon that goes on dialling, and why it says it has to."""
        process = self.spawn("join", self.site(name, **site))
        line = process.stderr.readline()
        self.assertIn(what, line)
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process), "", "it is said once")

    def test_why_nobody_can_be_reached_is_said_once(self):
        job = self.split_by_rows()
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            self.port = nobody.getsockname()[1]
            self.said_by("north", f"cannot reach 127.0.0.1:{self.port} yet: nobody listens there")
        self.port = 0
        self.coordinate(job)
        (self.folder / "keys").rename(self.folder / "theirs")
        self.succeeds("keys", "init", "keys")
        self.succeeds("keys", "issue", "keys", "north")
        self.said_by("north", "who answers has no certificate for the name 'coordinator' from the authority in ca.pem")
        with (self.folder / "keys" / "ca.pem").open("a") as both:
            both.write((self.folder / "theirs" / "ca.pem").read_text())
        self.said_by("north", "who answers hangs up; it does not believe this site's certificate")

    def test_keys_that_would_not_be_believed_are_refused_at_start(self):
        job = self.split_by_rows()
        self.port = 1
        keys = self.folder / "keys"
        coordinate = ("coordinate", job, "--listen", "127.0.0.1:0", "--out", "out", "--tls")
        self.succeeds("keys", "init", "theirs")
        self.succeeds("keys", "issue", "theirs", "coordinator")
        shutil.copy(keys / "ca.pem", self.folder / "theirs" / "ca.pem")
        self.refuses(*coordinate, "theirs", says="theirs/coordinator.pem: is not of the authority in ca.pem")
        self.refuses(*coordinate, "nowhere", says="nowhere/ca.pem: is not there; who runs the federation has it")
        self.refuses("join", self.site("east", data="../north/stays.csv"), says="east.pem: is not there; who runs the federation makes it")
        shutil.copy(keys / "south.key", keys / "north.key")
        self.refuses("join", self.site("north"), says="north.key: is not the key of the certificate beside it")
        shutil.copy(keys / "south.pem", keys / "north.pem")
        self.refuses("join", self.site("north"), says="north.pem: is the certificate of 'south', not of 'north'")
        (keys / "south.pem").write_text("hello")
        self.refuses("join", self.site("south"), says="south.pem: is no certificate (PEM)")
        self.assertFalse((self.folder / "out").exists())

    def test_a_run_that_may_proceed_begins_without_a_site_that_does_not_allow_it(self):
        job = self.split_by_rows(rounds=4, extra='[rounds]\non_missing = "proceed"\ndeadline_seconds = 60\nquorum = 2\n')
        coordinator = self.coordinate(job)
        north = self.join("north", limits='algorithms = ["fedavg"]')
        self.finish(north, code=1)
        parties = [self.join(name) for name in self.PARTIES[1:]]
        said = self.finish(coordinator)
        self.assertIn("north does not take part: the site does not allow this job; the run goes on without it", said)
        for party in parties:
            self.finish(party)
        self.assertIn("the run began without: north", self.result()["notes"])
        self.refuses("coordinate", job, "--set", "rounds.quorum=4", "--listen", "127.0.0.1:0", "--tls", "keys", "--out", "out",
                     says="is more than the job's 3 parties")

    def refused_by(self, **site):
        job = self.split_by_rows()
        coordinator = self.coordinate(job)
        for name in self.PARTIES[1:]:
            self.join(name)
        north = self.join(self.PARTIES[0], **site)
        said = self.finish(coordinator, code=1).splitlines()[-1]
        self.assertIn("party 'north' does not take part: the site does not allow this job", said)
        self.assertIn("this site takes no part in the run", self.finish(north, code=1))
        return (self.folder / "north" / "state" / "jobs.log").read_text()

    def test_a_site_allows_only_the_algorithms_it_lists(self):
        self.assertIn("limits.algorithms", self.refused_by(limits='algorithms = ["fedavg"]'))

    def test_a_column_that_is_never_to_be_used_keeps_the_site_out(self):
        self.assertIn("limits.never", self.refused_by(limits='never = ["ward"]'))

    def test_too_few_records_keep_the_site_out(self):
        said = self.refused_by(limits="minimum_records = 100000")
        self.assertIn("limits.minimum_records", said)

    def test_a_coordinator_can_be_stopped_and_goes_on(self):
        job = self.split_by_rows(rounds=400)
        coordinator = self.coordinate(job)
        parties = [self.join(name) for name in self.PARTIES]
        while not (self.folder / "out" / "checkpoint").exists():
            pass
        coordinator.send_signal(signal.SIGINT)
        self.assertIn("the same command goes on from there", self.finish(coordinator, code=1))
        again = self.coordinate(job)
        self.finish(again)
        for party in parties:
            self.finish(party)
        self.assertEqual(self.model(), self.trained_here(job))

    def test_a_party_that_stays_away_fails_the_run_when_the_job_says_so(self):
        job = self.split_by_rows(extra='[rounds]\non_missing = "fail"\ndeadline_seconds = 0.5\n')
        coordinator = self.coordinate(job)
        self.join("north")
        self.assertIn("could not be opened in time at: south, west", self.finish(coordinator, code=1))

    def test_a_site_file_with_a_mistake_is_refused_in_one_line(self):
        self.split_by_rows()
        self.port = 1
        self.refuses("join", self.site("north", limits="algorythms = []"), says="did you mean 'algorithms'")
        self.refuses("join", self.site("north", limits='algorithms = ["fed-it"]'), says="unknown algorithm")

    def test_a_misspelt_name_among_columns_never_to_be_used_is_refused_at_start(self):
        self.split_by_rows()
        self.port = 1
        for schema in (None, self.folder / "plain.toml"):
            self.write("plain.toml", "")
            for name, meant in (("Ward", "ward"), ("agee", "age"), ("war", "ward")):
                self.refuses("join", self.site("north", limits=f'never = ["readmitted", "{name}"]', schema=schema),
                             says=f"limits.never: names no column of this site's table or schema; did you mean '{meant}'?")

    def test_a_site_looks_at_its_files_before_it_dials(self):
        self.split_by_rows()
        self.port = 1
        self.refuses("join", self.site("north", data="nowhere.csv"), says="nowhere.csv: cannot be read")
        self.refuses("join", self.site("north", schema="nowhere.toml"), says="nowhere.toml: cannot be read")
        (self.folder / "north" / "state" / "jobs.log").mkdir(parents=True)
        self.refuses("join", self.site("north"), code=1, says="jobs.log: cannot be written: Is a directory")

    def test_a_site_whose_account_cannot_be_written_takes_no_part(self):
        (self.folder / "north" / "state").mkdir(parents=True)
        (self.folder / "north" / "state" / "jobs.log").symlink_to("/dev/full")
        job = self.split_by_rows()
        coordinator = self.coordinate(job)
        for name in self.PARTIES[1:]:
            self.join(name)
        north = self.join("north")
        self.assertIn("party 'north' does not take part", self.finish(coordinator, code=1))
        self.assertIn("jobs.log: cannot be written; nothing leaves that is not accounted for", self.finish(north, code=1))
        self.assertEqual([name for name in os.listdir(self.folder / "north" / "state") if name.endswith(".kept")], [])

    def test_addresses_have_ports_that_exist(self):
        job = self.split_by_rows()
        for address in ("127.0.0.1", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:x", ":7000"):
            self.refuses("coordinate", job, "--listen", address, "--tls", "keys", "--out", "out", says="--listen: must ")
        for port in ("", "0", "70000", "x"):
            self.port = port
            self.refuses("join", self.site("north"), says="site.coordinator: must ")
        self.assertFalse((self.folder / "out").exists())

    def test_a_folder_has_one_coordinator_at_a_time(self):
        job = self.split_by_rows()
        self.coordinate(job)
        self.refuses("coordinate", job, "--listen", "127.0.0.1:0", "--tls", "keys", "--out", "out", code=1,
                     says="another process holds it")

    def test_coordinate_needs_a_federated_job(self):
        self.refuses("coordinate", self.example("readmission") / "job.toml", "--listen", "127.0.0.1:0", "--tls", "keys", "--out", "out",
                     says="is not for several parties")


if __name__ == "__main__":
    unittest.main()
