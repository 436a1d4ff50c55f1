"""The losses of the lower bound: hidden arms, gaps, other arms."""

import numpy as np
import pytest

from crossbandit import FeedbackGraph, graphs
from crossbandit.environments import BlockEnvironment, lower_bound
from crossbandit.errors import InvalidGraphError, InvalidParameterError
from crossbandit.verify.checks import check_environment

T = 10_000
# Arm 0 has no self-loop, arm 1 reveals it, arm 2 does not.
ONE_WEAK = FeedbackGraph([[0, 1, 0], [1, 1, 0], [0, 0, 1]])
STRONG = [graphs.singletons(5), graphs.loopy_star(5), graphs.ring(9, 2), graphs.apple_tasting()]
WEAK = [graphs.revealing_action(5), graphs.loopless_ring(9, radius=2), ONE_WEAK]
FULL = [graphs.complete(4), graphs.threshold(4), graphs.loopless_clique(4)]


def means(environment: BlockEnvironment) -> np.ndarray:
    """Return the mean loss of each arm in the first context."""
    return np.asarray(environment._means[0, :, 0])  # type: ignore[attr-defined]


@pytest.mark.parametrize("graph", [*STRONG, *WEAK, *FULL])
def test_one_arm_is_better_than_others_that_hide_from_it(graph: FeedbackGraph) -> None:
    environment = lower_bound(graph, T, contexts=3)
    check_environment(environment)
    mean = means(environment)
    hidden = np.flatnonzero(mean <= 0.5)
    best = int(mean.argmin())
    assert len(hidden) >= 2
    assert 0.5 - mean[best] == pytest.approx(graph.least_regret(T) / T)
    assert (mean[[a for a in hidden if a != best]] == 0.5).all()
    assert (np.delete(mean, hidden) == 1).all()
    if graph not in FULL:
        inside = graph.adjacency[np.ix_(hidden, hidden)]
        seen = inside & ~np.eye(len(hidden), dtype=bool)
        assert not seen.any() or graph.arms == 2


@pytest.mark.parametrize("graph", WEAK[:2])
def test_only_bad_arms_reveal_weakly_observable_ones(graph: FeedbackGraph) -> None:
    mean = means(lower_bound(graph, T))
    hidden = np.flatnonzero(mean <= 0.5)
    assert not graph.adjacency[np.ix_(hidden, hidden)].any()


def test_the_least_regret_has_its_order() -> None:
    assert graphs.singletons(9).least_regret(100) == 30.0
    assert graphs.complete(9).least_regret(100) == 10.0
    assert graphs.revealing_action(9).least_regret(1_000) == pytest.approx(100.0)
    # Three arms of this ring, each of which reveals the two after it, reveal all six.
    assert graphs.loopless_ring(6, radius=2).least_regret(10) == pytest.approx(300 ** (1 / 3))
    with pytest.raises(InvalidGraphError, match="arm 1 has no self-loop and is not revealed"):
        FeedbackGraph([[1, 0], [0, 0]]).least_regret(10)


def test_times_is_a_factor_of_the_gap_which_is_at_most_a_half() -> None:
    one, two = (means(lower_bound(graphs.singletons(4), T, times=x)).min() for x in (1, 2))
    assert 0.5 - two == pytest.approx(2 * (0.5 - one))
    assert means(lower_bound(graphs.singletons(4), 4)).min() == 0.0
    with pytest.raises(InvalidParameterError, match="'times' parameter of lower_bound"):
        lower_bound(graphs.singletons(4), T, times=0)
    with pytest.raises(InvalidParameterError, match="at least 2 arms"):
        lower_bound(graphs.singletons(1), T)
