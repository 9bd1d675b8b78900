# labels: without
"""A build without gRPC, MPI or PostgreSQL: what needs them says in one line what is missing."""
import unittest

from parley_cli import CliTest


class Without(CliTest):
    def setUp(self):
        super().setUp()
        self.verbs = self.succeeds("--help").stdout

    def test_the_verbs_that_need_grpc_say_so(self):
        if "it has no gRPC" not in self.verbs:
            self.skipTest("this build has gRPC")
        for verb in (("coordinate", "job.toml", "--listen", "127.0.0.1:0", "--tls", "keys", "--out", "out"), ("join", "site.toml"), ("join",)):
            self.refuses(*verb, says=f"{verb[0]}: this build has no gRPC; install libgrpc++-dev, then configure and build again")
        self.assertIn("not in this build", self.succeeds("join", "--help").stdout)

    def test_a_run_over_mpi_says_so(self):
        job = self.example("hospitals") / "job.toml"
        done = self.run_parley("train", job, "--transport", "mpi", "--out", "out")
        if "this build has no MPI" not in done.stderr:
            self.skipTest("this build has MPI")
        self.refuses("train", job, "--transport", "mpi", "--out", "out",
                     says="--transport: this build has no MPI; install libopenmpi-dev and openmpi-bin, then configure and build again")

    def test_a_table_of_postgresql_says_so(self):
        done = self.run_parley("data", "describe", "postgresql://127.0.0.1:1/shop?table=users")
        if "this build has no PostgreSQL" not in done.stderr:
            self.skipTest("this build has PostgreSQL")
        self.refuses("data", "describe", "postgresql://127.0.0.1:1/shop?table=users",
                     says="this build has no PostgreSQL; install libpq-dev, then configure and build again")

    def test_everything_else_works(self):
        self.succeeds("keys", "init", "keys")
        self.succeeds("keys", "issue", "keys", "clinic")
        self.succeeds("train", self.example("hospitals") / "job.toml", "--out", "out", "--quiet")


if __name__ == "__main__":
    unittest.main()
