"""Learners and environments for coba.

    from coba import Experiment
    from crossbandit.adapters.coba import CobaEnvironment, CobaLearner

    auctions = CobaEnvironment(environments.first_price(2_000), seed=1)
    learners = [CobaLearner(problem=auctions.problem), VowpalLearner()]
    result = Experiment([auctions], learners).run()

A learner of coba gets one number, the reward of its action. The reward that `CobaEnvironment`
returns is this number, and also has the losses that the action revealed in every context. A
`CobaLearner` with the `problem` of the environment learns from these losses, with the feedback
graph and across contexts. It plays the same arms as in `simulate`. Learners of coba use the reward
as a plain number.

Environments of coba reveal only the reward. For them, leave out `problem`. Each context then has
its own learner, without a feedback graph and without cross-learning.

Install coba with `pip install "crossbandit[coba]"`.
"""

from __future__ import annotations

from crossbandit.core.extras import require

require("coba", extra="coba", owner="crossbandit.adapters.coba")


import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from coba import primitives

from crossbandit.adapters.separate import MAX_CONTEXTS, SeparateLearners, Settings, checked
from crossbandit.algorithms.learners.problem import Problem
from crossbandit.core.streams import stream
from crossbandit.core.validation import integer, reject, verbatim
from crossbandit.environments import BlockEnvironment, Environment
from crossbandit.environments import environment as base
from crossbandit.errors import DecisionError, InvalidContextError, InvalidLossesError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from crossbandit.algorithms import Algorithm, Decision, Learner
    from crossbandit.core.types import Floats


__all__ = ["CobaEnvironment", "CobaLearner", "RevealedReward"]


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
        rows = base.checked_rows(self._environment, self._round)
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
        wrong = wrong or ("an adaptive one" if base.is_adaptive(environment) else "")
        if wrong or environment.problem.graph_kind != "fixed":
            got = verbatim(wrong or "one whose graph changes")
            expected = "one with a fixed graph, whose rounds do not depend on the arms played"
            reject("CobaEnvironment", "environment", expected, got)
        base.horizon_of(environment)
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
        for start, stop in base.batches(self.environment):
            contexts = self.environment.context_distribution.draw(generator, stop - start)
            available = base.availability(self.environment, contexts)
            for i, context in enumerate(contexts):
                if levels and int(context) not in named:
                    named[int(context)] = primitives.Categorical(str(int(context)), levels)
                shown = named[int(context)] if levels else tuple(map(float, context))
                offered = actions
                if available is not None:
                    offered = [actions[a] for a in np.flatnonzero(available[i])]
                rewards = _Rewards(self.environment, start + i, context)
                yield primitives.SimulatedInteraction(shown, offered, rewards)


