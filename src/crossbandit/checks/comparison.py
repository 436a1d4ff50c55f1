"""Compare what an algorithm adds to its estimates with what it declares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.errors import CheckFailedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.algorithms import Estimator
    from crossbandit.checks.enumeration import Enumeration
    from crossbandit.checks.estimator import Route
    from crossbandit.types import Floats

_OUT = (
    "Weights are by out-neighbors: divide by the probability that an in-neighbor is played, which "
    "reveals the arm."
)
_BANDIT = (
    "Weights are those of a bandit: divide by the probability that the arm is revealed, not that "
    "it is played."
)
_RECOMPUTED = (
    "Weights are computed when feedback comes. Fix them when the round is played, in play, and "
    "keep them in pending.weights."
)
_PLAYED_TWICE = "The loss of the arm played is counted twice."
_LATE = "Weights must be fixed when the round is played. Keep them in pending.weights."
_OTHER = (
    "The weight of a revealed loss must be share / P, where P is the probability that the policy "
    "of the round plays an in-neighbor."
)
_OTHER_PAIR = (
    "The weight of a revealed loss must be share / P, where P is the probability that the policy "
    "plays an in-neighbor in the round that is learned from, and that its feedback is kept."
)
_VARIANCE = (
    "The expectation is right. Does a loss that is not revealed count, or is a revealed one left "
    "out at random?"
)


@dataclass(frozen=True)
class Comparison:
    """What was found and what was declared; and which mistake explains a difference.

    Attributes:
        declared: What is declared for the round.
        found: What the learner did.
        route: How the round was played.
        contexts: The context of the round, or of both rounds of a pair.
        losses: The losses of each round (rounds, contexts, arms).
    """

    declared: Estimator
    found: Enumeration
    route: Route
    contexts: tuple[int, ...]
    losses: Floats

    @property
    def mean(self) -> Floats:
        """The declared expectation (contexts, arms)."""
        return self.declared.mean(self.found.policies, self.contexts, self.losses)

    @property
    def variance(self) -> Floats:
        """The declared variance (contexts, arms)."""
        return self.declared.variance(self.found.policies, self.contexts, self.losses)

    def require(self) -> None:
        """Raise CheckFailedError unless the two are the same."""
        mean, variance = self.mean, self.variance
        place = _first_difference(self.found.mean, mean)
        if place is not None:
            self._fail("expectation", self.found.mean, mean, place, self._mistake(mean))
        place = _first_difference(self.found.variance, variance)
        if place is not None:
            self._fail("variance", self.found.variance, variance, place, _VARIANCE)

    def _fail(
        self, what: str, found: Floats, expected: Floats, place: tuple[int, ...], hint: str
    ) -> None:
        raise CheckFailedError(
            f"{self._round}, {self.route.name}, adds to arm {place[1]} in "
            f"context {place[0]}: its {what} is {found[place]:.6g}, but "
            f"{expected[place]:.6g} is declared. {hint}"
        )

    @property
    def _round(self) -> str:
        if len(self.contexts) == 1:
            return f"A round in context {self.contexts[0]}"
        return "A pair of rounds in the contexts {} and {}".format(*self.contexts)

    @property
    def _context(self) -> int:
        return self.contexts[0]

    def _mistake(self, expected: Floats) -> str:
        """Return a sentence about the mistake that explains the expectation that was found."""
        for explained, sentence in self._mistakes(expected):
            if _first_difference(self.found.mean, explained) is None:
                return sentence
        if self.route.late:
            return _LATE
        return _OTHER if len(self.contexts) == 1 else _OTHER_PAIR

    def _mistakes(self, expected: Floats) -> Iterator[tuple[Floats, str]]:
        yield -expected, "The sign is wrong: losses are subtracted."
        yield 2.0 * expected, "Everything is counted twice."
        if len(self.contexts) == 1:
            yield from self._mistakes_of_a_round(expected, self.losses[0])

    def _mistakes_of_a_round(
        self, expected: Floats, losses: Floats
    ) -> Iterator[tuple[Floats, str]]:
        policy, graph = self.found.policies[self._context], self.declared.graph
        losses = losses - (self.declared.baseline or 0.0)
        edges = graph.adjacency.astype(np.float64)
        observed, loops = policy @ edges, np.diag(edges)
        share = self.declared.share(self.found.policies, self._context)
        fixed = expected - self._in_contexts(losses * share)

        def with_denominator(probability: Floats) -> Floats:
            denominator = np.divide(observed, share, out=np.ones_like(share), where=share > 0)
            total = probability + denominator - observed
            odds = np.divide(observed, total, out=np.zeros_like(total), where=total > 0)
            return self._in_contexts(losses * odds) + fixed

        if self.route.late:
            yield with_denominator(self.found.later @ edges), _RECOMPUTED
        yield with_denominator(edges @ policy), _OUT
        yield with_denominator(policy), _BANDIT
        twice = np.divide(policy * loops, observed, out=np.zeros_like(policy), where=observed > 0)
        yield self._in_contexts(losses * share * (1.0 + twice)) + fixed, _PLAYED_TWICE
        if self._crosses:
            own = np.zeros_like(expected)
            own[self._context] = expected[self._context]
            yield own, "It is added in the round's own context only; cross_learning is True."
        else:
            everywhere = losses * share
            yield everywhere, "It is added in all contexts; cross_learning is False."

    @property
    def _crosses(self) -> bool:
        return self.declared.cross_learning

    def _in_contexts(self, added: Floats) -> Floats:
        own = np.zeros_like(added)
        own[self._context] = added[self._context]
        return added if self._crosses else own


def _first_difference(found: Floats, expected: Floats) -> tuple[int, ...] | None:
    """Return where two arrays differ by more than rounding; None if they do not."""
    allowed = 1e-8 * max(1.0, float(np.abs(expected).max(initial=0.0)))
    places = np.argwhere(~(np.abs(found - expected) <= allowed))
    return tuple(int(i) for i in places[0]) if len(places) else None
