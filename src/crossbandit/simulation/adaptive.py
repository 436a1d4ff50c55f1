"""Simulate environments whose losses depend on past arms, and compute policy regret."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.environments.checking import availability, checked_rows
from crossbandit.errors import CrossbanditError
from crossbandit.kernels.rows import best_arms
from crossbandit.simulation.players import BatchRecord, FeedbackSource

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from crossbandit.algorithms import Learner
    from crossbandit.types import Booleans, Floats

MOST_POLICIES = 4096


def adaptive_player(
    environment: Any, learner: Learner, tell: Callable[[int], None]
) -> Callable[[int, npt.NDArray[Any]], BatchRecord]:
    """Return a function that plays all rounds in the given contexts.

    All rounds are one batch: the comparator is not known before all losses are.
    """
    problem = environment.problem
    revealing = FeedbackSource(environment, learner)

    def play(start: int, contexts: npt.NDArray[Any]) -> BatchRecord:
        available = availability(environment, contexts)
        totals = np.zeros((problem.arms, problem.form.columns))
        met = np.empty((len(contexts), problem.arms))
        arms: list[int] = []
        for t, context in enumerate(contexts):
            rows = checked_rows(environment, start + t, arms)
            mask = None if available is None else available[t]
            arms.append(int(revealing.play(learner, start + t, context, mask, rows).arm))
            totals += rows
            met[t] = problem.form.readout(context).losses(rows, range(problem.arms))
            tell(t)
        totals.flags.writeable = False
        every, played = np.arange(len(contexts)), np.array(arms, dtype=np.int64)
        best = np.empty_like(played)
        best_arms(totals, problem.form.block(contexts, available), best)
        return BatchRecord(contexts, played, met[every, played], best, met[every, best])

    return play


def policy_regret(environment: Any, contexts: npt.NDArray[Any], losses: Floats) -> Floats:
    """Return the policy regret after each round of a run.

    Args:
        environment: An adaptive environment.
        contexts: The context of each round.
        losses: The loss incurred in each round.

    Raises:
        CrossbanditError: There are too many policies to try them all.
    """
    if environment.problem.contexts is None:
        raise CrossbanditError(
            "Policy regret tries every policy, an arm for each context. The contexts of "
            f"{type(environment).__name__} are continuous, so there is no list of policies."
        )
    occurring = np.unique(contexts)
    count = environment.problem.arms ** len(occurring)
    if count > MOST_POLICIES:
        raise CrossbanditError(
            f"Policy regret tries every policy, an arm for each context. There are {count} for "
            f"{environment.problem.arms} arms and {len(occurring)} contexts, and at most "
            f"{MOST_POLICIES} are tried. Use fewer contexts or arms."
        )
    available = availability(environment, occurring)
    choices = [_choices(environment.problem.arms, available, i) for i in range(len(occurring))]
    place = np.searchsorted(occurring, contexts)
    best = min(
        (
            _losses_of_policy(environment, contexts, np.array(arms)[place])
            for arms in product(*choices)
        ),
        key=lambda incurred: float(incurred.sum()),
    )
    return np.cumsum(losses - best)


def _choices(arms: int, available: Booleans | None, i: int) -> Sequence[int]:
    return range(arms) if available is None else np.flatnonzero(available[i]).tolist()


def _losses_of_policy(
    environment: Any, contexts: npt.NDArray[Any], arms: npt.NDArray[np.int64]
) -> Floats:
    """Return the losses of playing these arms, with the reactions of the environment to them."""
    form, history = environment.problem.form, arms.tolist()
    incurred = np.empty(len(arms))
    for t, context in enumerate(contexts):
        row = checked_rows(environment, t, history[:t])[history[t]]
        incurred[t] = form.readout(context).losses(row[None], [history[t]])[0]
    return incurred
