"""Bad input, one by one: an error of the package's tree that says what, what for, and what came.

Bad feedback to a learner is in learners/test_learner.py, bad files in test_checkpoints.py.
"""

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from crossbandit import CrossGraph, FeedbackGraph, Problem, graphs, simulate, simulate_many
from crossbandit.algorithms import (
    Algorithm,
    CrossGraphKnown,
    PerContextExp3,
    PerContextGraph,
    SchneiderZimmert,
)
from crossbandit.environments import (
    BlockEnvironment,
    FiniteContexts,
    LossBlock,
    UniformVectors,
    from_coefficients,
    from_table,
    paper_benchmark,
    switching,
    zipf,
)
from crossbandit.errors import (
    CrossbanditError,
    InvalidContextError,
    InvalidGraphError,
    InvalidLossesError,
    InvalidParameterError,
)
from tests.cases import every_algorithm
from tests.drivers import play, start

G = graphs.threshold(3)
LOSSES = np.full((8, 2, 3), 0.5)
COEFFICIENTS = np.full((8, 3, 2), 0.2)
FEATURES = [[1.0, 0.0], [1.0, 1.0]]

# What is refused, the error, and a message with the parameter, the expectation and the value.
Refusal = tuple[Callable[[], object], type[CrossbanditError], str]


def changed(array: Any, value: float) -> Any:
    array = array.copy()
    array[1, 1, 0] = value
    return array


def refused(cases: dict[str, Refusal]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        ("call", "error", "message"), list(cases.values()), ids=list(cases)
    )


# ---------------------------------------------------------------------------------- parameters

POSITIVE = [0, 0.0, -0.1, math.nan, math.inf, -math.inf, 10**400, "0.1", True, [0.1], 1j]
PARAMETERS: list[tuple[type[Algorithm], str, list[Any], str]] = [
    *(
        (algorithm, name, POSITIVE, "a finite number above 0. Got")
        for algorithm, names in (
            (CrossGraph, ("eta", "gamma", "beta")),
            (CrossGraphKnown, ("eta", "gamma", "beta")),
            (SchneiderZimmert, ("eta", "gamma")),
            (PerContextGraph, ("eta",)),
            (PerContextExp3, ("eta",)),
        )
        for name in names
    ),
    *(
        (algorithm, "rho", [*POSITIVE, 1.0, 1.5], "a finite number above 0 and below 1. Got")
        for algorithm in (CrossGraph, CrossGraphKnown)
    ),
    *(
        (
            algorithm,
            "epoch_length",
            [0, -2, 1, 3, 2.0, "4", True, math.nan],
            "an even integer of at least 2. Got",
        )
        for algorithm in (CrossGraph, SchneiderZimmert)
    ),
    (
        CrossGraph,
        "tuning",
        ["best", "", 1, None, ["theorem"]],
        "one of 'experiment', 'theorem', 'proved'. Got",
    ),
]


@pytest.mark.parametrize(
    ("algorithm", "name", "value", "expected"),
    [
        pytest.param(kind, name, value, expected, id=f"{kind.__name__}({name}={str(value)[:9]})")
        for kind, name, values, expected in PARAMETERS
        for value in values
    ],
)
def test_a_parameter_outside_its_domain_is_refused(
    algorithm: Any, name: str, value: object, expected: str
) -> None:
    owner = algorithm.__name__
    with pytest.raises(InvalidParameterError) as refusal:
        algorithm(**{name: value})
    assert str(refusal.value) == (
        f"The '{name}' parameter of {owner} must be {expected} {value!r}."
    )


@every_algorithm
@pytest.mark.parametrize("seed", [-1, 1.0, "1", True, [1], math.nan])
def test_a_bad_seed_is_refused(algorithm: Algorithm, seed: Any) -> None:
    law = [0.5, 0.5]
    problem = Problem(G, contexts=2, horizon=100, context_distribution=law)
    message = "'seed'.*an integer of at least 0, a SeedSequence, a Generator or None. Got"
    with pytest.raises(InvalidParameterError, match=message):
        algorithm.start(problem, seed=seed)
    with pytest.raises(InvalidParameterError, match=message):
        simulate(algorithm, from_table(np.zeros((100, 2, 3)), G), seed=seed)


# -------------------------------------------------------------------------------------- graphs

