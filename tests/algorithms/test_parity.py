"""Literal transcription = kernel run as Python = kernel compiled: equal arms, close numbers."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crossbandit import CrossGraph, simulate
from crossbandit.algorithms import Algorithm, Learner
from crossbandit.core.streams import stream
from crossbandit.environments import BlockEnvironment
from tests.cases import ALGORITHMS, REFERENCES, WEIGHTED, environments, name, shipped
from tests.drivers import cumulative
from tests.reference.common import EpochTrace, Trace

SEED = 11
CASES = [
    pytest.param(algorithm, environment, id=f"{title}-{name(algorithm)}")
    for title, environment in environments()
    for algorithm in WEIGHTED
]


def reference(algorithm: Algorithm, environment: BlockEnvironment) -> Trace:
    problem = environment.problem
    horizon = problem.horizon
    assert horizon is not None
    features = problem.form.support()
    contexts = environment.context_distribution.draw(stream(SEED, "contexts"), horizon)
    uniforms = stream(SEED, "learner").random(2 * horizon)

    def losses(t: int) -> Any:
        rows = environment.losses(t)
        if features.table.size == 1:
            return rows.T
        return (rows * features.table[features.entry]).sum(axis=2)

    nu = environment.context_distribution.probabilities
    assert nu is not None
    run, arguments, _ = REFERENCES[algorithm.id]
    parameters = arguments(algorithm, problem, nu)
    return run(problem.graph.adjacency, losses, contexts, uniforms, **parameters)


def test_every_algorithm_has_a_transcription() -> None:
    assert set(shipped()) == set(REFERENCES)


def played(algorithm: Algorithm, environment: BlockEnvironment) -> Learner:
    """Return the learner after an episode through `act` and `learn`."""
    problem = environment.problem
    if algorithm.needs_context_distribution:
        law = environment.context_distribution.probabilities
        assert law is not None
        problem = problem.with_distribution(law)
    learner = algorithm.start(problem, seed=SEED)
    horizon = problem.horizon
    assert horizon is not None
    for t, context in enumerate(
        environment.context_distribution.draw(stream(SEED, "contexts"), horizon)
    ):
        decision = learner.act(int(context))
        learner.learn(decision, environment.losses(t)[list(decision.revealed)])
    return learner


def growth(learner: Learner) -> float:
    """Return how often a loss of the last round counts: forgetting lets new ones weigh more."""
    state: Any = learner.state()
    if "reference" not in state:
        return 1.0
    parameters: Any = learner.parameters
    rounds = learner.round - 1 - int(state["reference"][0])
    return float(2.0 ** (rounds / parameters.half_life))


@pytest.mark.parametrize(("algorithm", "environment"), CASES)
def test_compiled_and_plain_simulation_follow_the_transcription(
    algorithm: Algorithm, environment: BlockEnvironment
) -> None:
    trace = reference(algorithm, environment)
    compiled = simulate(algorithm, environment, seed=SEED, compiled=True)
    dense = simulate(algorithm, environment, seed=SEED, compiled=True, factored=False)
    plain = simulate(algorithm, environment, seed=SEED, compiled=False)
    np.testing.assert_array_equal(compiled.arms, trace.arms)
    np.testing.assert_array_equal(dense.arms, trace.arms)
    np.testing.assert_array_equal(plain.arms, trace.arms)
    np.testing.assert_allclose(compiled.losses, trace.losses, rtol=0, atol=1e-14)
    np.testing.assert_allclose(plain.losses, trace.losses, rtol=0, atol=1e-14)


@pytest.mark.parametrize(("algorithm", "environment"), CASES)
def test_estimates_are_those_of_the_transcription(
    algorithm: Algorithm, environment: BlockEnvironment
) -> None:
    trace = reference(algorithm, environment)
    learner = played(algorithm, environment)
    sums = cumulative(learner) / growth(learner)
    np.testing.assert_allclose(sums, trace.cumulative, rtol=1e-11, atol=1e-11)
    if isinstance(trace, EpochTrace):
        state = learner.state()
        np.testing.assert_allclose(state["denominators"], trace.denominators[-1], rtol=1e-12)
        assert state["special"][0] == trace.special_arms[-1]


def test_the_cases_exercise_every_branch_of_algorithm_2() -> None:
    fallbacks = specials = 0
    for _, environment in environments():
        for algorithm in ALGORITHMS:
            if isinstance(algorithm, CrossGraph):
                trace = reference(algorithm, environment)
                assert isinstance(trace, EpochTrace)
                fallbacks += int(trace.fallbacks.sum())
                specials += len({arm for arm in trace.special_arms if arm > 0})
    assert fallbacks > 50
    assert specials > 2


def test_interpreted_cores_play_the_same_arms() -> None:
    script = (
        "import json\n"
        "from tests import cases\n"
        "from crossbandit import simulate\n"
        "print(json.dumps([simulate(a, e, seed=11, compiled=True).arms.tolist()\n"
        "    for _, e in cases.environments() for a in cases.ALGORITHMS]))\n"
    )
    root = Path(__file__).parents[2]
    result = subprocess.run(
        [sys.executable, "-c", script],
        env={
            **os.environ,
            "CROSSBANDIT_INTERPRETED": "1",
            "PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    expected = [
        simulate(algorithm, environment, seed=SEED, compiled=True).arms.tolist()
        for _, environment in environments()
        for algorithm in ALGORITHMS
    ]
    assert json.loads(result.stdout) == expected
