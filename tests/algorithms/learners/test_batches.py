"""A batch of rounds may begin in the middle of a pair, and go on through `act`."""

from typing import Any

import numpy as np
import pytest

from crossbandit import graphs
from crossbandit.algorithms import Algorithm
from crossbandit.environments.environment import checked_block
from crossbandit.environments.simulation import Rounds
from tests.cases import every_algorithm, linear, table
from tests.drivers import assert_same_state, contexts_of, play, start

ENVIRONMENT = table(graphs.threshold(4), 300, 5, seed=8)
CONTEXTS = contexts_of(ENVIRONMENT)


def rounds(begin: int, end: int) -> Rounds:
    now = CONTEXTS[begin:end]
    contexts = ENVIRONMENT.problem.form.block(now)
    return Rounds.to_play(contexts, checked_block(ENVIRONMENT, begin, end), now)


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
    learner.simulate(rounds(0, 0))
    assert_same_state(learner, start(algorithm, ENVIRONMENT))
