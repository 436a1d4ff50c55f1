"""Losses given as tables, and what all block environments derive from their blocks."""

import numpy as np
import pytest

from crossbandit import Problem, graphs
from crossbandit.environments import (
    BlockEnvironment,
    FiniteContexts,
    LossBlock,
    UniformVectors,
    from_coefficients,
    from_table,
    zipf,
)
from crossbandit.environments.environment import LONGEST_BATCH
from tests.cases import environments

CASES = dict(environments())
every_environment = pytest.mark.parametrize("environment", CASES.values(), ids=CASES.keys())


def horizon(environment: BlockEnvironment) -> int:
    rounds = environment.problem.horizon
    assert rounds is not None
    return rounds


@every_environment
def test_losses_of_a_round_are_the_rows_of_its_block(environment: BlockEnvironment) -> None:
    block = environment.block(3, 40)
    for i in (0, 1, 36):
        base = block.base[min(i, len(block.base) - 1)]
        rows = base + block.coefficients[i] @ block.features
        if block.clip:
            rows = rows.clip(0, 1)
        np.testing.assert_allclose(environment.losses(3 + i), rows, rtol=0, atol=1e-15)


@every_environment
def test_totals_are_the_sum_of_all_rounds(environment: BlockEnvironment) -> None:
    total = sum(environment.losses(t) for t in range(horizon(environment)))
    np.testing.assert_allclose(environment.totals, total, rtol=1e-12)
    with pytest.raises(ValueError, match="read-only"):
        environment.totals[0, 0] = 0.0


class Clipping(BlockEnvironment):
    """Losses that reach both limits, with as many moving terms as asked for."""

    def __init__(self, terms: int, horizon: int, *, moving_base: bool = False) -> None:
        rng = np.random.default_rng(terms)
        self.problem = Problem(graphs.complete(4), contexts=6, horizon=horizon)
        self.context_distribution = FiniteContexts(6)
        self._base = rng.uniform(0, 1, (horizon if moving_base else 1, 4, 6))
        self._coefficients = rng.uniform(-1, 1, (horizon, 4, terms))
        self._coefficients[:, 0] *= 1e-3  # of this arm only contexts near a limit clip
        self._features = rng.uniform(-1, 1, (terms, 6))

    def block(self, start: int, stop: int) -> LossBlock:
        base = self._base if len(self._base) == 1 else self._base[start:stop]
        return LossBlock(base, self._coefficients[start:stop], self._features, clip=True)


@pytest.mark.parametrize("moving_base", [False, True])
@pytest.mark.parametrize("terms", [1, 2, 3])
def test_totals_are_the_sum_of_all_rounds_also_where_losses_clip(
    terms: int, moving_base: bool
) -> None:
    environment = Clipping(terms, 300, moving_base=moving_base)
    rows = np.array([environment.losses(t) for t in range(300)])
    assert (rows == 0).any()
    assert (rows == 1).any()
    np.testing.assert_allclose(environment.totals, rows.sum(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(environment.best_arms, rows.sum(axis=0).argmin(axis=0))


def test_totals_of_more_than_one_batch() -> None:
    environment = Clipping(2, LONGEST_BATCH + 3)
    block = environment.block(0, LONGEST_BATCH + 3)
    rows = (block.base + block.coefficients @ block.features).clip(0, 1)
    np.testing.assert_allclose(environment.totals, rows.sum(axis=0), rtol=1e-11)


def test_a_table_is_read_by_round_context_and_arm() -> None:
    losses = np.random.default_rng(0).random((5, 2, 3))
    environment = from_table(losses, graphs.complete(3), [0.9, 0.1])
    problem = environment.problem
    assert (problem.horizon, problem.contexts, problem.arms) == (5, 2, 3)
    for t in range(5):
        np.testing.assert_array_equal(environment.losses(t), losses[t].T)
    law = environment.context_distribution.probabilities
    assert law is not None
    assert law.tolist() == [0.9, 0.1]


def test_a_table_is_copied() -> None:
    losses = np.full((5, 2, 3), 0.5)
    environment = from_table(losses, graphs.complete(3))
    losses[:] = 0
    assert environment.losses(0).tolist() == [[0.5] * 2] * 3


def test_a_table_may_have_any_law_and_is_uniform_without() -> None:
    losses = np.full((5, 4, 3), 0.5)
    law = zipf(4)
    assert from_table(losses, graphs.complete(3), law).context_distribution is law
    uniform = from_table(losses, graphs.complete(3)).context_distribution.probabilities
    assert uniform is not None
    assert uniform.tolist() == [0.25] * 4


def test_coefficients_times_features_are_losses() -> None:
    rng = np.random.default_rng(1)
    coefficients, features = rng.random((5, 3, 2)) / 2, rng.random((4, 2))
    environment = from_coefficients(coefficients, graphs.complete(3), features)
    assert environment.problem.contexts == 4
    for t in range(5):
        np.testing.assert_array_equal(environment.losses(t), coefficients[t])
        for context in range(4):
            reading = environment.problem.form.readout(context)
            losses = reading.losses(environment.losses(t), range(3))
            np.testing.assert_allclose(losses, coefficients[t] @ features[context], atol=1e-15)


def test_features_may_differ_from_arm_to_arm() -> None:
    rng = np.random.default_rng(2)
    coefficients, features = rng.random((5, 3, 2)) / 2, rng.random((4, 3, 2))
    environment = from_coefficients(coefficients, graphs.complete(3), features)
    for context in range(4):
        reading = environment.problem.form.readout(context)
        losses = reading.losses(environment.losses(2), range(3))
        expected = [coefficients[2, a] @ features[context, a] for a in range(3)]
        np.testing.assert_allclose(losses, expected, rtol=0, atol=1e-15)


def test_coefficients_may_go_with_vectors_without_end() -> None:
    law = UniformVectors([1, 0], [1, 1])
    environment = from_coefficients(np.full((5, 3, 2), 0.2), graphs.complete(3), law)
    assert environment.problem.contexts is None
    assert environment.problem.form.columns == 2
    assert environment.context_distribution is law
