"""`parley plan` of several parties against the run that it foretells, and `parley train --baselines`."""
import json
import unittest

from parley_cli import CliTest

PRIVATE = ("privacy.epsilon=2", "privacy.delta=1e-5")
BALL = ("model.l2=0", "model.intercept=none", "model.l1_radius=4")


def sets(*settings):
    return [part for setting in settings for part in ("--set", setting)]


class PlanAcross(CliTest):
    def setUp(self):
        super().setUp()
        self.job = self.example("clinic-and-insurer") / "job.toml"

    def planned(self, *settings):
        plan = self.json_of("plan", self.job, *sets(*settings))
        self.assertIn("party", self.succeeds("plan", self.job, *sets(*settings)).stdout)
        self.assertFalse((self.job.parent / "ledger").exists(), "nothing is charged")
        return plan

    def trained(self, *settings):
        self.succeeds("train", self.job, "--out", "out", "--overwrite", "--quiet", *sets(*settings))
        return json.loads((self.folder / "out" / "result.json").read_text())

    def test_bytes_and_rounds_are_those_of_the_run(self):
        """Runs that go on to their last round: at most a tenth more is foretold than is sent, and never less."""
        for settings in (("algorithm.iterations=40", "algorithm.tolerance=0"),
                         ("algorithm.name=vertical-sgd", "algorithm.iterations=40", "algorithm.batch=50"),
                         ("algorithm.name=masked-descent", "algorithm.iterations=20", "algorithm.tolerance=0"),
                         ("algorithm.name=bcfw", "algorithm.iterations=3", "algorithm.offset=true", *BALL),
                         ("algorithm.name=dfw", "algorithm.iterations=3", "algorithm.sketch=40", *BALL),
                         ("algorithm.name=pride", "algorithm.iterations=10", "algorithm.sketch=40", *BALL)):
            with self.subTest(settings=settings):
                plan, sent = self.planned(*settings), self.trained(*settings)["communication"]
                self.assertGreaterEqual(plan["rounds"], sent["rounds"])
                for way in ("uplink_bytes", "downlink_bytes"):
                    self.assertGreaterEqual(plan["communication"][way], sent[way], way)
                    again = any(name in settings for name in ("algorithm.name=bcfw", "algorithm.name=dfw"))
                    slack = 2.5 if again else 1.1  # a column that is picked again is not sent again
                    self.assertLessEqual(plan["communication"][way], slack * sent[way], way)
                self.assertIsNone(plan["privacy"])
                self.assertGreater(plan["memory_bytes"], 0)

    def test_cost_is_that_of_the_run(self):
        for settings in (("labels.public=true", "algorithm.iterations=3", *PRIVATE),
                         ("labels.privacy=laplace", "labels.epsilon=0.5", "algorithm.iterations=3", *PRIVATE),
                         ("labels.privacy=randomised-response", "labels.epsilon=1"),
                         ("labels.public=true", "algorithm.name=bcfw", "algorithm.iterations=3", *BALL, *PRIVATE)):
            with self.subTest(settings=settings):
                plan = self.planned(*settings)
                ran = self.trained(*settings, f"privacy.ledger={self.folder / str(abs(hash(settings)))}", *(
                    () if "privacy.epsilon=2" in settings else ("privacy.epsilon=1", "privacy.unit=label")))["privacy"]
                self.assertEqual(plan["privacy"]["unit"], ran["unit"])
                self.assertAlmostEqual(plan["privacy"]["epsilon"], ran["epsilon"], places=9)
                self.assertLessEqual(plan["privacy"]["epsilon"], 2.0)
                self.assertEqual(plan["simulation"]["covered"], False)

    def test_says_in_words_when_a_job_cannot_work(self):
        loud = self.planned("labels.public=true", "algorithm.iterations=50", *PRIVATE)
        self.assertTrue(any("cannot work" in warning and "on every value" in warning for warning in loud["warnings"]))
        self.job.write_text(self.job.read_text().replace("iterations = 2000\n", ""))  # steps by the rule
        few = self.planned("labels.public=true", "algorithm.name=bcfw", *BALL, "privacy.epsilon=0.01", "privacy.delta=1e-5")
        self.assertTrue(any("cannot work" in warning and "records" in warning for warning in few["warnings"]))
        chance = self.planned("labels.public=true", "algorithm.name=bcfw", "algorithm.iterations=50", *BALL,
                              "privacy.epsilon=0.5", "privacy.delta=1e-5")
        self.assertTrue(any("by chance" in warning for warning in chance["warnings"]))

    def test_shows_what_sketches_save_and_cost(self):
        plan = self.planned("algorithm.name=bcfw", "algorithm.iterations=30", *BALL)
        rows = plan["sketches"]
        self.assertEqual(rows[-1]["sketch"], 0)
        for one, other in zip(rows, rows[1:]):
            self.assertLess(one["uplink_bytes"] if other["sketch"] else 0, other["uplink_bytes"])
            self.assertGreater(one["scores_grow_by"], other["scores_grow_by"])

    def test_parties_with_records(self):
        job = self.example("hospitals") / "job.toml"
        plan = self.json_of("plan", job)
        self.succeeds("train", job, "--out", "hospitals-out", "--quiet")
        sent = json.loads((self.folder / "hospitals-out" / "result.json").read_text())["communication"]
        self.assertEqual(plan["rounds"], sent["rounds"])
        for way in ("uplink_bytes", "downlink_bytes"):
            self.assertGreaterEqual(plan["communication"][way], sent[way])
            self.assertLessEqual(plan["communication"][way], 1.25 * sent[way])


