"""Learners for coba."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from coba import primitives

from crossbandit.adapters.separate import MAX_CONTEXTS, SeparateLearners, checked, offered_only
from crossbandit.errors import DecisionError, InvalidContextError, InvalidLossesError
from crossbandit.problem import Problem
from crossbandit.validation import reject

if TYPE_CHECKING:
    from crossbandit.adapters.separate import Settings
    from crossbandit.algorithms import Algorithm, Decision
    from crossbandit.types import Floats


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
        self._running: SeparateLearners | _GraphLearner | None = None

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

    def _started(self) -> SeparateLearners | _GraphLearner:
        if self._running is None:
            if self._problem is None:
                self._running = SeparateLearners(self._settings)
            else:
                self._running = _GraphLearner(self._problem, self._settings)
        return self._running


class _GraphLearner:
    """One learner for all contexts of a `CobaEnvironment`. It has `act`, `policy` and `learn`."""

    def __init__(self, problem: Problem, settings: Settings) -> None:
        self._problem = problem
        self._learner = settings.algorithm.start(problem, seed=settings.seed)

    def act(self, context: Any, actions: Any) -> tuple[Any, Decision]:
        offered = self._offered(actions)
        available = offered_only(offered, self._problem.arms)
        decision = self._learner.act(self._context(context), available)
        return actions[offered.index(decision.arm)], decision

    def policy(self, context: Any, actions: Any) -> Floats:
        offered = self._offered(actions)
        available = offered_only(offered, self._problem.arms)
        return self._learner.policy(self._context(context), available)[offered]

    def learn(self, context: Any, decision: Decision, reward: Any) -> None:
        del context
        losses = getattr(reward, "losses", {})
        if not set(decision.revealed) <= set(losses):
            raise InvalidLossesError(
                "A CobaLearner with a problem needs rewards of a CobaEnvironment, with the losses "
                f"of arms {list(decision.revealed)}. Got {reward!r}. Use no filters that change "
                "rewards, or leave out 'problem' to learn in each context separately."
            )
        self._learner.learn(decision, {b: losses[b] for b in decision.revealed})

    def _offered(self, actions: Any) -> list[int]:
        """Return the arms of the actions."""
        size = self._problem.arms
        arms = [_position(one, size) for one in actions or ()]
        if not arms or min(arms) < 0:
            expected = f"one-hot tuples of length {size}, as CobaEnvironment makes them"
            reject("CobaLearner", "actions", expected, actions, error=InvalidContextError)
        return arms

    def _context(self, context: Any) -> Any:
        size = self._problem.contexts
        if size is None:
            return context
        found = getattr(context, "as_int", None)  # a Categorical has it
        number = _position(context, size) if found is None else int(found)
        if not 0 <= number < size:
            expected = f"one of the {size} contexts of the problem, as CobaEnvironment makes them"
            reject("CobaLearner", "context", expected, context, error=InvalidContextError)
        return number


def _position(one_hot: Any, size: int) -> int:
    """Return the position of the 1 in a one-hot tuple; -1 if it is not one."""
    entries = list(one_hot) if isinstance(one_hot, tuple | list) else []
    if len(entries) != size or entries.count(1) != 1 or entries.count(0) != size - 1:
        return -1
    return entries.index(1)
