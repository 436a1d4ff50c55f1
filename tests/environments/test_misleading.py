"""Losses that mislead: the roles that the docstring promises, and learners that are misled."""

from typing import Any

import numpy as np
import pytest

from crossbandit import FeedbackGraph, graphs, simulate
from crossbandit.algorithms import Exp3G, SuccessiveElimination, TsN, UcbN
from crossbandit.environments import misleading
from crossbandit.errors import InvalidParameterError
from crossbandit.verify.checks import check_environment

ROLES = {  # the means of a role in the two phases
    (0.9, 0.1): "best",
    (0.4, 0.9): "showing",
    (0.5, 0.5): "hiding",
    (0.75, 0.75): "other",
}


def roles(graph: FeedbackGraph, seed: int) -> dict[str, list[int]]:
    """Return the arms of each role, by the means of the two phases in the first context."""
    first, later = misleading(graph, 100, contexts=3, table_seed=seed)._means
    assert (first == first[:, :1]).all()
    assert (later == later[:, :1]).all()
    found: dict[str, list[int]] = {name: [] for name in ROLES.values()}
    for arm, means in enumerate(zip(first[:, 0].tolist(), later[:, 0].tolist(), strict=True)):
        found[ROLES[means]].append(arm)
    return found


@pytest.mark.parametrize(
    "graph",
    [
        graphs.ring(9, 2),
        graphs.threshold(9),
        graphs.loopy_star(9),
        graphs.revealing_action(9),
        graphs.random_weakly_observable(9, density=0.3, seed=1),
    ],
)
def test_the_best_arm_is_shown_by_one_arm_and_hidden_by_another(graph: FeedbackGraph) -> None:
    drawn = set()
    for seed in range(8):
        found = roles(graph, seed)
        [best], [showing], [hiding] = found["best"], found["showing"], found["hiding"]
        assert graph.adjacency[showing, best]
        assert not graph.adjacency[hiding, best]
        drawn.add((best, showing, hiding))
    assert len(drawn) > 2


def test_without_three_such_arms_two_have_roles() -> None:
    apple = roles(graphs.apple_tasting(), 0)
    [best], [hiding] = apple["best"], apple["hiding"]
    assert not graphs.apple_tasting().adjacency[hiding, best]
    for graph in (graphs.singletons(4), graphs.complete(4)):
        found = roles(graph, 0)
        assert [len(found[name]) for name in ROLES.values()] == [1, 0, 1, 2]


def test_means_change_after_three_tenths_and_the_best_arm_is_best_over_all() -> None:
    environment = misleading(graphs.loopy_star(5), 1000, contexts=2)
    assert environment._starts.tolist() == [0, 300]
    first, later = environment._means
    total = 300 * first + 700 * later
    assert (total.argmin(axis=0) == later.argmin(axis=0)).all()
    assert np.isclose(total.min(), 340)  # 0.34 T, against 0.5 T of the hiding arm


def test_it_passes_the_checks() -> None:
    check_environment(misleading(graphs.ring(5, 1), 2_000))


def test_learners_that_keep_means_are_misled() -> None:
    """The hiding arm alone has a regret of 0.16 T. Exploration finds the best arm."""
    horizon = 20_000
    environment = misleading(graphs.threshold(4), horizon, contexts=2)
    shares = {
        one.id: simulate(one, environment, seed=1, show_progress=False).final_regret / horizon
        for one in (UcbN(), TsN(), SuccessiveElimination(), Exp3G())
    }
    assert shares.pop("exp3-g") < 0.06
    assert min(shares.values()) > 0.12


@pytest.mark.parametrize(
    ("graph", "options", "message"),
    [
        (None, {}, "'graph' .* a FeedbackGraph, .* Got None"),
        (graphs.complete(1), {}, "'graph' .* at least 2 arms. Got 1 arm"),
        (graphs.complete(3), {"contexts": 0}, "'contexts' .* at least 1. Got 0"),
        (graphs.complete(3), {"table_seed": -1}, "'table_seed' .* at least 0. Got -1"),
        (graphs.complete(3), {"horizon": 0}, "'horizon' .* at least 1. Got 0"),
    ],
)
def test_bad_arguments_are_refused(
    graph: FeedbackGraph, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        misleading(graph, **{"horizon": 100, **options})
