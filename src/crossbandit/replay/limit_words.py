"""Limits in words, for pages, tables and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.limits import Budget, CostPer, ReturnOnSpend

if TYPE_CHECKING:
    from crossbandit.limits import Limit


def describe(limit: Limit) -> str:
    """Return a limit in words.

    >>> describe(Budget(500, per="day", timezone="Europe/Berlin"))
    'a budget of 500 per day (Europe/Berlin), paced by traffic'
    """
    if isinstance(limit, Budget):
        pace = {"traffic": "paced by traffic", "even": "paced evenly", "asap": "not paced"}
        return f"a budget of {limit.amount:g}{per_words(limit)}, {pace[limit.pacing]}"
    aim = "" if not isinstance(limit, ReturnOnSpend | CostPer) else f", aiming at {limit.aim}"
    if isinstance(limit, ReturnOnSpend):
        return f"a return on spend of {limit.ratio:g}{per_words(limit)}{aim}"
    cost = f"{limit.amount:g}" if isinstance(limit, CostPer) else ""
    return f"a cost of at most {cost} per win{per_words(limit)}{aim}"


def per_words(limit: Limit) -> str:
    """Return the period of a limit in words, such as " per day (UTC)"; empty without one."""
    if limit.per is None:
        return ""
    if isinstance(limit.per, int):
        return f" per {limit.per:,} auctions"
    zone = f" ({limit.timezone})" if limit.per in {"day", "hour"} else ""
    return f" per {limit.per}{zone}"
