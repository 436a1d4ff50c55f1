"""Metrics in the text format of Prometheus. The format is so simple that no library is needed."""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)  # seconds


class Histogram:
    """Counts of durations, by upper bounds.

    Args:
        bounds: The bounds in seconds, ascending.
    """

    def __init__(self, bounds: Sequence[float] = BOUNDS) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def note(self, seconds: float) -> None:
        """Count a duration.

        Args:
            seconds: The duration.
        """
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.total += seconds


class RequestMetrics:
    """Counts the requests of this process: by path, method and status, with their durations."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str, int], int] = {}
        self._durations: dict[tuple[str, str], Histogram] = {}

    def note(self, path: str, method: str, status: int, seconds: float) -> None:
        """Count a request.

        Args:
            path: The path, with `{name}` in place of a name, so that there are few paths.
            method: The HTTP method.
            status: The HTTP status of the answer.
            seconds: How long it took.
        """
        key = (path, method, status)
        self._counts[key] = self._counts.get(key, 0) + 1
        histogram = self._durations.get((path, method))
        if histogram is None:
            histogram = self._durations[path, method] = Histogram()
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

    Args:
        name: Its name, without the prefix of the package.
        kind: "counter", "gauge" or "histogram".
        meaning: What it is, in a sentence.

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
        """Add a sample.

        Args:
            value: Its value; None if it is not known, which adds nothing.
            suffix: What follows the name, in a histogram.
            **labels: Its labels.
        """
        if value is not None:
            self._lines.append(f"{self.name}{suffix}{_labels(labels)} {_number(value)}")

    def add_histogram(self, histogram: Histogram, **labels: str) -> None:
        """Add the samples of a histogram.

        Args:
            histogram: The histogram.
            **labels: Its labels.
        """
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
    """Return metrics in the text format of Prometheus.

    Args:
        families: The metrics.
    """
    texts = [family.text() for family in families]
    return "".join(f"{text}\n" for text in texts if text).encode()


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    inside = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
    return f"{{{inside}}}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return "NaN" if math.isnan(value) else f"{value:.15g}"
