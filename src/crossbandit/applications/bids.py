"""Bids: one, and many at once."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from crossbandit.applications.action import Action

if TYPE_CHECKING:
    from crossbandit.laws.levels import Label


@dataclass(frozen=True)
class Bid(Action):
    """One bid. Place it, keep it until its auction is over, then pass it to `settle`.

    Attributes:
        decision: The learner's decision; None if there was nothing to choose from.
        amount: The money to bid. None if no bid may be made, because every bid is above the value
            or below the reserve price.
        value: What winning is worth.
        reserve: The reserve price of the auction, if it was known.
        classes: The levels of the bidder's classes, in their order.
    """

    amount: float | None
    value: float
    reserve: float | None = None
    classes: tuple[Label, ...] = ()

    @property
    def decimal(self) -> Decimal | None:
        """The amount as a decimal number; exact if bids are in whole ticks."""
        return None if self.amount is None else Decimal(repr(self.amount))

    def __float__(self) -> float:
        return 0.0 if self.amount is None else self.amount
