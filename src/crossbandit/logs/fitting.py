"""The settings of a bidder that fit a log, and what the log shows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from crossbandit.applications.bidding.auctions import AuctionRules, bids_for_values
from crossbandit.applications.bidding.logs import FittingLog
from crossbandit.core.types import Floats
from crossbandit.errors import LogError, LogWarning
from crossbandit.logs.log import MIXED, AuctionLog, ClassTable, OutcomeCounts
from crossbandit.logs.survey import check_survey, doubt_about_units, survey_log

_HEADROOM = 1.25  # later values may exceed the highest value of the log by this factor


def fitting_log(log: AuctionLog, given: Mapping[str, Any]) -> FittingLog:
    """Read a log, and choose the settings of a bidder that are not given.

    Warns:
        LogWarning: Values and bids seem to be in different units.
    """
    check_survey(log, survey_log(log), all_prices=False)
    table = ClassTable([*log.class_places])
    auctions = log.read(table)
    if auctions.reserves is not None and auctions.bids is not None:
        # A bid below the reserve of its auction shows nothing about competing bids.
        auctions = auctions.in_order(np.flatnonzero(auctions.bids >= auctions.reserves))
    values, prices = auctions.values, auctions.prices
    columns: dict[str, npt.ArrayLike] = {"values": values, "prices": prices}
    feedback, ties = "always", log.ties or "win"
    if auctions.bids is not None:
        won = auctions.won
        if won is None:
            rules = AuctionRules(
                bids=2,
                highest_value=1.0,
                reserve=given.get("reserve", 0.0),
                ties=given.get("ties", ties),
                owner="FirstPriceBidder",
            )
            won = rules.wins(auctions.bids, prices)
        outcomes = OutcomeCounts.of(auctions.bids, won, prices)
        outcomes.require_both_outcomes()
        feedback = outcomes.feedback
        columns |= {"bids": auctions.bids, "won": won}
    elif np.isnan(prices).any():
        raise LogError(
            f"Not all prices of {log.source.name} are known. What the others show depends on your "
            "own bids: name their column with columns={'bid': ...}."
        )
    amounts, what = auctions.bids, "own bids"
    if amounts is None:
        amounts, what = prices, "highest competing bids"
    for doubt in doubt_about_units(_median(values), _median(amounts), what):
        warnings.warn(doubt, LogWarning, stacklevel=4)
    columns |= table.columns(auctions.classes)
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


def _median(amounts: Floats) -> float:
    above = amounts[amounts > 0]
    return float(np.median(above)) if above.size else 0.0
