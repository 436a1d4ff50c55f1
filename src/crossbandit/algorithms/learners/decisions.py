"""Decisions, what they carry until their feedback comes, and their tokens.

The payload of a token of a learner with a feedback graph is

    flags (1), round (8), arm (4), context, available, revealed, weights, baseline

The context is a number (8 bytes) or a double for each feature. `available` has a bit for each arm.
So does `revealed`, which is there only if graphs change. `weights` has a double for each revealed
arm, and `baseline` is a double. The flags say which of these parts the payload has.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.algorithms.learners.seen_core import DecisionFields
from crossbandit.algorithms.learners.tokens import (
    ACTION,
    GRAPH,
    LAW,
    Token,
    packed,
    to_text,
    token_bytes,
)
from crossbandit.core.forms import restricted
from crossbandit.core.validation import reject
from crossbandit.errors import (
    DamagedTokenError,
    DecisionError,
    ExpiredDecisionError,
    ForeignDecisionError,
    InvalidInputError,
    LearnedBeforeError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from crossbandit.algorithms.learners.problem import Problem
    from crossbandit.core.forms import Context, Readout
    from crossbandit.core.types import Booleans, Floats

_START = struct.Struct("<Bqi")
_NUMBER = struct.Struct("<q")
_DOUBLE = struct.Struct("<d")
_FLOATS = np.dtype("<f8")

_VECTOR, _AVAILABLE, _WEIGHTS, _BASELINE, _REVEALED = 1, 2, 4, 8, 16
_FLAGS = _VECTOR | _AVAILABLE | _WEIGHTS | _BASELINE | _REVEALED

_HEAVIEST = 1e120  # larger than any weight of a rate that is allowed; sums of losses stay finite


FIELDS = ("round", "context", "arm", "probability", "revealed", "learner")
_HIDDEN = ("decider", "counter", "time", "key", "remembered", "written", "known", "sealed")
_CARRIED = ("weights", "baseline", "rows", "graph")
# What a law keeps of a decision, besides the guard's part, in the order of `Decision.of_law`.
_LAW_FIELDS = {
    "round": int,
    "arm": int,
    "learner": str,
    "decider": str,
    "time": float,
    "score": int,
    "total": int,
}


class Decision(DecisionFields):
    """One play. Keep it, or its token, until its feedback comes; then pass that to `Learner.learn`.

    A decision carries all that learning from it needs, unless the algorithm has `needs_memory`. The
    attributes from `round` to `learner` cannot be set once it was made, and two decisions are equal
    if these are. The other attributes are for algorithms: until its feedback comes, a decision is
    *pending*. That of a law has neither a context nor weights, but a score and, perhaps, a guard's
    part.

    Attributes:
        round: The number of the round, from 0.
        context: The context: a number, or a tuple of features.
        arm: The arm that was chosen; `Learner.play` sets it.
        probability: The probability with which it was chosen; NaN if the learner does not know it.
        revealed: The arms whose losses `learn` expects, in this order: a `range` or a tuple. Empty
            if the graph of the round is not known yet.
        learner: The id of the learner that may learn from it.
        decider: The id of what made it: the learner, or one of its snapshots.
        counter: The number of the decision, as its decider counts.
        time: When it was made, in seconds.
        readout: How the context reads rows of losses, and which arms are available.
        weights: The factors of the losses, a float for each arm. Those of the revealed arms are
            used. None means that the feedback of this round is not used. `Learner.play` sets them:
            the weight of feedback is fixed when the round is played.
        baseline: What is subtracted from the losses before they are weighted, if anything.
        rows: Feedback that has come, but may not be used yet.
        graph: The graph of the round, if graphs change and it is known.
        known: The arms whose losses are revealed, if graphs change and they are known.
        key: The key of its token, or None.
        written: Its token, if only the token carries what learning needs.
        remembered: Whether its learner remembers it, so that it needs no token.
        by_law: Whether a law made it.
        score: Its place among the amounts that were possible, and its chance; see `SCALE`.
        total: The sum of the scores of the decisions before it.
        guard: What learning under a guard needs, or None.

    Args:
        round: As above.
        context: As above.
        arm: As above.
        probability: As above.
        revealed: As above.
        learner: As above.
        carried: Other attributes that are not as by default.

    Raises:
        DecisionError: The round, the arm, the probability or the learner is of another type.

    >>> from crossbandit import CrossGraphAdaptive, Problem, graphs
    >>> learner = CrossGraphAdaptive().start(Problem(graphs.complete(2), contexts=1), seed=0)
    >>> token = learner.act(0).token
    >>> learner.learn(token, [[0.5], [0.25]])  # hours later, perhaps after a restart
    """

    __slots__ = ()

    def __init__(
        self,
        round: int,  # noqa: A002
        context: Context,
        arm: int,
        probability: float = math.nan,
        revealed: Sequence[int] = (),
        learner: str = "",
        **carried: Any,
    ) -> None:
        try:
            super().__init__(round, context, arm, probability, revealed, learner, carried)
        except (OverflowError, TypeError):
            raise DecisionError(
                "The round and the arm of a decision must be integers, its probability a number, "
                f"and its learner the id of one. Got the round {round!r}, the arm {arm!r}, the "
                f"probability {probability!r} and the learner {learner!r}."
            ) from None

    if not TYPE_CHECKING:  # a type checker would allow every attribute

        def __setattr__(self, name: str, value: object) -> None:
            if name in FIELDS and self.sealed:
                raise AttributeError(f"{name!r} of a decision cannot be set: it is a record")
            super().__setattr__(name, value)

    @classmethod
    def of_law(
        cls, round_: int, arm: int, ids: tuple[str, str], time: float, *payload: Any
    ) -> Decision:
        """Return a decision of a law.

        Args:
            round_: Its number.
            arm: The number of the amount; -1 if it is not known.
            ids: The ids of the learner that may learn from it, and of its decider.
            time: When it was made, in seconds.
            *payload: Its score, the total before it, the guard's part and the key of its token.
        """
        names = ("score", "total", "guard", "key")
        carried = dict(zip(names, payload, strict=False))
        learner, decider = ids
        carried |= {"decider": decider, "counter": round_, "time": time, "by_law": True}
        return cls(round_, None, arm, math.nan, (), learner, **carried)  # type: ignore[arg-type]

    @property
    def whole(self) -> bool:
        """Whether it carries what learning needs, other than in its token."""
        return self.form is not None or self.reading is not None

    @property
    def token(self) -> bytes:
        """The decision as bytes, from which `learn` can learn anywhere and at any time.

        Raises:
            DecisionError: It was read from JSON that holds no token, or was not made by `act`.
        """
        if self.written is not None:
            return self.written
        if not self.whole:
            raise DecisionError(
                f"The decision of round {self.round} has no token: it was read from JSON that "
                "holds none. Pass the decision itself to learn."
            )
        payload = encoded(self, self.revealed)
        token = Token(GRAPH, self.learner, self.decider, self.counter, self.time, payload)
        return token.encode(self.key)

    @property
    def text(self) -> str:
        """The token as text that a URL can hold."""
        return to_text(self.token)

    def action_token(self, values: tuple[Any, ...]) -> bytes:
        """Return the token of an action of an application.

        Args:
            values: The fields of the action.

        Raises:
            DecisionError: This decision has no token.
        """
        if self.by_law:
            payload = packed((*values, *law_payload(self)))
            token = Token(LAW, self.learner, self.decider, self.round, self.time, payload)
            return token.encode(self.key)
        inner = self.token
        known = Token.decode(inner, self.key)
        return known._replace(kind=ACTION, payload=packed((*values, inner))).encode(self.key)

    def _replace(self, /, **changes: Any) -> Decision:
        """Return a decision that says something else. `learn` compares it with what was made."""
        written = self.token if self.whole else self.written
        kept = {"decider": self.decider, "remembered": self.remembered, "written": written}
        return Decision(**{**{name: getattr(self, name) for name in FIELDS}, **kept, **changes})

    def __repr__(self) -> str:
        names = (*_LAW_FIELDS, "guard") if self.by_law else FIELDS
        return f"Decision({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    def __reduce__(self) -> tuple[Any, ...]:
        law = ("by_law", "score", "total", "guard")
        carried = {n: getattr(self, n) for n in (*_HIDDEN, *(law if self.by_law else _CARRIED))}
        carried["reading"] = self.readout if self.whole else None
        return _copied, ([getattr(self, name) for name in FIELDS], carried)

    def to_json(self) -> dict[str, Any]:
        """Return a form that `json` can write, to store a decision until its feedback comes.

        Returns:
            A dict of plain numbers, strings and lists. A probability of NaN becomes None. If
            learning needs the token, its text is among them.
        """
        if self.by_law:
            found = {name: getattr(self, name) for name in _LAW_FIELDS}
            return found if self.guard is None else {**found, "guard": self.guard.to_json()}
        found = {name: getattr(self, name) for name in FIELDS}
        found["revealed"] = list(self.revealed)
        found["probability"] = None if math.isnan(self.probability) else self.probability
        kept = self.remembered or not (self.whole or self.written)
        return found if kept else {**found, "token": self.text}

    @classmethod
    def from_json(cls, data: Any) -> Decision:
        """Return the decision that `to_json` wrote.

        Args:
            data: What `to_json` returned, before or after a round trip through `json`.

        Returns:
            The decision. The learner that made it recognises it.

        Raises:
            InvalidParameterError: `data` is something else.
            DamagedTokenError: Its token is not the text of a token.
        """
        given = dict(data) if isinstance(data, Mapping) else {}
        token = given.pop("token", None)
        written = None if token is None else token_bytes(token)
        try:
            return _law_from_json(given) if "decider" in given else _from_json(given, written)
        except (DecisionError, KeyError, TypeError, ValueError):
            expected = f"what to_json wrote, a dict with the keys {', '.join(FIELDS)}"
            reject("Decision.from_json", "data", expected, data)

    def check(self, decision: Decision, revealed: Sequence[int]) -> None:
        """Raise DecisionError if `decision` is not the same as this one, which was made.

        Args:
            decision: What came back with the feedback.
            revealed: The arms that this decision reveals.

        Raises:
            DecisionError: Its round, arm, context or revealed arms are not those of the decision
                that was made.
        """
        if decision is self:
            return
        if not _same(self.round, decision.round):
            raise DecisionError(
                f"This learner made the decision in round {self.round}. Got a decision that says "
                f"round {decision.round}."
            )
        if not (
            _same(self.arm, decision.arm)
            and _same(self.context, decision.context)
            and _same(revealed, decision.revealed)
        ):
            raise DecisionError(
                f"In round {decision.round} this learner played arm {self.arm} in context "
                f"{self.context}, which reveals {list(revealed)}. Got a decision that says arm "
                f"{decision.arm} in context {decision.context}, which reveals {decision.revealed}."
            )


PendingDecision = Decision  # the name by which algorithms of earlier versions know it


def _copied(fields: list[Any], carried: dict[str, Any]) -> Decision:
    return Decision(*fields, **carried)


def _from_json(data: dict[str, Any], token: bytes | None) -> Decision:
    context, revealed, probability = data["context"], data["revealed"], data["probability"]
    data["context"] = tuple(context) if isinstance(context, list) else context
    data["revealed"] = compact(revealed) if isinstance(revealed, list) else revealed
    data["probability"] = math.nan if probability is None else probability
    if set(data) != set(FIELDS):
        raise ValueError(f"a decision with the keys {list(data)}")
    return Decision(**data, written=token, sealed=True)


def _law_from_json(data: dict[str, Any]) -> Decision:
    guard = data.pop("guard", None)
    typed = set(data) == set(_LAW_FIELDS)
    if not typed or any(type(data[name]) is not kind for name, kind in _LAW_FIELDS.items()):
        raise ValueError(f"a decision with the keys {list(data)}")
    round_, arm, learner, decider, time, score, total = (data[name] for name in _LAW_FIELDS)
    chance, place = divmod(score, SCALE)
    if not (0 <= chance <= TOP >= place and 0 <= total < TOTALS):
        raise ValueError("impossible scores")
    part = None
    if guard is not None:
        worth, law_amount, weight, chances = guard
        numbers = float(worth), float(law_amount), float(weight)
        part = GuardPart(*numbers, np.array(chances, float)).checked()
    return Decision.of_law(round_, arm, (learner, decider), time, score, total, part)


# ------------------------------------------------------------------------------ decisions of a law

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

    def to_json(self) -> list[Any]:
        """Return a form that `json` can write."""
        return [self.worth, self.law_amount, self.weight, self.chances.tolist()]

    def checked(self) -> GuardPart:
        """Return this one; raise ValueError if its numbers, from a token or a file, are bad."""
        numbers = [self.worth, self.law_amount, *self.chances.tolist()]
        if not (np.abs(numbers) <= _MOST).all() or not 0.0 <= self.weight <= 1.0:
            raise ValueError("impossible probabilities")
        if (self.chances < 0.0).any():
            raise ValueError("impossible probabilities")
        return self


def law_payload(decision: Decision) -> tuple[Any, ...]:
    """Return what the token of a law's decision holds besides the ids, the number and the time."""
    chance, place = divmod(decision.score, SCALE)
    both = decision.total << 16 | chance << 8 | place  # 56 bits, shorter than three numbers
    part = decision.guard
    if part is None:
        return (both,)
    return (both, part.worth, part.law_amount, part.weight, part.chances.astype("<f8").tobytes())


