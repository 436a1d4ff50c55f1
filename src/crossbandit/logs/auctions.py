"""Consecutive auctions of a log, as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from crossbandit.types import Floats, Integers

# The arrays by the roles of the columns.
COLUMNS = {
    "value": "values",
    "price": "prices",
    "bid": "bids",
    "reserve": "reserves",
    "won": "won",
    "propensity": "propensities",
    "time": "times",
}


class Auctions(NamedTuple):
    """Consecutive auctions. A column that is not read is None.

    Attributes:
        values: What each was worth.
        prices: The highest competing bids. NaN where it is not known; only in a log that says who
            won.
        bids: What was bid.
        reserves: The lowest bids that could win.
        classes: The numbers of the classes: one per class column, and one for their combination.
        won: Whether the own bid won.
        propensities: The probabilities with which the own bids were chosen.
        times: Seconds since 1970.
    """

    values: Floats
    prices: Floats
    bids: Floats | None = None
    reserves: Floats | None = None
    classes: Integers | None = None
    won: npt.NDArray[np.bool_] | None = None
    propensities: Floats | None = None
    times: Floats | None = None

    def part(self, start: int, stop: int | None = None) -> Auctions:
        """Return some of the auctions.

        Args:
            start: The index of the first one.
            stop: The index after the last one; None for all that follow.

        Returns:
            The auctions start, ..., stop - 1.
        """
        return self.in_order(slice(start, stop))

    def in_order(self, rows: Integers | slice) -> Auctions:
        """Return auctions in another order, or some of them.

        Args:
            rows: Their indices.

        Returns:
            These auctions, in that order.
        """
        return self._replace(
            **{name: column[rows] for name, column in self._asdict().items() if column is not None}
        )


def concatenate(pieces: Sequence[Auctions]) -> Auctions:
    """Return all auctions of some pieces, in order.

    Args:
        pieces: At least one; all with the same columns.

    Returns:
        The auctions.
    """
    columns = {
        name: np.concatenate([piece._asdict()[name] for piece in pieces])
        for name, column in pieces[0]._asdict().items()
        if column is not None
    }
    return Auctions(**columns)
