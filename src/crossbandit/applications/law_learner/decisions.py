"""The decisions of a law, one or many at once. They carry all that learning needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.laws import GuardedAmountChoice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crossbandit.laws.levels import Label
    from crossbandit.learners.tokens import Token
    from crossbandit.types import Floats, Integers

TOP = 255  # the highest place, and the highest chance
# A score is a place plus this many times a chance. The difference of two sums of scores then
# determines the differences of both parts, if each is less than half of it. Sums are kept modulo
# its square.
SCALE = 1 << 20
TOTALS = SCALE * SCALE
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
    """What learning under a guard needs in addition.

    Attributes:
        worth: What the amount was chosen for.
        law_amount: What the law would have played.
        weight: The probability with which the law was followed.
        chances: The probability of each amount under the learner that assumes nothing.
    """

    worth: float
    law_amount: float
    weight: float
    chances: Floats

    def choice(
        self, amounts: Floats, amount: float, context: float, labels: tuple[Label, ...]
    ) -> GuardedAmountChoice | None:
        """Return what the guard has chosen; None if the amounts have changed since.

        Args:
            amounts: The amounts of the law.
            amount: The amount that was played.
            context: The context of the round.
            labels: Its classes.
        """
        played, law_index = np.searchsorted(amounts, [amount, self.law_amount]).tolist()
        last = amounts.size - 1
        if self.chances.size != amounts.size or played > last or amounts[played] != amount:
            return None
        return GuardedAmountChoice(
            index=played,
            amount=amount,
            context=context,
            classes=labels,
            worth=self.worth,
            law_index=min(law_index, last),
            chances=self.chances,
            weight=self.weight,
        )

    def check(self) -> None:
        """Raise ValueError if numbers that come from a token or a file are impossible."""
        numbers = [self.worth, self.law_amount, *self.chances.tolist()]
        if not (np.abs(numbers) <= _MOST).all() or not 0.0 <= self.weight <= 1.0:
            raise ValueError("impossible probabilities")
        if (self.chances < 0.0).any():
            raise ValueError("impossible probabilities")


@dataclass(slots=True, unsafe_hash=True)  # a frozen class would take twice as long to construct
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
        found = {name: getattr(self, name) for name in _FORMS}
        if self.guard is not None:
            part = self.guard
            found["guard"] = [part.worth, part.law_amount, part.weight, part.chances.tolist()]
        return found

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> LawDecision:
        """Return the decision that `to_json` wrote.

        Args:
            data: What `to_json` returned.

        Raises:
            ValueError: `to_json` did not write `data`.
        """
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
        """Return the decision of a token.

        Args:
            token: The token.
            content: What `pack` returned.
            key: The key of the token.

        Raises:
            ValueError: `pack` did not write the content.
        """
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
    """What a law has decided in n rounds at once; all (n,).

    Attributes:
        arms: The number of the amount, -1 where there was nothing to choose from.
        rounds: The number of each decision, as its decider counts; -1 where there is none.
        scores: The scores of the decisions; see `LawDecision`.
        totals: The sum of the scores before each decision, modulo `TOTALS`.
        times: When the decisions were made, in seconds.
        learner: The id of the learner that may learn from them.
        decider: The id of what made them.
        key: The key of their tokens, or None.
        run: Whether each row has a decision, all made at one time, with consecutive numbers.
    """

    arms: Integers
    rounds: Integers
    scores: Integers
    totals: Integers
    times: Floats
    learner: str
    decider: str
    key: bytes | None
    run: bool = False

    def part(self, rows: Integers) -> Made:
        """Return some of the decisions.

        Args:
            rows: The numbers of their rows.
        """
        columns = ("arms", "rounds", "scores", "totals", "times")
        return self._replace(**{name: getattr(self, name)[rows] for name in columns}, run=False)

    def decision(self, i: int) -> LawDecision | None:
        """Return one of the decisions, or None where there was nothing to choose from.

        Args:
            i: The number of the row.
        """
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
