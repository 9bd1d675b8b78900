#!/usr/bin/env python3
"""Hard thresholding over clients: the tables of Tong et al.'s figures, and MPI beside a hand-written loop.

Writes markdown on stdout; `federated.py data` writes the sets of Figure 6 only, `federated.py data mnist news20` some
of them. These need the reference data ($PARLEY_SHARED or ../shared): MNIST is cut to its first 6,000 images, rcv1 to
the thousand rows that are there, and news20 (ten of its classes against the other ten) is the nearest to rcv1 that is
there whole. E2006-tfidf is not to be had: drawn rows of its shape take its place.
"""
import lzma
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

import peers

peers.use(["scikit-learn"], ["sklearn"])

import scipy.sparse
from sklearn.cluster import KMeans

import exact_sparse_data as data

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("PARLEY_BENCH_BUILD", ROOT / "build"))
SHARED = pathlib.Path(os.environ.get("PARLEY_SHARED", ROOT.parent / "shared"))
DRIVER = BUILD / "bench" / "federated_driver"


def table(title, *arguments):
    print(f"\n## {title}\n", flush=True)
    print(
        subprocess.run([str(DRIVER), *map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True).stdout,
        end="")


def idx(name):
    raw = lzma.open(SHARED / "data/mnist" / name).read()
    dimensions = raw[3]
    shape = struct.unpack(f">{dimensions}I", raw[4:4 + 4 * dimensions])
    return shape, raw[4 + 4 * dimensions:]


def mnist(folder, images=6000):
    """Each digit in 20 parts; every client takes a part of two digits."""
    (_, rows, columns), pixels = idx("train-images-idx3-ubyte.xz")
    _, labels = idx("train-labels-idx1-ubyte.xz")
    size = rows * columns
    lines = []
    for i in range(images):
        image = pixels[i * size:(i + 1) * size]
        lines.append(f"{labels[i]} " + " ".join(f"{j + 1}:{v / 255:.4g}" for j, v in enumerate(image) if v))
    return write(folder, "mnist", lines, [labels[i] for i in range(images)])


def clustered(folder, name, rows, labels):
    """Ten clusters by k-means, as in the paper; then as above."""
    short = scipy.sparse.csr_matrix((rows.data, rows.indices.astype("int32"), rows.indptr.astype("int32")), rows.shape)
    clusters = KMeans(10, n_init=3, random_state=1).fit_predict(short)
    rows.sort_indices()
    lines = []
    for i, label in enumerate(labels):
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        lines.append(f"{label:+d} " + " ".join(f"{c + 1}:{v:.6g}" for c, v in zip(rows.indices[part], rows.data[part])))
    return write(folder, name, lines, clusters.tolist())


def rcv1(folder):
    rows, labels = data.libsvm(SHARED / "data/rcv1_small/rcv1_small.xz", 47236)
    return clustered(folder, "rcv1", rows, labels.astype(int))


def news20(folder):
    rows, labels = data.news20(SHARED)
    return clustered(folder, "news20", rows, labels.astype(int))


def e2006_shaped(folder, rows=2000, columns=15000, topics=10):
    """Drawn: rows of unit length over words of Zipf's frequencies, each row about one of ten topics that have words of
    their own; the target is linear in 200 words, with noise a tenth of its spread."""
    draw = random.Random(3)
    weights = [1 / (c + 10) for c in range(columns)]
    words = list(range(columns))
    truth = {c: draw.gauss(0, 1) for c in draw.choices(words, weights, k=400)[:200]}
    lines, groups = [], []
    for _ in range(rows):
        topic = draw.randrange(topics)
        chosen = set(draw.choices(words, weights, k=90))
        chosen |= {(c * topics + topic) % columns for c in draw.choices(words, weights, k=30)}
        values = {c: draw.uniform(0.5, 1.5) for c in chosen}
        length = sum(v * v for v in values.values()) ** 0.5
        target = 5 * sum(truth.get(c, 0) * v / length for c, v in values.items()) + draw.gauss(0, 0.3)
        lines.append(f"{target:.5f} " + " ".join(f"{c + 1}:{values[c] / length:.5f}" for c in sorted(values)))
        groups.append(topic)
    return write(folder, "e2006", lines, groups)


def write(folder, name, lines, groups):
    draw = random.Random(2)
    parts = {}
    for group in sorted(set(groups)):
        members = [i for i, g in enumerate(groups) if g == group]
        draw.shuffle(members)
        parts[group] = [members[p::20] for p in range(20)]
    queue = [(group, p) for group in parts for p in range(20) if parts[group][p]]
    draw.shuffle(queue)
    client_of = {}
    for at, (group, p) in enumerate(queue):
        for row in parts[group][p]:
            client_of[row] = at // 2
    (folder / name).write_text("\n".join(lines) + "\n")
    (folder / f"{name}.clients").write_text("\n".join(str(client_of[i]) for i in range(len(lines))) + "\n")
    return folder / name, folder / f"{name}.clients"


if __name__ == "__main__":
    for simulation in ("I", "II") if "data" not in sys.argv else ():
        table(f"Simulation {simulation}: rounds at the same step size (Figure 3)", "rounds", simulation)
        table(f"Simulation {simulation}: each method with its best step, alpha = beta = 0.5", "steps", simulation)
        table(f"Simulation {simulation}: K local steps (Figure 1)", "local", simulation)
        table(f"Simulation {simulation}: non-IID data (Figure 2)", "spread", simulation)
    if (SHARED / "data").is_dir():
        with tempfile.TemporaryDirectory() as scratch:
            for title, made, task, tau in (("MNIST, 6,000 images, 10 classes", mnist, "softmax", 500),
                                           ("rcv1, 1,000 rows", rcv1, "logistic", 200),
                                           ("news20, ten classes against ten", news20, "logistic", 200),
                                           ("Drawn in the shape of E2006-tfidf", e2006_shaped, "linear", 200)):
                if sys.argv[2:] and made.__name__ not in sys.argv[2:]:
                    continue
                file, clients = made(pathlib.Path(scratch))
                table(f"{title} (Figure 6)", "data", file, task, tau, clients, 10, 30, 100)
