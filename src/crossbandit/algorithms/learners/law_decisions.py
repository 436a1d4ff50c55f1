"""The decisions of a law, one or many at once, and the codes of their outcomes.

A decision carries all that learning needs. A code of 16 bits is remembered for every decision that
was settled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from crossbandit.algorithms.learners.seen import ascending
from crossbandit.algorithms.learners.shell_core import DecisionFields
from crossbandit.algorithms.learners.tokens import LAW, Token, packed
from crossbandit.core.validation import because_of
from crossbandit.errors import ExpiredDecisionError, LearnedBeforeError
from crossbandit.laws.levels import short
from crossbandit.laws.state import AT_MOST, FIRST_CODE, TOLD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from crossbandit.algorithms.learners.seen import SeenDecisions
    from crossbandit.core.types import Floats, Integers

TOP = 255  # the highest place, and the highest chance
# A score is a place plus this many times a chance. The difference of two sums of scores then
# determines the differences of both parts, if each is less than half of it. Sums are kept modulo
# its square.
SCALE = 1 << 20
TOTALS = SCALE * SCALE
# Decisions for an amount of 0 that means not to act need no outcome. They are numbered from here,
# so that those with an outcome have consecutive numbers.
DECLINED = 1 << 48
_MOST = 1e100  # the highest amount of money
_FORMS = {
    "round": int,
    "arm": int,
    "learner": str,
    "decider": str,
    "time": float,
    "score": int,
    "total": int,
}


@dataclass(frozen=True, slots=True, eq=False)
class GuardPart:
    """What learning under a guard needs in addition."""

    worth: float  # what the amount was chosen for
    law_amount: float  # what the law would have played
    weight: float  # the probability with which the law was followed
    chances: Floats  # the probability of each amount under the learner that assumes nothing

    def places(self, amounts: Floats, amount: float) -> tuple[int, int] | None:
        """Return the numbers of the law's amount and of the one played; None if they changed."""
        played, of_law = np.searchsorted(amounts, [amount, self.law_amount]).tolist()
        last = amounts.size - 1
        if self.chances.size != amounts.size or played > last or amounts[played] != amount:
            return None
        return min(of_law, last), played

    def check(self) -> None:
        """Raise ValueError if numbers that come from a token or a file are impossible."""
        numbers = [self.worth, self.law_amount, *self.chances.tolist()]
        if not (np.abs(numbers) <= _MOST).all() or not 0.0 <= self.weight <= 1.0:
            raise ValueError("impossible probabilities")
        if (self.chances < 0.0).any():
            raise ValueError("impossible probabilities")


class LawDecision(DecisionFields):
    """One decision of a law. Keep it, or the token of its action, until its outcome is known.

    Its fields are `round`, `arm`, the ids of the `learner` that may learn from it and of the
    `decider` that made it (the learner, or one of its snapshots), the `time` when it was made, in
    seconds, its `score` and the `total` of those before it, `guard`: what learning under a guard
    needs, or None, and the `key` of its token.
    """

    __slots__ = ()
    by_law: ClassVar[bool] = True

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name in (*_FORMS, "guard"))
        return f"LawDecision({', '.join(shown)})"

    def to_json(self) -> dict[str, Any]:
        """Return a form that `json` can write."""
        found = {name: getattr(self, name) for name in _FORMS}
        if self.guard is not None:
            part = self.guard
            found["guard"] = [part.worth, part.law_amount, part.weight, part.chances.tolist()]
        return found

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> LawDecision:
        """Return the decision that `to_json` wrote."""
        given = dict(data)
        guard = given.pop("guard", None)
        if set(given) != set(_FORMS) or any(type(given[k]) is not v for k, v in _FORMS.items()):
            raise ValueError(f"a decision with the keys {list(given)}")
        chance, place = divmod(given["score"], SCALE)
        if not (0 <= chance <= TOP >= place and 0 <= given["total"] < TOTALS):
            raise ValueError("impossible scores")
        if guard is not None:
            worth, law_amount, weight, chances = guard
            numbers = (float(worth), float(law_amount), float(weight))
            given["guard"] = GuardPart(*numbers, np.array(chances, float))
            given["guard"].check()
        return cls(**given)

    def action_token(self, values: tuple[Any, ...]) -> bytes:
        """Return the token of an action of an application, whose fields are given."""
        kept = (tuple(map(short, v)) if isinstance(v, tuple) else v for v in values)
        payload = packed((*kept, *self.pack()))
        token = Token(LAW, self.learner, self.decider, self.round, self.time, payload)
        return token.encode(self.key)

    def pack(self) -> tuple[Any, ...]:
        """Return what its token holds besides the ids, the number and the time."""
        chance, place = divmod(self.score, SCALE)
        both = self.total << 16 | chance << 8 | place  # 56 bits, shorter than three numbers
        if self.guard is None:
            return (both,)
        part = self.guard
        chances = np.asarray(part.chances, dtype="<f8").tobytes()
        return (both, part.worth, part.law_amount, part.weight, chances)

    @classmethod
    def unpack(cls, token: Token, content: Any, key: bytes | None) -> LawDecision:
        """Return the decision of a token."""
        form = tuple(type(one) for one in content) if isinstance(content, tuple) else ()
        guard = None
        if form == (int, float, float, float, bytes) and len(content[4]) % 8 == 0:
            worth, law_amount, weight, chances = content[1:]
            given = np.frombuffer(chances, dtype="<f8").astype(float)
            guard = GuardPart(worth, law_amount, weight, given)
            guard.check()
        elif form != (int,):
            raise ValueError("no decision of a law")
        both = content[0]
        if not 0 <= both < TOTALS << 16:
            raise ValueError("impossible scores")
        score, total = (both & TOP) + SCALE * (both >> 8 & TOP), both >> 16
        ids = (token.learner, token.decider, token.time)
        return cls(token.counter, -1, *ids, score, total, guard, key)


