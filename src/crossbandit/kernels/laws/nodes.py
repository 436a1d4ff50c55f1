"""The nodes of classes: which rows they have, and which lose their rows if there is no room.

A class has a *number*: its place among the `slots`, plus `slots` for each class that had the place
before it. So a number tells whether the place still belongs to the same class. A node of a class
gets two children at once, in consecutive rows. There is always room for the root of every place.
Children use the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.kernels.compilation import inlined

if TYPE_CHECKING:
    from crossbandit.kernels.laws.state import LawState
    from crossbandit.types import Integers

_BUSIER = 2.0  # a node loses its children to a node that is this many times as busy


@inlined
def root_of(state: LawState, slots: Integers, feature: int) -> int:
    """Return the root of a round's class, or -1 if it has none; slots: (features + 1,) or more."""
    if feature >= slots.size or slots[feature] < 0:
        return -1
    place = slots[feature] % state.roots.size
    row: int = state.roots[place] if state.owners[place] == slots[feature] else -1
    return row


@inlined
def root_for(state: LawState, number: int) -> int:
    """Return the root of a class, which is given one if it has none; -1 if there is no room.

    The counts of the class that had the place before are dropped.
    """
    place = number % state.roots.size
    row: int = state.roots[place]
    if state.owners[place] == number and row >= 0:
        return row
    if row < 0:
        if state.used[0] >= state.visits.size:
            return -1
        row = state.used[0]
        state.used[0] += 1
    release_below(state, row)
    clear(state, row, state.rounds[0])
    state.roots[place] = row
    state.owners[place] = number
    return row


@inlined
def release_below(state: LawState, root: int) -> None:
    """Remove all children from a tree, the deepest first."""
    while state.children[root, 0] >= 0:
        row, deeper = root, True
        while deeper:
            left = state.children[row, 0]
            deeper = state.children[left, 0] >= 0 or state.children[left + 1, 0] >= 0
            if deeper:
                row = left if state.children[left, 0] >= 0 else left + 1
        release(state, row)


@inlined
def release(state: LawState, row: int) -> int:
    """Remove the children of a node, which have no children; return the row of the first."""
    left: int = state.children[row, 0]
    state.children[row, 0] = -1
    state.children[row, 1] = -1
    clear(state, left, -1.0)
    clear(state, left + 1, -1.0)
    return left


@inlined
def clear(state: LawState, row: int, born: float) -> None:
    """Clear the counts of a node.

    Its part of the sums in `totals` stays: what it said about how much nodes differ still holds.
    """
    for j in range(state.told.shape[1]):
        state.told[row, j] = 0.0
        state.hidden[row, j] = 0.0
    for j in range(state.evidence.shape[1]):
        state.evidence[row, j] = 0.0
    state.visits[row] = 0.0
    state.since[row] = 0.0
    state.born[row] = born


@inlined
def add_children(state: LawState, first: int, row: int) -> None:
    """Give a node children, if there is room. first: the first row of the nodes of classes.

    If no rows are free, rows of less busy nodes are looked for. That takes as long as several
    rounds, so it is done only when the number of rounds of the node is a power of 2.
    """
    most = state.visits.size - first - state.roots.size
    left, rounds = -1, int(state.visits[row])
    if state.used[1] + 2 <= most and state.used[0] + 2 <= state.visits.size:
        left = state.used[0]
        state.used[0] += 2
        state.used[1] += 2
    elif rounds & (rounds - 1) == 0:
        left = find_pair(state, first, row)
    if left >= 0:
        for child in range(2):
            state.children[row, child] = left + child
            state.born[left + child] = state.rounds[0]


@inlined
def find_pair(state: LawState, first: int, row: int) -> int:
    """Return the first of two free rows, or -1.

    If none are free, a node whose children have no children loses them: the least busy such node.
    How busy a node is means its share of the rounds since it was given its row. So the nodes of
    classes that do not come any more become less busy.
    """
    best, least = -1, _busy(state, row) / _BUSIER
    for other in range(first, state.used[0]):
        if state.born[other] < 0.0:
            return other
        left = state.children[other, 0]
        if left < 0 or left == row or left + 1 == row:
            continue
        if state.children[left, 0] >= 0 or state.children[left + 1, 0] >= 0:
            continue
        busy = _busy(state, other)
        if busy < least:
            best, least = other, busy
    return release(state, best) if best >= 0 else -1


@inlined
def _busy(state: LawState, row: int) -> float:
    busy: float = state.visits[row] / (state.rounds[0] - state.born[row] + 1.0)
    return busy
