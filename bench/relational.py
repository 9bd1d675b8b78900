"""Training over joins that are never made, beside scikit-learn on the materialised join and a program that only
gathers and scatters.

  bench/relational.py [--shared ../shared] [--only NAME ...]

  real    five real sets: the same objective and metrics as scikit-learn on the materialised join, epochs, bytes
  epoch   relational_bench: the shape of MovieLens-1M, an epoch over the floor
  star    100,000 rows, 20 columns in four tables, logistic, from files to model: `exact` over the join beside a
          DuckDB join with scikit-learn
  published  a tenth of the shape of MovieLens-1M, ten epochs from files to weights: relational-admm beside the published
          algorithm as its research script has it, a loop over rows in Python, and beside the same in numpy vectors
"""
import argparse
import csv
import io
import json
import lzma
import math
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import peers  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("PARLEY_BENCH_BUILD", ROOT / "build"))
L2 = 1e-3


class Table:
    """Key columns and features, which are numbers already; of one table the labels too."""

    def __init__(self, name, keys, features, labels=None):
        self.name, self.keys, self.features, self.labels = name, keys, features, labels

    def __len__(self):
        return len(next(iter(self.keys.values())))

    def write(self, folder):
        names = [*self.keys, *self.features, *(["label"] if self.labels else [])]
        columns = [*self.keys.values(), *self.features.values(), *([self.labels] if self.labels else [])]
        with open(folder / f"{self.name}.csv", "w", newline="") as file:
            csv.writer(file).writerows([names, *zip(*columns)])
        schema = "".join(f'[[column]]\nname = "{key}"\ntype = "key"\n' for key in self.keys)
        schema += "".join(
    f'[[column]]\nname = "{name}"\ntype = "number"\nlower = -1\nupper = 1\n' for name in self.features)
        if self.labels:
            schema += '[[column]]\nname = "label"\ntype = "label"\nlevels = ["-1", "1"]\n'
        (folder / f"{self.name}.schema.toml").write_text(schema)
        return f'[[party]]\nname = "{self.name}"\ndata = "{self.name}.csv"\nschema = "{self.name}.schema.toml"\n'


def opened(path):
    return io.TextIOWrapper(lzma.open(path), encoding="utf-8", errors="replace", newline="")


def read(path, delimiter=",", skip=0):
    with opened(path) as file:
        for _ in range(skip):
            file.readline()
        return list(csv.DictReader(file, delimiter=delimiter))


def number(rows, column, name=None):
    """Scaled to [-1, 1]; what is missing is 0."""
    values = [float(row[column]) if row[column] not in ("", "?", None) else math.nan for row in rows]
    known = [v for v in values if not math.isnan(v)]
    low, high = min(known), max(known)
    half = (high - low) / 2 or 1
    return {name or column: [0.0 if math.isnan(v) else (v - low) / half - 1 for v in values]}


def categories(rows, column, most=12):
    counts = {}
    for row in rows:
        counts[row[column]] = counts.get(row[column], 0) + 1
    levels = sorted(counts, key=lambda level: (-counts[level], level))[:most]
    return {f"{column}_{k}": [1.0 if row[column] == level else 0.0 for row in rows] for k, level in enumerate(levels)}


def keys(rows, *columns):
    return {column: [row[column] for row in rows] for column in columns}


def sign(truths):
    return [1 if truth else -1 for truth in truths]


def berka(shared):
    load = {
    name: read(
        shared /
        "berka" /
        f"{name}.asc.xz",
        ";") for name in (
            "loan",
            "account",
            "disp",
            "client",
            "card",
             "district")}
    loan, account, disp, client, card, district = load.values()
    district_numbers = {}
    for column in ("A4", "A10", "A11", "A12", "A13", "A14"):
        district_numbers |= number(district, column)
    born = [{"year": row["birth_number"][:2], "woman": str(int(int(row["birth_number"][2:4]) > 50))} for row in client]
    return [
        Table("loan", keys(loan, "account_id"),
              number(loan, "amount") | number(loan, "duration") | number(loan, "payments"),
              sign(row["status"] in "BD" for row in loan)),
        Table("account", keys(account, "account_id", "district_id"),
              categories(account, "frequency") | number(account, "date")),
        Table("disp", keys(disp, "account_id", "client_id", "disp_id"), categories(disp, "type")),
        Table("client", keys(client, "client_id"), number(born, "year") | number(born, "woman")),
        Table("district", keys([{"district_id": row["A1"]} for row in district], "district_id"), district_numbers),
        Table("card", keys(card, "disp_id"), categories(card, "type"))], [
        ("loan", "account", "account_id", "inner"), ("account", "disp", "account_id", "inner"),
        ("disp", "client", "client_id", "inner"), ("account", "district", "district_id", "inner"),
        ("disp", "card", "disp_id", "left")]


