"""A batch of dense rounds, played in few coordinates.

Dense losses are a number per arm and context, and so are the estimates of them. But where the
losses of a batch are a fixed table plus few time-varying terms, and none can reach a limit, the
estimates of an arm can only move along its table and the features:

    estimate[a, c] = 1 * (what it was)[a, c] + x_0[a] * base[a, c] + sum_k x_k[a] * features[k, c].

So the batch is played on the coordinates x, as linear losses are, and written out at its end. A
round in between costs the same for any number of contexts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crossbandit.kernels.coordinates import combine, fill_readouts
from crossbandit.kernels.rounds import ContextBlock, LossBlock, may_clip

if TYPE_CHECKING:
    from collections.abc import Callable

    from crossbandit.kernels.rounds import Rounds
    from crossbandit.types import Floats

# Measured: from about here on, writing a table out once costs less than adding to it each round.
_LEAST_ROUNDS = 64  # for each arm
_LEAST_CONTEXTS = 256
_MOST_TERMS = 8
_MOST_NUMBERS = 2**23  # of readouts, 64 MB


def play_in_coordinates(
    estimates: Floats, rounds: Rounds, play: Callable[[Floats, Rounds], None]
) -> None:
    """Call `play` with estimates and rounds, in coordinates wherever that is faster.

    estimates: (copies, K, columns), changed in place. A copy is a snapshot of another, so each may
    become a mixture of what all of them were.
    """
    contexts, losses, length = rounds.contexts, rounds.losses, rounds.arms.size
    copies, arms, columns = estimates.shape
    terms = losses.features.shape[0]
    width = copies + 1 + terms
    entries = min(length, columns)
    if (
        contexts.table.shape != (1, 1, 1)
        or losses.base.shape[0] != 1
        or not 0 < terms <= _MOST_TERMS
        or length < _LEAST_ROUNDS * arms
        or columns < _LEAST_CONTEXTS
        or entries * arms * width > _MOST_NUMBERS
        or may_clip(losses, length, np.empty(terms))
    ):
        play(estimates, rounds)
        return
    listed = columns <= length
    readouts = np.empty((entries, arms, width))
    fill_readouts(estimates, losses, np.arange(columns) if listed else contexts.first, readouts)
    entry = contexts.first if listed else np.arange(length)
    coordinates = np.zeros((copies, arms, width))
    coordinates[np.arange(copies), :, np.arange(copies)] = 1.0
    base = np.zeros((1, arms, width))
    base[:, :, copies] = 1.0
    linear = LossBlock(base, losses.coefficients, np.eye(width)[copies + 1 :], clip=False)
    read = ContextBlock(np.zeros_like(contexts.first), entry, readouts, contexts.available)
    play(coordinates, rounds._replace(contexts=read, losses=linear))
    for a in range(arms):
        directions = np.concatenate([estimates[:, a], losses.base[:, a], losses.features])
        combine(coordinates[:, a], directions, estimates[:, a])