NOT_STRONG = {
    "an arm that nobody reveals": ([[1, 1, 0], [1, 1, 0], [1, 1, 0]], "arm 2 has no self-loop"),
    "an arm that only some reveal": (
        [[0, 1, 0], [1, 1, 1], [0, 1, 1]],
        "arm 0 has no self-loop and is not revealed by arm 2",
    ),
}


@pytest.mark.parametrize("graph", NOT_STRONG)
@pytest.mark.parametrize("algorithm", [CrossGraph(), CrossGraphKnown(), PerContextGraph()])
def test_a_graph_that_is_not_strongly_observable_is_refused(
    algorithm: Algorithm, graph: str
) -> None:
    adjacency, lack = NOT_STRONG[graph]
    law = [0.5, 0.5]
    problem = Problem(FeedbackGraph(adjacency), contexts=2, horizon=100, context_distribution=law)
    owner = type(algorithm).__name__
    with pytest.raises(InvalidGraphError, match=f"'graph' parameter of {owner} .*{lack}"):
        algorithm.start(problem, seed=0)


@pytest.mark.parametrize("algorithm", [SchneiderZimmert(), PerContextExp3()])
def test_the_standard_bandit_baselines_play_on_any_graph(algorithm: Algorithm) -> None:
    graph = FeedbackGraph(NOT_STRONG["an arm that nobody reveals"][0])
    learner = algorithm.start(Problem(graph, contexts=2, horizon=100), seed=0)
    decision = learner.act(0)
    assert list(decision.revealed) == [decision.arm]


@pytest.mark.parametrize("graph", [graphs.complete(1), FeedbackGraph([[0]])])
def test_one_arm_is_refused(graph: FeedbackGraph) -> None:
    message = "'graph' parameter of Problem must be .* at least 2 arms. Got 1 arm"
    with pytest.raises(InvalidParameterError, match=message):
        Problem(graph, contexts=2, horizon=100)
    with pytest.raises(InvalidParameterError, match=message):
        from_table(np.zeros((10, 2, 1)), graph)


@every_algorithm
def test_one_context_is_the_ordinary_graph_bandit(algorithm: Algorithm) -> None:
    losses = np.tile([0.2, 0.9, 0.9], (400, 1, 1))
    environment = from_table(losses, G)
    run = simulate(algorithm, environment, seed=0)
    assert set(run.contexts) == {0}
    assert set(run.comparator_arms) == {0}
    assert np.mean(run.arms[200:] == 0) >= np.mean(run.arms[:50] == 0)
    learner = start(algorithm, environment)
    play(learner, environment)
    assert learner.policy(0)[0] > 0.5


# -------------------------------------------------------------------------------------- horizon


@pytest.mark.parametrize("horizon", [0, -1, 1.0, "10", True, math.inf])
def test_a_horizon_must_be_a_number_of_rounds(horizon: Any) -> None:
    message = "'horizon' parameter of Problem must be an integer of at least 1. Got"
    with pytest.raises(InvalidParameterError, match=message):
        Problem(G, contexts=2, horizon=horizon)


@pytest.mark.parametrize("horizon", [1, 2, 3])
@pytest.mark.parametrize("algorithm", [CrossGraph(), SchneiderZimmert()])
def test_two_epochs_need_four_rounds(algorithm: Algorithm, horizon: int) -> None:
    owner = type(algorithm).__name__
    message = f"'horizon' .* at least 4 for {owner}: a warm-up epoch.* Got {horizon}"
    with pytest.raises(InvalidParameterError, match=message):
        algorithm.start(Problem(G, contexts=2, horizon=horizon), seed=0)
    with pytest.raises(InvalidParameterError, match=message):
        simulate(algorithm, from_table(LOSSES[:horizon], G), seed=0)


@pytest.mark.parametrize("horizon", [1, 3])
@pytest.mark.parametrize("algorithm", [CrossGraphKnown(), PerContextGraph(), PerContextExp3()])
def test_the_others_play_a_single_round(algorithm: Algorithm, horizon: int) -> None:
    run = simulate(algorithm, from_table(LOSSES[:horizon], G), seed=0)
    assert run.losses.tolist() == [0.5] * horizon
    assert run.final_regret == 0.0


# ------------------------------------------------------------------------------------- problems

