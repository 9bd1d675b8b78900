# labels: slow
"""One job of each algorithm of several parties, three ways to run it: in one process, as daemons over gRPC, as ranks of
an MPI program. The same seed gives the same model bytes, the same traffic and the same ledger entries. Over MPI the
first algorithm of each partition, and with PARLEY_LONG=1 every one."""
import json
import os
import shutil
import subprocess
import unittest

from daemons import LABELS_STAY, NEED_PINS, FederationTest, of_several_parties
from parley_cli import BINARY

LONG = bool(os.environ.get("PARLEY_LONG"))
PRIVACY = "[privacy]\nepsilon = 2.0\ndelta = 1e-5\n"
LIMITS = "epsilon = 2.0\ndelta = 1e-5\npublic_labels = true\n"
CLIENTS = PRIVACY + 'unit = "client"\n'


def cases(partition, privacies):
    """Algorithm, its [privacy] section, whether over MPI also in the short run."""
    listed = of_several_parties(partition)
    return [(algorithm, privacy, algorithm is listed[0])
            for privacy in privacies for algorithm in listed
            if not privacy or (algorithm.private and algorithm.name not in NEED_PINS)]


class Parity(FederationTest):
    def ledger(self, out, private):
        return ("--set", f"privacy.ledger={self.folder / out / 'ledger'}") if private else ()

    def over_mpi(self, job, private):
        done = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(len(self.PARTIES)), BINARY, "train", str(job),
                               "--transport", "mpi", "--threads", "1", "--out", "ranks", *self.ledger("ranks", private)],
                              cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)

    def mpi(self):
        if shutil.which("mpirun") is None:
            return False
        help_text = self.run_parley("train", "--help").stdout
        return "mpi" in help_text

    def same_report(self, one, other, private):
        """Everything but time and what only a simulation knows."""
        one, other = self.result(one), self.result(other)
        for key in ("uplink_bytes", "downlink_bytes", "rounds", "per_party"):
            self.assertEqual(one["communication"][key], other["communication"][key], key)
        self.assertEqual((one["rounds"], one["stop_reason"]), (other["rounds"], other["stop_reason"]))
        if private:
            for key in one["privacy"]:
                if key != "ledger":
                    self.assertEqual(one["privacy"][key], other["privacy"][key], key)

    def same_ledger(self, party, where):
        here = [entry for entry in self.entries(self.folder / "here" / "ledger") if entry["data_set"] == party]
        self.assertEqual([entry["kind"] for entry in here], ["budget", "void-plan"])
        self.assertEqual(self.entries(where), here)

    def clean(self):
        for name in ("here", "out", "ranks", *(f"{party}/state" for party in self.PARTIES)):
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def check(self, job, private, over_mpi, sites, algorithm=None):
        self.clean()
        self.trained_here(job, "here", *self.ledger("here", private), algorithm=algorithm)
        coordinator = self.coordinate(job)
        daemons = [self.join(name, **{"limits": LIMITS, **sites[name]}) for name in self.PARTIES]
        self.finish(coordinator)
        for daemon in daemons:
            self.finish(daemon)
        self.same_report("here", "out", private)
        if private:
            for party in self.PARTIES:
                self.same_ledger(party, self.folder / party / "state" / "ledger")
        if not (over_mpi or LONG) or not self.mpi():
            return
        self.over_mpi(job, private)
        self.same_report("here", "ranks", private)
        for model in (self.folder / "here").rglob("model.json"):
            self.assertEqual(model.read_bytes(), (self.folder / "ranks" / model.relative_to(self.folder / "here")).read_bytes(), model)
        if private:
            for party in self.PARTIES:
                self.same_ledger(party, self.folder / "ranks" / "ledger" / party)


