#!/usr/bin/env python3
"""The default number of threads beside --threads 1, with busy loops on every core and without: what waiting costs.

Jobs in one process and a federation of three daemons, private, 100 rounds. Runs alternate; figures are medians of wall
time, and of processor time without the loops. PARLEY_BEFORE=BINARY measures another version beside this one. Bound: 1.3
with the loops.
"""
import os
import pathlib
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("PARLEY_BENCH_BUILD", ROOT / "build"))
BINARY = pathlib.Path(os.environ.get("PARLEY", BUILD / "parley"))
BEFORE = os.environ.get("PARLEY_BEFORE")
REPEATS = int(os.environ.get("REPEATS", "5"))
LOOPS = int(os.environ.get("LOOPS", "2"))
ONLY = os.environ.get("ONLY", "")
SITES = ("north", "south", "west")
BOUND = 1.3

FEDERATED = """
[job]
name = "together"
partition = "horizontal"
task = "logistic"
[model]
sparsity = 5
[algorithm]
name = "fed-iter-ht"
iterations = {rounds}
local_steps = {steps}
step = 0.5
seed = 7
{privacy}
[labels]
column = "y"
"""
SITE = """
[site]
name = "{name}"
coordinator = "127.0.0.1:{port}"
tls = "../keys"
state = "state"
[data]
path = "../{name}.csv"
schema = "../schema.toml"
[limits]
without_privacy = true
epsilon = 1000
delta = 0.1
"""


def parley(*arguments, binary=BINARY):
    subprocess.run([binary, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def table(path, rows, columns, seed):
    rng = random.Random(seed)
    with path.open("w") as file:
        file.write(",".join(f"x{j}" for j in range(columns)) + ",y\n")
        for _ in range(rows):
            values = [rng.uniform(-1, 1) for _ in range(columns)]
            label = int(values[0] - values[1] + rng.gauss(0, 0.3) > 0)
            file.write(",".join(f"{value:.3f}" for value in values) + f",{label}\n")


def prepare(folder):
    """Makes the data; returns name -> function(binary, threads) that runs the job once."""
    columns = 20
    (folder / "schema.toml").write_text("".join(f'[[column]]\nname = "x{j}"\ntype = "number"\nbound = 1\n'
                                                for j in range(columns)) +
                                        '[[column]]\nname = "y"\ntype = "label"\nlevels = ["0", "1"]\n')
    for number, name in enumerate(SITES):
        table(folder / f"{name}.csv", 20000, columns, number)
    parties = "".join(f'[[party]]\nname = "{name}"\n' for name in SITES)
    here = "".join(f'[[party]]\nname = "{name}"\ndata = "{name}.csv"\nschema = "schema.toml"\n' for name in SITES)
    private = "[privacy]\nepsilon = 1\ndelta = 1e-5\n"
    (folder / "in-process.toml").write_text(FEDERATED.format(rounds=100, steps=3, privacy="") + here)
    (folder / "private.toml").write_text(FEDERATED.format(rounds=100, steps=2, privacy=private) + parties)
    parley("keys", "init", folder / "keys")
    for name in ("coordinator", *SITES):
        parley("keys", "issue", folder / "keys", name)
    parley("data", "generate", "log-normal", "--seed", "1", "--out", folder / "log-normal")
    parley("data", "generate", "sparse-regression", "--rows", "8000", "--columns", "20000", "--seed", "1", "--out",
           folder / "sparse")

    def train(job):
        def run(binary, threads):
            out = folder / "out"
            shutil.rmtree(out, ignore_errors=True)
            parley("train", job, "--out", out, "--quiet", *threads, binary=binary)
        return run

    def daemons(binary, threads):
        for name in ("run", *SITES):
            shutil.rmtree(folder / name, ignore_errors=True)
        coordinator = subprocess.Popen([
            binary, "coordinate", folder / "private.toml", "--listen", "127.0.0.1:0", "--tls", folder / "keys", "--out",
            folder / "run"
        ], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        port = next(
            line.split("listening on port ")[1].split()[0] for line in coordinator.stderr
            if "listening on port" in line)
        sites = []
        for name in SITES:
            (folder / name).mkdir()
            (folder / name / "site.toml").write_text(SITE.format(name=name, port=port))
            sites.append(subprocess.Popen([binary, "join", folder / name / "site.toml", "--once", "--quiet", *threads],
                                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        coordinator.stderr.read()
        if coordinator.wait() != 0 or any([site.wait() != 0 for site in sites]):
            raise RuntimeError("a daemon failed")

    return {"three daemons, 100 private rounds": daemons,
            "three parties in process, 100 rounds": train(folder / "in-process.toml"),
            "log-normal, exact": train(folder / "log-normal" / "job.toml"),
            "sparse regression, 8,000 x 20,000": train(folder / "sparse" / "job.toml")}


def processor_time():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(run, ways):
    """Medians of (wall, processor) seconds for every way, in turn."""
    taken = {way: [] for way in ways}
    for _ in range(REPEATS):
        for way, (binary, threads) in ways.items():
            used, begun = processor_time(), time.monotonic()
            run(binary, threads)
            taken[way].append((time.monotonic() - begun, processor_time() - used))
    return {way: tuple(statistics.median(one[k] for one in each) for k in (0, 1)) for way, each in taken.items()}


def main():
    ways = {"1": (BINARY, ("--threads", "1")), "all": (BINARY, ())}
    if BEFORE:
        ways |= {"before, 1": (BEFORE, ("--threads", "1")), "before, all": (BEFORE, ())}
    print(f"{REPEATS} runs each, {os.cpu_count()} cores; seconds: wall (processor)")
    with tempfile.TemporaryDirectory() as name:
        jobs = prepare(pathlib.Path(name))
        for busy in (False, True):
            loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(LOOPS if busy else 0)]
            try:
                for job, run in jobs.items():
                    if ONLY and ONLY not in job:
                        continue
                    found = measured(run, ways)
                    ratio = found["all"][0] / found["1"][0]
                    text = "  ".join(f"{way}: {wall:.3f} ({used:.3f})" for way, (wall, used) in found.items())
                    late = "  TOO SLOW" if busy and ratio > BOUND else ""
                    print(f"{f'{LOOPS} loops' if busy else 'idle':8} {job:38} {text}   all/1 = {ratio:.2f}{late}",
                          flush=True)
            finally:
                for loop in loops:
                    loop.kill()
                    loop.wait()


if __name__ == "__main__":
    main()
