"""Runs the binary in a scratch folder."""
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import typing
import unittest

BINARY = os.environ.get("PARLEY", str(pathlib.Path(__file__).resolve().parents[2] / "build" / "parley"))
SOURCE = pathlib.Path(os.environ.get("PARLEY_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))


class Algorithm(typing.NamedTuple):
    name: str
    partition: str
    private: bool

    def line_of(self, table):
        """Its own line of a table, or that of its partition."""
        return table.get(self.name, table[self.partition])


@functools.cache
def catalog():
    """Every algorithm that `parley train --help` lists, so that tests look at a new one because it is listed."""
    shown = subprocess.run([BINARY, "train", "--help"], capture_output=True, text=True, timeout=60, check=True).stdout
    lines = re.search(r"^Algorithms .*\n((?:  .*\n)+)", shown, re.M)[1].splitlines()
    lines = [line for line in lines if not line.startswith("    ")]  # summaries
    found = [re.fullmatch(r"  (\S+): ([a-z]+)(, can be private)?", line) for line in lines]
    if None in found:
        raise ValueError(f"an algorithm is listed otherwise than as 'NAME: PARTITION[, can be private]':\n{shown}")
    return tuple(Algorithm(line[1], line[2], line[3] is not None) for line in found)


class CliTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="parley-cli-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, name, text):
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def example(self, name):
        shutil.copytree(SOURCE / "examples" / name, self.folder / name)
        return self.folder / name

    def run_parley(self, *arguments, **options):
        return subprocess.run([BINARY, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True,
                              timeout=120, **options)

    def succeeds(self, *arguments):
        done = self.run_parley(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def json_of(self, *arguments):
        """`--json` prints one document on stdout and nothing else."""
        return json.loads(self.succeeds(*arguments, "--json").stdout)

    def refuses(self, *arguments, code=2, says=""):
        """One clear line on stderr, the right exit code, nothing on stdout."""
        done = self.run_parley(*arguments)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        lines = [line for line in done.stderr.splitlines() if line]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertIn(says, lines[0])
        self.assertEqual(done.stdout, "")
        return lines[0]
