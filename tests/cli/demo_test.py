# labels: slow
"""The demo: what a newcomer sees first, with real daemons. It says what is so, and leaves nothing running."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

from parley_cli import BINARY, SOURCE, CliTest

RUN = SOURCE / "examples" / "demo" / "run"
HOSPITALS = ("north", "south", "island")


class DemoTest(CliTest):
    def start(self, binary=BINARY):
        demo = subprocess.Popen([sys.executable, RUN, binary, "out"], cwd=self.folder, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(lambda: demo.poll() is None and demo.kill())
        return demo

    def running(self):
        """The processes that work in the demo's folder."""
        ids = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if (process / "cwd").resolve() == (self.folder / "out").resolve():
                    ids.append(int(process.name))
            except OSError:  # it is another user's, or it has ended
                pass
        return ids

    def test_shows_what_the_product_is_for(self):
        demo = self.start()
        shown, errors = demo.communicate(timeout=120)
        self.assertEqual(demo.returncode, 0, errors)
        self.assertEqual(errors, "")
        self.assertEqual([line for line in shown.splitlines() if len(line) > 100], [])
        out = self.folder / "out"

        model = json.loads((out / "private" / "model.json").read_text())["privacy"]
        self.assertTrue(model["claimed"] and model["covered"])
        self.assertIn("The model is covered.", shown)
        self.assertIn("(epsilon 1, delta 1e-06)", shown)

        result = json.loads((out / "private" / "result.json").read_text())
        for party in result["communication"]["per_party"]:
            self.assertRegex(shown, rf"{party['party']} .*{party['uplink_bytes']:,} B")
        for name in HOSPITALS:
            purse, = self.json_of("ledger", "show", out / name / "state" / "ledger")["purses"]
            self.assertEqual((purse["charges"], purse["releases"]), (1, result["privacy"]["events"][0]["count"]))
            self.assertLessEqual(purse["epsilon_spent"], 1.0)
            self.assertRegex(shown, rf"{name} +1 +{purse['releases']} ")
            # A hospital that dialled late may not have heard of the second run, which another refused.
            self.assertIn("rounds answered", (out / name / "state" / "jobs.log").read_text())
        self.assertRegex(shown, r"not admitted: the budget of data set '(north|south|island)'")

        star = json.loads((out / "star" / "model" / "result.json").read_text())
        self.assertEqual(star["metrics"]["train"]["rows"], 3000)
        self.assertGreater(star["metrics"]["train"]["auc"], 0.7)
        self.assertRegex(shown, r"wards +12 +3 ")
        self.assertEqual(sorted(path.name for path in (out / "star").glob("hospital*")), ["hospital.db"], "and no joined table")

        # The same seed made the data, so only the noise differs from run to run: the private AUC by 0.002.
        rows = {name: (float(auc), float(accuracy))
                for name, auc, accuracy in re.findall(r"^  (\w[^\n]*?)  +(0\.\d{3}) +([\d.]+)%", shown, re.M)}
        self.assertEqual(list(rows), ["private federation", "the same, not private", "pooled and exact", "base rate"])
        private, pooled, base = rows["private federation"], rows["pooled and exact"], rows["base rate"]
        self.assertGreater(pooled[0], 0.765)
        self.assertGreater(private[0], pooled[0] - 0.02)
        self.assertGreater(private[1], base[1] + 2)
        self.assertEqual(self.running(), [])

    def test_stops_what_it_started_when_it_is_interrupted(self):
        demo = self.start()
        while len(self.running()) < 4:
            self.assertIsNone(demo.poll())
            time.sleep(0.01)
        demo.send_signal(signal.SIGINT)
        _, errors = demo.communicate(timeout=60)
        self.assertEqual(demo.returncode, 130, errors)
        self.assertIn("interrupted; what it started is ended", errors)
        self.assertEqual(self.running(), [])

    def test_stops_what_it_started_when_a_daemon_cannot_start(self):
        broken = self.write("parley", '#!/bin/sh\n[ "$1" = join ] && { echo no such luck >&2; exit 2; }\n'
                            f'exec "{BINARY}" "$@"\n')
        os.chmod(broken, 0o755)
        demo = self.start(broken)
        _, errors = demo.communicate(timeout=60)
        self.assertEqual(demo.returncode, 1)
        self.assertIn("no such luck", errors)
        self.assertIn("what it started is ended; logs are in", errors)
        self.assertEqual(self.running(), [])

    def test_replaces_no_folder_that_was_named(self):
        (self.folder / "out").mkdir()
        demo = self.start()
        self.assertIn("is there already", demo.communicate(timeout=60)[1])
        self.assertEqual(demo.returncode, 2)


if __name__ == "__main__":
    unittest.main()
