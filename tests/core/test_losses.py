"""Totals in closed form are the sums of what single rounds write."""

import numpy as np
import pytest

from crossbandit.core.losses import add_totals, may_clip, write_rows
from crossbandit.environments import LossBlock


@pytest.mark.parametrize("high", [True, False])
@pytest.mark.parametrize("excess", [-1e-9, 0.0, 1e-3, 0.03, 0.3])
def test_totals_are_the_sums_of_rows(excess: float, high: bool) -> None:
    """The largest loss is `excess` above 1, or the least as much below 0, in few contexts."""
    rng = np.random.default_rng(1)
    arms, contexts, rounds = 3, 40, 50
    coefficients = rng.uniform(-0.2, 0.2, (rounds, arms, 1))
    coefficients[7] = 0.2 if high else -0.2
    base = rng.uniform(0.3, 0.6, (1, arms, contexts))
    base[0, :, 5] = 0.8 + excess if high else 0.2 - excess
    block = LossBlock(base, coefficients, np.ones((1, contexts)), clip=True)
    expected, row = np.zeros((arms, contexts)), np.empty((arms, contexts))
    for i in range(rounds):
        write_rows(block, i, row)
        expected += row
    totals = np.zeros((arms, contexts))
    add_totals(block, rounds, totals)
    np.testing.assert_allclose(totals, expected, rtol=1e-13)
    clipping = [may_clip(block, rounds, arm) for arm in range(arms)]
    assert any(clipping) is (excess > 0)
