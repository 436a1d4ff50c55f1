"""What a bidder returns: one bid, or many bids that were made at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from crossbandit.algorithms.learners.law_learner import Made
from crossbandit.applications.action import Action
from crossbandit.applications.bidding.bid_core import BidFields
from crossbandit.core.lazy import LazyTexts
from crossbandit.errors import DecisionError

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.algorithms import Decision
    from crossbandit.applications.bidding.auctions import AuctionRules
    from crossbandit.core.types import Floats, Integers
    from crossbandit.laws.levels import Label


@dataclass(frozen=True)
class Bid(Action, BidFields):
    """One bid. Place it, keep it until its auction is over, then pass it to `settle`.

    Attributes:
        decision: The learner's decision; None if there was nothing to choose from.
        amount: The money to bid, above 0; None if no bid is made. There is then nothing to place,
            and nothing to settle.
        value: What winning is worth.
        reserve: The reserve price of the auction, if it was known.
        classes: The levels of the bidder's classes, in their order.
        reason: Why no bid is made; None if one is.
    """

    __slots__ = ()

    amount: float | None = field()  # without a default: not what `BidFields` has by this name
    value: float = field()
    reserve: float | None = None
    classes: tuple[Label, ...] = ()
    reason: str | None = None

    @property
    def token(self) -> bytes:
        """The bid as bytes. `settle` takes them anywhere and at any time, once.

        Raises:
            DecisionError: No bid was made, or the learner needs the decision itself.
        """
        if self.amount is None:
            name = type(self).__name__
            raise DecisionError(f"This {name} has nothing to settle: no bid was made.")
        return super().token

    @property
    def decimal(self) -> Decimal | None:
        """The amount as a decimal number; exact if bids are in whole ticks."""
        return None if self.amount is None else Decimal(repr(self.amount))

    def __float__(self) -> float:
        return 0.0 if self.amount is None else self.amount


for _name in ("reserve", "classes", "reason"):
    delattr(Bid, _name)  # the defaults would hide the fields of machine code


def reasons(
    rules: AuctionRules,
    amounts: Floats,
    auctions: tuple[Floats, Floats, Integers, Integers],
    limits: Sequence[str | None] | None,
) -> LazyTexts:
    """Return why no bid was made, for each auction of a batch."""
    return LazyTexts(np.isnan(amounts), partial(_why, rules, auctions, limits))


def _why(
    rules: AuctionRules, auctions: tuple[Any, ...], limits: Sequence[str | None] | None, at: int
) -> str:
    limit = None if limits is None else limits[at]
    value, reserve, first, last = (column[at].item() for column in auctions)
    known = None if np.isnan(reserve) else reserve
    return limit or reason_of(rules, value, known, first, last)


def reason_of(
    rules: AuctionRules, value: float, reserve: float | None, first: int, last: int
) -> str:
    """Return why no bid is made, if it is not because of a limit."""
    from crossbandit.limits.status import lowest_bid

    amounts = rules.amounts
    if lowest_bid(amounts, first, last) is not None:
        return f"At a value of {value:.6g}, the learner chose not to bid."
    lowest, highest = float(amounts[amounts > 0].min()), float(amounts[-1])
    if rules.at_most_value and lowest > value:
        return f"The lowest bid above 0, {lowest:.6g}, is above the value, {value:.6g}."
    floor = rules.reserve if reserve is None else reserve
    if floor > highest:
        return f"The highest bid, {highest:.6g}, is below the reserve price, {floor:.6g}."
    return f"No bid lies between the reserve price, {floor:.6g}, and the value, {value:.6g}."


@lru_cache(maxsize=64)
def first_key(maker: str) -> int:
    """Return the key of the first bid of a decider: a number of 62 bits, far above any round."""
    return (int(maker, 16) >> 2) | (1 << 61)


def key_of(decision: Decision) -> int:
    """Return a number that no bid of another decider has, unless two ids are almost equal.

    A bidder that is loaded from a file continues its round numbers, and so does the bidder that
    wrote the file. Only the id of the decider tells their bids apart.
    """
    return first_key(decision.decider) + decision.round


class Bids(Sequence[Bid]):
    """Many bids that were made at once: a sequence of `Bid`, kept as arrays.

    Args:
        amounts: The money to bid; NaN where no bid is made.
        values: What winning is worth.
        reserves: The reserve prices; NaN where none was known.
        classes: The levels of the bidder's classes, a tuple per row; empty if it has none.
        made: The decisions.
        reasons: Why no bid is made, for each row; None if bids are made in all rows.

    Attributes:
        amounts: The money to bid; NaN where no bid is made.
        values: What winning is worth.
        reserves: The reserve prices; NaN where none was known.
    """

    def __init__(
        self,
        amounts: Floats,
        values: Floats,
        reserves: Floats,
        classes: Sequence[tuple[Label, ...]],
        made: Made | Sequence[Bid],
        reasons: Sequence[str | None] | None = None,
    ) -> None:
        self.amounts, self.values, self.reserves = amounts, values, reserves
        for column in (amounts, values, reserves):
            column.flags.writeable = False
        self.classes = classes
        self.made = made
        self.reasons = reasons

    @classmethod
    def of(cls, bids: Sequence[Bid]) -> Bids:
        """Return bids that were made one by one as one batch.

        Args:
            bids: The bids.
        """
        return cls(
            np.array([np.nan if bid.amount is None else bid.amount for bid in bids], dtype=float),
            np.array([bid.value for bid in bids], dtype=float),
            np.array([np.nan if bid.reserve is None else bid.reserve for bid in bids], dtype=float),
            [bid.classes for bid in bids],
            bids,
            [bid.reason for bid in bids],
        )

    @classmethod
    def joined(cls, parts: Sequence[Bids], rows: Sequence[Integers]) -> Bids:
        """Return batches of bids of one law as one batch.

        Args:
            parts: The batches.
            rows: The rows of each batch.
        """
        order = np.argsort(np.concatenate(rows))  # where each row is in the batches together
        columns = ("amounts", "values", "reserves")
        together = [np.concatenate([getattr(one, name) for one in parts]) for name in columns]
        classes = [one for part in parts for one in part.classes]
        whys = [(part, i) for part in parts for i in range(len(part))]

        def why(at: int) -> str | None:
            part, i = whys[order[at]]
            return None if part.reasons is None else part.reasons[i]

        amounts, values, reserves = (one[order] for one in together)
        made = Made.joined([part.made for part in parts]).part(order)  # type: ignore[misc]
        named = [classes[i] for i in order.tolist()]
        return cls(amounts, values, reserves, named, made, LazyTexts(np.isnan(amounts), why))

    def part(self, rows: npt.ArrayLike) -> Bids:
        """Return some of the bids as a batch, such as those whose outcomes have come.

        Args:
            rows: The numbers of their rows, or a boolean for each row.
        """
        at = np.arange(len(self))[np.asarray(rows)]
        made = self.made
        return Bids(
            self.amounts[at],
            self.values[at],
            self.reserves[at],
            [self.classes[i] for i in at.tolist()] if self.classes else (),
            made.part(at) if isinstance(made, Made) else [made[i] for i in at.tolist()],
            None if self.reasons is None else [self.reasons[i] for i in at.tolist()],
        )

    @property
    def tokens(self) -> list[bytes | None]:
        """The token of each bid; None where no bid was made."""
        return [None if bid.amount is None else bid.token for bid in self]

    def __len__(self) -> int:
        return self.amounts.size

    @overload
    def __getitem__(self, at: int) -> Bid: ...

    @overload
    def __getitem__(self, at: slice) -> list[Bid]: ...

    def __getitem__(self, at: int | slice) -> Bid | list[Bid]:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        i = range(len(self))[at]
        if not isinstance(self.made, Made):
            return self.made[i]
        decision = self.made.decision(i)
        amount, reserve = float(self.amounts[i]), float(self.reserves[i])
        return Bid(
            decision,
            None if np.isnan(amount) else amount,
            float(self.values[i]),
            None if np.isnan(reserve) else reserve,
            self.classes[i] if self.classes else (),
            None if self.reasons is None else self.reasons[i],
        )

    def __repr__(self) -> str:
        return f"Bids({len(self)} bids, {int(np.isfinite(self.amounts).sum())} of them made)"
