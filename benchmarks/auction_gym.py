"""AuctionGym: the market of Jeunen, Murphy and Allison (2023), played against its own bidders.

An auction shows a context. Each agent picks the item of its catalogue whose click is worth most to
it, so the value of the auction is the probability of a click times the value of one. Two agents,
drawn at random, bid in each auction. Theirs learn after every 10,000 auctions, ours after each. All
agents but one bid in one of their ways. The remaining seat is given to each of their ways and to
ours in turn, with the same catalogues and the same auctions; a row compares what it earned, in
expectation over clicks, with the best of theirs. The market, their bidders and their constants are
written anew from the paper and its public configurations. Click probabilities are known, as in the
paper's "oracle" configuration, and their models are fitted to convergence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import minimize

from benchmarks.measure import Result
from crossbandit import FirstPriceBidder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crossbandit.core.types import Booleans, Floats, Integers

SEEDS = range(71, 73)
AUCTIONS = 10_000  # in each period
PERIODS = 10
ITEMS, DIMENSIONS = 12, 5
AGENTS = 3
NOISE = 0.02  # of the first share of the value that their bidders bid
_LARGEST_WEIGHT = 50.0
_NARROWEST = 0.01  # the least standard deviation of a policy


class Period(NamedTuple):
    """What one agent met in a period, one number for each of its auctions."""

    clicks: Floats  # the probabilities of a click
    worth: Floats  # what a click is worth
    clicked: Booleans  # whether the user would click
    rival: Floats  # the other bid

    @property
    def values(self) -> Floats:
        return self.clicks * self.worth


class Market:
    """Periods of auctions: who takes part, and what each auction is worth to each agent."""

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)
        shape = (AGENTS, ITEMS)
        intercepts = -3.0 - self.generator.random((*shape, 1))
        self._items = np.concatenate(
            [self.generator.normal(size=(*shape, DIMENSIONS)), intercepts], axis=2
        )
        self._worth = self.generator.lognormal(0.1, 0.2, shape)

    def period(self) -> tuple[Integers, Floats, Floats, Booleans]:
        """Return who takes part (n, 2); and clicks, their worth, and outcomes (n, agents)."""
        contexts = self.generator.normal(size=(AUCTIONS, DIMENSIONS + 1))
        contexts[:, -1] = 1.0
        clicks = 1.0 / (1.0 + np.exp(-np.einsum("nd,aid->nai", contexts, self._items)))
        best = (clicks * self._worth).argmax(axis=2)
        clicks = np.take_along_axis(clicks, best[..., None], axis=2)[..., 0]
        worth = self._worth[np.arange(AGENTS), best]
        clicked = self.generator.random(clicks.shape) < clicks
        order = self.generator.random((AUCTIONS, AGENTS)).argsort(axis=1)
        return order[:, :2], clicks, worth, clicked


class Rival:
    """Bids the value times a share that is close to 1: what their bidders do at first."""

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)
        self.shares: Floats = np.empty(0)
        self.densities: Floats = np.empty(0)

    def bid(self, clicks: Floats, worth: Floats) -> Floats:
        """Return the bids of a period, and remember their shares of the value."""
        means, spreads = self.policy(clicks, worth)
        drawn = self.generator.normal(means, spreads)
        squares = ((drawn - means) / spreads) ** 2
        self.densities = np.exp(-squares / 2) / (spreads * np.sqrt(2 * np.pi))
        self.shares = np.clip(drawn, 0.0, 1.0)
        bids: Floats = clicks * worth * self.shares
        return bids

    def policy(self, clicks: Floats, worth: Floats) -> tuple[Floats, Floats]:  # noqa: ARG002
        """Return the mean and the spread of the share of each auction's value."""
        return np.ones(clicks.size), np.full(clicks.size, NOISE)

    def learn(self, period: Period) -> None:
        """Learn from a period in which it bid."""


class Shaded(Rival):
    """Moves to the share, among those that it tried, with the highest lower bound on utility."""

    best = 1.0

    def policy(self, clicks: Floats, worth: Floats) -> tuple[Floats, Floats]:  # noqa: ARG002
        return np.full(clicks.size, self.best), np.full(clicks.size, NOISE)

    def learn(self, period: Period) -> None:
        utilities = _utilities(self, period)
        cells = ((self.shares - self.shares.min()) / 0.005).astype(int)
        counts = np.bincount(cells)
        means = np.bincount(cells, utilities) / np.maximum(counts, 1)
        squares = np.bincount(cells, utilities**2) / np.maximum(counts, 1)
        errors = np.sqrt(np.maximum(squares - means**2, 0.0) / np.maximum(counts, 1))
        bounds = np.where(counts > 1, means - 1.96 * errors, -np.inf)
        highest = bounds.size - 1 - int(bounds[::-1].argmax())
        self.best = float(np.clip(self.shares.min() + 0.005 * (highest + 0.5), 0.0, 1.0))


