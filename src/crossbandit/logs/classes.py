"""Classes of auctions: the levels of categorical columns, numbered as they come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from crossbandit.types import Floats, Integers

LIMIT = 4096  # levels of a column that are told apart; later ones are pooled
SHOWN = 10  # levels in tables and figures, the most frequent ones
OTHERS = "others"
EMPTY = "(empty)"


class ClassColumn(NamedTuple):
    """A class column and its most frequent levels.

    Attributes:
        column: The name of the column.
        levels: The levels, the most frequent first. The last may be "others".
        auctions: The number of auctions of each level.
        pooled: How many levels "others" stands for; 0 if there is no such entry.
    """

    column: str
    levels: tuple[str, ...]
    auctions: Floats
    pooled: int


class ClassTable:
    """Numbers for the levels of class columns and for their combinations, in bounded memory.

    A level has the next free number when it first occurs. When `LIMIT` numbers are used, all new
    levels have the number `LIMIT`.

    Args:
        names: The names of the columns.

    >>> import pandas as pd
    >>> table = ClassTable(["site", "device"])
    >>> table.numbers([pd.Series(["a", "b", "a"]), pd.Series(["x", "x", "y"])])
    array([[0, 0, 0],
           [1, 0, 1],
           [0, 1, 2]])
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._levels: list[dict[str, int]] = [{} for _ in names]
        self._combinations: dict[tuple[int, ...], int] = {}
        self.auctions = np.zeros((len(self.names), LIMIT + 1))

    def numbers(self, labels: Sequence[pd.Series[str]]) -> Integers:
        """Return the numbers of some auctions: one per column, and one for the combination."""
        columns = [
            _find(levels, *column.factorize())
            for levels, column in zip(self._levels, labels, strict=True)
        ]
        rows = np.stack(columns, axis=1)
        if len(columns) == 1:
            return np.hstack([rows, rows])
        kinds, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        keys = [tuple(kinds[i].tolist()) for i in order]
        joint = _find(self._combinations, rank[inverse.reshape(-1)], keys)
        return np.column_stack([rows, joint])

    def count(self, numbers: Integers) -> None:
        """Count the auctions of each level."""
        for i in range(len(self.names)):
            self.auctions[i] += np.bincount(numbers[:, i], minlength=LIMIT + 1)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many numbers each column may use, the one for pooled levels included."""
        return tuple(len(levels) + 1 for levels in self._levels)

    def labels(self, column: int) -> list[str]:
        """Return the levels of a column by their numbers; the last one stands for later levels."""
        return [*self._levels[column], OTHERS][: LIMIT + 1]

    def full(self) -> list[str]:
        """Return the columns with more levels than are told apart."""
        return [
            name for name, counts in zip(self.names, self.auctions, strict=True) if counts[LIMIT]
        ]

    def places(self, column: int) -> Integers:
        """Return where tables show the numbers of a column: 0 for the most frequent level."""
        counts, size = self.auctions[column], len(self._levels[column])
        order = np.argsort(-counts[:size], kind="stable")
        places = np.minimum(np.argsort(order), SHOWN)
        if size == SHOWN + 1 and not counts[LIMIT]:
            places = np.argsort(order)
        return np.append(places, min(size, SHOWN))

    def column(self, column: int) -> ClassColumn:
        """Return what tables show of a column."""
        places, labels = self.places(column), list(self._levels[column])
        counts = np.append(self.auctions[column, : len(labels)], self.auctions[column, LIMIT])
        auctions: Floats = np.bincount(places, counts).astype(float)
        auctions = auctions[: np.flatnonzero(auctions)[-1] + 1]
        levels = [OTHERS] * auctions.size
        for i in range(len(labels)):
            if places[i] < SHOWN or len(labels) == SHOWN + 1:
                levels[places[i]] = labels[i] or EMPTY
        pooled = max(len(labels) - SHOWN, 0) if levels[-1] == OTHERS else 0
        return ClassColumn(self.names[column], tuple(levels), auctions, pooled)


def _find(known: dict[Any, int], codes: Integers, keys: Sequence[Any]) -> Integers:
    """Return the numbers of keys[codes]; new keys are given the next ones, while there are any."""
    found = np.empty(len(keys), dtype=np.int64)
    for i, key in enumerate(keys):
        if len(known) < LIMIT:
            known.setdefault(key, len(known))
        found[i] = known.get(key, LIMIT)
    numbers: Integers = found[codes]
    return numbers
