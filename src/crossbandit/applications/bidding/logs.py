"""What a log of auctions shows of the competing bids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from crossbandit.applications.bidding.inputs import numbers_to_reach
from crossbandit.applications.money import flag_of
from crossbandit.core.validation import as_array, reject
from crossbandit.errors import InvalidContextError, InvalidLossesError
from crossbandit.laws.state import ABOVE, AT_MOST, TOLD, TOLD_AFTER

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.applications.bidding.auctions import AuctionRules
    from crossbandit.core.types import Booleans, Floats, Integers
    from crossbandit.errors import InvalidInputError
    from crossbandit.laws import OutcomeLaw


class LogOutcomes(NamedTuple):
    """What is known of each auction; all (n,)."""

    values: Floats
    kinds: Integers
    indices: Integers
    played: Integers
    classes: dict[str, npt.NDArray[np.generic]]
    raw: tuple[Any, ...] | None = None  # what `OutcomeLaw.settle_all` takes, without a grid


# How `warm_up` calls the arguments of `observe`.
_WARM_UP = {"value": "values", "highest_competing_bid": "prices", "bid": "bids"}


class Observed(NamedTuple):
    """What `FirstPriceBidder.observe` or `warm_up` is given, as columns."""

    values: npt.ArrayLike
    prices: npt.ArrayLike
    bids: npt.ArrayLike | None
    won: npt.ArrayLike | None
    classes: Mapping[str, npt.ArrayLike]
    owner: str = "warm_up"

    def refuse(self, name: str, expected: str, got: object, error: type[InvalidInputError]) -> None:
        """Raise an error that names the argument as the caller knows it."""
        known = _WARM_UP.get(name, name) if self.owner == "warm_up" else name
        reject(self.owner, known, expected, got, error=error)

    @classmethod
    def of(cls, value: Any, price: Any, bid: Any, won: Any, classes: Mapping[str, Any]) -> Observed:
        """Return what `observe` is given as columns; those of one auction have one row."""
        one = np.ndim(value) == 0
        count = 1 if one else len(value)
        if price is None:
            price = np.nan if one else np.full(count, np.nan)
        if not one:
            return cls(value, price, bid, won, classes, "observe")
        columns = {name: np.array([level], dtype=object) for name, level in classes.items()}
        made = None if bid is None else [bid]
        has_won = None if won is None else [flag_of("observe", "won", won)]
        return cls([value], [price], made, has_won, columns, "observe")


def log_outcomes(
    law: OutcomeLaw, rules: AuctionRules, value_range: tuple[float, float], given: Observed
) -> LogOutcomes:
    """Return what auctions show whose bids somebody else chose.

    A bid between two bids of the grid that has won shows that the higher one wins; if it has lost,
    that the lower one loses.
    """
    values, prices, bids, *_ = given
    worths = _column(given, "value", values, None, InvalidContextError)
    low, high = value_range
    if worths.size and not (low <= worths.min() and worths.max() <= high):
        expected = f"numbers from {low:.15g} to {high:.15g}"
        given.refuse("value", expected, values, InvalidContextError)
    told = _column(given, "highest_competing_bid", prices, worths.size, InvalidLossesError)
    if (told < 0).any():
        expected = "at least 0, or NaN"
        given.refuse("highest_competing_bid", expected, prices, InvalidLossesError)
    columns = _class_columns(law, given, worths.size)
    numbers = numbers_to_reach(rules, told)
    cells = law.cells(numbers)
    if bids is None:
        if law.feedback == "won-lost" or np.isnan(told).any():
            expected = "given where prices are not known, or nothing but won or lost is told"
            given.refuse("bid", expected, None, InvalidLossesError)
        unplayed = np.full(worths.size, -1)
        raw = None
        if law.lays:  # as if an amount that shows the number had been played
            shows = np.full(worths.size, law.feedback == "after-win")
            raw = _raw(law, worths, columns, np.where(shows, np.inf, -1.0), shows, numbers)
        return LogOutcomes(worths, np.full(worths.size, TOLD), cells, unplayed, columns, raw)
    made = _column(given, "bid", bids, worths.size, InvalidLossesError)
    if (made < 0).any():
        given.refuse("bid", "at least 0", bids, InvalidLossesError)
    has_won = _won(law.feedback, rules, made, told, given)
    shown = np.isin(has_won, TOLD_AFTER[law.feedback])
    if (shown & np.isnan(told)).any():
        expected = f"known where the feedback {law.feedback!r} tells them"
        given.refuse("highest_competing_bid", expected, prices, InvalidLossesError)
    if law.lays:
        raw = _raw(law, worths, columns, made, has_won, np.nan_to_num(numbers, nan=np.inf))
        return LogOutcomes(worths, cells, cells, cells, columns, raw)
    above = np.searchsorted(law.amounts, made, "left")
    below = np.searchsorted(law.amounts, made, "right") - 1
    kinds = np.where(shown, TOLD, np.where(has_won, AT_MOST, ABOVE))
    indices = np.where(shown, cells, np.where(has_won, above, below))
    # A win above all bids of the grid, or a loss below them, says nothing about any of them.
    kept = shown | ((indices >= 0) & (indices < law.amounts.size))
    played = np.where(above == below, above, -1)
    columns = {name: column[kept] for name, column in columns.items()}
    return LogOutcomes(worths[kept], kinds[kept], indices[kept], played[kept], columns)


def _raw(
    law: OutcomeLaw,
    worths: Floats,
    columns: dict[str, npt.NDArray[np.generic]],
    made: Floats,
    won: Booleans,
    numbers: Floats,
) -> tuple[Any, ...]:
    """Return auctions as `OutcomeLaw.settle_all` takes them; a value of 0 shows nothing."""
    kept = (worths > 0.0) & (made != 0.0)
    slots = law.levels.table(columns, worths.size)[kept]
    marks = won[kept].astype(np.uint8)
    return worths[kept], slots, made[kept], marks, numbers[kept], np.zeros_like(marks)


def _won(
    feedback: str, rules: AuctionRules, bids: Floats, prices: Floats, given: Observed
) -> Booleans:
    unknown = np.isnan(prices)
    wins = rules.wins(bids, np.where(unknown, np.inf, prices))
    if given.won is None:
        if unknown.any() and feedback not in ("after-loss", "after-win"):
            expected = "given where prices are not known"
            given.refuse("won", expected, None, InvalidLossesError)
        found: Booleans = np.where(unknown, feedback == "after-loss", wins)
        return found
    told = np.asarray(given.won, dtype=None if bids.size else np.bool_)
    if told.dtype != np.bool_ or told.shape != bids.shape:
        expected = "True or False for each auction"
        given.refuse("won", expected, given.won, InvalidLossesError)
    wrong = np.flatnonzero(~unknown & (told != wins))
    if wrong.size:
        i = int(wrong[0])
        raise InvalidLossesError(
            f"Auction {i} of the log contradicts itself: a bid of {bids[i]:.15g} against a highest "
            f"competing bid of {prices[i]:.15g} cannot have {'won' if told[i] else 'lost'}. "
            "Nothing was learned."
        )
    return told


def _column(
    given: Observed,
    name: str,
    data: npt.ArrayLike,
    count: int | None,
    error: type[InvalidInputError],
) -> Floats:
    expected = "numbers, one per auction"
    column = as_array(given.owner, name, expected, data, error=error)
    try:
        column = column.astype(float, casting="unsafe" if column.dtype.kind == "O" else "same_kind")
    except (TypeError, ValueError):  # a text
        given.refuse(name, expected, data, error)
    wrong = np.isinf(column) if name == "highest_competing_bid" else ~np.isfinite(column)
    if column.ndim != 1 or wrong.any() or (count is not None and column.size != count):
        given.refuse(name, expected, data, error)
    return column


def _class_columns(
    law: OutcomeLaw, given: Observed, count: int
) -> dict[str, npt.NDArray[np.generic]]:
    columns = {name: np.asarray(column) for name, column in given.classes.items()}
    # The names, and the types of the first levels; the law checks all levels.
    law.levels.labels(
        given.owner, {name: c.flat[0] if c.size else "" for name, c in columns.items()}
    )
    for name, column in columns.items():
        if column.shape != (count,):
            given.refuse(name, "a level per auction", column, InvalidContextError)
    return {name: columns[name] for name in law.classes}


class FittingLog(NamedTuple):
    """A log to fit a bidder to."""

    settings: dict[str, Any]
    columns: dict[str, npt.ArrayLike]  # the arguments of `warm_up`


class FitsBidders(Protocol):
    """A log that chooses the settings of a bidder, such as `crossbandit.logs.AuctionLog`."""

    def fitting(self, given: Mapping[str, Any]) -> FittingLog:
        """Return the settings that fit the log, with those that are given, and its columns."""
