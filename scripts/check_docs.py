#!/usr/bin/env python3
"""Documents cannot rot: runs every command that they show.

A fenced block marked `console` is a session: each line that starts with "$ " is run, in order, in one scratch
folder per document that holds a copy of examples/, with the given binary on PATH. It must exit 0, or with the code
named in a trailing comment "# exits 2". Lines below a command are output for the reader and are not compared.
The examples in the --help of every verb are run likewise, each verb's in a scratch folder of its own, after what
`BEFORE` says; no line of a --help is wider than 100 columns. The version that the binary prints has its section in
CHANGELOG.md. A block marked `sh` is for commands that cannot run inside the tests (make, git clone); each `make TARGET`
must exist, and `parley` may not appear there.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent
binary = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else root / "build" / "parley").resolve()
targets = set(re.findall(r"^([a-z][a-z-]*):", (root / "Makefile").read_text(), re.M))
documents = sorted(
    [root / "README.md", root / "CONTRIBUTING.md", *(root / "docs").rglob("*.md"), *(root / "examples").rglob("*.md")])
problems = []
ran = 0


def blocks(text):
    for found in re.finditer(r"^```(\w+)\n(.*?)^```", text, re.M | re.S):
        yield found[1], text[: found.start()].count("\n") + 2, found[2]


environment = {**os.environ, "PATH": f"{binary.parent}:{os.environ['PATH']}"}


def run(document, sessions):
    global ran
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copytree(root / "examples", pathlib.Path(scratch) / "examples")
        for line, text in sessions:
            # A command goes on over lines that end in a backslash.
            for offset, command in enumerate_commands(text):
                expected = re.search(r"#\s*exits (\d+)\s*$", command)
                done = subprocess.run(["bash", "-c", command], cwd=scratch, env=environment, capture_output=True,
                                      text=True, timeout=120)
                ran += 1
                wanted = int(expected[1]) if expected else 0
                if done.returncode != wanted:
                    problems.append(f"{document.relative_to(root)}:{line + offset}: exit {done.returncode}, not "
                                    f"{wanted}: {command}\n"
                                    f"    {done.stderr.strip()[:400]}")
                    return


def enumerate_commands(text):
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        if lines[at].startswith("$ "):
            start, command = at, lines[at][2:]
            while command.endswith("\\") and at + 1 < len(lines):
                at += 1
                command = command[:-1] + lines[at].strip()
            yield start, command
        at += 1


# What somebody who reads a verb's help has done already.
TRAIN = "parley train examples/readmission/job.toml --out out/readmission --quiet"
KEYS = "parley keys init keys; for name in coordinator clinic; do parley keys issue keys $name; done"
BUDGET = "parley ledger budget site/ledger --data-set patients --epsilon 2 --delta 1e-6"
SITE = """cat > site.toml <<END
[site]
name = "clinic"
coordinator = "127.0.0.1:9"
tls = "keys"
state = "state"
[data]
path = "examples/readmission/clinic.csv"
schema = "examples/readmission/clinic.schema.toml"
END"""
ORDERS = (r"printf 'customer,city,product,price,weight,y\n"
          r"1,Bern,p,5,2,1\n2,Basel,q,7,3,0\n1,Bern,q,7,3,1\n' > orders.csv")
SQUARE = "parley data generate square --out square; parley train square/job.toml --out out/square --quiet"
BEFORE = {
    "report": TRAIN, "predict": TRAIN, "evaluate": f"{TRAIN}\n{SQUARE}", "keys issue": "parley keys init keys",
    "coordinate": KEYS, "keys sign": "parley keys init keys; parley keys request . clinic", "keys revoke": KEYS,
    "keys fingerprint": "parley keys identity keys clinic", "doctor": "mkdir state",
    "join": f"{KEYS}\n{SITE}", "ledger show": BUDGET, "ledger verify": BUDGET, "data split": ORDERS
}
HELP_COLUMNS = 100
STAYS = {"coordinate", "join"}  # until they are told to end


def help_of(verb):
    return subprocess.run([binary, *verb, "--help"], capture_output=True, text=True, timeout=60, check=True).stdout


def verbs(above=()):
    yield above
    listed = re.search(r"^Subcommands:\n((?:  .*\n)*)", help_of(above), re.M)
    for name in re.findall(r"^  (\S+)", listed[1], re.M) if listed else []:
        yield from verbs((*above, name))


def stays(command, scratch):
    """Begins, says so on stderr, and ends when it is interrupted. On a port of the system's choice, of this machine
    alone."""
    process = subprocess.Popen(["bash", "-c", "exec " + command.replace("0.0.0.0:7000", "127.0.0.1:0")], cwd=scratch,
                               env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=60)
    return process.returncode, said + rest


def run_help(verb):
    global ran
    text, name = help_of(verb), " ".join(verb)
    commands = re.findall(r"^  (parley (?:.*\\\n)*.*)$", text, re.M)
    for line in text.splitlines():
        if len(line) > HELP_COLUMNS:
            problems.append(f"parley {name} --help: {len(line)} columns: {line}")
    if not any(command.startswith(f"parley {name}") for command in commands):
        problems.append(f"parley {name} --help: shows no example of its own")
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copytree(root / "examples", pathlib.Path(scratch) / "examples")
        for events in re.findall(r'^  (\{"neighbours".*?\]\})$', text, re.M | re.S):
            (pathlib.Path(scratch) / "events.json").write_text(events)
        if name in BEFORE:
            subprocess.run(["bash", "-ec", BEFORE[name]], cwd=scratch, env=environment, capture_output=True,
                           timeout=120, check=True)
        for command in commands:
            ran += 1
            if name in STAYS:
                code, said = stays(command, scratch)
                if not re.search("listening|waiting|connect|nobody listens", said):
                    problems.append(f"parley {name} --help: did not come up: {command}\n    {said.strip()[:400]}")
                continue
            done = subprocess.run(["bash", "-c", command], cwd=scratch, env=environment, capture_output=True, text=True,
                                  timeout=120)
            if done.returncode != 0:
                problems.append(
                    f"parley {name} --help: exit {done.returncode}: {command}\n    {done.stderr.strip()[:400]}")


for document in documents:
    sessions = []
    for kind, line, text in blocks(document.read_text()):
        if kind == "console":
            sessions.append((line, text))
        elif kind == "sh":
            for offset, command in enumerate(text.splitlines()):
                if re.search(r"\bparley\s", command.split("#")[0]):
                    problems.append(
                        f"{document.relative_to(root)}:{line + offset}: put it into a `console` block so that it is run"
                    )
                for target in re.findall(r"\bmake ([a-z][a-z-]*)", command):
                    if target not in targets:
                        problems.append(
                            f"{document.relative_to(root)}:{line + offset}: no target '{target}' in the Makefile")
    if sessions:
        run(document, sessions)

for verb in verbs():
    run_help(verb)

version = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout.strip()
if f"\n## {version}\n" not in (root / "CHANGELOG.md").read_text():
    problems.append(f"CHANGELOG.md: has no section for version {version}")

print("\n".join(problems) if problems else f"docs: {len(documents)} documents, {ran} commands ran")
sys.exit(1 if problems else 0)
