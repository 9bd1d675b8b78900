# labels: slow
"""The same job in one process and over MPI: the same model, the same traffic, also after a kill."""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time
import unittest

from parley_cli import BINARY, CliTest


def runs(pid):
    """Not when nobody has asked yet what became of it."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@unittest.skipUnless(shutil.which("mpirun"), "needs mpirun (package openmpi-bin)")
class MpiTest(CliTest):
    def mpirun(self, ranks, *arguments):
        return ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks), BINARY, *map(str, arguments),
                "--transport", "mpi", "--threads", "1"]

    def over_mpi(self, ranks, *arguments):
        return subprocess.run(self.mpirun(ranks, *arguments), cwd=self.folder, capture_output=True, text=True,
                              timeout=120)

    def kill_one(self, of, *arguments):
        """Starts a run and kills one of its ranks, or everything as a power cut does, once the run has begun."""
        process = subprocess.Popen(self.mpirun(3, *arguments), cwd=self.folder, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        checkpoint = self.folder / "ranks/checkpoint"
        begun = set()
        while process.poll() is None and len(begun) < 5:  # each round has a file of its own, under one name
            if checkpoint.exists():
                begun.add(checkpoint.stat().st_mtime_ns)
            time.sleep(0.002)
        ranks = [
            int(pid) for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir()
            for pid in (task / "children").read_text().split()
        ]
        # Ranks without mpirun may well end the run before they notice, so that they must be stopped first.
        for victim in ranks[-1:] if of == "a rank" else [*ranks, process.pid]:
            os.kill(victim, signal.SIGSTOP)
        for victim in ranks[-1:] if of == "a rank" else [*ranks, process.pid]:
            os.kill(victim, signal.SIGKILL)
        process.wait()
        while any(runs(pid) for pid in ranks):  # mpirun ends those that are left
            time.sleep(0.01)

    def both(self, job, ranks, *settings):
        self.succeeds("train", job, *settings, "--out", "here")
        done = self.over_mpi(ranks, "train", job, *settings, "--out", "ranks")
        if "this build has no MPI" in done.stderr:
            self.skipTest("needs a build with MPI (package libopenmpi-dev)")
        self.assertEqual(done.returncode, 0, done.stderr)
        here, there = (json.loads((self.folder / out / "result.json").read_text()) for out in ("here", "ranks"))
        self.assertEqual(here["communication"], there["communication"])
        self.assertEqual(here["metrics"]["train"]["rows"], there["metrics"]["train"]["rows"])
        self.assertEqual(here["rounds"], there["rounds"])
        models = sorted(path.relative_to(self.folder / "here") for path in (self.folder / "here").rglob("model.json"))
        for model in models:
            self.assertEqual((self.folder / "here" / model).read_bytes(), (self.folder / "ranks" / model).read_bytes(),
                             model)
        return models

    def clients(self):
        self.succeeds("data", "generate", "non-iid-regression", "--out", "sim", "--seed", 3, "--clients", 3, "--rows",
                      30, "--columns", 20, "--nonzeros", 4)
        return self.folder / "sim/job.toml"

    def test_horizontal(self):
        self.both(self.clients(), 3, "--set", "algorithm.iterations=6", "--set", "algorithm.batch=8", "--set",
                  "algorithm.seed=2")

    def test_vertical(self):
        draw = random.Random(1)
        self.write(
            "all.csv", "a,b,c,y\n" +
            "".join(f"{draw.gauss(0, 1):.3f},{draw.gauss(0, 1):.3f},{draw.gauss(0, 1):.3f},{draw.choice('uv')}\n"
                    for _ in range(50)))
        self.succeeds("data", "split", "all.csv", "--by", "columns", "--parts", 3, "--out", "parts")
        self.assertEqual(len(self.both(self.folder / "parts/job.toml", 3, "--set", "algorithm.iterations=20")), 4)

    def test_a_private_run_that_was_killed_goes_on_under_the_charge_it_paid(self):
        job = self.example("hospitals") / "private.toml"
        settings = ("train", job, "--set", "algorithm.iterations=150", "--set", "algorithm.seed=3")
        there = (*settings, "--out", "ranks", "--set", f"privacy.ledger={self.folder / 'ledgers'}")
        if "this build has no MPI" in self.over_mpi(1, *settings).stderr:
            self.skipTest("needs a build with MPI (package libopenmpi-dev)")
        self.succeeds(*settings, "--out", "here")
        for victim in ("a rank", "everything"):
            self.kill_one(victim, *there)
            self.assertTrue((self.folder / "ranks/checkpoint").exists(), "it was killed before its end")
        other = self.over_mpi(3, *settings, "--out", "ranks", "--set", "algorithm.step=0.1")
        self.assertIn("is a checkpoint of another job", other.stderr)
        done = self.over_mpi(3, *there)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("going on after round", done.stderr)
        for name in ("model.json", "result.json"):
            self.assertTrue((self.folder / "ranks" / name).exists())
        self.assertEqual((self.folder / "here/model.json").read_bytes(),
                         (self.folder / "ranks/model.json").read_bytes())
        for party in ("north", "south", "island"):
            entries = self.json_of("ledger", "show", self.folder / "ledgers" / party, "--entries")["entries"]
            self.assertEqual(sum(entry["kind"].endswith("plan") for entry in entries), 1, "charged once")
        self.assertEqual(sorted(path.name for path in (self.folder / "ranks").iterdir()), ["model.json", "result.json"])

    def test_the_wrong_number_of_ranks_is_refused(self):
        self.assertNotEqual(self.over_mpi(2, "train", self.clients()).returncode, 0)


if __name__ == "__main__":
    unittest.main()
