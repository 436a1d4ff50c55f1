"""Learners with one mistake each, which exact checks must find, and one without."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crossbandit import Problem
from crossbandit.algorithms import Algorithm, Estimator, Learner, register
from crossbandit.core.types import Floats

RATE = 0.2


class Plain(Learner["Weighted"]):
    """Exponential weights with unbiased estimates, without a compiled loop."""

    def __init__(self, algorithm: "Weighted", problem: Problem, seed: Any) -> None:
        super().__init__(algorithm, problem, seed=seed)
        self.sums = np.zeros((problem.arms, problem.form.columns))
        self.edges = problem.graph.adjacency.astype(float)

    def distribution(self, context: Any, readout: Any) -> Floats:
        del context
        own = readout.losses(self.sums, range(self.problem.arms))
        own = np.where(readout.may_play(own.size), own, np.inf)
        weights = np.exp(-RATE * (own - own.min()))
        return np.asarray(0.9 * weights / weights.sum() + 0.1 * self.explored(readout))

    def explored(self, readout: Any) -> Floats:
        may = readout.may_play(self.problem.arms)
        return np.asarray(may / may.sum())

    def revealing(self, policy: Floats) -> Floats:
        return np.asarray(policy @ self.edges)

    def weigh(self, policy: Floats) -> Floats:
        probability = self.revealing(policy)
        return np.divide(1.0, probability, out=np.zeros(policy.size), where=probability > 0)

    def play(self, pending: Any) -> float:
        policy = self.distribution(pending.context, pending.readout)
        probability = super().play(pending)
        pending.weights = self.weigh(policy)
        return probability

    def update(self, pending: Any, rows: Floats) -> None:
        for arm, row in zip(self.revealed(pending), rows, strict=True):
            self.sums[arm] += pending.weights[arm] * row

    def state(self) -> Any:
        return {"sums": self.sums}


class OutNeighbors(Plain):
    def revealing(self, policy: Floats) -> Floats:
        return np.asarray(self.edges @ policy)


class Bandit(Plain):
    def revealing(self, policy: Floats) -> Floats:
        return policy


class WrongSign(Plain):
    def weigh(self, policy: Floats) -> Floats:
        return -super().weigh(policy)


class Twice(Plain):
    def weigh(self, policy: Floats) -> Floats:
        return 2 * super().weigh(policy)


class PlayedTwice(Plain):
    """Learns from the arm that it played, and again from all that were revealed."""

    def update(self, pending: Any, rows: Floats) -> None:
        super().update(pending, rows)
        for arm, row in zip(self.revealed(pending), rows, strict=True):
            if arm == pending.arm:
                self.sums[arm] += pending.weights[arm] * row


class Recomputed(Plain):
    def update(self, pending: Any, rows: Floats) -> None:
        pending.weights = self.weigh(self.distribution(pending.context, pending.readout))
        super().update(pending, rows)


class OwnContext(Plain):
    def update(self, pending: Any, rows: Floats) -> None:
        for arm, row in zip(self.revealed(pending), rows, strict=True):
            own = pending.context
            self.sums[arm, own] += pending.weights[arm] * row[own]


class Centred(Plain):
    """Adds the same in expectation: a loss that is not revealed counts as one half."""

    def update(self, pending: Any, rows: Floats) -> None:
        self.sums += 0.5
        super().update(pending, rows - 0.5)


class Blind(Plain):
    """Learns right, and plays uniformly."""

    def distribution(self, context: Any, readout: Any) -> Floats:
        del context
        return self.explored(readout)


class Skewed(Plain):
    """Never plays the last arm, whatever its policy says."""

    def play(self, pending: Any) -> float:
        probability = super().play(pending)
        pending.arm = min(pending.arm, self.problem.arms - 2)
        return probability


@register
@dataclass(frozen=True, kw_only=True)
class Weighted(Algorithm):
    """Starts whatever learner is under test. Its declaration is right."""

    id: ClassVar[str] = "weighted"
    needs_observability: ClassVar[str] = "weak"
    needs_memory: ClassVar[bool] = False
    learner: ClassVar[type[Plain]] = Plain

    def start(self, problem: Problem, *, seed: Any) -> Plain:
        return self.learner(self, problem, seed)

    def estimator(self, problem: Problem) -> Estimator:
        def shares(policies: Floats, context: int) -> Floats:
            return np.asarray(policies[context] @ problem.graph.adjacency > 0, dtype=float)

        return Estimator(
            problem.graph,
            shares,
            estimates=lambda learner: learner.state()["sums"].T.copy(),
            rate=lambda _: RATE,
            second_moment=problem.arms / 0.1,
        )


MISTAKES = {
    OutNeighbors: r"Weights are by out-neighbors: divide by .* an in-neighbor is played",
    Bandit: "Weights are those of a bandit: divide by the probability that the arm is revealed",
    WrongSign: "The sign is wrong: losses are subtracted",
    Twice: "Everything is counted twice",
    PlayedTwice: "The loss of the arm played is counted twice",
    Recomputed: "with late feedback, .* Weights are computed when feedback comes. Fix them when",
    OwnContext: "It is added in the round's own context only; cross_learning is True",
    Centred: "its variance is .* The expectation is right. Does a loss that is not revealed count",
    Skewed: "gives arm 2 the probability .*, but it was not drawn in 2000 attempts",
}
