"""Limits on what is spent: budgets and targets, how they are paced, and money that is reserved.

`Budget`, `ReturnOnSpend` and `CostPer` are the limits. A `Pacer` keeps one bidder within its
limits, and a `LimitStatus` shows the state of a limit. `SharedBudget` gives slices of a budget to
several bidders.
"""

from typing import TYPE_CHECKING

from crossbandit.core import lazy as _lazy

if TYPE_CHECKING:
    from crossbandit.limits.pacer import PacedChoices, PacedLog, Pacer
    from crossbandit.limits.periods import LeaseUse
    from crossbandit.limits.settings import Budget, CostPer, Lease, Limit, ReturnOnSpend, Target
    from crossbandit.limits.shared import SharedBudget
    from crossbandit.limits.status import LimitStatus

__all__ = [
    "Budget",
    "CostPer",
    "Lease",
    "LeaseUse",
    "Limit",
    "LimitStatus",
    "PacedChoices",
    "PacedLog",
    "Pacer",
    "ReturnOnSpend",
    "SharedBudget",
    "Target",
]

_lazy.load_on_use(
    __name__,
    {
        "crossbandit.limits.pacer": "PacedChoices PacedLog Pacer",
        "crossbandit.limits.periods": "LeaseUse",
        "crossbandit.limits.settings": "Budget CostPer Lease Limit ReturnOnSpend Target",
        "crossbandit.limits.shared": "SharedBudget",
        "crossbandit.limits.status": "LimitStatus",
    },
)
