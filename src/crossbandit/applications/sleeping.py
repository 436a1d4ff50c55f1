"""Arms that are not always available."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit.applications.application import Application, started
from crossbandit.applications.names import Names, for_each, graph_of
from crossbandit.applications.play import Play, played
from crossbandit.environments.amounts import bounds
from crossbandit.errors import InvalidContextError, InvalidLossesError
from crossbandit.graphs import singletons
from crossbandit.problem import Problem
from crossbandit.validation import reject, verbatim

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from crossbandit.algorithms import Algorithm
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.streams import Seed
    from crossbandit.types import Booleans, Floats

_CONTEXT = (1.0,)  # an arm's loss is the same whatever else is available


@dataclass(frozen=True)
class Choice(Play):
    """One choice: use `arm`, and hand the choice to `settle` once its losses are known.

    `revealed` are the arms whose losses are then asked for.
    """

    arm: str
    revealed: tuple[str, ...]


class SleepingArms(Application):
    """Learns which of the arms that are available now loses least.

    `arms` are their names. `loss_range` bounds their losses as (lowest, highest), in any unit. An
    arm's loss in a round must not depend on which others are available; then what is learned
    with one set of arms holds with every other. `graph` says which arms' losses a choice shows,
    available or not; each shows itself alone unless it is given.

    `algorithm` is the parameter-free learner unless given; others may need the `horizon`, which is
    the number of choices to come.

    >>> couriers = SleepingArms(arms=["van", "bike", "taxi"], loss_range=(0, 60), seed=1)
    >>> minutes = {"van": 40, "bike": 25, "taxi": 30}
    >>> for day in range(600):
    ...     awake = ["van", "taxi"] if day % 3 else ["van", "bike", "taxi"]
    ...     choice = couriers.choose(awake)
    ...     couriers.settle(choice, losses={choice.arm: minutes[choice.arm]})
    >>> couriers.policy(["van", "taxi"]).round(1), couriers.policy().round(1)
    (array([0., 0., 1.]), array([0., 1., 0.]))
    """

    kind: ClassVar[str] = "sleeping-arms"

    def __init__(
        self,
        *,
        arms: Iterable[str],
        loss_range: tuple[float, float] = (0.0, 1.0),
        graph: FeedbackGraph | dict[str, Any] | None = None,
        horizon: int | None = None,
        algorithm: Algorithm | None = None,
        seed: Seed,
    ) -> None:
        owner = type(self).__name__
        self._arms = Names(owner, "arms", arms, at_least=2)
        self.loss_range = bounds(owner, "loss_range", loss_range)
        alone = singletons(len(self._arms))
        shown = alone if graph is None else graph_of(owner, graph, self._arms)
        problem = Problem(shown, features=1, horizon=horizon)
        self.learner = started(owner, algorithm, problem, seed)

    @property
    def arms(self) -> list[str]:
        """The names of the arms, in the order of `policy`."""
        return list(self._arms)

    def settings(self) -> dict[str, Any]:
        return {
            "arms": self.arms,
            "loss_range": list(self.loss_range),
            "graph": self.learner.problem.graph.to_json(),
            "horizon": self.learner.problem.horizon,
        }

    def choose(self, available: Iterable[str] | None = None) -> Choice:
        """Choose one of the available arms; all are if None."""
        decision = self.learner.act(_CONTEXT, self._mask("choose", available))
        arms = self.arms
        return Choice(decision, arms[decision.arm], tuple(arms[b] for b in decision.revealed))

    def settle(self, choice: Choice, *, losses: Mapping[str, float]) -> None:
        """Learn from the losses of the arms that a choice has revealed, by their names.

        Choices may be settled late and in any order. One whose losses were lost by chance may be
        left; where it depends on the losses whether they are told, leaving them would mislead.
        """
        decision = played(choice, Choice, self.learner)
        arms = [self.arms[b] for b in decision.revealed]
        given = for_each("losses", losses, arms)
        self.learner.learn(decision, [[self._share(arm, given[arm])] for arm in arms])

    def policy(self, available: Iterable[str] | None = None) -> Floats:
        """Return the probability with which each arm would be chosen now."""
        return self.learner.policy(_CONTEXT, self._mask("policy", available))

    def _share(self, arm: str, loss: Any) -> float:
        """Return a loss in parts of the range."""
        low, high = self.loss_range
        number = isinstance(loss, numbers.Real) and not isinstance(loss, bool)
        if not number or not low <= loss <= high:
            expected = f"numbers from {low:.15g} to {high:.15g}"
            got = verbatim(f"{loss!r} for {arm!r}")
            reject("settle", "losses", expected, got, error=InvalidLossesError)
        return (float(loss) - low) / (high - low)

    def _mask(self, owner: str, available: Iterable[str] | None) -> Booleans | None:
        if available is None:
            return None
        try:
            names = [available] if isinstance(available, str) else list(available)
        except TypeError:
            reject(owner, "available", "names of arms", available, error=InvalidContextError)
        mask = np.zeros(len(self._arms), dtype=np.bool_)
        for name in names:
            mask[self._arms.number(owner, "available", name, InvalidContextError)] = True
        if not mask.any():
            reject(owner, "available", "at least one arm", available, error=InvalidContextError)
        return mask
