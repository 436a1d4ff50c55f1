"""What peers earn: in auctions, where one bid reveals others, and on contexts that share nothing.

Every peer plays the same rounds with its defaults, LinUCB with a width of 1. This is a part of
`make bench-peers`, which also writes the table of docs/explanation/others.md.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from benchmarks import tables
from benchmarks.latency import KaplanMeier
from benchmarks.measure import Result
from crossbandit import Problem, graphs
from crossbandit.algorithms import LinUcb
from crossbandit.applications import FirstPriceBidder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crossbandit.core.types import Floats

SEEDS = range(3)
AUCTIONS, BIDS = 2_000, 20
ROUNDS, ARMS, FEATURES = 2_000, 4, 6
OWN_BIDDER, OWN_LEARNER = "FirstPriceBidder", "lin-ucb"
LABELS = {OWN_BIDDER: "`FirstPriceBidder`", OWN_LEARNER: "Crossbandit's `lin-ucb`"}


class Player(Protocol):
    """A contextual bandit that is told the reward of its own arm."""

    def choose(self, context: Floats) -> int:
        """Return an arm.

        Args:
            context: The features.
        """
        ...

    def reward(self, amount: float) -> None:
        """Learn from the reward of the last arm.

        Args:
            amount: A number from 0 to 1.
        """
        ...


class Vowpal:
    """Vowpal Wabbit's contextual bandit, with products of context and arm."""

    def __init__(self, arms: int, seed: int, options: str = "-q UA") -> None:
        import vowpalwabbit

        self.learner = vowpalwabbit.Workspace(f"--cb_explore_adf {options} --quiet")
        self.arms, self.generator = arms, np.random.default_rng(seed)

    def choose(self, context: Floats) -> int:
        features = " ".join(f"f{i}:{x:.4f}" for i, x in enumerate(context))
        self.shared = f"shared |U {features}"
        policy = np.array(self.learner.predict([self.shared, *self._lines()]))
        self.arm = int(self.generator.choice(self.arms, p=policy / policy.sum()))
        self.probability = float(policy[self.arm])
        return self.arm

    def reward(self, amount: float) -> None:
        lines = self._lines()
        lines[self.arm] = f"0:{1 - amount}:{self.probability} {lines[self.arm]}"
        self.learner.learn([self.shared, *lines])

    def _lines(self) -> list[str]:
        return [f"|A a{arm}" for arm in range(self.arms)]


class Mabwiser:
    """A policy of MABWiser, fitted round by round."""

    def __init__(self, arms: int, seed: int, learning: Any, neighborhood: Any = None) -> None:
        from mabwiser.mab import MAB

        self.learner = MAB(list(range(arms)), learning, neighborhood, seed=seed)
        self.arms = arms
        self.first: list[tuple[int, float, Floats]] = []  # it is fitted once each arm was played

    def choose(self, context: Floats) -> int:
        self.context = context
        known = len(self.first)
        self.arm = int(self.learner.predict(context[None, :])) if known == self.arms else known
        return self.arm

    def reward(self, amount: float) -> None:
        if len(self.first) == self.arms:
            self.learner.partial_fit([self.arm], [amount], self.context[None, :])
            return
        self.first.append((self.arm, amount, self.context))
        if len(self.first) == self.arms:
            arms, amounts, contexts = zip(*self.first, strict=True)
            self.learner.fit(list(arms), list(amounts), np.array(contexts))


class River:
    """river's LinUCB."""

    def __init__(self, arms: int, seed: int) -> None:
        from river.bandit import LinUCBDisjoint

        self.learner = LinUCBDisjoint(alpha=1.0, seed=seed)
        self.arms = list(range(arms))

    def choose(self, context: Floats) -> int:
        self.context = {f"f{i}": float(x) for i, x in enumerate(context)}
        self.arm = int(self.learner.pull(self.arms, context=self.context))
        return self.arm

    def reward(self, amount: float) -> None:
        self.learner.update(self.arm, self.context, amount)


