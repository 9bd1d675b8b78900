# labels: slow
"""Jobs whose outputs were recorded: the same job and seed give the same bytes in every later version, unless a change
says why not.

recorded.json holds a digest of each job's model files, of its result (no times, paths or version) and of its ledger's
entries. It was written with the kernels that every machine has (PARLEY_CPU=baseline); the C library's exp and log use
fused operations where the processor has them, so that a processor without them skips. `python3 recorded_test.py
--record` writes it anew; name the reason in the commit.
"""
import hashlib
import json
import os
import pathlib
import shutil
import sys
import unittest

import parley_cli
from parley_cli import SOURCE, CliTest

RECORDED = pathlib.Path(__file__).resolve().parent / "recorded.json"
VOLATILE = {
    "version", "time", "path", "ledger", "seconds", "read_seconds", "wait_seconds", "total_seconds", "compute_seconds"
}
PRIVATE = ["privacy.epsilon=2.0", "privacy.delta=1e-5"]
EXAMPLES = {
    "logistic": "readmission/job.toml", "ball": "readmission/ball.toml", "private": "readmission/private.toml",
    "rows": "hospitals/job.toml", "private rows": "hospitals/private.toml", "columns": "clinic-and-insurer/job.toml"
}

# name -> (example, settings; "-key": without the line of that key)
JOBS = {
    "exact, l1": ("logistic", []),
    "exact, l2": ("logistic", ["model.l1=0.0", "model.l2=0.01"]),
    "exact, squared hinge": ("logistic", ["job.task=squared-hinge"]),
    "exact, softmax": ("logistic", ["job.task=softmax", "labels.positive=", "model.l2=0.01", "model.l1=0.0"]),
    "exact, ball": ("ball", []),
    "frank-wolfe": ("ball", ["algorithm.name=frank-wolfe", "algorithm.iterations=200"]),
    "frank-wolfe, private": ("private", []),
    "frank-wolfe, private, squared hinge": ("private", ["job.task=squared-hinge"]),
    "frank-wolfe, private, paper": ("private", ["privacy.calibration=paper"]),
    "greedy-cd": ("logistic", ["algorithm.name=greedy-cd", "-intercept"]),
    "greedy-cd, private": ("private", ["algorithm.name=greedy-cd", "-l1_radius", "model.l2=0.01"]),
    "coordinate-descent": ("logistic", ["algorithm.name=coordinate-descent", "-intercept"]),
    "coordinate-descent, private": ("private", ["algorithm.name=coordinate-descent", "-l1_radius", "model.l2=0.01"]),
    "sgd": ("logistic",
            ["algorithm.name=sgd", "-intercept", "algorithm.iterations=50", "model.l1=0.0", "model.l2=0.01"]),
    "sgd, private": ("private", ["algorithm.name=sgd", "-l1_radius", "model.l2=0.01"]),
    "sgd, add-remove": ("private", [
        "algorithm.name=sgd", "-l1_radius", "model.l2=0.01", "privacy.neighbours=add-remove", "privacy.records=1500",
        "data.test_fraction=0"
    ]),
    "fed-iter-ht": ("rows", []),
    "fed-ht": ("rows", ["algorithm.name=fed-ht"]),
    "distributed-iht": ("rows", ["algorithm.name=distributed-iht"]),
    "fedavg": ("rows", ["algorithm.name=fedavg", "-sparsity"]),
    "fed-iter-ht, private": ("private rows", []),
    "fedavg, private": ("private rows", ["algorithm.name=fedavg", "-sparsity"]),
    "fed-ht, clients": ("private rows", ["algorithm.name=fed-ht", "privacy.unit=client", "algorithm.clip=0.5"]),
    "admm-sharing": ("columns", []),
    "admm-sharing, private": ("columns", ["algorithm.iterations=5", "labels.public=true", *PRIVATE]),
    "bcfw": ("columns", ["algorithm.name=bcfw", "-l2", "model.l1_radius=4.0", "algorithm.iterations=50"]),
    "bcfw, private": ("columns", [
        "algorithm.name=bcfw", "-l2", "-intercept", "model.l1_radius=4.0", "algorithm.iterations=5",
        "algorithm.sketch=30", "algorithm.share=0.5", "labels.public=true", *PRIVATE
    ]),
    "dfw": ("columns", ["algorithm.name=dfw", "-l2", "model.l1_radius=4.0", "algorithm.iterations=50"]),
    "admm-sharing, private, parts kept": ("columns", [
        "algorithm.iterations=5", "labels.public=true", "model.keep_parts=true", *PRIVATE
    ]),
}


