#labels : slow
"""Records in common, found without showing ids: by one process and by daemons, and jobs that take the orders."""
import csv
import json
import pathlib
import random
import unittest

from daemons import FederationTest
from parley_cli import SOURCE, CliTest

EXAMPLE = SOURCE / "examples" / "clinic-and-insurer"
JOB = """[job]
name = "in-common"
partition = "vertical"
task = "logistic"
[model]
l2 = 0.001
[algorithm]
name = "admm-sharing"
iterations = 200
[labels]
party = "clinic"
column = "readmitted"
positive = "yes"
[[party]]
name = "clinic"
data = "clinic.csv"
schema = "{example}/clinic.schema.toml"
[[party]]
name = "insurer"
data = "insurer.csv"
schema = "{example}/insurer.schema.toml"
"""


def rows_of(name):
    with open(EXAMPLE / f"{name}.csv", newline="") as file:
        header, *rows = list(csv.reader(file))
    return header, rows


class Tables:
    """The clinic's and the insurer's tables with some rows missing, each in an order of its own."""

    def tables(self, change=lambda name, header, rows: rows):
        dice = random.Random(3)
        self.kept = {}
        for name, left_out in (("clinic", range(0, 60)), ("insurer", range(40, 110))):
            header, rows = rows_of(name)
            self.ids_column = header.index("id") if "id" in header else 0
            rows = [row for i, row in enumerate(rows) if i not in left_out]
            dice.shuffle(rows)
            rows = change(name, header, rows)
            self.kept[name] = [row[self.ids_column] for row in rows]
            with open(self.folder / f"{name}.csv", "w", newline="") as file:
                csv.writer(file).writerows([header, *rows])
        return self.write("job.toml", JOB.format(example=EXAMPLE))

    def order(self, path):
        lines = pathlib.Path(path).read_text().splitlines()
        return [None if line == "-" else int(line) - 1 for line in lines[5:]]


class Align(Tables, CliTest):
    def align(self, *more):
        return json.loads(self.succeeds("align", "job.toml", "--json", *more).stdout)

    def test_jobs_train_on_what_was_found(self):
        self.tables()
        found = self.align()
        both = set(self.kept["clinic"]) & set(self.kept["insurer"])
        self.assertEqual(found["kept"], len(both))
        ordered = {name: [self.kept[name][row] for row in self.order(self.folder / "orders" / f"{name}.order")]
                   for name in self.kept}
        self.assertEqual(ordered["clinic"], ordered["insurer"])
        self.assertEqual(set(ordered["clinic"]), both)
        orders = [part for name in self.kept for part in ("--set", f"party.{name}.order=orders/{name}.order")]
        self.succeeds("train", "job.toml", "--set", "secure.align=orders", *orders, "--out", "taken", "--quiet")
        self.succeeds("train", "job.toml", "--set", "secure.align=ids", "--out", "found", "--quiet")
