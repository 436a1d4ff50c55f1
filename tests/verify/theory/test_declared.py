"""The terms of the regret of exponential weights on declared estimates."""

import math
from typing import Any

import numpy as np
import pytest

from crossbandit import CrossGraphKnown, PerContextGraph, graphs
from crossbandit.algorithms import (
    Algorithm,
    BestOfBothWorlds,
    CrossGraphAdaptive,
    CrossGraphVarying,
    CrossGraphWeak,
    Exp3Edges,
    Exp3G,
    Exp3IX,
    SchneiderZimmert,
    UcbN,
)
from crossbandit.core.streams import stream
from crossbandit.core.types import Floats
from crossbandit.environments import cycling_graphs
from crossbandit.errors import CheckFailedError, InvalidParameterError
from crossbandit.verify.theory import Decomposition, decompose
from tests.cases import table
from tests.drivers import start

ENVIRONMENT = table(graphs.threshold(4), 40, 3, seed=1)
UNBIASED = [Exp3G(), Exp3G(cross_learning=False), PerContextGraph()]


def parts_of(algorithm: Algorithm) -> Decomposition:
    return decompose(algorithm, ENVIRONMENT, [3])


def literal_regret(algorithm: Algorithm) -> float:
    """Return the regret of the policies, in the contexts that count."""
    crosses = getattr(algorithm, "cross_learning", not isinstance(algorithm, PerContextGraph))
    learner, law = start(algorithm, ENVIRONMENT, seed=3), ENVIRONMENT.context_distribution
    regret = 0.0
    for t, context in enumerate(law.draw(stream(3, "contexts"), 40)):
        losses = ENVIRONMENT.losses(t)
        for c in range(3):
            counts = float(np.asarray(law.probabilities)[c]) if crosses else float(c == context)
            own = losses[:, c]
            regret += counts * (learner.policy(c) @ own - own[ENVIRONMENT.best_arms[c]])
        decision = learner.act(int(context))
        learner.learn(decision, losses[list(decision.revealed)])
    return regret


@pytest.mark.parametrize("algorithm", [*UNBIASED, CrossGraphKnown()], ids=str)
def test_the_terms_add_up_to_the_regret(algorithm: Any) -> None:
    parts = parts_of(algorithm)
    assert parts.pseudo_regret[0] == pytest.approx(literal_regret(algorithm))
    assert np.sum(list(parts.terms.values())) == pytest.approx(literal_regret(algorithm))
    means = parts.table()["mean"]
    assert means[:-1].sum() == pytest.approx(means["total"])
    assert parts.residual < 1e-12


CHANGING = cycling_graphs(ENVIRONMENT, [graphs.ring(4, 1), graphs.threshold(4)], period=3)
OTHERS = (
    CrossGraphAdaptive(),
    CrossGraphVarying(),
    CrossGraphWeak(),
    SchneiderZimmert(),
    BestOfBothWorlds(cross_learning=False),
    Exp3Edges(),
)


@pytest.mark.parametrize("algorithm", OTHERS, ids=str)
def test_so_do_those_with_epochs_and_with_rates_that_change(algorithm: Algorithm) -> None:
    assert parts_of(algorithm).residual < 1e-12
    if "informed" in algorithm.graph_kinds:
        parts = decompose(algorithm, CHANGING, [3])
        assert parts.residual < 1e-12
        assert abs(parts.terms["noise"][0]) > 0.01


@pytest.mark.parametrize("algorithm", UNBIASED, ids=str)
def test_terms_are_within_their_bounds(algorithm: Any) -> None:
    parts = parts_of(algorithm)
    learner = start(algorithm, ENVIRONMENT)
    learners = 3 if learner.state()["estimates"].shape[0] == 3 else 1
    assert parts.terms["bias"][0] == pytest.approx(0.0, abs=1e-9)
    assert parts.terms["stability"][0] > 0
    assert parts.terms["penalty"][0] <= learners * math.log(4) / learner.tuned()["eta"]


def test_implicit_exploration_is_bias_and_not_exploration() -> None:
    terms = parts_of(Exp3IX()).terms
    assert abs(terms["bias"][0]) > 0.1
    assert terms["exploration"][0] == pytest.approx(0.0, abs=1e-9)


def test_other_algorithms_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for algorithm in (UcbN(), CrossGraphAdaptive(half_life=20.0)):
        with pytest.raises(InvalidParameterError, match="an algorithm that declares its estimator"):
            decompose(algorithm, ENVIRONMENT, [0])
    learner = type(Exp3IX().start(ENVIRONMENT.problem, seed=0))
    own = learner.distribution

    def greedy(self: Any, context: Any, readout: Any) -> Floats:
        policy = own(self, context, readout)
        return np.asarray(policy**2 / (policy**2).sum())

    monkeypatch.setattr(learner, "distribution", greedy)
    with pytest.raises(CheckFailedError, match=r"Exp3IX in round . are not FTRL with the rate"):
        decompose(Exp3IX(), ENVIRONMENT, [0])
