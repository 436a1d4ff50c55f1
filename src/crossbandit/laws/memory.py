"""The rules and the arrays of a law and of its test: made, copied, filled, added, and moved."""

from __future__ import annotations

import math
import mmap
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from crossbandit.core.record import Field, add, check, fill
from crossbandit.core.types import Feedback
from crossbandit.core.validation import array, reject
from crossbandit.errors import CheckpointError
from crossbandit.laws.effect_core import EffectCore, level_key
from crossbandit.laws.law_core import LawCore
from crossbandit.laws.state import (
    BANDS,
    BLOCKS,
    BROAD,
    BROAD_BANDS,
    FEEDBACK_CODES,
    FIRST_PRICE,
    KNOTS,
    LEVELS,
    NEWSVENDOR,
    PAIRS,
    POSTED_PRICE,
    RANKS,
    SETTLED,
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

Payoff = Literal["first-price", "posted-price", "newsvendor"]
PAYOFFS: dict[Payoff, int] = {
    "first-price": FIRST_PRICE,
    "posted-price": POSTED_PRICE,
    "newsvendor": NEWSVENDOR,
}
KEPT = 2048  # rounds that are kept by a law that lays its own grid
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
    feedback: Feedback,
    payoff: Payoff,
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
    found, root = [], 0
    for half_life in rules.half_lives.tolist():
        depth = rules.depth if half_life == math.inf else rules.recent_depth
        found.append((root, depth))
        root += (2 << depth) - 1
    return found


def fixed_rows(rules: LawRules) -> int:
    """Return how many nodes there are."""
    return sum((2 << depth) - 1 for _, depth in full_trees(rules))


def unkept(state: LawState) -> dict[str, npt.NDArray[Any]]:
    """Return the rounds that a law keeps, as if there were none: deciding does not need them."""
    return {
        "kept": np.zeros((len(state.kept), 4)),
        "kept_keys": np.full(state.kept_keys.shape, -1),
    }


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


_EFFECTS = LawState._fields[LawState._fields.index("owners") : LawState._fields.index("grid")]
_OWN = LawState._fields[LawState._fields.index("grid") :]


def empty_state(rules: LawRules, class_limit: int) -> LawState:
    """Return the state of a law that has seen nothing. class_limit: how many levels have effects.

    The laws of nodes are set when they see their first round, and take no memory before.
    """
    size, rows, memories = rules.amounts.size, fixed_rows(rules), rules.growth.size
    kept = KEPT if rules.center else 0
    state = LawState(
        told=_zeros(rows, size + 1),
        hidden=_zeros(rows, size + 1),
        visits=_zeros(rows),
        since=_zeros(rows),
        law=_zeros(rows, size + 1),
        spread=_zeros(rows, size + 1),
        evidence=_zeros(rows, 6),
        totals=np.zeros((memories * LEVELS, 6)),
        scale=np.ones(memories),
        weights=np.full(memories, 1.0 / memories),
        asked=np.zeros((BROAD, size)),
        untried=np.full(BROAD, size + 1.0),
        reached=np.zeros((BROAD, size)),
        rounds=np.zeros(1),
        **_empty_effects(rules, class_limit if rules.features else 0),
        grid=rules.amounts.copy() if kept else np.zeros(0),
        cuts=rules.cuts.copy() if kept else np.zeros(0),
        units=np.array([rules.power, rules.center] if kept else []),
        kept=_zeros(kept, 4),
        kept_keys=np.full((kept, rules.features + 1), -1),
        ring=np.zeros(6),
    )
    set_flat(rules, state, [root for root, _ in full_trees(rules)])
    return state


def _empty_effects(rules: LawRules, levels: int) -> dict[str, Any]:
    """Return the arrays of the effects of features; parts of them take no memory until used."""
    features, size = rules.features, rules.amounts.size
    blocks = min(BLOCKS, size) if features else 0
    pairs = min(PAIRS, features * (features - 1) // 2)
    singles = (1 + 3 * features) if features else 0
    terms, columns = singles + pairs, np.arange(size + 1)
    block = np.maximum(columns - 1, 0) * blocks // size
    return {
        "owners": np.full(2 * levels, -1),
        "terms": np.full(2 * levels, -1),
        "used": np.zeros(2 * levels),
        "scores": _zeros(2 * levels, KNOTS + 1),
        "infos": _zeros(2 * levels, KNOTS + 1),
        "fine_scores": _zeros(levels, blocks),
        "fine_infos": _zeros(levels, blocks),
        "tau": np.zeros((terms, 3)),
        "mu": np.zeros((terms, KNOTS + 1)),
        "fine_mu": np.zeros((singles, blocks)),
        "stages": np.full(3, 1.0 / 3.0),
        "gains": np.zeros(2),
        "usual": np.zeros(1),
        "due": np.array([16.0, 0.0]),
        "pairs": np.arange(pairs),
        "paired": np.zeros(pairs),
        "turn": np.array([max(pairs - 1, 0)]),
        "numbers": np.zeros((features, 256), dtype=np.int64),
        "counted": np.zeros(features, dtype=np.int64),
        "number_cuts": np.zeros((features, 31), dtype=np.int64),
        "block": block,
        "knot": np.zeros(blocks, dtype=np.int64),
        "part": np.zeros(blocks),
    }


def _flat_law(rules: LawRules) -> Floats:
    """Return the law that is assumed before anything is seen: all cells are equally likely.

    On a grid of its own, an amount of the usual worth reaches the number with a chance of 1 / 2.
    """
    columns = np.arange(rules.amounts.size + 1.0)
    if rules.center:
        chances = np.append(rules.amounts / (rules.amounts + rules.center), 1.0)
        below = np.append(0.0, chances[:-1])
        if rules.mirrored:  # chances of amounts far above the usual worth are rounded to 1
            missed = np.append(rules.center / (rules.amounts + rules.center), 0.0)
            mirrored: Floats = (1.0 - missed / np.append(1.0, missed[:-1]))[::-1].copy()
            return mirrored
        if rules.feedback == WON_LOST:
            return np.append(np.log(rules.amounts / rules.center), 6.4)
        hazards: Floats = 1.0 - below / chances
        return hazards
    if rules.feedback == WON_LOST:
        odds = [math.log((j + 1.0) / max(rules.amounts.size - j, 1.0)) for j in columns.tolist()]
        return np.array(odds)
    return 1.0 / (columns + 1.0)


def set_flat(rules: LawRules, state: LawState, rows: Any) -> None:
    """Set the laws of nodes to what is assumed before anything is seen."""
    state.law[rows], state.spread[rows] = _flat_law(rules), 1.0


def scratch_for(rules: LawRules) -> Scratch:
    """Return scratch arrays for one computation."""
    size, experts = rules.amounts.size, rules.growth.size
    return Scratch(
        work=np.zeros((5, size + 1)),
        chances=np.zeros(size),
        spreads=np.zeros(size),
        rows=np.zeros((experts, 2), dtype=np.int64),
        flat=_flat_law(rules),
    )


_MOST = 1e40  # more than any count times its scale; sums do not overflow
_COUNT = Field(low=0.0, high=_MOST)
_SIGNED = Field(low=-_MOST, high=_MOST)
_NODES, _SIGNED_NODES = _COUNT._replace(rows="nodes"), _SIGNED._replace(rows="nodes")
_LEVELS = _COUNT._replace(rows="levels")
_AMOUNT = Field(low=0.0)  # in any unit
_ROUNDS = 2.0**53  # more than will ever be counted
# A file has the nodes that are in use, and the levels that have a row.
_LAW_FIELDS = {
    "rows": _NODES,
    "told": _SIGNED_NODES,
    "hidden": _SIGNED_NODES,
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
    "rounds": _COUNT,
    "levels": _LEVELS,
    "owners": _LEVELS,
    "terms": _LEVELS,
    "used": _LEVELS,
    "scores": _SIGNED._replace(rows="levels"),
    "infos": _LEVELS,
    "fine_scores": _SIGNED._replace(rows="singles"),
    "fine_infos": _COUNT._replace(rows="singles"),
    "tau": _COUNT,
    "mu": _SIGNED,
    "fine_mu": _SIGNED,
    "stages": _COUNT,
    "gains": _SIGNED,
    "usual": _SIGNED,
    "due": _COUNT,
    "pairs": _COUNT,
    "paired": _COUNT,
    "turn": _COUNT,
    "numbers": Field(),
    "counted": Field(low=0, high=256),
    "number_cuts": Field(),
    "block": _COUNT,
    "knot": Field(low=0, high=KNOTS - 2),
    "part": Field(low=0.0, high=1.0),
    "grid": _AMOUNT,
    "cuts": _AMOUNT,
    "units": _AMOUNT,
    "kept": Field(low=-1.0),
    "kept_keys": Field(),
    "ring": _AMOUNT,
}
_BY_NODE = {name for name, field in _LAW_FIELDS.items() if field.rows == "nodes"} - {"rows"}
_BY_LEVEL = {name for name, field in _LAW_FIELDS.items() if field.rows == "levels"} - {"levels"}
_BY_SINGLE = ("fine_scores", "fine_infos")


def copied(state: LawState) -> LawState:
    """Return a state that can be changed independently."""
    parts = state._asdict()
    for name, part in parts.items():
        if part.dtype == np.float64 and part.nbytes >= _PAGES:  # most rows hold zeros
            parts[name] = _zeros(*part.shape)
            rows = part.any(axis=tuple(range(1, part.ndim))).nonzero()
            parts[name][rows] = part[rows]
        else:
            parts[name] = part.copy()
    return LawState(**parts)


def law_arrays(state: LawState, without: tuple[str, ...] = ()) -> dict[str, npt.NDArray[Any]]:
    """Return copies of the arrays of a law, by name; of nodes and levels those that are in use.

    "rows" are the numbers of these nodes, "levels" those of the rows of these levels.
    """
    rows, levels = np.flatnonzero(state.visits > 0), np.flatnonzero(state.owners >= 0)
    if not len(state.kept):
        without = (*without, *_OWN)
    singles = levels[levels < len(state.fine_scores)]
    parts = {"rows": rows, "levels": levels}
    for name, part in state._asdict().items():
        if name in without:
            continue
        used = rows if name in _BY_NODE else levels if name in _BY_LEVEL else slice(None)
        parts[name] = part[singles if name in _BY_SINGLE else used].copy()
    return parts


def _taken(part: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array without the places at its end that hold -1 only."""
    return part[: np.nonzero(part != -1)[0].max(initial=-1) + 1]


def fill_law(state: LawState, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Set the arrays of an empty state to what `law_arrays` returned; raise CheckpointError."""
    nodes, places = np.arange(state.visits.size), np.arange(state.owners.size)
    if not len(state.kept):
        arrays = {**arrays, **{name: getattr(state, name) for name in _OWN}}
    check({**state._asdict(), "rows": nodes, "levels": places}, arrays, _LAW_FIELDS, "law")
    rows, levels = arrays["rows"], arrays["levels"]
    for numbers, most in ((rows, nodes.size), (levels, places.size)):
        if (np.diff(numbers) <= 0).any() or numbers.max(initial=-1) >= most:
            raise CheckpointError("The rows of a law's nodes or levels must be numbers of rows.")
    if (np.diff(arrays["grid"]) <= 0).any() or (np.diff(arrays["cuts"]) < 0).any():
        raise CheckpointError("The grid of a law must be ascending.")
    if arrays["ring"][0] > _ROUNDS:
        raise CheckpointError("A law has counted more rounds than there can be.")
    if not _possible(state, arrays):
        raise CheckpointError("The arrays of a law's features are impossible.")
    singles = levels[levels < len(state.fine_scores)]
    for name, whole in state._asdict().items():
        used = rows if name in _BY_NODE else levels if name in _BY_LEVEL else slice(None)
        whole[singles if name in _BY_SINGLE else used] = arrays[name]
    if not 0.999 < state.weights.sum() < 1.001 or not 0.999 < state.stages.sum() < 1.001:
        raise CheckpointError("The weights of a law must add up to 1.")


def _possible(state: LawState, arrays: Mapping[str, npt.NDArray[Any]]) -> bool:
    """Return whether levels have terms of their kind, and whether other numbers are of things."""
    levels, terms = arrays["levels"], arrays["terms"]
    limit, singles, features = len(state.fine_scores), len(state.fine_mu), len(state.numbers)
    possible = max(features * (features - 1) // 2, 1)
    return bool(
        len(arrays["fine_scores"]) == (levels < limit).sum()
        and ((terms < singles) == (levels < limit)).all()
        and (terms < len(state.tau)).all()
        and (arrays["pairs"] < possible).all()
        and (arrays["turn"] < possible).all()
        and (arrays["block"] < max(len(state.knot), 1)).all()
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
    slots = min(class_limit, 2 * STRATA) if rules.features else 0
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


def add_counts(rules: LawRules, state: LawState, other: LawState) -> None:
    """Add the counts of `other` to those of `state`, and compute all laws again."""
    unseen = state.visits == 0.0
    units = row_units(rules, state) / row_units(rules, other)
    for name in _COUNTS:
        mine, theirs = getattr(state, name), getattr(other, name)
        mine += theirs * (units[:, None] if mine.ndim == 2 else units)
    set_flat(rules, state, np.flatnonzero(unseen & (state.visits > 0.0)))
    add(state._asdict(), other._asdict(), ("asked", "reached", "rounds"))
    for mine, theirs in ((state.weights, other.weights), (state.stages, other.stages)):
        even = rules.share / mine.size
        mine[:] = mine * theirs
        mine[:] = (1.0 - rules.share) * mine / mine.sum() + even
    compute_all(rules, state)
    if rules.features:
        add_effects(rules, state, other)


def row_units(rules: LawRules, state: LawState) -> Floats:
    """Return what one round counts now, in each of the fixed rows."""
    return np.repeat(state.scale, [(2 << depth) - 1 for _, depth in full_trees(rules)])


def compute_all(rules: LawRules, state: LawState) -> None:
    """Compute the law of every node from the counts alone, parents first."""
    table = _genealogy(rules)
    total = np.cumsum(state.asked, axis=1)
    tried = total >= TRIED
    first = np.where(tried.any(axis=1), tried.argmax(axis=1), state.asked.shape[1])
    state.untried[:] = first + 1.0
    state.totals[:] = 0.0
    state.evidence[:] = 0.0
    core = LawCore(rules, state, scratch_for(rules))
    for _ in range(2):  # the first pass finds out how much nodes of a kind differ
        core.rebuild(table)


def _genealogy(rules: LawRules) -> Integers:
    """Return row, parent, place in the pool, depth and memory of all nodes, parents first."""
    found = []
    for memory, (root, deepest) in enumerate(full_trees(rules)):
        for place in range((2 << deepest) - 1):
            parent = -1 if place == 0 else root + (place - 1) // 2
            found.append((root + place, parent, place, (place + 1).bit_length() - 1, memory))
    return np.array(found, dtype=np.int64)


_SHAPE = ("block", "knot", "part")  # of the columns, as effects see them


def add_effects(rules: LawRules, state: LawState, other: LawState) -> None:
    """Add what the features of `other` have shown, level by level, and estimate the variances.

    Scores and informations of different rounds add up. Bands of numbers that were cut elsewhere go
    to the band that has their middle. Pairs count if both have tried the same.
    """
    core = EffectCore(rules, state, np.full(rules.features, -1))
    _take_shape(core, state, other)
    blocks = _blocks_to(other.block, state.block, state.part.size)
    keys, features, singles = _band_keys(state, other), rules.features, len(state.fine_mu)
    for row in np.flatnonzero(other.owners >= 0).tolist():
        key, term = int(other.owners[row]), int(other.terms[row])
        if term >= singles:
            at = term - singles
            if state.pairs[at] != other.pairs[at]:
                continue
        elif term > features:
            key = keys.get((term, key), -1)
        mine = core.take(key, term, other.used[row]) if key >= 0 else -1
        if mine >= 0:
            state.scores[mine] += other.scores[row]
            state.infos[mine] += other.infos[row]
            if term < singles:
                state.fine_scores[mine] += other.fine_scores[row] @ blocks
                state.fine_infos[mine] += other.fine_infos[row] @ blocks
    state.tau[:] = np.maximum(state.tau, other.tau)
    state.gains[:] += other.gains
    core.renew()


def _take_shape(core: EffectCore, state: LawState, other: LawState) -> None:
    """Take over bands of numbers and blocks of columns where there are none so far."""
    empty = (state.counted < BANDS) & (other.counted >= BANDS)
    for name in ("numbers", "counted", "number_cuts"):
        getattr(state, name)[empty] = getattr(other, name)[empty]
    if state.due[1] == 0.0:
        if other.due[1] > 0.0:
            for name in (*_SHAPE, "due"):
                getattr(state, name)[:] = getattr(other, name)
        elif state.rounds[0] >= SETTLED:
            core.settle(state.law)


def _blocks_to(old: Integers, new: Integers, count: int) -> Floats:
    """Return which share of the columns of each old block is in each new one."""
    shares = np.zeros((max(int(old.max()) + 1, count), count))
    np.add.at(shares, (old[1:], new[1:]), 1.0)
    found: Floats = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1.0)
    return found


def _band_keys(state: LawState, other: LawState) -> dict[tuple[int, int], int]:
    """Return, by the term and the key of a band of `other`, the key of the nearest band here."""
    found, features = {}, len(state.numbers)
    for f in range(features):
        theirs, mine = other.number_cuts[f], state.number_cuts[f]
        for kind, count in ((1, BROAD_BANDS), (2, BANDS)):
            term, step = 1 + kind * features + f, BANDS // count
            for band in range(count):
                middle = band * step + step // 2
                inside = theirs[min(middle, BANDS - 2)]
                if step == 1 and band > 0:
                    inside = theirs[band - 1]
                place = int(np.searchsorted(mine, inside, "right")) // step
                if step == 1 and band == 0:
                    place = int(np.searchsorted(mine, theirs[0] - 1, "right"))
                found[term, level_key(band, term)] = level_key(place, term)
    return found


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


def move(
    rules: LawRules,
    state: LawState,
    context_range: tuple[float, float],
    new_rules: LawRules,
    target: LawState,
) -> None:
    """Fill an empty state with the counts of another, whose grid or range is different."""
    edges = np.concatenate([context_range[:1], rules.cuts, context_range[1:]])
    middles = (edges[:-1] + edges[1:]) / 2
    bands: Integers = np.searchsorted(new_rules.cuts, middles, side="right")
    told = hidden = np.zeros(0)
    if rules.power == new_rules.power:
        told = moved_columns(rules, state.told, new_rules.amounts, told=True)
        hidden = moved_columns(rules, state.hidden, new_rules.amounts, told=False)
    for root, depth in full_trees(rules):
        leaves, shift = 1 << depth, rules.depth - depth
        for leaf in range(leaves):
            # The middle of a coarse band is where its upper half begins.
            place = int(bands[(leaf << shift) + ((1 << shift) >> 1)]) >> shift
            source = root + leaves - 1 + leaf
            if rules.power == new_rules.power:
                new_told, new_hidden = told[source], hidden[source]
            elif state.visits[source] == 0.0:
                continue
            else:  # amounts go to other units
                middle = middles[(leaf << shift) + ((1 << shift) >> 1)]
                scaled = rules._replace(
                    amounts=rules.amounts * middle ** (rules.power - new_rules.power)
                )
                one = slice(source, source + 1)
                new_told, new_hidden = (
                    moved_columns(scaled, counts[one], new_rules.amounts, told=is_told)[0]
                    for counts, is_told in ((state.told, True), (state.hidden, False))
                )
            for level in range(depth + 1):
                row = root + (1 << level) - 1 + (place >> (depth - level))
                target.told[row] += new_told
                target.hidden[row] += new_hidden
    target.visits[:] = target.told.sum(axis=1) + target.hidden.sum(axis=1)
    set_flat(new_rules, target, np.flatnonzero(target.visits > 0.0))
    target.scale[:] = state.scale
    target.weights[:] = state.weights
    target.rounds[:] = state.rounds
    compute_all(new_rules, target)
    if rules.features:
        _move_effects(rules, state, new_rules, target)


def _move_effects(rules: LawRules, state: LawState, new_rules: LawRules, target: LawState) -> None:
    """Take over what features have shown on another grid; knots stay, blocks go by columns."""
    for name, part in state._asdict().items():
        if name in _EFFECTS and name not in (*_SHAPE, *_BY_SINGLE, "fine_mu", "due"):
            getattr(target, name)[:] = part
    core = EffectCore(new_rules, target, np.full(rules.features, -1))
    target.due[0] = state.due[0]
    if state.due[1] == 0.0:
        return
    core.settle(target.law)
    ones = np.eye(rules.amounts.size + 1)
    columns = moved_columns(rules, ones, new_rules.amounts, told=rules.feedback != WON_LOST)
    shares = np.zeros((len(state.part), len(target.part)))
    for j, column in enumerate(columns):
        np.add.at(shares[state.block[j]], target.block, column)
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1.0)
    for name in (*_BY_SINGLE, "fine_mu"):
        getattr(target, name)[:] = getattr(state, name) @ shares
