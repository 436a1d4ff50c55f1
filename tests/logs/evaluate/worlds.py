"""Logs whose truth is known: all prices are drawn, and then censored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crossbandit.core.types import Floats, Integers
from crossbandit.logs.evaluate import CensoredLog, ValueEstimate
from crossbandit.logs.evaluate.evaluation import band_sums, weight_sums, what_is_known
from crossbandit.logs.evaluate.groups import Groups

if TYPE_CHECKING:
    from crossbandit.logs.evaluate.evaluation import Plan


def full_log(count: int, seed: int, correlation: float = 0.0) -> tuple[Floats, Floats, Floats]:
    """Return values, prices and own bids at random fractions of the value."""
    rng = np.random.default_rng(seed)
    first, second = rng.standard_normal((2, count))
    values = 3 * np.exp(0.5 * first)
    mixed = correlation * first + np.sqrt(1 - correlation**2) * second
    prices = 1.5 * np.exp(0.6 * mixed)
    return values, prices, values * rng.uniform(0.3, 0.9, count)


def censor(values: Floats, prices: Floats, bids: Floats, feedback: str) -> CensoredLog:
    won = bids >= prices
    told = {
        "always": won | True,
        "after-loss": ~won,
        "after-win": won,
        "won-lost": won & False,
        "mixed": np.arange(values.size) % 3 == 0,
    }[feedback]
    return CensoredLog(values, bids, won, np.where(told, prices, np.nan))


def earned(values: Floats, prices: Floats, bids: Floats) -> float:
    return float(np.where((bids >= prices) & (bids > 0), values - bids, 0.0).sum())


def grouped(log: CensoredLog, labels: Integers | None = None, power: float = 0.0) -> Groups:
    """Return the groups of a whole log; one for all auctions without labels."""
    count = len(log)
    of = np.zeros(count, dtype=np.int64) if labels is None else labels
    return Groups(log, of, log.facts, np.arange(count), power)


def by_band(plan: Plan, groups: Groups) -> ValueEstimate:
    return band_sums(plan, groups).estimate(what_is_known(groups.log, plan))


def weighted(plan: Plan, groups: Groups, *, robust: bool) -> ValueEstimate | None:
    return weight_sums(plan, groups, robust=robust).estimate(robust=robust)