class Rows(Parity):
    PARTIES = ("north", "south")

    def test_parties_with_records(self):
        for algorithm, privacy, over_mpi in cases("horizontal", ("", PRIVACY, CLIENTS)):
            with self.subTest(algorithm=algorithm.name, privacy=privacy):
                job = self.job_for(algorithm, 4, privacy)
                limits = LIMITS + ('unit = "client"\n' if privacy == CLIENTS else "")
                self.check(job, privacy, over_mpi, {name: {"limits": limits} for name in self.PARTIES}, algorithm)
                self.assertEqual(self.model("here"), self.model("out"))

    def test_listed_classes_keep_their_order(self):
        for private in ("", PRIVACY):
            with self.subTest(private=private):
                job = self.split_by_rows(rounds=3, extra=private)
                job.write_text(job.read_text().replace('[labels]\n', '[labels]\nclasses = ["yes", "no"]\n'))
                self.check(job, private, True, {name: {} for name in self.PARTIES})
                self.assertEqual(self.model("here"), self.model("out"))
                self.assertEqual(json.loads(self.model("here"))["classes"], ["yes", "no"])


class Parts(Parity):
    def check_parts(self, partition, secret=None):
        for algorithm, privacy, over_mpi in cases(partition, ("", PRIVACY)):
            with self.subTest(algorithm=algorithm.name, privacy=privacy):
                job = self.job_for(algorithm, 12, privacy)
                sites = {name: {**self.columns_of(name), "secret": secret} for name in self.PARTIES}
                self.check(job, privacy, over_mpi, sites, algorithm)
                for p, kept in enumerate(self.kept_parts()):
                    self.assertEqual(list(kept.parents[1].rglob("model.json")), [kept])
                    here = self.folder / "here" / f"part-{p + 1}" / "model.json"
                    self.assertEqual(self.part(kept), self.part(here), kept)
                    if not privacy:
                        run, job_run = (json.loads(path.read_text())["provenance"]["run"] for path in (kept, here))
                        self.assertEqual(kept.read_text(), here.read_text().replace(job_run, run), "but for the run's id")


