"""Metrics of a node, of its bidders and of requests, in the text format of Prometheus."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from crossbandit.service.figures import Histogram

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from crossbandit.service.figures import BidderFigures, LimitFigures
    from crossbandit.service.node import Node

BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)  # seconds

_ESCAPED = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class RequestMetrics:
    """Counts the requests of this process: by path, method and status, with their durations."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str, int], int] = {}
        self._durations: dict[tuple[str, str], Histogram] = {}

    def note(self, path: str, method: str, status: int, seconds: float) -> None:
        """Count a request."""
        key = (path, method, status)
        self._counts[key] = self._counts.get(key, 0) + 1
        histogram = self._durations.get((path, method))
        if histogram is None:
            histogram = self._durations[path, method] = Histogram(BOUNDS)
        histogram.note(seconds)

    def families(self) -> Iterator[Family]:
        """Yield the metrics."""
        requests = Family("requests_total", "counter", "HTTP requests of this process.")
        for (path, method, status), count in sorted(self._counts.items()):
            requests.add(count, path=path, method=method, status=str(status))
        yield requests
        durations = Family("request_seconds", "histogram", "Time until the answer was sent.")
        for (path, method), histogram in sorted(self._durations.items()):
            durations.add_histogram(histogram, path=path, method=method)
        yield durations


class Family:
    r"""A metric, with a sample for each combination of labels.

    >>> family = Family("wins_total", "counter", "Auctions won.")
    >>> family.add(3, bidder='the "first"')
    >>> print(family.text())
    # HELP crossbandit_wins_total Auctions won.
    # TYPE crossbandit_wins_total counter
    crossbandit_wins_total{bidder="the \"first\""} 3
    """

    def __init__(self, name: str, kind: str, meaning: str) -> None:
        self.name = f"crossbandit_{name}"
        self._head = [f"# HELP {self.name} {meaning}", f"# TYPE {self.name} {kind}"]
        self._lines: list[str] = []

    def add(self, value: float | None, suffix: str = "", /, **labels: str) -> None:
        """Add a sample."""
        if value is not None:
            self._lines.append(f"{self.name}{suffix}{_labels(labels)} {_number(value)}")

    def add_histogram(self, histogram: Histogram, **labels: str) -> None:
        """Add the samples of a histogram."""
        below = 0
        for bound, count in zip((*histogram.bounds, math.inf), histogram.counts, strict=True):
            below += count
            self.add(below, "_bucket", **labels, le=_number(bound))
        self.add(histogram.total, "_sum", **labels)
        self.add(below, "_count", **labels)

    def text(self) -> str:
        """Return the lines of the metric; "" if it has no samples."""
        return "\n".join(self._head + self._lines) if self._lines else ""


def metrics_text(families: Iterable[Family]) -> bytes:
    """Return metrics in the text format of Prometheus."""
    texts = [family.text() for family in families]
    return "".join(f"{text}\n" for text in texts if text).encode()


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    inside = ",".join(f'{name}="{text.translate(_ESCAPED)}"' for name, text in labels.items())
    return f"{{{inside}}}"


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return "NaN" if math.isnan(value) else f"{value:.15g}"


# --- the metrics of a node ---------------------------------------------------------------------

