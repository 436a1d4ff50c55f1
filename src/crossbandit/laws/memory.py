"""The rules and the arrays of a law and of its test: made, copied, filled, added, and moved."""

from __future__ import annotations

import math
import mmap
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.core.record import Field, add, check, fill
from crossbandit.core.validation import array, reject
from crossbandit.errors import CheckpointError
from crossbandit.laws.law_core import LawCore
from crossbandit.laws.state import (
    BROAD,
    FEEDBACK_CODES,
    FIRST_PRICE,
    LEVELS,
    NEWSVENDOR,
    POSTED_PRICE,
    RANKS,
    STRATA,
    TRIED,
    WON_LOST,
    LawRules,
    LawState,
    Scratch,
    TestState,
    waiting_rounds,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.core.types import Floats, Integers

PAYOFFS = {
    "first-price": FIRST_PRICE,
    "posted-price": POSTED_PRICE,
    "newsvendor": NEWSVENDOR,
}
DEPTH = 8
RECENT_DEPTH = 5
HALF_LIVES = (math.inf, 2.0**14, 2.0**12)
LONG_HALF_LIVES = (math.inf, 2.0**15)  # with "won-lost", which says less per round
SHARE = 1e-4
OPTIMISM = {"after-loss": 0.5, "after-win": 1.0, "always": 0.0, "won-lost": 1.0}


def grid_of(owner: str, amounts: npt.ArrayLike) -> Floats:
    """Return amounts as an array; they must be 2 or more, ascending."""
    expected = "at least 2 finite numbers, ascending"
    grid = array(owner, "amounts", expected, amounts)
    if grid.ndim != 1 or grid.size < 2 or not np.isfinite(grid).all() or (np.diff(grid) <= 0).any():
        reject(owner, "amounts", expected, amounts)
    return grid


def law_rules(
    amounts: Floats,
    context_range: tuple[float, float],
    feedback: str,
    payoff: str,
    features: int,
    *,
    strict: bool,
    probing: float,
) -> LawRules:
    """Return the settings of a law as compiled steps take them."""
    followed = amounts if payoff == "first-price" else np.zeros(0)
    half_lives = np.array(LONG_HALF_LIVES if feedback == "won-lost" else HALF_LIVES)
    return LawRules(
        amounts=amounts,
        cuts=_band_cuts(followed, *context_range),
        depth=DEPTH,
        recent_depth=RECENT_DEPTH,
        growth=2.0 ** (1.0 / half_lives),
        half_lives=half_lives,
        share=SHARE,
        feedback=FEEDBACK_CODES[feedback],
        payoff=PAYOFFS[payoff],
        mirrored=feedback == "after-win",
        strict=strict,
        features=features,
        optimism=OPTIMISM[feedback],
        probing=probing,
    )


def _band_cuts(amounts: Floats, low: float, high: float) -> Floats:
    """Return the upper ends of the 256 finest bands of contexts, except that of the highest band.

    If two or more amounts lie in the range of contexts, the bands follow them: where the amounts
    are closer together, the bands are narrower. Above the highest amount, the grid is continued
    with its last step. Otherwise all bands are equally wide.
    """
    equal = np.linspace(low, high, (1 << DEPTH) + 1)
    inside = amounts[(amounts > low) & (amounts < high)]
    if inside.size < 2:
        return equal[1:-1]
    step = max(inside[-1] - inside[-2], (high - inside[-1]) / equal.size)
    more = np.arange(inside[-1] + step, high - 1e-6 * step, step)
    edges = np.concatenate([[low], inside, more, [high]])
    shares = np.linspace(0, 1, edges.size)
    cuts: Floats = np.interp(np.linspace(0, 1, equal.size), shares, edges)
    # Rounding must not move the cuts of evenly spaced amounts.
    return np.where(np.isclose(cuts, equal, rtol=0, atol=1e-9 * (high - low)), equal, cuts)[1:-1]


def bands_of(rules: LawRules, contexts: npt.ArrayLike) -> Integers:
    """Return the number of the finest band in which each context lies, from 0 to 255.

    A context outside the range counts as the nearest end of the range.
    """
    found: Integers = np.searchsorted(rules.cuts, np.asarray(contexts, dtype=float), "right")
    return found


def full_trees(rules: LawRules) -> list[tuple[int, int]]:
    """Return the root and the depth of the tree of each memory: the pool, then recent rounds."""
    recent = [rules.recent_depth] * (rules.growth.size - 1)
    found, root = [], 0
    for depth in (rules.depth, *recent):
        found.append((root, depth))
        root += (2 << depth) - 1
    return found


def fixed_rows(rules: LawRules) -> int:
    """Return how many nodes do not belong to classes."""
    return sum((2 << depth) - 1 for _, depth in full_trees(rules))


def _slot_width(rules: LawRules) -> int:
    """Return how many classes a round has, the combination included."""
    return rules.features + (rules.features > 1)


def _experts(rules: LawRules) -> int:
    """Return how many laws are mixed: for each memory without, with and with combined classes."""
    return rules.growth.size * (1 + (rules.features > 0) + (rules.features > 1))


_PAGES = 1 << 15  # bytes; larger arrays of zeros take memory where they are written to


def _zeros(*shape: int) -> Floats:
    """Return zeros. A part of a large array takes no memory until it is written to.

    `np.zeros` does not promise that: after a large array was freed, it writes zeros to its memory.
    """
    size = 8 * math.prod(shape)
    private = getattr(mmap, "MAP_PRIVATE", None)  # Windows has no such flags
    if size < _PAGES or private is None:
        return np.zeros(shape)
    pages = mmap.mmap(-1, size, flags=private | mmap.MAP_ANONYMOUS)
    return np.frombuffer(pages).reshape(shape)


def empty_state(rules: LawRules, class_limit: int) -> LawState:
    """Return the state of a law that has seen nothing.

    There is room for a root of each of `class_limit` classes, and for half as many children in all;
    for none if there are no features. The law of a class's node is computed before it is read.
    Those of other nodes are set when they see their first round, and take no memory before.
    """
    slots = class_limit if rules.features else 0
    size, fixed = rules.amounts.size, fixed_rows(rules)
    rows, memories = fixed + slots + 2 * (slots // 4), rules.growth.size
    experts = _experts(rules)
    state = LawState(
        told=_zeros(rows, size + 1),
        hidden=_zeros(rows, size + 1),
        visits=_zeros(rows),
        since=_zeros(rows),
        law=_zeros(rows, size + 1),
        spread=_zeros(rows, size + 1),
        evidence=_zeros(rows, 6),
        totals=np.zeros(((memories + _slot_width(rules)) * LEVELS, 6)),
        scale=np.ones(memories),
        weights=np.full(experts, 1.0 / experts),
        asked=np.zeros((BROAD, size)),
        untried=np.full(BROAD, size + 1.0),
        reached=np.zeros((BROAD, size)),
        children=np.full((rows, 2), -1),
        roots=np.full(max(slots, 1), -1),
        owners=np.full(max(slots, 1), -1),
        born=_zeros(rows),
        used=np.array([fixed, 0]),
        rounds=np.zeros(1),
    )
    set_flat(rules, state, [root for root, _ in full_trees(rules)])
    return state


def _flat_law(rules: LawRules) -> Floats:
    """Return the law that is assumed before anything is seen: all cells are equally likely."""
    columns = np.arange(rules.amounts.size + 1.0)
    if rules.feedback == WON_LOST:
        odds: Floats = np.log((columns + 1.0) / np.maximum(rules.amounts.size - columns, 1.0))
        return odds
    return 1.0 / (columns + 1.0)


def set_flat(rules: LawRules, state: LawState, rows: Any) -> None:
    """Set the laws of nodes to what is assumed before anything is seen."""
    state.law[rows], state.spread[rows] = _flat_law(rules), 1.0


def scratch_for(rules: LawRules) -> Scratch:
    """Return scratch arrays for one computation."""
    size, experts = rules.amounts.size, _experts(rules)
    return Scratch(
        work=np.zeros((5, size + 1)),
        chances=np.zeros((experts + 1, size)),
        spreads=np.zeros((experts + 1, size)),
        rows=np.zeros((rules.growth.size + _slot_width(rules), 2), dtype=np.int64),
        flat=_flat_law(rules),
    )


_MOST = 1e40  # more than any count times its scale; sums do not overflow
_COUNT = Field(low=0.0, high=_MOST)
_SIGNED = Field(low=-_MOST, high=_MOST)
_NODES, _SIGNED_NODES = _COUNT._replace(rows="nodes"), _SIGNED._replace(rows="nodes")
# A file has the nodes that are in use, and the places up to the last one that is taken.
_LAW_FIELDS = {
    "rows": _NODES,
    "told": _NODES,
    "hidden": _NODES,
    "visits": _NODES,
    "since": _NODES,
    "law": _SIGNED_NODES,
    "spread": _NODES,
    "evidence": _SIGNED_NODES,
    "totals": _SIGNED,
    "scale": _COUNT._replace(low=1.0),
    "weights": _COUNT,
    "asked": _COUNT,
    "untried": _COUNT,
    "reached": _COUNT,
    "children": _SIGNED_NODES,
    "roots": _SIGNED._replace(rows="roots"),
    "owners": _SIGNED._replace(rows="owners"),
    "born": _SIGNED_NODES,
    "used": _COUNT,
    "rounds": _COUNT,
}
_BY_NODE = {name for name, field in _LAW_FIELDS.items() if field.rows == "nodes"} - {"rows"}
_BY_PLACE = ("roots", "owners")


def copied(state: LawState) -> LawState:
    """Return a state that can be changed independently."""
    used = int(state.used[0])
    parts = state._asdict()
    for name, part in parts.items():
        if name in _BY_NODE and name != "children":  # these hold zeros for nodes never used
            parts[name] = _zeros(*part.shape)
            rows = part[:used].any(axis=tuple(range(1, part.ndim))).nonzero()
            parts[name][rows] = part[rows]
        else:
            parts[name] = part.copy()
    return LawState(**parts)


def law_arrays(
    rules: LawRules, state: LawState, without: tuple[str, ...] = ()
) -> dict[str, npt.NDArray[Any]]:
    """Return copies of the arrays of a law, by name, and the nodes that they hold as "rows".

    The nodes are those of classes, and of the others those that have seen a round. Arrays by place
    end with the last place that is taken.
    """
    nodes = np.arange(int(state.used[0]))
    rows = nodes[(state.visits[: nodes.size] > 0) | (nodes >= fixed_rows(rules))]
    parts = {"rows": rows}
    for name, part in state._asdict().items():
        if name not in without:
            parts[name] = part[rows] if name in _BY_NODE else part.copy()
    return parts | {name: _taken(parts[name]) for name in _BY_PLACE}


def _taken(part: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array without the places at its end that hold -1 only."""
    return part[: np.nonzero(part != -1)[0].max(initial=-1) + 1]


def fill_law(state: LawState, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Set the arrays of an empty state to what `law_arrays` returned; raise CheckpointError."""
    size, fixed = state.visits.size, int(state.used[0])
    nodes = np.arange(size)
    arrays = {"rows": nodes, **arrays}  # earlier versions wrote all nodes
    check({**state._asdict(), "rows": nodes}, arrays, _LAW_FIELDS, "law")
    rows = arrays["rows"]
    if (np.diff(rows) <= 0).any() or rows.max(initial=0) >= size:
        raise CheckpointError("The array 'rows' of a law must hold the numbers of nodes.")
    for name, whole in state._asdict().items():
        whole[rows if name in _BY_NODE else slice(len(arrays[name]))] = arrays[name]
    if not _linked(state, fixed):
        raise CheckpointError("The nodes of a law's classes refer to nodes that do not exist.")
    if not 0.999 < state.weights.sum() < 1.001:
        raise CheckpointError("The weights of a law must add up to 1.")


def _linked(state: LawState, fixed: int) -> bool:
    """Return whether the nodes of classes are valid trees: rows in use, each of them once."""
    used, children = int(state.used[0]), state.children
    free = np.flatnonzero(state.born < 0)
    named = np.concatenate([state.roots, children.ravel()])
    named = np.concatenate([named[named != -1], free])
    places = np.arange(state.owners.size)
    return bool(
        fixed <= used <= state.visits.size
        and ((named >= fixed) & (named < used)).all()
        and np.unique(named).size == named.size
        and (children[:fixed] == -1).all()
        and ((children[:, 1] == children[:, 0] + 1) | (children == -1).all(axis=1)).all()
        and free.size % 2 == 0
        and (free[1::2] == free[::2] + 1).all()
        and ((state.owners == -1) | (state.owners % state.owners.size == places)).all()
    )


_STRATA = _COUNT._replace(rows="strata")
_TEST_FIELDS = {
    "told": _STRATA,
    "counts": _STRATA,
    "usual": _SIGNED._replace(rows="strata"),
    "shown": _SIGNED._replace(rows="strata"),
    "ranks": _COUNT,
    "sums": _SIGNED,
    "variances": _COUNT,
    "rows": Field(low=-1, rows="rows"),
    "owners": Field(rows="owners"),
    "used": _COUNT._replace(low=1),
    "sides": _SIGNED,
    "expected": _SIGNED,
    "waiting": Field(rows="waiting"),
}


def empty_test(rules: LawRules, class_limit: int) -> TestState:
    """Return the state of a test that has seen nothing. class_limit: as for `empty_state`."""
    slots = class_limit if rules.features else 0
    columns, strata = rules.amounts.size + 1, 1 + min(slots, STRATA)
    places = waiting_rounds(rules.feedback, RANKS, columns) if slots else 0
    return TestState(
        told=_zeros(strata, columns),
        counts=_zeros(strata, columns),
        usual=_zeros(strata, 2, columns),
        shown=np.zeros((strata, 4)),
        ranks=np.zeros(RANKS),
        sums=np.zeros((2, 4)),
        variances=np.zeros((2, 4)),
        rows=np.full(slots, -1),
        owners=np.full(slots, -1),
        used=np.array([1]),
        sides=np.zeros(columns),
        expected=np.zeros((2, columns + 1)),
        waiting=np.full((places, 4), -1),
        risk=np.zeros((2, columns)),
    )


def test_arrays(state: TestState) -> dict[str, npt.NDArray[Any]]:
    """Return copies of the arrays of a test, by name; only the strata that are in use."""
    parts = {}
    for name, field in _TEST_FIELDS.items():
        part = getattr(state, name)
        cut = field.rows not in (None, "strata")
        parts[name] = (_taken(part) if cut else part).copy()
        if field.rows == "strata":
            parts[name] = parts[name][: int(state.used[0])]
    return parts


def fill_test(state: TestState, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Set the arrays of an empty test, the strata in use first; raise CheckpointError."""
    model = {name: getattr(state, name) for name in _TEST_FIELDS}
    fill(model, arrays, _TEST_FIELDS, "test")
    rows, used = state.rows, int(state.used[0])
    if used > len(state.told) or (rows == 0).any() or len(arrays["told"]) < 1:
        raise CheckpointError("The array 'used' of a test is impossible.")
    if (rows >= used).any():
        raise CheckpointError("The array 'rows' of a test refers to classes that it does not have.")
    waiting, columns = state.waiting, state.told.shape[1]
    inside = ((waiting >= 0) & (waiting < (used, columns + 1, 2, columns + 1))).all(axis=1)
    inside &= waiting[:, 1] + waiting[:, 2] <= columns  # what was told is in a column
    if not (inside | (waiting[:, 0] == -1)).all():
        raise CheckpointError("The array 'waiting' of a test is impossible.")


# --------------------------------------------------------------------- adding and moving of counts

_COUNTS = ("told", "hidden", "visits")


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
    unseen = state.visits[:fixed] == 0.0
    units = row_units(rules, state) / row_units(rules, other)
    for name in _COUNTS:
        mine, theirs = getattr(state, name), getattr(other, name)
        factor = units[:, None] if mine.ndim == 2 else units
        mine[:fixed] += theirs[:fixed] * factor
    set_flat(rules, state, np.flatnonzero(unseen & (state.visits[:fixed] > 0.0)))
    if numbers[0].size or numbers[1].size:
        _add_classes(state, other, numbers, fixed)
    add(state._asdict(), other._asdict(), ("asked", "reached", "rounds"))
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
    core = LawCore(rules, state, scratch_for(rules))
    for _ in range(2):  # the first pass finds out how much nodes of a kind differ
        core.rebuild(table)


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
    set_flat(new_rules, target, np.flatnonzero(target.visits[: fixed_rows(new_rules)] > 0.0))
    target.scale[:] = state.scale
    target.weights[:] = state.weights
    target.rounds[:] = state.rounds
