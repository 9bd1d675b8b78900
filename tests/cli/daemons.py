"""A federation of daemons on loopback, to be started, killed and started again."""
import csv
import functools
import json
import re
import subprocess
import threading
import time
import typing

from parley_cli import BINARY, SOURCE, CliTest, catalog

JOB = """
[job]
name = "together"
partition = "{partition}"
task = "logistic"
[model]
{model}[algorithm]
name = "{algorithm}"
iterations = {rounds}
{settings}seed = 7
[labels]
column = "readmitted"
"""
SITE = """
[site]
name = "{name}"
coordinator = "127.0.0.1:{port}"
tls = "../keys"
state = "state"
{secret}[data]
path = "{data}"
schema = "{schema}"
[limits]
without_privacy = {without_privacy}
{limits}
"""


class Needs(typing.NamedTuple):
    """What a job says for an algorithm beside its name, its iterations and its seed."""
    model: str
    settings: str = ""
    private_settings: str | None = None  # where they are not the same

    @property
    def in_private(self):
        return self.settings if self.private_settings is None else self.private_settings


STEPS = "local_steps = 3\nbatch = 16\nstep = 0.5\n"
# Of an algorithm by its name, of one that is not here by its partition.
NEEDS = {
    "horizontal": Needs("l2 = 0.001\n"),
    "vertical": Needs('intercept = "penalised"\nl2 = 0.001\n'),
    "relational": Needs('intercept = "penalised"\nl2 = 0.01\n', "tolerance = 0\n"),
    "relational-sgd": Needs('intercept = "penalised"\nl2 = 0.01\n', "batch_rate = 0.5\n"),
    "bcfw": Needs("l1_radius = 4.0\n"),
    "dfw": Needs('intercept = "penalised"\nl1_radius = 4.0\n'),
    "pride": Needs("l1_radius = 4.0\n", "sketch = 40\n"),
    "vertical-sgd": Needs('intercept = "penalised"\nl2 = 0.001\n', "batch = 60\n"),
    "fed-iter-ht": Needs("sparsity = 5\n", STEPS),
    "fed-ht": Needs("sparsity = 5\n", STEPS, "local_steps = 2\nstep = 0.5\n"),
    "distributed-iht": Needs("sparsity = 5\n", "step = 0.5\n"),
    "fedavg": Needs("", STEPS),
}


LABELS_STAY = ("masked-descent",)  # with their party, so that there is nothing to add noise to

NEED_PINS = ("masked-descent",)    # private runs between machines, and these sites pin nobody


