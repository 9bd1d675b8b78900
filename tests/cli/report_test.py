# labels: slow
"""`parley report`: one page that stands for itself and says what result.json says. Chromium, where it is there, opens it."""
import html.parser
import json
import shutil
import subprocess
import unittest

from parley_cli import CliTest

CHROMIUM = shutil.which("chromium")


class Page(html.parser.HTMLParser):
    """Elements and text; refuses what reaches outside, and elements that are not closed."""
    EMPTY = {"meta", "link"}

    def __init__(self, text):
        super().__init__()
        self.open, self.count, self.cells = [], {}, []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.count[tag] = self.count.get(tag, 0) + 1
        for name, value in attributes:
            assert not name.startswith("on"), (tag, name)
            assert name not in ("src", "srcset", "action"), (tag, name)
            assert name != "href" or value == "data:,", (tag, value)
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.cells.append(data.strip())


def shown(value):
    return f"{value:.4g}"


class Report(CliTest):
    def page(self, *folders):
        path = self.folder / self.succeeds("report", *folders).stdout.strip()
        self.assertEqual(path.name, "report.html")
        self.assertLess(path.stat().st_size, 200_000)
        return path, Page(path.read_text())

    def train(self, example, out, job="job.toml", *more):
        if not (self.folder / example).exists():
            self.example(example)
        self.succeeds("train", f"{example}/{job}", "--out", out, "--quiet", *more)
        return json.loads((self.folder / out / "result.json").read_text())

    def test_every_kind_of_run_has_its_page(self):
        for example, job in (("readmission", "job.toml"), ("readmission", "private.toml"), ("hospitals", "private.toml"),
                             ("clinic-and-insurer", "job.toml"), ("ratings", "job.toml")):
            with self.subTest(example=example, job=job):
                out = f"out-{example}-{job}"
                result = self.train(example, out, job)
                path, page = self.page(out)
                measured = result.get("simulation", result)
                self.assertIn(shown(measured["objective"]["final"]), page.cells)
                auc = measured["metrics"]["train"]["auc"]
                self.assertIn(shown(auc), page.cells)
                self.assertGreaterEqual(page.count["svg"], 5)
                text = path.read_text()
                if "simulation" in result:
                    self.assertIn("Epsilon against the budget", text)
                    self.assertIn("covered by the claim", text)
                    self.assertIn("for the holder of the data only", text)
                if result["communication"]["per_party"]:
                    for party in result["communication"]["per_party"]:
                        self.assertIn(f"{party['party']} up", text)
                    self.assertIn("the coordinator", text)

    def test_train_writes_it_too(self):
        self.train("readmission", "out", "job.toml", "--report")
        self.assertTrue((self.folder / "out" / "report.html").exists())

    def test_several_runs_stand_side_by_side(self):
        first = self.train("readmission", "one")
        second = self.train("readmission", "two", "job.toml", "--set", "model.l1=0.02")
        _, page = self.page("one", "two")
        for result in (first, second):
            self.assertIn(shown(result["objective"]["final"]), page.cells)
        self.refuses("report", *["one"] * 9, says="at most 8 runs")

    def test_names_of_columns_cannot_become_markup(self):
        evil = "<img src=x onerror=alert(1)>"
        self.write("t.csv", f'"{evil}",b,y\n' + "".join(f"{i % 7},{i % 3},{i % 2}\n" for i in range(40)))
        self.write("job.toml", '[job]\nname = "</title><script>1</script>"\npartition = "single"\ntask = "logistic"\n[model]\nl2 = 0.1\n'
                               '[algorithm]\nname = "exact"\n[[party]]\nname = "a"\ndata = "t.csv"\n')
        done = self.run_parley("train", "job.toml", "--out", "out", "--quiet")
        if done.returncode == 0:
            path, page = self.page("out")
            self.assertNotIn("script", page.count)
            self.assertNotIn("img", page.count)

    def test_what_is_no_run_is_refused(self):
        (self.folder / "empty").mkdir()
        self.refuses("report", "empty", says="no result.json")
        self.refuses("report", "nowhere", says="no result.json")
        self.refuses("report")
        (self.folder / "empty" / "result.json").write_text("[]")
        self.refuses("report", "empty", says="not a JSON document")
        (self.folder / "empty" / "result.json").write_text("{\"status\": \"done\"}")
        self.refuses("report", "empty", says="job")

    @unittest.skipUnless(CHROMIUM, "chromium is not there")
    def test_a_browser_opens_it_without_an_error(self):
        self.train("clinic-and-insurer", "out")
        path, _ = self.page("out")
        for width in (400, 1400):
            done = subprocess.run(
                [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
                 "--enable-logging=stderr", f"--user-data-dir={self.folder}/profile-{width}", f"--window-size={width},2000",
                 f"--screenshot={self.folder}/page-{width}.png", path.as_uri()],
                capture_output=True, text=True, timeout=90)
            self.assertEqual([line for line in done.stderr.splitlines() if "CONSOLE" in line], [])
            self.assertGreater((self.folder / f"page-{width}.png").stat().st_size, 10_000)


if __name__ == "__main__":
    unittest.main()