def law_decision(token: Token, content: Any, key: bytes | None) -> Decision:
    """Return the decision of a token, whose payload has this content after the action."""
    form = tuple(type(one) for one in content) if isinstance(content, tuple) else ()
    guard = None
    if form == (int, float, float, float, bytes) and len(content[4]) % 8 == 0:
        worth, law_amount, weight, chances = content[1:]
        given = np.frombuffer(chances, dtype="<f8").astype(float)
        guard = GuardPart(worth, law_amount, weight, given).checked()
    elif form != (int,):
        raise ValueError("no decision of a law")
    both = content[0]
    if not 0 <= both < TOTALS << 16:
        raise ValueError("impossible scores")
    score, total = (both & TOP) + SCALE * (both >> 8 & TOP), both >> 16
    ids = token.learner, token.decider
    return Decision.of_law(token.counter, -1, ids, token.time, score, total, guard, key)


# ------------------------------------------------------------------------------------------ errors


def foreign(round_: object, maker: object) -> ForeignDecisionError:
    """Return the error for a decision of another learner."""
    return ForeignDecisionError(
        f"The decision of round {round_} was made by another learner ({maker}), or by this one "
        "after the checkpoint from which it was restored. Give it to the learner that made it, or "
        "drop it."
    )


def learned_before(round_: object) -> LearnedBeforeError:
    """Return the error for a decision that counts already."""
    return LearnedBeforeError(
        f"The decision of round {round_} has been learned from before. Each counts once."
    )


