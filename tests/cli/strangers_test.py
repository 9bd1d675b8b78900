# labels: slow
"""Strangers who dial the coordinator: they wait, or are turned away, and the run ends in the same model."""
import resource
import socket
import unittest

from daemons import FederationTest

IDLE = 1100
KEPT_OPEN = 200  # at a coordinator that may have few files open


def may_open(files):
    """Lowers what a process may open, also for whatever it does about it."""
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))


class Strangers(FederationTest):
    def setUp(self):
        super().setUp()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard != resource.RLIM_INFINITY and hard < IDLE + 400:
            self.skipTest(f"{hard} files may be open here; the test opens {IDLE} connections")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, IDLE + 400), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        self.idle = []
        self.addCleanup(lambda: [one.close() for one in self.idle])

    def dial(self, count, says=b""):
        for _ in range(count):
            self.idle.append(socket.create_connection(("127.0.0.1", self.port)))
            if says:
                self.idle[-1].sendall(says)

    def run_with(self, job, dial, **options):
        """A run whose parties come when the strangers are there."""
        coordinator = self.coordinate(job, **options)
        dial()
        parties = [self.join(name) for name in self.PARTIES]
        self.finish(coordinator)
        for party in parties:
            self.finish(party)
        self.assertEqual(self.model(), self.trained_here(job))

    def test_a_run_ends_in_its_model_beside_1100_idle_connections(self):
        self.run_with(self.split_by_rows(rounds=6), lambda: self.dial(IDLE))

    def test_it_does_so_where_few_files_may_be_open(self):
        self.run_with(self.split_by_rows(rounds=6), lambda: self.dial(IDLE), preexec_fn=may_open(96))

    def test_it_does_so_beside_strangers_who_begin_to_speak_and_go_no_further(self):
        self.run_with(self.split_by_rows(rounds=6), lambda: self.dial(IDLE, b"\x16\x03\x01"),
                      preexec_fn=may_open(KEPT_OPEN))

    def test_it_does_so_when_the_limit_is_low_and_may_be_raised(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        self.run_with(self.split_by_rows(rounds=6), lambda: self.dial(IDLE),
                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard)))

    def test_strangers_who_come_in_the_middle_of_a_run_do_not_end_it(self):
        job = self.split_by_rows(rounds=40)
        coordinator = self.coordinate(job, preexec_fn=may_open(KEPT_OPEN))
        for name in self.PARTIES[:2]:
            self.join(name)
        self.dial(IDLE // 2)
        west = self.join("west")
        self.dial(IDLE // 2, b"\x16\x03\x01")
        self.finish(coordinator)
        self.finish(west)
        self.assertEqual(self.model(), self.trained_here(job))

    def test_where_a_run_has_no_room_for_its_files_it_says_so_before_it_begins(self):
        job = self.split_by_rows()
        process = self.spawn("coordinate", job, "--listen", "127.0.0.1:0", "--tls", "keys", "--out", "out",
                             preexec_fn=may_open(40))
        self.assertRegex(self.finish(process, code=1),
                         r"40 open files are allowed here, and a run with 3 parties needs \d+; ulimit -n")


if __name__ == "__main__":
    unittest.main()