class Coba:
    """coba's LinUCB."""

    def __init__(self, arms: int, seed: int) -> None:
        from coba.learners import LinUCBLearner

        self.learner = LinUCBLearner(seed=seed)
        self.arms = [tuple(row) for row in np.eye(arms).tolist()]  # an arm is a category

    def choose(self, context: Floats) -> int:
        self.context = context.tolist()
        self.arm, self.probability, *rest = self.learner.predict(self.context, self.arms)
        self.rest = rest[0] if rest else {}
        return self.arms.index(tuple(self.arm))

    def reward(self, amount: float) -> None:
        self.learner.learn(self.context, self.arm, amount, self.probability, **self.rest)


class Own:
    """LinUcb of this package, on a graph without edges to other arms."""

    def __init__(self, arms: int, rounds: int, features: int, seed: int) -> None:
        problem = Problem(graphs.singletons(arms), features=features, horizon=rounds)
        self.learner = LinUcb(width=1.0).start(problem, seed=seed)

    def choose(self, context: Floats) -> int:
        self.context = context
        self.decision = self.learner.act(context)
        return self.decision.arm

    def reward(self, amount: float) -> None:
        row = np.zeros(self.context.size)  # a row that reads as the loss at this context
        row[0] = 1 - amount
        self.learner.learn(self.decision, row[None, :])


def players() -> dict[str, Callable[[int, int, int, int], Player]]:
    """Return the peers, by name: each made from arms, rounds, features and a seed."""
    from mabwiser.mab import LearningPolicy, NeighborhoodPolicy

    return {
        OWN_LEARNER: Own,
        "Vowpal Wabbit, -q UA": lambda arms, _rounds, _features, seed: Vowpal(arms, seed),
        "Vowpal Wabbit, --cubic UUA": lambda arms, _rounds, _features, seed: Vowpal(
            arms, seed, "-q UA --cubic UUA"
        ),
        "coba's LinUCB": lambda arms, _rounds, _features, seed: Coba(arms, seed),
        "river's LinUCB": lambda arms, _rounds, _features, seed: River(arms, seed),
        "MABWiser's LinUCB": lambda arms, _rounds, _features, seed: Mabwiser(
            arms, seed, LearningPolicy.LinUCB(alpha=1.0)
        ),
        "MABWiser's tree bandit": lambda arms, _rounds, _features, seed: Mabwiser(
            arms, seed, LearningPolicy.UCB1(alpha=1.0), NeighborhoodPolicy.TreeBandit()
        ),
    }


def auctions(seed: int) -> tuple[Floats, Floats]:
    """Return values, and competing bids that do not go with them."""
    generator = np.random.default_rng(seed)
    return generator.uniform(0.1, 1, AUCTIONS), 0.8 * generator.beta(2, 4, AUCTIONS)


def hindsight(values: Floats, prices: Floats, bids: Floats) -> float:
    """Return what the best bid for each value earns, for the empirical law of the prices."""
    chances = (bids[:, None] >= prices).mean(axis=1)
    chosen = bids[((values[:, None] - bids) * chances).argmax(axis=1)]
    return float(np.where(chosen >= prices, values - chosen, 0).sum())


def bandit_surplus(player: Player, values: Floats, prices: Floats, bids: Floats) -> float:
    """Return what a contextual bandit earns that is told its own reward."""
    total = 0.0
    for value, price in zip(values, prices, strict=True):
        bid = bids[player.choose(np.array([1.0, value, value * value]))]
        earned = value - bid if bid >= price else 0.0
        total += earned
        player.reward((1 + earned) / 2)
    return total


def bidder_surplus(bidder: Any, values: Floats, prices: Floats) -> float:
    """Return what a bidder earns that is told the price after a loss."""
    total = 0.0
    for value, price in zip(values, prices, strict=True):
        bid = bidder.bid(value)
        amount = float(getattr(bid, "amount", bid) or 0.0)
        won = amount >= price and amount > 0
        total += (value - amount) * won
        if isinstance(bidder, KaplanMeier):
            bidder.settle(amount, won, None if won else price)
        else:
            bidder.settle(bid, won=won, highest_competing_bid=None if won else price)
    return total


