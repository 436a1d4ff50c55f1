"""Estimates that are kept as differences: an arm against its anchor.

The anchor of an arm is revealed whenever the arm is. What is summed up for an arm is by how much it
loses more than its anchor, and its score is the anchor's score plus that sum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from crossbandit.kernels.compilation import compiled, inlined

if TYPE_CHECKING:
    from crossbandit.kernels.ranges import ArmRanges
    from crossbandit.types import Booleans, Floats, Integers


class Anchors(NamedTuple):
    """The arm against which each arm is measured. All are empty if there is no such arm."""

    anchor: Integers  # (K,): an arm, or -1 for one that stands for itself
    order: Integers  # (K,): all arms, each after its anchor
    roots: Integers  # the arms that stand for themselves


@inlined
def anchored_scores(
    estimates: Floats, bias: Floats, anchors: Anchors, first: int, values: Floats, out: Floats
) -> None:
    """Set `out` (K,) to the scores of all arms in the context that reads with `first, values`.

    estimates: (K, columns). bias: (K,). values: (1, width).
    """
    for a in anchors.order:
        score = bias[a]
        for i in range(values.shape[1]):
            score += estimates[a, first + i] * values[0, i]
        if anchors.anchor[a] >= 0:
            score += out[anchors.anchor[a]]
        out[a] = score


@inlined
def show(out_ranges: ArmRanges, arm: int, shown: Booleans) -> None:
    """Mark the arms that `arm` reveals in `shown` (K,)."""
    for run in range(out_ranges.starts[arm], out_ranges.starts[arm + 1]):
        for b in range(out_ranges.first[run], out_ranges.last[run] + 1):
            shown[b] = True


@inlined
def hide(out_ranges: ArmRanges, arm: int, shown: Booleans) -> None:
    """Undo `show`."""
    for run in range(out_ranges.starts[arm], out_ranges.starts[arm + 1]):
        for b in range(out_ranges.first[run], out_ranges.last[run] + 1):
            shown[b] = False


@inlined
def anchored_estimates(
    anchors: Anchors, shown: Booleans, losses: Floats, weights: Floats, out: Floats
) -> None:
    """Fill in the estimates `out` (K,) of the revealed arms that have an anchor.

    `out` holds those of arms without. shown, losses, weights: (K,).
    """
    for a in anchors.order:
        anchor = anchors.anchor[a]
        if shown[a] and anchor >= 0:
            out[a] = out[anchor] + weights[a] * (losses[a] - losses[anchor])


@inlined
def lump(anchors: Anchors, shown: Booleans, masses: Floats, out: Floats) -> None:
    """Set `out` to `masses`, where an arm that was not revealed leaves its mass to its anchor.

    Its estimate is the anchor's. shown, masses, out: (K,).
    """
    for a in range(shown.size):
        out[a] = masses[a]
    for i in range(shown.size - 1, -1, -1):
        a = anchors.order[i]
        anchor = anchors.anchor[a]
        if anchor >= 0 and not shown[a]:
            out[anchor] += out[a]
            out[a] = 0.0


@compiled
def anchored_rows(
    anchors: Anchors, out_ranges: ArmRanges, arm: int, rows: Floats, place: Integers, out: Floats
) -> None:
    """Set `out` to `rows`, less the row of its anchor for each arm that has one.

    rows, out: (revealed, columns), of the arms that `arm` reveals. place: (K,), scratch.
    """
    j = 0
    for run in range(out_ranges.starts[arm], out_ranges.starts[arm + 1]):
        for b in range(out_ranges.first[run], out_ranges.last[run] + 1):
            place[b] = j
            j += 1
    for run in range(out_ranges.starts[arm], out_ranges.starts[arm + 1]):
        for b in range(out_ranges.first[run], out_ranges.last[run] + 1):
            anchor = anchors.anchor[b]
            for m in range(rows.shape[1]):
                out[place[b], m] = rows[place[b], m]
                if anchor >= 0:
                    out[place[b], m] -= rows[place[anchor], m]
