"""The rules and the arrays of a law and of its test: made, copied, or taken from a file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.errors import CheckpointError
from crossbandit.kernels.feedback import FEEDBACK_CODES, WON_LOST
from crossbandit.kernels.laws.independence import RANKS, STRATA, TestState
from crossbandit.kernels.laws.pairs import waiting_rounds
from crossbandit.kernels.laws.state import (
    BROAD,
    FIRST_PRICE,
    LEVELS,
    NEWSVENDOR,
    POSTED_PRICE,
    LawRules,
    LawState,
    Scratch,
)
from crossbandit.validation import array, reject

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.types import Floats, Integers

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


def empty_state(rules: LawRules, class_limit: int) -> LawState:
    """Return the state of a law that has seen nothing.

    There is room for a root of each of `class_limit` classes, and for half as many children in all;
    for none if there are no features.
    """
    slots = class_limit if rules.features else 0
    size, fixed = rules.amounts.size, fixed_rows(rules)
    rows, memories = fixed + slots + 2 * (slots // 4), rules.growth.size
    experts = _experts(rules)
    columns = np.arange(size + 1.0)
    flat = 1.0 / (columns + 1.0)
    if rules.feedback == WON_LOST:
        flat = np.log((columns + 1.0) / np.maximum(size - columns, 1.0))
    return LawState(
        told=np.zeros((rows, size + 1)),
        hidden=np.zeros((rows, size + 1)),
        visits=np.zeros(rows),
        since=np.zeros(rows),
        law=np.tile(flat, (rows, 1)),
        spread=np.ones((rows, size + 1)),
        evidence=np.zeros((rows, 6)),
        totals=np.zeros(((memories + _slot_width(rules)) * LEVELS, 6)),
        scale=np.ones(memories),
        weights=np.full(experts, 1.0 / experts),
        asked=np.zeros((BROAD, size)),
        untried=np.full(BROAD, size + 1.0),
        reached=np.zeros((BROAD, size)),
        children=np.full((rows, 2), -1),
        roots=np.full(max(slots, 1), -1),
        owners=np.full(max(slots, 1), -1),
        born=np.zeros(rows),
        used=np.array([fixed, 0]),
        rounds=np.zeros(1),
    )


def scratch_for(rules: LawRules) -> Scratch:
    """Return scratch arrays for one computation."""
    size, experts = rules.amounts.size, _experts(rules)
    return Scratch(
        work=np.zeros((5, size + 1)),
        chances=np.zeros((experts + 1, size)),
        spreads=np.zeros((experts + 1, size)),
        rows=np.zeros((rules.growth.size + _slot_width(rules), 2), dtype=np.int64),
    )


def copied(state: LawState) -> LawState:
    """Return a state that can be changed independently."""
    return state._replace(**{name: part.copy() for name, part in state._asdict().items()})


_MOST = 1e40  # more than any count times its scale; sums do not overflow
_SIGNED = ("law", "evidence", "totals", "children", "roots", "owners", "born")


def state_from(model: LawState, arrays: Mapping[str, npt.ArrayLike]) -> LawState:
    """Return a state made of named arrays, each of the shape that it has in `model`.

    Raises:
        CheckpointError: An array is missing, has another shape or type, or holds impossible
            numbers.
    """
    wrong = set(arrays) ^ set(LawState._fields)
    if wrong:
        raise CheckpointError(
            f"The arrays of a law must be {', '.join(LawState._fields)}. Missing or unknown: "
            f"{', '.join(sorted(wrong))}."
        )
    parts = {}
    for name, expected in model._asdict().items():
        part = np.array(arrays[name], order="C")
        if part.shape != expected.shape or part.dtype != expected.dtype:
            raise CheckpointError(
                f"The array {name!r} of a law must have the shape {expected.shape} and the type "
                f"{expected.dtype}. Got {part.shape}, {part.dtype}."
            )
        if not (np.abs(part) < _MOST).all() or (name not in _SIGNED and (part < 0).any()):
            raise CheckpointError(f"The array {name!r} of a law holds numbers that it cannot hold.")
        parts[name] = part
    state = LawState(**parts)
    if not _linked(state, int(model.used[0])):
        raise CheckpointError("The nodes of a law's classes refer to nodes that do not exist.")
    if not 0.999 < state.weights.sum() < 1.001 or (state.scale < 1.0).any():
        raise CheckpointError(
            "The weights of a law must add up to 1, and its scales must be at least 1."
        )
    return state


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


BY_STRATUM = ("told", "counts", "shown", "usual")
_SIGNED_OF_TEST = ("usual", "sums", "shown", "rows", "owners", "sides", "expected", "waiting")


def empty_test(rules: LawRules, class_limit: int) -> TestState:
    """Return the state of a test that has seen nothing. class_limit: as for `empty_state`."""
    slots = class_limit if rules.features else 0
    columns, strata = rules.amounts.size + 1, 1 + min(slots, STRATA)
    places = waiting_rounds(rules.feedback, RANKS, columns) if slots else 0
    return TestState(
        told=np.zeros((strata, columns)),
        counts=np.zeros((strata, columns)),
        usual=np.zeros((strata, 2, columns)),
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
    parts = {name: part.copy() for name, part in state._asdict().items() if name != "risk"}
    return parts | {name: parts[name][: int(state.used[0])] for name in BY_STRATUM}


def fill_test(state: TestState, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Set the arrays of an empty test, the strata in use first.

    Raises:
        CheckpointError: An array is missing, has another shape, or holds impossible numbers.
    """
    for name in test_arrays(state):
        part = getattr(state, name)
        found = np.asarray(arrays.get(name, np.nan))
        by_stratum = name in BY_STRATUM and 1 <= len(np.atleast_1d(found)) <= len(part)
        target = part[: len(found)] if by_stratum and found.ndim == part.ndim else part
        if found.shape != target.shape or not np.isfinite(found).all():
            raise CheckpointError(f"The array {name!r} of a test is missing or impossible.")
        if name not in _SIGNED_OF_TEST and (found < 0).any():
            raise CheckpointError(f"The array {name!r} of a test holds negative numbers.")
        target[...] = found
    rows, used = state.rows, int(state.used[0])
    if not 1 <= used <= len(state.told) or ((rows >= 0) & (rows < 1)).any():
        raise CheckpointError("The array 'used' of a test is impossible.")
    if (rows >= used).any():
        raise CheckpointError("The array 'rows' of a test refers to classes that it does not have.")
    waiting, columns = state.waiting, state.told.shape[1]
    inside = ((waiting >= 0) & (waiting < (used, columns + 1, 2, columns + 1))).all(axis=1)
    inside &= waiting[:, 1] + waiting[:, 2] <= columns  # what was told is in a column
    if not (inside | (waiting[:, 0] == -1)).all():
        raise CheckpointError("The array 'waiting' of a test is impossible.")
