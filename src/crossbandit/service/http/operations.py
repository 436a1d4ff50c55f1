"""All operations of the service. The routes and the OpenAPI document are made from this table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crossbandit.service.contents import Decided, Outcome, Reported
from crossbandit.service.figures import BidderFigures
from crossbandit.service.http import bidders, bodies, handlers
from crossbandit.service.http.access import ADMIN, DECIDE, OPEN, READ, REPORT
from crossbandit.service.settings import BidderSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from crossbandit.service.http.gate import Call

_ONE = "/v1/bidders/{name}"
_DECIDING = ("paused", "not-ready", "store-unavailable")
_STORING = ("store-unavailable", "too-many-requests")


@dataclass(frozen=True)
class Operation:
    """An operation of the service, with its documentation.

    Attributes:
        method: The HTTP method.
        path: The path, with `{name}` for the bidder.
        role: The role that it needs; "read" for any token, "open" for none.
        handler: A function of the service and the `Call`. A plain function runs in a thread.
        summary: One sentence for the documentation.
        body: The type of the body, or None.
        query: The type of the query, or None.
        answer: The type of the answer, or its media type.
        status: The HTTP status of success.
        codes: The error codes that not all operations have.
    """

    method: str
    path: str
    role: str
    handler: Callable[[Any, Call], Any]
    summary: str
    body: Any = None
    query: Any = None
    answer: Any = None
    status: int = 200
    codes: tuple[str, ...] = ()


# Routes are searched in this order, so the most frequent requests come first.
OPERATIONS = (
    Operation(
        "POST",
        f"{_ONE}/decide",
        DECIDE,
        handlers.decide,
        "Decide what to bid in one auction.",
        body=bodies.Auction,
        answer=Decided,
        codes=_DECIDING,
    ),
    Operation(
        "POST",
        f"{_ONE}/outcome",
        REPORT,
        handlers.outcome,
        "Report the outcome of one auction. When the answer arrives, it is stored durably.",
        body=Outcome,
        answer=Reported,
        codes=(*_STORING, "damaged-token", "foreign-token"),
    ),
    Operation(
        "POST",
        f"{_ONE}/outcomes",
        REPORT,
        handlers.outcomes,
        "Report many outcomes. When the answer arrives, the accepted ones are stored durably.",
        body=bodies.Outcomes,
        answer=Reported,
        codes=_STORING,
    ),
    Operation(
        "POST",
        f"{_ONE}/decide-many",
        DECIDE,
        handlers.decide_many,
        "Decide what to bid in many auctions.",
        body=bodies.Auctions,
        answer=bodies.DecidedMany,
        codes=_DECIDING,
    ),
    Operation(
        "GET",
        f"{_ONE}/snapshot",
        DECIDE,
        handlers.snapshot,
        "Get a snapshot from which a client decides by itself. A new snapshot has a new ETag.",
        answer="application/octet-stream",
        codes=("limited", *_DECIDING),
    ),
    Operation(
        "GET",
        f"{_ONE}/policy",
        DECIDE,
        bidders.policy,
        "Get the probability of each bid.",
        query=bodies.PolicyQuery,
        answer=bodies.Policy,
        codes=_DECIDING,
    ),
    Operation(
        "GET",
        f"{_ONE}/price-law",
        DECIDE,
        bidders.price_law,
        "Get the law of the highest competing bid.",
        query=bodies.PriceLawQuery,
        answer=bodies.PriceLaw,
        codes=_DECIDING,
    ),
    Operation(
        "GET",
        f"{_ONE}/figures",
        READ,
        bidders.figures,
        "Get the figures of a bidder: what it has done and learned.",
        answer=BidderFigures,
        codes=("not-ready", "store-unavailable"),
    ),
    Operation(
        "GET",
        "/v1/bidders",
        READ,
        bidders.bidders,
        "List the bidders.",
        answer=bodies.BidderNames,
        codes=("store-unavailable",),
    ),
    Operation(
        "GET",
        _ONE,
        READ,
        bidders.bidder,
        "Get the settings of a bidder.",
        answer=bodies.Bidder,
        codes=("store-unavailable",),
    ),
    Operation(
        "PUT",
        _ONE,
        ADMIN,
        bidders.create,
        "Create a bidder.",
        body=BidderSettings,
        answer=bodies.Bidder,
        status=201,
        codes=("exists", "store-unavailable"),
    ),
    Operation(
        "PATCH",
        _ONE,
        ADMIN,
        bidders.change,
        "Change the budgets or the targets of a bidder while it runs.",
        body=bodies.Limits,
        answer=bodies.Bidder,
        codes=("not-ready", "store-unavailable"),
    ),
    Operation(
        "DELETE",
        _ONE,
        ADMIN,
        bidders.delete,
        "Delete a bidder and everything that it has learned.",
        status=204,
        codes=("store-unavailable",),
    ),
    Operation(
        "POST",
        f"{_ONE}/pause",
        ADMIN,
        bidders.pause,
        "Pause a bidder. It makes no decisions until it is resumed. Outcomes are still accepted.",
        answer=bodies.Bidder,
        codes=("not-ready", "store-unavailable"),
    ),
    Operation(
        "POST",
        f"{_ONE}/resume",
        ADMIN,
        bidders.resume,
        "Resume a paused bidder.",
        answer=bodies.Bidder,
        codes=("not-ready", "store-unavailable"),
    ),
    Operation(
        "GET",
        "/healthz",
        OPEN,
        bidders.healthz,
        "Check whether the process runs.",
        answer=bodies.Alive,
    ),
    Operation(
        "GET",
        "/readyz",
        OPEN,
        bidders.readyz,
        "Check whether the service can store outcomes and decide.",
        answer=bodies.Ready,
        codes=("not-ready", "store-unavailable"),
    ),
    Operation(
        "GET",
        "/metrics",
        READ,
        bidders.metrics,
        "Get all metrics in the text format of Prometheus.",
        answer="text/plain",
        codes=("store-unavailable",),
    ),
    Operation(
        "GET",
        "/openapi.json",
        OPEN,
        bidders.openapi,
        "Get this document.",
        answer="application/json",
    ),
)
