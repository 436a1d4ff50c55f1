"""The algorithms that the theorems are about play what the learners of the library play.

Both get the same contexts, losses and uniform numbers. A difference in one arm, or in one
probability by more than rounding, is a failure.
"""

from pathlib import Path

import numpy as np
import pytest

from crossbandit import CrossGraph, CrossGraphKnown, FeedbackGraph, Problem
from crossbandit.algorithms.epoch_core import EpochParameters
from crossbandit.core.types import Floats, Integers
from crossbandit.verify.checks.enumeration import ScriptedGenerator, policies_of
from tests.proofs.extraction import (
    PROOFS,
    Script,
    build,
    build_with_mistake,
    require_coq,
    run_extracted,
)
from tests.reference import cross_graph

INSTANCES = 200
ROUNDS = 40
TOLERANCE = 1e-12


def random_script(algorithm: int, seed: int) -> Script:
    """Return a strongly observable graph and a script; half of all arms have no self-loop."""
    rng = np.random.default_rng([algorithm, seed])
    arms, contexts, pairs = (int(rng.integers(low, 6)) for low in (2, 1, 1))
    graph = rng.random((arms, arms)) < rng.uniform(0.1, 0.9)
    loops = rng.random(arms) < 0.5
    graph[:, ~loops] = True
    np.fill_diagonal(graph, loops)
    return Script(
        algorithm=algorithm,
        nu=rng.dirichlet(np.ones(contexts)),
        graph=graph,
        parameters=EpochParameters(
            eta=rng.uniform(0.05, 0.8),
            gamma=rng.uniform(0.02, 0.3),
            rho=rng.uniform(0.02, 0.4),
            beta=rng.uniform(0.02, 0.6),
            epoch_length=2 * min(pairs, 4),
        ),
        contexts=rng.integers(contexts, size=ROUNDS),
        uniforms=rng.random((ROUNDS, 3)),
        losses=rng.random((ROUNDS, contexts, arms)),
    )


def run_learner(script: Script) -> tuple[Integers, Floats]:
    """Return the arms and the policies of the library's learner."""
    rounds, contexts, _ = script.losses.shape
    problem = Problem(
        FeedbackGraph(script.graph), contexts=contexts, context_distribution=script.nu
    )
    given = script.parameters._asdict()
    if script.algorithm == 1:
        del given["epoch_length"]
    kind = CrossGraphKnown if script.algorithm == 1 else CrossGraph
    learner = kind(**given).start(problem, seed=0)
    arms, played = [], []
    for t in range(rounds):
        closes_pair = script.algorithm == 2 and t % 2 == 1
        numbers = script.uniforms[t] if closes_pair else script.uniforms[t, :1]
        played.append(policies_of(learner, contexts))
        learner.generator = ScriptedGenerator(numbers.tolist())
        decision = learner.act(int(script.contexts[t]))
        learner.learn(decision, script.losses[t].T[list(decision.revealed)])
        arms.append(decision.arm)
    return np.array(arms), np.array(played)


def fallbacks(script: Script) -> int:
    """Return in how many rounds the definition plays the snapshot instead of the iterate."""
    eta, gamma, rho, beta, length = script.parameters
    in_pairs = script.uniforms.reshape(-1, 2, 3)
    uniforms = np.column_stack([in_pairs[:, 0, 0], in_pairs[:, 1]]).ravel()
    trace = cross_graph.run(
        script.graph,
        lambda t: script.losses[t],
        script.contexts,
        uniforms,
        eta=eta,
        gamma=gamma,
        rho=rho,
        beta=beta,
        L=length,
    )
    return int(trace.fallbacks.sum())


def differs(executable: Path, script: Script) -> bool:
    arms, played = run_learner(script)
    expected_arms, expected = run_extracted(executable, script)
    return not (
        np.array_equal(arms, expected_arms) and np.abs(played - expected).max() <= TOLERANCE
    )


@pytest.fixture(scope="module")
def extracted() -> Path:
    require_coq()
    return build(PROOFS)


@pytest.mark.parametrize("algorithm", [1, 2])
def test_the_learner_is_the_one_of_the_theorem(extracted: Path, algorithm: int) -> None:
    scripts = [random_script(algorithm, seed) for seed in range(INSTANCES)]
    assert [i for i, script in enumerate(scripts) if differs(extracted, script)] == []
    loopless = np.array([int((~np.diag(script.graph)).sum()) for script in scripts])
    assert (loopless == 0).sum() >= 10
    assert (loopless >= 2).sum() >= 50  # the special arm is chosen among several
    if algorithm == 2:
        fell_back = np.array([fallbacks(script) for script in scripts])
        assert (fell_back > 0).sum() >= 50
        assert (fell_back == 0).sum() >= 20


MISTAKES = {
    "a snapshot of the last epoch": (
        2,
        "Memory total' (snap_next s) total'",
        "Memory total' total' total'",
    ),
    "gamma in place of 3/2 gamma": (2, "w' a + 3 / 2 * gamma", "w' a + gamma"),
    "no factor 2 in the estimate": (2, "2 * l / W s a", "l / W s a"),
    "the samples exchanged": (
        2,
        "cf := if second then c1 else c",
        "cf := if second then c else c1",
    ),
    "no fallback": (2, "[forall a, geb (2 * rp s c a) (re s c a)]", "true"),
    "the selector of Algorithm 1 on u": (1, "special_arm (m1 L)", "special_arm (u1 L)"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_the_definition_is_caught(name: str, tmp_path: Path) -> None:
    require_coq()
    algorithm, old, new = MISTAKES[name]
    wrong = build_with_mistake(tmp_path, old, new)
    assert any(differs(wrong, random_script(algorithm, seed)) for seed in range(20))


@pytest.mark.parametrize(
    ("ci", "outcome"), [("", pytest.skip.Exception), ("1", pytest.fail.Exception)]
)
def test_without_coq_the_link_is_skipped_but_never_in_ci(
    ci: str, outcome: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(outcome, match="apt-get install coq"):
        require_coq()
