"""Arms that are not always available."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit.applications.action import Action
from crossbandit.applications.labels import LabeledArms, Labels
from crossbandit.applications.money import bounds
from crossbandit.core.validation import reject
from crossbandit.errors import InvalidContextError
from crossbandit.graphs import singletons

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy.typing as npt

    from crossbandit.algorithms import Algorithm
    from crossbandit.core.streams import Seed
    from crossbandit.core.types import Booleans, Floats
    from crossbandit.graphs import FeedbackGraph

_CONTEXT = (1.0,)  # one context, because a loss does not depend on which other arms are available


@dataclass(frozen=True)
class ArmChoice(Action):
    """One choice. Use its arm, and pass it to `settle` when its losses are known.

    Attributes:
        decision: The learner's decision.
        arm: The name of the chosen arm.
        revealed: The names of the arms whose losses `settle` needs.
    """

    arm: str
    revealed: tuple[str, ...]


class SleepingArms(LabeledArms):
    """Learns which of the arms that are available now loses least.

    The loss of an arm in a round must not depend on which other arms are available. Then what is
    learned with one set of arms holds with every other.

    Args:
        arms: The names of the arms.
        loss_range: The lowest and the highest loss, in any unit.
        graph: Which losses a choice reveals, available or not; arms are numbered in the order of
            their names. By default a choice reveals only its own loss.
        horizon: The number of choices to come. The default algorithm does not need it.
        algorithm: The algorithm; None for the parameter-free default.
        seed: The seed of the random choices.

    Raises:
        InvalidParameterError: A setting is not possible.

    >>> couriers = SleepingArms(arms=["van", "bike", "taxi"], loss_range=(0, 60), seed=1)
    >>> minutes = {"van": 40, "bike": 25, "taxi": 30}
    >>> for day in range(600):
    ...     awake = ["van", "taxi"] if day % 3 else ["van", "bike", "taxi"]
    ...     choice = couriers.choose(awake)
    ...     couriers.settle(choice, losses={choice.arm: minutes[choice.arm]})
    >>> couriers.policy(["van", "taxi"]).round(), couriers.policy().round()
    (array([0., 0., 1.]), array([0., 1., 0.]))
    """

    listed = "arms choose loss_range settle"
    kind: ClassVar[str] = "sleeping-arms"
    outcome: ClassVar[str] = "losses"

    def __init__(
        self,
        *,
        arms: Iterable[str],
        loss_range: tuple[float, float] = (0.0, 1.0),
        graph: FeedbackGraph | npt.ArrayLike | dict[str, Any] | None = None,
        horizon: int | None = None,
        algorithm: Algorithm | None = None,
        seed: Seed,
    ) -> None:
        owner = type(self).__name__
        self._arms = Labels(owner, "arms", arms, at_least=2)
        self.loss_range = bounds(owner, "loss_range", loss_range)
        self._worst_and_best = self.loss_range[::-1]
        shown = singletons(len(self._arms)) if graph is None else graph
        self._start(shown, 1, horizon, algorithm, seed)

    @property
    def arms(self) -> list[str]:
        """The names of the arms, in the order of `policy`."""
        return list(self._arms)

    def settings(self) -> dict[str, Any]:
        own = {"arms": self.arms, "loss_range": list(self.loss_range)}
        return {**own, **super().settings()}

    def choose(self, available: Iterable[str] | None = None) -> ArmChoice:
        """Choose one of the available arms.

        Args:
            available: The names of the available arms; by default all.

        Returns:
            The choice. Use its `arm`, and pass it to `settle` when its losses are known.

        Raises:
            InvalidContextError: `available` is empty, or has a name that is not an arm.
        """
        decision = self.learner.act(_CONTEXT, self._mask("choose", available))
        return ArmChoice(decision, self.arms[decision.arm], self._revealed(decision))

    def settle(self, choice: ArmChoice | bytes | str, *, losses: Mapping[str, float]) -> None:
        """Learn from the losses that a choice revealed.

        Choices may be settled late and in any order. Losses may be missing by chance: whether they
        are missing must depend neither on the losses nor on the arm.

        Args:
            choice: The choice, or its token.
            losses: The loss of each arm in `choice.revealed`, by name.

        Raises:
            DecisionError: The choice is not one of this object's, or was settled before.
            InvalidLossesError: A loss is missing, or is outside the range. Nothing is learned, and
                the choice can still be settled.
        """
        self._settle(choice, ArmChoice, losses)

    def policy(self, available: Iterable[str] | None = None) -> Floats:
        """Return the probability with which each arm would be chosen now.

        Args:
            available: The names of the available arms; by default all.

        Returns:
            A probability for each of `arms`.

        Raises:
            InvalidContextError: As for `choose`.
        """
        return self.learner.policy(_CONTEXT, self._mask("policy", available))

    def _mask(self, owner: str, available: Iterable[str] | None) -> Booleans | None:
        if available is None:
            return None
        try:
            names = [available] if isinstance(available, str) else list(available)
        except TypeError:
            reject(owner, "available", "names of arms", available, error=InvalidContextError)
        mask = np.zeros(len(self._arms), dtype=np.bool_)
        for name in names:
            mask[self._arms.index(owner, "available", name, InvalidContextError)] = True
        if not mask.any():
            reject(owner, "available", "at least one arm", available, error=InvalidContextError)
        return mask
