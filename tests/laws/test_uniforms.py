"""Random numbers of rounds: only those in which there is something to choose draw any."""

import numpy as np
import pytest

from crossbandit.laws.uniforms import Uniforms


@pytest.mark.parametrize("active", [[True] * 3, [True, False, True], [False] * 3, []])
def test_active_rounds_take_the_next_numbers(active: list[bool]) -> None:
    uniforms, generator = Uniforms(np.random.default_rng(5)), np.random.default_rng(5)
    expected = [[*generator.random(2)] if one else [0.0, 0.0] for one in active]
    found = uniforms.rows(np.array(active, dtype=bool), 2)
    np.testing.assert_array_equal(found, np.reshape(expected, (len(active), 2)))
    assert uniforms.take(1)[0] == generator.random()
