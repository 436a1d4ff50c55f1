"""Add the counts of two laws, and move counts to another grid or range."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.kernels.feedback import WON_LOST
from crossbandit.kernels.laws.learning import rebuild
from crossbandit.kernels.laws.state import TRIED
from crossbandit.laws.memory import copied, fixed_rows, full_trees, scratch_for

if TYPE_CHECKING:
    from crossbandit.kernels.laws.state import LawRules, LawState
    from crossbandit.laws.outcome_law import OutcomeLaw
    from crossbandit.types import Floats, Integers

_COUNTS = ("told", "hidden", "visits")


def add_law(law: OutcomeLaw, other: OutcomeLaw) -> None:
    """Add what another law of the same form has learned; see `OutcomeLaw.merge`."""
    parts = ((law.state, law.levels.numbers), (other.state, other.levels.numbers))
    numbers = law.levels.merge(other.levels)
    # A place may already have a new level, while its counts are those of the level before.
    mine, theirs = (
        np.where(state.owners[: before.size] == before, after, -1)
        for (state, before), after in zip(parts, numbers, strict=True)
    )
    features = law.levels.features_of_places
    add_counts(law.parts[0], law.state, other.state, (mine, theirs), features)


def add_counts(
    rules: LawRules,
    state: LawState,
    other: LawState,
    numbers: tuple[Integers, Integers],
    features: Integers,
) -> None:
    """Add the counts of `other` to those of `state`, and compute all laws again.

    numbers: for the classes of `state` and for those of `other`, the new number of the class at
    each old place; -1 for a class that has lost its place. features: the feature of each place.
    """
    fixed = fixed_rows(rules)
    units = row_units(rules, state) / row_units(rules, other)
    for name in _COUNTS:
        mine, theirs = getattr(state, name), getattr(other, name)
        factor = units[:, None] if mine.ndim == 2 else units
        mine[:fixed] += theirs[:fixed] * factor
    if numbers[0].size or numbers[1].size:
        _add_classes(state, other, numbers, fixed)
    for name in ("asked", "reached", "rounds"):
        getattr(state, name)[:] += getattr(other, name)
    state.weights[:] = state.weights * other.weights
    even = rules.share / state.weights.size
    state.weights[:] = (1.0 - rules.share) * state.weights / state.weights.sum() + even
    compute_all(rules, state, features)


def row_units(rules: LawRules, state: LawState) -> Floats:
    """Return what one round counts now, in each of the fixed rows."""
    return np.repeat(state.scale, [(2 << depth) - 1 for _, depth in full_trees(rules)])


def _add_classes(
    state: LawState, other: LawState, numbers: tuple[Integers, Integers], fixed: int
) -> None:
    """Add the trees of classes, node by node.

    Every class has a row. If there are too few rows for all bands of classes, the bands below the
    nodes with the most rounds are kept. No round is lost: the parents have counted all rounds.
    """
    mine = copied(state)
    for name in (*_COUNTS, "since", "born"):
        getattr(state, name)[fixed:] = 0.0
    state.children[fixed:] = -1
    state.roots[:] = state.owners[:] = -1
    state.used[:] = fixed, 0
    sources: dict[int, list[tuple[LawState, int]]] = {}
    for part, known in zip((mine, other), numbers, strict=True):
        for place, number in enumerate(known.tolist()):
            if number >= 0 and part.roots[place] >= 0:
                sources.setdefault(number, []).append((part, int(part.roots[place])))
    nodes: list[tuple[float, int, list[tuple[LawState, int]]]] = []
    rounds = float(mine.rounds[0] + other.rounds[0])
    for number, found in sources.items():
        place = number % state.roots.size
        state.owners[place] = number
        state.roots[place] = _add_node(state, found, nodes, rounds)
    most = state.visits.size - fixed - state.roots.size
    while nodes and state.used[1] + 2 <= most:
        _, row, found = heappop(nodes)
        for side in range(2):
            below = [(part, int(part.children[at, side])) for part, at in found]
            here = [(part, at) for part, at in below if at >= 0]
            state.children[row, side] = _add_node(state, here, nodes, rounds)
        state.used[1] += 2


def _add_node(
    state: LawState,
    found: list[tuple[LawState, int]],
    nodes: list[tuple[float, int, list[tuple[LawState, int]]]],
    rounds: float,
) -> int:
    """Give a node a row with the sum of its counts, and add it to `nodes` if it has children.

    Its age in rounds is also the sum of the ages; `rounds` is the number of all rounds.
    """
    row = int(state.used[0])
    state.used[0] += 1
    for name in _COUNTS:
        getattr(state, name)[row] = sum(getattr(part, name)[at] for part, at in found)
    state.born[row] = rounds - sum(float(part.rounds[0] - part.born[at]) for part, at in found)
    if any(part.children[at, 0] >= 0 for part, at in found):
        heappush(nodes, (-float(state.visits[row]), row, found))
    return row


def compute_all(rules: LawRules, state: LawState, features: Integers) -> None:
    """Compute the law of every node from the counts alone, parents first."""
    table = _genealogy(rules, state, features)
    total = np.cumsum(state.asked, axis=1)
    tried = total >= TRIED
    first = np.where(tried.any(axis=1), tried.argmax(axis=1), state.asked.shape[1])
    state.untried[:] = first + 1.0
    state.totals[:] = 0.0
    state.evidence[:] = 0.0
    scratch = scratch_for(rules)
    for _ in range(2):  # the first pass finds out how much nodes of a kind differ
        rebuild(rules, state, scratch, table)


def _genealogy(rules: LawRules, state: LawState, features: Integers) -> Integers:
    """Return row, parent, place in the pool, depth and group of all nodes, parents first."""
    found = []
    for group, (root, deepest) in enumerate(full_trees(rules)):
        for place in range((2 << deepest) - 1):
            parent = -1 if place == 0 else root + (place - 1) // 2
            found.append((root + place, parent, place, (place + 1).bit_length() - 1, group))
    for slot, root in enumerate(state.roots):
        if root < 0:
            continue
        stack = [(int(root), -1, 0, 0)]
        while stack:
            row, parent, place, depth = stack.pop()
            found.append((row, parent, place, depth, rules.growth.size + int(features[slot])))
            if state.children[row, 0] >= 0:
                left, right = (int(child) for child in state.children[row])
                stack += [
                    (right, row, 2 * place + 2, depth + 1),
                    (left, row, 2 * place + 1, depth + 1),
                ]
    return np.array(found, dtype=np.int64)


def moved_columns(rules: LawRules, counts: Floats, amounts: Floats, *, told: bool) -> Floats:
    """Return counts by cell or amount (rows, K + 1), moved to another grid of amounts.

    A cell goes to the new cell of its highest number. An outcome that says that the number is above
    an amount, or is not, goes to the nearest new amount for which that is still true. It is left
    out if there is no such amount.
    """
    old, size, new_size = rules.amounts, rules.amounts.size, amounts.size
    plain = rules.feedback != WON_LOST
    cells = plain and told
    source = counts[:, : size + cells]
    if rules.mirrored:
        source = source[:, ::-1]
    if cells:
        beyond = np.searchsorted(amounts, old[-1:], "right")
        places = np.append(np.searchsorted(amounts, old, "left"), beyond)
    elif rules.mirrored or (not plain and not told):  # above an amount
        places = np.searchsorted(amounts, old, "right") - 1
    else:
        places = np.searchsorted(amounts, old, "left")
    width = new_size + cells
    out = np.zeros((counts.shape[0], new_size + 1))
    kept = (places >= 0) & (places < width)
    for j in np.flatnonzero(kept):
        out[:, places[j]] += source[:, j]
    if rules.mirrored:
        out[:, :width] = out[:, :width][:, ::-1]
    return out


def moved_bands(cuts: Floats, new_cuts: Floats, low: float, high: float) -> Integers:
    """Return the new band that the middle of each old band lies in."""
    edges = np.concatenate([[low], cuts, [high]])
    middles = (edges[:-1] + edges[1:]) / 2
    bands: Integers = np.searchsorted(new_cuts, middles, side="right")
    return bands


def move(
    rules: LawRules,
    state: LawState,
    context_range: tuple[float, float],
    new_rules: LawRules,
    target: LawState,
) -> None:
    """Fill an empty state with the counts of another, whose grid or range is different."""
    told = moved_columns(rules, state.told, new_rules.amounts, told=True)
    hidden = moved_columns(rules, state.hidden, new_rules.amounts, told=False)
    bands = moved_bands(rules.cuts, new_rules.cuts, *context_range)
    for root, depth in full_trees(rules):
        leaves, shift = 1 << depth, rules.depth - depth
        for leaf in range(leaves):
            # The middle of a coarse band is where its upper half begins.
            place = int(bands[(leaf << shift) + ((1 << shift) >> 1)]) >> shift
            source = root + leaves - 1 + leaf
            for level in range(depth + 1):
                row = root + (1 << level) - 1 + (place >> (depth - level))
                target.told[row] += told[source]
                target.hidden[row] += hidden[source]
    for slot in np.flatnonzero(state.roots >= 0):
        row, source = int(target.used[0]), int(state.roots[slot])
        target.roots[slot], target.owners[slot] = row, state.owners[slot]
        target.used[0] += 1
        target.told[row], target.hidden[row] = told[source], hidden[source]
    target.visits[:] = target.told.sum(axis=1) + target.hidden.sum(axis=1)
    target.scale[:] = state.scale
    target.weights[:] = state.weights
    target.rounds[:] = state.rounds
