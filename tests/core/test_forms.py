"""The two forms of losses read what they should, one context or a batch of them."""

from typing import Any

import numpy as np
import pytest

from crossbandit import CrossGraphAdaptive, Problem, graphs
from crossbandit.core.forms import LinearForm
from crossbandit.environments import from_table
from crossbandit.errors import InvalidLossesError, InvalidParameterError

RNG = np.random.default_rng(0)
TABLE = RNG.random((5, 2))
PER_ARM = RNG.random((5, 3, 2))
G = graphs.complete(3)

# A problem, and the losses that rows (K, columns) mean in each of its five contexts: (M, K).
FORMS: dict[str, tuple[Problem, Any]] = {
    "dense": (Problem(G, contexts=5), lambda rows: rows.T),
    "a table": (Problem(G, features=TABLE), lambda rows: TABLE @ rows.T),
    "a table per arm": (Problem(G, features=PER_ARM), lambda rows: (PER_ARM * rows).sum(axis=2)),
}
every_form = pytest.mark.parametrize(("problem", "losses"), FORMS.values(), ids=FORMS.keys())


@every_form
def test_a_context_reads_its_own_losses(problem: Problem, losses: Any) -> None:
    rows = RNG.random((3, problem.form.columns))
    for context in range(5):
        plain, readout = problem.form.read(context)
        assert plain == context
        np.testing.assert_allclose(readout.losses(rows, range(3)), losses(rows)[context])
        np.testing.assert_allclose(
            readout.losses(rows[[2, 0]], [2, 0]), losses(rows)[context, [2, 0]]
        )


@every_form
def test_a_batch_reads_like_its_contexts(problem: Problem, losses: Any) -> None:
    del losses
    contexts = np.array([3, 0, 0, 4])
    block = problem.form.block(contexts)
    for i, context in enumerate(contexts):
        readout = problem.form.readout(int(context))
        assert block.offset[i] == readout.offset
        np.testing.assert_array_equal(block.table[block.entry[i]], readout.coefficients)


@every_form
def test_a_problem_comes_back_from_its_json_form(problem: Problem, losses: Any) -> None:
    del losses
    law = [0.1, 0.2, 0.3, 0.4, 0.0]
    for one in (problem, problem.with_distribution(law)):
        again = Problem.from_json(one.to_json())
        assert again == one
        assert hash(again) == hash(one)
    assert problem != problem.with_distribution(law)
    assert problem != problem.with_graph(graphs.threshold(3))


def test_vectors_read_with_their_own_numbers() -> None:
    form = Problem(G, features=2).form
    rows = RNG.random((3, 2))
    plain, readout = form.read([0.5, 2.0])
    assert plain == (0.5, 2.0)
    np.testing.assert_allclose(readout.losses(rows, range(3)), rows @ [0.5, 2.0])
    with pytest.raises(InvalidParameterError, match="continuous"):
        form.support()


def test_features_are_copied_and_cannot_be_changed() -> None:
    table = TABLE.copy()
    problem = Problem(G, features=table)
    table[:] = 0
    features: Any = problem.features
    np.testing.assert_array_equal(features, TABLE)
    with pytest.raises(ValueError, match="read-only"):
        features[0, 0] = 1.0


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (Problem(G, contexts=5), "Problem(3 arms, 5 contexts, no horizon)"),
        (Problem(G, features=2, horizon=9), "Problem(3 arms, contexts of 2 features, horizon 9)"),
        (Problem(G, features=TABLE), "Problem(3 arms, 5 contexts of 2 features, no horizon)"),
    ],
)
def test_a_problem_says_what_it_is(problem: Problem, text: str) -> None:
    assert repr(problem) == text


@pytest.mark.parametrize("beyond", [1 + 2**-52, 1 + 5e-10, -5e-10])
def test_losses_may_leave_their_limits_by_rounding_and_no_more(beyond: float) -> None:
    assert not 0 <= beyond <= 1
    graph = graphs.singletons(2)
    linear = np.ones((1, 1))
    for problem in (Problem(graph, contexts=1), Problem(graph, features=linear)):
        learner = CrossGraphAdaptive().start(problem, seed=0)
        learner.learn(learner.act(0), [[beyond]])
        with pytest.raises(InvalidLossesError, match="from 0 to 1"):
            learner.learn(learner.act(0), [[1.00001 if beyond > 1 else -1e-5]])
    table = from_table([[[beyond, 0.5]]], graph)
    assert table.losses(0)[0, 0] == beyond


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_losses_that_are_no_numbers_are_refused() -> None:
    learner = CrossGraphAdaptive().start(Problem(graphs.singletons(2), features=2), seed=0)
    decision = learner.act((1e10, 1e10))
    with pytest.raises(InvalidLossesError):
        learner.learn(decision, [[1e308, -1e308]])  # infinity less infinity


@pytest.mark.parametrize("own", [1, 3])
def test_the_first_bad_row_is_that_of_trying_every_context(own: int) -> None:
    rng = np.random.default_rng(own)
    table = rng.uniform([0.5, -1.0], 1.0, (6, own, 2))
    form = Problem(G, features=table if own > 1 else table[:, 0]).form
    assert isinstance(form, LinearForm)
    found = set()
    for _ in range(300):
        rows, arms = rng.uniform([0.0, -0.3], [1.2, 0.3], (2, 2)), rng.integers(0, 3, 2)
        losses = np.einsum("cjf,jf->jc", table[:, np.minimum(arms, own - 1)], rows)
        bad = np.argwhere((losses < 0) | (losses > 1))
        expected = (-1, -1) if bad.size == 0 else tuple(bad[0].tolist())
        assert form.first_bad(rows, arms) == expected
        found.add(expected[0])
    assert found == {-1, 0, 1}
