"""The adversary who changes the best arm."""

import numpy as np
import pytest

from crossbandit import CrossGraph, graphs, simulate
from crossbandit.environments import switching, zipf
from crossbandit.environments.synthetic import Switching


def all_losses(environment: Switching) -> np.ndarray:
    """Return the losses of all rounds: (T, K, M)."""
    return np.array([environment.losses(t) for t in range(environment.horizon)])


@pytest.mark.parametrize(
    ("arms", "contexts", "groups", "switches", "gap", "seed"),
    [(5, 12, 4, 5, 0.2, 0), (3, 7, 1, 1, 0.05, 1), (4, 3, 6, 99, 0.2, 2), (9, 20, 3, 8, 0.1, 3)],
)
def test_the_best_arm_of_every_context_changes_at_every_switch(
    arms: int, contexts: int, groups: int, switches: int, gap: float, seed: int
) -> None:
    environment = switching(
        graphs.complete(arms),
        100,
        contexts=contexts,
        groups=groups,
        switches=switches,
        gap=gap,
        table_seed=seed,
    )
    losses = all_losses(environment)
    assert losses.min() >= 0
    assert losses.max() <= 1
    best = losses.argmin(axis=1)
    assert ((np.diff(best, axis=0) != 0).sum(axis=0) == switches).all()
    moves = np.diff(losses, axis=0).any(axis=1)
    np.testing.assert_array_equal(moves, np.diff(best, axis=0) != 0)


def test_contexts_of_a_group_switch_together_and_groups_apart() -> None:
    environment = switching(graphs.complete(5), 400, contexts=12, groups=4, switches=5)
    switch = np.diff(all_losses(environment).argmin(axis=1), axis=0) != 0
    for context in range(12):
        np.testing.assert_array_equal(switch[:, context], switch[:, context % 4])
    assert len({switch[:, group].tobytes() for group in range(4)}) == 4


def test_the_first_phase_misleads() -> None:
    """The champion, best in every second phase, is worst in the first one."""
    environment = switching(graphs.complete(5), 500, contexts=8, switches=5)
    losses = all_losses(environment)
    best = losses.argmin(axis=1)
    for context in range(8):
        phases = best[np.flatnonzero(np.diff(best[:, context], prepend=-1)), context]
        champion = phases[1]
        assert phases[1::2].tolist() == [champion] * 3
        assert losses[0, :, context].argmax() == champion


def test_it_is_reproducible_and_depends_on_its_seed() -> None:
    one, same, other = (
        all_losses(switching(graphs.complete(4), 50, contexts=5, table_seed=seed))
        for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_contexts_may_have_any_law() -> None:
    law = zipf(10)
    environment = switching(graphs.complete(4), 50, contexts=10, context_distribution=law)
    assert environment.context_distribution is law


def test_it_can_be_learned_and_is_harder_with_more_switches() -> None:
    """Against the best fixed arm, an algorithm pays for being led astray."""
    played = [
        np.mean(
            [
                simulate(
                    CrossGraph(), switching(graphs.complete(5), 2000, switches=n), seed=seed
                ).losses.mean()
                for seed in range(5)
            ]
        )
        for n in (1, 40)
    ]
    uniform = switching(graphs.complete(5), 2000, switches=1).totals.mean() / 2000
    assert played[0] < uniform - 0.05
    assert played[0] < played[1] - 0.05
