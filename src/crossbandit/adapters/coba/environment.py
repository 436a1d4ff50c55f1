"""Environments for coba. Their rewards have the losses that an action revealed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from coba import primitives

from crossbandit.environments import BlockEnvironment, Environment
from crossbandit.environments.checking import availability, checked_rows
from crossbandit.environments.environment import batches, horizon_of, is_adaptive
from crossbandit.streams import stream
from crossbandit.validation import integer, reject, verbatim

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from crossbandit.types import Floats


class RevealedReward(float):
    """The reward of an action: a number that also has the losses that the action revealed.

    Arithmetic returns plain numbers. So a filter of coba that changes rewards drops the losses, and
    a learner that needs them raises an error.

    Args:
        reward: The reward.
        losses: A row of losses for each arm that was revealed.

    Attributes:
        losses: A row of losses for each arm that was revealed.
    """

    losses: Mapping[int, Floats]

    def __new__(cls, reward: float, losses: Mapping[int, Floats]) -> Self:
        """Return the number with its losses."""
        made = super().__new__(cls, reward)
        made.losses = losses
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return RevealedReward, (float(self), self.losses)


class _Rewards(primitives.Rewards):  # type: ignore[misc]
    """The rewards of a round. A reward is computed when it is used."""

    def __init__(self, environment: Environment, round_: int, context: Any) -> None:
        self._environment, self._round, self._context = environment, round_, context

    def __call__(self, action: Any) -> RevealedReward:
        problem, arm = self._environment.problem, action.index(1)
        rows = checked_rows(self._environment, self._round)
        loss = float(problem.form.readout(self._context).losses(rows[[arm]], [arm])[0])
        shown = {int(b): rows[b] for b in problem.graph.out_neighbors(arm)}
        if problem.grants_own_loss:
            shown[arm] = rows[arm]
        rules = getattr(self._environment, "rules", None)
        return RevealedReward(1.0 - loss if rules is None else float(rules.earned(loss)), shown)


class CobaEnvironment(primitives.Environment):  # type: ignore[misc]
    """An environment of this package, for coba.

    A reward is the money earned, or 1 minus the loss if there is no money. An action is an arm as a
    one-hot tuple. A numbered context is a `Categorical`, which coba turns into a one-hot tuple. A
    feature vector is a tuple. Only the available arms are offered.

    Args:
        environment: The environment. Its graph must be the same in all rounds, and its rounds must
            not depend on the arms that were played.
        seed: The seed of the contexts. `simulate` with this seed has the same contexts.

    Attributes:
        environment: The environment.
        problem: Its problem, for `CobaLearner`.

    Raises:
        InvalidParameterError: The environment is of another kind.
    """

    def __init__(self, environment: Environment, seed: int = 0) -> None:
        if not isinstance(environment, Environment):
            expected = "an Environment: something with problem, context_distribution and losses"
            reject("CobaEnvironment", "environment", expected, environment)
        limited = isinstance(environment, BlockEnvironment) and environment.limits() is not None
        wrong = "one with limits" if limited else ""
        wrong = wrong or ("an adaptive one" if is_adaptive(environment) else "")
        if wrong or environment.problem.graph_kind != "fixed":
            got = verbatim(wrong or "one whose graph changes")
            expected = "one with a fixed graph, whose rounds do not depend on the arms played"
            reject("CobaEnvironment", "environment", expected, got)
        horizon_of(environment)
        self.environment = environment
        self.problem = environment.problem
        self._seed = integer("CobaEnvironment", "seed", seed, at_least=0, at_most=None)

    @property
    def params(self) -> dict[str, Any]:
        """The columns in coba's table of environments."""
        return {
            "env_type": type(self.environment).__name__,
            "arms": self.problem.arms,
            "contexts": self.problem.contexts,
            "seed": self._seed,
        }

    def read(self) -> Iterator[Any]:
        """Yield the rounds, from the first to the horizon. Each call starts at the first round.

        Returns:
            An interaction of coba per round.
        """
        arms, generator = self.problem.arms, stream(self._seed, "contexts")
        actions = [tuple(int(a == b) for b in range(arms)) for a in range(arms)]
        levels = [str(c) for c in range(self.problem.contexts or 0)]
        named: dict[int, Any] = {}
        for start, stop in batches(self.environment):
            contexts = self.environment.context_distribution.draw(generator, stop - start)
            available = availability(self.environment, contexts)
            for i, context in enumerate(contexts):
                if levels and int(context) not in named:
                    named[int(context)] = primitives.Categorical(str(int(context)), levels)
                shown = named[int(context)] if levels else tuple(map(float, context))
                offered = actions
                if available is not None:
                    offered = [actions[a] for a in np.flatnonzero(available[i])]
                rewards = _Rewards(self.environment, start + i, context)
                yield primitives.SimulatedInteraction(shown, offered, rewards)
