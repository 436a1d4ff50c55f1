"""The contents of a bidder's log: outcomes, changes of limits, and decisions under limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from crossbandit.service.settings import Budgets, Targets

if TYPE_CHECKING:
    from collections.abc import Sequence


class Row(msgspec.Struct, array_like=True, frozen=True):
    """An outcome in the log."""

    token: bytes
    won: bool
    highest_competing_bid: float | None = None
    reserve: float | None = None
    correction: bool = False


class Change(msgspec.Struct, frozen=True):
    """New limits, in the log."""

    budget: Budgets = None
    target: Targets = None


class Request(msgspec.Struct, array_like=True, frozen=True):
    """The request for a decision of a bidder with limits, in the log.

    Attributes:
        value: What winning is worth.
        reserve: The reserve price, if it was known.
        at: The time of the auction.
        classes: The levels of the classes.
        made: When the decision was made.
    """

    value: float
    reserve: float | None
    at: float
    classes: dict[str, str | int]
    made: float


_encode = msgspec.msgpack.Encoder().encode
_rows = msgspec.msgpack.Decoder(list[Row])
_change = msgspec.msgpack.Decoder(Change)
_request = msgspec.msgpack.Decoder(Request)


def rows_content(rows: Sequence[Row]) -> bytes:
    """Return the content of entries with outcomes.

    Args:
        rows: The outcomes.
    """
    return _encode(rows)


def change_content(change: Change) -> bytes:
    """Return the content of an entry with new limits.

    Args:
        change: The new limits.
    """
    return _encode(change)


def request_content(request: Request) -> bytes:
    """Return the content of a decision.

    Args:
        request: The request.
    """
    return _encode(request)


def rows_of(content: bytes) -> list[Row]:
    """Return the outcomes of entries.

    Args:
        content: What `rows_content` returned.
    """
    return _rows.decode(content)


def change_of(content: bytes) -> Change:
    """Return the new limits of an entry.

    Args:
        content: What `change_content` returned.
    """
    return _change.decode(content)


def request_of(content: bytes) -> Request:
    """Return the request for a decision.

    Args:
        content: What `request_content` returned.
    """
    return _request.decode(content)
