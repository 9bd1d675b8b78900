"""A federation of daemons on loopback, to be started, killed and started again."""
import csv
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
without_privacy = true
{limits}
"""


class FederationTest(CliTest):
    PARTIES = ("north", "south", "west")

    def setUp(self):
        super().setUp()
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

    def coordinate(self, job, out="out", *more):
        """Starts a coordinator and waits until it listens; a restarted one listens where it did."""
        process = self.spawn("coordinate", job, "--listen", f"127.0.0.1:{self.port}", "--tls", "keys", "--out", out, *more)
        process.lines = []
        for line in process.stderr:
            process.lines.append(line)
            if found := re.search(r"listening on port (\d+)", line):
                self.port = int(found[1])
                break
        process.drain = threading.Thread(target=lambda: process.lines.extend(process.stderr), daemon=True)
        process.drain.start()
        return process

    def site(self, name, limits="", data="stays.csv", schema=None):
        return self.write(f"{name}/site.toml", SITE.format(name=name, port=self.port, data=data, schema=schema or self.schema, limits=limits))

    def join(self, name, *more, **site):
        return self.spawn("join", self.site(name, **site), "--once", *more)

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
