"""Decisions, what a learner remembers of them until their feedback comes, and their tokens.

The payload of a token is

    flags (1), round (8), arm (4), context, available, revealed, weights, baseline

The context is a number (8 bytes) or a double for each feature. `available` has a bit for each arm.
So does `revealed`, which is there only if graphs change. `weights` has a double for each revealed
arm, and `baseline` is a double. The flags say which of these parts the payload has.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from crossbandit.algorithms.learners.graph_core import PendingFields
from crossbandit.algorithms.learners.tokens import (
    ACTION,
    GRAPH,
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
    from crossbandit.core.types import Booleans

_START = struct.Struct("<Bqi")
_NUMBER = struct.Struct("<q")
_DOUBLE = struct.Struct("<d")
_FLOATS = np.dtype("<f8")

_VECTOR, _AVAILABLE, _WEIGHTS, _BASELINE, _REVEALED = 1, 2, 4, 8, 16
_FLAGS = _VECTOR | _AVAILABLE | _WEIGHTS | _BASELINE | _REVEALED

_HEAVIEST = 1e120  # larger than any weight of a rate that is allowed; sums of losses stay finite


class _Fields(NamedTuple):
    round: int
    context: Context
    arm: int
    probability: float
    revealed: Sequence[int]
    learner: str


class Decision(_Fields):
    """One play. Keep it, or its token, until its feedback comes; then pass that to `Learner.learn`.

    A decision carries all that learning from it needs, unless the algorithm has `needs_memory`.

    Attributes:
        round: The number of the round, from 0.
        context: The context: a number, or a tuple of features.
        arm: The arm that was chosen.
        probability: The probability with which it was chosen; NaN if the learner does not know it.
        revealed: The arms whose losses `learn` expects, in this order: a `range` or a tuple. Empty
            if the graph of the round is not known yet.
        learner: The id of the learner that may learn from it.

    >>> from crossbandit import CrossGraphAdaptive, Problem, graphs
    >>> learner = CrossGraphAdaptive().start(Problem(graphs.complete(2), contexts=1), seed=0)
    >>> token = learner.act(0).token
    >>> learner.learn(token, [[0.5], [0.25]])  # hours later, perhaps after a restart
    """

    by_law: ClassVar[bool] = False
    # What learning needs, or a token that came from JSON. It is not a field: two decisions are
    # equal if their fields are.
    carried: PendingDecision | bytes | None = None

    @property
    def token(self) -> bytes:
        """The decision as bytes, from which `learn` can learn anywhere and at any time.

        Raises:
            DecisionError: It was read from JSON that holds no token, or was not made by `act`.
        """
        pending = self.carried
        if isinstance(pending, bytes):
            return pending
        if pending is None:
            raise DecisionError(
                f"The decision of round {self.round} has no token: it was read from JSON that "
                "holds none. Pass the decision itself to learn."
            )
        learner, decider = pending.learner, pending.decider
        payload = encoded(pending, self.revealed)
        token = Token(GRAPH, learner, decider, pending.counter, pending.time, payload)
        return token.encode(pending.key)

    @property
    def text(self) -> str:
        """The token as text that a URL can hold."""
        return to_text(self.token)

    @property
    def decider(self) -> str:
        """The id of what made the decision: the learner, or one of its snapshots."""
        carried = self.carried
        return carried.decider if isinstance(carried, PendingDecision) else self.learner

    def action_token(self, values: tuple[Any, ...]) -> bytes:
        """Return the token of an action of an application.

        Args:
            values: The fields of the action.

        Raises:
            DecisionError: This decision has no token.
        """
        inner = self.token
        key = self.carried.key if isinstance(self.carried, PendingDecision) else None
        known = Token.decode(inner, key)
        return known._replace(kind=ACTION, payload=packed((*values, inner))).encode(key)

    def _replace(self, /, **changes: Any) -> Decision:
        changed: Decision = super()._replace(**changes)
        vars(changed).update(vars(self))
        return changed

    def to_json(self) -> dict[str, Any]:
        """Return a form that `json` can write, to store a decision until its feedback comes.

        Returns:
            A dict of plain numbers, strings and lists. A probability of NaN becomes None. If
            learning needs the token, its text is among them.
        """
        probability = None if math.isnan(self.probability) else self.probability
        data = {**self._asdict(), "revealed": list(self.revealed), "probability": probability}
        carried = self.carried
        kept = carried.remembered if isinstance(carried, PendingDecision) else carried is None
        return data if kept else {**data, "token": self.text}

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
        if not is_written(data):
            expected = f"what to_json wrote, a dict with the keys {', '.join(cls._fields)}"
            reject("Decision.from_json", "data", expected, data)
        fields = {name: data[name] for name in cls._fields}
        context, revealed = data["context"], data["revealed"]
        probability = data["probability"]
        decision = cls(
            **{
                **fields,
                "context": tuple(context) if isinstance(context, list) else context,
                "revealed": compact(revealed) if isinstance(revealed, list) else revealed,
                "probability": math.nan if probability is None else probability,
            }
        )
        if data.get("token") is not None:
            decision.carried = token_bytes(data["token"])
        return decision


def is_written(data: object) -> bool:
    """Return whether `data` has the keys that `Decision.to_json` writes."""
    names = set(Decision._fields)
    return isinstance(data, Mapping) and names <= set(data) <= {*names, "token"}


class PendingDecision(PendingFields):
    """What a learner remembers of a decision until its feedback comes.

    Attributes:
        round: The number of the round.
        context: The context: a number, or a tuple of features.
        readout: How the context reads rows of losses, and which arms are available.
        arm: The arm played; `Learner.play` sets it.
        learner: The id of the learner that may learn from it.
        weights: The factors of the losses, a float for each arm. Those of the revealed arms are
            used. None means that the feedback of this round is not used. `Learner.play`
            sets them: the weight of feedback is fixed when the round is played.
        baseline: What is subtracted from the losses before they are weighted, if anything.
        rows: Feedback that has come, but may not be used yet.
        decider: The id of what made the decision: the learner, or one of its snapshots.
        counter: The number of the decision, as its decider counts.
        time: When it was made, in seconds.
        graph: The graph of the round, if graphs change and it is known.
        revealed: The arms whose losses are revealed, if graphs change and they are known.
        key: The key of its token, or None.
        remembered: Whether its learner remembers it, so that it needs no token.
        optional: The attributes that need not be given, with their defaults.

    Args:
        round: As above.
        context: As above.
        readout: As above.
        arm: As above.
        learner: As above.
        more: Those of the other attributes that are not as by default.
    """

    __slots__ = ()
    optional: ClassVar[dict[str, Any]] = {
        **dict.fromkeys(("weights", "baseline", "rows", "graph", "revealed", "key")),
        "decider": "",
        "counter": -1,
        "time": 0.0,
        "remembered": False,
    }

    def __init__(
        self,
        round: int,  # noqa: A002
        context: Context,
        readout: Readout,
        arm: int,
        learner: str,
        **more: Any,
    ) -> None:
        self.round, self.context, self.arm, self.learner = round, context, arm, learner
        self.form, self.reading = None, readout
        self.__setstate__({**self.optional, **more})

    def __repr__(self) -> str:
        shown = ("round", "context", "readout", "arm", "learner", *self.optional)
        parts = (f"{name}={getattr(self, name)!r}" for name in shown if name != "key")
        return f"PendingDecision({', '.join(parts)})"

    def check(self, decision: Decision, revealed: Sequence[int]) -> None:
        """Raise DecisionError if `decision` was changed.

        Args:
            decision: What came back with the feedback.
            revealed: The arms that this decision reveals.

        Raises:
            DecisionError: Its round, arm, context or revealed arms are not those of the decision
                that was made.
        """
        if (  # the usual case: nothing was changed
            decision.context is self.context
            and decision.revealed is revealed
            and (decision.round, decision.arm) == (self.round, self.arm)
        ):
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


def check_maker(decision: Decision, makers: Collection[str]) -> None:
    """Raise ForeignDecisionError unless a decision was made under one of these ids."""
    maker: object = decision.learner
    if not isinstance(maker, str) or maker not in makers:
        raise foreign(decision.round, decision.learner)


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


def encoded(pending: PendingDecision, revealed: Sequence[int]) -> bytes:
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
    if pending.revealed is not None:
        flags |= _REVEALED
        parts.append(_bits(pending))
    if pending.weights is not None:
        flags |= _WEIGHTS
        own = pending.weights[places_of(revealed)]
        parts.append(own.astype(_FLOATS, copy=False).tobytes())
    if pending.baseline is not None:
        flags |= _BASELINE
        parts.append(_DOUBLE.pack(pending.baseline))
    return b"".join([_START.pack(flags, pending.round, pending.arm), *parts])


def _bits(pending: PendingDecision) -> bytes:
    """Return a bit for each arm: whether the decision reveals it."""
    arms = 0 if pending.graph is None else pending.graph.arms
    arms = arms if pending.weights is None else pending.weights.size
    mask = np.zeros(arms, dtype=np.bool_)
    mask[list(pending.revealed or ())] = True
    return np.packbits(mask).tobytes()


def decoded(
    token: Token, problem: Problem, reveals: Callable[[int], Sequence[int]]
) -> PendingDecision:
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
    ) -> PendingDecision:
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
        pending = PendingDecision(round_, plain, readout, arm, token.learner)
        pending.decider, pending.counter = token.decider, token.counter
        pending.time = token.time
        if flags & _REVEALED:
            pending.revealed = compact(np.flatnonzero(self._mask(problem.arms)).tolist())
        if flags & _WEIGHTS:
            revealed = reveals(arm) if pending.revealed is None else pending.revealed
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
