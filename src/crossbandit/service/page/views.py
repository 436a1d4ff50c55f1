"""The contents of the live page as JSON: the table of bidders, and the details of one bidder."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from crossbandit.report.text import MISSING, count, number
from crossbandit.service.page.charts import bid_chart, history_charts, known_classes, law_chart
from crossbandit.service.page.track import evenly

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crossbandit.applications import FirstPriceBidder
    from crossbandit.report import Chart
    from crossbandit.service.figures import BidderFigures, LimitFigures
    from crossbandit.service.page.track import Point

LATE = 30.0  # seconds by which a learner may be behind
_SPARK = 60  # the number of points of a small curve
_NOTHING = 1e-9  # less money is shown as 0


def state_of(figures: BidderFigures) -> str:
    """Return the state of a bidder, in one word.

    Args:
        figures: Its figures.
    """
    if figures.paused:
        return "paused"
    if figures.lag_seconds > LATE:
        return "behind"
    return "learning" if figures.learned else "waiting"


def alerts_of(figures: BidderFigures) -> list[str]:
    """Return the alerts of a bidder.

    Args:
        figures: The figures of a bidder.
    """
    found = list(figures.alerts)
    if figures.lag_seconds > LATE:
        found.append(
            f"Learning is {count(figures.lag, 'outcome')} behind. The oldest has waited for "
            f"{duration(figures.lag_seconds)}."
        )
    if not figures.holder:
        found.append("No node learns for this bidder now. Outcomes are stored and learned later.")
    return found


def row(name: str, figures: BidderFigures, points: Sequence[Point]) -> dict[str, Any]:
    """Return a row of the table of bidders.

    Args:
        name: The name of the bidder.
        figures: Its figures.
        points: The totals over time.

    Returns:
        Texts and numbers, as the script of the page takes them.
    """
    outcomes = figures.won + figures.lost
    limits = [limit(one) for one in figures.limits]
    return {
        "name": name,
        "state": state_of(figures),
        "win": share(figures.won, outcomes),
        "surplus": amount(figures.surplus if outcomes else None),
        "spend": amount(figures.spend if outcomes else None),
        "limit": limits[0] if limits else None,
        "lag": duration(figures.lag_seconds),
        "late": figures.lag_seconds > LATE,
        "alerts": len(alerts_of(figures)),
        "spark": evenly(points, "surplus", _SPARK) if outcomes else [],
    }


def summary(all_figures: Sequence[BidderFigures]) -> str:
    """Return a summary of all bidders, in words.

    Args:
        all_figures: Their figures.

    >>> summary([])
    ''
    """
    if not all_figures:
        return ""
    outcomes = sum(one.won + one.lost for one in all_figures)
    alerts = sum(1 for one in all_figures if alerts_of(one))
    words = f"{count(len(all_figures), 'bidder')}. {count(outcomes, 'outcome')} learned."
    if not alerts:
        return words
    return f"{words} {count(alerts, 'bidder')} {'has' if alerts == 1 else 'have'} alerts."


def detail(
    name: str, settings: str, figures: BidderFigures, points: Sequence[Point]
) -> dict[str, Any]:
    """Return the details of one bidder, without the charts of its policy and its law.

    Args:
        name: The name of the bidder.
        settings: Its settings, in a line.
        figures: The figures of the bidder.
        points: The totals over time.

    Returns:
        Texts, numbers and charts, as the script of the page takes them.
    """
    return {
        "name": name,
        "state": state_of(figures),
        "about": settings,
        "alerts": alerts_of(figures),
        "tiles": tiles(figures),
        "limits": [limit(one) for one in figures.limits],
        "diagnosis": "" if figures.diagnosis is None else figures.diagnosis.words,
        "refusals": [[cause, f"{n:,}"] for cause, n in sorted(figures.refused.items()) if n],
        "charts": drawn(history_charts(figures, points)),
    }


def beliefs(bidder: FirstPriceBidder | None) -> dict[str, Any]:
    """Return the charts of a bidder's policy and law. This takes some milliseconds.

    Args:
        bidder: The bidder, or a snapshot of one; None if there is nothing yet.

    Returns:
        The charts by place, as the script of the page takes them.
    """
    if bidder is None:
        return {"bids": None, "law": None}
    return drawn({"bids": bid_chart(bidder), "law": law_chart(bidder)})


def drawn(charts: Mapping[str, Chart | None]) -> dict[str, Any]:
    """Return charts as JSON.

    Args:
        charts: The charts by place; None where there is nothing to show yet.
    """
    return {place: one and one.to_json() for place, one in charts.items()}


def about(bidder: FirstPriceBidder) -> str:
    """Return the settings of a bidder in a line.

    Args:
        bidder: The bidder, or a snapshot of one.
    """
    told = {
        "after-loss": "price known after a loss",
        "after-win": "price known after a win",
        "always": "price always known",
        "won-lost": "only won or lost known",
    }[bidder.feedback]
    low, high = bidder.value_range
    parts = [f"values from {low:g} to {high:g}", f"{bidder.bids.size} bids", told]
    if bidder.classes:
        parts.append(f"{len(known_classes(bidder)):,} × {', '.join(bidder.classes)}")
    return " · ".join(parts)


def tiles(figures: BidderFigures) -> list[tuple[str, str, str]]:
    """Return the most important numbers of a bidder: label, number, note.

    Args:
        figures: Its figures.
    """
    outcomes = figures.won + figures.lost
    multiplier = max((one.multiplier for one in figures.limits), default=0.0)
    cost = MISSING if figures.exploration is None else number(figures.exploration, 3)
    per_win = figures.spend / figures.won if figures.won else None
    random = (
        ("Multiplier", f"{multiplier:.2f}", "divides values, for the limits")
        if figures.limits
        else ("Exploration", cost, "cost per auction, now")
    )
    return [
        ("Win rate", share(figures.won, outcomes), f"of {count(outcomes, 'outcome')}"),
        ("Surplus", amount(figures.surplus), f"of {amount(figures.value_won)} value won"),
        ("Spend", amount(figures.spend), f"{amount(per_win)} per win"),
        random,
        ("Lag", duration(figures.lag_seconds), f"policy {duration(figures.policy_age)} old"),
        ("Decisions", f"{figures.decisions:,}", "by this process"),
    ]


def limit(given: LimitFigures) -> dict[str, Any]:
    """Return the state of a budget or a target.

    Args:
        given: The limit.

    Returns:
        A long and a short text; for a budget also the shares that are spent and planned.
    """
    if given.slack is not None:
        kept = "target kept" if given.slack >= 0 else "target not kept"
        short = f"{amount(given.spent)}, {kept}"
        return {"words": f"{given.words}.", "share": None, "plan": None, "text": short}
    spent = f"{amount(given.spent)} of {amount(given.amount)}"
    plan = "" if given.planned is None else f", {amount(given.planned)} planned by now"
    held = f", {amount(given.reserved)} reserved" if given.reserved else ""
    return {
        "words": f"Budget: {spent} spent{plan}{held}, {amount(given.left)} left.",
        "share": given.spent / given.amount,
        "plan": None if given.planned is None else given.planned / given.amount,
        "text": spent if given.planned is None else f"{spent}, plan {amount(given.planned)}",
        "ends": given.ends,
    }


# --- numbers as text ---------------------------------------------------------------------------


def amount(value: float | None) -> str:
    """Return money with about four digits.

    Args:
        value: The money, or None.

    >>> amount(0.01234), amount(12.345), amount(-12345.6)
    ('0.01234', '12.35', '−12,346')
    """
    if value is None or not math.isfinite(value):
        return MISSING
    size = abs(value)
    digits = 2 if size < _NOTHING else min(max(3 - math.floor(math.log10(size)), 0), 6)
    return number(value, digits)


def share(part: float, whole: float) -> str:
    """Return a part of a whole in percent.

    Args:
        part: The part.
        whole: The whole.

    >>> share(1, 3)
    '33.3 %'
    """
    return f"{100 * part / whole:.1f} %" if whole else MISSING


def duration(seconds: float | None) -> str:
    """Return a time in a suitable unit.

    Args:
        seconds: The time, or None.

    >>> duration(0.04), duration(12.3), duration(150), duration(7_300), duration(200_000)
    ('0.0 s', '12 s', '2.5 min', '2.0 h', '2.3 d')
    """
    if seconds is None or not math.isfinite(seconds):
        return MISSING
    if seconds < 10:
        return f"{max(seconds, 0.0):.1f} s"
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"
