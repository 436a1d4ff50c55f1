"""Losses drawn from means: the right means, and the same in both forms."""

from typing import Any

import numpy as np
import pytest

from crossbandit import graphs
from crossbandit.environments import stochastic, zipf
from crossbandit.environments.synthetic import Stochastic
from crossbandit.errors import InvalidParameterError

MEANS = [[0.2, 0.7], [0.5, 0.5], [0.9, 0.0], [1.0, 0.3]]


def losses_of(environment: Stochastic) -> np.ndarray:
    """Return the losses of all rounds, arms and contexts: (T, K, M)."""
    rows = environment.block(0, environment.horizon).base
    features = np.asarray(environment.problem.features)
    losses: np.ndarray = np.einsum("tak,cak->tac", rows, features)
    return losses


def phases(noisy: bool = True) -> Stochastic:
    return Stochastic(
        graph=graphs.complete(4),
        horizon=4000,
        phases=[(0.0, MEANS), (0.25, np.flip(MEANS))],
        noisy=noisy,
    )


def test_losses_are_zero_or_one_with_the_means_of_their_phase() -> None:
    """Within 5 standard deviations, which a right mean leaves once in a million trials."""
    losses = losses_of(phases())
    assert set(np.unique(losses)) == {0.0, 1.0}
    for part, means in ((losses[:1000], np.array(MEANS)), (losses[1000:], np.flip(MEANS))):
        deviation = np.sqrt(means * (1 - means) / len(part))
        assert (np.abs(part.mean(axis=0) - means) <= 5 * deviation).all()


def test_contexts_share_the_noise() -> None:
    """An arm that loses where its mean is smaller loses where it is greater."""
    losses, means = losses_of(phases())[:1000], np.array(MEANS)
    for arm in range(4):
        smaller, greater = np.argsort(means[arm])
        assert (losses[:, arm, smaller] <= losses[:, arm, greater]).all()


def test_without_noise_the_means_are_the_losses() -> None:
    losses = losses_of(phases(noisy=False))
    np.testing.assert_allclose(losses[:1000], np.broadcast_to(MEANS, (1000, 4, 2)), atol=1e-15)
    np.testing.assert_allclose(
        losses[1000:], np.broadcast_to(np.flip(MEANS), (3000, 4, 2)), atol=1e-15
    )


def test_arms_are_independent() -> None:
    """Correlations of 4,000 losses are within 5 standard deviations of 0."""
    environment = stochastic(graphs.complete(4), 4000, contexts=1, gap=0.1)
    correlation = np.corrcoef(losses_of(environment)[:, :, 0].T)
    assert (np.abs(correlation[~np.eye(4, dtype=bool)]) < 5 / np.sqrt(4000)).all()


@pytest.mark.parametrize("best", [None, 2])
def test_one_arm_of_each_context_is_better_by_the_gap(best: int | None) -> None:
    environment = stochastic(graphs.complete(4), 10, contexts=30, gap=0.3, best=best)
    means = environment._means[0]
    assert (np.sort(means, axis=0) == np.array([[0.2], [0.5], [0.5], [0.5]])).all()
    arms = set(means.argmin(axis=0).tolist())
    assert arms == ({0, 1, 2, 3} if best is None else {2})


def test_a_late_best_arm_is_worst_until_then() -> None:
    environment = stochastic(graphs.complete(4), 1000, contexts=5, gap=0.2, late=0.4)
    before, after = environment._means
    np.testing.assert_allclose(before + after, 1.0)
    assert (before.argmax(axis=0) == after.argmin(axis=0)).all()
    assert environment._starts.tolist() == [0, 400]


def test_the_cost_of_a_round_does_not_depend_on_the_contexts() -> None:
    columns = {
        stochastic(graphs.complete(4), 10, contexts=m).problem.form.columns for m in (20, 10_000)
    }
    assert columns == {2}


def test_contexts_may_have_any_law() -> None:
    law = zipf(10)
    assert stochastic(graphs.complete(4), 50, context_distribution=law).context_distribution is law


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "ascending shares .* Got the shares \\[\\]"),
        ([(0.1, MEANS)], "ascending shares .* Got the shares \\[0.1\\]"),
        ([(0, MEANS), (0, MEANS)], "ascending shares"),
        ([(0, MEANS), (1, MEANS)], "ascending shares"),
        ([(0, MEANS), (0.5, [0.1] * 4)], r"all of shape \(4, contexts\)"),
        ([(0, MEANS[:3])], r"Got means of shape \(3, 2\)"),
        ([(0, [0, 0, 0, 1.5])], "from 0.0 to 1.5"),
        ([(0, "abcd")], "'phases' .* means from 0 to 1"),
        ([(0, [[]] * 4)], "'phases' .* means from 0 to 1"),
        ([0.0, MEANS], "'phases' .* pairs: the share of the horizon"),
        (0.0, "'phases' .* pairs: the share of the horizon"),
    ],
)
def test_bad_phases_are_refused(given: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        Stochastic(graph=graphs.complete(4), horizon=10, phases=given)
