"""What is shown of limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crossbandit.limits.settings import Limit


@dataclass(frozen=True)
class LimitStatus:
    """How a limit stands in its present period.

    Attributes:
        limit: The limit.
        spent: The money that was paid for bids of this period.
        reserved: The money that bids without an outcome may still cost; under a target, by how much
            they may exceed what they allow to spend.
        left: What may still be bid, whatever becomes of these bids. Under a target, without what
            the next win allows.
        planned: What was to be spent by now; None where nothing is planned.
        slack: Under a target, what the wins allow to spend less what was spent; negative if the
            target is not kept. None under a budget.
        multiplier: By how much money counts more than without this limit. A pseudo-value is the
            value divided by it.
        binds: Whether this limit is the one that set the last pseudo-value.
        begins: When the period began, in seconds since 1970; None if it is not one of the clock.
        ends: When it ends.
        late: What was paid for bids that had expired.
    """

    limit: Limit
    spent: float
    reserved: float
    left: float
    planned: float | None
    slack: float | None
    multiplier: float
    binds: bool
    begins: float | None
    ends: float | None
    late: float

    def __str__(self) -> str:
        name = type(self.limit).__name__
        of = "" if self.limit.per is None else f" per {self.limit.per}"
        if self.slack is not None:
            kept = "kept" if self.slack >= 0 else "not kept"
            return f"{name}{of}: {kept}, slack {self.slack:.6g}, spent {self.spent:.6g}"
        plan = "" if self.planned is None else f" (planned by now {self.planned:.6g})"
        return (
            f"{name} of {self.limit.amount:.6g}{of}: spent {self.spent:.6g}{plan}, "  # type: ignore[union-attr]
            f"reserved {self.reserved:.6g}, left {self.left:.6g}"
        )