class Searching(Rival):
    """Fits a logistic win rate, and takes the best of 128 shares for it ("DM, search")."""

    rate: Floats | None = None

    def bid(self, clicks: Floats, worth: Floats) -> Floats:
        if self.rate is None:
            return super().bid(clicks, worth)
        shares = np.sort(self.generator.uniform(0.1, 1.0, (clicks.size, 128)), axis=1)
        chances = _win_rate(self.rate, clicks[:, None], worth[:, None], shares)
        best = (chances * (1.0 - shares)).argmax(axis=1)
        self.shares = shares[np.arange(clicks.size), best]
        bids: Floats = clicks * worth * self.shares
        return bids

    def learn(self, period: Period) -> None:
        won = _won(self, period)
        # Where it never won, it bids its values again.
        self.rate = _fit_win_rate(period, self.shares, won) if won.any() else None


class Gradient(Rival):
    """A Gaussian policy of shares, a small network, fitted to a period's utilities.

    `kind` says by which estimate of the policy's utility: "win rate" (the "DM" policy), "clipped"
    (importance weights as in PPO), or "doubly robust".
    """

    def __init__(self, seed: int, kind: str) -> None:
        super().__init__(seed)
        self.kind = kind
        self.weights: Floats | None = None
        self.rate: Floats | None = None

    def policy(self, clicks: Floats, worth: Floats) -> tuple[Floats, Floats]:
        if self.weights is None:
            return super().policy(clicks, worth)
        return _network(self.weights, clicks, worth)

    def learn(self, period: Period) -> None:
        won = _won(self, period)
        if not won.any():
            self.weights = None
            return
        self.rate = _fit_win_rate(period, self.shares, won)
        if self.weights is None:
            self.weights = self._imitate(period)
        noise = self.generator.normal(size=won.size)
        goal = self._goal(period, noise)
        self.weights = minimize(
            lambda w: -goal(w) + 5e-5 * (w**2).sum(), self.weights, method="L-BFGS-B"
        ).x

    def _imitate(self, period: Period) -> Floats:
        """Return weights with which the policy is close to what was bid."""

        def error(weights: Floats) -> float:
            means, spreads = _network(weights, period.clicks, period.worth)
            return float(((means - self.shares) ** 2 + (spreads - 0.05) ** 2).mean())

        start = self.generator.uniform(-0.7, 0.7, 12)
        found: Floats = minimize(error, start, method="L-BFGS-B").x
        return found

    def _goal(self, period: Period, noise: Floats) -> Callable[[Floats], float]:
        """Return the estimate of what a policy with some weights earns in each auction."""
        clicks, worth, values = period.clicks, period.worth, period.values
        rate, utilities = self.rate, _utilities(self, period)
        assert rate is not None
        at_bids = _win_rate(rate, clicks, worth, self.shares) * values * (1.0 - self.shares)
        densities = np.maximum(self.densities, 1e-15)

        def predicted(means: Floats, spreads: Floats) -> Floats:
            shares = np.clip(means + spreads * noise, 0.0, 1.0)
            found: Floats = _win_rate(rate, clicks, worth, shares) * values * (1.0 - shares)
            return found

        def goal(weights: Floats) -> float:
            means, spreads = _network(weights, clicks, worth)
            if self.kind == "win rate":
                return float(predicted(means, spreads).mean())
            squares = ((self.shares - means) / spreads) ** 2
            likely = np.exp(-squares / 2) / (spreads * np.sqrt(2 * np.pi)) / densities
            clipped = np.clip(likely, 1.0 / _LARGEST_WEIGHT, _LARGEST_WEIGHT)
            if self.kind == "clipped":
                return float(np.minimum(likely * utilities, clipped * utilities).mean())
            rest = (utilities - at_bids) * clipped
            return float((rest + predicted(means, spreads)).mean())

        return goal