def steady(value):
    """Without what changes from run to run."""
    if isinstance(value, dict):
        return {key: steady(one) for key, one in value.items() if key not in VOLATILE}
    return [steady(one) for one in value] if isinstance(value, list) else value


def digest(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


class Recorded(CliTest):
    def outputs(self, name):
        example, settings = JOBS[name]
        out = self.folder / name.replace(" ", "-").replace(",", "")
        set_to = ["algorithm.seed=7", *(setting for setting in settings if not setting.startswith("-"))]
        left_out = {setting[1:] for setting in settings if setting.startswith("-")}
        arguments = [part for setting in set_to for part in ("--set", setting)]
        lines = (SOURCE / "examples" / EXAMPLES[example]).read_text().splitlines()
        text = "\n".join(line for line in lines if line.split("=")[0].strip() not in left_out)
        folder = self.folder / "jobs" / pathlib.Path(EXAMPLES[example]).parent
        if not folder.exists():
            shutil.copytree(SOURCE / "examples" / folder.name, folder)
        job = folder / "recorded.toml"
        job.write_text(text)
        if "privacy" in text or PRIVATE[0] in settings:
            arguments += ["--set", f"privacy.ledger={out / 'ledger'}"]
        done = self.run_parley("train", job, "--out", out, "--quiet", "--threads", "1", *arguments)
        if done.returncode != 0:
            return {"refused": done.stderr.strip().split(": ", 1)[-1].replace(str(self.folder), "")}
        models = sorted(out.rglob("model.json"))
        found = {"model": digest([steady(json.loads(path.read_text())) for path in models]),
                 "result": digest(steady(json.loads((out / "result.json").read_text().replace(str(self.folder), ""))))}
        if (out / "ledger").exists():
            entries = json.loads(self.succeeds("ledger", "show", out / "ledger", "--json").stdout)
            found["ledger"] = digest(self.paid(entries))
        return found

    def paid(self, entries):
        """What was charged for what, without run names and times."""
        if isinstance(entries, dict):
            return {
                key: self.paid(one)
                for key, one in entries.items() if key in ("entries", "kind", "data_set", "epsilon", "delta", "plan",
                                                           "neighbours", "unit", "events", "steps")
            }
        return [self.paid(one) for one in entries] if isinstance(entries, list) else entries

    def setUp(self):
        super().setUp()
        os.environ["PARLEY_CPU"] = "baseline"
        self.addCleanup(os.environ.pop, "PARLEY_CPU", None)

    def test_the_same_job_and_seed_give_the_recorded_bytes(self):
        flags = pathlib.Path("/proc/cpuinfo")
        if not flags.exists() or " fma " not in flags.read_text():
            self.skipTest("this processor has no fused operations; the C library's exp and log then round differently")
        recorded = json.loads(RECORDED.read_text())
        self.assertEqual(sorted(recorded), sorted(JOBS))
        for name in JOBS:
            with self.subTest(job=name):
                self.assertEqual(self.outputs(name), recorded[name])


def record():
    case = Recorded("outputs")
    case.setUp()
    found = {name: case.outputs(name) for name in JOBS}
    case.doCleanups()
    RECORDED.write_text(json.dumps(found, indent=1) + "\n")
    for name, each in found.items():
        if "refused" in each:
            print(name, each)


if __name__ == "__main__":
    if "--record" in sys.argv:
        parley_cli.BINARY = os.environ.get("PARLEY", parley_cli.BINARY)
        record()
    else:
        unittest.main()
