#!/usr/bin/env python3
"""Runs every benchmark program for a second at most, without peers, so that none of them rots: `briefly.py
BUILD/bench`.

A program may end by itself or be stopped when its second is over; what it must not do is fail, or answer `error`. The
scripts beside it, which need peers, are compiled only. A new program needs its line in PROGRAMS.
"""
import array
import concurrent.futures
import os
import pathlib
import random
import subprocess
import sys
import tempfile

SECOND = 1.0
SOURCE = pathlib.Path(__file__).resolve().parent
folder = pathlib.Path(sys.argv[1]).resolve()
ROWS, COLUMNS = 60, 8

# The arguments of a program and, for a driver, the questions on its standard input. DATA is a file as
# exact_sparse_data.py writes them, LIBSVM and CLIENTS a table and whose rows they are.
PROGRAMS = {
    "accounting_bench": [("calibrate 1 1e-6 0.01 100 pld 1", ""), ("account pld 1e-6 2 0.01 100 1", "")],
    "descent_driver": [("", "load DATA\nthreads 1\nsgd inf 1e-5 steps=20\nsgd 1 1e-5 steps=20\ncd 1 1e-5 passes=2\n"
                        "noise 1 1e-5 0.1 10\ndraws 1000 10\ndraws 1000 10 lazy\nmodel MODEL\n")],
    "exact_driver": [("",
                      "load DATA\nthreads 1\nsolve logistic 0.01 0 -1 -1\ntrace logistic 0.01 0 -1 -1\nmodel MODEL\n")],
    "federated_driver": [("local I", ""), ("data LIBSVM logistic 4 CLIENTS 2 5", "")],
    "align_bench": [("2000", "")],
    "frank_wolfe_bench": [("0.001", "")],
    "join_bench": [("0.01", "")],
    "ledger_bench": [("", "")],
    "linalg_bench": [("dense", ""), ("sparse", ""), ("gram", ""), ("thresholds", ""), ("building", "")],
    "masked_bench": [("500 20 4 3", "")],
    "mechanisms_bench": [("", "")],
    "mpi_rounds_bench": [],  # a rank alone has nobody to speak to: bench/rounds.py runs it under mpirun
    "private_driver": [("", "load DATA 1\nthreads 1\nobjective logistic 0.01 0 -1\noptimum\n"
                        "run frank-wolfe 5 0 1 0 0 1 1e-5 1 proved auto 1\nrun sgd 5 0 1 0 0 1 1e-5 1 proved auto\n"
                        "dense 50 4\nread 100000\n")],
    "readers_bench": [("LIBSVM classes 1 2", "")],
    "relational_bench": [("1 20000", "")],
    "rounds_bench": [("local 100 10 2", "")],
    "rounds_bare": [],  # answers rounds_bench and nothing else: see `federation`
}


def write_data(where):
    draw = random.Random(1)
    rows = [sorted(draw.sample(range(COLUMNS), 3)) for _ in range(ROWS)]
    labels = [draw.choice((-1.0, 1.0)) for _ in range(ROWS)]
    values = [draw.uniform(-0.5, 0.5) for row in rows for _ in row]
    with open(where / "data", "wb") as file:
        for kind, numbers in (("q", (ROWS, COLUMNS)), ("q", range(0, 3 * ROWS + 1, 3)),
                              ("i", [c for row in rows for c in row]), ("d", values), ("d", labels)):
            array.array(kind, numbers).tofile(file)
    (where / "table.svm").write_text("".join(
        f"{label:+.0f} " + " ".join(f"{c + 1}:{values[3 * i + k]:.4f}" for k, c in enumerate(row)) + "\n"
        for i, (row, label) in enumerate(zip(rows, labels))))
    (where / "clients").write_text("".join(f"{i % 3}\n" for i in range(ROWS)))


def run(name, arguments, questions, where):
    """None, or what is wrong."""
    for word, path in (("DATA", "data"), ("MODEL", f"{name}.model"), ("LIBSVM", "table.svm"), ("CLIENTS", "clients")):
        arguments, questions = (text.replace(word, str(where / path)) for text in (arguments, questions))
    environment = {**os.environ, "TMPDIR": str(where)}
    process = subprocess.Popen([folder / name, *arguments.split()], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=environment)
    try:
        out, said = process.communicate(questions, timeout=SECOND)
    except subprocess.TimeoutExpired:
        process.kill()
        out, _ = process.communicate()
        return f"answers an error: {out}" if "error" in out else None
    if process.returncode != 0:
        return f"exit {process.returncode}: {said.strip()[:400]}"
    if "error" in out or len(out.splitlines()) < questions.count("\n") - questions.count("trace"):
        return f"does not answer every question: {out}"
    return None


def federation(program, where):
    """A server and two clients, a few rounds of a few numbers."""
    keys = where / "keys"
    if not keys.exists():
        keys.mkdir()
        subprocess.run([folder / "rounds_bench", "keys", keys, "2"], check=True, timeout=60)
    server = subprocess.Popen([folder / program, "server", "10", "3", "2", keys], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    port = server.stdout.readline().split()[1]
    clients = [subprocess.Popen([folder / program, "client", port, f"client{c}", "10", keys]) for c in range(2)]
    try:
        if program == "rounds_bare":
            for client in clients:
                client.wait(timeout=60)
        server.communicate(timeout=60)
        codes = [server.returncode, *(client.wait(timeout=60) for client in clients)]
        return None if not any(codes) else f"exit codes {codes}"
    finally:
        for process in (server, *clients):
            process.kill()


def main():
    built = {path.name for path in folder.iterdir() if path.is_file() and os.access(path, os.X_OK)}
    problems = [f"{name}: has no line in bench/briefly.py" for name in sorted(built - PROGRAMS.keys())]
    problems += [
        f"{name}: was not built" for name in sorted(PROGRAMS.keys() - built) if not name.startswith(("rounds", "mpi"))
    ]
    for script in sorted(SOURCE.glob("*.py")):
        compile(script.read_text(), str(script), "exec")
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        where = pathlib.Path(scratch)
        write_data(where)
        runs = [(name, arguments, questions) for name in sorted(built & PROGRAMS.keys())
                for arguments, questions in PROGRAMS[name]]
        for (name, arguments, _), problem in zip(runs, pool.map(lambda one: run(*one, where), runs)):
            if problem:
                problems.append(f"{name} {arguments}: {problem}")
        for program in ("rounds_bench", "rounds_bare"):
            if program in built and (problem := federation(program, where)):
                problems.append(f"{program} server and clients: {problem}")
    print("\n".join(problems)
          if problems else f"benches: {len(built)} programs ran, {len(runs)} parts of them for a second at most")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
