"""Arguments that are taken apart once are the arguments that were given."""

import copy
import pickle
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from crossbandit.kernels.compilation import Bound, opened, resolved


class Rules(NamedTuple):
    rate: float
    number: int
    fast: bool
    slow: bool
    grid: Any


class State(NamedTuple):
    numbers: Any  # (2, 3, 4)
    places: Any  # (3, 2)
    rules: Rules


# Not kept on disk: machine code there does not notice changes of `opened`.
@numba.njit  # type: ignore[untyped-decorator]
def mix(bound: Any, add: float, out: Any) -> float:
    """Read every kind of argument, and change two arrays."""
    rules, state = opened(bound)
    out[0], out[1] = rules.rate, rules.number
    out[2], out[3] = (1.0 if rules.fast else 0.0), (1.0 if rules.slow else 0.0)
    out[4] = state.numbers.shape[0] + 10 * state.numbers.shape[1] + 100 * state.numbers.shape[2]
    out[5] = state.numbers[1, 2, 3] - state.numbers[0, 1, 2]
    out[6] = state.places[2, 1]
    out[7] = state.rules.rate + state.rules.grid[-1]
    state.numbers[1, 0, 2] += add
    for j in range(state.places.shape[1]):
        state.places[1, j] = 7
    return float(rules.grid.size)


def parts() -> tuple[Rules, State]:
    rules = Rules(-0.25, 3, True, False, np.arange(5.0))
    numbers, places = np.arange(24.0).reshape(2, 3, 4) ** 2, np.arange(6).reshape(3, 2)
    return rules, State(numbers, places, rules._replace(rate=1e300, grid=np.array([1.0, 2e300])))


@pytest.mark.parametrize("step", [mix, lambda bound, *_: resolved(mix, bound, *_)(bound, *_)])
def test_a_kernel_reads_and_changes_what_was_bound(step: Any) -> None:
    rules, state = parts()
    expected, out = state.numbers.copy(), np.zeros(8)
    assert step(Bound(rules, state), 0.5, out) == 5.0
    difference = expected[1, 2, 3] - expected[0, 1, 2]
    assert out.tolist() == [-0.25, 3, 1, 0, 2 + 30 + 400, difference, 5, 1e300 + 2e300]
    expected[1, 0, 2] += 0.5
    np.testing.assert_array_equal(state.numbers, expected)
    assert state.places.tolist() == [[0, 1], [7, 7], [4, 5]]


def test_a_copy_is_bound_to_its_own_arrays() -> None:
    bound = Bound(*parts())
    for other in (copy.deepcopy(bound), pickle.loads(pickle.dumps(bound))):  # noqa: S301
        assert mix(other, 1.0, np.zeros(8)) == 5.0
        assert other.parts[1].numbers[1, 0, 2] == bound.parts[1].numbers[1, 0, 2] + 1.0


@pytest.mark.parametrize(
    "array", [np.zeros((3, 4))[:, ::2], np.zeros((3, 4)).T, np.zeros(3, dtype=np.float32)]
)
def test_other_arrays_are_refused(array: Any) -> None:
    with pytest.raises(TypeError, match="contiguous, with items of 8 bytes"):
        Bound(array)
