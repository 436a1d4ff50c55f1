"""The grid of a law that is given none: laid from the rounds that it has seen.

Amounts are in units of context ** power. If numbers do not depend on contexts, the best power is 0:
the amounts are in money, and common numbers are among them. If numbers are proportional to
contexts, the best power is 1: the amounts are shares. What remains of the dependence is left to the
bands of contexts. The power is the one whose law has predicted the rounds best. A number counts as
one of an interval, so that narrow cells have no advantage, and a round by the square root of its
context: much money is in few rounds.

The latest rounds are kept in money. The first of them are learned again whenever their number has
doubled; later they are if many numbers lie in one wide cell, because prices have moved. If contexts
are elsewhere, in another unit, the law starts again with a few of the latest rounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.laws import memory
from crossbandit.laws.law_core import LawCore
from crossbandit.laws.state import AFTER_LOSS, AFTER_WIN

if TYPE_CHECKING:
    from crossbandit.core.types import Floats, Integers
    from crossbandit.laws.state import LawRules, LawState

ANY = (1e-100, 1e100)  # contexts without a range
UNBOUNDED = 1e300  # an amount that reaches every number
_NUMBERS = (1e-200, 1e200)  # of which grids are laid; others are as good as 0 or infinite
_AMOUNTS, _STEEPEST = 160, 6.4  # how many there are; the highest log odds of a share at first
_POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)
_FEW = 8  # rounds, with which amounts are shares
_PERIOD = 256  # rounds after which the grid is looked at, as in the core
_ELSEWHERE, _FACTOR = 0.75, 4.0  # so many contexts are so far outside the known ones: start again
_CROWD, _WIDE = 0.1, 1e-3  # so many numbers are in one cell of this relative width: lay again
_QUANTILES = 60  # the least number of amounts that are no common numbers
_COMMON, _NEAR = 0.005, 1e-9  # the least share of a common number; the width of its cell
_LOWER = 8  # amounts below all that came, each half of the next: tries go down in such steps
_STEP = 0.01  # from one amount to the next above all that came


class Kept(NamedTuple):
    """Rounds in money, the oldest first."""

    rounds: Floats  # (n, 4), as in `LawState.kept`
    keys: Integers  # (n, features + 1)

    @property
    def columns(self) -> tuple[Any, ...]:
        """What `LawCore.settle_all` takes, codes last."""
        contexts, amounts, numbers, marks = (one.copy() for one in self.rounds.T)
        reached, tried = (marks.astype(np.uint8) >> i & 1 for i in range(2))
        codes = np.empty(marks.size, dtype=np.int64)
        return contexts, self.keys, amounts, reached, numbers, tried, codes

    @classmethod
    def of(cls, state: LawState) -> Kept:
        """Return the latest rounds of a law."""
        count, most = int(state.ring[0]), len(state.kept)
        order = np.arange(max(count - most, 0), count) % max(most, 1)
        return cls(state.kept[order], state.kept_keys[order])


class Laid(NamedTuple):
    """What a law has learned on a new grid; and if it has learned it again, what from."""

    state: LawState
    learned: tuple[Kept, Integers] | None = None  # the rounds, and the codes of their outcomes


def first_rules(rules: LawRules) -> LawRules:
    """Return the rules of a law that has seen nothing: its amounts are shares."""
    cuts = np.geomspace(*ANY, (1 << rules.depth) + 1)[1:-1]
    return rules._replace(cuts=cuts, power=1.0, center=1.0)


def rules_of(rules: LawRules, state: LawState) -> LawRules:
    """Return the rules of a law with the grid that it has laid; as they are if it was given one."""
    if not state.grid.size:
        return rules
    power, center = state.units.tolist()
    return rules._replace(amounts=state.grid, cuts=state.cuts, power=power, center=center)


def first_amounts() -> Floats:
    """Return shares in even steps of log odds."""
    found: Floats = 1.0 / (1.0 + np.exp(-np.linspace(-_STEEPEST, _STEEPEST, _AMOUNTS)))
    return found


def laid_again(rules: LawRules, state: LawState, class_limit: int) -> Laid | None:
    """Return a law on a grid that suits its latest rounds; None if its own does."""
    kept, starts = Kept.of(state), state.ring[1]
    if state.ring[0] > len(state.kept):
        latest = Kept(kept.rounds[-_PERIOD:], kept.keys[-_PERIOD:])
        contexts, (low, high) = latest.rounds[:, 0], state.ring[4:]
        if ((contexts < low) | (contexts > high)).mean() > _ELSEWHERE:
            kept, starts = latest, starts + 1.0
        elif not _is_crowded(rules, latest.rounds):
            return None
    found = learned_again(rules, kept, class_limit, starts)
    found.state.rounds[:] = state.rounds
    return found


def learned_again(rules: LawRules, kept: Kept, class_limit: int, starts: float) -> Laid:
    """Return the law that predicts rounds best, of those with different powers.

    Powers between 0 and 1 have to predict clearly better than money and shares.
    """
    logs, margin = np.sort(np.log(kept.rounds[:, 0])), np.log(_FACTOR)
    ends = logs[0] - margin, logs[-1] + margin
    cuts = np.exp(_cuts(logs, *ends, rules.depth))
    found = []
    for power in _POWERS if len(kept.rounds) > _FEW else (1.0,):
        new = _laid(rules._replace(cuts=cuts), kept.rounds, power)
        state = memory.empty_state(new, class_limit)
        state.ring[1], state.ring[4:] = starts, np.exp(ends)
        core = LawCore(new, state, memory.scratch_for(new))
        columns, done = kept.columns, 0
        while done < len(kept.rounds):
            done += core.settle_all(None, *(column[done:] for column in columns))
            core.stale = False
        nats = core.predicted / np.sqrt(kept.rounds[:, 0]).mean()
        if 0.0 < power < 1.0:  # one number more is fitted to the rounds
            nats -= 0.5 * np.log(len(kept.rounds))
        found.append((nats, Laid(state, (kept, columns[-1]))))
    return max(found, key=lambda one: one[0])[1]


def latest_place(
    state: LawState, context: float, keys: Integers, amount: float, *, reached: bool
) -> int | None:
    """Return where the latest round like this one is kept; None if none is."""
    rounds, count = state.kept, int(state.ring[0])
    alike = (rounds[:, 0] == context) & (rounds[:, 1] == amount)
    alike &= (rounds[:, 3].astype(np.uint8) & 1 == reached) & (state.kept_keys == keys).all(axis=1)
    found = np.flatnonzero(alike[: min(count, len(rounds))])
    if not found.size:
        return None
    return int(found[np.argmax((found - count) % len(rounds))])


def moved(rules: LawRules, state: LawState, new: LawRules, class_limit: int) -> LawState:
    """Return what a law has learned, moved to another grid of its own."""
    target = memory.empty_state(new, class_limit)
    contexts = Kept.of(state).rounds[:, 0]
    memory.move(rules, state, (float(contexts.min()), float(contexts.max())), new, target)
    for name in ("kept", "kept_keys", "ring"):
        getattr(target, name)[:] = getattr(state, name)
    return target


def _laid(rules: LawRules, rounds: Floats, power: float) -> LawRules:
    """Return rules whose amounts suit rounds that were kept."""
    contexts, amounts, numbers, _ = rounds.T
    units = contexts**power
    worths = contexts / units
    with np.errstate(over="ignore"):
        seen, told = (np.sort(_possible(one / units)) for one in (amounts, numbers))
    return rules._replace(
        # Numbers that were seen must lie inside of cells, not at their ends up to rounding.
        amounts=_grid(rules, seen, told, worths) * (1.0 + _NEAR / 2 if power else 1.0),
        power=power,
        center=float(np.median(worths)),
    )


def _possible(numbers: Floats) -> Floats:
    """Return the numbers of which a grid can be laid."""
    least, most = _NUMBERS
    return numbers[(numbers > least) & (numbers < most)]


def _cuts(logs: Floats, low: float, high: float, depth: int) -> list[float]:
    """Cut each band at the mean of its contexts; in the middle if there are none."""
    if depth == 0:
        return []
    cut = min(max(float(logs.mean()), low), high) if logs.size >= 2 else (low + high) / 2
    at = int(logs.searchsorted(cut))
    return [*_cuts(logs[:at], low, cut, depth - 1), cut, *_cuts(logs[at:], cut, high, depth - 1)]


def _grid(rules: LawRules, seen: Floats, told: Floats, worths: Floats) -> Floats:
    """Return each common number, quantiles of what was seen, and even steps of logarithms."""
    size, both = rules.amounts.size, np.sort(np.concatenate([seen, told]))
    low, high = float(worths.min()), float(worths.max())
    if both.size:
        low = max(min(both[both.size // 100], low) * 0.25, both[0] * 0.25)
        high = max(high, both[-1])
    share, common = _COMMON, _common(rules, told, _COMMON)
    while 2 * common.size > size - _QUANTILES:
        share *= 2.0
        common = _common(rules, told, share)
    edges = (1.0, 1.0 + _NEAR) if rules.strict else (1.0 - _NEAR, 1.0)
    rest = size - 2 * common.size
    part = rest // 2 if both.size else 0
    quantiles = both[(2 * np.arange(part) + 1) * both.size // max(2 * part, 1)]
    even = np.geomspace(low, high * (1.0 + _STEP), rest - part - _LOWER)
    lower = low * 0.5 ** np.arange(1, _LOWER + 1)
    grid = np.unique(np.concatenate([*(common * edge for edge in edges), quantiles, even, lower]))
    return np.append(grid, grid[-1] * (1.0 + _STEP) ** np.arange(1, size - grid.size + 1))


def _common(rules: LawRules, told: Floats, share: float) -> Floats:
    """Return the numbers that have this share of those that could have been told instead.

    After losses these are the lower ones: they are only told to low amounts.
    """
    numbers, first, same = np.unique(told, return_index=True, return_counts=True)
    others = np.full(numbers.size, told.size)
    if rules.feedback == AFTER_LOSS:
        others = first + same
    elif rules.feedback == AFTER_WIN:
        others = told.size - first
    found: Floats = numbers[(same >= 3) & (same >= share * others)]
    return found


def _is_crowded(rules: LawRules, rounds: Floats) -> bool:
    """Return whether many of the latest numbers are in one wide cell."""
    numbers = rounds[:, 2] / rounds[:, 0] ** rules.power
    cells = np.searchsorted(rules.amounts, numbers, "right" if rules.strict else "left")
    counts = np.bincount(cells, minlength=rules.amounts.size + 1)[1:-1]
    wide = np.diff(rules.amounts) > _WIDE * rules.amounts[1:]
    return bool((wide & (counts > _CROWD * len(rounds))).any())
