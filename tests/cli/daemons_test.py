# labels: slow
import fcntl
import json
import os
import re
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
        self.assertRegex(account,
                         r"is 'together': logistic by fed-iter-ht, of .*; no privacy: what leaves is not protected\n")
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
        self.folder.joinpath("north").rename(self.folder /
                                             "elsewhere")  # its state: another daemon, under the same name
        shutil.copytree(self.folder / "elsewhere", self.folder / "north", ignore=shutil.ignore_patterns("state"))
        parties = [self.join(name) for name in self.PARTIES]
        self.assertIn("another daemon with this one's certificate joined, and has taken its place",
                      self.finish(first, code=1))
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
        self.port = 0
        coordinator = self.coordinate(job, "out", "--quiet")
        coordinator.send_signal(signal.SIGINT)
        self.finish(coordinator, code=1)
        coordinator = self.spawn("coordinate", job, "--listen", f"127.0.0.1:{self.port}", "--tls", "keys", "--out",
                                 "other", "--quiet")
        while not (self.folder / "other" / "checkpoint").exists():
            time.sleep(0.01)
        coordinator.send_signal(signal.SIGINT)
        quiet.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(coordinator, code=1),
                         "parley: stopped after round 0; the same command goes on from there\n")
        self.assertEqual(self.finish(quiet), "")

    def test_a_port_that_the_system_chose_is_told_also_when_quiet(self):
        job = self.split_by_rows(rounds=4)
        coordinator = self.coordinate(job, "out", "--quiet")
        parties = [self.join(name, "--quiet") for name in self.PARTIES]
        self.assertEqual(self.finish(coordinator), f"parley: listening on port {self.port} for north, south, west\n")
        for party in parties:
            self.assertEqual(self.finish(party), "")

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
        self.said_by("north", "the certificate of whoever answers is not from the authority in ca.pem")
        with (self.folder / "keys" / "ca.pem").open("a") as both:
            both.write((self.folder / "theirs" / "ca.pem").read_text())
        self.said_by("north", "whoever answers does not trust this site's certificate: it is not from their authority")

    def test_keys_that_would_not_be_believed_are_refused_at_start(self):
        job = self.split_by_rows()
        self.port = 1
        keys = self.folder / "keys"
        coordinate = ("coordinate", job, "--listen", "127.0.0.1:0", "--out", "out", "--tls")
        self.succeeds("keys", "init", "theirs")
        self.succeeds("keys", "issue", "theirs", "coordinator")
        shutil.copy(keys / "ca.pem", self.folder / "theirs" / "ca.pem")
        self.refuses(*coordinate, "theirs", says="theirs/coordinator.pem: is not from the authority in ca.pem")
        self.refuses(*coordinate, "nowhere", says="nowhere/ca.pem: does not exist; whoever runs the federation has it")
        self.refuses("join", self.site("east", data="../north/stays.csv"),
                     says="east.pem: does not exist; whoever runs the federation makes it")
        shutil.copy(keys / "south.key", keys / "north.key")
        self.refuses("join", self.site("north"), says="north.key: is not the key of the certificate beside it")
        shutil.copy(keys / "south.pem", keys / "north.pem")
        self.refuses("join", self.site("north"), says="north.pem: is the certificate of 'south', not of 'north'")
        (keys / "south.pem").write_text("hello")
        self.refuses("join", self.site("south"), says="south.pem: is not a certificate (PEM)")
        self.assertFalse((self.folder / "out").exists())

    def test_a_key_that_others_can_read_is_warned_of_and_used(self):
        job = self.split_by_rows(rounds=2)
        for name in ("coordinator", "north"):
            (self.folder / "keys" / f"{name}.key").chmod(0o644)
        coordinator = self.coordinate(job, "out", "--quiet")
        parties = [self.join(name, "--quiet") for name in self.PARTIES]
        said = [self.finish(process) for process in (coordinator, *parties)]
        for name, lines in zip(("coordinator", *self.PARTIES), said, strict=True):
            warned = re.findall(
                rf"warning: (\S*{name}.key): is a private key that users other than its owner can read; chmod 600 \1\n",
                lines)
            self.assertEqual(len(warned), 1 if name in ("coordinator", "north") else 0, lines)

    def test_a_run_that_may_proceed_begins_without_a_site_that_does_not_allow_it(self):
        job = self.split_by_rows(rounds=4,
                                 extra='[rounds]\non_missing = "proceed"\ndeadline_seconds = 60\nquorum = 2\n')
        coordinator = self.coordinate(job)
        north = self.join("north", limits='algorithms = ["fedavg"]')
        self.finish(north, code=1)
        parties = [self.join(name) for name in self.PARTIES[1:]]
        said = self.finish(coordinator)
        self.assertIn("north does not take part: the site does not allow this job; the run goes on without it", said)
        for party in parties:
            self.finish(party)
        self.assertIn("the run began without: north", self.result()["notes"])
        self.refuses("coordinate", job, "--set", "rounds.quorum=4", "--listen", "127.0.0.1:0", "--tls", "keys", "--out",
                     "out", says="is more than the job's 3 parties")

    def test_a_run_that_proceeds_tells_who_was_missing_and_how_often(self):
        job = self.split_by_rows(rounds=1, extra='[rounds]\non_missing = "proceed"\ndeadline_seconds = 2\nquorum = 2\n')
        coordinator = self.coordinate(job)
        west = self.join("west")
        while "west is ready" not in "".join(coordinator.lines):
            time.sleep(0.01)
        west.kill()  # it has a part in the run, which begins with the others
        west.wait()
        parties = [self.join(name) for name in self.PARTIES[:2]]
        self.finish(coordinator)
        for party in parties:
            self.finish(party)
        result = self.result()
        answered = {party["party"]: party["rounds_answered"] for party in result["communication"]["per_party"]}
        self.assertEqual(answered, {"north": 1, "south": 1, "west": 0})
        self.assertEqual(result["notes"][0], "party 'west' answered 0 of 1 round")
        self.assertIn("note: party 'west' answered 0 of 1 round", coordinator.stdout.read())
        # The time is spent on waiting.
        self.assertGreater(result["time"]["wait_seconds"], 1)
        self.assertLess(result["time"]["compute_seconds"], result["time"]["wait_seconds"])
        self.assertAlmostEqual(result["time"]["compute_seconds"] + result["time"]["wait_seconds"],
                               result["time"]["total_seconds"], places=6)

    def test_a_party_that_comes_after_the_run_began_is_told_so(self):
        job = self.split_by_rows(rounds=100000,
                                 extra='[rounds]\non_missing = "proceed"\ndeadline_seconds = 0.5\nquorum = 2\n')
        coordinator = self.coordinate(job)
        for name in self.PARTIES[1:]:
            self.join(name)
        while "north was not there in time; the run goes on without it" not in "".join(coordinator.lines):
            self.assertIsNone(coordinator.poll())
            time.sleep(0.01)
        self.assertIn("this site takes no part in the run", self.finish(self.join("north"), code=1))
        self.assertRegex(self.account("north"),
                         r"run \w+ began without this site, which was not there in time or did not take part\n")

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

    def test_a_site_that_lists_no_algorithm_allows_none(self):
        self.assertIn("limits.algorithms", self.refused_by(limits="algorithms = []"))

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

    def rounds_accounted(self, name, what):
        """Of each line of the account that has it: rounds answered."""
        return [
            int(rounds)
            for rounds in re.findall(what + r" (\d+) rounds? answered, \S+ \S+ left this site", self.account(name))
        ]

    def test_the_account_tells_what_left_in_a_run_that_is_not_over(self):
        job = self.split_by_rows(rounds=100000)
        coordinator = self.coordinate(job)
        north, south, west = (self.join(name) for name in self.PARTIES)
        while not (self.folder / "north" / "state").exists() or "all are here" not in "".join(coordinator.lines):
            time.sleep(0.01)
        [kept] = (self.folder / "north" / "state").glob("*.kept")
        first = kept.read_bytes()
        while kept.read_bytes() == first:
            self.assertIsNone(coordinator.poll())
        north.send_signal(signal.SIGINT)
        self.finish(north)
        [stopped] = self.rounds_accounted("north", "is not over; so far:")
        self.assertGreater(stopped, 0)
        south.kill()
        south.wait()
        self.assertEqual(self.rounds_accounted("south", "is not over; so far:"), [])
        again = self.join("south")
        while "admitted again after a restart" not in self.account("south"):
            self.assertIsNone(again.poll())
            time.sleep(0.01)
        [killed] = self.rounds_accounted("south", "is not over; so far:")
        self.assertGreaterEqual(killed, stopped)
        coordinator.send_signal(signal.SIGINT)
        self.finish(coordinator, code=1)
        while not self.rounds_accounted("west", "is not over; so far:"):
            self.assertIsNone(west.poll())
            time.sleep(0.01)

    def test_the_account_counts_through_restarts(self):
        job = self.split_by_rows(rounds=200)
        coordinator = self.coordinate(job)
        parties = [self.join(name) for name in self.PARTIES]
        while not list((self.folder / "north").glob("state/*.kept")):
            time.sleep(0.01)
        parties[0].kill()
        parties[0].wait()
        parties[0] = self.join("north")
        self.finish(coordinator)
        for party in parties:
            self.finish(party)
        for name in self.PARTIES:
            self.assertEqual(self.rounds_accounted(name, "over:"), [200])

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

    def test_a_site_or_a_party_whose_name_no_certificate_can_have_is_refused_in_one_line(self):
        job = self.split_by_rows()
        self.port = 1
        for name in ("../north", "coordinator", ""):
            site = self.site("north")
            site.write_text(site.read_text().replace('name = "north"', f'name = "{name}"'))
            self.refuses("join", site, says="site.name: ")
            other = self.write("other.toml", job.read_text().replace('name = "north"', f'name = "{name}"'))
            self.refuses("train", other, "--out", "out", says="party.1.name: ")
            self.refuses("coordinate", other, "--listen", "127.0.0.1:0", "--tls", "keys", "--out", "out",
                         says="party.1.name: ")
        self.assertFalse((self.folder / "out").exists())

    def test_a_misspelt_name_among_columns_never_to_be_used_is_refused_at_start(self):
        self.split_by_rows()
        self.port = 1
        for schema in (None, self.folder / "plain.toml"):
            self.write("plain.toml", "")
            for name, meant in (("Ward", "ward"), ("agee", "age"), ("war", "ward")):
                self.refuses(
                    "join", self.site("north", limits=f'never = ["readmitted", "{name}"]', schema=schema),
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
        self.assertIn("jobs.log: cannot be written; nothing leaves that is not accounted for",
                      self.finish(north, code=1))
        self.assertEqual([name for name in os.listdir(self.folder / "north" / "state") if name.endswith(".kept")], [])

    def test_addresses_have_ports_that_exist(self):
        job = self.split_by_rows()
        for address in ("127.0.0.1", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:x", ":7000"):
            self.refuses("coordinate", job, "--listen", address, "--tls", "keys", "--out", "out",
                         says="--listen: must ")
        for port in ("", "0", "70000", "x"):
            self.port = port
            self.refuses("join", self.site("north"), says="site.coordinator: must ")
        self.assertFalse((self.folder / "out").exists())

    def test_paths_that_no_file_can_have_are_refused_in_one_line(self):
        job = self.split_by_rows(rounds=2)
        self.port = 1
        long = 300 * "x"
        self.refuses("coordinate", job, "--listen", "127.0.0.1:0", "--tls", "keys", "--out", long,
                     says="the output folder cannot be made")
        self.refuses("train", job, "--out", long, says="the output folder cannot be made")
        self.refuses("predict", "--model", long, "--data", "north/stays.csv", says="cannot be read")
        site = self.site("north")
        site.write_text(site.read_text().replace('state = "state"', f'state = "{long}"'))
        self.refuses("join", site, says="site.state: the folder cannot be made")

    def test_a_path_that_is_no_text_takes_the_result(self):
        job = self.split_by_rows(rounds=2)
        out = os.fsdecode(b"out-\xff")
        coordinator = self.coordinate(job, out, "--json")
        parties = [self.join(name) for name in self.PARTIES]
        self.finish(coordinator)
        for party in parties:
            self.finish(party)
        self.assertEqual(self.result(out)["model"]["path"], "out-\ufffd/model.json")
        again = self.succeeds("coordinate", job, "--listen", "127.0.0.1:0", "--tls", "keys", "--out", out, "--json")
        self.assertEqual(json.loads(again.stdout), self.result(out))

    def test_a_folder_has_one_coordinator_at_a_time(self):
        job = self.split_by_rows()
        self.coordinate(job)
        self.refuses("coordinate", job, "--listen", "127.0.0.1:0", "--tls", "keys", "--out", "out", code=1,
                     says="another process holds it")

    def test_what_a_folder_holds_is_looked_at_when_nobody_else_can_change_it(self):
        job = self.split_by_rows(rounds=2)
        self.federation(job)
        command = ("coordinate", job, "--listen", "127.0.0.1:0", "--tls", "keys", "--out", "out")
        with open(self.folder / "out" / "in-use") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            self.refuses(*command, code=1, says="another process holds it")
        self.succeeds(*command)

    def test_a_finished_run_whose_model_is_gone_says_so(self):
        job = self.split_by_rows(rounds=2)
        self.federation(job)
        command = ("coordinate", job, "--listen", "127.0.0.1:0", "--tls", "keys", "--out", "out")
        model = self.model()
        for lost in (lambda:
                     (self.folder / "out" / "model.json").unlink(), lambda: self.write("out/model.json", model[:-2])):
            lost()
            self.refuses(*command, code=1, says="out/model.json: run ")
        self.write("out/model.json", model)
        self.succeeds(*command)

    def test_a_job_that_no_site_could_admit_is_refused_before_anybody_is_asked(self):
        job = self.split_by_rows()
        private = ("privacy.epsilon=1", "privacy.delta=1e-5")
        for settings, says in ((("model.l1=0.1",), "model.l1"), (("data.scale=standardize",), "data.scale"),
                               (("algorithm.name=fedavg",), "model.sparsity"),
                               ((*private, "algorithm.batch_growth=0.5"), "algorithm.batch_growth"),
                               ((*private, "privacy.calibration=paper"), "privacy.calibration"),
                               ((*private, "privacy.unit=client"), "algorithm.clip")):
            changed = [word for setting in settings for word in ("--set", setting)]
            self.refuses("coordinate", job, *changed, "--listen", "127.0.0.1:0", "--tls", "keys", "--out", "out",
                         says=says)
            self.refuses("train", job, *changed, "--out", "out", says=says)
        self.assertFalse((self.folder / "out").exists())
        self.assertFalse((self.folder / "ledger").exists())

    def test_coordinate_needs_a_federated_job(self):
        self.refuses("coordinate",
                     self.example("readmission") / "job.toml", "--listen", "127.0.0.1:0", "--tls", "keys", "--out",
                     "out", says="is not for several parties")


class ColumnDaemons(FederationTest):
    """Parties that hold columns of the same records keep their parts of the model."""
    PARTIES = ("clinic", "insurer")

    def vertical_job(self, rounds=5, *more):
        example = self.example("clinic-and-insurer")
        job = example / "job.toml"
        job.write_text(job.read_text().replace("iterations = 2000", f"iterations = {rounds}"))
        for old, new in more:
            self.assertIn(old, job.read_text())
            job.write_text(job.read_text().replace(old, new))
        return job

    def join(self, name, *more, **site):
        table = self.folder / "clinic-and-insurer" / name
        limits = "public_labels = true\n" if name == "clinic" else ""
        return super().join(name, *more,
                            **{"data": f"{table}.csv", "schema": f"{table}.schema.toml", "limits": limits, **site})

    def test_labels_leave_a_site_only_where_it_says_so_also_without_privacy(self):
        job = self.vertical_job()
        coordinator = self.coordinate(job)
        clinic, _ = self.join("clinic", limits=""), self.join("insurer")
        self.assertIn("party 'clinic' does not take part: the site does not allow this job",
                      self.finish(coordinator, code=1))
        self.finish(clinic, code=1)
        self.assertRegex(self.account("clinic"),
                         "limits.public_labels: is false, and the job would send this site's labels as they are")
        self.trained_here(job)

    def test_a_job_that_no_site_could_admit_is_refused_before_anybody_is_asked(self):
        job = self.vertical_job()
        for settings, says in ((("model.l1_radius=2", ), "model.l1_radius"), (("model.sparsity=3", ), "model.sparsity"),
                               (("model.intercept=true", ), "model.intercept"), (("data.unit_rows=true", ),
                                                                                 "data.unit_rows"),
                               (("privacy.epsilon=1", "privacy.delta=1e-5"),
                                "labels.public"), (("privacy.epsilon=1", "labels.public=true",
                                                    "privacy.neighbours=add-remove"), "privacy.neighbours")):
            changed = [word for setting in settings for word in ("--set", setting)]
            self.refuses("coordinate", job, *changed, "--listen", "127.0.0.1:0", "--tls", "keys", "--out", "out",
                         says=says)
            self.refuses("train", job, *changed, "--out", "out", says=says)
        self.assertFalse((self.folder / "out").exists())
        self.assertFalse((job.parent / "ledger").exists())

    def test_the_result_tells_where_the_parts_are_and_counts_records_once(self):
        job = self.vertical_job()
        coordinator = self.coordinate(job)
        parties = [self.join(name) for name in self.PARTIES]
        self.finish(coordinator)
        for party in parties:
            self.finish(party)
        self.trained_here(job)
        result, here = self.result(), self.result("here")
        self.assertEqual(result["metrics"]["train"]["rows"], here["metrics"]["train"]["rows"])
        self.assertEqual(result["privacy"], here["privacy"])
        self.assertIn("not private", result["privacy"]["statement"])
        model = result["model"]
        self.assertEqual((model["path"], model["nonzeros"], model["columns"]), (None, None, here["model"]["columns"]))
        shown = coordinator.stdout.read()
        for part, name in zip(model["parts"], self.PARTIES, strict=True):
            self.assertEqual(part["party"], name)
            self.assertTrue((self.folder / name / part["path"].replace("STATE", "state") / "model.json").exists(), part)
            self.assertRegex(shown, rf"part of {name} +{part['columns']} columns, there in {part['path']}")
        self.assertNotIn("model in", shown)
        self.assertNotIn("nonzero", shown)
        self.assertIn("This run is not private", shown)

    def test_parts_that_stay_at_the_sites_predict_together_and_not_alone(self):
        job = self.vertical_job()
        coordinator = self.coordinate(job)
        parties = [self.join(name) for name in self.PARTIES]
        self.finish(coordinator)
        for party in parties:
            self.finish(party)
        self.trained_here(job)
        parts = [self.folder / name / part["path"].replace("STATE", "state")
                 for name, part in zip(self.PARTIES, self.result()["model"]["parts"], strict=True)]
        for name, part in zip(self.PARTIES, parts, strict=True):
            self.assertIn(f"leaves this site's part of the model in {part}",
                          (self.folder / name / "state" / "jobs.log").read_text())
        tables = [f"{name}={job.parent / name}.csv" for name in self.PARTIES]
        predicted = self.succeeds("predict", "--model", "here", "--data", *tables).stdout
        self.assertEqual(self.succeeds("predict", "--model", *parts, "--data", *tables).stdout, predicted)
        self.assertEqual(
            self.succeeds("predict", "--model", *reversed(parts), "--data", *reversed(tables)).stdout, predicted)
        self.assertEqual(self.json_of("evaluate", "--model", *parts, "--data", *tables)["metrics"],
                         self.json_of("evaluate", "--model", "here", "--data", *tables)["metrics"])
        for p, alone in enumerate(self.PARTIES):
            for part in (parts[p], parts[p] / "model.json", self.folder / "here" / f"part-{p + 1}"):
                for verb in ("predict", "evaluate"):
                    self.refuses(verb, "--model", part, "--data", tables[p].split("=")[1],
                                 says=f"the part of '{alone}' alone")
        self.refuses("predict", "--model", parts[0], parts[0], "--data", *tables,
                     says="the part of 'clinic', and so is")
        self.refuses("predict", "--model", parts[0], self.trained_whole(job), "--data", *tables,
                     says="is a whole model")
        for setting in ("model.l2=0.5", "algorithm.iterations=6", "algorithm.seed=8"):
            self.succeeds("train", job, "--set", setting, "--out", "other")
            for part in (parts[0], "here/part-1"):
                self.refuses("predict", "--model", part, "other/part-2", "--data", *tables,
                             says="is not of the same run")
        # Nor is a part of another run of the same job.
        part = parts[1] / "model.json"
        text = part.read_text()
        run = json.loads(text)["provenance"]["run"]
        part.write_text(text.replace(run, run[::-1]))
        self.refuses("predict", "--model", *parts, "--data", *tables, says="is not of the same run")
        part.write_text(text)
        # Nothing is written over a part either.
        self.refuses("predict", "--model", *parts, "--data", *tables, "--out", parts[1] / "model.json",
                     says="is the file to read")

    def trained_whole(self, job):
        self.succeeds("train", self.example("readmission") / "job.toml", "--out", "whole")
        return "whole"


if __name__ == "__main__":
    unittest.main()