def auction_shares() -> dict[str, float]:
    """Return the surplus of each player, as a share of the best map from values to bids."""
    bids = np.linspace(0, 0.95, BIDS)
    shares: dict[str, list[float]] = {}
    for seed in SEEDS:
        values, prices = auctions(seed)
        best = hindsight(values, prices, bids)
        own = FirstPriceBidder(bids=bids, value_range=(0, 1), seed=seed)
        bidders = {OWN_BIDDER: own, "a Kaplan-Meier bidder": KaplanMeier(bids)}
        for name, bidder in bidders.items():
            shares.setdefault(name, []).append(bidder_surplus(bidder, values, prices) / best)
        for name, make in players().items():
            player = make(BIDS, AUCTIONS, 3, seed)
            earned = bandit_surplus(player, values, prices, bids)
            shares.setdefault(name, []).append(earned / best)
    return {name: float(np.mean(found)) for name, found in shares.items()}


def rewards(kind: str, seed: int) -> tuple[Floats, Floats]:
    """Return contexts (rounds, features) and mean rewards (rounds, arms) that share nothing."""
    generator = np.random.default_rng(seed)
    contexts = generator.uniform(-1, 1, (ROUNDS, FEATURES))
    contexts[:, 0] = 1.0
    if kind == "linear":
        scores = contexts @ generator.normal(size=(FEATURES, ARMS)) / np.sqrt(FEATURES)
        return contexts, np.clip(0.5 + 0.3 * scores, 0, 1)
    quadrant = 2 * (contexts[:, 1] > 0) + (contexts[:, 2] > 0)
    best = generator.permutation(ARMS)[quadrant]
    return contexts, np.where(best[:, None] == np.arange(ARMS), 0.8, 0.3)


def context_shares(kind: str) -> dict[str, float]:
    """Return the reward of each player, as a share of the best arms' in all contexts."""
    shares: dict[str, list[float]] = {}
    for seed in SEEDS:
        contexts, means = rewards(kind, seed)
        for name, make in players().items():
            player, noise = make(ARMS, ROUNDS, FEATURES, seed), np.random.default_rng(1_000 + seed)
            total = 0.0
            for context, mean in zip(contexts, means, strict=True):
                arm = player.choose(context)
                total += mean[arm]
                player.reward(float(noise.random() < mean[arm]))
            shares.setdefault(name, []).append(total / means.max(axis=1).sum())
    return {name: float(np.mean(found)) for name, found in shares.items()}


def shares_table(tasks: dict[str, dict[str, float]]) -> str:
    """Return what each player earned in each task, as a table of shares of the best.

    Args:
        tasks: The share of each player, by task. All players play the first.
    """
    highest = {task: max(shares.values()) for task, shares in tasks.items()}
    everyone = next(iter(tasks.values()))
    names = sorted(everyone, key=lambda name: -everyone[name])
    rows = []
    for name in names:
        cells = [f"{shares[name]:.3f}" if name in shares else "" for shares in tasks.values()]
        best = [shares.get(name) == highest[task] for task, shares in tasks.items()]
        marked = [f"**{cell}**" if first else cell for cell, first in zip(cells, best, strict=True)]
        rows.append([LABELS.get(name, name), *marked])
    return tables.markdown(["", *tasks], rows)


def results() -> Iterator[Result]:
    """Measure the regret of each peer as a multiple of this package's, and write the shares."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the peers
        tasks = {
            "auctions": auction_shares(),
            "linear rewards": context_shares("linear"),
            "rewards by quadrant": context_shares("quadrants"),
        }
    tables.save("peers", shares_table(tasks))
    for task, shares in tasks.items():
        own = OWN_BIDDER if OWN_BIDDER in shares else OWN_LEARNER
        for name, share in shares.items():
            if name != own:
                note = f"{own} earns {shares[own]:.3f} of the best, {name} {share:.3f}"
                title = f"{task}: regret of {name} against {own}"
                ratio = (1 - share) / (1 - shares[own])
                yield Result(title, ratio, 1.0, "times", at_least=True, note=note)
