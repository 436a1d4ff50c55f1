"""What a bidder returns: one bid, or many bids that were made at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, overload

import numpy as np

from crossbandit.applications.action import Action
from crossbandit.applications.law_learner.decisions import Made

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.laws.levels import Label
    from crossbandit.types import Floats


@dataclass(frozen=True)
class Bid(Action):
    """One bid. Place it, keep it until its auction is over, then pass it to `settle`.

    Attributes:
        decision: The learner's decision; None if there was nothing to choose from.
        amount: The money to bid. None if no bid may be made, because every bid is above the value
            or below the reserve price, or because of a limit.
        value: What winning is worth.
        reserve: The reserve price of the auction, if it was known.
        classes: The levels of the bidder's classes, in their order.
        reason: Why a limit allows no bid; None if one was made, or none was possible anyway.
    """

    amount: float | None
    value: float
    reserve: float | None = None
    classes: tuple[Label, ...] = ()
    reason: str | None = None

    @property
    def decimal(self) -> Decimal | None:
        """The amount as a decimal number; exact if bids are in whole ticks."""
        return None if self.amount is None else Decimal(repr(self.amount))

    def __float__(self) -> float:
        return 0.0 if self.amount is None else self.amount


class Bids(Sequence[Bid]):
    """Many bids that were made at once: a sequence of `Bid`, kept as arrays.

    Args:
        amounts: The money to bid; NaN where no bid may be made.
        values: What winning is worth.
        reserves: The reserve prices; NaN where none was known.
        classes: The levels of the bidder's classes, a tuple per row; empty if it has none.
        made: The decisions.
        reasons: Why a limit allows no bid, for each row; None if no limit does.

    Attributes:
        amounts: The money to bid; NaN where no bid may be made.
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
        )

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
        return [None if bid.decision is None else bid.token for bid in self]

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
        reserve = float(self.reserves[i])
        return Bid(
            decision,
            None if decision is None else float(self.amounts[i]),
            float(self.values[i]),
            None if np.isnan(reserve) else reserve,
            self.classes[i] if self.classes else (),
            None if self.reasons is None else self.reasons[i],
        )

    def __repr__(self) -> str:
        return f"Bids({len(self)} bids, {int(np.isfinite(self.amounts).sum())} of them made)"
