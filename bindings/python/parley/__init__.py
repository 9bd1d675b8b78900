"""Sparse linear models over data that may not be pooled, with a proven differential-privacy guarantee or none.

    >>> import numpy as np, parley
    >>> x = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = parley.LinearRegression().fit(x, 2 * x[:, 0] + 1)
    >>> round(float(model.coef_[0]), 6), round(float(model.intercept_), 6)
    (2.0, 1.0)

Estimators follow scikit-learn. `Federation` trains over several tables as they would be trained between machines,
`train` runs a job file, and `parley.accounting` prices releases.
"""
from . import accounting
from ._engine import BudgetEnded, RunFailed, set_thread_count
from ._engine import version as __version__
from .federation import Federation
from .linear import Lasso, LinearRegression, LogisticRegression, SquaredHingeClassifier
from .privacy import Privacy
from .run import Result, plan, train

__all__ = [
    "BudgetEnded", "Federation", "Lasso", "LinearRegression", "LogisticRegression", "Privacy", "Result", "RunFailed",
    "SquaredHingeClassifier", "accounting", "plan", "set_thread_count", "train",
]
