"""What the outcomes of a log's own bids show: who was told prices, and what may be missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.errors import LogError

if TYPE_CHECKING:
    from crossbandit.types import Booleans, Floats

MIXED = "mixed"
_ENOUGH = 20  # bids, before something is concluded from how many have won
_NEARLY_NONE = 0.001  # of the bids


def feedback_of(won: Booleans, told: Booleans) -> str:
    """Return who was told the price, as far as auctions show it.

    Args:
        won: Whether each bid won.
        told: Whether the price of each auction is known.

    Returns:
        One of the kinds of feedback, or "mixed".
    """
    if told.all():
        return "always"
    if not told.any():
        return "won-lost"
    if (told == ~won).all():
        return "after-loss"
    return "after-win" if (told == won).all() else MIXED


def require_both_outcomes(bids: Floats, won: Booleans) -> None:
    """Raise LogError if the auctions that were won, or those that were lost, seem to be missing.

    Args:
        bids: What was bid; 0 where no bid was made.
        won: Whether each bid won.
    """
    made = bids > 0
    count, wins = int(made.sum()), int((won & made).sum())
    if count < _ENOUGH:
        return
    for found, which, missing in ((wins, "won", "low"), (count - wins, "lost", "high")):
        if found < _NEARLY_NONE * count:
            raise LogError(
                f"Your own bids win {100 * wins / count:.3g} % of the {count:,} auctions in which "
                f"you bid. If the auctions that you {which} were dropped, nothing can be said of "
                f"other bids: the auctions with {missing} competing bids are missing. Add them to "
                "the log; their prices need not be known."
            )
