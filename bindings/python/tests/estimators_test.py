# labels: slow
"""Estimators beside scikit-learn's, and under its own checks."""
import doctest
import importlib
import json
import pathlib
import pickle
import pkgutil
import subprocess
import tempfile
import os
import unittest

import numpy
import scipy.sparse
import sklearn.linear_model
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import parley

EXACTLY = {"tolerance": 1e-15}  # of the objective; the weights' is its square root


def people(rows=400, columns=6, seed=1):
    random = numpy.random.default_rng(seed)
    x = random.uniform(-1, 1, size=(rows, columns))
    margins = x @ random.normal(size=columns) * 2 + 0.5
    return x, margins, (random.uniform(size=rows) < 1 / (1 + numpy.exp(-margins))).astype(int)


class Checks(unittest.TestCase):
    def test_scikit_learn_finds_nothing_wrong(self):
        for estimator in (parley.LogisticRegression(), parley.LinearRegression(), parley.Lasso(),
                          parley.SquaredHingeClassifier()):
            with self.subTest(type(estimator).__name__):
                check_estimator(estimator)


class Optima(unittest.TestCase):
    def test_the_logistic_optimum_is_scikit_learns(self):
        x, _, y = people()
        ours = parley.LogisticRegression(l2=0.01, settings=EXACTLY).fit(x, y)
        peer = sklearn.linear_model.LogisticRegression(C=1 / (0.01 * len(y)), solver="newton-cg", tol=1e-10).fit(x, y)
        numpy.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-6)
        numpy.testing.assert_allclose(ours.intercept_, peer.intercept_, atol=1e-6)
        numpy.testing.assert_allclose(ours.predict_proba(x), peer.predict_proba(x), atol=1e-6)

    def test_the_lasso_is_scikit_learns(self):
        x, margins, _ = people()
        ours = parley.Lasso(alpha=0.05).fit(x, margins)
        peer = sklearn.linear_model.Lasso(alpha=0.05, tol=1e-12).fit(x, margins)
        numpy.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-6)

    def test_every_layout_of_a_table_gives_the_same_model(self):
        x, _, y = people()
        x[numpy.abs(x) < 0.5] = 0
        first = parley.LogisticRegression().fit(x, y).coef_
        for other in (numpy.asfortranarray(x), scipy.sparse.csr_matrix(x), scipy.sparse.csc_matrix(x), x.tolist()):
            numpy.testing.assert_array_equal(parley.LogisticRegression().fit(other, y).coef_, first)

    def test_several_classes(self):
        x, margins, _ = people()
        y = numpy.digitize(margins, [-0.5, 1.0])
        model = parley.LogisticRegression(l2=1e-3).fit(x, numpy.array(["low", "mid", "high"])[y])
        self.assertEqual(model.coef_.shape, (3, 6))
        self.assertGreater(model.score(x, numpy.array(["low", "mid", "high"])[y]), 0.8)

    def test_it_stands_where_an_estimator_stands(self):
        x, _, y = people()
        search = GridSearchCV(make_pipeline(StandardScaler(), parley.LogisticRegression()),
                              {"logisticregression__l2": [1e-3, 1e-1]}, cv=3).fit(x, y)
        self.assertIn("logisticregression__l2", search.best_params_)
        model = clone(parley.LogisticRegression(l2=0.5)).fit(x, y)
        numpy.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(x), model.predict(x))

    def test_bad_input_is_a_value_error_with_the_sentence_of_the_command_line(self):
        x, _, y = people()
        with self.assertRaisesRegex(ValueError, r"model.l2: must be at least 0"):
            parley.LogisticRegression(l2=-1.0).fit(x, y)
        with self.assertRaisesRegex(ValueError, "did you mean 'exact'"):
            parley.LogisticRegression(algorithm="exat").fit(x, y)