def movielens(shared):
    ratings, movies = (read(shared / "ml-latest-small" / f"{name}.csv.xz") for name in ("ratings", "movies"))
    tagged = {row["userId"] for row in read(shared / "ml-latest-small" / "tags.csv.xz")}
    users = [{"userId": user, "tags": str(int(user in tagged))}
                                          for user in sorted({row["userId"] for row in ratings}, key=int)]
    genres = sorted({genre for row in movies for genre in row["genres"].split("|")})
    films = {f"genre_{k}": [float(genre in row["genres"].split("|")) for row in movies]
                                  for k, genre in enumerate(genres)}
    years = [{"year": row["title"].strip()[-5:-1] if row["title"].strip()[-5:-1].isdigit() else ""} for row in movies]
    return [
        Table("ratings", keys(ratings, "userId", "movieId"), {}, sign(float(row["rating"]) >= 4 for row in ratings)),
        Table("movies", keys(movies, "movieId"), films | number(years, "year") | {"one": [1.0] * len(movies)}),
        Table("users", keys(users, "userId"), number(users, "tags"))], [
        ("ratings", "movies", "movieId", "inner"), ("ratings", "users", "userId", "inner")]


def mimic(shared):
    stays, people, diagnoses = (read(shared / "mimic-iii-demo" / f"{name}.csv.xz")
                                for name in ("ADMISSIONS", "PATIENTS", "DIAGNOSES_ICD"))
    lower = lambda rows: [{key.lower(): value for key, value in row.items()} for row in rows]  # noqa: E731
    stays, people, diagnoses = lower(stays), lower(people), lower(diagnoses)
    for row in diagnoses:
        row["chapter"] = row["icd9_code"][:2]
    return [
        Table("stays", keys(stays, "subject_id", "hadm_id"),
              categories(stays, "admission_type") | categories(stays, "insurance"),
              sign(row["hospital_expire_flag"] == "1" for row in stays)),
        Table("people", keys(people, "subject_id"), categories(people, "gender")),
        Table("diagnoses", keys(diagnoses, "hadm_id"),
              categories(diagnoses, "chapter", 40) | number(diagnoses, "seq_num"))], [
        ("stays", "people", "subject_id", "inner"), ("stays", "diagnoses", "hadm_id", "inner")]


def mutagenesis(shared):
    molecules, atoms = (read(shared / "mutagenesis" / f"{name}.csv.xz") for name in ("molecule", "atom"))
    chemistry = {}
    for column in ("ind1", "inda", "logp", "lumo"):
        chemistry |= number(molecules, column)
    return [
    Table(
        "molecules", keys(
            molecules, "molecule_id"), chemistry, sign(
                row["mutagenic"] == "yes" for row in molecules)), Table(
                    "atoms", keys(
                        atoms, "molecule_id"), categories(
                            atoms, "element") | categories(
                                atoms, "type", 30) | number(
                                    atoms, "charge"))], [
                                         ("molecules", "atoms", "molecule_id", "inner")]


def tpch(shared):
    load = {name: read(shared / "tpch-sf0.01" / f"{name}.tbl.xz", "|", 1)
                       for name in ("lineitem", "orders", "customer", "part", "supplier")}
    for rows in load.values():  # the third line is types
        if not rows[0][next(iter(rows[0]))].strip().isdigit():
            rows.pop(0)
    items, orders, customers, parts, suppliers = load.values()
    return [
        Table("items", keys(items, "l_orderkey", "l_partkey", "l_suppkey"),
              number(items, "l_quantity") | number(items, "l_extendedprice") |
              number(items, "l_discount") | number(items, "l_tax") |
              categories(items, "l_shipmode"), sign(row["l_returnflag"] == "R" for row in items)),
        Table("orders", keys(orders, "o_orderkey", "o_custkey"),
              number(orders, "o_totalprice") | categories(orders, "o_orderpriority") | number(orders, "o_year")),
        Table("customers", keys(customers, "c_custkey"),
              number(customers, "c_acctbal") | categories(customers, "c_mktsegment")),
        Table("parts", keys(parts, "p_partkey"),
              number(parts, "p_size") | number(parts, "p_retailprice") | categories(parts, "p_mfgr")),
        Table("suppliers", keys(suppliers, "s_suppkey"), number(suppliers, "s_acctbal"))], [
        ("items", "orders", ("l_orderkey", "o_orderkey"), "inner"),
        ("orders", "customers", ("o_custkey", "c_custkey"), "inner"),
        ("items", "parts", ("l_partkey", "p_partkey"), "inner"),
        ("items", "suppliers", ("l_suppkey", "s_suppkey"), "inner")]