class CobaLearner(primitives.Learner):  # type: ignore[misc]
    """An algorithm of this package as a learner of coba.

    Args:
        algorithm: The algorithm; CrossGraphAdaptive() if None.
        problem: The problem of a `CobaEnvironment`, to learn with its graph and across contexts.
            None for environments of coba: each context then has its own learner.
        reward_range: Without a problem: the least and the greatest reward.
        horizon: Without a problem: the number of rounds in each context, for algorithms that need
            it.
        max_contexts: Without a problem: the largest number of different contexts. More are an
            error, because nothing is learned from contexts that never repeat.
        seed: The seed.

    Raises:
        InvalidParameterError: A parameter is not valid.
    """

    def __init__(
        self,
        algorithm: Algorithm | None = None,
        problem: Problem | None = None,
        *,
        reward_range: tuple[float, float] = (0.0, 1.0),
        horizon: int | None = None,
        max_contexts: int = MAX_CONTEXTS,
        seed: int = 0,
    ) -> None:
        owner = "CobaLearner"
        self._settings = checked(owner, algorithm, reward_range, horizon, max_contexts, seed)
        given: object = problem
        if given is not None and not isinstance(given, Problem):
            reject(owner, "problem", "None, or the problem of a CobaEnvironment", problem)
        self._problem = problem
        # It starts in the first round, because coba copies learners before the first round, and a
        # running learner cannot be copied.
        self._running: SeparateLearners | None = None

    @property
    def params(self) -> dict[str, Any]:
        """The columns in coba's table of learners."""
        algorithm = self._settings.algorithm
        parameters = {name: one for name, one in algorithm.to_json().items() if name != "id"}
        graph = self._problem is not None
        return {"family": algorithm.id, **parameters, "graph": graph, "seed": self._settings.seed}

    def predict(self, context: Any, actions: Any) -> tuple[Any, float | None, dict[str, Any]]:
        """Choose an action.

        Args:
            context: The context.
            actions: The actions of the round.

        Returns:
            The action; its probability, or None if it is not known; and the decision, which coba
            gives back to `learn`.

        Raises:
            InvalidContextError: The context or the actions do not fit the problem, or the earlier
                rounds.
        """
        action, decision = self._started().act(context, actions)
        chance = decision.probability
        return action, None if math.isnan(chance) else chance, {"decision": decision}

    def score(self, context: Any, actions: Any, action: Any) -> float:
        """Return the probability of an action.

        Args:
            context: The context.
            actions: The actions of the round.
            action: One of them.

        Raises:
            InvalidContextError: As `predict` would raise it.
        """
        return float(self._started().policy(context, actions)[list(actions).index(action)])

    def learn(
        self,
        context: Any,
        action: Any,
        reward: Any,
        probability: Any = None,
        decision: Decision | None = None,
    ) -> None:
        """Learn from the reward of an action that `predict` has chosen.

        Args:
            context: The context.
            action: The action.
            reward: The reward. A learner with a problem needs a reward of a `CobaEnvironment`.
            probability: Not used, because the decision has it.
            decision: The decision that `predict` returned.

        Raises:
            DecisionError: There is no decision, because the action was logged by another learner.
            InvalidLossesError: The reward has no losses, or is not in `reward_range`.
        """
        del action, probability
        if decision is None:
            raise DecisionError(
                "CobaLearner learns only from actions that it has chosen. Got another action. "
                "Evaluate with SequentialCB(learn='on')."
            )
        self._started().learn(context, decision, reward)

    def _started(self) -> SeparateLearners:
        if self._running is None:
            if self._problem is None:
                self._running = SeparateLearners(self._settings)
            else:
                self._running = _GraphLearner(self._problem, self._settings)
        return self._running


class _GraphLearner(SeparateLearners):
    """One learner for all contexts of a `CobaEnvironment`."""

    def __init__(self, problem: Problem, settings: Settings) -> None:
        super().__init__(settings)
        self._problem = problem
        self._only = settings.algorithm.start(problem, seed=settings.seed)

    def learn(self, context: Any, decision: Decision, reward: Any) -> None:
        del context
        losses = getattr(reward, "losses", {})
        if not set(decision.revealed) <= set(losses):
            raise InvalidLossesError(
                "A CobaLearner with a problem needs rewards of a CobaEnvironment, with the losses "
                f"of arms {list(decision.revealed)}. Got {reward!r}. Use no filters that change "
                "rewards, or leave out 'problem' to learn in each context separately."
            )
        self._only.learn(decision, {b: losses[b] for b in decision.revealed})

    def _offered(self, actions: Any) -> list[int]:
        size = self._problem.arms
        arms = [_position(one, size) for one in actions or ()]
        if not arms or min(arms) < 0:
            expected = f"one-hot tuples of length {size}, as CobaEnvironment makes them"
            reject("CobaLearner", "actions", expected, actions, error=InvalidContextError)
        return arms

    def _learner(self, context: Any) -> tuple[Learner, Any]:
        size = self._problem.contexts
        if size is None:
            return self._only, context
        found = getattr(context, "as_int", None)  # a Categorical has it
        number = _position(context, size) if found is None else int(found)
        if not 0 <= number < size:
            expected = f"one of the {size} contexts of the problem, as CobaEnvironment makes them"
            reject("CobaLearner", "context", expected, context, error=InvalidContextError)
        return self._only, number


def _position(one_hot: Any, size: int) -> int:
    """Return the position of the 1 in a one-hot tuple; -1 if it is not one."""
    entries = list(one_hot) if isinstance(one_hot, tuple | list) else []
    if len(entries) != size or entries.count(1) != 1 or entries.count(0) != size - 1:
        return -1
    return entries.index(1)
