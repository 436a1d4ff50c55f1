"""Checks of good events: concentration, Q, snapshot stability and the fallback."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.graphs import loopless_clique, paper_ring
from crossbandit.theory.runs.events import EVENTS, Events, measure_events
from crossbandit.theory.runs.instances import GraphBenchmark
from crossbandit.theory.statements import (
    CheckResult,
    Effort,
    Figure,
    Series,
    Subject,
    statement,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.types import Floats

# A check fails if the observed failures have a smaller probability under the bound.
_SURPRISE = 1e-6


class _Setting(NamedTuple):
    name: str
    parameters: dict[str, Any]
    environment: GraphBenchmark
    seeds: int


# With few arms, few contexts and steep policies, samples spread as far as they can, and the bounds
# fall below 1 where failures still occur.
_SHORT = {"eta": 0.1, "gamma": 0.05, "rho": 0.05, "beta": 0.05, "epoch_length": 10}


def _settings(effort: Effort) -> tuple[_Setting, ...]:
    """Return runs under both rules; the theorem's needs long epochs, so it gets fewer of them."""
    full = effort is Effort.FULL
    ring, clique, two = paper_ring(9, 1), loopless_clique(3), loopless_clique(2)
    experiment, theorem = {"tuning": "experiment"}, {"tuning": "theorem"}
    rounds, long, seeds = (8_000, 40_000, 8) if full else (2_000, 10_000, 2)
    return (
        _Setting("short epochs", _SHORT, GraphBenchmark(two, 4_000, 4), seeds),
        _Setting("experiment", experiment, GraphBenchmark(ring, rounds, 50), seeds),
        _Setting("experiment", experiment, GraphBenchmark(ring, rounds, 50, favour=0.2), seeds),
        _Setting("theorem", theorem, GraphBenchmark(clique, long, 20, favour=0.2), seeds // 2),
    )


@lru_cache(maxsize=2)
def _measured(subject: Subject, effort: Effort) -> tuple[tuple[str, Events], ...]:
    return tuple(
        (
            setting.name,
            measure_events(
                replace(subject, **setting.parameters), setting.environment, range(setting.seeds)
            ),
        )
        for setting in _settings(effort)
    )


_NAMES = {
    "frequency": "Good event: denominators concentrate",
    "loss": "Good event: cumulative losses stay bounded",
    "selector": "Good event: selector masses concentrate",
}


@statement(56, "Appendix C: the events F, L and S, and the probability of Q")
def good_events_hold(subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """In every epoch, at every iota: failures are no more frequent than the bound says."""
    measured = _measured(subject, effort)
    for event in EVENTS:
        yield _concentration(event, measured)
    worst = min(measured, key=lambda pair: pair[1].good - pair[1].good_bound)[1]
    yield CheckResult(
        statement="Probability of Q",
        checked="the share of runs in which every event holds in every epoch, at iota = 2 log(MKT)",
        instances=sum(len(events.measured) for _, events in measured),
        worst=f"share {worst.good:.3g}; the bound is 1 - {1.0 - worst.good_bound:.1e}",
        passed=all(events.good >= events.good_bound for _, events in measured),
    )


def _concentration(event: str, measured: tuple[tuple[str, Events], ...]) -> CheckResult:
    chances: list[float] = []
    series: dict[str, list[Series]] = {}
    worst, text = 0.0, "no failure at any iota where the bound is below 1"
    for name, events in measured:
        critical = np.sort(np.maximum(events.all(event), 0.0), axis=None)
        shares = 1.0 - np.arange(critical.size) / critical.size  # that reach this iota
        bounds = np.array([events.bound(event, iota) for iota in critical])
        chances.append(_probability(shares * critical.size, bounds))
        series[name] = _curves(name, critical, shares, bounds)
        for share, bound, iota in zip(shares, bounds, critical, strict=True):
            if bound < 1.0 and share / bound > worst:
                worst = share / bound
                text = f"{share:.3g} of epochs at iota = {iota:.3g}; the bound is {bound:.3g}"
    return CheckResult(
        statement=_NAMES[event],
        checked="how often the event fails in an epoch, at every iota, against the bound",
        instances=sum(events.all(event).size for _, events in measured),
        worst=text,
        passed=min(chances) > _SURPRISE,
        note=f"At iota = 2 log(MKT) it failed in {_failed(event, measured)} epochs.",
        figure=Figure(
            title=_NAMES[event],
            x_label="iota",
            y_label="share of epochs in which it fails",
            series=tuple(line for lines in series.values() for line in lines),
            y_log=True,
        ),
    )


def _probability(counts: Floats, bounds: Floats) -> float:
    """Return the probability of so many failures if the bounds are exact, at the worst iota.

    Epochs depend on each other, but each fails with at most this probability given those before;
    so the number of failures is at most binomial.
    """
    from scipy.stats import binom

    return float(binom.sf(np.round(counts) - 1, counts.size, bounds).min() * counts.size)


def _curves(name: str, critical: Floats, shares: Floats, bounds: Floats) -> list[Series]:
    keep = np.unique(np.linspace(0, critical.size - 1, 60).astype(int))
    x = tuple(critical[keep].tolist())
    return [
        Series(name=name, x=x, y=tuple(float(share) for share in shares[keep])),
        Series(name=f"{name}: bound", x=x, y=tuple(float(b) for b in bounds[keep]), reference=True),
    ]


def _failed(event: str, measured: tuple[tuple[str, Events], ...]) -> int:
    return sum(int((events.all(event) > events.iota).sum()) for _, events in measured)


@statement(82, "Lemma 8: its conclusion on real runs", "Section 3.3: how often the fallback acts")
def snapshots_are_stable(subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """Under the theorem's rule, no trajectory leaves a factor of two, and nothing falls back."""
    measured = _measured(subject, effort)
    for rule in ("theorem", "experiment"):
        group = [events for name, events in measured if name == rule]
        drift = max(float(events.all("drift").max()) for events in group)
        fallback = [float(events.all("fallback").mean()) for events in group]
        ratios = [
            min(float(events.all("least_ratio").min()) for events in group),
            max(float(events.all("largest_ratio").max()) for events in group),
        ]
        strain = max(events.strain for events in group)
        stable = strain <= math.log(2) * (1 + 1e-9)
        yield CheckResult(
            statement=f"Lemma 8 (snapshot stability), {rule}'s rule",
            checked="p and ptilde within a factor of two of s_e in all contexts; u_e / W_e within "
            "[1/2, 2], so that clipping does not act; no fallback",
            instances=sum(events.all("drift").size for events in group),
            worst=f"factor {drift:.3g}; fallback in {100 * max(fallback):.3g} % of rounds",
            passed=not stable
            or (drift <= 2.0 and max(fallback) == 0.0 and ratios[0] >= 0.5 and ratios[1] <= 2.0),
            judged=stable,
            note=(
                f"u_e / W_e stayed within [{ratios[0]:.3g}, {ratios[1]:.3g}]. "
                + ("" if stable else _OUTSIDE.format(strain=strain))
            ).strip(),
        )


_OUTSIDE = (
    "The lemma does not apply here: its condition asks for at most log 2 = 0.693, and this rule "
    "has {strain:.3g}. So the measurement is not judged."
)
