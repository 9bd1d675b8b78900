# The sets of bench/defaults.py with the bounds that a careful person would state from their documentation: what a
# column can mean, never what it holds. `load` gives a Set; `write` writes it as the table, schema and job that the
# binary reads; `features` is what the schema's public bounds make of it, for peers in numpy.
import csv
import dataclasses
import gzip
import io
import lzma
import random
import struct
from pathlib import Path

import numpy as np
import scipy.sparse as sp


@dataclasses.dataclass
class Column:
    name: str
    kind: str = "number"  # number | integer | category
    lower: float = 0
    upper: float = 1
    levels: tuple = ()


@dataclasses.dataclass
class Set:
    name: str
    task: str
    columns: list  # of Column; empty: LIBSVM with `bound` for every feature
    train: object  # rows of text, or (csr, labels)
    test: object
    label: str = "label"
    classes: tuple = ()
    label_bounds: tuple = ()
    bound: float = 1
    features: int = 0


def numbers(names, lower, upper, kind="number"):
    return [Column(name, kind, lower, upper) for name in names.split()]


def unpacked(path):
    return lzma.open(path, "rt").read()


def held_out(rows, share=0.2, seed=0):
    order = list(range(len(rows)))
    random.Random(seed).shuffle(order)
    cut = int(round(len(rows) * share))
    return [rows[i] for i in order[cut:]], [rows[i] for i in order[:cut]]


def libsvm(path, columns):
    labels, at, index, value = [], [0], [], []
    for line in unpacked(path).splitlines():
        fields = line.split("#")[0].split()
        if not fields:
            continue
        labels.append(float(fields[0]))
        for field in fields[1:]:
            j, x = field.split(":")
            if float(x) != 0:
                index.append(int(j) - 1)
                value.append(float(x))
        at.append(len(index))
    return sp.csr_matrix((value, index, at), shape=(len(labels), columns)), np.array(labels)


def sparse_held_out(x, y, share=0.2, seed=0):
    order = np.random.default_rng(seed).permutation(len(y))
    cut = int(round(len(y) * share))
    return (x[order[cut:]], y[order[cut:]]), (x[order[:cut]], y[order[:cut]])


def sparse_set(name, shared, train, test, columns, bound, task="logistic", classes=(-1, 1)):
    data = libsvm(shared / "data" / train, columns)
    first, second = (data, libsvm(shared / "data" / test, columns)) if test else sparse_held_out(*data)
    return Set(name, task, [], first, second, classes=classes, bound=bound, features=columns)


WORK = "?,Federal-gov,Local-gov,Never-worked,Private,Self-emp-inc,Self-emp-not-inc,State-gov,Without-pay"
DEGREES = ("10th,11th,12th,1st-4th,5th-6th,7th-8th,9th,Assoc-acdm,Assoc-voc,Bachelors,Doctorate,HS-grad,Masters,"
           "Preschool,Prof-school,Some-college")
MARRIAGES = ("Divorced,Married-AF-spouse,Married-civ-spouse,Married-spouse-absent,Never-married,Separated,Widowed")
JOBS = ("?,Adm-clerical,Armed-Forces,Craft-repair,Exec-managerial,Farming-fishing,Handlers-cleaners,"
        "Machine-op-inspct,Other-service,Priv-house-serv,Prof-specialty,Protective-serv,Sales,Tech-support,"
        "Transport-moving")
RELATIONS = "Husband,Not-in-family,Other-relative,Own-child,Unmarried,Wife"
RACES = "Amer-Indian-Eskimo,Asian-Pac-Islander,Black,Other,White"
COUNTRIES = ("?,Cambodia,Canada,China,Columbia,Cuba,Dominican-Republic,Ecuador,El-Salvador,England,France,Germany,"
             "Greece,Guatemala,Haiti,Holand-Netherlands,Honduras,Hong,Hungary,India,Iran,Ireland,Italy,Jamaica,Japan,"
             "Laos,Mexico,Nicaragua,Outlying-US(Guam-USVI-etc),Peru,Philippines,Poland,Portugal,Puerto-Rico,Scotland,"
             "South,Taiwan,Thailand,Trinadad&Tobago,United-States,Vietnam,Yugoslavia")


def category(name, levels):
    return Column(name, "category", levels=tuple(levels.split(",")))


def adult(shared):
    columns = [Column("age", "integer", 17, 90), category("workclass", WORK), Column("fnlwgt", "integer", 0, 1500000),
               category("education", DEGREES), Column("education-num", "integer", 1, 16),
               category("marital-status", MARRIAGES), category("occupation", JOBS), category("relationship", RELATIONS),
               category("race", RACES), category("sex", "Female,Male"), Column("capital-gain", "integer", 0, 99999),
               Column("capital-loss", "integer", 0, 5000), Column("hours-per-week", "integer", 1, 99),
               category("native-country", COUNTRIES)]

    def rows(file):
        lines = [line for line in unpacked(shared / "data/adult" / file).splitlines() if line.count(",") == 14]
        return [[cell.strip().rstrip(".") for cell in line.split(",")] for line in lines]

    return Set("adult", "logistic", columns, rows("adult.data.xz"), rows("adult.test.xz"), "income",
               ("<=50K", ">50K"))


