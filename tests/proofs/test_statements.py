"""What the library says about the proofs: the theorems exist, and the bound is theirs."""

import math
import re
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

from crossbandit import (
    CrossGraph,
    CrossGraphKnown,
    FeedbackGraph,
    Problem,
    SchneiderZimmert,
    graphs,
)
from crossbandit.algorithms.epoch_core import EpochParameters
from crossbandit.algorithms.tuning import (
    GraphSize,
    best_parameters,
    bound2,
    proved,
    proved_bound,
    smallest_bound,
)
from crossbandit.verify.theory import statements
from crossbandit.verify.theory.statements import Proof, proofs_of
from tests.proofs.extraction import PROOFS

NAMED = [one for name, *_ in statements._PROOFS for one in proofs_of(name)]


@pytest.mark.parametrize("proof", NAMED, ids=str)
def test_every_named_theorem_exists(proof: Proof) -> None:
    text = (PROOFS / proof.file).read_text(encoding="utf-8")
    assert re.search(
        rf"^(Theorem|Lemma|Corollary) {re.escape(proof.theorem)}\b", text, re.MULTILINE
    )


def test_a_statement_finds_its_own_theorems_only() -> None:
    assert [one.theorem for one in proofs_of("Proposition 2 (graph sum)")] == ["proposition2"]
    assert proofs_of("Lemma 1") == ()
    assert proofs_of("Theorem 1, in T (experiment's rule)") == ()
    assert all(one.theorem.startswith("lemma5") for one in proofs_of("Lemma 5 (stability)"))
    assert all("15" in one.theorem for one in proofs_of("Lemma 15 (cancellation)"))


def definition(name: str) -> str:
    """Return the right side of a definition of Statement.v as a Python expression."""
    text = (PROOFS / "Statement.v").read_text(encoding="utf-8")
    found = re.search(rf"Definition {name}\b.*?:=(.*?)\.\n(?=Definition|End|\n)", text, re.DOTALL)
    assert found is not None, f"Statement.v has no definition of {name}."
    body = " ".join(found[1].split())
    body = re.sub(r"let (\w+) := (.*?) in (.*)", r"(lambda \1: \3)(\2)", body)
    body = body.replace("INR (alpha G)", "alpha").replace("^", "**")
    body = re.sub(r"Rmin K (\(.*\))", r"min(K, \1)", body)
    body = re.sub(r"if (\w+) then (.*) else (.*)", r"(\2) if \1 else (\3)", body)
    body = re.sub(r"\b(kappa|pair_cost) n iota\b", r"\1(n, iota)", body)
    return re.sub(r"\b(ln|exp|INR) (\w+)", r"\1(\2)", body)


def coq_bound2(size: GraphSize, horizon: int, given: EpochParameters, iota: float) -> float:
    """Evaluate bound2 as Statement.v has it."""
    eta, gamma, rho, beta, length = given
    n, m = length // 2, math.ceil(horizon / length) - 1
    names: dict[str, Any] = {
        "K": size.arms,
        "alpha": size.alpha,
        "mutual": size.mutual,
        "eta": eta,
        "gamma": gamma,
        "rho": rho,
        "beta": beta,
        "n": n,
        "m": m,
        "iota": iota,
        "ln": math.log,
        "exp": math.exp,
        "INR": float,
    }
    names["graph_sum"] = eval(definition("graph_sum"), names)  # noqa: S307
    for function in ("kappa", "pair_cost"):
        value = eval(definition(function), names)  # noqa: S307
        names[function] = lambda *_, value=value: value
    return float(eval(definition("bound2"), names))  # noqa: S307


