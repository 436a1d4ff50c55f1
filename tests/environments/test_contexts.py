"""The law of the contexts: the right frequencies, and prefixes."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from crossbandit.environments import ContextDistribution, FiniteContexts, UniformVectors, zipf
from crossbandit.environments.environment import distribution_over
from crossbandit.errors import InvalidParameterError

FINITE = {
    "uniform": FiniteContexts(20),
    "one": FiniteContexts(1),
    "skewed": FiniteContexts([0.7, 0.2, 0.05, 0.03, 0.02]),
    "with holes": FiniteContexts([0.0, 0.3, 0.0, 0.7, 0.0]),
    "zipf": zipf(50),
    "steep": zipf(10, 3.0),
}
BOX = UniformVectors([1.0, -1.0], [1.0, 2.0])

finite_laws = pytest.mark.parametrize("law", FINITE.values(), ids=FINITE.keys())


def test_laws_are_equal_if_they_draw_the_same() -> None:
    laws = [*FINITE.values(), FiniteContexts(np.full(20, 1 / 20))]
    again = [
        zipf(50),
        zipf(10, 3.0),
        FiniteContexts(20),
        FiniteContexts([0.7, 0.2, 0.05, 0.03, 0.02]),
    ]
    assert len(set(laws)) == len(laws)
    assert {*laws, *again} == set(laws)
    assert FiniteContexts(2) != UniformVectors([0], [1])


@finite_laws
def test_contexts_have_their_probabilities(law: FiniteContexts) -> None:
    """A chi-square test that a right law fails with probability 1e-6; the seed is fixed."""
    drawn = law.draw(np.random.default_rng(0), 200_000)
    counts = np.bincount(drawn, minlength=len(law.probabilities))
    possible = law.probabilities > 0
    assert counts[~possible].sum() == 0
    if possible.sum() > 1:
        expected = 200_000 * law.probabilities[possible]
        assert stats.chisquare(counts[possible], expected).pvalue > 1e-6


@pytest.mark.parametrize("law", [*FINITE.values(), BOX], ids=[*FINITE, "vectors"])
def test_drawing_in_pieces_is_drawing_at_once(law: ContextDistribution) -> None:
    at_once = law.draw(np.random.default_rng(1), 100)
    generator = np.random.default_rng(1)
    pieces = [law.draw(generator, count) for count in (1, 0, 32, 67)]
    np.testing.assert_array_equal(np.concatenate(pieces), at_once)


class Edge(np.random.Generator):
    """Draws the smallest and the largest number that a generator can draw."""

    def random(self, size: int) -> np.ndarray:  # type: ignore[override]
        return np.resize([0.0, np.nextafter(1, 0)], size)


@finite_laws
def test_the_extremes_of_the_generator_are_contexts_that_can_occur(law: FiniteContexts) -> None:
    drawn = law.draw(Edge(np.random.PCG64(0)), 2)
    possible = np.flatnonzero(law.probabilities)
    assert drawn.tolist() == [possible[0], possible[-1]]


@pytest.mark.parametrize("contexts", [3, 5, 7, 49, 1000, 12345])
def test_the_last_of_many_contexts_is_not_exceeded(contexts: int) -> None:
    drawn = FiniteContexts(contexts).draw(Edge(np.random.PCG64(0)), 2)
    assert drawn.tolist() == [0, contexts - 1]


def test_probabilities_that_sum_short_of_one_by_rounding_still_end_at_the_last() -> None:
    law = FiniteContexts([0.1] * 10 + [0.0])
    drawn = law.draw(Edge(np.random.PCG64(0)), 2)
    assert drawn.tolist() == [0, 9]


def test_uniform_given_as_a_number_or_as_probabilities_is_the_same_law() -> None:
    by_number, by_law = FiniteContexts(8), FiniteContexts(np.full(8, 1 / 8))
    np.testing.assert_array_equal(by_number.probabilities, by_law.probabilities)
    drawn = [law.draw(np.random.default_rng(2), 1000) for law in (by_number, by_law)]
    np.testing.assert_array_equal(drawn[0], drawn[1])


def test_zipf_probabilities() -> None:
    np.testing.assert_allclose(
        zipf(4, 2.0).probabilities * (1 + 1 / 4 + 1 / 9 + 1 / 16), [1, 1 / 4, 1 / 9, 1 / 16]
    )
    np.testing.assert_allclose(zipf(5, 0.0).probabilities, 0.2)


def test_uniform_vectors_fill_their_box() -> None:
    """A Kolmogorov-Smirnov test that a right law fails with probability 1e-6; the seed is fixed."""
    drawn = BOX.draw(np.random.default_rng(3), 50_000)
    assert drawn.shape == (50_000, 2)
    assert set(drawn[:, 0]) == {1.0}
    assert stats.kstest(drawn[:, 1], "uniform", args=(-1.0, 3.0)).pvalue > 1e-6


def test_a_law_cannot_be_changed_from_outside() -> None:
    given = np.array([0.5, 0.5])
    law = FiniteContexts(given)
    given[:] = [1.0, 0.0]
    assert law.probabilities.tolist() == [0.5, 0.5]
    with pytest.raises(ValueError, match="read-only"):
        law.probabilities[0] = 1.0


def test_a_law_over_contexts_may_be_left_out_or_given_as_probabilities() -> None:
    law = zipf(3)
    assert distribution_over("own", None, 3) == FiniteContexts(3)
    assert distribution_over("own", [0.5, 0.5, 0], 3) == FiniteContexts([0.5, 0.5, 0])
    assert distribution_over("own", law, 3) is law
    assert distribution_over("own", BOX, 3) is BOX


@pytest.mark.parametrize(
    ("law", "got"),
    [
        (zipf(4), r"an array of shape \(4,\)"),
        ([0.5, 0.5], r"an array of shape \(2,\)"),
        ([0.5, 0.6, 0], "a sum of 1.1"),
        ("zipf", ".*'zipf'"),
        (3, r"an array of shape \(\)"),
    ],
)
def test_a_law_over_other_contexts_is_refused(law: Any, got: str) -> None:
    message = rf"'context_distribution' parameter of own must be 3 probabilities.* Got {got}\."
    with pytest.raises(InvalidParameterError, match=message):
        distribution_over("own", law, 3)
