"""Decisions and outcomes of bidders, and their form in the log."""

from __future__ import annotations

import msgspec

from crossbandit.service.settings import Budgets, Targets


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
        amount: The money to bid; None if a limit allows no bid.
        token: The token with which to report the outcome; None if no bid was made.
        reason: The reason if no bid was made.
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


encode = msgspec.msgpack.Encoder().encode
rows_of = msgspec.msgpack.Decoder(list[Row]).decode
change_of = msgspec.msgpack.Decoder(Change).decode
request_of = msgspec.msgpack.Decoder(Request).decode