class Columns(Parts):
    PARTIES = ("clinic", "insurer")

    def test_parties_with_columns(self):
        self.check_parts("vertical")

    def test_what_is_public_is_drawn_alike_without_a_seed(self):
        """Sketches, samplings and batches, which a seed in the job would decide: everybody must have the same."""
        for algorithm, model, settings in (("bcfw", "l1_radius = 4.0\n", "sketch = 40\n"),
                                           ("bcfw", "l1_radius = 4.0\n", 'sampling = "tau-nice"\nblocks = "coordinates"\ntau = 3\n'),
                                           ("vertical-sgd", "l2 = 0.001\n", "batch = 60\n")):
            with self.subTest(algorithm=algorithm, settings=settings):
                job = self.split_by_columns(12, "", algorithm, model, settings)
                job.write_text(job.read_text().replace("seed = 7\n", ""))
                self.check(job, "", False, {name: self.columns_of(name) for name in self.PARTIES})
                for p, kept in enumerate(self.kept_parts()):
                    self.assertEqual(self.part(kept), self.part(self.folder / "here" / f"part-{p + 1}" / "model.json"))

    # Every job of noisy labels, its site limits of the party with the labels, and those of the other.
    NOISY = (('[privacy]\nepsilon = 1.0\ndelta = 1e-5\nunit = "label"\n', "", 'unit = "label"\n' + "epsilon = 1.0\ndelta = 1e-5\n", ""),
             (PRIVACY, "epsilon = 0.5\n", "epsilon = 2.0\ndelta = 1e-5\n", "epsilon = 2.0\ndelta = 1e-5\n"))

    def test_labels_that_leave_with_noise(self):
        """Labels of a site that says public_labels = false, in words that no site needs to say."""
        for privacy, share, clinic, insurer in self.NOISY:
            for algorithm in of_several_parties("vertical"):
                if share and not algorithm.private or algorithm.name in LABELS_STAY:
                    continue
                for noise in ("randomised-response", "laplace"):
                    with self.subTest(algorithm=algorithm.name, unit="record" if share else "label", noise=noise):
                        job = self.job_for(algorithm, 8, privacy if share else "")
                        text = job.read_text().replace("public = true\n", "")
                        text = text.replace("[labels]\n", f'[labels]\nprivacy = "{noise}"\n{share}')
                        job.write_text(text if share else text + privacy)
                        sites = {name: {**self.columns_of(name), "limits": limits}
                                 for name, limits in (("clinic", clinic), ("insurer", insurer))}
                        self.check_labels(job, bool(share), sites, algorithm, noise == "laplace")

    def check_labels(self, job, records, sites, algorithm, over_mpi):
        self.clean()
        self.trained_here(job, "here", *self.ledger("here", True), algorithm=algorithm)
        coordinator = self.coordinate(job)
        daemons = [self.join(name, **sites[name]) for name in self.PARTIES]
        self.finish(coordinator)
        for daemon in daemons:
            self.finish(daemon)
        self.same_report("here", "out", True)
        self.same_ledger("clinic", self.folder / "clinic" / "state" / "ledger")
        if records:
            self.same_ledger("insurer", self.folder / "insurer" / "state" / "ledger")
        else:
            self.assertEqual(self.plans("insurer"), 0, "it has nothing to pay for")
        for p, kept in enumerate(self.kept_parts()):
            self.assertEqual(self.part(kept), self.part(self.folder / "here" / f"part-{p + 1}" / "model.json"))
        if (over_mpi or LONG) and self.mpi():
            self.over_mpi(job, True)
            self.same_report("here", "ranks", True)

    def test_a_site_says_whether_its_labels_leave_and_how(self):
        """A budget for records is none for labels, and the other way round; features that leave need the site's word."""
        job = self.split_by_columns(4)
        job.write_text(job.read_text().replace("[labels]\n", '[labels]\nprivacy = "laplace"\nepsilon = 1.0\n'))
        budget = "epsilon = 1.0\ndelta = 1e-5\n"
        for clinic, insurer, says in (({"limits": budget}, {}, "limits.unit"),
                                      ({"limits": budget + 'unit = "label"\n', "without_privacy": "false"}, {}, "limits.without_privacy"),
                                      ({"limits": budget + 'unit = "label"\n'}, {"without_privacy": "false"}, "limits.without_privacy")):
            self.clean()
            coordinator = self.coordinate(job)
            daemons = [self.join(name, **{**self.columns_of(name), **more}) for name, more in (("clinic", clinic), ("insurer", insurer))]
            self.finish(coordinator, 1)
            for daemon in daemons:
                daemon.kill()
                daemon.wait()
            self.assertIn(says, self.account("clinic") + self.account("insurer"))
            self.assertEqual(self.plans("clinic"), 0)


class Tables(Parts):
    PARTIES = ("ratings", "users", "films")

    def test_parties_with_tables(self):
        self.check_parts("relational", secret="../secret")

    def test_labels_of_tables_that_leave_with_noise(self):
        privacy, _, ratings, _ = Columns.NOISY[0]
        for algorithm in of_several_parties("relational"):
            for noise in ("randomised-response", "laplace"):
                with self.subTest(algorithm=algorithm.name, noise=noise):
                    self.clean()
                    job = self.job_for(algorithm, 8)
                    job.write_text(job.read_text().replace("[labels]\n", f'[labels]\nprivacy = "{noise}"\n') + privacy)
                    self.trained_here(job, "here", *self.ledger("here", True), algorithm=algorithm)
                    coordinator = self.coordinate(job)
                    daemons = [self.join(name, limits=ratings if name == "ratings" else "", secret="../secret", **self.columns_of(name))
                               for name in self.PARTIES]
                    self.finish(coordinator)
                    for daemon in daemons:
                        self.finish(daemon)
                    self.same_report("here", "out", True)
                    self.same_ledger("ratings", self.folder / "ratings" / "state" / "ledger")
                    self.assertEqual((self.plans("users"), self.plans("films")), (0, 0), "they have nothing to pay for")
                    for p, kept in enumerate(self.kept_parts()):
                        self.assertEqual(self.part(kept), self.part(self.folder / "here" / f"part-{p + 1}" / "model.json"))


if __name__ == "__main__":
    unittest.main()
