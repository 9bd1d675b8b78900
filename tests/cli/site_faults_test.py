# labels: slow
"""What a site finds when it is started again, what breaks under it, and what it is told meanwhile."""
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import threading
import time
import unittest

from daemons import FederationTest

PRIVACY = "[privacy]\nepsilon = 1.0\ndelta = 1e-5\n"
MANY_RUNS = "epsilon = 1000\ndelta = 0.01\n"
UNAVAILABLE = "its disk or its ledger does not take what must be kept before it answers; its own record says why"


class SiteTest(FederationTest):
    def library(self, name):
        compiler = shutil.which("cc") or shutil.which("c++")
        if compiler is None:
            self.skipTest("needs a C compiler")
        built = self.folder / f"{name}.so"
        subprocess.run([
            compiler, "-x", "c", "-shared", "-fPIC", "-o", built,
            pathlib.Path(__file__).with_name(f"{name}.c"), "-ldl"
        ], check=True)
        return {**os.environ, "LD_PRELOAD": str(built)}

    def private_job(self, rounds=4):
        job = self.split_by_rows(rounds=rounds, extra=PRIVACY)
        job.write_text(job.read_text().replace("local_steps = 3\n",
                                               "local_steps = 2\nbatch = 20\n").replace("seed = 7\n", ""))
        return job

    def is_said(self, process, what):
        """By a coordinator."""
        while what not in "".join(process.lines):
            self.assertIsNone(process.poll(), "".join(process.lines))
            time.sleep(0.01)

    def is_accounted(self, name, what, process):
        while what not in self.account(name):
            self.assertIsNone(process.poll())
            time.sleep(0.01)

    def end(self, *processes):
        for process in processes:
            process.kill()
            process.wait()


