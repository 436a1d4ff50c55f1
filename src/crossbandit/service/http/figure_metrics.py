"""The metrics of a node and its bidders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crossbandit.errors import CrossbanditError
from crossbandit.service.http.metrics import Family, Histogram
from crossbandit.service.writer import BUCKETS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crossbandit.service.figures import BidderFigures
    from crossbandit.service.node import Node

# Metrics with one sample for each bidder.
_OF_BIDDER: tuple[tuple[str, str, str, Callable[[BidderFigures], float | None]], ...] = (
    ("decisions_total", "counter", "Decisions that this process made.", lambda f: f.decisions),
    ("value_won", "gauge", "Sum of the values won.", lambda f: f.value_won),
    ("spend", "gauge", "Money paid.", lambda f: f.spend),
    ("surplus", "gauge", "Values won less the money paid.", lambda f: f.surplus),
    ("win_rate", "gauge", "Share of the auctions won.", lambda f: f.win_rate),
    ("paused", "gauge", "Whether the bidder is paused.", lambda f: f.paused),
    ("alerts", "gauge", "Alerts that the page shows.", lambda f: len(f.alerts)),
    ("log_entries", "gauge", "Number of the last entry of the log.", lambda f: f.last),
    ("learned_entries", "gauge", "Number of the last entry learned.", lambda f: f.learned),
    ("learning_lag_entries", "gauge", "Entries that are not learned yet.", lambda f: f.lag),
    ("policy_age_seconds", "gauge", "Age of the policy in use.", lambda f: f.policy_age),
    (
        "learning_lag_seconds",
        "gauge",
        "Wait of the oldest unlearned entry.",
        lambda f: f.lag_seconds,
    ),
    ("exploration_cost", "gauge", "Cost of random bids per auction.", lambda f: f.exploration),
    ("dependence", "gauge", "Whether prices depend on values.", lambda f: _seen(f, "depends")),
    (
        "dependence_log_evidence",
        "gauge",
        "Logarithm of the evidence that prices depend on values.",
        lambda f: _seen(f, "log_evidence"),
    ),
    (
        "dependence_gain",
        "gauge",
        "Estimated gain from bids that depend on the value.",
        lambda f: _seen(f, "gain"),
    ),
)
# Metrics with one sample for each limit of a bidder.
_OF_LIMIT: tuple[tuple[str, str, Callable[[Any], float | None]], ...] = (
    (
        "limit_amount",
        "Amount of the limit: money, or the ratio of a return.",
        lambda one: one.amount,
    ),
    ("limit_spent", "Money paid in the present period.", lambda one: one.spent),
    ("limit_reserved", "Money that bids without an outcome may cost.", lambda one: one.reserved),
    ("limit_left", "Money that may still be bid.", lambda one: one.left),
    ("limit_planned", "Money that the plan allows by now.", lambda one: one.planned),
    ("limit_slack", "Money that a target allows less the money spent.", lambda one: one.slack),
    ("limit_multiplier", "Number by which values are divided.", lambda one: one.multiplier),
)


def node_families(node: Node) -> Iterator[Family]:
    """Yield the metrics of a node and its bidders.

    Args:
        node: The node.
    """
    found = {name: one for name in node.names() if (one := _figures(node, name)) is not None}
    for name, kind, meaning, read in _OF_BIDDER:
        family = Family(name, kind, meaning)
        for bidder, one in found.items():
            family.add(read(one), bidder=bidder)
        yield family
    outcomes = Family("outcomes_total", "counter", "Outcomes that were learned.")
    refused = Family("refusals_total", "counter", "Outcomes that were not learned, by cause.")
    for bidder, one in found.items():
        outcomes.add(one.won, bidder=bidder, kind="won")
        outcomes.add(one.lost, bidder=bidder, kind="lost")
        for cause, count in sorted(one.refused.items()):
            refused.add(count, bidder=bidder, cause=cause)
    yield from (outcomes, refused)
    for name, meaning, read in _OF_LIMIT:
        family = Family(name, "gauge", meaning)
        for bidder, one in found.items():
            for number, limit in enumerate(one.limits):
                family.add(read(limit), bidder=bidder, limit=limit.kind, number=str(number))
        yield family
    yield from _writing(node)


def _seen(figures: BidderFigures, name: str) -> float | None:
    """Return a field of the diagnosis, if there is one."""
    found: float | None = getattr(figures.diagnosis, name, None)
    return found


def _figures(node: Node, name: str) -> BidderFigures | None:
    try:
        return node.figures(name)
    except CrossbanditError:  # it was deleted meanwhile
        return None


def _writing(node: Node) -> Iterator[Family]:
    """Yield the metrics of writing to the store."""
    commits = Histogram(BUCKETS)
    commits.counts, commits.total = list(node.writer.histogram), node.writer.seconds
    durations = Family("commit_seconds", "histogram", "Duration of durable commits.")
    durations.add_histogram(commits)
    waiting = Family("outcomes_waiting", "gauge", "Outcomes that wait to be stored.")
    waiting.add(node.writer.waiting)
    yield from (durations, waiting)
