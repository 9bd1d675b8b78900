"""Threads that wait hold no core: beside other work the default number of threads takes no more of the processor than
one thread. How long it takes is measured by bench/threads.py."""
import os
import random
import resource
import subprocess
import sys
import unittest

from parley_cli import CliTest

SITES = ("north", "south", "west")
COLUMNS = 20
JOB = """
[job]
name = "together"
partition = "horizontal"
task = "logistic"
[model]
sparsity = 5
[algorithm]
name = "fed-iter-ht"
iterations = 100
local_steps = 3
step = 0.5
seed = 7
[labels]
column = "y"
""" + "".join(f'[[party]]\nname = "{name}"\ndata = "{name}.csv"\nschema = "schema.toml"\n' for name in SITES)


class Waiting(CliTest):
    def setUp(self):
        super().setUp()
        self.write("job.toml", JOB)
        self.write(
            "schema.toml",
            "".join(f'[[column]]\nname = "x{j}"\ntype = "number"\nbound = 1\n'
                    for j in range(COLUMNS)) + '[[column]]\nname = "y"\ntype = "label"\nlevels = ["0", "1"]\n')
        for number, name in enumerate(SITES):
            draw = random.Random(number)
            rows = [[round(draw.uniform(-1, 1), 3) for _ in range(COLUMNS)] for _ in range(4000)]
            self.write(
                f"{name}.csv", "\n".join([
                    ",".join([*(f"x{j}"
                                for j in range(COLUMNS)), "y"]), *(",".join(map(str, [*row, int(row[0] > row[1])]))
                                                                   for row in rows)
                ]) + "\n")

    def processor_time(self, *threads):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.succeeds("train", "job.toml", "--out", "out", "--overwrite", "--quiet", *threads)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

    def test_takes_no_processor_time_beside_other_work(self):
        if len(os.sched_getaffinity(0)) == 1:
            self.skipTest("one core has one thread")
        loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in os.sched_getaffinity(0)]
        try:
            one = min(self.processor_time("--threads", 1) for _ in range(3))
            every = min(self.processor_time() for _ in range(3))
        finally:
            for loop in loops:
                loop.kill()
                loop.wait()
        # It was four times as much where they spun.
        self.assertLess(every, 2 * one + 0.05)


if __name__ == "__main__":
    unittest.main()
