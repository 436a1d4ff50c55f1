"""What the outcomes of a log's own bids show: who was told prices, and what may be missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.errors import LogError

if TYPE_CHECKING:
    from crossbandit.types import Booleans, Floats

MIXED = "mixed"
_ENOUGH = 20  # bids, before something is concluded from how many have won
_NEARLY_NONE = 0.001  # of the bids


class OutcomeCounts(NamedTuple):
    """Numbers of auctions by what became of the own bid.

    Attributes:
        auctions: How many there are.
        wins: How many were won.
        told: In how many the price is known.
        told_wins: How many of the won ones those are.
        bids: In how many a bid above 0 was made.
        bids_won: How many of these won.
        equal_wins: In how many a bid that equals the price won.
        equal_losses: In how many such a bid lost.
    """

    auctions: int
    wins: int
    told: int
    told_wins: int
    bids: int
    bids_won: int
    equal_wins: int
    equal_losses: int

    @classmethod
    def of(
        cls, bids: Floats, won: Booleans, prices: Floats, reserves: Floats | float = 0.0
    ) -> OutcomeCounts:
        """Return the counts of some auctions.

        Args:
            bids: What was bid; 0 where no bid was made.
            won: Whether each bid won.
            prices: The price of each auction; NaN where it is not known.
            reserves: The lowest bids that can win. Lower ones lose, also if they equal the price.
        """
        told, made = ~np.isnan(prices), bids > 0
        equal = made & (bids == prices) & (bids >= reserves)
        columns = (won, told, told & won, made, made & won, equal & won, equal & ~won)
        return cls(won.size, *(int(one.sum()) for one in columns))

    @property
    def feedback(self) -> str:
        """Who was told the price: one of the kinds of feedback, or "mixed"."""
        told_losses, losses = self.told - self.told_wins, self.auctions - self.wins
        if self.told == self.auctions:
            return "always"
        if not self.told:
            return "won-lost"
        if not self.told_wins and told_losses == losses:
            return "after-loss"
        return "after-win" if self.told_wins == self.wins and not told_losses else MIXED

    @property
    def rounded(self) -> bool:
        """Whether equal bids won in some auctions and lost in others, because of rounded amounts.

        If most winners were told a price that equals their bid, it is rather what they paid.
        """
        both = min(self.equal_wins, self.equal_losses) > 0
        return both and 2 * self.equal_wins <= self.told_wins

    @property
    def ties(self) -> str:
        """What equal bids do: "lose" if all that there are have lost, otherwise "win"."""
        return "lose" if self.equal_losses and not self.equal_wins else "win"

    def require_both_outcomes(self) -> None:
        """Raise LogError if the auctions that were won, or those that were lost, seem missing."""
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
