"""Estimates that are kept as differences: an arm against its anchor.

The anchor of an arm is revealed whenever the arm is. The estimate of an arm is a sum of differences
between its loss and that of its anchor. Its score is the anchor's score plus that sum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from crossbandit.kernels.compilation import inlined
from crossbandit.kernels.rows import add_row
from crossbandit.types import Booleans, Floats, Integers

if TYPE_CHECKING:
    from crossbandit.kernels.rounds import Feedback, Readout


class Anchors(NamedTuple):
    """The arm against which each arm is measured. All arrays are empty if no arm has an anchor."""

    anchor: Integers  # (K,): an arm, or -1 for an arm that has no anchor
    order: Integers  # (K,): all arms, each after its anchor
    roots: Integers  # the arms that have no anchor


@inlined
def anchored_scores(
    estimates: Floats, bias: Floats, anchors: Anchors, readout: Readout, out: Floats
) -> None:
    """Set `out` (K,) to the scores of all arms in the context of `readout`.

    estimates: (K, columns). bias: (K,). All arms must share the coefficients of the readout.
    """
    offset, coefficients = readout.offset, readout.coefficients
    for a in anchors.order:
        score = bias[a]
        for i in range(coefficients.shape[1]):
            score += estimates[a, offset + i] * coefficients[0, i]
        if anchors.anchor[a] >= 0:
            score += out[anchors.anchor[a]]
        out[a] = score


@inlined
def anchored_estimates(
    anchors: Anchors, shown: Booleans, losses: Floats, weights: Floats, out: Floats
) -> None:
    """Fill in the estimates `out` (K,) of the revealed arms that have an anchor.

    `out` already holds those of arms without an anchor. shown, losses, weights: (K,).
    """
    for a in anchors.order:
        anchor = anchors.anchor[a]
        if shown[a] and anchor >= 0:
            out[a] = out[anchor] + weights[a] * (losses[a] - losses[anchor])


@inlined
def pool(anchors: Anchors, shown: Booleans, masses: Floats, out: Floats) -> None:
    """Set `out` to `masses`, with the mass of each arm that was not revealed moved to its anchor.

    Such an arm has the estimate of its anchor. shown, masses, out: (K,).
    """
    for a in range(shown.size):
        out[a] = masses[a]
    for i in range(shown.size - 1, -1, -1):
        a = anchors.order[i]
        anchor = anchors.anchor[a]
        if anchor >= 0 and not shown[a]:
            out[anchor] += out[a]
            out[a] = 0.0


@inlined
def add_differences(
    estimates: Floats,
    anchors: Anchors,
    weights: Floats,
    factor: float,
    feedback: Feedback,
    place: Integers,
) -> None:
    """Add the row of each revealed arm, less the row of its anchor, to `estimates`, in place.

    An arm without anchor adds its row as it is. estimates: (1, K, columns). weights: (K,), each
    multiplied by `factor`. place: (K,), the row of each revealed arm, needed with anchors only.
    """
    losses, i = feedback.losses, feedback.round
    plain = losses.coefficients.shape[2] == 0
    if anchors.order.size == 0:
        for j in range(feedback.arms.size):
            b, row = feedback.arms[j], feedback.places[j]
            weight = weights[b] * factor
            if plain:  # short rows cost less as they are than as slices
                t = min(i, losses.base.shape[0] - 1)
                for m in range(estimates.shape[2]):
                    estimates[0, b, m] += weight * losses.base[t, row, m]
            else:
                add_row(losses, i, row, weight, estimates[0, b])
        return
    for b in feedback.arms:
        anchor = anchors.anchor[b]
        weight = weights[b] * factor
        if plain:
            t = min(i, losses.base.shape[0] - 1)
            for m in range(estimates.shape[2]):
                loss = losses.base[t, place[b], m]
                if anchor >= 0:
                    loss -= losses.base[t, place[anchor], m]
                estimates[0, b, m] += weight * loss
        else:
            add_row(losses, i, place[b], weight, estimates[0, b])
            if anchor >= 0:
                add_row(losses, i, place[anchor], -weight, estimates[0, b])