def expired_round(round_: object, remembered: int) -> ExpiredDecisionError:
    """Return the error for a round that is not remembered any more."""
    return ExpiredDecisionError(
        f"The decision of round {round_} has been learned from before, or is older than the "
        f"{remembered} decisions that are remembered. Each counts once."
    )


def compact(arms: list[int]) -> Sequence[int]:
    """Return arms as a range if they are one, and as a tuple if not.

    Most neighbourhoods are one range, which takes constant memory for any number of arms.
    """
    if arms and isinstance(arms[0], int):
        consecutive = range(arms[0], arms[0] + len(arms))
        if list(consecutive) == arms:
            return consecutive
    return tuple(arms)


def _same(ours: int | Sequence[float], theirs: object) -> bool:
    """Return whether two values are equal; a list may be given instead of a tuple or a range."""
    if theirs is ours:
        return True
    if isinstance(ours, Sequence):
        return isinstance(theirs, Sequence) and list(theirs) == list(ours)
    return isinstance(theirs, int | np.integer) and theirs == ours


# ---------------------------------------------------------------------------------------- payloads


def encoded(pending: Decision, revealed: Sequence[int]) -> bytes:
    """Return the payload of a decision that reveals some arms."""
    flags, parts = 0, []
    if isinstance(pending.context, tuple):
        flags |= _VECTOR
        parts.append(np.array(pending.context, dtype=_FLOATS).tobytes())
    else:
        parts.append(_NUMBER.pack(pending.context))
    if pending.readout.available.size:
        flags |= _AVAILABLE
        parts.append(np.packbits(pending.readout.available).tobytes())
    if pending.known is not None:
        flags |= _REVEALED
        arms = 0 if pending.graph is None else pending.graph.arms
        mask = np.zeros(arms if pending.weights is None else pending.weights.size, dtype=np.bool_)
        mask[list(pending.known)] = True
        parts.append(np.packbits(mask).tobytes())
    if pending.weights is not None:
        flags |= _WEIGHTS
        own = pending.weights[places_of(revealed)]
        parts.append(own.astype(_FLOATS, copy=False).tobytes())
    if pending.baseline is not None:
        flags |= _BASELINE
        parts.append(_DOUBLE.pack(pending.baseline))
    return b"".join([_START.pack(flags, pending.round, pending.arm), *parts])