@pytest.mark.parametrize("seed", range(50))
def test_the_bound_is_the_one_of_the_theorem(seed: int) -> None:
    rng = np.random.default_rng(seed)
    arms = int(rng.integers(2, 200))
    size = GraphSize(arms, int(rng.integers(1, arms + 1)), mutual=seed % 2 == 0)
    pairs = int(rng.integers(100, 10_000))
    gamma, rho = rng.uniform(0.001, 0.5, size=2).tolist()
    given = EpochParameters(
        rng.uniform(1e-6, 1e-4), gamma, rho, gamma * rng.uniform(4, 8), 2 * pairs
    )
    horizon, iota = int(rng.integers(2 * pairs, 10**7)), rng.uniform(1, 30)
    expected = coq_bound2(size, horizon, given, iota)
    assert bound2(size, horizon, given, iota) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("horizon", "size", "expected"),
    [
        (10**5, GraphSize(2, 1, mutual=True), 76_398.58),
        (10**6, GraphSize(2, 1, mutual=True), 272_690.68),
        (10**8, GraphSize(9, 4, mutual=False), 13_912_378.90),
    ],
)
def test_the_bound_has_the_values_in_the_proofs_readme(
    horizon: int, size: GraphSize, expected: float
) -> None:
    """At the parameters of Theorem 1, which `proved` improves on."""
    arms, alpha, _ = size
    iota = math.log(2 * arms * horizon)
    pairs = math.floor(3 / 8 * iota * math.sqrt(alpha * horizon / (1 + math.log(arms)))) + 1
    gamma = iota / (2 * pairs)
    closed_form = EpochParameters(1 / (64 * pairs), gamma, gamma, 4 * gamma, 2 * pairs)
    assert bound2(size, horizon, closed_form, iota) == pytest.approx(expected, rel=1e-6)
    assert smallest_bound(size, horizon, closed_form) <= expected * (1 + 1e-6)
    best = best_parameters(size, horizon)
    assert smallest_bound(size, horizon, best) < 0.85 * expected
    rate = math.sqrt(alpha * horizon * (1 + math.log(arms))) * math.log(2 * arms * horizon)
    assert expected < 48 * rate


def test_no_bound_by_alpha_can_take_the_place_of_the_arms_on_the_ring_of_the_paper() -> None:
    """Probabilities that grow like a power have a sum above 5.7, where alpha is 4."""
    ring = graphs.paper_ring(9, 1)
    parameters = proved(Problem(ring, contexts=1, horizon=10**6))
    least, powers = parameters.rho / 9, np.arange(9)
    growth = brentq(lambda x: least * (x**powers).sum() - 1, 1, 100)
    policy = least * growth**powers
    terms = policy / ring.observation_mass(policy)
    total = float(terms[np.diag(ring.adjacency)].sum())
    assert ring.independence_number == 4
    assert total > 5.7
    with_sum, size = GraphSize(9, total, mutual=True), GraphSize(9, 4, mutual=False)
    smallest = smallest_bound(with_sum, 10**6, best_parameters(with_sum, 10**6))
    assert smallest > 0.85 * smallest_bound(size, 10**6, parameters)


def coverage() -> dict[str, str]:
    """Return the table of the page about the proof: whether parameters have a proved bound."""
    text = (PROOFS.parent / "docs/explanation/the-proof.md").read_text(encoding="utf-8")
    table = text.split("### For which parameters")[1].split("\n\n")[1]
    return dict(re.findall(r"^\| `(.+?)` \| (yes|no)\b", table, re.MULTILINE))


def is_covered(call: str, graph: FeedbackGraph, horizon: int) -> bool:
    """Return whether a theorem of Statement.v has a finite bound for a learner's parameters."""
    kinds = {one.__name__: one for one in (CrossGraph, CrossGraphKnown, SchneiderZimmert)}
    algorithm = eval(call, {"__builtins__": {}}, kinds)  # noqa: S307
    problem = Problem(graph, contexts=2, horizon=horizon, context_distribution=np.array([0.5, 0.5]))
    given = algorithm.parameters(problem)
    if isinstance(algorithm, CrossGraphKnown):  # the conditions of Proposition2_explicit
        eta, gamma, rho, beta = given
        return bool(0 < gamma <= beta and 0 < rho < 1 and 0 < eta * (1 + beta) <= 3 * gamma)
    if isinstance(algorithm, SchneiderZimmert):
        problem = problem.with_graph(graphs.singletons(problem.arms))
    return math.isfinite(proved_bound(problem, given))


@pytest.mark.parametrize(
    "graph", [graphs.apple_tasting(), graphs.paper_ring(9, 2), graphs.complete(4)]
)
def test_what_the_page_says_about_parameters_is_so(graph: FeedbackGraph) -> None:
    table = coverage()
    assert len(table) == 5
    for call, said in table.items():
        assert is_covered(call, graph, 10**6) == (said == "yes"), call