class Baselines(CliTest):
    def compared(self, example, *settings):
        job = self.example(example) / "job.toml"
        job.write_text("".join(line for line in job.read_text().splitlines(True) if not line.startswith("sparsity")))
        said = self.succeeds("train", job, "--baselines", "--out", "out", "--quiet", *sets(*settings)).stdout
        result = json.loads((self.folder / "out" / "result.json").read_text())
        return said, result, {baseline["name"]: baseline for baseline in result["baselines"]}

    def test_parties_with_columns(self):
        said, result, beside = self.compared("clinic-and-insurer", "algorithm.iterations=3000")
        self.assertEqual(list(beside), ["clinic", "insurer", "all data in one place"])
        pooled = beside["all data in one place"]["objective"]["final"]
        self.assertAlmostEqual(result["objective"]["final"], pooled, places=8)
        for alone in ("clinic", "insurer"):
            self.assertGreater(beside[alone]["objective"]["final"], pooled + 0.001, "neither has what the other has")
        for baseline in beside.values():
            self.assertEqual(baseline["metrics"]["test"]["rows"], 100)
        self.assertIn("clinic alone", said)

    def test_parties_with_records(self):
        _, result, beside = self.compared("hospitals", "algorithm.name=fedavg", "algorithm.iterations=3")
        self.assertEqual(len(beside), 4)
        for baseline in beside.values():
            self.assertEqual(baseline["metrics"]["train"]["rows"], result["metrics"]["train"]["rows"], "measured on all rows")

    def test_is_for_open_jobs_of_several_parties(self):
        job = self.example("clinic-and-insurer") / "job.toml"
        for settings, says in ((("labels.public=true", *PRIVATE), "privacy: baselines are trained on the data as they are"),
                               (("labels.privacy=laplace", "labels.epsilon=1"), "baselines are trained on the data as they are")):
            self.refuses("train", job, "--baselines", "--out", "out", *sets(*settings), says=says)
        self.refuses("train", self.example("readmission") / "job.toml", "--baselines", says="jobs of several parties")
        self.refuses("train", self.example("hospitals") / "job.toml", "--baselines", says="model.sparsity")


if __name__ == "__main__":
    unittest.main()
