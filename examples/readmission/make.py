#!/usr/bin/env python3
"""Makes clinic.csv: 2,000 invented hospital stays. No real person is described.

The chance of a readmission within 30 days follows a known logistic model (TRUTH), so a reader can see what training
finds again.
"""
import math
import pathlib
import random

random.seed(20240229)
WARDS = ["cardiology", "geriatrics", "oncology", "orthopaedics", "surgery"]
TRUTH = {
    "age": 1.1, "prior_stays": 2.6, "length_of_stay": 0.9, "diabetes=yes": 0.7, "ward=geriatrics": 0.6,
    "ward=orthopaedics": -0.8
}
rows = []
for number in range(2000):
    age = min(99, max(18, round(random.gauss(61, 17))))
    prior = min(12, int(random.expovariate(0.8)))
    stay = min(60, 1 + int(random.expovariate(0.22)))
    diabetes = random.random() < 0.1 + 0.002 * age
    ward = random.choice(WARDS)
    creatinine = round(min(15.0, random.lognormvariate(0.05, 0.35)), 2)
    heart_rate = round(random.gauss(78, 12))
    margin = (-2.2 + TRUTH["age"] * age / 110 + TRUTH["prior_stays"] * prior / 12 + TRUTH["length_of_stay"] * stay / 60
              + TRUTH["diabetes=yes"] * diabetes + TRUTH.get(f"ward={ward}", 0.0))
    readmitted = random.random() < 1 / (1 + math.exp(-margin))
    shown = "" if random.random() < 0.03 else f"{creatinine}"
    rows.append(
        f"S{number:05d},{age},{prior},{stay},{'yes' if diabetes else 'no'},{ward},{shown},"
        f"{heart_rate},{'yes' if readmitted else 'no'}"
    )
header = "id,age,prior_stays,length_of_stay,diabetes,ward,creatinine,heart_rate,readmitted"
pathlib.Path(__file__).with_name("clinic.csv").write_text("\n".join([header, *rows]) + "\n")