class Numbers(unittest.TestCase):
    def test_a_notebook_and_the_command_line_agree_to_the_last_digit(self):
        source = pathlib.Path(os.environ["PARLEY_SOURCE_DIR"])
        job = source / "examples" / "readmission" / "job.toml"
        with tempfile.TemporaryDirectory() as scratch:
            subprocess.run([os.environ["PARLEY"], "train", job, "--out", scratch, "--quiet"], check=True,
                           capture_output=True, timeout=60)
            told = json.loads((pathlib.Path(scratch) / "result.json").read_text())
            run = parley.train(job, out=pathlib.Path(scratch) / "here")
            self.assertEqual((pathlib.Path(scratch) / "here" / "model.json").read_bytes(),
                             (pathlib.Path(scratch) / "model.json").read_bytes())
        self.assertEqual(run.result["objective"], told["objective"])
        self.assertEqual(run.metrics, told["metrics"])
        self.assertIn("<pre>", run._repr_html_())
        self.assertEqual(run.history, told["objective"]["history"])
        self.assertIn("memory", json.dumps(parley.plan(job)))


    def test_a_paid_model_is_not_replaced_by_mistake(self):
        with tempfile.TemporaryDirectory() as scratch:
            (pathlib.Path(scratch) / "model.json").write_text('{"privacy": {"claimed": true}}')
            with self.assertRaisesRegex(ValueError, "a budget paid for"):
                parley.train("job.toml", out=scratch)


class PrivateFits(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.ledger = os.path.join(scratch.name, "ledger")

    def test_a_fit_claims_charges_and_cannot_be_repeated(self):
        x, _, y = people(4000)
        privacy = parley.Privacy(epsilon=4.0, delta=1e-6, bound=1.0, ledger=self.ledger, data_set="people")
        model = parley.LogisticRegression(privacy=privacy).fit(x, y)
        self.assertIn("Any single person could change", model.statement_)
        self.assertGreater(model.score(x, y), 0.6)
        spent, = parley.accounting.ledger(self.ledger)
        self.assertEqual((spent["data_set"], spent["charges"]), ("people", 1))
        self.assertLessEqual(spent["epsilon"], 4.0)
        with self.assertRaises(parley.BudgetEnded):
            parley.LogisticRegression(privacy=privacy).fit(x, y)

    def test_classes_are_stated_and_not_found(self):
        x, _, y = people()
        privacy = parley.Privacy(epsilon=1.0, ledger=self.ledger)
        with self.assertRaisesRegex(ValueError, "which of them occur is not public"):
            parley.LogisticRegression(privacy=privacy).fit(x, numpy.array(["a", "b"])[y])
        self.assertFalse(os.path.exists(self.ledger))

    def test_a_seed_voids_the_claim(self):
        x, _, y = people()
        privacy = parley.Privacy(epsilon=1.0, delta=1e-5, ledger=self.ledger)
        model = parley.LogisticRegression(privacy=privacy, random_state=3).fit(x, y)
        self.assertFalse(model.result_.models[0]["claimed"])


class Federations(unittest.TestCase):
    def test_rows_reach_the_pooled_optimum(self):
        x, _, y = people()
        run = parley.Federation.rows({"north": (x[:150], y[:150]), "south": (x[150:], y[150:])}).train(
            "newton", model={"l2": 0.01})
        pooled = parley.LogisticRegression(l2=0.01, fit_intercept=False, settings=EXACTLY).fit(x, y)
        numpy.testing.assert_allclose(run.models[0]["weights"], pooled.coef_, atol=1e-8)
        self.assertGreater(run.result["communication"]["uplink_bytes"], 0)

    def test_columns_keep_a_part_each(self):
        x, _, y = people()
        run = parley.Federation.columns({"clinic": x[:, :2], "lab": x[:, 2:]}, labels=("clinic", y)).train(
            "admm-sharing", model={"l2": 0.01}, settings={"iterations": 500})
        self.assertEqual([part["party"] for part in run.models], ["clinic", "lab"])
        pooled = parley.LogisticRegression(l2=0.01, fit_intercept=False).fit(x, y)
        weights = numpy.concatenate([part["weights"][0] for part in run.models])
        numpy.testing.assert_allclose(weights, pooled.coef_[0], atol=1e-3)


class Documents(unittest.TestCase):
    def test_examples_in_docstrings(self):
        for module in pkgutil.iter_modules(parley.__path__):
            if module.name != "_engine":
                found = doctest.testmod(importlib.import_module(f"parley.{module.name}"))
                self.assertEqual(found.failed, 0, module.name)
        self.assertEqual(doctest.testmod(parley).failed, 0)


if __name__ == "__main__":
    unittest.main()