class ChangedTable(SiteTest):
    """North is killed when it was admitted, and its files change before it is started again."""

    def check(self, job, change, says, **site):
        coordinator = self.coordinate(job)
        others = [self.join("south", **site)]
        north = self.join("north", **site)
        self.is_said(coordinator, "north is ready")
        self.is_said(coordinator, "south is ready")
        self.end(north)
        files = [self.folder / "north" / "stays.csv", self.folder / "north" / "schema.toml"]
        before = [file.read_bytes() if file.exists() else None for file in files]
        change()
        north = self.join("north", **site)
        said = self.finish(coordinator, code=1)
        self.assertIn(
            "party 'north' does not take part: what it kept of this run is lost, or is not of this run or of its data",
            said)
        self.assertIn("this site takes no part in the run", self.finish(north, code=1))
        self.assertRegex(self.account("north"), says)
        self.assertNotIn("is charged", self.account("north"))
        # The line says what to do.
        for file, content in zip(files, before, strict=True):
            if content is not None:
                file.write_bytes(content)
        again = self.coordinate(job)
        parties = [self.join(name, **site) for name in ("north", "west")]
        self.finish(again)
        for party in (*others, *parties):
            self.finish(party)

    def cut(self):
        table = self.folder / "north" / "stays.csv"
        lines = table.read_text().splitlines(keepends=True)
        table.write_text("".join(lines[:1 + (len(lines) - 1) // 8]))

    def test_a_table_that_was_cut_is_refused_and_the_run_goes_on_with_the_first(self):
        job = self.split_by_rows(rounds=6)
        self.check(job, self.cut, r"north/stays\.csv: is not the table that this run began with, and a run is of one "
                                  r"table: bring that "
                                  r"one back, or have the coordinator begin a new run \(another --out\)")
        self.assertEqual(self.model(), self.trained_here(job))

    def test_so_it_is_with_a_private_run(self):
        self.check(self.private_job(), self.cut, "is not the table that this run began with", limits=MANY_RUNS,
                   without_privacy="false")

    def test_a_value_that_changed_is_noticed_too(self):
        def change():
            table = self.folder / "north" / "stays.csv"
            lines = table.read_text().splitlines(keepends=True)
            lines[1], lines[2] = lines[2], lines[1]
            table.write_text("".join(lines))
        self.check(self.split_by_rows(rounds=2), change, "is not the table that this run began with")

    def test_a_schema_that_changed_is_refused(self):
        job = self.split_by_rows(rounds=2)
        schema = self.folder / "north" / "schema.toml"
        for name in self.PARTIES:
            shutil.copy(self.schema, self.folder / name / "schema.toml")

        def change():
            schema.write_text(schema.read_text() + "\n# bounds may differ\n")
        self.check(job, change, r"north/schema\.toml: is not the schema that this run began with", schema="schema.toml")


class BrokenDisk(SiteTest):
    def test_a_full_disk_says_what_it_is_and_the_run_goes_on_when_there_is_room(self):
        full = self.folder / "full"
        env = {**self.library("faulty_disk"), "PARLEY_FULL": ".kept", "PARLEY_FULL_WHILE": str(full)}
        job = self.split_by_rows(rounds=4)
        coordinator = self.coordinate(job)
        parties = [self.join("north", env=env), self.join("south")]
        self.is_said(coordinator, "north is ready")
        self.is_said(coordinator, "south is ready")
        full.touch()
        parties.append(self.join("west"))
        said = self.finish(coordinator, code=1)
        self.assertIn(f"round 1: party 'north' gave no answer: {UNAVAILABLE}", said)
        self.assertRegex(self.account("north"),
                         r"round 1 not answered: .*\.kept: cannot be written: No space left on device")
        self.assertNotIn("of another run", said + self.account("north"))
        full.unlink()
        self.finish(self.coordinate(job))
        for party in parties:
            self.finish(party)
        self.assertEqual(self.model(), self.trained_here(job))

    def test_a_run_that_may_proceed_goes_on_without_a_site_whose_disk_is_full(self):
        full = self.folder / "full"
        env = {**self.library("faulty_disk"), "PARLEY_FULL": ".kept", "PARLEY_FULL_WHILE": str(full)}
        job = self.split_by_rows(rounds=4,
                                 extra='[rounds]\non_missing = "proceed"\ndeadline_seconds = 60\nquorum = 2\n')
        coordinator = self.coordinate(job)
        self.join("north", env=env)
        self.is_said(coordinator, "north is ready")
        full.touch()
        parties = [self.join(name) for name in self.PARTIES[1:]]
        self.assertIn(f"north gave no answer in round 1: {UNAVAILABLE}; the run goes on without it",
                      self.finish(coordinator))
        for party in parties:
            self.finish(party)

    def test_a_full_disk_of_the_coordinator_says_what_it_is(self):
        full = self.folder / "full"
        full.touch()
        env = {**self.library("faulty_disk"), "PARLEY_FULL": "checkpoint", "PARLEY_FULL_WHILE": str(full)}
        process = self.spawn("coordinate", self.split_by_rows(), "--listen", "127.0.0.1:0", "--tls", "keys", "--out",
                             "out", env=env)
        self.assertIn("out/checkpoint: cannot be written: No space left on device", self.finish(process, code=1))
        self.assertEqual(sorted(os.listdir(self.folder / "out")), ["in-use"])

    def test_a_ledger_that_another_process_holds_says_so(self):
        env = {**self.library("faulty_disk"), "PARLEY_BUSY_MS": "100"}
        job = self.private_job()
        site = {"limits": MANY_RUNS, "without_privacy": "false"}
        coordinator = self.coordinate(job)
        parties = [self.join("north", env=env, **site), self.join("south", **site)]
        self.is_said(coordinator, "north is ready")
        ledger = sqlite3.connect(self.folder / "north" / "state" / "ledger" / "ledger.sqlite", isolation_level=None)
        self.addCleanup(ledger.close)
        ledger.execute("BEGIN IMMEDIATE")
        parties.append(self.join("west", **site))
        said = self.finish(coordinator, code=1)
        self.assertIn(f"round 1: party 'north' gave no answer: {UNAVAILABLE}", said)
        self.assertRegex(self.account("north"),
                         r"round 1 not answered: ledger .*ledger\.sqlite: is held by another process for too long")
        ledger.execute("ROLLBACK")
        self.finish(self.coordinate(job))
        for party in parties:
            self.finish(party)
        self.assertEqual([self.plans(name) for name in self.PARTIES], [1, 1, 1])

    def test_what_cannot_be_synced_into_the_account_does_not_leave(self):
        env = {**self.library("faulty_disk"), "PARLEY_NO_SYNC": "jobs.log"}
        job = self.split_by_rows(rounds=2)
        self.port = 1
        north = self.spawn("join", self.site("north"), "--once", env=env)
        self.assertIn("jobs.log: cannot be written: Input/output error", self.finish(north, code=1))
        self.port = 0
        coordinator = self.coordinate(job)
        for name in self.PARTIES[1:]:
            self.join(name)
        north = self.join("north", env={**env, "PARLEY_NO_SYNC_FROM": "2"})
        self.assertIn(f"party 'north' does not take part: {UNAVAILABLE}", self.finish(coordinator, code=1))
        self.assertIn("jobs.log: cannot be written; nothing leaves that is not accounted for",
                      self.finish(north, code=1))


class LeftBehind(SiteTest):
    """Files of a process that was killed while it wrote."""

    def unfinished(self, folder):
        known = ("in-use", "jobs.log", "checkpoint", "model.json", "result.json", "finished")
        return sorted(name for name in os.listdir(self.folder / folder)
                      if name not in known and not name.endswith(".kept"))

    def killed(self, env, start, folder):
        """Kills a process before ever later writes until one leaves something unfinished."""
        for at in range(1, 20):
            process = start({**env, "PARLEY_KILL_AT": str(at)})
            process.wait(timeout=60)
            self.assertEqual(process.returncode, -signal.SIGKILL)
            if self.unfinished(folder):
                return
        self.fail("no kill left a file")

    def test_a_site_removes_what_it_left_and_nothing_else(self):
        job = self.split_by_rows(rounds=2)
        coordinator = self.coordinate(job)
        self.killed(self.library("kill_at_write"), lambda env: self.join("north", env=env), "north/state")
        state = self.folder / "north" / "state"
        (state / "jobs.log.backup").write_text("mine")
        parties = [self.join(name) for name in self.PARTIES]
        self.finish(coordinator)
        for party in parties:
            self.finish(party)
        self.assertEqual(self.unfinished("north/state"), ["jobs.log.backup"])

    def test_a_ledger_that_was_never_finished_goes_and_one_that_is_being_made_stays(self):
        self.split_by_rows()
        self.port = 1
        ledger = self.folder / "north" / "state" / "ledger"
        ledger.mkdir(parents=True)
        for name in ("ledger.making.aB3dE9", "ledger.making.aB3dE9-wal", "ledger.making.fresh1", "notes"):
            (ledger / name).touch()
            if name != "ledger.making.fresh1":
                os.utime(ledger / name, (0, 0))
        north = self.spawn("join", self.site("north"))
        self.assertIn("cannot reach", north.stderr.readline())
        north.terminate()
        self.finish(north)
        self.assertEqual(sorted(os.listdir(ledger)), ["ledger.making.fresh1", "notes"])

    def test_a_coordinator_removes_what_it_left_and_nothing_else(self):
        job = self.split_by_rows(rounds=2)
        self.killed(self.library("kill_at_write"), lambda env: self.spawn(
            "coordinate", job, "--listen", "127.0.0.1:0", "--tls", "keys", "--out", "out", env=env), "out")
        (self.folder / "out" / "model.json.backup").write_text("mine")
        coordinator = self.coordinate(job)
        parties = [self.join(name) for name in self.PARTIES]
        self.finish(coordinator)
        for party in parties:
            self.finish(party)
        self.assertEqual(self.unfinished("out"), ["model.json.backup"])


class Told(SiteTest):
    def dialling(self, *more):
        self.port = 1
        daemon = self.spawn("join", self.site("north"), *more)
        self.assertIn("cannot reach 127.0.0.1:1 yet", daemon.stderr.readline())
        return daemon

    def test_a_daemon_that_dials_ends_when_it_is_told_and_another_finds_no_lock(self):
        self.split_by_rows()
        for _ in range(3):
            first = self.dialling()
            first.terminate()
            second = self.dialling()  # at once, before the first was waited for
            self.finish(first)
            second.send_signal(signal.SIGKILL)
            third = self.dialling()
            third.terminate()
            self.finish(third)

    def test_a_site_file_that_changed_is_read_again_on_a_hangup(self):
        job = self.split_by_rows(rounds=2)
        coordinator = self.coordinate(job)
        others = [self.join(name) for name in self.PARTIES[1:]]
        north = self.spawn("join", self.site("north", limits='algorithms = ["fedavg"]'))
        self.assertIn("party 'north' does not take part", self.finish(coordinator, code=1))
        self.assertIn("limits.algorithms", self.account("north"))
        # A mistake leaves things as they are.
        self.site("north", limits='algorithms = ["fed-it"]')
        north.send_signal(signal.SIGHUP)
        self.is_accounted("north", "what SITE.toml says now is not used: ", north)
        self.assertIn("unknown algorithm", self.account("north"))
        self.site("north", limits='algorithms = ["fed-iter-ht"]')
        north.send_signal(signal.SIGHUP)
        self.is_accounted("north", "SITE.toml was read again; it holds from the next run on", north)
        coordinator = self.coordinate(job, "again")
        self.finish(coordinator)
        for party in others:
            self.finish(party)
        self.assertEqual(self.model("again"), self.trained_here(job))
        north.terminate()
        self.finish(north)

    def test_a_hangup_leads_a_daemon_to_another_coordinator_and_its_state_stays_its_own(self):
        job = self.split_by_rows(rounds=2)
        north = self.dialling()
        site = self.site("north")
        site.write_text(site.read_text().replace('state = "state"', 'state = "other"'))
        north.send_signal(signal.SIGHUP)
        self.is_accounted("north", "site.state: is another one; end this daemon and start it again", north)
        self.port = 0
        coordinator = self.coordinate(job)
        self.site("north")
        north.send_signal(signal.SIGHUP)
        others = [self.join(name) for name in self.PARTIES[1:]]
        self.finish(coordinator)
        for party in others:
            self.finish(party)
        north.terminate()
        self.finish(north)

    def test_who_hangs_up_without_a_word_about_certificates_is_not_blamed_on_them(self):
        self.split_by_rows()
        with socket.create_server(("127.0.0.1", 0)) as door:
            self.port = door.getsockname()[1]

            def turn_away():
                try:
                    while True:
                        door.accept()[0].close()
                except OSError:
                    pass
            threading.Thread(target=turn_away, daemon=True).start()
            north = self.spawn("join", self.site("north"))
            said = north.stderr.readline()
            north.terminate()
            self.finish(north)
            door.shutdown(socket.SHUT_RDWR)
        self.assertIn("whoever answers hangs up, for a reason that is not in the certificates", said)


if __name__ == "__main__":
    unittest.main()