class Made(NamedTuple):
    """What a law has decided in n rounds at once; all (n,)."""

    arms: Integers  # the number of the amount, -1 where there was nothing to choose from
    rounds: Integers  # the number of each decision, as in `LawDecision`; -1 where there is none
    scores: Integers  # the scores of the decisions; see `LawDecision`
    totals: Integers  # the sum of the scores before each decision, modulo `TOTALS`
    times: Floats  # when the decisions were made, in seconds
    learner: str  # the id of the learner that may learn from them
    decider: str  # the id of what made them
    key: bytes | None  # the key of their tokens, or None
    run: bool = False

    def part(self, rows: Integers) -> Made:
        """Return some of the decisions."""
        columns = ("arms", "rounds", "scores", "totals", "times")
        made = self._replace(**{name: getattr(self, name)[rows] for name in columns}, run=False)
        numbers, times = made.rounds, made.times
        run = numbers.size > 0 and bool((np.diff(numbers) == 1).all() and numbers[0] >= 0)
        return made._replace(run=run and bool((times == times[0]).all()))

    def decision(self, i: int) -> LawDecision | None:
        """Return one of the decisions, or None where there was nothing to choose from."""
        if self.arms[i] < 0:
            return None
        return LawDecision(
            int(self.rounds[i]),
            int(self.arms[i]),
            self.learner,
            self.decider,
            float(self.times[i]),
            int(self.scores[i]),
            int(self.totals[i]),
            None,
            self.key,
        )


# ------------------------------------------------------------------------------- codes of outcomes

HELD = 1  # not learned from, because outcomes were missing with a bias
FORGOTTEN = 2  # learned when the amounts were others
NOTHING = 3  # learned, but it showed nothing about any amount
KNOWN = 3  # codes from here on say what was learned
ROWS = "the error has all of them as 'rows'"


def code_of(kind: int, index: int) -> int:
    """Return the code of an outcome."""
    return NOTHING if kind < 0 else FIRST_CODE + 4 * index + kind


def outcome_of(code: int) -> tuple[int, int]:
    """Return the kind and the index of a code; the kind is below 0 if it says nothing.

    >>> outcome_of(code_of(2, 99))
    (2, 99)
    """
    return (-1, 0) if code == NOTHING else ((code - FIRST_CODE) % 4, (code - FIRST_CODE) // 4)


def reaches(code: int, cell: int) -> bool:
    """Return whether an amount reached the number, by the outcome that was learned.

    >>> reaches(code_of(1, 5), 5), reaches(code_of(0, 5), 4)
    (True, False)
    """
    kind, index = outcome_of(code)
    return kind == AT_MOST or (kind == TOLD and index <= cell)


def seen_before(seen: SeenDecisions, made: Sequence[Made], rows: Integers, total: int) -> Integers:
    """Return what is remembered of many decisions: 0, or `HELD`."""
    one = made[0]
    if one.run and len(made) == 1 and not seen.expired(one.times[:1])[0]:
        codes = seen.codes(one.decider, one.rounds, run=True)
        if not codes.any():
            return codes
    old = np.concatenate([seen.expired(one.times) for one in made])
    if old.any():
        late = ExpiredDecisionError(
            f"{rows_named(_at(rows, old, total))} expired: decisions are remembered for "
            f"{seen.window:.0f} seconds. Nothing was learned; leave them out ({ROWS})."
        )
        raise because_of(rows[old].tolist(), late)
    codes = np.concatenate([seen.codes(one.decider, one.rounds) for one in made])
    learned = (codes > HELD) | np.concatenate([_repeated(one.rounds) for one in made])
    if learned.any():
        raise repeated(_at(rows, learned, total))
    return codes


def repeated(wrong: npt.NDArray[np.bool_]) -> LearnedBeforeError:
    """Return the error for a batch in which some rows were learned from before, or come twice."""
    error = LearnedBeforeError(
        f"{rows_named(wrong)} been learned from before, or come twice. Each counts once. Nothing "
        f"was learned; leave them out ({ROWS})."
    )
    return because_of(np.flatnonzero(wrong).tolist(), error)


def put_codes(
    seen: SeenDecisions, made: Sequence[Made], codes: Integers
) -> list[Callable[[], Any]]:
    """Return the steps that remember the outcomes of many decisions; see `at_once`."""
    start, steps = 0, []
    for one in made:
        stop = start + one.rounds.size
        steps += seen.putting(one.decider, one.rounds, one.times, codes[start:stop], run=one.run)
        start = stop
    return steps


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
