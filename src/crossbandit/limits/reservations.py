"""The money that is reserved for bids without an outcome: a row of arrays for each bid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.kernels.compilation import Bound
from crossbandit.kernels.pacing import Reserved

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from crossbandit.kernels.pacing import PaceRules, PaceState
    from crossbandit.types import Booleans, Integers

_FEWEST = 1024  # the least number of rows
_SPARE = 7 / 8  # if a larger share of the rows is free, the arrays are made smaller


class Reservations:
    """The bids without an outcome, by their keys, in the order in which they were made.

    Each is a row of arrays, which compiled steps fill and read. A row is used again after its bid
    was settled.

    Args:
        rules: The rules of the limits.
        state: Their state.

    Attributes:
        table: The arrays. `resize` replaces them.
        bound: The rules, the state and the arrays as one argument of compiled steps: passing them
            one by one takes longer than a step.
        rows: The row of each bid, by its key.
        free: The rows that are not used.
        opened: The row of the next bid, whose ticket is set when its auction is opened.
        spare: If more rows than this are free, `resize` should be called to free memory.
    """

    def __init__(self, rules: PaceRules, state: PaceState) -> None:
        self.table = Reserved(
            held=np.zeros((_FEWEST, 2)),
            prices=np.zeros((_FEWEST, 2), dtype=np.int64),
            tickets=np.zeros((_FEWEST, rules.kinds.size, 4)),
        )
        self.bound = Bound(rules, state, self.table)
        self.rows: dict[int, int] = {}
        self.free = list(range(1, _FEWEST))
        self.opened = 0
        self.spare = _FEWEST

    def hold(self, key: int) -> None:
        """Remember the bid of the opened row under a key, and open another row.

        Args:
            key: A unique number for the bid.
        """
        self.rows[key] = self.opened
        if self.free:
            self.opened = self.free.pop()
        else:
            self.resize(1)

    def take(self, count: int) -> list[int]:
        """Return free rows for many bids. They are not free any more.

        Args:
            count: The number of bids.
        """
        if len(self.free) < count:
            self.resize(count)
        at = len(self.free) - count
        taken = self.free[at:]
        del self.free[at:]
        return taken

    def hold_many(self, keys: Integers, rows: Integers, made: Booleans) -> None:
        """Remember bids whose rows were taken. Rows without a bid become free again.

        Args:
            keys: (n,). A unique number for each bid; ignored where none was made.
            rows: (n,). Their rows.
            made: (n,). Whether a bid was made.
        """
        self.free.extend(rows[~made].tolist())
        self.rows.update(zip(keys[made].tolist(), rows[made].tolist(), strict=True))

    def resize(self, more: int = 0) -> None:
        """Move all bids to new arrays that are as large as needed.

        Args:
            more: The number of bids to come, for which rows must be free.
        """
        size = len(self.rows)
        total = 2 * max(size + more, _FEWEST)
        kept = np.array([*self.rows.values(), self.opened])
        shapes = [((total, *part.shape[1:]), part.dtype) for part in self.table]
        table = Reserved._make(np.zeros(*shape) for shape in shapes)
        for new, old in zip(table, self.table, strict=True):
            new[: size + 1] = old[kept]
        self.table = table
        self.bound = Bound(*self.bound.parts[:2], table)
        self.rows = dict(zip(self.rows, range(size), strict=True))
        self.opened = size
        self.free = list(range(total - 1, size, -1))
        self.spare = int(_SPARE * max(total, 8 * _FEWEST))

    def freeze(self) -> Callable[[], dict[str, npt.NDArray[Any]]]:
        """Return a function that returns arrays of all bids as they are now."""
        rows, table = self.rows.copy(), Reserved._make(part.copy() for part in self.table)

        def arrays() -> dict[str, npt.NDArray[Any]]:
            at = np.array(list(rows.values()), dtype=np.int64)
            parts = {name: part[at] for name, part in table._asdict().items()}
            return {"keys": np.array(list(rows), dtype=np.int64), **parts}

        return arrays

    def replace(self, keys: Integers, table: Reserved) -> None:
        """Replace all bids by others.

        Args:
            keys: (n,). Their keys, in the order in which they were made.
            table: Their rows.
        """
        self.rows = {}
        self.resize(keys.size)
        for own, given in zip(self.table, table, strict=True):
            own[1 : keys.size + 1] = given  # row 0 is the opened one
        self.rows = dict(zip(keys.tolist(), range(1, keys.size + 1), strict=True))
        self.free = list(range(self.table.held.shape[0] - 1, keys.size, -1))
