"""What a log of auctions shows of the competing bids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from crossbandit.applications.bidding.inputs import numbers_to_reach
from crossbandit.applications.money import flag_of
from crossbandit.core.types import Feedback
from crossbandit.core.validation import as_array, reject
from crossbandit.errors import InvalidContextError, InvalidLossesError
from crossbandit.laws.laying import UNBOUNDED
from crossbandit.laws.state import TOLD_AFTER

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.applications.bidding.auctions import AuctionRules
    from crossbandit.core.types import Booleans, Floats
    from crossbandit.errors import InvalidInputError
    from crossbandit.laws import OutcomeLaw


class LogOutcomes(NamedTuple):
    """What is known of each auction, as `LawLearner.observe` takes it; all (n,)."""

    values: Floats
    classes: dict[str, npt.NDArray[np.generic]]
    amounts: Floats
    won: Booleans
    numbers: Floats


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

    Where no bid is given, it is one that shows the price.
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
    if bids is None:
        if law.feedback == "won-lost" or np.isnan(told).any():
            expected = "given where prices are not known, or nothing but won or lost is told"
            given.refuse("bid", expected, None, InvalidLossesError)
        has_won = np.full(worths.size, law.feedback == "after-win")
        made = np.where(has_won, UNBOUNDED, -1.0)
        return _kept(LogOutcomes(worths, columns, made, has_won, numbers), law)
    made = _column(given, "bid", bids, worths.size, InvalidLossesError)
    if (made < 0).any():
        given.refuse("bid", "at least 0", bids, InvalidLossesError)
    has_won = _won(law.feedback, rules, made, told, given)
    shown = np.isin(has_won, TOLD_AFTER[law.feedback])
    if (shown & np.isnan(told)).any():
        expected = f"known where the feedback {law.feedback!r} tells them"
        given.refuse("highest_competing_bid", expected, prices, InvalidLossesError)
    numbers = np.nan_to_num(numbers, nan=np.inf)
    return _kept(LogOutcomes(worths, columns, made, has_won, numbers), law)


def _kept(log: LogOutcomes, law: OutcomeLaw) -> LogOutcomes:
    """Return the auctions of a log that show something: at a value of 0, shares show nothing."""
    if not law.lays:
        return log
    rows = (log.values > 0.0) & (log.amounts != 0.0)
    columns = {name: column[rows] for name, column in log.classes.items()}
    return LogOutcomes(log.values[rows], columns, *(column[rows] for column in log[2:]))


def _won(
    feedback: Feedback, rules: AuctionRules, bids: Floats, prices: Floats, given: Observed
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
