"""A federation of daemons on loopback, to be started, killed and started again."""
import csv
import functools
import json
import pathlib
import re
import subprocess
import threading
import time

from parley_cli import BINARY, SOURCE, CliTest

HORIZONTAL = """
[job]
name = "together"
partition = "horizontal"
task = "logistic"
[model]
sparsity = 5
[algorithm]
name = "fed-iter-ht"
iterations = {rounds}
local_steps = 3
step = 0.5
seed = 7
[labels]
column = "readmitted"
"""
SITE = """
[site]
name = "{name}"
coordinator = "127.0.0.1:{port}"
tls = "../keys"
state = "state"
[data]
path = "{data}"
schema = "{schema}"
[limits]
without_privacy = {without_privacy}
{limits}
"""


@functools.cache
def has_grpc():
    return "it has no gRPC" not in subprocess.run([BINARY, "--help"], capture_output=True, text=True, timeout=60).stdout


class FederationTest(CliTest):
    PARTIES = ("north", "south", "west")

    def setUp(self):
        super().setUp()
        if not has_grpc():
            self.skipTest("needs a build with gRPC (package libgrpc++-dev)")
        self.processes = []
        self.addCleanup(self.kill_everyone)
        self.port = 0
        self.succeeds("keys", "init", "keys")
        for name in ("coordinator", *self.PARTIES):
            self.succeeds("keys", "issue", "keys", name)

    def kill_everyone(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def split_by_rows(self, rounds=20, extra=""):
        """One clinic's stays over three parties; the job names their files for `train`."""
        source = SOURCE / "examples" / "readmission"
        with open(source / "clinic.csv", newline="") as file:
            header, *rows = list(csv.reader(file))
        job = HORIZONTAL.format(rounds=rounds) + extra
        for p, name in enumerate(self.PARTIES):
            folder = self.folder / name
            folder.mkdir(exist_ok=True)
            with open(folder / "stays.csv", "w", newline="") as file:
                csv.writer(file).writerows([header, *rows[p::len(self.PARTIES)]])
            job += f'[[party]]\nname = "{name}"\ndata = "{name}/stays.csv"\nschema = "{source / "clinic.schema.toml"}"\n'
        self.schema = source / "clinic.schema.toml"
        return self.write("job.toml", job)

    def spawn(self, *arguments, **options):
        process = subprocess.Popen([BINARY, *map(str, arguments)], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, **options)
        self.processes.append(process)
        return process

    def coordinate(self, job, out="out", *more, **options):
        """Starts a coordinator and waits until it listens; a restarted one listens where it did."""
        process = self.spawn("coordinate", job, "--listen", f"127.0.0.1:{self.port}", "--tls", "keys", "--out", out, *more, **options)
        process.lines = []
        for line in process.stderr:
            process.lines.append(line)
            if found := re.search(r"listening on port (\d+)", line):
                self.port = int(found[1])
                break
        process.drain = threading.Thread(target=lambda: process.lines.extend(process.stderr), daemon=True)
        process.drain.start()
        return process

    def site(self, name, limits="", data="stays.csv", schema=None, without_privacy="true"):
        (self.folder / name).mkdir(exist_ok=True)
        return self.write(f"{name}/site.toml", SITE.format(name=name, port=self.port, data=data, schema=schema or self.schema, limits=limits,
                                                           without_privacy=without_privacy))

    def join(self, name, *more, env=None, **site):
        return self.spawn("join", self.site(name, **site), "--once", *more, env=env)

    def federation(self, job, out="out", code=0, **site):
        """A whole run of daemons; what the coordinator said."""
        coordinator = self.coordinate(job, out)
        parties = [self.join(name, **site) for name in self.PARTIES]
        said = self.finish(coordinator, code)
        for party in parties:
            if code == 0:
                self.finish(party)
            else:
                party.kill()
                party.wait()
        return said

    def run_through_kills(self, job, out, dice, join, longest):
        """A run with three kills at random moments; the time between them decides where they strike, never the outcome."""
        coordinator = self.coordinate(job, out)
        parties = {name: join(name) for name in self.PARTIES}
        for _ in range(3):
            time.sleep(dice.uniform(0, longest))
            victim = dice.choice(("coordinator", *self.PARTIES))
            if victim == "coordinator":
                if coordinator.poll() is not None:
                    break
                coordinator.kill()
                coordinator.wait()
                coordinator = self.coordinate(job, out)
            elif parties[victim].poll() is None:
                parties[victim].kill()
                parties[victim].wait()
                parties[victim] = join(victim)
        self.finish(coordinator)
        # A party that was killed after it had closed the run has nothing left to do, and dials a coordinator that is gone.
        for party in parties.values():
            party.terminate()
            party.wait()

    def entries(self, ledger):
        """A ledger's entries without what differs from run to run."""
        shown = self.json_of("ledger", "show", ledger, "--entries")["entries"]
        return [{key: value for key, value in entry.items() if key not in ("number", "time", "run", "hash")} for entry in shown]

    def plans(self, name):
        """How often the site was charged."""
        shown = self.run_parley("ledger", "show", self.folder / name / "state" / "ledger", "--entries", "--json")
        if shown.returncode != 0:  # not made yet
            return 0
        return sum(entry["kind"].endswith("plan") for entry in json.loads(shown.stdout)["entries"])

    def account(self, name):
        log = self.folder / name / "state" / "jobs.log"
        return log.read_text() if log.exists() else ""

    def finish(self, process, code=0):
        process.wait(timeout=60)
        if hasattr(process, "drain"):
            process.drain.join(timeout=10)
            errors = "".join(process.lines)
        else:
            errors = process.stderr.read()
        self.assertEqual(process.returncode, code, errors)
        return errors

    def result(self, out="out"):
        return json.loads((self.folder / out / "result.json").read_text())

    def model(self, out="out"):
        return (self.folder / out / "model.json").read_bytes()

    def trained_here(self, job, out="here"):
        """The same job with all parties in one process."""
        self.succeeds("train", job, "--out", out, "--quiet")
        return self.model(out)
