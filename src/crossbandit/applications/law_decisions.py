"""A decision of a law: all that learning from it needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crossbandit.learners.tokens import Token
    from crossbandit.types import Floats

TOP = 255  # the highest place, and the highest chance
# A score is a place plus this many times a chance. So the difference of two sums of scores says the
# difference of both sums, if neither is half as large: sums are kept modulo the square.
SCALE = 1 << 20
TOTALS = SCALE * SCALE
_MOST = 1e100  # the highest amount of money


@dataclass(frozen=True, slots=True, eq=False)
class GuardPart:
    """What learning under a guard needs besides.

    Attributes:
        worth: What the amount was chosen for.
        law_amount: What the law would have played.
        weight: The probability with which the law was followed.
        chances: Those of the learner that assumes nothing, by amount.
        seen: How likely the outcome of each amount was to be shown, if that is not computed again.
    """

    worth: float
    law_amount: float
    weight: float
    chances: Floats
    seen: Floats = field(default_factory=lambda: np.zeros(0))


@dataclass(slots=True, unsafe_hash=True)  # frozen would take twice as long to make
class LawDecision:
    """One decision of a law. Keep it, or the token of its action, until its outcome is known.

    Attributes:
        round: The number of the decision, as its decider counts.
        arm: The number of the amount, on the grid of the time of the decision; -1 if that is not
            known any more.
        learner: The id of the learner that may learn from it.
        decider: The id of what made it: the learner, or one of its snapshots.
        time: When it was made, in seconds.
        score: Its place: where the amount lies between the lowest and the highest that might have
            been chosen, from 0 to 255; plus `SCALE` times its chance of reaching the number, as
            the law believed, from 0 to 255.
        total: The sum of the scores of all decisions that the decider made before, modulo `TOTALS`.
        guard: What learning under a guard needs, or None.
        key: The key of its token, or None.
    """

    round: int
    arm: int
    learner: str
    decider: str
    time: float
    score: int
    total: int
    guard: GuardPart | None = None
    key: bytes | None = field(default=None, repr=False, compare=False)

    def to_json(self) -> dict[str, Any]:
        """Return a form that `json` can write."""
        names = ("round", "arm", "learner", "decider", "time", "score", "total")
        found = {name: getattr(self, name) for name in names}
        if self.guard is not None:
            part = self.guard
            chances, seen = part.chances.tolist(), part.seen.tolist()
            found["guard"] = [part.worth, part.law_amount, part.weight, chances, seen]
        return found

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> LawDecision:
        """Return the decision that `to_json` wrote.

        Args:
            data: What it wrote.

        Raises:
            ValueError: It is something else.
        """
        given = dict(data)
        guard = given.pop("guard", None)
        forms = {"round": int, "arm": int, "learner": str, "decider": str, "time": float}
        forms |= {"score": int, "total": int}
        if set(given) != set(forms) or any(type(given[k]) is not v for k, v in forms.items()):
            raise ValueError(f"a decision with the keys {list(given)}")
        chance, place = divmod(given["score"], SCALE)
        if not (0 <= chance <= TOP >= place and given["total"] >= 0):
            raise ValueError("impossible scores")
        given["total"] %= TOTALS  # an earlier version does not wrap it
        if guard is not None:
            worth, law_amount, weight, chances, seen = guard
            numbers = (float(worth), float(law_amount), float(weight))
            given["guard"] = GuardPart(*numbers, np.array(chances, float), np.array(seen, float))
            _check_guard(given["guard"])
        return cls(**given)

    def pack(self) -> tuple[Any, ...]:
        """Return what its token holds besides the ids, the number and the time."""
        chance, place = divmod(self.score, SCALE)
        both = self.total << 16 | chance << 8 | place  # 56 bits, shorter than three numbers
        if self.guard is None:
            return (True, both)
        part = self.guard
        chances = np.asarray(part.chances, dtype="<f8").tobytes()
        return (True, both, part.worth, part.law_amount, part.weight, chances)

    @classmethod
    def unpack(cls, token: Token, content: Any, key: bytes | None) -> LawDecision:
        """Return the decision of a token.

        Args:
            token: The token.
            content: What `pack` returned.
            key: The key of the token.

        Raises:
            ValueError: The content is something else.
        """
        has_chance = isinstance(content, tuple) and content[:1] == (True,)
        content = content[1:] if has_chance else content  # earlier versions have only the place
        form = tuple(type(one) for one in content) if isinstance(content, tuple) else ()
        guard = None
        if form == (int, float, float, float, bytes) and len(content[4]) % 8 == 0:
            worth, law_amount, weight, chances = content[1:]
            given = np.frombuffer(chances, dtype="<f8").astype(float)
            guard = GuardPart(worth, law_amount, weight, given)
            _check_guard(guard)
        elif form != (int,):
            raise ValueError("no decision of a law")
        if content[0] < 0:
            raise ValueError("impossible scores")
        score = content[0] & TOP
        if has_chance:
            score += SCALE * (content[0] >> 8 & TOP)
        total = (content[0] >> (16 if has_chance else 8)) % TOTALS
        ids = (token.learner, token.decider, token.time)
        return cls(token.counter, -1, *ids, score, total, guard, key)


def _check_guard(part: GuardPart) -> None:
    numbers = [part.worth, part.law_amount, *part.chances.tolist(), *part.seen.tolist()]
    if not (np.abs(numbers) <= _MOST).all() or not 0.0 <= part.weight <= 1.0:
        raise ValueError("impossible probabilities")
    if (part.chances < 0.0).any() or (part.seen < 0.0).any():
        raise ValueError("impossible probabilities")


def score_of(arm: int, first: int, last: int, chance: float) -> int:
    """Return the score of an amount: see `LawDecision`.

    Args:
        arm: The number of the amount.
        first: The number of the lowest one that might have been chosen.
        last: The number of the highest one.
        chance: Of reaching the number.
    """
    place = TOP * (arm - first) // (last - first) if last > first else TOP // 2
    return place + SCALE * int(TOP * chance)
