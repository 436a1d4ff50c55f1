"""Learners as policies of River's bandit interface.

    from river import bandit
    from crossbandit.adapters.river import RiverPolicy

    trace = bandit.evaluate([RiverPolicy(seed=1), bandit.UCB(delta=1, seed=1)], env)

River gives a policy only the reward of the arm that was pulled. So these policies have no feedback
graph and no cross-learning. With `RiverContextualPolicy`, each context has its own learner. If a
play reveals more, use a `Learner`.

River does not say to which pull an update belongs. So `update` must follow its pull directly. A
later update, or one for another arm, is an error. A pull without an update is allowed. For late
feedback, use a `Learner`, which has a decision for each pull.

Install River with `pip install "crossbandit[river]"`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crossbandit.adapters.separate import MAX_CONTEXTS, SeparateLearners, Settings, checked, key
from crossbandit.core.extras import require
from crossbandit.errors import DecisionError

require("river", extra="river", owner="crossbandit.adapters.river")

from river import bandit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crossbandit.algorithms import Algorithm

__all__ = ["RiverContextualPolicy", "RiverPolicy"]


class _Learning:
    """Settings and learners of a policy, and the last pull, to which an update must belong."""

    def _start(self, settings: Settings) -> None:
        self.algorithm = settings.algorithm
        self.reward_range = settings.reward_range
        self.horizon = settings.horizon
        self.seed = settings.seed
        self._learners = SeparateLearners(settings)
        self._last: tuple[Any, Any, Any] | None = None

    def _pull(self, arm_ids: Sequence[Any], context: Any = None) -> Any:
        arm, decision = self._learners.act(context, arm_ids)
        self._last = key(context), arm, decision
        return arm

    def _learn(self, context: Any, arm_id: Any, rewards: tuple[Any, ...]) -> None:
        if self._last is None or self._last[:2] != (key(context), arm_id):
            pulled = "nothing" if self._last is None else f"arm {self._last[1]!r}"
            raise DecisionError(
                f"An update must follow its pull directly, once and in the same context. Got one "
                f"for arm {arm_id!r}, but the last pull without an update is of {pulled}. River "
                "does not say to which pull an update belongs. For late feedback, use a Learner: "
                "act and learn."
            )
        if len(rewards) != 1:
            raise DecisionError(f"An update must have one reward. Got {len(rewards)}.")
        self._learners.learn(context, self._last[2], rewards[0])
        self._last = None


class RiverPolicy(_Learning, bandit.base.Policy):  # type: ignore[misc]
    """A learner as a policy of River, without contexts.

    Args:
        algorithm: The algorithm; CrossGraphAdaptive() if None.
        reward_range: The least and the greatest reward. Other rewards are an error.
        horizon: The number of rounds, for algorithms that need it.
        reward_obj: River's statistic of each arm's rewards. It does not change which arm is pulled.
        seed: The seed.

    Raises:
        InvalidParameterError: A parameter is not valid.

    >>> policy = RiverPolicy(seed=1)
    >>> for _ in range(500):
    ...     arm = policy.pull(["red", "green"])
    ...     policy.update(arm, 1.0 if arm == "green" else 0.0)
    >>> policy.ranking[0]
    'green'
    """

    def __init__(
        self,
        algorithm: Algorithm | None = None,
        reward_range: tuple[float, float] = (0.0, 1.0),
        horizon: int | None = None,
        reward_obj: Any = None,
        seed: int = 0,
    ) -> None:
        super().__init__(reward_obj=reward_obj)
        self._start(checked("RiverPolicy", algorithm, reward_range, horizon, 1, seed))

    def update(self, arm_id: Any, *reward_args: Any, **reward_kwargs: Any) -> None:
        """Learn from the reward of the last pull.

        Args:
            arm_id: The arm that was pulled.
            *reward_args: The reward.
            **reward_kwargs: What else the reward object takes.

        Raises:
            DecisionError: It is not the last pull, or it was updated before.
            InvalidLossesError: The reward is not in `reward_range`.
        """
        self._learn(None, arm_id, reward_args)
        super().update(arm_id, *reward_args, **reward_kwargs)


class RiverContextualPolicy(_Learning, bandit.base.ContextualPolicy):  # type: ignore[misc]
    """A learner for each context, as a contextual policy of River.

    Nothing is shared between contexts, however similar they are.

    Args:
        algorithm: The algorithm; CrossGraphAdaptive() if None.
        reward_range: The least and the greatest reward. Other rewards are an error.
        horizon: The number of rounds in each context, for algorithms that need it.
        max_contexts: The largest number of different contexts. More are an error, because nothing
            is learned from contexts that never repeat.
        reward_obj: River's statistic of each arm's rewards. It does not change which arm is pulled.
        seed: The seed.

    Raises:
        InvalidParameterError: A parameter is not valid.

    >>> policy = RiverContextualPolicy(seed=1)
    >>> for day in range(800):
    ...     context = {"weekend": day % 7 > 4}
    ...     arm = policy.pull(["tea", "beer"], context=context)
    ...     policy.update(arm, context, float((arm == "beer") == context["weekend"]))
    >>> late = [policy.pull(["tea", "beer"], context={"weekend": True}) for _ in range(100)]
    >>> late.count("beer") > 80
    True
    """

    def __init__(
        self,
        algorithm: Algorithm | None = None,
        reward_range: tuple[float, float] = (0.0, 1.0),
        horizon: int | None = None,
        max_contexts: int = MAX_CONTEXTS,
        reward_obj: Any = None,
        seed: int = 0,
    ) -> None:
        super().__init__(reward_obj=reward_obj)
        owner = "RiverContextualPolicy"
        settings = checked(owner, algorithm, reward_range, horizon, max_contexts, seed)
        self.max_contexts = settings.max_contexts
        self._start(settings)

    def update(self, arm_id: Any, context: Any, *reward_args: Any, **reward_kwargs: Any) -> None:
        """Learn from the reward of the last pull.

        Args:
            arm_id: The arm that was pulled.
            context: The context in which it was pulled.
            *reward_args: The reward.
            **reward_kwargs: What else the reward object takes.

        Raises:
            DecisionError: It is not the last pull, or it was updated before.
            InvalidLossesError: The reward is not in `reward_range`.
        """
        self._learn(context, arm_id, reward_args)
        super().update(arm_id, context, *reward_args, **reward_kwargs)
