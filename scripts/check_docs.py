#!/usr/bin/env python3
"""Documents cannot rot: runs every command that they show.

A fenced block marked `console` is a session: each line that starts with "$ " is run, in order, in one scratch
folder per document that holds a copy of examples/, with the given binary on PATH. It must exit 0, or with the code
named in a trailing comment "# exits 2". Lines below a command are output for the reader and are not compared.
A block marked `sh` is for commands that cannot run inside the tests (make, git clone); each `make TARGET` must
exist, and `parley` may not appear there.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent
binary = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else root / "build" / "parley").resolve()
targets = set(re.findall(r"^([a-z][a-z-]*):", (root / "Makefile").read_text(), re.M))
documents = sorted([root / "README.md", root / "CONTRIBUTING.md", *(root / "docs").rglob("*.md"), *(root / "examples").rglob("*.md")])
problems = []
ran = 0


def blocks(text):
    for found in re.finditer(r"^```(\w+)\n(.*?)^```", text, re.M | re.S):
        yield found[1], text[: found.start()].count("\n") + 2, found[2]


def run(document, sessions):
    global ran
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copytree(root / "examples", pathlib.Path(scratch) / "examples")
        environment = {**os.environ, "PATH": f"{binary.parent}:{os.environ['PATH']}"}
        for line, text in sessions:
            # A command goes on over lines that end in a backslash.
            for offset, command in enumerate_commands(text):
                expected = re.search(r"#\s*exits (\d+)\s*$", command)
                done = subprocess.run(["bash", "-c", command], cwd=scratch, env=environment, capture_output=True, text=True, timeout=120)
                ran += 1
                wanted = int(expected[1]) if expected else 0
                if done.returncode != wanted:
                    problems.append(f"{document.relative_to(root)}:{line + offset}: exit {done.returncode}, not {wanted}: {command}\n"
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


for document in documents:
    sessions = []
    for kind, line, text in blocks(document.read_text()):
        if kind == "console":
            sessions.append((line, text))
        elif kind == "sh":
            for offset, command in enumerate(text.splitlines()):
                if re.search(r"\bparley\s", command.split("#")[0]):
                    problems.append(f"{document.relative_to(root)}:{line + offset}: put it into a `console` block so that it is run")
                for target in re.findall(r"\bmake ([a-z][a-z-]*)", command):
                    if target not in targets:
                        problems.append(f"{document.relative_to(root)}:{line + offset}: no target '{target}' in the Makefile")
    if sessions:
        run(document, sessions)

print("\n".join(problems) if problems else f"docs: {len(documents)} documents, {ran} commands ran")
sys.exit(1 if problems else 0)
