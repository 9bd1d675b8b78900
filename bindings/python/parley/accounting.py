"""What releases cost together, and what a ledger says was spent.

    >>> account([{"mechanism": "pure", "epsilon": 3, "count": 2}], delta=1e-5)["epsilon"] > 5.9999
    True
"""
import json
import os

from . import _engine


def account(events, *, delta=None, epsilon=None, neighbours="replace-one"):
    """The smallest epsilon at `delta`, or the smallest delta at `epsilon`, of these events (`parley account --help`)."""
    if (delta is None) == (epsilon is None):
        raise ValueError("account: needs one of delta and epsilon")
    return _engine.account(json.dumps({"neighbours": neighbours, "events": list(events)}), delta=delta, epsilon=epsilon)


def ledger(folder):
    """What each data set of a ledger has spent, and its budget."""
    return _engine.ledger(os.fspath(folder))
