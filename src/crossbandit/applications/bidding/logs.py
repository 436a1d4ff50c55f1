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

    from crossbandit.core.types import Booleans, Floats, Integers
    from crossbandit.environments.rules import AuctionRules
    from crossbandit.errors import InvalidInputError
    from crossbandit.laws import OutcomeLaw


class LogOutcomes(NamedTuple):
    """What is known of each auction; all (n,)."""

    values: Floats
    kinds: Integers
    indices: Integers
    played: Integers
    classes: dict[str, npt.NDArray[np.generic]]


class Observed(NamedTuple):
    """What `FirstPriceBidder.observe` is given, as columns."""

    values: npt.ArrayLike
    prices: npt.ArrayLike
    bids: npt.ArrayLike | None
    won: npt.ArrayLike | None
    classes: Mapping[str, npt.ArrayLike]

    @classmethod
    def of(cls, value: Any, price: Any, bid: Any, won: Any, classes: Mapping[str, Any]) -> Observed:
        """Return columns; those of one auction have one row."""
        one = np.ndim(value) == 0
        count = 1 if one else len(value)
        if price is None:
            price = np.nan if one else np.full(count, np.nan)
        if not one:
            return cls(value, price, bid, won, classes)
        columns = {name: np.array([level], dtype=object) for name, level in classes.items()}
        made = None if bid is None else [bid]
        has_won = None if won is None else [flag_of("observe", "won", won)]
        return cls([value], [price], made, has_won, columns)


def log_outcomes(
    law: OutcomeLaw, rules: AuctionRules, value_range: tuple[float, float], given: Observed
) -> LogOutcomes:
    """Return what auctions show whose bids somebody else chose.

    A bid between two bids of the grid that has won shows that the higher one wins; if it has lost,
    that the lower one loses.
    """
    values, prices, bids, won, classes = given
    worths = _column("value", values, None, InvalidContextError)
    low, high = value_range
    if worths.size and not (low <= worths.min() and worths.max() <= high):
        expected = f"numbers from {low:.15g} to {high:.15g}"
        reject("observe", "value", expected, values, error=InvalidContextError)
    told = _column("highest_competing_bid", prices, worths.size, InvalidLossesError)
    if (told < 0).any():
        expected = "at least 0, or NaN"
        reject("observe", "highest_competing_bid", expected, prices, error=InvalidLossesError)
    columns = _class_columns(law, classes, worths.size)
    cells = law.cells(numbers_to_reach(rules, told))
    if bids is None:
        if law.feedback == "won-lost" or np.isnan(told).any():
            expected = "given where prices are not known, or nothing but won or lost is told"
            reject("observe", "bid", expected, None, error=InvalidLossesError)
        unplayed = np.full(worths.size, -1)
        return LogOutcomes(worths, np.full(worths.size, TOLD), cells, unplayed, columns)
    made = _column("bid", bids, worths.size, InvalidLossesError)
    if (made < 0).any():
        reject("observe", "bid", "at least 0", bids, error=InvalidLossesError)
    has_won = _won(law.feedback, rules, made, told, won)
    shown = np.isin(has_won, TOLD_AFTER[law.feedback])
    if (shown & np.isnan(told)).any():
        expected = f"known where the feedback {law.feedback!r} tells them"
        reject("observe", "highest_competing_bid", expected, prices, error=InvalidLossesError)
    above = np.searchsorted(law.amounts, made, "left")
    below = np.searchsorted(law.amounts, made, "right") - 1
    kinds = np.where(shown, TOLD, np.where(has_won, AT_MOST, ABOVE))
    indices = np.where(shown, cells, np.where(has_won, above, below))
    # A win above all bids of the grid, or a loss below them, says nothing about any of them.
    kept = shown | ((indices >= 0) & (indices < law.amounts.size))
    played = np.where(above == below, above, -1)
    columns = {name: column[kept] for name, column in columns.items()}
    return LogOutcomes(worths[kept], kinds[kept], indices[kept], played[kept], columns)


def _won(
    feedback: str, rules: AuctionRules, bids: Floats, prices: Floats, given: npt.ArrayLike | None
) -> Booleans:
    unknown = np.isnan(prices)
    wins = rules.wins(bids, np.where(unknown, np.inf, prices))
    if given is None:
        if unknown.any() and feedback not in ("after-loss", "after-win"):
            expected = "given where prices are not known"
            reject("observe", "won", expected, None, error=InvalidLossesError)
        found: Booleans = np.where(unknown, feedback == "after-loss", wins)
        return found
    told = np.asarray(given)
    if told.dtype != np.bool_ or told.shape != bids.shape:
        expected = "True or False for each auction"
        reject("observe", "won", expected, given, error=InvalidLossesError)
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
    name: str, given: npt.ArrayLike, count: int | None, error: type[InvalidInputError]
) -> Floats:
    expected = "numbers, one per auction"
    column = as_array("observe", name, expected, given, error=error).astype(float)
    wrong = np.isinf(column) if name == "highest_competing_bid" else ~np.isfinite(column)
    if column.ndim != 1 or wrong.any() or (count is not None and column.size != count):
        reject("observe", name, expected, given, error=error)
    return column


def _class_columns(
    law: OutcomeLaw, classes: Mapping[str, npt.ArrayLike], count: int
) -> dict[str, npt.NDArray[np.generic]]:
    columns = {name: np.asarray(column) for name, column in classes.items()}
    # The names, and the types of the first levels; the law checks all levels.
    law.levels.labels("observe", {name: c.flat[0] if c.size else "" for name, c in columns.items()})
    for name, column in columns.items():
        if column.shape != (count,):
            reject("observe", name, "a level per auction", column, error=InvalidContextError)
    return {name: columns[name] for name in law.classes}


class FittingLog(NamedTuple):
    """A log to fit a bidder to."""

    settings: dict[str, Any]
    columns: dict[str, npt.ArrayLike]  # the arguments of `warm_up`


class FitsBidders(Protocol):
    """A log that chooses the settings of a bidder, such as `crossbandit.logs.AuctionLog`."""

    def fitting(self, given: Mapping[str, Any]) -> FittingLog:
        """Return the settings that fit the log, with those that are given, and its columns."""
