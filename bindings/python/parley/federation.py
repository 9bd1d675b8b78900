"""Several tables that are not pooled, trained over as between machines, in this process."""
from . import _engine
from .job_text import job_text
from .run import Result, progress_bar
from .tables import as_table


class Federation:
    """Parties with tables of their own: `rows` where they hold different people, `columns` where they hold different
    columns of the same people.

        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> x = rng.normal(size=(60, 2)); y = x @ [1.0, -2.0]
        >>> north, south = (x[:30], y[:30]), (x[30:], y[30:])
        >>> run = Federation.rows({"north": north, "south": south}).train("newton", task="linear")
        >>> [round(float(w), 3) for w in run.models[0]["weights"][0]]
        [1.0, -2.0]
    """

    def __init__(self, partition, tables, labels):
        self.partition, self.tables, self.labels = partition, tables, labels

    @classmethod
    def rows(cls, parties):
        """{"name": (X, y)}: each party holds people of its own, with the same columns."""
        return cls("horizontal", {name: (features, labels) for name, (features, labels) in parties.items()}, None)

    @classmethod
    def columns(cls, parties, *, labels):
        """{"name": X}, and `labels=("name", y)`: the party that holds them. Rows are the same people, in one order."""
        holder, values = labels
        if holder not in parties:
            raise ValueError(f"Federation: labels: there is no party '{holder}'")
        return cls("vertical", {name: (table, values if name == holder else None) for name, table in parties.items()},
                   holder)

    def train(self, algorithm, *, task="logistic", model=None, settings=None, privacy=None, data=None, name="notebook",
              progress=False):
        """Runs the algorithm of the catalog with that name. `model`, `settings` and `data` are the keys of [model],
        [algorithm] and [data] of a job."""
        data = dict(data or {})
        sections = {"job": {"name": name, "partition": self.partition, "task": task}, "model": dict(model or {}),
                    "algorithm": {"name": algorithm, **(settings or {})}}
        public = {}
        if privacy is not None:
            sections["privacy"] = privacy.section()
            if privacy.label_bound is not None:
                data.setdefault("label_bound", float(privacy.label_bound))
            if privacy.classes is not None:
                public["classes"] = [str(label) for label in privacy.classes]
            if self.labels is not None:
                public["public"] = True
        if self.labels is not None:
            public["party"] = self.labels
        sections["data"], sections["labels"] = data, public
        tables = []
        for party, (features, labels) in self.tables.items():
            table = as_table(party, features, labels)
            if privacy is not None:
                table["bounds"] = privacy.bounds(table["columns"])
            if self.partition == "vertical" and "names" not in table:
                table["names"] = [f"{party}.x{j + 1}" for j in range(table["columns"])]
            tables.append(table)
        text = job_text(parties=list(self.tables), **sections)
        return Result(_engine.train_arrays(text, name, tables, progress_bar(progress)))
