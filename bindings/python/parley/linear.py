"""Linear models as scikit-learn has them: mean loss + l1 ||w||_1 + l2/2 ||w||^2, with a proven promise or none."""
import numpy
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from . import _engine
from .job_text import job_text
from .run import Result, progress_bar
from .tables import as_table, names_of

try:  # scikit-learn 1.6 and later
    from sklearn.utils.validation import validate_data
except ImportError:
    def validate_data(estimator, *arrays, **rules):
        return estimator._validate_data(*arrays, **rules)


class _Linear(BaseEstimator):
    """What all of them share. `algorithm` and `settings` are [algorithm] of a job; by default `exact`, or of a private
    fit `sgd`. A `random_state` makes the noise of a private fit repeatable, and nothing is claimed then."""

    _task = None

    def __init__(self, *, l1=0.0, l2=1e-4, fit_intercept=True, algorithm=None, settings=None, privacy=None,
                 random_state=None, progress=False):
        self.l1 = l1
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.algorithm = algorithm
        self.settings = settings
        self.privacy = privacy
        self.random_state = random_state
        self.progress = progress

    def _penalty(self):
        return {"l1": float(self.l1), "l2": float(self.l2)}

    def _algorithm(self):
        return self.algorithm or ("exact" if self.privacy is None else "sgd")

    def _learn(self, features, labels, names, task, classes=None):
        private = self.privacy is not None
        algorithm = {"name": self._algorithm(), **(self.settings or {})}
        if self.random_state is not None:
            algorithm["seed"] = int(self.random_state)
        intercept = ("penalised" if private else "free") if self.fit_intercept else "none"
        sections = {
            "job": {"name": type(self).__name__, "partition": "single", "task": task},
            "model": {**self._penalty(), "intercept": intercept},
            "algorithm": algorithm,
            "data": {"scale": "bounds" if private else "none"},
        }
        party = "table"
        bounds = None
        if private:
            party = self.privacy.data_set
            sections["privacy"] = self.privacy.section()
            bounds = self.privacy.bounds(features.shape[1])
            if task == "linear" and self.privacy.label_bound is not None:
                sections["data"]["label_bound"] = float(self.privacy.label_bound)
        if classes is not None:
            sections["labels"] = {"classes": [str(k) for k in range(len(classes))]}
        table = as_table(party, features, labels, bounds=bounds, names=names)
        told = _engine.train_arrays(job_text(parties=[party], **sections), type(self).__name__, [table],
                                    progress_bar(self.progress))
        self.result_ = Result(told)
        self.statement_ = self.result_.statement
        model = self.result_.models[0]
        self.n_iter_ = int(self.result_.result["rounds"])
        intercepts = model["intercepts"].ravel()
        return model["weights"], intercepts if intercepts.size else numpy.zeros(model["weights"].shape[0])

    def _read(self, X, y, **rules):
        names = names_of(X)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=numpy.float64, **rules)
        if X.shape[0] < 2:
            raise ValueError(f"{type(self).__name__}: training needs at least two rows (got 1 sample)")
        return X, y, names

    def _margins(self, X):
        check_is_fitted(self, "coef_")
        X = validate_data(self, X, accept_sparse="csr", dtype=numpy.float64, reset=False)
        return safe_sparse_dot(X, numpy.atleast_2d(self.coef_).T, dense_output=True) + self.intercept_

    def _more_tags(self):
        if self.privacy is None:
            return {}
        why = "a private fit is a random draw that a budget pays for once"
        return {"non_deterministic": True, "poor_score": True,
                "_xfail_checks": {check: why for check in (
                    "check_fit_idempotent", "check_methods_subset_invariance", "check_n_features_in_after_fitting")}}


class LinearRegression(RegressorMixin, _Linear):
    """Least squares: mean (x'w + b - y)^2 / 2 + l1 ||w||_1 + l2/2 ||w||^2.

        >>> import numpy as np
        >>> x = np.array([[0.0], [1.0], [2.0]])
        >>> LinearRegression().fit(x, [1.0, 3.0, 5.0]).predict([[10.0]]).round(6).tolist()
        [21.0]
    """

    def __init__(self, *, l1=0.0, l2=0.0, fit_intercept=True, algorithm=None, settings=None, privacy=None,
                 random_state=None, progress=False):
        super().__init__(l1=l1, l2=l2, fit_intercept=fit_intercept, algorithm=algorithm, settings=settings,
                         privacy=privacy, random_state=random_state, progress=progress)

    def fit(self, X, y):
        """Fits the model to rows X and values y."""
        X, y, names = self._read(X, y, y_numeric=True)
        weights, intercepts = self._learn(X, y, names, "linear")
        self.coef_, self.intercept_ = weights[0], float(intercepts[0])
        return self

    def predict(self, X):
        """The predicted value of each row."""
        return self._margins(X).ravel()


