"""Every test that docs/threat_model.md names is there."""
import fnmatch
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"


def cases():
    """SUITE.CASE of every GoogleTest case, and FILE.CLASS of every class of a Python test."""
    for path in TESTS.rglob("*_test.cpp"):
        for suite, case in re.findall(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", path.read_text(), re.M):
            yield f"{suite}.{case}"
    for path in TESTS.rglob("*_test.py"):
        yield path.stem
        for name in re.findall(r"^class (\w+)", path.read_text(), re.M):
            yield f"{path.stem}.{name}"


class ThreatModel(unittest.TestCase):
    def test_names_tests_that_exist(self):
        page = (ROOT / "docs" / "threat_model.md").read_text()
        tried = re.search(r"^## What each can try\n(.*?)^## ", page, re.M | re.S)[1]
        known = set(cases())
        file = ""  # `file_test.Class`, `OtherClass` of the same file
        for row in tried.splitlines():
            for name in re.findall(r"`([^`]+)`", row.rsplit("|", 2)[-2] if row.startswith("|") else ""):
                if "_test" in name:
                    file = name.split(".")[0]
                elif "." not in name:
                    name = f"{file}.{name}"
                with self.subTest(name):
                    self.assertTrue(fnmatch.filter(known, name), f"docs/threat_model.md names {name}")


if __name__ == "__main__":
    unittest.main()