# Metrics with one sample for each bidder: name, what of its figures it shows, and meaning.
_OF_BIDDER = """\
decisions_total         decisions              Decisions that this process made.
value_won               value_won              Sum of the values won.
spend                   spend                  Money paid.
surplus                 surplus                Values won less the money paid.
win_rate                win_rate               Share of the auctions won.
paused                  paused                 Whether the bidder is paused.
alerts                  alerts                 Alerts that the page shows.
log_entries             last                   Number of the last entry of the log.
learned_entries         learned                Number of the last entry learned.
learning_lag_entries    lag                    Entries that are not learned yet.
policy_age_seconds      policy_age             Age of the policy in use.
learning_lag_seconds    lag_seconds            Wait of the oldest unlearned entry.
exploration_cost        exploration            Cost of random bids per auction.
shading_gain            shading.gain           Gain over the best fixed shading, by the own law.
outcome_delay_seconds   delay                  Time between a bid and its outcome, lately.
dependence              diagnosis.depends      Whether prices depend on values.
dependence_log_evidence diagnosis.log_evidence Log of the evidence that prices depend on values.
dependence_gain         diagnosis.gain         Estimated gain from bids that depend on the value.
"""
# Metrics with one sample for each limit of a bidder.
_OF_LIMIT = (
    ("amount", "Amount of the limit: money, or the ratio of a return."),
    ("spent", "Money paid in the present period."),
    ("reserved", "Money that bids without an outcome count with."),
    ("expected", "Money that bids without an outcome are expected to cost."),
    ("outstanding", "Money that bids without an outcome cost if all win."),
    ("left", "Money that may still be bid."),
    ("planned", "Money that the plan allows by now."),
    ("slack", "Money that a target allows less the money spent."),
    ("multiplier", "Number by which values are divided."),
    ("under_delivery", "Whether far less was spent than planned; the alerts say why."),
)
# Metrics with one sample for each campaign of a bidder.
_OF_CAMPAIGN = (
    ("won", "Auctions won."),
    ("lost", "Auctions lost."),
    ("value_won", "Sum of the values won."),
    ("spend", "Money paid."),
    ("paused", "Whether the campaign is paused."),
)


def node_families(node: Node) -> Iterator[Family]:
    """Yield the metrics of a node and its bidders."""
    found = node.all_figures()
    for line in _OF_BIDDER.splitlines():
        name, field, meaning = line.split(maxsplit=2)
        family = Family(name, "counter" if name.endswith("_total") else "gauge", meaning)
        for bidder, one in found.items():
            value: Any = one
            for part in field.split("."):
                value = getattr(value, part, None)
            family.add(len(value) if isinstance(value, tuple) else value, bidder=bidder)
        yield family
    outcomes = Family("outcomes_total", "counter", "Outcomes that were learned.")
    refused = Family("refusals_total", "counter", "Outcomes that were not learned, by cause.")
    for bidder, one in found.items():
        outcomes.add(one.won, bidder=bidder, kind="won")
        outcomes.add(one.lost, bidder=bidder, kind="lost")
        for cause, count in sorted(one.refused.items()):
            refused.add(count, bidder=bidder, cause=cause)
    yield from (outcomes, refused)
    yield from _parts("limit", _OF_LIMIT, [one for each in found.items() for one in _limits(*each)])
    campaigns = [
        ({"bidder": bidder, "campaign": name}, did)
        for bidder, one in found.items()
        for name, did in one.campaigns.items()
    ]
    yield from _parts("campaign", _OF_CAMPAIGN, campaigns)
    durations = Family("commit_seconds", "histogram", "Duration of durable commits.")
    durations.add_histogram(node.writer.durations)
    waiting = Family("outcomes_waiting", "gauge", "Outcomes that wait to be stored.")
    waiting.add(node.writer.waiting)
    yield from (durations, waiting)


def _parts(
    prefix: str, fields: Iterable[tuple[str, str]], parts: Iterable[tuple[dict[str, str], Any]]
) -> Iterator[Family]:
    """Yield metrics with a sample for each part of bidders, which has labels."""
    for name, meaning in fields:
        family = Family(f"{prefix}_{name}", "gauge", meaning)
        for labels, part in parts:
            value = getattr(part, name)
            if name == "under_delivery":  # a sentence
                value = None if part.planned is None else bool(value)
            family.add(value, **labels)
        yield family


def _limits(bidder: str, figures: BidderFigures) -> Iterator[tuple[dict[str, str], LimitFigures]]:
    """Yield the labels of each limit of a bidder: the number is that in its campaign."""
    numbers: dict[str, int] = {}
    for limit in figures.limits:
        number = numbers[limit.campaign] = numbers.get(limit.campaign, -1) + 1
        of = {"campaign": limit.campaign} if limit.campaign else {}
        yield {"bidder": bidder, **of, "limit": limit.kind, "number": str(number)}, limit