NOT_A_LAW: dict[str, tuple[Any, str]] = {
    "sums to less": ([0.5, 0.4], "2 probabilities that sum to 1. Got a sum of 0.9"),
    "sums to more": ([0.5, 0.6], "2 probabilities that sum to 1. Got a sum of 1.1"),
    "negative": ([1.5, -0.5], "2 probabilities. Got -0.5 for context 1"),
    "NaN": ([math.nan, 1.0], "2 probabilities. Got nan for context 0"),
    "infinite": ([math.inf, 0.0], "2 probabilities. Got inf for context 0"),
    "too few": ([1.0], r"2 probabilities. Got an array of shape \(1,\)"),
    "too many": ([0.2, 0.3, 0.5], r"2 probabilities. Got an array of shape \(3,\)"),
    "a table": ([[0.5, 0.5]], r"2 probabilities. Got an array of shape \(1, 2\)"),
    "a number": (1.0, r"2 probabilities. Got an array of shape \(\)"),
    "words": (["a", "b"], "2 probabilities. Got text, such as 'a'"),
    "numbers in quotes": (["0.5", "0.5"], "2 probabilities. Got text, such as '0.5'"),
    "complex": ([0.5 + 1j, 0.5], r"2 probabilities. Got complex numbers, such as \(0.5\+1j\)"),
}


@pytest.mark.parametrize("law", NOT_A_LAW)
def test_a_context_distribution_must_be_one(law: str) -> None:
    values, expected = NOT_A_LAW[law]
    message = f"'context_distribution' parameter of Problem must be {expected}"
    with pytest.raises(InvalidParameterError, match=message):
        Problem(G, contexts=2, context_distribution=values)
    name = "'context_distribution' parameter of"
    with pytest.raises(InvalidParameterError, match=f"{name} from_coefficients must be {expected}"):
        from_coefficients(COEFFICIENTS, G, FEATURES, values)
    with pytest.raises(InvalidParameterError, match=f"{name} from_table must be {expected}"):
        from_table(LOSSES, G, values)


NO_FEATURES: list[Any] = [
    0,
    -1,
    True,
    1.5,
    "ab",
    [1.0, 2.0],
    [[]],
    [[1.0], [1.0, 2.0]],
    [[1.0, math.nan]],
    [[math.inf]],
    np.ones((2, 4, 1)),
    np.ones((2, 3, 1, 1)),
]

NO_SAMPLES: list[Any] = [
    "ab",
    1.0,
    [1.0, 2.0],
    [[1.0]],
    [[]],
    [[1.0, math.nan]],
    [[1.0], [1.0, 2.0]],
]

PROBLEMS: dict[str, Refusal] = {
    "no graph": (
        lambda: Problem("ring", contexts=2),  # type: ignore[arg-type]
        InvalidParameterError,
        r"'graph' parameter of Problem must be a FeedbackGraph, or its matrix.* Got 'ring'",
    ),
    "neither contexts nor features": (
        lambda: Problem(G),
        InvalidParameterError,
        "either 'contexts'.* or 'features'.* Got neither",
    ),
    "both contexts and features": (
        lambda: Problem(G, contexts=2, features=2),
        InvalidParameterError,
        "either 'contexts'.* or 'features'.* Got both",
    ),
    **{
        f"contexts={contexts}": (
            lambda contexts=contexts: Problem(G, contexts=contexts),  # type: ignore[misc]
            InvalidParameterError,
            "'contexts' parameter of Problem must be an integer of at least 1. Got",
        )
        for contexts in (0, -3, 2.0, "2", True)
    },
    **{
        f"features={features}": (
            lambda features=features: Problem(G, features=features),  # type: ignore[misc]
            InvalidParameterError,
            "'features' parameter of Problem must be .* Got",
        )
        for features in NO_FEATURES
    },
    **{
        f"context_sample={sample}": (
            lambda sample=sample: Problem(G, features=2, context_sample=sample),  # type: ignore[misc]
            InvalidParameterError,
            r"'context_sample' parameter of Problem must be .* \(any, 2\). Got",
        )
        for sample in NO_SAMPLES
    },
    "a sample of numbered contexts": (
        lambda: Problem(G, contexts=2, context_sample=[[1.0], [2.0]]),
        InvalidParameterError,
        "'context_sample' parameter of Problem must be None.* Got one",
    ),
    **{
        f"precision={precision}": (
            lambda precision=precision: Problem(G, contexts=2, precision=precision),  # type: ignore[misc]
            InvalidParameterError,
            "'precision' parameter of Problem must be one of 'float64', 'float32'. Got",
        )
        for precision in ("float16", 64, None)
    },
}