def of_several_parties(partition=None):
    """The listed algorithms that daemons run."""
    found = [algorithm for algorithm in catalog() if algorithm.partition != "single"]
    unknown = {algorithm.partition for algorithm in found} - set(NEEDS)
    if unknown:
        raise ValueError(f"tests/cli/daemons.py makes no job for parties of {unknown}")
    return [algorithm for algorithm in found if partition in (None, algorithm.partition)]


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

    def split_by_rows(self, rounds=20, extra="", algorithm="fed-iter-ht", model="sparsity = 5\n",
                      settings="local_steps = 3\nstep = 0.5\n"):
        """One clinic's stays over three parties; the job names their files for `train`."""
        source = SOURCE / "examples" / "readmission"
        with open(source / "clinic.csv", newline="") as file:
            header, *rows = list(csv.reader(file))
        job = JOB.format(partition="horizontal", rounds=rounds, algorithm=algorithm, model=model, settings=settings)
        job += extra
        for p, name in enumerate(self.PARTIES):
            folder = self.folder / name
            folder.mkdir(exist_ok=True)
            with open(folder / "stays.csv", "w", newline="") as file:
                csv.writer(file).writerows([header, *rows[p::len(self.PARTIES)]])
            job += f'[[party]]\nname = "{name}"\ndata = "{name}/stays.csv"\nschema = "{source / "clinic.schema.toml"}"\n'
        self.schema = source / "clinic.schema.toml"
        return self.write("job.toml", job)

    def split_by_columns(self, rounds, extra="", algorithm="admm-sharing", model=NEEDS["vertical"].model, settings=""):
        """A clinic and an insurer; labels are public where a section is added that needs it."""
        job = JOB.format(partition="vertical", rounds=rounds, algorithm=algorithm, model=model, settings=settings)
        job += 'party = "clinic"\npositive = "yes"\n' + ("public = true\n" if extra else "")
        job += "[data]\ntest_fraction = 0.25\n" + extra
        for name in self.PARTIES:
            files = self.columns_of(name)
            job += f'[[party]]\nname = "{name}"\ndata = "{files["data"]}"\nschema = "{files["schema"]}"\n'
        return self.write("job.toml", job)

    def columns_of(self, name):
        example = "ratings" if name in ("ratings", "users", "films") else "clinic-and-insurer"
        table = SOURCE / "examples" / example / name
        return {"data": f"{table}.csv", "schema": f"{table}.schema.toml"}

    def split_by_tables(self, rounds, extra="", algorithm="relational-admm", model=NEEDS["relational"].model,
                        settings=""):
        """Ratings, users and films, whose keys leave under a secret that the sites share."""
        job = JOB.format(partition="relational", rounds=rounds, algorithm=algorithm, model=model, settings=settings)
        job = job.replace('column = "readmitted"', 'party = "ratings"\ncolumn = "liked"\npositive = "yes"') + extra
        for name in self.PARTIES:
            files = self.columns_of(name)
            job += f'[[party]]\nname = "{name}"\ndata = "{files["data"]}"\nschema = "{files["schema"]}"\n'
        for key, table in (("user", "users"), ("film", "films")):
            job += f'[[join]]\nleft = ["ratings.{key}"]\nright = ["{table}.{key}"]\n'
        self.write("secret", "a secret of the ratings' federation\n")
        return self.write("job.toml", job)

    def job_for(self, algorithm, rounds, privacy=""):
        needs = algorithm.line_of(NEEDS)
        settings = needs.in_private if privacy else needs.settings
        if 'unit = "client"' in privacy:
            settings += "clip = 0.5\n"
        split = {"horizontal": self.split_by_rows, "vertical": self.split_by_columns,
                 "relational": self.split_by_tables}[algorithm.partition]
        return split(rounds, privacy, algorithm.name, needs.model, settings)

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

    def site(self, name, limits="", data="stays.csv", schema=None, without_privacy="true", secret=None):
        (self.folder / name).mkdir(exist_ok=True)
        return self.write(f"{name}/site.toml", SITE.format(name=name, port=self.port, data=data, schema=schema or self.schema, limits=limits,
                                                           without_privacy=without_privacy,
                                                           secret=f'federation_secret = "{secret}"\n' if secret else ""))

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

    def trained_here(self, job, out="here", *more, algorithm=None):
        """The same job with all parties in one process."""
        done = self.run_parley("train", job, "--out", out, "--quiet", *more)
        told = done.stderr
        if algorithm is not None and algorithm.name not in NEEDS:
            told += (f"where {algorithm.name} needs other settings, add to NEEDS in tests/cli/daemons.py: "
                     f'"{algorithm.name}": Needs("MODEL_KEY = VALUE\\n", "ALGORITHM_KEY = VALUE\\n"),')
        self.assertEqual(done.returncode, 0, told)
        return self.model(out)

    def part(self, path):
        model = json.loads(path.read_text())
        # A run of daemons has a name of its own, one in a process that of its job.
        self.assertRegex(model["provenance"].pop("run"), "^[0-9a-f]{32,64}$")
        return model

    def kept_parts(self, out="out"):
        """Where the parties of a run keep their parts of its model."""
        return [self.folder / part["party"] / part["path"].replace("STATE", "state") / "model.json"
                for part in self.result(out)["model"]["parts"]]
