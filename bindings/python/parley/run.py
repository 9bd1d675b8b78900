"""Runs of jobs, and what comes out of them."""
import html
import json
import os

from . import _engine


class Result:
    """What a run did: `result` as result.json has it, the models of its parties, and the table for people."""

    def __init__(self, told):
        self.result = json.loads(told["json"])
        self.models = told["models"]
        self._table = told["table"]

    @property
    def statement(self):
        """What is claimed about the model, or that nothing is."""
        return self.result["privacy"].get("statement") or self.models[0]["statement"]

    @property
    def metrics(self):
        """Of training rows, and of test rows where there are some. Of a private run they are not covered."""
        return self._of_simulation("metrics")

    @property
    def history(self):
        """The objective after each iteration. Of a private run it is not covered."""
        return self._of_simulation("objective")["history"]

    def _of_simulation(self, field):
        return self.result[field] if field in self.result else self.result["simulation"][field]

    def report(self):
        """The table that `parley train` prints."""
        return self._table

    def __repr__(self):
        return f"<parley.Result {self.result['status']}: {self.result['model']['nonzeros']} nonzero weights>"

    def _repr_html_(self):
        return f"<pre>{html.escape(self._table)}</pre>"


def progress_bar(wanted):
    """tqdm where it is wanted and there; else nothing."""
    if not wanted:
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    bar = tqdm(unit="it", leave=False)

    def told(iteration, expected, objective):
        bar.total = expected or None
        bar.n = iteration
        bar.set_postfix_str(f"objective {objective:.6g}", refresh=False)
        bar.refresh()
    return told


def _make_room(out, overwrite):
    """The folder; a private model in it, which a budget paid for, stays unless its replacement is asked for."""
    os.makedirs(out, exist_ok=True)
    try:
        with open(os.path.join(out, "model.json"), encoding="utf-8") as file:
            paid = json.load(file)["privacy"]["claimed"]
    except (OSError, ValueError, KeyError):
        return
    if paid and not overwrite:
        raise ValueError(f"{out}: holds a private model that a budget paid for; overwrite=True replaces it")


def train(job, *, set=(), out=None, overwrite=False, progress=False):  # noqa: A002: the word of the command line
    """Runs a job file as `parley train` does; `set` are "section.key=value". With `out` model.json and result.json are
    written there.

        >>> train("no-such-job.toml")
        Traceback (most recent call last):
        ...
        ValueError: no-such-job.toml: cannot be read: No such file or directory
    """
    if out is not None:
        _make_room(os.fspath(out), overwrite)
    told = _engine.train_file(os.fspath(job), list(set), "" if out is None else os.fspath(out), progress_bar(progress))
    if out is not None:
        with open(os.path.join(out, "result.json"), "w", encoding="utf-8") as file:
            file.write(told["json"] + "\n")
    return Result(told)


def plan(job, *, set=()):  # noqa: A002
    """What a job would release and cost, as `parley plan --json` says it. Nothing is charged."""
    return json.loads(_engine.plan_file(os.fspath(job), list(set)))
