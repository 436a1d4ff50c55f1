"""Learners that choose among the actions of another package, and settings of them.

`SeparateLearners` has a learner for each context, for interfaces that reveal only the reward of the
action played.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from crossbandit.algorithms import Algorithm, CrossGraphAdaptive, Decision, Learner
from crossbandit.algorithms.learners.problem import Problem
from crossbandit.core.types import Booleans, Floats
from crossbandit.core.validation import integer, number, reject, verbatim
from crossbandit.errors import InvalidContextError, InvalidLossesError, InvalidParameterError
from crossbandit.graphs import singletons

MAX_CONTEXTS = 1000


class Settings(NamedTuple):
    """How learners are started, and how rewards become losses."""

    owner: str  # the class that messages name
    algorithm: Algorithm
    reward_range: tuple[float, float]  # the least and the greatest reward
    horizon: int | None  # the number of rounds in each context; None if it is not known
    max_contexts: int  # the largest number of different contexts
    seed: int  # the seed of all learners


def checked(
    owner: str,
    algorithm: Algorithm | None,
    reward_range: tuple[float, float],
    horizon: int | None,
    max_contexts: int,
    seed: int,
) -> Settings:
    """Return the settings; raise InvalidParameterError if they are not valid."""
    algorithm = CrossGraphAdaptive() if algorithm is None else algorithm
    if not isinstance(algorithm, Algorithm):
        reject(owner, "algorithm", "an Algorithm, such as CrossGraphAdaptive()", algorithm)
    bounds: object = reward_range
    if not isinstance(bounds, Sequence) or len(bounds) != 2:
        reject(owner, "reward_range", "the least and the greatest reward", reward_range)
    low, high = (number(owner, "reward_range", one) for one in reward_range)
    if low >= high:
        reject(owner, "reward_range", "a lower and a higher number", reward_range)
    if horizon is not None:
        horizon = integer(owner, "horizon", horizon, at_least=1)
    max_contexts = integer(owner, "max_contexts", max_contexts, at_least=1)
    seed = integer(owner, "seed", seed, at_least=0, at_most=None)
    return Settings(owner, algorithm, (low, high), horizon, max_contexts, seed)


class SeparateLearners:
    """A learner for each context that occurs. Each is shown the loss of the arm that it plays.

    Actions are arms under other names: those of the first round. A later round may offer some of
    them.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._arms: dict[Hashable, int] = {}
        self._learners: dict[Hashable, Learner] = {}

    def act(self, context: Any, actions: Sequence[Any]) -> tuple[Any, Decision]:
        """Choose one of the actions."""
        offered, learner, given = self._round(context, actions)
        decision = learner.act(*given)
        return actions[offered.index(decision.arm)], decision

    def policy(self, context: Any, actions: Sequence[Any]) -> Floats:
        """Return the probability of each of the actions. No learner changes."""
        offered, learner, given = self._round(context, actions)
        return learner.policy(*given)[offered]

    def learn(self, context: Any, decision: Decision, reward: Any) -> None:
        """Learn from the reward of an action."""
        low, high = self._settings.reward_range
        try:
            given = float(reward)
        except (TypeError, ValueError):
            given = np.nan
        if not low <= given <= high:
            raise InvalidLossesError(
                f"A reward must be a number from {low:.15g} to {high:.15g}. Got {reward!r}. Give "
                f"{self._settings.owner} the least and the greatest possible reward as "
                "'reward_range'."
            )
        self._learner(context)[0].learn(decision, [[(high - given) / (high - low)]])

    def _round(
        self, context: Any, actions: Sequence[Any]
    ) -> tuple[list[int], Learner, tuple[Any, Booleans | None]]:
        """Return the arms of the actions, the learner, and what its `act` takes."""
        offered = self._offered(actions)
        learner, own = self._learner(context)
        available = None
        if len(offered) < learner.problem.arms:
            available = np.zeros(learner.problem.arms, dtype=np.bool_)
            available[offered] = True
        return offered, learner, (own, available)

    def _offered(self, actions: Sequence[Any]) -> list[int]:
        """Return the arms of the actions."""
        expected, given = "a list of different actions, at least one", cast("object", actions)
        if not isinstance(given, Sequence) or isinstance(given, str) or not given:
            reject(self._settings.owner, "actions", expected, actions, error=InvalidContextError)
        keys = [key(one) for one in actions]
        if len(set(keys)) < len(keys):
            reject(self._settings.owner, "actions", expected, actions, error=InvalidContextError)
        if not self._arms:
            self._arms = {one: arm for arm, one in enumerate(keys)}
        for one, action in zip(keys, actions, strict=True):
            if one not in self._arms:
                got = verbatim(f"another action, {action!r}")
                expected = f"some of the {len(self._arms)} actions of the first round"
                reject(self._settings.owner, "actions", expected, got, error=InvalidContextError)
        return [self._arms[one] for one in keys]

    def _learner(self, context: Any) -> tuple[Learner, Any]:
        """Return the learner of a context, and the context as it knows it."""
        one = key(context)
        if one not in self._learners:
            self._learners[one] = self._start()
        return self._learners[one], 0

    def _start(self) -> Learner:
        """Return a new learner, for another context."""
        settings = self._settings
        if len(self._learners) >= settings.max_contexts:
            raise InvalidContextError(
                f"{settings.owner} learns in each context separately, and there are more than "
                f"{settings.max_contexts} different contexts. Nothing is learned from contexts "
                "that never repeat. Divide contexts into classes, or increase 'max_contexts'."
            )
        graph = singletons(len(self._arms))
        problem = Problem(
            graph, contexts=1, horizon=settings.horizon, context_distribution=np.ones(1)
        )
        seed = np.random.SeedSequence(settings.seed, spawn_key=(len(self._learners),))
        try:
            return settings.algorithm.start(problem, seed=seed)
        except InvalidParameterError as error:
            if settings.horizon is None and "horizon" in str(error):
                raise InvalidParameterError(
                    f"{type(settings.algorithm).__name__} needs a horizon. Give {settings.owner} "
                    "the number of rounds in each context as 'horizon', or use CrossGraphAdaptive."
                ) from error
            raise


def key(thing: Any) -> Hashable:
    """Return a context or an action in a hashable form."""
    if isinstance(thing, Mapping):
        return frozenset((name, key(value)) for name, value in thing.items())
    if isinstance(thing, Sequence) and not isinstance(thing, str):
        return tuple(key(one) for one in thing)
    try:
        hash(thing)
    except TypeError:
        expected = "made of numbers, texts, sequences and mappings"
        reject("an adapter", "context", expected, thing, error=InvalidContextError)
    hashable: Hashable = thing
    return hashable
