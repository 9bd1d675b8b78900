# labels: slow
"""`parley audit` from outside: what it prints, its exit codes, and that it touches nothing of a site."""
import hashlib
import json
import unittest

from parley_cli import CliTest

JOB = """[job]
name = "stays"
partition = "{partition}"
task = "squared-hinge"
[model]
l2 = 0.2
[algorithm]
name = "{algorithm}"
iterations = 2
{settings}[data]
bound = 1.0
features = 3
[privacy]
epsilon = 1.0
delta = 1e-5
{privacy}[[party]]
name = "a"
data = "a.libsvm"
{parties}"""


def digests(folder):
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*")) if path.is_file()}


class Audit(CliTest):
    def job(self, name="job.toml", partition="single", algorithm="sgd", settings="", privacy="", parties=""):
        return self.write(name, JOB.format(partition=partition, algorithm=algorithm, settings=settings, privacy=privacy,
                                           parties=parties))

    # A claim that holds is called violated with chance 1e-6.
    SURE = ("--confidence", "0.999999", "--seconds", "600")

    def test_says_what_it_did_and_touches_nothing(self):
        self.write("a.libsvm", "".join(f"{1 if i % 2 else -1} 1:{i / 40} 2:0.5 3:-0.25\n" for i in range(40)))
        job = self.job()
        self.succeeds("train", job, "--out", "out", "--quiet")  # makes the ledger of the site
        before = digests(self.folder)
        done = self.run_parley("audit", job, "--runs", "420", *self.SURE)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stderr, "")
        for word in ("stays: consistent", "claim        epsilon 1", "outsider", "lower bound", "power", "confidence"):
            self.assertIn(word, done.stdout)
        self.assertNotIn("verified", done.stdout)
        self.assertEqual(digests(self.folder), before, "an audit leaves everything as it was, the ledger too")

    def test_reads_no_data(self):
        job = self.job()  # its table is not there
        said = json.loads(self.run_parley("audit", job, "--runs", "420", "--json", *self.SURE).stdout)
        self.assertEqual(said["verdict"], "consistent")
        self.assertEqual(said["claim"]["unit"], "record")
        self.assertLessEqual(said["observers"][0]["lower_bound"], said["claim"]["epsilon"])
        self.assertGreater(said["power"], said["claim"]["epsilon"])

    def test_looks_with_the_eyes_of_every_observer(self):
        job = self.job(partition="horizontal", algorithm="fedavg", settings="clip = 1.0\n",
                       parties='[[party]]\nname = "b"\ndata = "b.libsvm"\n')
        said = json.loads(self.run_parley("audit", job, "--runs", "260", "--json", *self.SURE).stdout)
        self.assertEqual([one["observer"].split(" (")[0] for one in said["observers"]],
                         ["outsider", "coordinator", "party b"])
        self.assertTrue(all(one["covered"] for one in said["observers"]))
        job = self.job(partition="horizontal", algorithm="fedavg", settings="clip = 1.0\n",
                       privacy='against = "outsiders"\n', parties='[[party]]\nname = "b"\ndata = "b.libsvm"\n')
        done = self.run_parley("audit", job, "--runs", "260", "--json", *self.SURE)
        if done.returncode != 2 or done.stdout:
            said = json.loads(done.stdout)
            self.assertEqual([one["covered"] for one in said["observers"]], [True, False, False])

    def test_too_few_runs_are_inconclusive(self):
        done = self.run_parley("audit", self.job(), "--runs", "60")
        self.assertEqual(done.returncode, 2)
        self.assertIn("inconclusive", done.stdout)
        self.assertIn("needed", done.stdout)
        self.assertEqual(done.stderr, "")

    def test_bad_input_is_one_line(self):
        job = self.job()
        self.refuses("audit", "none.toml", says="none.toml")
        self.refuses("audit", job, "--confidence", "2", says="--confidence")
        self.write("open.toml", job.read_text().split("[privacy]")[0] + '[[party]]\nname = "a"\ndata = "a"\n')
        self.refuses("audit", "open.toml", says="nothing to audit")
        self.write("wide.toml", job.read_text().replace("features = 3\n", ""))
        self.refuses("audit", "wide.toml", says="data.features")
        self.refuses("audit", job, "--set", "algorithm.clip=-1", says="algorithm.clip")


if __name__ == "__main__":
    unittest.main()
