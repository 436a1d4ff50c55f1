"""What the outcome of an auction shows, checked for contradictions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from crossbandit.applications.money import amount_of
from crossbandit.environments.auctions import FEEDBACK, AuctionRules
from crossbandit.errors import InvalidLossesError

if TYPE_CHECKING:
    from crossbandit.applications.bids import Bid

# Two amounts that differ by less than this share of them differ by rounding.
ROUNDING = 1e-9
_TOLD_AFTER: dict[str, tuple[bool, ...]] = {
    "after-loss": (False,),
    "after-win": (True,),
    "always": (False, True),
    "won-lost": (),
}


def rules_of(rules: AuctionRules, bid: Bid, reserve: object) -> AuctionRules:
    """Return the rules of an auction whose reserve price is given when it is settled.

    Args:
        rules: The bidder's.
        bid: The bid.
        reserve: The reserve price.

    Raises:
        InvalidLossesError: It is no amount, or not the one that was known when bidding.
    """
    told = amount_of("settle", "reserve", reserve, error=InvalidLossesError)
    if bid.reserve is None:
        return replace(rules, reserve=told)
    if not equal_to_rounding(told, bid.reserve):
        raise InvalidLossesError(
            f"The bid was made for a reserve price of {bid.reserve}. Got "
            f"reserve={told:.15g}. Nothing was learned; correct it, or leave the bid unsettled."
        )
    return rules


def price_of(
    rules: AuctionRules, feedback: str, amount: float, told: object, *, won: bool
) -> float:
    """Return a competing bid for which all revealed bids win or lose as they would have.

    A competing bid that equals the bid to rounding is taken as a tie that was decided as `won`
    says: it is moved to the other side of the bid by the least that a float can be moved.

    Args:
        rules: The rules of the auction.
        feedback: Who is told the highest competing bid.
        amount: What was bid.
        told: The highest competing bid, or None.
        won: Whether the bid won.

    Raises:
        InvalidLossesError: The outcome is incomplete or contradicts itself.
    """
    if won:
        if amount == 0:
            raise _contradiction(amount, "a bid of 0 means not to bid, so it cannot have won")
        if amount < rules.reserve and not equal_to_rounding(amount, rules.reserve):
            raise _contradiction(amount, f"it is below the reserve price, {rules.reserve:.15g}")
    if told is None:
        if won in _TOLD_AFTER[feedback]:
            raise InvalidLossesError(
                f"The bidder's feedback is {feedback!r}: {FEEDBACK[feedback].split(':')[0]}. Got "
                f"won={won} and no highest_competing_bid. Give it (0 if nobody else bid). A single "
                "bid may be left unsettled; if it is often missing, that would mislead the bidder: "
                "make one with feedback 'won-lost'."
            )
        return -math.inf if won else math.inf
    price = amount_of("settle", "highest_competing_bid", told, error=InvalidLossesError)
    wins = amount >= price if rules.ties == "win" else amount > price
    if won == (wins and amount >= rules.reserve and amount > 0):
        return price
    if equal_to_rounding(amount, price) and (won or amount > 0):
        if won:
            return amount if rules.ties == "win" else math.nextafter(amount, -math.inf)
        return math.nextafter(amount, math.inf) if rules.ties == "win" else amount
    outcome = "won" if won else "lost"
    raise _contradiction(
        amount, f"it cannot have {outcome} against a highest competing bid of {price:.15g}"
    )


def told_after(feedback: str) -> tuple[bool, ...]:
    """Return whether the competing bid is told after a loss (False) and a win (True)."""
    return _TOLD_AFTER[feedback]


def equal_to_rounding(one: float, other: float) -> bool:
    """Return whether two amounts differ by no more than rounding does."""
    return abs(one - other) <= ROUNDING * max(abs(one), abs(other))


def _contradiction(amount: float, why: str) -> InvalidLossesError:
    return InvalidLossesError(
        f"The outcome of the bid of {amount:.15g} contradicts itself: {why}. Nothing was learned; "
        "correct the outcome (if the auction had a reserve price of its own, give it as 'reserve')."
    )
