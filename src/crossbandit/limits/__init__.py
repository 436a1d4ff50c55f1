"""Limits on what is spent: budgets and targets, how they are paced, and money that is reserved.

`Budget`, `ReturnOnSpend` and `CostPer` say what is asked for. `Pacer` keeps to it.
"""

from crossbandit.limits.pacer import PacedLog, Pacer
from crossbandit.limits.settings import Budget, CostPer, Limit, ReturnOnSpend, Target

__all__ = [
    "Budget",
    "CostPer",
    "Limit",
    "PacedLog",
    "Pacer",
    "ReturnOnSpend",
    "Target",
]
