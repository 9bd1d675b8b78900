import json
import math
import re
import unittest

from parley_cli import CliTest


def events(*entries, neighbours="add-remove"):
    return json.dumps({"neighbours": neighbours, "events": list(entries)})


GAUSSIAN = {"mechanism": "gaussian", "sigma": 10, "sensitivity": 1, "count": 100}
SELECTION = {"mechanism": "exponential", "epsilon": 0.1, "count": 20}


class Account(CliTest):
    def test_json_names_every_accountant_and_the_smallest(self):
        self.write("e.json", events(GAUSSIAN, SELECTION))
        result = self.json_of("account", "e.json", "--delta", "1e-6")
        self.assertLessEqual({"epsilon", "delta", "accountant", "all"}, set(result))
        self.assertLessEqual({"basic", "zcdp", "rdp", "pld"}, set(result["all"]))
        finite = [value for value in result["all"].values() if value is not None]
        self.assertEqual(result["epsilon"], min(finite))
        self.assertEqual(result["epsilon"], result["all"][result["accountant"]])
        self.assertEqual(result["delta"], 1e-6)

    def test_one_gaussian_is_the_analytic_one(self):
        self.write("e.json", events({"mechanism": "gaussian", "sigma": 1, "sensitivity": 1, "count": 1}))
        self.assertAlmostEqual(
            self.json_of("account", "e.json", "--delta", "1e-5")["epsilon"], 4.3771780956812245, places=8)

    def test_epsilon_asks_for_delta(self):
        self.write("e.json", events(SELECTION))
        there = self.json_of("account", "e.json", "--delta", "1e-6")["epsilon"]
        back = self.json_of("account", "e.json", "--epsilon", there)
        self.assertLessEqual(back["delta"], 1.01e-6)

    def test_words_for_people(self):
        self.write("e.json", events({"mechanism": "pure", "epsilon": 1}, neighbours="replace-one"))
        text = self.succeeds("account", "e.json", "--delta", "1e-6").stdout
        self.assertIn("at most a factor 2.72", text)
        self.assertIn("except with probability 1e-06", text)
        self.assertIn("replace-one", text)

    def test_the_chance_to_guess_right_includes_delta(self):
        self.write("e.json", events({"mechanism": "pure", "epsilon": 1}, neighbours="replace-one"))
        result = self.json_of("account", "e.json", "--delta", "0.1")
        chance = float(re.search(r"a chance of at most ([0-9.]+) %", result["statement"])[1])
        factor = math.exp(result["epsilon"])
        self.assertGreaterEqual(chance, 100 * (factor + 0.1) / (1 + factor) - 1e-9)
        self.assertGreater(chance, 100 * factor / (1 + factor) + 1)

    def test_a_release_in_the_clear_has_no_number(self):
        self.write("e.json", events({"mechanism": "unprotected"}))
        result = self.json_of("account", "e.json", "--delta", "1e-6")
        self.assertIsNone(result["epsilon"])
        self.assertIn("Nothing can be promised", result["statement"])

    def test_bad_input_is_one_line_that_names_the_place(self):
        self.write("bad.json", events({"mechanism": "gausian", "sigma": 1, "sensitivity": 1}))
        self.refuses("account", "bad.json", "--delta", "1e-6", says="did you mean 'gaussian'")
        self.write("zero.json", events({"mechanism": "gaussian", "sigma": 0, "sensitivity": 1}))
        self.refuses("account", "zero.json", "--delta", "1e-6",
                     says="zero.json: events[0].sigma: must be a finite number above 0")
        self.write("good.json", events(GAUSSIAN))
        for delta in ("0", "1", "nan", "-1e-6"):
            self.refuses("account", "good.json", "--delta", delta)
        self.refuses("account", "good.json", "--epsilon", "-1", says="epsilon")
        self.refuses("account", "good.json", says="needs one of --delta and --epsilon")
        self.refuses("account", "missing.json", "--delta", "1e-6", says="missing.json")

    def test_absurd_files_are_refused_in_words(self):
        self.write("huge.json", events(GAUSSIAN).replace("10,", "1e400,", 1))
        self.refuses("account", "huge.json", "--delta", "1e-6", says="beyond the range of a double")
        self.write("deep.json", '{"neighbours": ' + "[" * 200000 + "]" * 200000 + "}")
        self.refuses("account", "deep.json", "--delta", "1e-6", says="nested more than")
        self.write("tiny.json",
                   events({"mechanism": "subsampled-gaussian", "noise_multiplier": 1e-160, "sampling_rate": 0.5}))
        self.refuses("account", "tiny.json", "--delta", "1e-6", says="must lie between")
        self.write("good.json", events(GAUSSIAN))
        self.refuses("account", "good.json", "--delta", "1e-320", says="at least 1e-300")
        self.refuses("account", ".", "--delta", "1e-6", says="folder")


class Calibrate(CliTest):
    def test_what_it_says_is_what_the_accountant_accepts(self):
        for extra in ([], ["--sampling-rate", "0.02", "--neighbours",
                           "add-remove"], ["--plan",
                                           "select"], ["--plan", "select+release", "--share",
                                                       "0.3"], ["--plan", "select+release", "--noise", "gaussian"]):
            found = self.json_of("calibrate", "--epsilon", "1", "--delta", "1e-6", "--steps", "50", *extra)
            self.write("e.json", json.dumps({"neighbours": found["neighbours"], "events": found["events"]}))
            spent = self.json_of("account", "e.json", "--delta", "1e-6")["epsilon"]
            self.assertLessEqual(spent, 1.0, extra)
            self.assertGreater(spent, 0.995, extra)

    def test_more_steps_need_more_noise(self):
        few = self.json_of("calibrate", "--epsilon", "1", "--delta", "1e-6", "--steps", "10", "--noise", "gaussian")
        many = self.json_of("calibrate", "--epsilon", "1", "--delta", "1e-6", "--steps", "1000", "--noise", "gaussian")
        self.assertAlmostEqual(many["sigma_over_sensitivity"] / few["sigma_over_sensitivity"], 10, places=2)

    def test_bad_input_is_refused(self):
        good = ["--epsilon", "1", "--delta", "1e-6"]
        self.refuses("calibrate", "--epsilon", "0", "--delta", "1e-6", says="epsilon: must be a finite number above 0")
        self.refuses("calibrate", "--epsilon", "1", "--delta", "1", says="delta")
        self.refuses("calibrate", *good, "--steps", "0", says="steps")
        self.refuses("calibrate", *good, "--sampling-rate", "1.5", says="sampling_rate")
        self.refuses("calibrate", *good, "--sampling-rate", "1e-300", says="at least 1e-12")
        self.refuses("calibrate", "--epsilon", "1e-300", "--delta", "1e-6", says="between 1e-9 and 1e9")
        self.refuses("calibrate", *good, "--plan", "selct", says="did you mean 'select'")
        self.refuses("calibrate", *good, "--neighbours", "both", says="--neighbours")
        self.refuses("calibrate", *good, "--plan", "select+release", "--share", "1", says="--share")


if __name__ == "__main__":
    unittest.main()