def bank(shared):
    columns = [category("poutcome", "failure,other,success,unknown"),
               category("job", "admin.,blue-collar,entrepreneur,housemaid,management,retired,self-employed,services,"
                        "student,technician,unemployed,unknown"),
               category("marital", "divorced,married,single"),
               category("education", "primary,secondary,tertiary,unknown"), category("default", "no,yes"),
               category("housing", "no,yes"), category("loan", "no,yes"),
               category("contact", "cellular,telephone,unknown"), Column("day", "integer", 1, 31),
               category("month", "jan,feb,mar,apr,may,jun,jul,aug,sep,oct,nov,dec"),
               Column("campaign", "integer", 1, 50), Column("duration", "integer", 0, 3600),
               Column("pdays", "integer", -1, 900), Column("previous", "integer", 0, 50),
               Column("age", "integer", 18, 95), Column("balance", "integer", -10000, 100000)]
    table = list(csv.reader(io.StringIO(unpacked(shared / "data/bank-marketing/bank-full.csv.xz"))))
    train, test = held_out(table[1:])
    return Set("bank-marketing", "logistic", columns, train, test, "y", ("no", "yes"))


def uci_credit(shared):
    status = ",".join(str(k) for k in range(-2, 10))
    columns = [Column("LIMIT_BAL", "integer", 0, 1000000), category("SEX", "1,2"), category("EDUCATION", "0,1,2,3,4,5,6"),
               category("MARRIAGE", "0,1,2,3"), Column("AGE", "integer", 18, 80)]
    columns += [category(name, status) for name in "PAY_0 PAY_2 PAY_3 PAY_4 PAY_5 PAY_6".split()]
    columns += numbers(" ".join(f"BILL_AMT{k}" for k in range(1, 7)), -100000, 1000000, "integer")
    columns += numbers(" ".join(f"PAY_AMT{k}" for k in range(1, 7)), 0, 1000000, "integer")
    table = list(csv.reader(io.StringIO(unpacked(shared / "data/uci-credit/UCI_Credit_Card.csv.xz"))))
    train, test = held_out([row[1:] for row in table[1:]])
    return Set("uci-credit", "logistic", columns, train, test, "default", ("0", "1"))


def california(shared):
    columns = [Column("longitude", "number", -125, -114), Column("latitude", "number", 32, 42.5),
               Column("housing_median_age", "number", 0, 52), Column("total_rooms", "number", 0, 40000),
               Column("total_bedrooms", "number", 0, 7000), Column("population", "number", 0, 40000),
               Column("households", "number", 0, 7000), Column("median_income", "number", 0, 15.0001)]
    table = list(csv.reader(io.StringIO(unpacked(shared / "data/california/cal_housing.data.xz"))))
    train, test = held_out([row for row in table if row])
    return Set("california", "linear", columns, train, test, "value", label_bounds=(0, 500001))


def abalone(shared):
    columns = [category("sex", "F,I,M"), Column("length", "number", 0, 1), Column("diameter", "number", 0, 1),
               Column("height", "number", 0, 0.5)] + numbers("whole shucked viscera shell", 0, 3)
    table = list(csv.reader(io.StringIO(unpacked(shared / "data/small/abalone.data.xz"))))
    train, test = held_out([row for row in table if row])
    return Set("abalone", "linear", columns, train, test, "rings", label_bounds=(1, 30))


def dvisits(shared):
    guest = list(csv.reader(io.StringIO(unpacked(shared / "data/fate-vfl/dvisits_hetero_guest.csv.xz"))))
    host = list(csv.reader(io.StringIO(unpacked(shared / "data/fate-vfl/dvisits_hetero_host.csv.xz"))))
    other = {row[0]: row[1:] for row in host[1:]}
    columns = [Column("hscore", "number", 0, 12)] + numbers("chcond1 chcond2 sex", 0, 1)
    columns += [Column("age", "number", 0, 1), Column("agesq", "number", 0, 1), Column("income", "number", 0, 2)]
    columns += numbers("levyplus freepoor freerepa", 0, 1) + [Column("illness", "number", 0, 5),
                                                             Column("actdays", "number", 0, 14)]
    rows = [row[2:] + other[row[0]] + [row[1]] for row in guest[1:] if row[0] in other]
    train, test = held_out(rows)
    return Set("dvisits", "linear", columns, train, test, "doctorco", label_bounds=(0, 10))


