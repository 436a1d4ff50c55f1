"""Codes of 16 bits for outcomes. One is remembered for every decision that was settled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crossbandit.errors import ExpiredDecisionError, LearnedBeforeError
from crossbandit.kernels.laws.state import AT_MOST, TOLD
from crossbandit.learners.seen_pages import ascending

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from crossbandit.applications.law_learner.decisions import Made
    from crossbandit.learners.seen import SeenDecisions
    from crossbandit.types import Integers

HELD = 1  # not learned from, because outcomes were missing with a bias
FORGOTTEN = 2  # learned when the amounts were others
NOTHING = 3  # learned, but it showed nothing about any amount
KNOWN = 3  # codes from here on say what was learned
FIRST = 4  # a code is what the compiled step returns, plus this


def code_of(kind: int, index: int) -> int:
    """Return the code of an outcome.

    Args:
        kind: What is known of the number: 0 its cell, 1 that an amount reaches it, 2 that an
            amount does not; below 0 for nothing.
        index: The cell or amount, at most 15,000.
    """
    return NOTHING if kind < 0 else FIRST + 4 * index + kind


def outcome_of(code: int) -> tuple[int, int]:
    """Return the kind and the index of a code; the kind is below 0 if it says nothing.

    Args:
        code: At least `KNOWN`.

    >>> outcome_of(code_of(2, 99))
    (2, 99)
    """
    return (-1, 0) if code == NOTHING else ((code - FIRST) % 4, (code - FIRST) // 4)


def reaches(code: int, cell: int) -> bool:
    """Return whether an amount reached the number, by the outcome that was learned.

    Args:
        code: At least `KNOWN`.
        cell: The amount, by number.

    >>> reaches(code_of(1, 5), 5), reaches(code_of(0, 5), 4)
    (True, False)
    """
    kind, index = outcome_of(code)
    return kind == AT_MOST or (kind == TOLD and index <= cell)


def seen_before(seen: SeenDecisions, made: Sequence[Made], rows: Integers, total: int) -> Integers:
    """Return what is remembered of many decisions: 0, or `HELD`.

    Args:
        seen: The memory.
        made: The decisions, by their deciders.
        rows: The row of each of them in the batch.
        total: The number of rows of the batch.

    Raises:
        DecisionError: Some were learned from before, come twice, or have expired. The message names
            their rows.
    """
    one = made[0]
    if one.run and len(made) == 1:
        first, time = int(one.rounds[0]), float(one.times[0])
        if seen.is_new(one.decider, first, one.rounds.size, time):
            return np.zeros(one.rounds.size, dtype=np.int64)
    old = np.concatenate([seen.expired(one.times) for one in made])
    if old.any():
        raise ExpiredDecisionError(
            f"{rows_named(_at(rows, old, total))} expired: decisions are remembered for "
            f"{seen.window:.0f} seconds. Nothing was learned; leave them out."
        )
    found = [seen.codes(one.decider, one.rounds).astype(np.int64) for one in made]
    twice = [_repeated(one.rounds) for one in made]
    codes = np.concatenate(found)
    learned = (codes > HELD) | np.concatenate(twice)
    if learned.any():
        raise LearnedBeforeError(
            f"{rows_named(_at(rows, learned, total))} been learned from before, or come "
            "twice. Each counts once. Nothing was learned; leave them out."
        )
    return codes


def put_codes(seen: SeenDecisions, made: Sequence[Made], codes: Integers) -> None:
    """Remember the outcomes of many decisions.

    Args:
        seen: The memory.
        made: The decisions, by their deciders.
        codes: Their codes.
    """
    start = 0
    for one in made:
        stop = start + one.rounds.size
        if one.run:
            seen.put_run(one.decider, int(one.rounds[0]), float(one.times[0]), codes[start:stop])
        else:
            seen.put_many(one.decider, one.rounds, one.times, codes[start:stop])
        start = stop


def rows_named(wrong: npt.NDArray[np.bool_]) -> str:
    """Return the wrong rows in words, as the subject of a sentence with "have".

    >>> rows_named(np.array([False, True, True]))
    'Rows 1 and 2 of 3 have'
    """
    rows = np.flatnonzero(wrong).tolist()
    if len(rows) == 1:
        return f"Row {rows[0]} of {wrong.size} has"
    shown = [str(row) for row in rows[:10]] + (["others"] if len(rows) > 10 else [])
    return f"Rows {', '.join(shown[:-1])} and {shown[-1]} of {wrong.size} have"


def _at(rows: Integers, wrong: npt.NDArray[np.bool_], total: int) -> npt.NDArray[np.bool_]:
    """Return which rows of a batch are wrong."""
    out = np.zeros(total, dtype=bool)
    out[rows] = wrong
    return out


def _repeated(rounds: Integers) -> npt.NDArray[np.bool_]:
    """Return which numbers have come before."""
    if ascending(rounds):
        return np.zeros(rounds.size, dtype=bool)
    out = np.ones(rounds.size, dtype=bool)
    out[np.unique(rounds, return_index=True)[1]] = False
    return out
