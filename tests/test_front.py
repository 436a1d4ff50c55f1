"""Names, arguments and attributes as their users meet them."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import crossbandit as cb
from crossbandit import algorithms, graphs
from crossbandit.algorithms import from_json, registered
from crossbandit.algorithms.learners.algorithm import FORMER_IDS
from crossbandit.environments import paper_benchmark, stochastic
from crossbandit.errors import InvalidGraphError, InvalidParameterError

if TYPE_CHECKING:
    from crossbandit.core.streams import Seed

MATRIX = [[1, 1, 0], [0, 1, 1], [1, 0, 1]]
PAGES = [
    *(path for path in Path("docs").rglob("*.md") if path.parts[1] in {"how-to", "tutorials"}),
    Path("README.md"),
]


def own_algorithms() -> dict[str, Any]:
    shipped = registered().items()
    return {name: one for name, one in shipped if one.__module__.startswith("crossbandit.")}


def words_of(name: str) -> str:
    """Return the name of a class in small letters, with a hyphen before each word."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()


def bidder(seed: Seed = 1, **more: Any) -> cb.FirstPriceBidder:
    return cb.FirstPriceBidder(bids=11, value_range=(0, 1), seed=seed, **more)


def public(thing: object) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


def test_the_id_of_an_algorithm_is_the_name_of_its_class() -> None:
    assert {name: words_of(one.__name__) for name, one in own_algorithms().items()} == {
        name: name for name in own_algorithms()
    }


def test_former_ids_still_name_the_same_algorithms() -> None:
    assert from_json({"id": "sz-context"}) == cb.SchneiderZimmert()
    assert from_json({"id": "linucb", "width": 0.5}) == algorithms.LinUcb(width=0.5)
    assert not set(FORMER_IDS) & set(own_algorithms())
    run = cb.simulate("obpc-graph", paper_benchmark(100, alpha=4), seed=1)
    assert run.algorithm == cb.PerContextGraph()


@pytest.mark.parametrize("kind", [list, np.array, lambda m: np.array(m, dtype=bool)])
def test_a_matrix_is_a_graph_wherever_one_is_taken(kind: Any) -> None:
    given, graph = kind(MATRIX), cb.FeedbackGraph(MATRIX)
    assert cb.Problem(given, contexts=2).graph == graph
    assert cb.Problem(np.array(given, dtype=float), contexts=2).graph == graph  # type: ignore[arg-type]
    assert stochastic(given, 10).problem.graph == graph
    learner = algorithms.Exp3IX().start(
        cb.Problem(graph, contexts=2, horizon=9, graph_kind="informed"), seed=1
    )
    decision = learner.act(0, graph=given)
    assert list(decision.revealed) == graph.out_neighbors(decision.arm).tolist()
    with pytest.raises(InvalidGraphError, match=r"0 and 1.* Got 2 at \[0, 1\]"):
        cb.Problem([[1, 2], [0, 1]], contexts=2)  # type: ignore[arg-type]
    with pytest.raises(InvalidGraphError, match="of 3 arms"):
        learner.act(0, graph=[[1, 0], [0, 1]])


def test_a_seed_may_be_called_rng() -> None:
    made: Any = cb.FirstPriceBidder
    assert made(bids=11, value_range=(0, 1), rng=7).bid(0.5).amount == bidder(7).bid(0.5).amount
    simulate: Any = cb.simulate
    environment = paper_benchmark(50, alpha=4)
    same = [simulate("exp3-g", environment, **{name: 3}).loss for name in ("rng", "seed")]
    assert same[0] == same[1]
    problem = cb.Problem(graphs.complete(3), contexts=2, horizon=10)
    start: Any = algorithms.Exp3IX().start
    assert start(problem, rng=5).act(0).arm == start(problem, seed=5).act(0).arm
    with pytest.raises(InvalidParameterError, match=r"'rng' parameter of .* left out if seed"):
        made(bids=11, value_range=(0, 1), rng=7, seed=7)


def test_dir_shows_what_has_a_description_and_little_more() -> None:
    problem = cb.Problem(graphs.complete(3), contexts=2, horizon=10)
    learner = cb.CrossGraphCertified().start(problem, seed=1)
    shop = bidder(campaigns={"a": {"budget": 5}}).campaigns["a"]
    for thing, most in ((bidder(), 42), (learner, 26), (learner.snapshot(), 12), (shop, 10)):
        names = public(thing)
        assert len(names) <= most
        for name in names:
            member = inspect.getattr_static(type(thing), name, None)
            described = inspect.isroutine(member) or isinstance(member, property | classmethod)
            assert not described or inspect.getdoc(member), name
            assert hasattr(thing, name) or name == "max_pending"


def test_what_pages_use_of_bidders_and_learners_is_listed() -> None:
    problem = cb.Problem(graphs.complete(3), contexts=2, horizon=10)
    things = {
        "bidder": bidder(),
        "learner": cb.CrossGraphCertified().start(problem, seed=1),
    }
    used: dict[str, set[str]] = {name: set() for name in things}
    for page in PAGES:
        for name, attribute in re.findall(
            r"\b(bidder|learner)\.([a-z_]+)\b(?!\.md)", page.read_text(encoding="utf-8")
        ):
            if attribute not in {"md", "json", "db", "save_to", "toml"}:
                used[name].add(attribute)
    assert all(used.values())
    assert used["bidder"] <= public(things["bidder"])
    assert used["learner"] <= public(things["learner"]) | public(things["bidder"])


def test_everything_of_a_class_of_ones_own_is_listed() -> None:
    class Mine(cb.FirstPriceBidder):
        """A bidder of one's own."""

        def extra(self) -> int:
            return 1

    assert {"extra", "settings", "bid"} <= public(Mine(bids=11, value_range=(0, 1), seed=1))


def test_a_part_of_a_name_gets_a_suggestion() -> None:
    with pytest.raises(AttributeError, match=r"Did you mean 'PostedPriceSeller'\?"):
        cb.Seller  # type: ignore[attr-defined]  # noqa: B018