def sides(columns):
    return columns if isinstance(columns, tuple) else (columns, columns)


def has_constant(tables):
    """A column of ones is one of the table with the labels; a table without columns stays without."""
    return bool(tables[0].features)


def job_of(folder, tables, joins, partition, algorithm):
    intercept = '"penalised"' if has_constant(tables) else "false"
    text = f'[job]\nname = "bench"\npartition = "{partition}"\ntask = "logistic"\n'
    text += f'[model]\nintercept = {intercept}\nl2 = {L2}\n'
    text += f'[algorithm]\n{algorithm}seed = 1\n[data]\nscale = "none"\n'
    text += f'[labels]\nparty = "{tables[0].name}"\ncolumn = "label"\n'
    text += "".join(table.write(folder) for table in tables)
    for left, right, columns, kind in joins:
        one, other = sides(columns)
        text += f'[[join]]\nleft = ["{left}.{one}"]\nright = ["{right}.{other}"]\nkind = "{kind}"\n'
    (folder / f"{partition}.toml").write_text(text)
    return folder / f"{partition}.toml"


def rows_of(tables, joins):
    """Tuples of each table, by row of the join."""
    by_name = {table.name: table for table in tables}
    rows = [{tables[0].name: t} for t in range(len(tables[0]))]
    for left, right, columns, kind in joins:
        one, other = sides(columns)
        partners = {}
        for t, key in enumerate(by_name[right].keys[other]):
            partners.setdefault(key, []).append(t)
        found = []
        for row in rows:
            key = by_name[left].keys[one][row[left]] if row.get(left) is not None else None
            matches = partners.get(key, [])
            found += [row | {right: t} for t in matches] if matches else [row | {right: None}] if kind == "left" else []
        rows = found
    return rows


def materialised(tables, joins):
    import numpy
    rows = rows_of(tables, joins)
    columns = [numpy.ones(len(rows))] if has_constant(tables) else []
    for table in tables:
        for values in table.features.values():
            columns.append(numpy.array([0.0 if row[table.name] is None else values[row[table.name]] for row in rows]))
    return numpy.column_stack(columns), numpy.array([tables[0].labels[row[tables[0].name]] for row in rows])


