"""A batch played in coordinates is the batch played on the table of estimates."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from crossbandit import (
    Algorithm,
    CrossGraph,
    CrossGraphAdaptive,
    FeedbackGraph,
    Problem,
    SchneiderZimmert,
    graphs,
)
from crossbandit.algorithms import coordinates
from crossbandit.kernels.coordinates import combine
from crossbandit.kernels.rounds import LossBlock, Rounds
from crossbandit.types import Floats, Integers

ARMS, HORIZON = 5, 2400
BLOCKS = (700, 300, 1400)  # the second is too short for coordinates

ALGORITHMS: list[Algorithm] = [
    CrossGraph(),
    SchneiderZimmert(),
    CrossGraphAdaptive(),
    CrossGraphAdaptive(half_life=20),  # over 64 half-lives: estimates are brought back to scale
    CrossGraphAdaptive(anchored=True),
]


@dataclass
class Played:
    """What a learner did in a run, and how many of its batches it played in coordinates."""

    arms: Integers
    incurred: Floats
    estimates: Floats
    in_coordinates: int


def losses(rounds: int, contexts: int, terms: int, amplitude: float, *, clip: bool) -> LossBlock:
    """Return a block of losses around a random table; they leave [0, 1] if amplitude > 0.1."""
    generator = np.random.default_rng(8)
    base = generator.uniform(0.1, 0.9, (1, ARMS, contexts))
    time = np.arange(rounds)[:, None, None] / 50
    coefficients = amplitude * np.sin(time + generator.uniform(0, 7, (1, ARMS, terms)))
    features = generator.uniform(-1, 1, (terms, contexts)) / terms
    return LossBlock(base, coefficients, features, clip=clip)


def played(
    algorithm: Algorithm,
    block: LossBlock,
    monkeypatch: pytest.MonkeyPatch,
    *,
    allowed: bool,
    precision: str = "float64",
    masked: bool = False,
) -> Played:
    """Play `block` in batches, with coordinates or without."""
    counted: list[Any] = []

    def count(*arguments: Any) -> None:
        counted.append(arguments)
        combine(*arguments)

    contexts = block.base.shape[2]
    with monkeypatch.context() as patch:
        patch.setattr(coordinates, "combine", count)
        if not allowed:
            patch.setattr(coordinates, "_MOST_NUMBERS", 0)
        problem = Problem(
            _graph(algorithm), contexts=contexts, horizon=HORIZON, precision=precision
        )
        learner: Any = algorithm.start(problem, seed=3)
        generator = np.random.default_rng(4)
        indices = generator.integers(contexts, size=HORIZON)
        available = generator.random((HORIZON, ARMS)) < 0.7
        available[:, 2] = True
        batches = []
        start = 0
        for length in BLOCKS:
            now = slice(start, start + length)
            read = problem.form.block(indices[now], available[now] if masked else None)
            base = block.base if len(block.base) == 1 else block.base[now]
            met = block._replace(base=base, coefficients=block.coefficients[now])
            batches.append(Rounds.to_play(read, met, indices[now]))
            learner.simulate(batches[-1])
            start += length
    arms = np.concatenate([batch.arms for batch in batches])
    incurred = np.concatenate([batch.incurred for batch in batches])
    return Played(arms, incurred, learner._state()["estimates"], len(counted) // ARMS)


def _anchored(algorithm: Algorithm) -> bool:
    return isinstance(algorithm, CrossGraphAdaptive) and bool(algorithm.anchored)


def _graph(algorithm: Algorithm) -> FeedbackGraph:
    """Return a graph with an arm without self-loop, or one that offers anchors."""
    return graphs.threshold(ARMS) if _anchored(algorithm) else graphs.paper_ring(ARMS, radius=1)


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=repr)
@pytest.mark.parametrize(("contexts", "terms"), [(300, 1), (300, 4), (1000, 2)])
@pytest.mark.parametrize("masked", [False, True])
def test_coordinates_change_nothing(
    algorithm: Algorithm,
    contexts: int,
    terms: int,
    masked: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    block = losses(HORIZON, contexts, terms, 0.09, clip=True)
    table = played(algorithm, block, monkeypatch, allowed=False, masked=masked)
    short = played(algorithm, block, monkeypatch, allowed=True, masked=masked)
    assert table.in_coordinates == 0
    assert short.in_coordinates == (0 if _anchored(algorithm) else 2)
    assert np.ptp(short.arms) > 0
    np.testing.assert_array_equal(short.arms, table.arms)
    np.testing.assert_allclose(short.incurred, table.incurred, rtol=0, atol=1e-14)
    scale = np.abs(table.estimates).max()
    np.testing.assert_allclose(short.estimates, table.estimates, rtol=0, atol=1e-13 * scale)


@pytest.mark.parametrize("algorithm", ALGORITHMS[:3], ids=repr)
def test_losses_that_may_reach_a_limit_are_added_one_by_one(
    algorithm: Algorithm, monkeypatch: pytest.MonkeyPatch
) -> None:
    clipping = losses(HORIZON, 300, 2, 0.3, clip=True)
    assert played(algorithm, clipping, monkeypatch, allowed=True).in_coordinates == 0
    calm = clipping.coefficients.copy()
    calm[: BLOCKS[0]] /= 10
    partly = clipping._replace(coefficients=calm)
    short = played(algorithm, partly, monkeypatch, allowed=True)
    table = played(algorithm, partly, monkeypatch, allowed=False)
    assert short.in_coordinates == 1
    np.testing.assert_array_equal(short.arms, table.arms)


@pytest.mark.parametrize("algorithm", ALGORITHMS[:3], ids=repr)
def test_losses_of_a_changing_table_are_added_one_by_one(
    algorithm: Algorithm, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = losses(HORIZON, 300, 2, 0.09, clip=False)
    changing = block._replace(base=np.repeat(block.base, HORIZON, axis=0))
    assert played(algorithm, changing, monkeypatch, allowed=True).in_coordinates == 0


def test_estimates_in_single_precision_are_written_out_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    block = losses(HORIZON, 300, 2, 0.09, clip=True)
    exact = played(CrossGraphAdaptive(), block, monkeypatch, allowed=True)
    single = played(CrossGraphAdaptive(), block, monkeypatch, allowed=True, precision="float32")
    assert single.in_coordinates == 2
    assert single.estimates.dtype == np.float32
    agreement = (single.arms == exact.arms).mean()
    assert agreement > 0.99
