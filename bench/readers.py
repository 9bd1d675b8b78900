"""The readers beside scikit-learn, LIBLINEAR and pandas.

    bench/run readers            # builds, then runs this file
    python3 bench/readers.py [--pairs 5] [--sets news20-shape,...]

Every pair runs the peer and Parley one after the other on the same file, warm in the page cache; the ratio of a
pair is the peer's CPU time over ours (with two threads: over our wall time), and the median of the pairs counts. Ours
is the time of load(): text to the finished matrix with its column and row forms, labels mapped. The peers have one
thread; ours is shown with two and with one.

LIBLINEAR's reader is a function inside its command-line program. Its time is that of `liblinear-train` with a
tolerance so loose that the first iterate is accepted, less the time that the same training takes on the same data
in memory (liblinear-official). Peak memory is that of a process that reads the file once, less what it had before.
"""
import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import peers as peer_environment

peer_environment.use(["scikit-learn", "pandas", "liblinear-official"], ["sklearn", "pandas", "liblinear"])
ROOT = peer_environment.ROOT
CACHE = ROOT / "build-bench"


def write_a9a_shape(out):
    draw = random.Random(1)
    for _ in range(130000):
        features = " ".join(f"{j}:1" for j in sorted(draw.sample(range(1, 124), 14)))
        out.write(f"{'+1' if draw.random() < 0.24 else '-1'} {features} \n")


def write_news20_shape(out):
    draw = random.Random(2)
    for _ in range(16000):
        indices = sorted({1 + int(62061 * draw.random() ** 2.5) for _ in range(90)})
        out.write(f"{draw.randint(1, 20)} " + " ".join(f"{j}:{draw.random():.6g}" for j in indices) + "\n")


def write_wide_csv(out):
    draw = random.Random(3)
    out.write("y," + ",".join(f"x{j}" for j in range(100)) + "\n")
    for _ in range(20000):
        row = [draw.gauss(0, 1) for _ in range(100)]
        out.write(f"{int(row[0] > 0)}," + ",".join(map(repr, row)) + "\n")


def write_short_csv(out):
    draw = random.Random(4)
    out.write("y," + ",".join(f"x{j}" for j in range(50)) + "\n")
    for _ in range(60000):
        row = [draw.gauss(0, 1) for _ in range(50)]
        out.write(f"{int(row[0] > 0)}," + ",".join(f"{v:.4f}" for v in row) + "\n")


GENERATED = {
    "a9a-shape": ("libsvm", write_a9a_shape),
    "news20-shape": ("libsvm", write_news20_shape),
    "wide csv with 17 digits": ("csv", write_wide_csv),
    "narrow csv with 4 decimals": ("csv", write_short_csv),
}
SHARED = {"a9a": "a9a/a9a.xz", "news20": "news20/news20.xz", "covtype": "covtype/covtype.libsvm.binary.xz"}


def files(chosen):
    """(name, kind, path), made or unpacked on first use."""
    folder = CACHE / "readers"
    folder.mkdir(parents=True, exist_ok=True)
    for name, (kind, write) in GENERATED.items():
        if chosen and name not in chosen:
            continue
        path = folder / (name.replace(",", "").replace(" ", "_") + "." + kind)
        if not path.exists():
            with open(path, "w") as out:
                write(out)
        yield name, kind, path
    shared = Path(os.environ.get("PARLEY_SHARED", ROOT / "../shared")) / "data"
    for name, packed in SHARED.items():
        if (chosen and name not in chosen) or not (shared / packed).exists():
            continue
        path = folder / (name + ".libsvm")
        if not path.exists():
            with open(path, "wb") as out:
                subprocess.run(["xz", "-dc", shared / packed], stdout=out, check=True)
        yield name, "libsvm", path


def ours(path, threads):
    """Medians of a second to sixth read, as the peer's process has read one to five times before too; memory of the
    first."""
    program = Path(os.environ.get("PARLEY_BENCH_BUILD", ROOT / "build")) / "bench/readers_bench"
    run = subprocess.run([program, path, "classes", str(threads), "6"], check=True, capture_output=True, text=True)
    first, *later = map(json.loads, run.stdout.splitlines())
    return {**first, **{what: statistics.median(read[what] for read in later) for what in ("wall", "cpu")}}


def seconds(action):
    start = time.process_time()
    result = action()
    return time.process_time() - start, result


def sklearn_reader(path):
    from sklearn.datasets import load_svmlight_file
    taken, (features, labels) = seconds(lambda: load_svmlight_file(str(path)))
    return taken, features.shape[0], features.nnz


def pandas_reader(path):
    import pandas
    taken, frame = seconds(lambda: pandas.read_csv(path))
    return taken, len(frame), int((frame.iloc[:, 1:] != 0).sum().sum())


class Liblinear:
    ACCEPT_ALL = ["-s", "0", "-e", "1e30", "-q"]

    def __init__(self):
        self.training = {}

    def train_only(self, path):
        """Median seconds of the same training on data in memory."""
        if path not in self.training:
            from liblinear.liblinear import liblinear, parameter, problem
            from sklearn.datasets import load_svmlight_file
            features, labels = load_svmlight_file(str(path))
            kept = problem(labels, features)
            settings = parameter(" ".join(self.ACCEPT_ALL))
            kept.bias = -1
            self.training[path] = statistics.median(
                seconds(lambda: liblinear.train(kept, settings))[0] for _ in range(5))
        return self.training[path]

    def __call__(self, path):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(["liblinear-train", *self.ACCEPT_ALL, path, "/dev/null"], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return spent - self.train_only(path), None, None


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--pairs", type=int, default=5)
    arguments.add_argument("--sets", default="")
    asked = arguments.parse_args()
    liblinear = Liblinear()
    print(f"{'file':20} {'MB':>6} {'peer':12} {'peer MB/s':>9} {'ours, 2 threads':>16} {'1 thread':>9} "
          f"{'ratio, 2 threads':>17} {'1 thread':>9} {'memory':>7}")
    for name, kind, path in files([s for s in asked.sets.split(",") if s]):
        size = path.stat().st_size / 1e6
        peers = {"scikit-learn": sklearn_reader, "LIBLINEAR": liblinear
                 } if kind == "libsvm" else {"pandas": pandas_reader}
        for peer, read in peers.items():
            read(path)
            pairs = []
            for _ in range(asked.pairs):
                two = ours(path, 2)
                taken, rows, nonzeros = read(path)
                one = ours(path, 1)
                if rows is not None and (rows, nonzeros) != (two["rows"], two["nonzeros"]):
                    sys.exit(
                        f"{name}: {peer} read {rows} rows, {nonzeros} nonzeros; ours {two['rows']}, {two['nonzeros']}")
                pairs.append((taken, two["wall"], one["cpu"],
                              (two["resident_peak"] - two["resident_before"]) / two["matrix_bytes"]))
            middle = [statistics.median(column) for column in zip(*pairs)]
            ratio_two = statistics.median(p[0] / p[1] for p in pairs)
            ratio_one = statistics.median(p[0] / p[2] for p in pairs)
            print(f"{name:20} {size:6.1f} {peer:12} {size / middle[0]:9.0f} {size / middle[1]:11.0f} MB/s "
                  f"{size / middle[2]:9.0f} "
                  f"{ratio_two:16.1f}x {ratio_one:8.1f}x {middle[3]:6.2f}x", flush=True)


main()