def train(job, out):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([BUILD / "parley", "train", job, "--out", out, "--quiet",
                          "--threads", "1"], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = json.loads((out / "result.json").read_text())
    result["cpu"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return result


def of_train(result):
    return result["metrics"]["train"]


def logistic(features, labels):
    import numpy
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    begin = time.process_time()
    model = LogisticRegression(C=1 / (L2 * len(labels)), fit_intercept=False,
                               tol=1e-10, max_iter=10000).fit(features, labels)
    seconds = time.process_time() - begin
    weights = model.coef_[0]
    margins = features @ weights
    objective = numpy.logaddexp(0, -labels * margins).mean() + L2 / 2 * weights @ weights
    return {
    "objective": objective, "auc": roc_auc_score(
        labels, margins), "accuracy": float(
            ((margins > 0) == (
                labels > 0)).mean()), "seconds": seconds}


def real(shared):
    for make in (movielens, berka, mimic, mutagenesis, tpch):
        tables, joins = make(shared / "data")
        features, labels = materialised(tables, joins)
        peer = logistic(features, labels)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            exact = train(job_of(folder, tables, joins, "single", 'name = "exact"\n'), folder / "exact")
            line = {"set": make.__name__, "rows": len(labels), "columns": features.shape[1],
                    "objective_over_peer": exact["objective"]["final"] / peer["objective"] - 1,
                    "auc": of_train(exact)["auc"], "peer_auc": peer["auc"], "accuracy": of_train(exact)["accuracy"],
                    "peer_accuracy": peer["accuracy"],
                    "training_ms": 1e3 * exact["time"]["compute_seconds"], "peer_training_ms": 1e3 * peer["seconds"]}
            for update in ("relaxed", "majorised"):
                admm = train(
    job_of(
        folder,
        tables,
        joins,
        "relational",
        f'name = "relational-admm"\nupdate = "{update}"\ntolerance = 1e-5\n'),
        folder /
         update)
                line[update] = {
    "epochs": admm["rounds"] -
    1,
    "objective_over_exact": admm["objective"]["final"] /
    exact["objective"]["final"] -
    1,
    "auc": of_train(admm)["auc"],
    "bytes": admm["communication"]["uplink_bytes"] +
     admm["communication"]["downlink_bytes"]}
            print(json.dumps(line), flush=True)


def epoch(_):
    print(subprocess.run([BUILD / "bench/relational_bench"],
          capture_output=True, text=True, check=True).stdout, end="", flush=True)


def star(_):
    draw = random.Random(1)
    sizes = {"facts": (100000, 5), "stores": (100, 5), "items": (2000, 5), "people": (5000, 5)}
    features = {name: {f"{name}_{j}": [round(draw.uniform(-1, 1), 4) for _ in range(rows)] for j in range(columns)}
                for name, (rows, columns) in sizes.items()}
    chosen = {
    name: [
        draw.randrange(
            sizes[name][0]) for _ in range(
                sizes["facts"][0])] for name in (
                    "stores",
                    "items",
                     "people")}
    labels = []
    for j in range(sizes["facts"][0]):
        margin = features["facts"]["facts_0"][j] + sum(features[name][f"{name}_0"][t[j]] for name, t in chosen.items())
        labels.append(1 if margin + draw.gauss(0, 1) > 0 else -1)
    tables = [Table("facts", {name: [str(t) for t in chosen[name]] for name in chosen}, features["facts"], labels)]
    tables += [Table(name, {name: [str(t) for t in range(sizes[name][0])]}, features[name]) for name in chosen]
    joins = [("facts", name, name, "inner") for name in chosen]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        job = job_of(folder, tables, joins, "single", 'name = "exact"\ntolerance = 1e-8\n')
        best = min((train(job, folder / "out") for _ in range(5)), key=lambda result: result["cpu"])
        import duckdb
        import numpy
        least = None
        for _ in range(3):
            begin = time.process_time()
            connection = duckdb.connect()
            connection.execute("SET threads TO 1")
            names = [column for table in tables for column in table.features]
            query = f"SELECT {', '.join(names)}, label FROM '{folder}/facts.csv' AS facts"
            query += "".join(f" JOIN '{folder}/{other}.csv' AS {other} ON facts.{other} = {other}.{other}"
                             for other in chosen)
            found = connection.execute(query).fetchnumpy()
            joined = numpy.column_stack([numpy.ones(len(found["label"])), *(found[column] for column in names)])
            peer = logistic(joined, found["label"].astype(float))
            peer["cpu"] = time.process_time() - begin
            least = peer if least is None or peer["cpu"] < least["cpu"] else least
        print(json.dumps({"rows": len(labels),
    "objective_over_peer": best["objective"]["final"] / least["objective"] - 1,
    "cpu_ms": 1e3 * best["cpu"],
    "peer_cpu_ms": 1e3 * least["cpu"],
    "end_to_end": least["cpu"] / best["cpu"],
    "training_ms": 1e3 * best["time"]["compute_seconds"],
    "peer_training_ms": 1e3 * least["seconds"],
    "training": least["seconds"] / best["time"]["compute_seconds"]}),
     flush=True)


class Published:
    """Equations 26 to 38 of Xu et al. 2024, every table at once, without the reductions of the owners' work and bytes. The
    owners solve their systems exactly, which is faster than the gradient steps of the paper."""

    def __init__(self, tables, joins, rho=1 / 24):
        import numpy
        self.np, self.rho = numpy, rho
        first = tables[0]
        self.y = numpy.array(first.labels, float)
        self.maps = [numpy.arange(len(first))]
        for left, right, key, _ in joins:
            other = next(table for table in tables if table.name == right)
            place = {value: at for at, value in enumerate(other.keys[key])}
            self.maps.append(numpy.array([place[value] for value in first.keys[key]]))
        self.features = [numpy.column_stack([*table.features.values()]) for table in tables]
        self.rows = [features[used] for features, used in zip(self.features, self.maps)]  # an owner's work is by rows
        n = len(self.y)
        self.systems = [rho * x.T @ x + n * L2 * numpy.eye(x.shape[1]) for x in self.rows]
        self.h = [numpy.zeros(n) for _ in tables]
        self.dual, self.z = numpy.zeros(n), numpy.zeros(n)

    def by_rows(self):
        rho, margins = self.rho, sum(self.h)
        for j in range(len(self.y)):
            y, v = self.y[j], margins[j] + self.dual[j] / rho
            z = 0.0
            for _ in range(13):
                e = math.exp(-abs(y * z))
                share = (e if y * z > 0 else 1) / (1 + e)
                move = (rho * (z - v) - y * share) / (rho + e / (1 + e) ** 2)
                z -= move
                if abs(move) < 1e-10:
                    break
            self.z[j] = z
            self.dual[j] += rho * (margins[j] - z)
        sums = [self.np.zeros(len(self.y)) for _ in self.h]
        for i, h in enumerate(self.h):
            for j in range(len(self.y)):
                sums[i][j] = self.dual[j] + rho * (margins[j] - h[j] - self.z[j])
        self.owners(sums)

    def by_vectors(self):
        np, rho, margins = self.np, self.rho, sum(self.h)
        v, z = margins + self.dual / rho, np.zeros(len(self.y))
        for _ in range(13):
            e = np.exp(-np.abs(self.y * z))
            move = (rho * (z - v) - self.y * np.where(self.y * z > 0, e, 1) / (1 + e)) / (rho + e / (1 + e) ** 2)
            z -= move
            if np.abs(move).max() < 1e-10:
                break
        self.z = z
        self.dual = self.dual + rho * (margins - z)
        self.owners([self.dual + rho * (margins - h - z) for h in self.h])

    def owners(self, sums):
        self.h = [x @ self.np.linalg.solve(system, -x.T @ y) for x, system, y in zip(self.rows, self.systems, sums)]


def published(_):
    draw = random.Random(2)
    sizes = {"ratings": (178651, 2), "movies": (6408, 20), "users": (6040, 30)}
    features = {name: {f"{name}_{j}": [round(draw.uniform(-1, 1), 4) for _ in range(rows)] for j in range(columns)}
                for name, (rows, columns) in sizes.items()}
    chosen = {name: [str(draw.randrange(sizes[name][0])) for _ in range(sizes["ratings"][0])] for name in ("movies", "users")}
    labels = [1 if features["ratings"]["ratings_0"][j] + draw.gauss(0, 1) > 0 else -1 for j in range(sizes["ratings"][0])]
    tables = [Table("ratings", chosen, features["ratings"], labels)]
    tables += [Table(name, {name: [str(t) for t in range(sizes[name][0])]}, features[name]) for name in chosen]
    joins = [("ratings", name, name, "inner") for name in chosen]
    epochs = 10
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        job = job_of(folder, tables, joins, "relational",
                     f'name = "relational-admm"\ntolerance = 0\niterations = {epochs}\n')
        ours = min((train(job, folder / "out") for _ in range(3)), key=lambda result: result["cpu"])
        line = {"rows": len(labels), "epochs": epochs, "cpu_ms": 1e3 * ours["cpu"]}
        for way in ("by_vectors", "by_rows"):
            begin = time.process_time()
            read_again = [Table(table.name, *columns_of(folder / f"{table.name}.csv", table)) for table in tables]
            peer = Published(read_again, joins)
            for _ in range(epochs):
                getattr(peer, way)()
            line[f"{way}_cpu_ms"] = 1e3 * (time.process_time() - begin)
            line[f"{way}_over_ours"] = line[f"{way}_cpu_ms"] / line["cpu_ms"]
        print(json.dumps(line), flush=True)


def columns_of(path, table):
    """Keys, features and labels of the file, as the peer reads them."""
    with open(path, newline="") as file:
        names, *rows = csv.reader(file)
    columns = dict(zip(names, zip(*rows)))
    labels = [float(value) for value in columns["label"]] if table.labels else None
    return ({key: columns[key] for key in table.keys},
            {name: [float(value) for value in columns[name]] for name in table.features}, labels)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=pathlib.Path, default=ROOT.parent / "shared")
    parser.add_argument("--only", nargs="*", default=["real", "epoch", "star", "published"])
    options = parser.parse_args()
    peers.use(["scikit-learn", "duckdb"], ["sklearn", "duckdb"])
    for name in options.only:
        {"real": real, "epoch": epoch, "star": star, "published": published}[name](options.shared)


if __name__ == "__main__":
    main()