def covtype(shared):
    columns = [Column("elevation", "integer", 1800, 4000), Column("aspect", "integer", 0, 360),
               Column("slope", "integer", 0, 90), Column("to-water", "integer", 0, 1500),
               Column("above-water", "integer", -300, 700), Column("to-road", "integer", 0, 7500)]
    columns += numbers("shade-9 shade-12 shade-15", 0, 255, "integer") + [Column("to-fire", "integer", 0, 7500)]
    columns += [category("area", "1,2,3,4"), category("soil", ",".join(str(k) for k in range(1, 41)))]
    x, y = libsvm(shared / "data/covtype/covtype.libsvm.binary.xz", 54)
    dense = x.toarray()
    first = dense[:, :10].astype(int).astype(str)
    area = (dense[:, 10:14].argmax(1) + 1).astype(str)
    soil = (dense[:, 14:].argmax(1) + 1).astype(str)
    rows = np.column_stack([first, area, soil, y.astype(int).astype(str)]).tolist()
    train, test = held_out(rows)
    return Set("covtype", "logistic", columns, train, test, "cover", ("1", "2"))


def idx(path):
    raw = lzma.open(path, "rb").read()
    rank = raw[3]
    shape = struct.unpack(">" + "I" * rank, raw[4:4 + 4 * rank])
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * rank).reshape(shape)


def mnist(shared):
    def part(images, labels):
        x = idx(shared / "data/mnist" / images)
        return sp.csr_matrix(x.reshape(len(x), -1).astype(float)), idx(shared / "data/mnist" / labels).astype(float)

    return Set("mnist", "softmax", [], part("train-images-idx3-ubyte.xz", "train-labels-idx1-ubyte.xz"),
               part("t10k-images-idx3-ubyte.xz", "t10k-labels-idx1-ubyte.xz"), classes=tuple(range(10)), bound=255,
               features=784)


def epsilon(shared):
    def rows(file):
        table = list(csv.reader(io.StringIO(unpacked(shared / "data/fate-vfl" / file))))
        return [row[2:] + [row[1]] for row in table[1:]]

    train = rows("epsilon_5k_homo_guest.csv.xz") + rows("epsilon_5k_homo_host.csv.xz")
    test = rows("epsilon_5k_homo_test.csv.xz")
    columns = numbers(" ".join(f"x{k}" for k in range(len(train[0]) - 1)), -5, 5)
    return Set("epsilon-5k", "logistic", columns, train, test, "y", tuple(sorted({row[-1] for row in train})))


SETS = {
    "a9a": lambda s: sparse_set("a9a", s, "a9a/a9a.xz", "a9a/a9a.t.xz", 123, 1),
    "adult": adult,
    "bank-marketing": bank,
    "uci-credit": uci_credit,
    "w8a": lambda s: sparse_set("w8a", s, "w8a/w8a.xz", None, 300, 1),
    "california": california,
    "mnist": mnist,
    "abalone": abalone,
    "dvisits": dvisits,
    "epsilon-5k": epsilon,
    "mushrooms": lambda s: sparse_set("mushrooms", s, "mushrooms/mushrooms.xz", None, 112, 1, classes=(1, 2)),
    "ijcnn1": lambda s: sparse_set("ijcnn1", s, "ijcnn1/ijcnn1.xz", "ijcnn1/ijcnn1.t.xz", 22, 1),
    "covtype": covtype,
    "madelon": lambda s: sparse_set("madelon", s, "madelon/madelon.xz", "madelon/madelon.t.xz", 500, 999),
    "gisette-standin": lambda s: sparse_set("gisette-standin", s, "gisette-standin/gisette_standin.xz",
                                            "gisette-standin/gisette_standin.t.xz", 5000, 999),
    "reuters": lambda s: sparse_set("reuters", s, "reuters/reuters.xz", "reuters/reuters.t.xz", 8315, 1),
    "reuters-acq": lambda s: sparse_set("reuters-acq", s, "reuters-acq/acq.xz", "reuters-acq/acq.t.xz", 9947, 1),
    "news20": lambda s: sparse_set("news20", s, "news20/news20.xz", None, 62061, 10, "softmax",
                                   tuple(range(1, 21))),
}


def load(name, shared):
    return SETS[name](Path(shared))


def labels_of(table, part):
    raw = [row[-1] for row in part] if table.columns else part[1]
    if table.task == "linear":
        return np.array(raw, float)
    order = {value: k for k, value in enumerate(table.classes)}
    return np.array([order[value] for value in raw], float)


def features(table, part):
    # As scale = "bounds" makes them, and the square of the public bound of a row.
    if not table.columns:
        x = part[0].copy()
        x.data = np.clip(x.data, -table.bound, table.bound) / table.bound
        return x, float(table.features)
    blocks, squares = [], 0.0
    for at, column in enumerate(table.columns):
        cells = [row[at] for row in part]
        squares += 1
        if column.kind == "category":
            order = {level: k for k, level in enumerate(column.levels)}
            block = np.zeros((len(cells), len(column.levels)))
            for i, cell in enumerate(cells):
                if cell in order:
                    block[i, order[cell]] = 1
            blocks.append(block)
            continue
        values = np.clip(np.array(cells, float), column.lower, column.upper)
        if column.lower <= 0 <= column.upper:
            blocks.append((values / max(abs(column.lower), abs(column.upper)))[:, None])
        else:
            middle = (column.lower + column.upper) / 2
            blocks.append(((values - middle) / (column.upper - middle))[:, None])
    return np.hstack(blocks), squares