@refused(PROBLEMS)
def test_a_bad_problem_is_refused(
    call: Callable[[], object], error: type[CrossbanditError], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()


# --------------------------------------------------------------------------------- environments


class Blocks(BlockEnvironment):
    """An environment whose blocks are what they are given."""

    def __init__(self, block: LossBlock, law: Any = None) -> None:
        self.problem = Problem(G, contexts=2, horizon=8)
        self.context_distribution = FiniteContexts(2) if law is None else law
        self._block = block

    def block(self, start: int, stop: int) -> LossBlock:
        del start, stop
        return self._block


GOOD_BLOCK = LossBlock(np.full((1, 3, 2), 0.5), np.zeros((8, 3, 1)), np.zeros((1, 2)), clip=False)


class Law:
    """A law of contexts that draws whatever it was given."""

    probabilities = None

    def __init__(self, contexts: Any) -> None:
        self._contexts = np.array(contexts)

    def draw(self, generator: np.random.Generator, count: int) -> Any:
        del generator
        return self._contexts[:count]


def run(environment: Any) -> object:
    return simulate(CrossGraph(), environment, seed=0)


def bad_block(**changes: Any) -> Callable[[], object]:
    return lambda: run(Blocks(GOOD_BLOCK._replace(**changes)))


ENVIRONMENTS: dict[str, Refusal] = {
    "table: loss above 1": (
        lambda: from_table(changed(LOSSES, 1.5), G),
        InvalidLossesError,
        "'losses' .* numbers from 0 to 1. Got 1.5 in round 1, context 1, arm 0",
    ),
    "table: loss below 0": (
        lambda: from_table(changed(LOSSES, -1e-8), G),
        InvalidLossesError,
        "'losses' .* numbers from 0 to 1. Got -1e-08 in round 1, context 1, arm 0",
    ),
    "table: NaN": (
        lambda: from_table(changed(LOSSES, math.nan), G),
        InvalidLossesError,
        "'losses' .* numbers from 0 to 1. Got nan in round 1, context 1, arm 0",
    ),
    "table: two dimensions": (
        lambda: from_table(LOSSES[0], G),
        InvalidLossesError,
        r"'losses' .* shape \(rounds, contexts, 3\). Got shape \(2, 3\)",
    ),
    "table: too few arms": (
        lambda: from_table(LOSSES[:, :, :2], G),
        InvalidLossesError,
        r"'losses' .* shape \(rounds, contexts, 3\). Got shape \(8, 2, 2\)",
    ),
    "table: no rounds": (
        lambda: from_table(LOSSES[:0], G),
        InvalidLossesError,
        r"'losses' .* shape \(rounds, contexts, 3\). Got shape \(0, 2, 3\)",
    ),
    "table: words": (
        lambda: from_table("losses", G),
        InvalidLossesError,
        r"'losses' .* array of numbers .* Got text, such as 'losses'",
    ),
    "table: no graph": (
        lambda: from_table(LOSSES, None),  # type: ignore[arg-type]
        InvalidParameterError,
        "'graph' parameter of from_table must be a FeedbackGraph, or its matrix.* Got None",
    ),
    "table: a law of other contexts": (
        lambda: from_table(LOSSES, G, FiniteContexts(5)),
        InvalidParameterError,
        r"'context_distribution' .* 2 probabilities. Got an array of shape \(5,\)",
    ),
    "coefficients: NaN": (
        lambda: from_coefficients(changed(COEFFICIENTS, math.nan), G, FEATURES),
        InvalidLossesError,
        "'coefficients' .* finite numbers. Got nan in round 1, arm 1, feature 0",
    ),
    "coefficients: too few arms": (
        lambda: from_coefficients(COEFFICIENTS[:, :2], G, FEATURES),
        InvalidLossesError,
        r"'coefficients' .* shape \(rounds, 3, features\). Got shape \(8, 2, 2\)",
    ),
    "coefficients: too few features": (
        lambda: from_coefficients(COEFFICIENTS[:, :, :1], G, FEATURES),
        InvalidLossesError,
        "'coefficients' .* each of 2 features. Got 1",
    ),
    "coefficients: a number": (
        lambda: from_coefficients(0.5, G, UniformVectors([0], [1])),
        InvalidLossesError,
        r"'coefficients' .* shape \(rounds, 3, features\). Got shape \(\)",
    ),
    "coefficients: ragged": (
        lambda: from_coefficients([[[1.0], [1.0, 2.0]]], G, FEATURES),
        InvalidLossesError,
        r"'coefficients' .* shape \(rounds, 3, features\). Got rows of unequal length",
    ),
    "coefficients: no graph": (
        lambda: from_coefficients(COEFFICIENTS, "ring", FEATURES),
        InvalidParameterError,
        "'graph' parameter of from_coefficients must be a FeedbackGraph, or .* Got 'ring'",
    ),
    "coefficients: features of words": (
        lambda: from_coefficients(COEFFICIENTS, G, "ab"),
        InvalidParameterError,
        "'contexts' parameter of from_coefficients must be .* Got text, such as 'ab'",
    ),
    "coefficients: one vector": (
        lambda: from_coefficients(COEFFICIENTS, G, [1.0, 0.0]),
        InvalidParameterError,
        r"'contexts' parameter of from_coefficients must be .* Got an array of shape \(2,\)",
    ),
    "coefficients: a law and a distribution": (
        lambda: from_coefficients(COEFFICIENTS, G, UniformVectors([1, 0], [1, 1]), [1.0]),
        InvalidParameterError,
        "'context_distribution' .* must be None",
    ),
    "coefficients: losses above 1": (
        lambda: run(from_coefficients(10 * COEFFICIENTS, G, FEATURES)),
        InvalidLossesError,
        r"must lie in \[0, 1\]. Got [24].0 in round 0",
    ),
    "coefficients: losses below 0": (
        lambda: run(from_coefficients(-COEFFICIENTS, G, FEATURES)),
        InvalidLossesError,
        r"must lie in \[0, 1\]. Got -0.[24] in round 0",
    ),
    "coefficients: vectors of another length": (
        lambda: run(from_coefficients(COEFFICIENTS, G, UniformVectors([0] * 3, [1] * 3))),
        InvalidContextError,
        r"must draw 8 vectors of 2 finite numbers. Got an array of shape \(8, 3\)",
    ),
    "benchmark: neither alpha nor radius": (
        lambda: paper_benchmark(100),
        InvalidParameterError,
        "either 'alpha'.* or 'radius'. Got neither",
    ),
    "benchmark: both": (
        lambda: paper_benchmark(100, alpha=4, radius=1),
        InvalidParameterError,
        "either 'alpha'.* or 'radius'. Got both",
    ),
    "benchmark: an alpha that no ring has": (
        lambda: paper_benchmark(100, alpha=5),
        InvalidParameterError,
        r"'alpha' .* \[1, 2, 3, 4, 8\]. Got 5",
    ),
    "benchmark: alpha 0": (
        lambda: paper_benchmark(100, alpha=0),
        InvalidParameterError,
        "'alpha' .* at least 1. Got 0",
    ),
    "benchmark: radius -1": (
        lambda: paper_benchmark(100, radius=-1),
        InvalidParameterError,
        "'radius' .* at least 0. Got -1",
    ),
    "benchmark: one arm": (
        lambda: paper_benchmark(100, alpha=1, arms=1),
        InvalidParameterError,
        "'arms' .* at least 2. Got 1",
    ),
    "benchmark: no contexts": (
        lambda: paper_benchmark(100, alpha=4, contexts=0),
        InvalidParameterError,
        "'contexts' .* at least 1. Got 0",
    ),
    "benchmark: no rounds": (
        lambda: paper_benchmark(0, alpha=4),
        InvalidParameterError,
        "'horizon' .* at least 1. Got 0",
    ),
    "benchmark: seed -1": (
        lambda: paper_benchmark(100, alpha=4, table_seed=-1),
        InvalidParameterError,
        "'table_seed' .* at least 0. Got -1",
    ),
    "switching: no graph": (
        lambda: switching("ring", 100),  # type: ignore[arg-type]
        InvalidParameterError,
        "'graph' parameter of switching must be a FeedbackGraph, or its matrix.* Got 'ring'",
    ),
    "switching: two arms": (
        lambda: switching(graphs.complete(2), 100),
        InvalidParameterError,
        "'graph' .* at least 3 arms. Got 2 arms",
    ),
    "switching: no rounds": (
        lambda: switching(G, 0),
        InvalidParameterError,
        "'horizon' .* at least 1. Got 0",
    ),
    "switching: too many switches": (
        lambda: switching(G, 10, switches=10),
        InvalidParameterError,
        "'switches' .* below the horizon, 10. Got 10",
    ),
    "switching: no switch": (
        lambda: switching(G, 10, switches=0),
        InvalidParameterError,
        "'switches' .* at least 1. Got 0",
    ),
    "switching: no groups": (
        lambda: switching(G, 100, groups=0),
        InvalidParameterError,
        "'groups' .* at least 1. Got 0",
    ),
    "switching: no contexts": (
        lambda: switching(G, 100, contexts=0),
        InvalidParameterError,
        "'contexts' .* at least 1. Got 0",
    ),
    "switching: gap 0": (
        lambda: switching(G, 100, gap=0),
        InvalidParameterError,
        "'gap' .* above 0 .* Got 0",
    ),
    "switching: gap too wide": (
        lambda: switching(G, 100, gap=0.3),
        InvalidParameterError,
        "'gap' .* at most 0.2.* Got 0.3",
    ),
    "switching: a law of other contexts": (
        lambda: run(switching(G, 100, contexts=4, context_distribution=FiniteContexts(40))),
        InvalidParameterError,
        "'context_distribution' parameter of switching must be 4 probabilities. Got an array of",
    ),
    "switching: a graph for a distribution": (
        lambda: switching(G, 100, contexts=4, context_distribution=cast("Any", G)),
        InvalidParameterError,
        "'context_distribution' parameter of switching must be 4 probabilities. Got Feedback",
    ),
    "contexts: none": (
        lambda: FiniteContexts(0),
        InvalidParameterError,
        "'distribution' .* at least 1. Got 0",
    ),
    "contexts: no probabilities": (
        lambda: FiniteContexts([]),
        InvalidParameterError,
        r"'distribution' .* probabilities. Got an array of shape \(0,\)",
    ),
    "contexts: sum": (
        lambda: FiniteContexts([0.5, 0.4]),
        InvalidParameterError,
        "'distribution' .* sum to 1. Got a sum of 0.9",
    ),
    "zipf: no contexts": (
        lambda: zipf(0),
        InvalidParameterError,
        "'contexts' parameter of zipf must be an integer of at least 1. Got 0",
    ),
    "zipf: exponent": (
        lambda: zipf(3, -1),
        InvalidParameterError,
        "'exponent' parameter of zipf must be a finite number of at least 0. Got -1",
    ),
    "vectors: low above high": (
        lambda: UniformVectors([0, 2], [1, 1]),
        InvalidParameterError,
        r"'low' .* nowhere above high. Got low=\[0, 2\] and high=\[1, 1\]",
    ),
    "vectors: lengths": (
        lambda: UniformVectors([0], [1, 1]),
        InvalidParameterError,
        "'low' .* nowhere above high. Got low",
    ),
    "vectors: infinite": (
        lambda: UniformVectors([-math.inf], [-math.inf]),
        InvalidParameterError,
        "'low' .* a finite vector .* Got low",
    ),
    "vectors: words": (
        lambda: UniformVectors("a", "b"),
        InvalidParameterError,
        "'low' .* a finite vector .* Got low='a'",
    ),
    "block: too few rounds": (
        bad_block(coefficients=np.zeros((7, 3, 1))),
        InvalidLossesError,
        r"coefficients of shape \(8, 3, 'k'\).* Got .*\(7, 3, 1\)",
    ),
    "block: too few arms": (
        bad_block(base=np.zeros((1, 2, 2))),
        InvalidLossesError,
        r"a base of shape \(8, 3, 2\) or \(1, 3, 2\).* Got \(1, 2, 2\)",
    ),
    "block: too few contexts": (
        bad_block(features=np.zeros((1, 1))),
        InvalidLossesError,
        r"features of shape \('k', 2\). Got .* and \(1, 1\)",
    ),
    "block: features without coefficients": (
        bad_block(features=np.zeros((2, 2))),
        InvalidLossesError,
        r"coefficients of shape \(8, 3, 'k'\).* Got .*\(8, 3, 1\)",
    ),
    "block: NaN": (
        bad_block(coefficients=changed(np.zeros((8, 3, 1)), math.nan)),
        InvalidLossesError,
        "losses of Blocks must be finite numbers. Got a sum of nan for arm 1, context 0",
    ),
    "block: above 1": (
        bad_block(base=np.full((1, 3, 2), 1.5)),
        InvalidLossesError,
        r"losses must lie in \[0, 1\]. Got 1.5 in round 0",
    ),
    **{
        f"law: {name}": (
            lambda contexts=contexts: run(Blocks(GOOD_BLOCK, Law(contexts))),  # type: ignore[misc]
            InvalidContextError,
            f"context distribution of Blocks must draw 8 integers from 0 to 1. Got {got}",
        )
        for name, contexts, got in (
            ("a context too large", [0] * 7 + [2], ".* from 0 to 2"),
            ("a negative context", [0] * 7 + [-1], ".* from -1 to 0"),
            ("too few", [0] * 7, r"an array of shape \(7,\)"),
            ("no integers", [0.0] * 8, ".* type float64"),
            ("vectors", [[0, 1]] * 8, r"an array of shape \(8, 2\)"),
        )
    },
}


@refused(ENVIRONMENTS)
def test_a_bad_environment_is_refused(
    call: Callable[[], object], error: type[CrossbanditError], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()


# ------------------------------------------------------------------------------------- simulate

SIMULATIONS: dict[str, Refusal] = {
    "a class for an algorithm": (
        lambda: simulate(CrossGraph, from_table(LOSSES, G), seed=0),  # type: ignore[arg-type]
        InvalidParameterError,
        r"'algorithm' .* an Algorithm, such as CrossGraph\(\), or the name .* Got <class",
    ),
    "a problem for an environment": (
        lambda: simulate(CrossGraph(), Problem(G, contexts=2), seed=0),  # type: ignore[arg-type]
        InvalidParameterError,
        r"'environment' .* problem, context_distribution and losses. Got Problem\(",
    ),
    "a record of another kind": (
        lambda: simulate(CrossGraph(), from_table(LOSSES, G), seed=0, record="all"),  # type: ignore[arg-type]
        InvalidParameterError,
        "'record' parameter of simulate must be one of 'full', 'thin'. Got 'all'",
    ),
    "no seeds": (
        lambda: simulate_many(CrossGraph(), from_table(LOSSES, G), []),
        InvalidParameterError,
        "'seeds' parameter of simulate_many must be a list of at least one seed. Got",
    ),
    "no workers": (
        lambda: simulate_many(CrossGraph(), from_table(LOSSES, G), [0], jobs=0),
        InvalidParameterError,
        "'jobs' parameter of simulate_many must be an integer of at least 1. Got 0",
    ),
}


@refused(SIMULATIONS)
def test_a_bad_simulation_is_refused(
    call: Callable[[], object], error: type[CrossbanditError], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()


def test_an_environment_needs_a_horizon() -> None:
    environment = Blocks(GOOD_BLOCK)
    environment.problem = Problem(G, contexts=2)
    with pytest.raises(InvalidParameterError, match="a Problem with a horizon"):
        simulate(PerContextExp3(eta=0.1), environment, seed=0)


@pytest.mark.parametrize("size", [2**62, 2**63, 10**30])
@pytest.mark.parametrize(
    "make",
    [
        graphs.singletons,
        graphs.complete,
        graphs.loopless_clique,
        graphs.threshold,
        lambda size: graphs.ring(size, 1),
        lambda size: graphs.paper_ring(size, 1),
        lambda size: FeedbackGraph.from_edges(size, []),
        lambda size: paper_benchmark(100, alpha=4, arms=size),
        lambda size: paper_benchmark(100, alpha=4, contexts=size),
        lambda size: switching(G, 100, contexts=size),
        FiniteContexts,
        zipf,
    ],
)
def test_a_size_beyond_memory_is_refused_at_once(make: Callable[[int], object], size: int) -> None:
    with pytest.raises(InvalidParameterError, match="of at most"):
        make(size)


def test_seeds_may_have_any_size() -> None:
    environment = switching(G, 100, contexts=4, table_seed=10**30)
    assert environment.losses(0).shape == (G.arms, 4)
