#!/usr/bin/env python3
"""make.py FILE.db      writes three invented tables of a hospital to a new SQLite file
make.py --sql TABLE  prints one of them as statements for PostgreSQL

3,000 stays of 800 patients in 12 wards. Whether a stay ends in a readmission depends on the stay, the patient and the
ward; a stay in twenty has no ward on record, and some patients and one ward have no stay.
"""
import math
import pathlib
import random
import sqlite3
import sys

PATIENTS, WARDS, STAYS = 800, 12, 3000
TABLES = {
    "patients": "patient INTEGER PRIMARY KEY, age INTEGER, smoker BOOLEAN, visits_before INTEGER",
    "wards": "ward TEXT PRIMARY KEY, beds INTEGER, nurses_per_bed DOUBLE PRECISION, surgical BOOLEAN",
    "stays": "stay INTEGER PRIMARY KEY, patient INTEGER REFERENCES patients, ward TEXT REFERENCES wards, days INTEGER, "
             "urgent BOOLEAN, readmitted TEXT",
}


def rows():
    draw = random.Random(12)
    patients = [(i, draw.randint(18, 95), draw.random() < 0.3, min(9, int(draw.expovariate(0.6)))) for i in range(1, PATIENTS + 1)]
    wards = [(f"{chr(65 + i)}{i + 1}", draw.randint(8, 40), round(draw.uniform(0.2, 0.9), 2), i % 3 == 0) for i in range(WARDS)]
    stays = []
    for i in range(1, STAYS + 1):
        patient = patients[min(PATIENTS - 1, int(draw.paretovariate(0.9) * draw.uniform(1, 40)))]
        ward = None if draw.random() < 0.05 else wards[draw.randrange(WARDS - 1)]
        days, urgent = 1 + min(29, int(draw.expovariate(0.25))), draw.random() < 0.4
        margin = 0.03 * (patient[1] - 60) + 0.7 * patient[2] + 0.3 * (patient[3] - 2) + 0.06 * days + 0.6 * urgent - 0.9
        if ward is not None:
            margin += 1.5 * (0.5 - ward[2]) + 0.4 * ward[3]
        answer = "yes" if draw.random() < 1 / (1 + math.exp(-margin)) else "no"
        stays.append((i, patient[0], None if ward is None else ward[0], days, urgent, answer))
    return {"patients": patients, "wards": wards, "stays": stays}


def literal(value):
    if value is None:
        return "NULL"
    return str(value).upper() if isinstance(value, bool) else repr(value)


def main():
    if sys.argv[1:2] == ["--sql"] and len(sys.argv) == 3 and sys.argv[2] in TABLES:
        table = sys.argv[2]
        print(f"CREATE TABLE {table} ({TABLES[table].replace(' REFERENCES patients', '').replace(' REFERENCES wards', '')});")
        for row in rows()[table]:
            print(f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});")
        return 0
    if len(sys.argv) != 2 or pathlib.Path(sys.argv[1]).exists():
        print(__doc__ + "\nmake.py: give the name of a file that is not there yet", file=sys.stderr)
        return 2
    with sqlite3.connect(sys.argv[1]) as database:
        for name, columns in TABLES.items():
            database.execute(f"CREATE TABLE {name} ({columns})")
        for name, made in rows().items():
            database.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(made[0]))})", made)
    database.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
