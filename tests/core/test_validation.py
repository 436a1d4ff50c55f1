"""Checks that all constructors share: bounds of integers, long values, masked arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from crossbandit import CrossGraphAdaptive, FeedbackGraph, Problem, graphs
from crossbandit.core.validation import MAX_INTEGER, integer, is_masked, number
from crossbandit.environments import from_coefficients, from_table
from crossbandit.errors import CrossbanditError, InvalidParameterError

G = graphs.threshold(3)


def masked(values: Any, mask: Any) -> Any:
    """Return an array with masked entries."""
    return np.ma.array(values, mask=np.asarray(mask, dtype=np.bool_))


@pytest.mark.parametrize("value", [2**63, 10**30, np.uint64(2**63)])
def test_an_integer_beyond_64_bits_is_refused(value: Any) -> None:
    expected = f"an integer of at least 1 and of at most {MAX_INTEGER}. Got "
    with pytest.raises(InvalidParameterError, match=f"'arms' parameter of ring must be {expected}"):
        integer("ring", "arms", value, at_least=1)
    assert integer("ring", "seed", value, at_least=0, at_most=None) == value


def test_bounds_are_in_the_message_and_belong_to_the_range() -> None:
    message = "'arms' parameter of ring must be an integer of at least 2 and of at most 5. Got"
    for value in (1, 6, -(10**30), 2.0, "3", None, True):
        with pytest.raises(InvalidParameterError, match=message):
            integer("ring", "arms", value, at_least=2, at_most=5)
    assert [integer("", "", value, at_least=2, at_most=5) for value in (2, np.int8(5))] == [2, 5]
    assert integer("", "", MAX_INTEGER, at_least=0) == MAX_INTEGER


def test_a_value_that_cannot_be_shown_is_described() -> None:
    with pytest.raises(InvalidParameterError, match="Got a value of type int that is too long"):
        integer("ring", "arms", 10**5_000, at_least=1)
    with pytest.raises(InvalidParameterError, match="Got a value of type int that is too long"):
        number("ring", "eta", 10**5_000)
    with pytest.raises(InvalidParameterError) as error:
        integer("ring", "arms", list(range(10_000)), at_least=1)
    assert len(str(error.value)) < 700


ROWS = masked([[1.0, 0.5], [1.0, 0.25]], [[0, 0], [0, 1]])
LOSSES = masked(np.full((8, 2, 3), 0.5), np.arange(48).reshape(8, 2, 3) == 7)
MATRIX = masked(np.ones((3, 3), dtype=int), np.eye(3, k=1))

MASKED: dict[str, Callable[[], object]] = {
    "features": lambda: Problem(G, features=ROWS),
    "rows of features": lambda: Problem(G, features=list(ROWS)),
    "a distribution": lambda: Problem(
        G, contexts=2, context_distribution=masked([0.5, 0.5], [0, 1])
    ),
    "a sample": lambda: Problem(G, features=2, context_sample=ROWS),
    "adjacency": lambda: FeedbackGraph(MATRIX),
    "rows of adjacency": lambda: FeedbackGraph(list(MATRIX)),
    "edges": lambda: FeedbackGraph.from_edges(3, masked([[0, 1]], [[0, 1]])),
    "ranges": lambda: FeedbackGraph.from_ranges(3, [masked([0, 1, 2], [0, 0, 1])]),
    "mass": lambda: G.observation_mass(masked([0.5, 0.25, 0.25], [0, 0, 1])),
    "a table of losses": lambda: from_table(LOSSES, G),
    "coefficients": lambda: from_coefficients(LOSSES.reshape(8, 3, 2), G, [[1, 0], [0, 1]]),
    "a context": lambda: CrossGraphAdaptive().start(Problem(G, features=2), seed=0).act(ROWS[1]),
    "a context of a masked number": lambda: (
        CrossGraphAdaptive().start(Problem(G, features=2), seed=0).act([1.0, np.ma.masked])  # type: ignore[arg-type]
    ),
}


@pytest.mark.parametrize("call", MASKED.values(), ids=MASKED.keys())
def test_masked_entries_are_refused(call: Callable[[], object]) -> None:
    """NumPy would use whatever number is behind the mask."""
    with pytest.raises(CrossbanditError, match="masked"):
        call()


def test_a_masked_array_without_masked_entries_is_an_array() -> None:
    whole = np.ma.array([[1, 0], [0, 1]])
    assert FeedbackGraph(whole) == FeedbackGraph([[1, 0], [0, 1]])
    assert not is_masked([whole, [whole]])
    assert is_masked([1, [2, (3, np.ma.masked)]])


def test_a_list_in_itself_is_refused() -> None:
    endless: list[Any] = [1.0]
    endless.append(endless)
    with pytest.raises(InvalidParameterError, match="rows of unequal length"):
        Problem(G, features=endless)
