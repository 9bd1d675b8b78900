"""Runs the binary in a scratch folder."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

BINARY = os.environ.get("PARLEY", str(pathlib.Path(__file__).resolve().parents[2] / "build" / "parley"))
SOURCE = pathlib.Path(os.environ.get("PARLEY_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))


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
        return subprocess.run([BINARY, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True, timeout=120, **options)

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
