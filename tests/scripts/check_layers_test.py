"""scripts/check_layers.py refuses what it says it refuses: on trees made for it."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import check_layers  # noqa: E402

SOUND = {
    "low/number.h": "#pragma once\n",
    "low/CMakeLists.txt": "parley_layer(low\n  SOURCES number.cpp)\n",
    "high/first.h": '#include "parley/low/number.h"\n',
    "high/first.cpp": '#include "parley/high/first.h"\n',
    "high/second.h": '#include "parley/high/first.h"\n',
    "high/CMakeLists.txt": "parley_layer(high\n  SOURCES first.cpp\n  USES low\n  PRIVATE other::library)\n",
}
TABLE = {"low": [], "high": ["low"]}


class CheckLayers(unittest.TestCase):
    def problems(self, changes=None, table=None):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in {**SOUND, **(changes or {})}.items():
                path = root / "src" / "parley" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return check_layers.check(root, table or TABLE)[0]

    def test_accepts_a_sound_tree(self):
        self.assertEqual(self.problems(), [])

    def test_refuses_an_include_that_points_upwards(self):
        found = self.problems({"low/number.h": '#include "parley/high/first.h"\n'})
        self.assertEqual(found, ["src/parley/low/number.h:1: low may not see parley/high"])

    def test_refuses_a_circle_of_headers(self):
        found = self.problems({"high/first.h": '#include "parley/low/number.h"\n#include "parley/high/second.h"\n'})
        self.assertEqual(found, ["src/parley/high: files include each other: first -> second -> first"])

    def test_counts_a_header_and_its_source_as_one_file(self):
        found = self.problems({"high/first.cpp": '#include "parley/high/first.h"\n#include "parley/high/second.h"\n'})
        self.assertEqual(found, ["src/parley/high: files include each other: first -> second -> first"])

    def test_finds_a_circle_through_folders_of_a_layer(self):
        found = self.problems({"high/first.cpp": '#include "parley/high/parts/third.h"\n',
                               "high/parts/third.h": '#include "parley/high/second.h"\n'})
        self.assertEqual(found, ["src/parley/high: files include each other: first -> parts/third -> second -> first"])

    def test_refuses_a_dependency_of_the_table_that_nobody_uses(self):
        found = self.problems({"spare/a.h": ""}, {"low": [], "spare": [], "high": ["low", "spare"]})
        self.assertEqual(found, ["scripts/check_layers.py: high may see spare, and no file of it does"])

    def test_refuses_a_dependency_of_cmake_that_nobody_uses(self):
        found = self.problems({"low/CMakeLists.txt": "parley_layer(low\n  SOURCES number.cpp\n  USES high FUZZED)\n"})
        self.assertEqual(found, ["src/parley/low/CMakeLists.txt: low USES high, and no file of it includes high"])

    def test_refuses_a_folder_that_is_not_in_the_table(self):
        self.assertEqual(self.problems({"new/a.h": ""}),
                         ["src/parley/new: is not a layer; add it to scripts/check_layers.py"])


if __name__ == "__main__":
    unittest.main()