def decoded(token: Token, problem: Problem, reveals: Callable[[int], Sequence[int]]) -> Decision:
    """Return what a token says about a decision; raise if it does not fit the problem."""
    try:
        return _Reader(token.payload).decision(token, problem, reveals)
    except (struct.error, InvalidInputError, ValueError) as error:
        raise DamagedTokenError(
            f"A token must hold a decision about the problem of the learner. Got one that does "
            f"not: {error}. Give it to the learner that made it, or drop it."
        ) from error


def places_of(arms: Sequence[int]) -> Any:
    """Return arms as an index into arrays: a slice if they are a range, so nothing is copied."""
    return slice(arms.start, arms.stop) if isinstance(arms, range) else list(arms)


class _Reader:
    """Reads a payload from its beginning to its end."""

    def __init__(self, payload: bytes) -> None:
        self._payload = payload
        self._at = 0

    def decision(
        self, token: Token, problem: Problem, reveals: Callable[[int], Sequence[int]]
    ) -> Decision:
        flags, round_, arm = self._numbers(_START)
        if flags & ~_FLAGS or round_ < 0 or not 0 <= arm < problem.arms:
            raise ValueError(f"it has the flags {flags}, the round {round_} and the arm {arm}")
        context: Any
        if flags & _VECTOR:
            context = tuple(self._floats(problem.form.columns).tolist())
        else:
            (context,) = self._numbers(_NUMBER)
        plain, readout = problem.form.read(context)
        if flags & _AVAILABLE:
            readout = self._restricted(readout, problem.arms, arm)
        pending = Decision(round_, plain, arm, learner=token.learner, reading=readout)
        pending.decider, pending.counter = token.decider, token.counter
        pending.time = token.time
        if flags & _REVEALED:
            pending.known = compact(np.flatnonzero(self._mask(problem.arms)).tolist())
        if flags & _WEIGHTS:
            revealed = reveals(arm) if pending.known is None else pending.known
            own = self._floats(len(revealed))
            if not max(own.max(initial=0.0), -own.min(initial=0.0)) <= _HEAVIEST:  # or NaN
                raise ValueError("it has weights that no decision has")
            pending.weights = np.zeros(problem.arms)
            pending.weights[places_of(revealed)] = own
        if flags & _BASELINE:
            (pending.baseline,) = self._numbers(_DOUBLE)
            if not -1.0 <= pending.baseline <= 2.0:  # a mean of losses, which are from 0 to 1
                raise ValueError(f"it has the baseline {pending.baseline}")
        if self._at != len(self._payload):
            raise ValueError(f"it has {len(self._payload) - self._at} bytes too many")
        return pending

    def _restricted(self, readout: Readout, arms: int, arm: int) -> Readout:
        mask = self._mask(arms)
        if not mask[arm]:
            raise ValueError(f"it says that arm {arm}, which was played, was not available")
        return restricted(readout, mask, arms)

    def _mask(self, arms: int) -> Booleans:
        bits = np.frombuffer(self._bytes(-(-arms // 8)), dtype=np.uint8)
        return np.unpackbits(bits, count=arms).astype(np.bool_)

    def _bytes(self, count: int) -> bytes:
        part = self._payload[self._at : self._at + count]
        if len(part) < count:
            raise ValueError(f"its {len(self._payload)} bytes are too few")
        self._at += count
        return part

    def _numbers(self, form: struct.Struct) -> tuple[Any, ...]:
        return form.unpack(self._bytes(form.size))

    def _floats(self, count: int) -> Any:
        return np.frombuffer(self._bytes(8 * count), dtype=_FLOATS)
