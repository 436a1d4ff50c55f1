"""The bodies of requests and answers, and the answers to errors."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec

from crossbandit.errors import CrossbanditError
from crossbandit.service.causes import cause_of
from crossbandit.service.contents import Decided, Outcome
from crossbandit.service.settings import BidderSettings, Budgets, Targets

MOST_VALUES = 2_000  # the most values in one request
MOST_OUTCOMES = 10_000

Label = str | int
Classes = dict[str, Label]
Amount = Annotated[float, msgspec.Meta(ge=0)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e11)]


class Auction(msgspec.Struct, forbid_unknown_fields=True):
    """An auction to decide in.

    Attributes:
        value: What winning is worth.
        reserve: The reserve price of the auction, if it is known.
        at: The time of the auction in seconds since 1970, for budgets; by default now.
        classes: A level of each of the bidder's classes.
    """

    value: float
    reserve: Amount | None = None
    at: Seconds | None = None
    classes: Classes = {}


class Auctions(msgspec.Struct, forbid_unknown_fields=True):
    """Many auctions to decide in.

    Attributes:
        values: What winning is worth, in each auction.
        reserve: The reserve price of all auctions, or of each; null where it is not known.
        at: The time of the auctions in seconds since 1970, for budgets; by default now.
        classes: For each class, one level for all auctions, or a list with a level for each.
    """

    values: Annotated[list[float], msgspec.Meta(min_length=1, max_length=MOST_VALUES)]
    reserve: Amount | list[Amount | None] | None = None
    at: Seconds | None = None
    classes: dict[str, Label | list[Label]] = {}


class DecidedMany(msgspec.Struct):
    """Decisions, in the order of the auctions.

    Attributes:
        decisions: The decisions.
    """

    decisions: list[Decided]


class Outcomes(msgspec.Struct, forbid_unknown_fields=True):
    """Many outcomes.

    Attributes:
        outcomes: The outcomes. They are learned in this order.
    """

    outcomes: Annotated[list[Outcome], msgspec.Meta(min_length=1, max_length=MOST_OUTCOMES)]


class Limits(msgspec.Struct, forbid_unknown_fields=True):
    """New budgets and targets of a bidder.

    Attributes:
        budget: A budget, several budgets, or null for none. Leave it out to keep the present ones.
        target: A target, several targets, or null for none. Leave it out to keep the present ones.
    """

    budget: Budgets | msgspec.UnsetType = msgspec.UNSET
    target: Targets | msgspec.UnsetType = msgspec.UNSET


class Bidder(msgspec.Struct):
    """A bidder of the service.

    Attributes:
        name: Its name.
        settings: Its settings.
        paused: Whether it is paused.
    """

    name: str
    settings: BidderSettings
    paused: bool


class BidderNames(msgspec.Struct):
    """All bidders of the service.

    Attributes:
        bidders: Their names.
    """

    bidders: list[str]


class PolicyQuery(msgspec.Struct, forbid_unknown_fields=True):
    """The query for the policy in an auction.

    Attributes:
        value: What winning is worth.
        reserve: The reserve price of the auction, if it is known.
        classes: A level of each of the bidder's classes, as a JSON object.
    """

    value: float
    reserve: Amount | None = None
    classes: Classes = {}


class PriceLawQuery(msgspec.Struct, forbid_unknown_fields=True):
    """The query for the law of prices at a value.

    Attributes:
        value: What winning is worth.
        classes: A level of each of the bidder's classes, as a JSON object.
    """

    value: float
    classes: Classes = {}


class Policy(msgspec.Struct):
    """The policy of a bidder in an auction.

    Attributes:
        bids: The amounts that may be bid.
        probabilities: The probability of each bid; all 0 if no bid may be made.
    """

    bids: list[float]
    probabilities: list[float]


class PriceLaw(msgspec.Struct):
    """The law of the highest competing bid.

    Attributes:
        bids: The amounts that may be bid.
        chances: The probability that each bid wins.
        errors: The approximate standard error of each probability.
    """

    bids: list[float]
    chances: list[float]
    errors: list[float]


class Alive(msgspec.Struct):
    """The process runs.

    Attributes:
        status: "ok".
    """

    status: str


class Ready(msgspec.Struct):
    """Whether a node of the service can be used. Anybody may ask, so it says no more.

    Attributes:
        ready: Whether it can store outcomes and decide.
    """

    ready: bool


# --- answers -------------------------------------------------------------------------------------


if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    Send = Callable[[Any], Awaitable[None]]

Headers = list[tuple[bytes, bytes]]

JSON = b"application/json"
BYTES = b"application/octet-stream"
TEXT = b"text/plain; version=0.0.4; charset=utf-8"

# The HTTP status of each error code.
STATUS = {
    "invalid": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "not-found": 404,
    "unknown-bidder": 404,
    "method-not-allowed": 405,
    "too-slow": 408,
    "exists": 409,
    "paused": 409,
    "learned-before": 409,
    "reported-otherwise": 409,
    "limited": 409,
    "too-large": 413,
    "not-json": 415,
    "damaged-token": 422,
    "foreign-token": 422,
    "expired": 422,
    "not-learned": 422,
    "missing-outcomes": 422,
    "contradiction": 422,
    "too-many-requests": 429,
    "error": 500,
    "internal": 500,
    "not-ready": 503,
    "store-unavailable": 503,
}

_log = logging.getLogger("crossbandit.service")
_encode = msgspec.json.Encoder().encode


class Problem(msgspec.Struct):
    """The answer of the service to a request that failed.

    Attributes:
        code: A short name of the error. It does not change between versions.
        message: The error, and what to do.
    """

    code: str
    message: str


class Answer(NamedTuple):
    """The answer to a request."""

    content: bytes = b""
    kind: bytes = JSON  # its media type
    status: int = 200
    headers: Headers = []  # noqa: RUF012 - never changed


class Refusal(Exception):  # noqa: N818 - it becomes an answer
    """A request that is refused."""

    def __init__(self, code: str, message: str, headers: Sequence[tuple[bytes, bytes]] = ()):
        super().__init__(message)
        self.code, self.message, self.headers = code, message, list(headers)

    def answer(self) -> Answer:
        """Return the answer to the request."""
        content = _encode(Problem(self.code, self.message))
        return Answer(content, status=STATUS[self.code], headers=self.headers)


def refusal_of(error: Exception) -> Refusal:
    """Return the answer to an error. An unexpected error is logged, and its text is not shown."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, msgspec.MsgspecError):
        return Refusal("invalid", f"The body is not valid: {error}.")
    if isinstance(error, CrossbanditError):
        return Refusal(cause_of(error), str(error))
    _log.error("A request failed: %s", type(error).__name__, exc_info=error)
    return Refusal(
        "internal", "The request failed because of an error in the service. See its log."
    )


async def send_answer(send: Send, answer: Answer) -> None:
    """Send an answer."""
    headers = [*answer.headers]
    if answer.status not in {204, 304}:  # these have no body
        length = str(len(answer.content)).encode()
        headers += [(b"content-type", answer.kind), (b"content-length", length)]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.content})
