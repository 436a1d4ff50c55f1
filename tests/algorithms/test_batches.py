"""A batch of rounds may end early, begin in the middle of a pair, and go on through `act`."""

from typing import Any

import numpy as np
import pytest

from crossbandit import graphs
from crossbandit.algorithms import Algorithm
from crossbandit.environments.environment import checked_block
from crossbandit.kernels.rounds import Budget, Rounds
from tests.cases import every_algorithm, linear, table
from tests.learners import assert_same_state, contexts_of, play, start

ENVIRONMENT = table(graphs.threshold(4), 300, 5, seed=8)
CONTEXTS = contexts_of(ENVIRONMENT)


def rounds(begin: int, end: int, budget: Budget | None = None) -> Rounds:
    now = CONTEXTS[begin:end]
    contexts = ENVIRONMENT.problem.form.block(now)
    return Rounds.to_play(contexts, checked_block(ENVIRONMENT, begin, end), now, budget)


@every_algorithm
def test_a_batch_ends_when_its_budget_is_used_up(algorithm: Algorithm) -> None:
    """What follows is as if the batch had had that length; no random number is lost."""
    learner: Any = start(algorithm, ENVIRONMENT)
    costs = np.random.default_rng(1).random((300, 4))
    budget = Budget(costs, np.full(1, 40.0))
    batch = rounds(0, 300, budget)
    done = learner.simulate(batch)
    spent = np.cumsum(costs[np.arange(done), batch.arms[:done]])
    assert 40 < done < 300
    assert spent[-2] < 40.0 <= spent[-1]
    assert budget.left[0] == pytest.approx(40.0 - spent[-1])
    assert learner.round == done
    rest = rounds(done, 300)
    assert learner.simulate(rest) == 300 - done
    whole: Any = start(algorithm, ENVIRONMENT)
    everything = rounds(0, 300)
    assert whole.simulate(everything) == 300
    arms = np.concatenate([batch.arms[:done], rest.arms])
    np.testing.assert_array_equal(arms, everything.arms)
    np.testing.assert_array_equal(
        np.concatenate([batch.incurred[:done], rest.incurred]), everything.incurred
    )


@every_algorithm
def test_a_batch_ends_when_nothing_at_all_is_left(algorithm: Algorithm) -> None:
    learner: Any = start(algorithm, ENVIRONMENT)
    budget = Budget(np.ones((300, 4)), np.full(1, 40.0))
    assert learner.simulate(rounds(0, 300, budget)) == 40
    assert budget.left[0] == 0


@every_algorithm
@pytest.mark.parametrize("length", [1, 2, 7, 64])
def test_batches_of_any_length_and_single_rounds_may_alternate(
    algorithm: Algorithm, length: int
) -> None:
    """So contexts may depend on what was done before: they are given batch by batch."""
    mixed: Any = start(algorithm, ENVIRONMENT)
    arms: list[int] = []
    while mixed.round < 300:
        if mixed.round % 3 == 1:
            arms += play(mixed, ENVIRONMENT, mixed.round + 1)
        else:
            batch = rounds(mixed.round, min(300, mixed.round + length))
            mixed.simulate(batch)
            arms += batch.arms.tolist()
    plain = start(algorithm, ENVIRONMENT)
    assert arms == play(plain, ENVIRONMENT)
    ours, theirs = mixed.state(), plain.state()
    np.testing.assert_allclose(ours["estimates"], theirs["estimates"], rtol=1e-12, atol=1e-12)
    assert mixed.generator.bit_generator.state == plain.generator.bit_generator.state


def test_a_part_of_a_batch_reads_like_its_rounds() -> None:
    environment = linear(graphs.threshold(6), 20, 11, seed=5)
    now = contexts_of(environment)
    losses = checked_block(environment, 0, 20)
    whole = Rounds.to_play(environment.problem.form.block(now), losses, now)
    part = whole.part(3, 9)
    for i in range(6):
        for ours, theirs in zip(part.readout(i), whole.readout(3 + i), strict=True):
            np.testing.assert_array_equal(ours, theirs)


@every_algorithm
def test_an_empty_batch_changes_nothing(algorithm: Algorithm) -> None:
    learner: Any = start(algorithm, ENVIRONMENT)
    assert learner.simulate(rounds(0, 0)) == 0
    assert_same_state(learner, start(algorithm, ENVIRONMENT))
