"""What a private fit promises, and what it may take as public."""
import dataclasses
import os
import typing


@dataclasses.dataclass(frozen=True)
class Privacy:
    """A promise of (epsilon, delta) for one record, and the public numbers that it rests on.

    bound: the public bound of every |x|, or one for each column; values beyond are clipped.
    label_bound: of a regression, the public bound of |y|.
    classes: of a classification whose labels are not 0/1 or -1/1, all classes, whether they occur or not.
    ledger: the folder of the ledger that is charged before anything is drawn. It has one budget for each data set,
        over all fits: where none was set, the first fit sets its own, and a second one is refused (BudgetEnded)
        until a person raises the budget with `parley ledger budget`.
    data_set: what the ledger calls these records.
    delta: by default 1/n^2.
    neighbours: "replace-one", or "add-remove" with a public number of `records`.

        >>> Privacy(epsilon=1.0, bound=1.0, ledger="ledger").epsilon
        1.0
    """
    epsilon: float
    delta: typing.Optional[float] = None
    bound: typing.Union[float, typing.Sequence[float]] = 1.0
    label_bound: typing.Optional[float] = None
    classes: typing.Optional[typing.Sequence] = None
    ledger: typing.Union[str, os.PathLike] = "ledger"
    data_set: str = "table"
    neighbours: str = "replace-one"
    records: typing.Optional[int] = None

    def section(self):
        """The keys of [privacy] that this stands for."""
        keys = {"epsilon": float(self.epsilon), "neighbours": self.neighbours,
                "ledger": os.path.abspath(os.fspath(self.ledger))}
        if self.delta is not None:
            keys["delta"] = float(self.delta)
        if self.records is not None:
            keys["records"] = int(self.records)
        return keys

    def bounds(self, columns):
        """The bound of each column."""
        if isinstance(self.bound, (int, float)):
            return [float(self.bound)] * columns
        bounds = [float(bound) for bound in self.bound]
        if len(bounds) != columns:
            raise ValueError(f"Privacy: bound: there are {len(bounds)} bounds for {columns} columns")
        return bounds
