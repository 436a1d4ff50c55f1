"""Consecutive auctions of a log, as arrays: their columns, their classes, their outcomes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.errors import LogError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from crossbandit.types import Booleans, Floats, Integers

# The names of the arrays, by the roles of the columns.
COLUMNS = {
    "value": "values",
    "price": "prices",
    "bid": "bids",
    "reserve": "reserves",
    "won": "won",
    "propensity": "propensities",
    "time": "times",
}

LIMIT = 4096  # levels of a column that have their own number; later ones are pooled
SHOWN = 10  # how many levels tables and figures show: the most frequent ones
OTHERS = "others"
EMPTY = "(empty)"

MIXED = "mixed"
_ENOUGH = 20  # with fewer bids, nothing is concluded from how many have won
_NEARLY_NONE = 0.001  # a smaller share of the bids counts as none


class Auctions(NamedTuple):
    """Consecutive auctions. A column that is not read is None.

    Attributes:
        values: What each was worth.
        prices: The highest competing bids. A price that is not known is NaN, which only a log that
            says who won may have.
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
    won: Booleans | None = None
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
    """Return all auctions of some pieces, in order."""
    columns = {
        name: np.concatenate([piece._asdict()[name] for piece in pieces])
        for name, column in pieces[0]._asdict().items()
        if column is not None
    }
    return Auctions(**columns)


class OutcomeCounts(NamedTuple):
    """Numbers of auctions by what became of the own bid."""

    auctions: int  # how many there are
    wins: int  # how many were won
    told: int  # in how many the price is known
    told_wins: int  # in how many of the auctions that were won the price is known
    bids: int  # in how many a bid above 0 was made
    bids_won: int  # how many of these bids won
    equal_wins: int  # in how many a bid that equals the price won
    equal_losses: int  # in how many a bid that equals the price lost

    @classmethod
    def of(
        cls, bids: Floats, won: Booleans, prices: Floats, reserves: Floats | float = 0.0
    ) -> OutcomeCounts:
        """Return the counts of some auctions."""
        told, made = ~np.isnan(prices), bids > 0
        equal = made & (bids == prices) & (bids >= reserves)
        columns = (won, told, told & won, made, made & won, equal & won, equal & ~won)
        return cls(won.size, *(int(one.sum()) for one in columns))

    @property
    def feedback(self) -> str:
        """Who was told the price: one of the kinds of feedback, or "mixed"."""
        return feedback_shown(*self._by_result)

    @property
    def _by_result(self) -> tuple[int, int, int, int]:
        losses, told_losses = self.auctions - self.wins, self.told - self.told_wins
        return self.wins, self.told_wins, losses, told_losses

    @property
    def shares_known(self) -> str:
        """In how many of the auctions that were won, and lost, the price is known, in words."""
        return shares_known(*self._by_result)

    @property
    def rounded(self) -> bool:
        """Whether equal bids won in some auctions and lost in others, because of rounded amounts.

        It is False if most winners were told a price that equals their bid: that price is probably
        what they paid.
        """
        both = min(self.equal_wins, self.equal_losses) > 0
        return both and 2 * self.equal_wins <= self.told_wins

    @property
    def ties(self) -> str:
        """What happens to bids that equal the price: "lose" if all of them lost, else "win"."""
        return "lose" if self.equal_losses and not self.equal_wins else "win"

    def require_both_outcomes(self) -> None:
        """Raise LogError if the won auctions, or the lost ones, seem to be missing from the log."""
        if self.bids < _ENOUGH:
            return
        for found, which, missing in (
            (self.bids_won, "won", "low"),
            (self.bids - self.bids_won, "lost", "high"),
        ):
            if found < _NEARLY_NONE * self.bids:
                raise LogError(
                    f"Your own bids win {100 * self.bids_won / self.bids:.3g} % of the "
                    f"{self.bids:,} auctions in which you bid. If the auctions that you {which} "
                    f"were dropped, nothing can be said of other bids: the auctions with {missing} "
                    "competing bids are missing. Add them to the log; their prices need not be "
                    "known."
                )


def feedback_shown(
    won: int, won_known: int, lost: int, lost_known: int, *, nearly_all: float = 1.0
) -> str:
    """Return who was told the price: all or none, up to a share, of the winners and of the losers.

    If only some of the winners, or of the losers, were told, it is "mixed".
    """
    shares = [known / count for count, known in ((won, won_known), (lost, lost_known)) if count]
    if any(1 - nearly_all < share < nearly_all for share in shares):
        return MIXED
    told = [share > 1 / 2 for share in shares]
    if all(told):
        return "always"
    return ("after-win" if told[0] else "after-loss") if any(told) else "won-lost"


def shares_known(won: int, won_known: int, lost: int, lost_known: int) -> str:
    """Return in how many of the auctions that were won, and lost, the price is known, in words.

    A share is rounded down, so that 100 % are all of them.

    >>> shares_known(842, 842, 3_158, 2_975)
    '842 of the 842 auctions that you won (100 %) and 2,975 of the 3,158 that you lost (94.2 %)'
    """
    whiches = ("auctions that you won", "that you lost")
    return " and ".join(
        f"{known:,} of the {count:,} {which} ({1000 * known // max(count, 1) / 10:g} %)"
        for count, known, which in zip((won, lost), (won_known, lost_known), whiches, strict=True)
    )


class ClassColumn(NamedTuple):
    """A class column and its most frequent levels."""

    column: str
    levels: tuple[str, ...]  # The levels, the most frequent first. The last may be "others".
    auctions: Floats  # the number of auctions of each level
    pooled: int  # how many levels "others" stands for; 0 if there is no such entry


class ClassTable:
    """Numbers for the levels of class columns and for their combinations, in bounded memory.

    A level gets the next free number when it first occurs. Once `LIMIT` numbers are used, all new
    levels get the number `LIMIT`.

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
        """How many numbers each column may use, including the number for pooled levels."""
        return tuple(len(levels) + 1 for levels in self._levels)

    def labels(self, column: int) -> list[str]:
        """Return the levels of a column by their numbers; the last one stands for later levels."""
        return [*self._levels[column], OTHERS][: LIMIT + 1]

    def full(self) -> list[str]:
        """Return the columns that have more than `LIMIT` levels."""
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
        """Return what tables show for a column."""
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
    """Return the numbers of keys[codes]. New keys get the next numbers while there are any left."""
    found = np.empty(len(keys), dtype=np.int64)
    for i, key in enumerate(keys):
        if len(known) < LIMIT:
            known.setdefault(key, len(known))
        found[i] = known.get(key, LIMIT)
    numbers: Integers = found[codes]
    return numbers
