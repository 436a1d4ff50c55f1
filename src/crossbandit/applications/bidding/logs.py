"""What a log of auctions shows of the competing bids, and the settings of a bidder that fit it."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.applications.bidding.inputs import numbers_to_reach
from crossbandit.errors import InvalidContextError, InvalidLossesError, LogError, LogWarning
from crossbandit.laws.state import ABOVE, AT_MOST, TOLD, TOLD_AFTER
from crossbandit.logs import AuctionLog, Auctions
from crossbandit.logs.log import MIXED, ClassTable, OutcomeCounts
from crossbandit.logs.survey import check_survey, doubt_about_units, survey_log
from crossbandit.rules import AuctionRules, bids_for_values
from crossbandit.validation import as_array, reject

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.errors import InvalidInputError
    from crossbandit.laws import OutcomeLaw
    from crossbandit.types import Booleans, Floats, Integers


class LogOutcomes(NamedTuple):
    """What is known of each auction; all (n,)."""

    values: Floats
    kinds: Integers
    indices: Integers
    played: Integers
    classes: dict[str, npt.NDArray[np.generic]]


def log_outcomes(
    law: OutcomeLaw,
    rules: AuctionRules,
    value_range: tuple[float, float],
    values: npt.ArrayLike,
    prices: npt.ArrayLike,
    bids: npt.ArrayLike | None,
    won: npt.ArrayLike | None,
    classes: Mapping[str, npt.ArrayLike],
) -> LogOutcomes:
    """Return what a log shows, given what `warm_up` takes.

    A bid between two bids of the grid that has won shows that the higher one wins; if it has lost,
    that the lower one loses.
    """
    worths = _column("values", values, None, InvalidContextError)
    low, high = value_range
    if worths.size and not (low <= worths.min() and worths.max() <= high):
        expected = f"numbers from {low:.15g} to {high:.15g}"
        reject("warm_up", "values", expected, values, error=InvalidContextError)
    told = _column("prices", prices, worths.size, InvalidLossesError)
    if (told < 0).any():
        reject("warm_up", "prices", "at least 0, or NaN", prices, error=InvalidLossesError)
    columns = _class_columns(law, classes, worths.size)
    cells = law.cells(numbers_to_reach(rules, told))
    if bids is None:
        if law.feedback == "won-lost" or np.isnan(told).any():
            expected = "given where prices are not known, or nothing but won or lost is told"
            reject("warm_up", "bids", expected, None, error=InvalidLossesError)
        unplayed = np.full(worths.size, -1)
        return LogOutcomes(worths, np.full(worths.size, TOLD), cells, unplayed, columns)
    made = _column("bids", bids, worths.size, InvalidLossesError)
    if (made < 0).any():
        reject("warm_up", "bids", "at least 0", bids, error=InvalidLossesError)
    has_won = _won(law.feedback, rules, made, told, won)
    shown = np.isin(has_won, TOLD_AFTER[law.feedback])
    if (shown & np.isnan(told)).any():
        expected = f"known where the feedback {law.feedback!r} tells them"
        reject("warm_up", "prices", expected, prices, error=InvalidLossesError)
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
            reject("warm_up", "won", expected, None, error=InvalidLossesError)
        found: Booleans = np.where(unknown, feedback == "after-loss", wins)
        return found
    told = np.asarray(given)
    if told.dtype != np.bool_ or told.shape != bids.shape:
        expected = "True or False for each auction"
        reject("warm_up", "won", expected, given, error=InvalidLossesError)
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
    column = as_array("warm_up", name, expected, given, error=error).astype(float)
    wrong = np.isinf(column) if name == "prices" else ~np.isfinite(column)
    if column.ndim != 1 or wrong.any() or (count is not None and column.size != count):
        reject("warm_up", name, expected, given, error=error)
    return column


def _class_columns(
    law: OutcomeLaw, classes: Mapping[str, npt.ArrayLike], count: int
) -> dict[str, npt.NDArray[np.generic]]:
    columns = {name: np.asarray(column) for name, column in classes.items()}
    # The names, and the types of the first levels; the law checks all levels.
    law.levels.labels("warm_up", {name: c.flat[0] if c.size else "" for name, c in columns.items()})
    for name, column in columns.items():
        if column.shape != (count,):
            reject("warm_up", name, "a level per auction", column, error=InvalidContextError)
    return {name: columns[name] for name in law.classes}


# --- the settings of a bidder by a log -----------------------------------------------------------


_HEADROOM = 1.25  # later values may exceed the highest value of the log by this factor


class FittingLog(NamedTuple):
    """A log to fit a bidder to."""

    settings: dict[str, Any]
    columns: dict[str, npt.ArrayLike]  # the arguments of `warm_up`


def fitting_log(log: AuctionLog, given: Mapping[str, Any]) -> FittingLog:
    """Read a log, and choose the settings of a bidder that are not given.

    Warns:
        LogWarning: Values and bids seem to be in different units.
    """
    if not isinstance(log, AuctionLog):
        expected = "an AuctionLog, which takes files and data frames"
        reject("fit", "log", expected, type(log).__name__)
    check_survey(log, survey_log(log), all_prices=False)
    table = ClassTable([*log.class_places])
    auctions = _above_reserves(log.read(table))
    values, prices = auctions.values, auctions.prices
    columns: dict[str, npt.ArrayLike] = {"values": values, "prices": prices}
    feedback, ties = "always", log.ties or "win"
    if auctions.bids is not None:
        won = _won_of(auctions.won, auctions.bids, prices, {"ties": ties, **given})
        outcomes = OutcomeCounts.of(auctions.bids, won, prices)
        outcomes.require_both_outcomes()
        feedback = outcomes.feedback
        columns |= {"bids": auctions.bids, "won": won}
    elif np.isnan(prices).any():
        raise LogError(
            f"Not all prices of {log.source.name} are known. What the others show depends on your "
            "own bids: name their column with columns={'bid': ...}."
        )
    _warn_about_units(auctions)
    for i, name in enumerate(log.class_places):
        if auctions.classes is not None:
            columns[name] = np.array(table.labels(i))[auctions.classes[:, i]]
    highest = float(f"{_HEADROOM * values.max():.2g}") if values.max() > 0 else 1.0
    chosen: dict[str, Any] = {
        "value_range": (0.0, max(highest, float(values.max()))),
        "feedback": "won-lost" if feedback == MIXED else feedback,
        "ties": ties,
        "classes": tuple(log.class_places),
    }
    settings = {**chosen, **given}
    if "bids" not in settings:
        top = float(settings["value_range"][1])
        inside = values[(values > 0) & (values <= top)]
        settings["bids"] = bids_for_values(inside if inside.size else [top], highest=top)
    return FittingLog(settings, columns)


def _warn_about_units(auctions: Auctions) -> None:
    amounts, what = auctions.bids, "own bids"
    if amounts is None:
        amounts, what = auctions.prices, "highest competing bids"
    for doubt in doubt_about_units(_median(auctions.values), _median(amounts), what):
        warnings.warn(doubt, LogWarning, stacklevel=4)


def _median(amounts: Floats) -> float:
    above = amounts[amounts > 0]
    return float(np.median(above)) if above.size else 0.0


def _above_reserves(auctions: Auctions) -> Auctions:
    """Leave out bids below the reserve of their auction: they show nothing about competing bids."""
    if auctions.reserves is None or auctions.bids is None:
        return auctions
    kept = auctions.bids >= auctions.reserves
    return Auctions(
        **{name: one[kept] for name, one in auctions._asdict().items() if one is not None}
    )


def _won_of(
    told: Booleans | None, bids: Floats, prices: Floats, given: Mapping[str, Any]
) -> Booleans:
    if told is not None:
        return told
    rules = AuctionRules(
        bids=2,
        highest_value=1.0,
        reserve=given.get("reserve", 0.0),
        ties=given["ties"],
        owner="FirstPriceBidder",
    )
    return rules.wins(bids, prices)
