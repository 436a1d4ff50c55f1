"""Environments that look at past arms: the plain loop, regret and policy regret."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pytest

from crossbandit import CrossGraph, Problem, graphs, simulate
from crossbandit.core.types import Floats
from crossbandit.environments import AdaptiveEnvironment, FiniteContexts, congestion, stochastic
from crossbandit.environments.simulation import simulate_many
from crossbandit.errors import CrossbanditError, InvalidLossesError, InvalidParameterError
from tests.algorithms.test_graph_kinds import Sums

FAST = CrossGraph(eta=0.1, gamma=0.05, rho=0.05, beta=0.05, epoch_length=4)


class Repeating(AdaptiveEnvironment):
    """An arm that was played in the round before costs 1, other arms 1/4. Written for 2 arms."""

    def __init__(self, horizon: int = 40) -> None:
        self.problem = Problem(graphs.complete(2), contexts=2, horizon=horizon)
        self.context_distribution = FiniteContexts(2)

    def losses(self, round_: int, arms: Sequence[int] = ()) -> Floats:
        assert len(arms) == round_
        rows = np.full((2, 2), 0.25)
        if arms:
            rows[arms[-1]] = 1.0
        return rows


def test_regret_takes_the_losses_that_occurred() -> None:
    run = simulate(FAST, Repeating(), seed=1)
    table = np.array([Repeating().losses(t, run.arms[:t].tolist()) for t in range(40)])
    every = np.arange(40)
    np.testing.assert_array_equal(run.losses, table[every, run.arms, run.contexts])
    best = table.sum(axis=0).argmin(axis=0)
    np.testing.assert_array_equal(run.comparator_arms, best[run.contexts])
    expected = table[every, best[run.contexts], run.contexts]
    np.testing.assert_array_equal(run.comparator_losses, expected)


def test_policy_regret_takes_the_losses_that_a_policy_would_have_met() -> None:
    run = simulate(FAST, Repeating(), seed=1)
    # By hand: a policy pays 1/4 in round 0 and whenever its arm changes, and 1 otherwise.
    totals = []
    for policy in product(range(2), repeat=2):
        arms = np.array(policy)[run.contexts]
        totals.append(np.where(np.diff(arms, prepend=-1) != 0, 0.25, 1.0))
    best = min(totals, key=lambda incurred: float(incurred.sum()))
    np.testing.assert_allclose(run.policy_regret, np.cumsum(run.losses - best))
    assert not np.allclose(run.policy_regret, run.regret)


def test_without_looking_at_arms_it_is_the_regret() -> None:
    run = simulate(FAST, stochastic(graphs.complete(3), 100, contexts=2), seed=1)
    assert run.policy_regret is run.regret
    idle = congestion(graphs.complete(3), 100, weight=0.0)
    blind = simulate(FAST, idle, seed=1)
    # The best policy on the contexts that occurred is the comparator: losses never change.
    np.testing.assert_allclose(blind.policy_regret, blind.regret)


def test_a_batch_or_a_seed_changes_nothing_else() -> None:
    environment = congestion(graphs.ring(3, 1), 60)
    one = simulate(FAST, environment, seed=4)
    (same,) = simulate_many(FAST, environment, [4])
    np.testing.assert_array_equal(one.arms, same.arms)
    thin = simulate(FAST, environment, seed=4, record="thin")
    assert thin.final_regret == one.final_regret
    with pytest.raises(CrossbanditError, match="record='full'"):
        _ = thin.policy_regret


def test_there_is_no_compiled_loop() -> None:
    with pytest.raises(InvalidParameterError, match="There is no compiled loop"):
        simulate(FAST, Repeating(), seed=1, compiled=True)


def test_too_many_policies_are_refused() -> None:
    run = simulate(FAST, congestion(graphs.complete(4), 40, contexts=12), seed=1)
    with pytest.raises(CrossbanditError, match="at most 4096 are tried"):
        _ = run.policy_regret


@dataclass(frozen=True, kw_only=True)
class ForStochastic(Sums):
    id: ClassVar[str] = "for-stochastic"
    stochastic_only: ClassVar[bool] = True


def test_an_algorithm_for_stochastic_losses_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"ForStochastic is for .* Got Repeating"):
        simulate(ForStochastic(), Repeating(), seed=1)


def test_bad_losses_are_refused() -> None:
    class Bad(Repeating):
        def losses(self, round_: int, arms: Sequence[int] = ()) -> Any:
            return super().losses(round_, arms) if round_ < 3 else np.full((2, 2), np.nan)

    class High(Repeating):
        def losses(self, round_: int, arms: Sequence[int] = ()) -> Any:
            return super().losses(round_, arms) + (round_ == 5)

    with pytest.raises(InvalidLossesError, match=r"finite numbers of shape .* in round 3"):
        simulate(FAST, Bad(), seed=1)
    with pytest.raises(InvalidLossesError, match=r"from 0 to 1|\[0, 1\]"):
        simulate(FAST, High(), seed=1)
