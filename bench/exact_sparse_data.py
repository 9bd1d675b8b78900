"""Data sets of the benchmarks of `exact`, as scipy CSR matrices and +-1 labels, kept under build-bench/data."""
import io
import lzma
from pathlib import Path

import numpy as np
import scipy.sparse as sp


def unit_rows(x):
    norms = np.sqrt(np.asarray(x.multiply(x).sum(axis=1)).ravel())
    return sp.csr_matrix(sp.diags(1 / np.where(norms > 0, norms, 1)) @ x)


def libsvm(path, columns):
    from sklearn.datasets import load_svmlight_file

    with lzma.open(path) as file:
        x, y = load_svmlight_file(io.BytesIO(file.read()), n_features=columns)
    return sp.csr_matrix(x), y


def a9a(shared):
    return libsvm(shared / "data/a9a/a9a.xz", 123)


def news20(shared):
    """Classes 11-20 against 1-10; 1 + log of the counts; unit rows."""
    x, y = libsvm(shared / "data/news20/news20.xz", 62061)
    x.data = 1 + np.log(x.data)
    return unit_rows(x), np.where(y > 10, 1.0, -1.0)


def gisette_standin(shared):
    x, y = libsvm(shared / "data/gisette-standin/gisette_standin.xz", 5000)
    x.data = x.data / 999
    return x, y


def rcv1_shape(_shared):
    """20242 x 47236, 74 words a row drawn by Zipf's law, log-normal weights, unit rows; a sparse noisy model labels."""
    rng = np.random.default_rng(2024)
    rows, columns, per_row = 20242, 47236, 74
    popularity = 1 / np.arange(10, columns + 10) ** 0.9
    chosen = np.empty((rows, per_row), dtype=np.int64)
    cumulative = np.cumsum(popularity / popularity.sum())
    for i in range(rows):
        words = np.unique(np.searchsorted(cumulative, rng.random(3 * per_row)))
        rng.shuffle(words)
        chosen[i] = np.sort(words[:per_row])
    values = rng.lognormal(0, 0.5, size=rows * per_row)
    x = sp.csr_matrix((values, chosen.ravel(), np.arange(rows + 1) * per_row), shape=(rows, columns))
    x = unit_rows(x)
    model = np.where(rng.random(columns) < 0.02, rng.normal(size=columns) * 3, 0)
    model[:200] += rng.normal(size=200)
    margin = x @ model
    y = np.where(margin + 0.3 * margin.std() * rng.normal(size=rows) > np.median(margin), 1.0, -1.0)
    return x, y


SETS = {"a9a": a9a, "news20": news20, "gisette-standin": gisette_standin, "rcv1-shape": rcv1_shape}


def load(name, shared, cache):
    """The set and the file the driver reads; made once."""
    cache = Path(cache)
    cache.mkdir(parents=True, exist_ok=True)
    kept = cache / f"{name}.npz"
    if not kept.exists():
        x, y = SETS[name](Path(shared))
        x.sort_indices()
        np.savez(kept, indptr=x.indptr.astype(np.int64), indices=x.indices.astype(np.int32), data=x.data, y=y,
                 shape=np.array(x.shape))
    with np.load(kept) as z:
        x = sp.csr_matrix((z["data"], z["indices"], z["indptr"].astype(np.int32)), shape=tuple(z["shape"]))
        y = z["y"]
    binary = cache / f"{name}.bin"
    if not binary.exists():
        write(binary, x, y)
    return x, y, binary


def write(path, x, y):
    x = sp.csr_matrix(x)
    x.sort_indices()
    with open(path, "wb") as file:
        np.array(x.shape, dtype=np.int64).tofile(file)
        x.indptr.astype(np.int64).tofile(file)
        x.indices.astype(np.int32).tofile(file)
        x.data.astype(np.float64).tofile(file)
        np.asarray(y, dtype=np.float64).tofile(file)
