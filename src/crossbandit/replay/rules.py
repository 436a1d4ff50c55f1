"""The rules under which a log is replayed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.environments.amounts import USUAL_COUNT, BidSpacing, bid_grid, bid_spacing
from crossbandit.environments.auctions import FEEDBACK, AuctionRules
from crossbandit.logs.survey import VALUE_BINS
from crossbandit.validation import choice, number, reject

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crossbandit.logs import AuctionLog
    from crossbandit.logs.survey import Survey
    from crossbandit.types import Floats


AUTO = "auto"


@dataclass(frozen=True, kw_only=True)
class ReplayRules:
    """What is told about each auction, which bids may be made, and who wins.

    Args:
        feedback: Who is told the highest competing bid: the loser ("after-loss"), the winner
            ("after-win"), everyone ("always") or nobody ("won-lost"). None takes what the notices
            in the log show, and "after-loss" for other logs.
        bids: A number of bids, spread evenly from 0 to the highest value, or the bids themselves.
            A bid of 0 means not to bid; it is added if it is missing. "auto" chooses 100 bids by
            the values of the log, as `bids_for_values` does: evenly spread, or closer together
            where most values are.
        reserve: The lowest bid that can win.
        ties: Whether a bid that equals the highest competing bid wins ("win") or loses ("lose").
            None takes what the format of the log says, and "win" for other logs.

    Raises:
        InvalidParameterError: An argument is invalid.

    >>> ReplayRules(bids=[1, 2], ties="lose").auction_rules(10.0).amounts
    array([0., 1., 2.])
    """

    feedback: str | None = None
    bids: int | str | Sequence[float] | Floats = AUTO
    reserve: float = 0.0
    ties: str | None = None

    def __post_init__(self) -> None:
        owner = type(self).__name__
        if self.feedback is not None:
            choice(owner, "feedback", self.feedback, FEEDBACK)
        number(owner, "reserve", self.reserve, at_least=0)
        if self.ties is not None:
            choice(owner, "ties", self.ties, ("win", "lose"))
        bids: Any = self.bids
        if isinstance(bids, str):
            if bids != AUTO:
                reject(owner, "bids", f"a number of bids, the bids, or {AUTO!r}", bids)
            return
        grid = bid_grid(owner, bids, 1.0)
        object.__setattr__(self, "bids", bids if np.isscalar(bids) else tuple(grid.tolist()))

    def auction_rules(self, highest_value: float) -> AuctionRules:
        """Return the rules of auctions whose values are at most `highest_value`.

        Bids that are to be chosen by the values of a log are evenly spread until `completed`.

        Args:
            highest_value: An upper bound on the values.

        Returns:
            The rules that environments and applications use too.
        """
        bids = USUAL_COUNT if isinstance(self.bids, str) else self.bids
        grid = bid_grid(type(self).__name__, bids, highest_value)
        return AuctionRules(
            bids=np.union1d([0.0], grid),
            highest_value=highest_value,
            reserve=self.reserve,
            ties=self.ties or "win",
        )

    def completed(self, log: AuctionLog, survey: Survey) -> ReplayRules:
        """Return these rules with what a log says about feedback and ties, and suitable bids.

        Args:
            log: The log.
            survey: Its survey.

        Returns:
            The rules; neither `feedback` nor `ties` is None, and bids are not "auto".
        """
        told = survey.feedback if log.ties is not None else None  # notices of an exchange
        bids: Any = self.bids
        if isinstance(bids, str):
            spacing = suitable_bids(log, survey)
            bids = USUAL_COUNT if spacing.even else spacing.bids
        return replace(
            self,
            bids=bids,
            feedback=self.feedback or told or "after-loss",
            ties=self.ties or log.ties or "win",
        )


def suitable_bids(log: AuctionLog, survey: Survey) -> BidSpacing:
    """Return bids for the values of a log. Prices are not looked at.

    Args:
        log: The log.
        survey: Its survey.
    """
    top = survey.highest_value if log.highest_value is None else log.highest_value
    bins = sorted(survey.value_counts)
    middles = np.exp2((np.array(bins, dtype=float) + 0.5) / VALUE_BINS)
    counts = np.array([survey.value_counts[one] for one in bins], dtype=float)
    return bid_spacing(np.minimum(middles, top), counts, top)
