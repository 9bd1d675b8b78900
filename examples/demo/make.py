#!/usr/bin/env python3
"""make.py FOLDER [SEED]: invented patients of three hospitals, and 8,000 more whom nobody trains on.

Writes north/patients.csv, south/patients.csv, island/patients.csv and test.csv in FOLDER. No real person is described.
The chance of a readmission within 30 days follows a known logistic model (EFFECTS), so that a reader can see what
training finds again. The same seed gives the same bytes.
"""
import math
import pathlib
import random
import sys

HEADER = ("id,age,female,lives_alone,emergency,ward,prior_stays,emergency_visits,length_of_stay,medications,"
          "heart_failure,diabetes,creatinine,haemoglobin,sodium,systolic,heart_rate,readmitted")
WARDS = ("cardiology", "geriatrics", "oncology", "orthopaedics", "surgery")

# Patients, their mean age, and how ill they are: hospitals differ in whom they see.
HOSPITALS = {"north": (20000, 62, 1.15), "south": (12000, 58, 0.95), "island": (8000, 67, 0.85)}
TEST = 8000

EFFECTS = {"prior stay": 0.55, "emergency visit": 0.30, "day": 0.06, "medication": 0.06, "decade of age": 0.16,
           "heart failure": 0.85, "diabetes": 0.25, "lives alone": 0.35, "emergency": 0.45, "creatinine": 0.40,
           "haemoglobin": -0.16, "sodium": -0.05, "geriatrics": 0.30, "orthopaedics": -0.55}
START = -4.6


def word(yes):
    return "yes" if yes else "no"


def patient(draw, name, mean_age, illness):
    age = min(100, max(18, round(draw.gauss(mean_age, 15))))
    frail = illness * (0.4 + 0.012 * age)  # what several columns have in common
    alone = draw.random() < 0.10 + 0.004 * age
    emergency = draw.random() < 0.45
    ward = WARDS[int(5 * draw.random())]
    prior = min(10, int(draw.expovariate(1.0) * frail))
    visits = min(10, int(draw.expovariate(0.9) * frail))
    days = min(40, 1 + int(draw.expovariate(0.22) * (0.5 + 0.5 * frail)))
    medications = min(25, max(0, int(draw.gauss(4 + 3 * frail, 2.5))))
    heart_failure = draw.random() < 0.14 * frail
    diabetes = draw.random() < 0.16 * frail
    creatinine = min(8.0, draw.lognormvariate(0.0, 0.32) * (1.25 if heart_failure else 1.0))
    haemoglobin = min(20.0, max(4.0, draw.gauss(13.4 - 0.6 * frail, 1.7)))
    sodium = min(155, max(115, round(draw.gauss(139, 3.5))))
    systolic = min(220, max(70, round(draw.gauss(132, 18))))
    heart_rate = min(180, max(40, round(draw.gauss(79, 13))))
    female = draw.random() < 0.52
    e = EFFECTS
    margin = (START + e["prior stay"] * prior + e["emergency visit"] * visits + e["day"] * days
              + e["medication"] * medications + e["decade of age"] * age / 10 + e["heart failure"] * heart_failure
              + e["diabetes"] * diabetes + e["lives alone"] * alone + e["emergency"] * emergency
              + e["creatinine"] * creatinine + e["haemoglobin"] * (haemoglobin - 13) + e["sodium"] * (sodium - 139)
              + e.get(ward, 0.0))
    readmitted = draw.random() < 1 / (1 + math.exp(-margin))
    measured = "" if draw.random() < 0.04 else f"{creatinine:.2f}"
    return (f"{name},{age},{word(female)},{word(alone)},{word(emergency)},{ward},{prior},{visits},{days},{medications},"
            f"{word(heart_failure)},{word(diabetes)},{measured},{haemoglobin:.1f},{sodium},{systolic},{heart_rate},"
            f"{word(readmitted)}")


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([HEADER, *rows]) + "\n")


def write_all(folder, seed=2026):
    draw = random.Random(seed)
    everyone = sum(count for count, _, _ in HOSPITALS.values())
    later = []
    for hospital, (count, age, illness) in HOSPITALS.items():
        def some(number, mark):
            return [patient(draw, f"{mark}{hospital[0].upper()}{i:05d}", age, illness) for i in range(number)]
        write(folder / hospital / "patients.csv", some(count, ""))
        later += some(TEST * count // everyone, "T")
    write(folder / "test.csv", later)


if __name__ == "__main__":
    write_all(pathlib.Path(sys.argv[1]), *map(int, sys.argv[2:3]))
