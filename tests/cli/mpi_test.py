"""The same job in one process and over MPI: the same model, the same traffic."""
import json
import os
import random
import shutil
import subprocess
import unittest

from parley_cli import BINARY, CliTest


@unittest.skipUnless(shutil.which("mpirun"), "needs mpirun (package openmpi-bin)")
class MpiTest(CliTest):
    def over_mpi(self, ranks, *arguments):
        return subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks), BINARY, *map(str, arguments),
                               "--transport", "mpi", "--threads", "1"],
                              cwd=self.folder, capture_output=True, text=True, timeout=120, env={**os.environ, "OMP_NUM_THREADS": "1"})

    def both(self, job, ranks, *settings):
        self.succeeds("train", job, *settings, "--out", "here")
        done = self.over_mpi(ranks, "train", job, *settings, "--out", "ranks")
        if "this build has no MPI" in done.stderr:
            self.skipTest("needs a build with MPI (package libopenmpi-dev)")
        self.assertEqual(done.returncode, 0, done.stderr)
        here, there = (json.loads((self.folder / out / "result.json").read_text()) for out in ("here", "ranks"))
        self.assertEqual(here["communication"], there["communication"])
        self.assertEqual(here["rounds"], there["rounds"])
        models = sorted(path.relative_to(self.folder / "here") for path in (self.folder / "here").rglob("model.json"))
        for model in models:
            self.assertEqual((self.folder / "here" / model).read_bytes(), (self.folder / "ranks" / model).read_bytes(), model)
        return models

    def clients(self):
        self.succeeds("data", "generate", "non-iid-regression", "--out", "sim", "--seed", 3, "--clients", 3, "--rows", 30, "--columns", 20,
                      "--nonzeros", 4)
        return self.folder / "sim/job.toml"

    def test_horizontal(self):
        self.both(self.clients(), 3, "--set", "algorithm.iterations=6", "--set", "algorithm.batch=8", "--set", "algorithm.seed=2")

    def test_vertical(self):
        draw = random.Random(1)
        self.write("all.csv", "a,b,c,y\n" + "".join(
            f"{draw.gauss(0, 1):.3f},{draw.gauss(0, 1):.3f},{draw.gauss(0, 1):.3f},{draw.choice('uv')}\n" for _ in range(50)))
        self.succeeds("data", "split", "all.csv", "--by", "columns", "--parts", 3, "--out", "parts")
        self.assertEqual(len(self.both(self.folder / "parts/job.toml", 3, "--set", "algorithm.iterations=20")), 4)

    def test_the_wrong_number_of_ranks_is_refused(self):
        self.assertNotEqual(self.over_mpi(2, "train", self.clients()).returncode, 0)


if __name__ == "__main__":
    unittest.main()
