"""The settings of a bidder that fit a log, and what the log shows."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.applications.bidding.auctions import AuctionRules, bids_for_values
from crossbandit.applications.bidding.logs import FittingLog
from crossbandit.errors import LogError, LogWarning
from crossbandit.logs.log import MIXED, AuctionLog, Auctions, ClassTable, OutcomeCounts
from crossbandit.logs.survey import check_survey, doubt_about_units, survey_log

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.core.types import Booleans, Floats

_HEADROOM = 1.25  # later values may exceed the highest value of the log by this factor


def fitting_log(log: AuctionLog, given: Mapping[str, Any]) -> FittingLog:
    """Read a log, and choose the settings of a bidder that are not given.

    Warns:
        LogWarning: Values and bids seem to be in different units.
    """
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
        warnings.warn(doubt, LogWarning, stacklevel=5)


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