class Lasso(LinearRegression):
    """Least squares with l1 = alpha, as scikit-learn's `Lasso` has it.

        >>> import numpy as np
        >>> int(np.count_nonzero(Lasso(alpha=10.0).fit(np.eye(3), [1.0, 2.0, 3.0]).coef_))
        0
    """

    def __init__(self, *, alpha=1.0, fit_intercept=True, algorithm=None, settings=None, privacy=None,
                 random_state=None, progress=False):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.algorithm = algorithm
        self.settings = settings
        self.privacy = privacy
        self.random_state = random_state
        self.progress = progress

    def _penalty(self):
        return {"l1": float(self.alpha), "l2": 0.0}


class _Classifier(ClassifierMixin, _Linear):
    def fit(self, X, y):
        """Fits the model to rows X and labels y."""
        X, y, names = self._read(X, y)
        check_classification_targets(y)
        self.classes_ = self._all_classes(y)
        codes = numpy.searchsorted(self.classes_, y)
        if len(self.classes_) < 2:
            raise ValueError(f"{type(self).__name__}: labels: one class only; a classifier needs two")
        task = self._task if len(self.classes_) == 2 else self._task_of_many()
        # The engine's classes are numbers that stand for these, in their order.
        weights, intercepts = self._learn(X, codes, names, task, self.classes_)
        self.coef_, self.intercept_ = weights, intercepts
        return self

    def _all_classes(self, y):
        seen = numpy.unique(y)
        if self.privacy is None:
            return seen
        if self.privacy.classes is not None:
            classes = numpy.unique(numpy.asarray(self.privacy.classes))
        else:
            classes = next((numpy.array(pair) for pair in ((0, 1), (-1, 1)) if numpy.isin(seen, pair).all()), None)
            if classes is None:
                raise ValueError("Privacy: classes: state all classes; which of them occur is not public")
        if not numpy.isin(seen, classes).all():
            raise ValueError("Privacy: classes: there is a label that is not among them")
        return classes

    def decision_function(self, X):
        """The margin of each row, above 0 for the second class; of several classes one of each."""
        margins = self._margins(X)
        return margins.ravel() if len(self.classes_) == 2 else margins

    def predict(self, X):
        """The class of each row."""
        margins = self.decision_function(X)
        best = (margins > 0).astype(int) if margins.ndim == 1 else margins.argmax(axis=1)
        return self.classes_[best]


class LogisticRegression(_Classifier):
    """Logistic loss for two classes, softmax for more: mean loss + l1 ||w||_1 + l2/2 ||w||^2. scikit-learn's C is
    1/(n l2).

        >>> import numpy as np
        >>> x = np.array([[0.0], [1.0], [2.0], [3.0]])
        >>> LogisticRegression().fit(x, ["no", "no", "yes", "yes"]).predict([[0.2], [2.8]]).tolist()
        ['no', 'yes']
    """

    _task = "logistic"

    def _task_of_many(self):
        return "softmax"

    def predict_proba(self, X):
        """The probability of each class, row by row."""
        margins = self.decision_function(X)
        if margins.ndim == 1:
            margins = numpy.column_stack([numpy.zeros_like(margins), margins])
        odds = numpy.exp(margins - margins.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)


class SquaredHingeClassifier(_Classifier):
    """Squared hinge loss for two classes: mean max(0, 1 - y(x'w + b))^2 + l1 ||w||_1 + l2/2 ||w||^2.

        >>> import numpy as np
        >>> x = np.array([[0.0], [1.0], [2.0], [3.0]])
        >>> SquaredHingeClassifier().fit(x, [0, 0, 1, 1]).predict([[0.2], [2.8]]).tolist()
        [0, 1]
    """

    _task = "squared-hinge"

    def _task_of_many(self):
        raise ValueError("SquaredHingeClassifier: Only binary classification is supported; "
                         "use LogisticRegression for several classes")

    def _more_tags(self):
        return {**super()._more_tags(), "binary_only": True}