def ours(bidder: FirstPriceBidder, values: Floats, rivals: Floats) -> Floats:
    """Return the bids of ours in a period. It learns after each auction."""
    bids = np.zeros(values.size)
    for i, (value, rival) in enumerate(zip(values.tolist(), rivals.tolist(), strict=True)):
        bid = bidder.bid(value)
        if bid.amount is not None:
            bids[i] = bid.amount
            bidder.settle(bid, won=bid.amount > rival, highest_competing_bid=rival)
    return bids


THEIRS: dict[str, Callable[[int], Rival]] = {
    "a share of the value": Shaded,
    "search": Searching,
    "policy": lambda seed: Gradient(seed, "win rate"),
    "clipped importance weights": lambda seed: Gradient(seed, "clipped"),
    "doubly robust": lambda seed: Gradient(seed, "doubly robust"),
}


def _won(rival: Rival, period: Period) -> Booleans:
    won: Booleans = period.values * rival.shares > period.rival
    return won


def _utilities(rival: Rival, period: Period) -> Floats:
    paid = period.values * rival.shares
    return np.where(_won(rival, period), period.worth * period.clicked - paid, 0.0)


def _win_rate(rate: Floats, clicks: Floats, worth: Floats, shares: Floats) -> Floats:
    score = rate[0] + rate[1] * clicks + rate[2] * worth + rate[3] * shares
    found: Floats = 1.0 / (1.0 + np.exp(-score))
    return found


def _fit_win_rate(period: Period, shares: Floats, won: Booleans) -> Floats:
    """Fit a logistic win rate to the bids of a period, and to bids of 0, which lose."""
    ones = np.ones(won.size)
    bids = np.column_stack([ones, period.clicks, period.worth, shares])
    rows = np.concatenate([bids, bids * [1.0, 1.0, 1.0, 0.0]])
    labels = np.concatenate([won, np.zeros(won.size)])

    def loss(rate: Floats) -> tuple[float, Floats]:
        scores = rows @ rate
        gradient = (1.0 / (1.0 + np.exp(-scores)) - labels) @ rows / labels.size
        value = (np.logaddexp(0.0, scores) - labels * scores).mean() + 5e-7 * (rate**2).sum()
        return value, gradient + 1e-6 * rate

    found: Floats = minimize(loss, np.zeros(4), jac=True, method="L-BFGS-B").x
    return found


def _network(weights: Floats, clicks: Floats, worth: Floats) -> tuple[Floats, Floats]:
    hidden = [
        np.logaddexp(0.0, w[0] + w[1] * clicks + w[2] * worth) for w in (weights[:3], weights[3:6])
    ]
    means, spreads = (
        np.logaddexp(0.0, w[0] + w[1] * hidden[0] + w[2] * hidden[1])
        for w in (weights[6:9], weights[9:])
    )
    return means, spreads + _NARROWEST


def earned(field: str, seat: str | None, seed: int) -> float:
    """Return what a seat earns, by one of their ways or ours, if all others bid in one way."""
    market = Market(seed)
    agents = [THEIRS[field if i or seat is None else seat](seed + i) for i in range(AGENTS)]
    bidder = FirstPriceBidder(seed=seed)
    total = 0.0
    for _ in range(PERIODS):
        who, clicks, worth, clicked = market.period()
        bids = np.zeros((AUCTIONS, AGENTS))
        there = [np.flatnonzero((who == i).any(axis=1)) for i in range(AGENTS)]
        for i in reversed(range(AGENTS)):
            rows = there[i]
            if i or seat is not None:
                bids[rows, i] = agents[i].bid(clicks[rows, i], worth[rows, i])
            else:
                values = clicks[rows, 0] * worth[rows, 0]
                bids[rows, 0] = ours(bidder, values, bids[rows].max(axis=1))
        for i, rows in enumerate(there):
            others = np.delete(bids, i, axis=1)[rows].max(axis=1)
            period = Period(clicks[rows, i], worth[rows, i], clicked[rows, i], others)
            if i or seat is not None:
                agents[i].learn(period)
            if not i:
                total += ((period.values - bids[rows, 0]) * (bids[rows, 0] > others)).sum()
    return total


def results() -> Iterator[Result]:
    """Measure each market in which all others bid in one of their ways."""
    for field in THEIRS:
        theirs = {seat: sum(earned(field, seat, seed) for seed in SEEDS) for seat in THEIRS}
        best = max(theirs, key=theirs.__getitem__)
        value = sum(earned(field, None, seed) for seed in SEEDS) / theirs[best]
        name = f"others: {field}; against the best of theirs"
        yield Result(name, value, 1.05, "times", at_least=True, note=f"which is {best}")
