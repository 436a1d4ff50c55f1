"""A decision of a law: all that learning from it needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crossbandit.algorithms.tokens import Token
    from crossbandit.types import Floats

TOP = 255  # the score of the highest amount that might have been chosen
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
        score: Where the amount lies between the lowest and the highest that might have been
            chosen, from 0 to 255.
        total: The sum of the scores of all decisions that the decider made before.
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
        if not (0 <= given["score"] <= TOP and given["total"] >= 0):
            raise ValueError("impossible scores")
        if guard is not None:
            worth, law_amount, weight, chances, seen = guard
            numbers = (float(worth), float(law_amount), float(weight))
            given["guard"] = GuardPart(*numbers, np.array(chances, float), np.array(seen, float))
            _check_guard(given["guard"])
        return cls(**given)

    def pack(self) -> tuple[Any, ...]:
        """Return what its token holds besides the ids, the number and the time."""
        both = self.total << 8 | self.score  # 9 bytes less than two numbers
        if self.guard is None:
            return (both,)
        part = self.guard
        chances = np.asarray(part.chances, dtype="<f8").tobytes()
        return (both, part.worth, part.law_amount, part.weight, chances)

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
        total, score = content[0] >> 8, content[0] & TOP
        ids = (token.learner, token.decider, token.time)
        return cls(token.counter, -1, *ids, score, total, guard, key)


def _check_guard(part: GuardPart) -> None:
    numbers = [part.worth, part.law_amount, *part.chances.tolist(), *part.seen.tolist()]
    if not (np.abs(numbers) <= _MOST).all() or not 0.0 <= part.weight <= 1.0:
        raise ValueError("impossible probabilities")
    if (part.chances < 0.0).any() or (part.seen < 0.0).any():
        raise ValueError("impossible probabilities")


def score_of(arm: int, first: int, last: int) -> int:
    """Return where an amount lies between the lowest and the highest possible one, from 0 to 255.

    Args:
        arm: The number of the amount.
        first: The number of the lowest one.
        last: The number of the highest one.
    """
    return TOP * (arm - first) // (last - first) if last > first else TOP // 2
