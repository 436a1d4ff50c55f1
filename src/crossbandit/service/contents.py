"""Decisions and outcomes of bidders, their form in the log, and outcomes that contradict others."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

import msgspec
import numpy as np

from crossbandit.algorithms.learners.law_learner import KNOWN, REACHED, code_of
from crossbandit.applications import Bid, FirstPriceBidder
from crossbandit.applications.action import action_of
from crossbandit.applications.bidding.inputs import price_of, rules_of
from crossbandit.errors import IMPOSSIBLE_CONTENT, InvalidContextError
from crossbandit.laws.levels import checked_label
from crossbandit.laws.rounds import shown_by
from crossbandit.service.settings import Budgets, CampaignSettings, Targets


class Outcome(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The outcome of an auction, as it is reported.

    Attributes:
        token: The token of the bid, as text.
        won: Whether it won.
        highest_competing_bid: As for `FirstPriceBidder.settle`.
        reserve: As for `FirstPriceBidder.settle`.
        correction: Whether this replaces an outcome that was reported before.
    """

    token: str
    won: bool
    highest_competing_bid: float | None = None
    reserve: float | None = None
    correction: bool = False


class Decided(msgspec.Struct, frozen=True):
    """A decision.

    Attributes:
        amount: The money to bid; None if no bid is made.
        token: The token with which to report the outcome; None if no bid was made.
        reason: Why no bid is made; None if one is.
    """

    amount: float | None
    token: str | None
    reason: str | None = None


class RowError(msgspec.Struct, frozen=True):
    """Why an outcome was not accepted.

    Attributes:
        index: The place of the outcome in the report, from 0.
        cause: The code of the error.
        message: The error in words.
    """

    index: int
    cause: str
    message: str


class Reported(msgspec.Struct, frozen=True):
    """The answer to a report of outcomes.

    Attributes:
        accepted: The number of outcomes that are stored durably.
        errors: An error for each of the other outcomes.
    """

    accepted: int
    errors: tuple[RowError, ...] = ()


# --- in the log --------------------------------------------------------------------------------


class Row(msgspec.Struct, array_like=True, frozen=True):
    """An outcome in the log."""

    token: bytes
    won: bool
    highest_competing_bid: float | None = None
    reserve: float | None = None
    correction: bool = False


class Change(msgspec.Struct, frozen=True):
    """The limits from now on, in the log: those of the bidder, or of all its campaigns."""

    budget: Budgets = None
    target: Targets = None
    campaigns: dict[str, CampaignSettings] | None = None


class Request(msgspec.Struct, array_like=True, frozen=True):
    """The request for a decision of a bidder with limits, in the log.

    Attributes:
        value: What winning is worth.
        reserve: The reserve price, if it was known.
        at: The time of the auction.
        classes: The levels of the classes.
        made: When the decision was made.
        ahead: How many more decisions may be answered before they are in the log.
    """

    value: float
    reserve: float | None
    at: float
    classes: dict[str, str | int | float | None]
    made: float
    ahead: int = 0


@dataclass(frozen=True)  # two kinds of `Struct` could not be told apart
class Lost:
    """In the log after a crash: decisions may have been answered that are not in the log."""

    count: int  # how many, at most
    made: float  # when they had all been made


def _plain(given: Any) -> Any:
    """Return a scalar of NumPy as a plain one."""
    if isinstance(given, np.generic):
        return given.item()
    raise TypeError(f"Got {given!r}")


encode = msgspec.msgpack.Encoder(decimal_format="number", enc_hook=_plain).encode
rows_of = msgspec.msgpack.Decoder(list[Row]).decode
change_of = msgspec.msgpack.Decoder(Change).decode
decision_of = msgspec.msgpack.Decoder(Request | Lost).decode


def as_logged(request: Request, place: str = "") -> tuple[Request, bytes]:
    """Return a request as it is read from the log, and its bytes there.

    A decision that was made from anything else could not be repeated.
    """
    try:
        content = encode(request)
        return cast("Request", decision_of(content)), content
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError) as error:
        for name, level in request.classes.items():
            checked_label("decide", f"{name}{place}", level)
        raise InvalidContextError(
            "Values, prices and times must be numbers, and levels of classes texts, integers, "
            f"floats or None. {error}."
        ) from None


# --- outcomes that contradict others -------------------------------------------------------------


if TYPE_CHECKING:
    from collections.abc import Iterable

    _Key = tuple[str, int]  # the decider and its number of the decision

_ROOM = 20_000


class LatestOutcomes:
    """The outcomes that a node took last. Most of them are learned soon, but not all are yet.

    Any thread may call all methods.
    """

    def __init__(self, room: int = _ROOM) -> None:
        self._room, self._lock = room, Lock()
        self._found: dict[_Key, Row] = {}

    def add(self, key: _Key, row: Row) -> None:
        """Remember an outcome."""
        with self._lock:
            self._found[key] = msgspec.structs.replace(row, token=b"")  # to save memory
            if len(self._found) > self._room:
                del self._found[next(iter(self._found))]

    def remove(self, keys: Iterable[_Key]) -> None:
        """Forget outcomes, because they were not stored."""
        with self._lock:
            for key in keys:
                self._found.pop(key, None)

    def find(self, key: _Key, row: Row) -> Row | None:
        """Return the outcome that was reported before; None if none is remembered."""
        found = self._found.get(key)
        return found and msgspec.structs.replace(found, token=row.token)


def contradicts(
    bidder: FirstPriceBidder, key: bytes | None, row: Row, before: Row | None, code: int
) -> bool:
    """Return whether an outcome differs, for the bidder, from all that is known of its bid.

    Two prices between which there is no bid do not differ. Without a grid, what is in the log is
    compared by who won alone. If the earlier outcome is impossible in
    itself, it is not compared, because it is not learned.
    """
    if bidder.lays and before is None:  # the code is of a grid that may have been laid again
        return code >= KNOWN and (code >= REACHED) != row.won
    known = {code} if code >= KNOWN and not bidder.lays else set()
    if before is not None:
        known.add(_code(bidder, key, before))
    known.discard(0)
    return bool(known) and _code(bidder, key, row) not in known


def _code(bidder: FirstPriceBidder, key: bytes | None, row: Row) -> int:
    """Return the code with which an outcome would be learned; 0 if it cannot be learned."""
    try:
        bid = action_of(row.token, Bid, bidder.learner, key)
        if bid.amount is None:
            return 0
        given = row.highest_competing_bid
        rules = bidder.rules if row.reserve is None else rules_of(bidder.rules, bid, row.reserve)
        price = price_of(rules, bidder.feedback, bid.amount, given, won=row.won)
        number = max(price, rules.least)
        law = bidder.learner.law
        at = bid.value
        kind, index, _ = shown_by(law, bid.amount, reached=row.won, number=number, context=at)
    except IMPOSSIBLE_CONTENT:
        return 0
    return code_of(kind, index)
