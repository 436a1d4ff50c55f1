"""The payload of a token, for a learner with a feedback graph: how it is written and read.

    flags (1), round (8), arm (4), context, available, revealed, weights, baseline

The context is a number (8 bytes) or a double for each feature. `available` has a bit for each arm.
So does `revealed`, which is there only if graphs change. `weights` has a double for each revealed
arm, and `baseline` is a double. The flags say which of these parts the payload has.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.errors import DamagedTokenError, InvalidInputError
from crossbandit.learners.decisions import PendingDecision, compact
from crossbandit.losses.forms import restricted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crossbandit.learners.tokens import Token
    from crossbandit.losses import Readout
    from crossbandit.problem import Problem
    from crossbandit.types import Booleans

_START = struct.Struct("<Bqi")
_NUMBER = struct.Struct("<q")
_DOUBLE = struct.Struct("<d")
_FLOATS = np.dtype("<f8")

_VECTOR, _AVAILABLE, _WEIGHTS, _BASELINE, _REVEALED = 1, 2, 4, 8, 16
_FLAGS = _VECTOR | _AVAILABLE | _WEIGHTS | _BASELINE | _REVEALED

_HEAVIEST = 1e120  # larger than any weight of a rate that is allowed; sums of losses stay finite


def encoded(pending: PendingDecision, revealed: Sequence[int]) -> bytes:
    """Return the payload of a decision.

    Args:
        pending: What learning needs.
        revealed: The arms that the decision reveals.
    """
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
    """Return what a token says about a decision.

    Args:
        token: A token of the kind `GRAPH`.
        problem: The problem of the learner that is to learn from it.
        reveals: Returns the arms that an arm reveals.

    Raises:
        DamagedTokenError: The token does not fit this problem.
    """
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