#The same records by hand.
        for name in self.kept:
            header, rows = rows_of(name)
            with open(self.folder / f"{name}.csv", "w", newline="") as file:
                csv.writer(file).writerows([header, *(row for row in rows if row[self.ids_column] in both)])
        self.succeeds("train", "job.toml", "--out", "by-hand", "--quiet")
        finals = [json.loads((self.folder / out / "result.json").read_text())["objective"]["final"]
                  for out in ("taken", "found", "by-hand")]
        for final in finals:
            self.assertAlmostEqual(final, finals[-1], delta=1e-6)

    def test_bytes_of_an_id_pair(self):
        self.tables()
        found = self.align()
        pairs = min(party["ids"] for party in found["parties"])
        larger = max(party["ids"] for party in found["parties"])
        formula = 48 * found["parties"][0]["ids"] + 32 * found["parties"][1]["ids"] + 4 * found["kept"]
        self.assertLessEqual(found["communication"]["uplink_bytes"], formula + 1000)
        self.assertLessEqual(formula / larger, 110)
        self.assertGreater(pairs, 0)

    def test_a_private_run_says_that_the_alignment_is_outside_its_claim(self):
        self.tables()
        private = ("--set", "privacy.epsilon=4", "--set", "labels.public=true", "--set", "algorithm.iterations=2")
        said = {}
        for align in ("ids", "given"):
            if align == "given":
                rows = {name: rows_of(name) for name in self.kept}
                for name, (header, all_rows) in rows.items():
                    with open(self.folder / f"{name}.csv", "w", newline="") as file:
                        csv.writer(file).writerows([header, *all_rows])
            self.succeeds("train", "job.toml", "--set", f"secure.align={align}", *private, "--out", align, "--quiet",
                          "--set", f"privacy.ledger=ledger-{align}")
            said[align] = json.loads((self.folder / align / "result.json").read_text())["privacy"]["statement"]
        self.assertIn("private set intersection", said["ids"])
        self.assertIn("outside this claim", said["ids"])
        self.assertNotIn("private set intersection", said["given"])

    def test_case_blanks_and_duplicates_follow_the_rule(self):
        def change(name, header, rows):
            at = header.index("id")
            if name == "insurer":
                return [[f" {cell.upper()} " if i == at else cell for i, cell in enumerate(row)] for row in rows]
            return rows
        self.tables(change)
        plain = self.align("--count")
        folded = self.align("--count", "--set", "secure.fold_case=true")
        self.assertEqual(folded["parties"][1]["changed"], folded["parties"][1]["ids"])
        self.assertGreater(folded["parties"][1]["common_with_first"], 0)
        self.assertGreaterEqual(folded["parties"][1]["common_with_first"], plain["parties"][1]["common_with_first"])
        self.tables(lambda name, header, rows: [*rows, rows[0]] if name == "clinic" else rows)
        self.refuses("align", "job.toml", says="1 record whose id an earlier one has")
        self.assertEqual(self.align("--set", "secure.duplicates=first")["parties"][0]["repeated"], 1)

    def test_counting_writes_nothing(self):
        self.tables()
        found = self.align("--count")
        self.assertEqual(found["parties"][1]["common_with_first"], len(set(self.kept["clinic"]) & set(self.kept["insurer"])))
        self.assertNotIn("kept", found)
        self.assertFalse((self.folder / "orders").exists())

    def test_left_orders_say_what_is_missing_and_do_not_train(self):
        self.tables()
        found = self.align("--left")
        self.assertEqual(found["kept"], len(self.kept["clinic"]))
        gaps = [row is None for row in self.order(self.folder / "orders" / "insurer.order")]
        self.assertEqual(sum(gaps), len(set(self.kept["clinic"]) - set(self.kept["insurer"])))
        orders = [part for name in self.kept for part in ("--set", f"party.{name}.order=orders/{name}.order")]
        self.refuses("train", "job.toml", "--set", "secure.align=orders", *orders, says="has no partner for")

    def test_what_does_not_fit_together(self):
        self.tables()
        self.align()
        self.refuses("train", "job.toml", "--set", "secure.align=orders", says="this one has none")
        orders = [part for name in self.kept for part in ("--set", f"party.{name}.order=orders/{name}.order")]
        first = (self.folder / "orders" / "clinic.order").read_text()
        self.align()
        second = self.folder / "orders" / "clinic.order"
        second.write_text(first)
        self.refuses("train", "job.toml", "--set", "secure.align=orders", *orders,
                     says="its record ids are not those of 'clinic' in the same order")
        text = (self.folder / "clinic.csv").read_text().splitlines()
        (self.folder / "clinic.csv").write_text("\n".join([text[0], *reversed(text[1:])]) + "\n")
        self.refuses("train", "job.toml", "--set", "secure.align=orders", *orders, says="is not the table that the order")
        self.refuses("align", "job.toml", "--left", "--count", says="contradicts")
        self.refuses("align", "job.toml", "--listen", "127.0.0.1:0", says="belong together")
        self.refuses("train", "job.toml", "--set", "secure.find=common", says="is for parley align")


class AtSites(Tables, FederationTest):
    PARTIES = ("clinic", "insurer")

    def joined(self, name, limits="alignment = true\n", order=None):
        site = self.site(name, limits=limits, data=f"../{name}.csv", schema=f"{EXAMPLE}/{name}.schema.toml")
        if order:
            site.write_text(site.read_text().replace("[data]\n", f'[data]\norder = "{order}"\n'))
        return self.spawn("join", site, "--once")

    def listening(self, *command):
        process = self.spawn(*command, "--listen", f"127.0.0.1:{self.port}", "--tls", "keys")
        for line in process.stderr:
            if "listening on port" in line:
                self.port = int(line.split("port ")[1].split()[0])
                return process
        self.fail("it does not listen")

    def test_sites_find_what_they_have_in_common_and_train_on_it(self):
        job = self.tables()
        coordinator = self.listening("align", job, "--json")
        daemons = [self.joined(name) for name in self.PARTIES]
        found = json.loads(coordinator.communicate(timeout=60)[0])
        for daemon in daemons:
            self.finish(daemon)
        both = set(self.kept["clinic"]) & set(self.kept["insurer"])
        self.assertEqual(found["kept"], len(both))
        orders = {name: next((self.folder / name / "state" / "orders").glob("*.order")) for name in self.PARTIES}
        rows = {name: [self.kept[name][row] for row in self.order(path)] for name, path in orders.items()}
        self.assertEqual(rows["clinic"], rows["insurer"])
        for name, path in orders.items():
            self.assertEqual(path.stat().st_mode & 0o077, 0, "for its owner alone")
            self.assertIn("is an alignment", self.account(name))
        limits = "public_labels = true\n"
        run = self.coordinate(job, "out", "--set", "secure.align=orders", "--set", "algorithm.iterations=5")
        daemons = [self.joined(name, limits, orders[name]) for name in self.PARTIES]
        self.finish(run)
        for daemon in daemons:
            self.finish(daemon)

    def test_a_site_that_does_not_allow_it_tells_nothing(self):
        job = self.tables()
        coordinator = self.listening("align", job, "--json")
        daemons = [self.joined("clinic"), self.joined("insurer", "")]
        coordinator.wait(timeout=60)
        self.assertEqual(coordinator.returncode, 1)
        self.assertIn("limits.alignment", self.account("insurer"))
        for daemon in daemons:
            daemon.kill()


if __name__ == "__main__":
    unittest.main()
