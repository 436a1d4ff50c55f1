"""A decision of a law: all that learning from it needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from crossbandit.algorithms.tokens import Token
    from crossbandit.types import Floats

ONE = 65_535  # a chance of 1, as a whole number


@dataclass(frozen=True, slots=True, eq=False)
class GuardPart:
    """What learning under a guard needs besides.

    Attributes:
        worth: What the amount was chosen for.
        law_amount: What the law would have played.
        weight: The probability with which the law was followed.
        chances: Those of the learner that assumes nothing, by amount.
        seen: How likely the outcome of each amount was to be shown, if that is not computed anew.
    """

    worth: float
    law_amount: float
    weight: float
    chances: Floats
    seen: Floats = field(default_factory=lambda: np.zeros(0))


@dataclass(slots=True)
class LawDecision:
    """One decision of a law. Keep it, or the token of its action, until its outcome is known.

    Attributes:
        round: The number of the decision, as its decider counts.
        arm: The number of the amount, on the grid of the time of the decision; -1 if that is not
            known any more.
        learner: The id of the learner that may learn from it.
        decider: The id of what made it: the learner, or one of its snapshots.
        time: When it was made, in seconds.
        chance: The chance that the amount reaches the number, as a share of 65,535.
        usual: The usual chance of what the decider had decided before.
        guard: What learning under a guard needs, or None.
        key: The key of its token, or None.
    """

    round: int
    arm: int
    learner: str
    decider: str
    time: float
    chance: int
    usual: int
    guard: GuardPart | None = None
    key: bytes | None = field(default=None, repr=False, compare=False)

    def pack(self) -> tuple[Any, ...]:
        """Return what its token holds besides the ids, the number and the time."""
        # Two chances in one number: 8 bytes less than two numbers.
        both = self.chance << 16 | self.usual
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
            guard = GuardPart(*content[1:4], np.frombuffer(content[4], dtype="<f8").astype(float))
            finite = np.isfinite([*content[1:4], *guard.chances.tolist()]).all()
            if not finite or not (0.0 <= guard.weight <= 1.0 and (guard.chances >= 0.0).all()):
                raise ValueError("impossible probabilities")
        elif form != (int,):
            raise ValueError("no decision of a law")
        if not 0 <= content[0] < 1 << 32:
            raise ValueError("impossible chances")
        chance, usual = content[0] >> 16, content[0] & ONE
        ids = (token.learner, token.decider, token.time)
        return cls(token.counter, -1, *ids, chance, usual, guard, key)
