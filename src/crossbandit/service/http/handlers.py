"""The operations of the service: their bodies, their handlers, and their OpenAPI document.

Routes and the document are made from the list of operations. No handler may block the event loop.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar
from weakref import WeakValueDictionary

import msgspec

import crossbandit
from crossbandit.errors import CrossbanditError, ServiceAwayError
from crossbandit.service.causes import (
    STATUS,
    HeldElsewhereError,
    LockedError,
    PausedError,
    Refusal,
    cause_of,
)
from crossbandit.service.client.client import Response, Transport, bidder_path
from crossbandit.service.contents import Decided, Outcome, Reported
from crossbandit.service.figures import BidderFigures
from crossbandit.service.http.access import ADMIN, DECIDE, OPEN, READ, REPORT
from crossbandit.service.http.metrics import RequestMetrics, metrics_text, node_families
from crossbandit.service.log_lines import request_id
from crossbandit.service.settings import BidderSettings, Budgets, CampaignChanges, Targets

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence

    from crossbandit.service.node import Node


JSON = b"application/json"
BYTES = b"application/octet-stream"
TEXT = b"text/plain; version=0.0.4; charset=utf-8"
BIDDER = "/v1/bidders/{name}"
# Error codes that several operations have.
DECIDING = ("paused", "not-ready", "store-unavailable")
STORING = ("store-unavailable", "too-many-requests")

_TEMPLATE = "#/components/schemas/{name}"
_NAME = {
    "name": "name",
    "in": "path",
    "required": True,
    "description": "The name of the bidder.",
    "schema": {"type": "string", "minLength": 1},
}
_WITH_ROLE = ("unauthorized", "forbidden", "too-many-requests")
_WITH_BODY = ("invalid", "too-slow", "too-large", "not-json")
to_json = msgspec.json.Encoder().encode
_log = logging.getLogger("crossbandit.service")
_FORWARDED = b"crossbandit-forwarded"  # the header of forwarded requests
_TIMEOUT = 5.0  # seconds to wait for the answer of another node
_FORWARDING = 32  # requests that are forwarded to one node at the same time
_CHANGING = 16  # changes of bidders at the same time
_TURN = 10.0  # seconds to wait for earlier changes of the same bidder
_AT_ONCE = 100  # rows that are handled before other requests get a turn


MOST_VALUES = 2_000  # the most values in one request
MOST_OUTCOMES = 10_000

Label = str | int | float | None
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


class AuctionBatch(msgspec.Struct, forbid_unknown_fields=True):
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


class OutcomeBatch(msgspec.Struct, forbid_unknown_fields=True):
    """Many outcomes.

    Attributes:
        outcomes: The outcomes. They are learned in this order.
    """

    outcomes: Annotated[list[Outcome], msgspec.Meta(min_length=1, max_length=MOST_OUTCOMES)]


class Changes(msgspec.Struct, forbid_unknown_fields=True):
    """New budgets and targets of a bidder, or of its campaigns. What is left out does not change.

    Attributes:
        budget: A budget, several budgets, or null for none.
        target: A target, several targets, or null for none.
        campaigns: New settings of campaigns by name. Those that are new are added.
    """

    budget: Budgets | msgspec.UnsetType = msgspec.UNSET
    target: Targets | msgspec.UnsetType = msgspec.UNSET
    campaigns: dict[Annotated[str, msgspec.Meta(min_length=1)], CampaignChanges] = {}


class CampaignQuery(msgspec.Struct, forbid_unknown_fields=True):
    """The query for a part of a bidder.

    Attributes:
        campaign: One of its campaigns; by default the whole bidder.
    """

    campaign: str | None = None


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


class ErrorBody(msgspec.Struct):
    """The answer of the service to a request that failed.

    Attributes:
        code: A short name of the error. It does not change between versions.
        message: The error, and what to do.
    """

    code: str
    message: str


# --- answers -------------------------------------------------------------------------------------


class Answer(NamedTuple):
    """The answer to a request."""

    content: bytes = b""
    kind: bytes = JSON  # its media type
    status: int = 200
    headers: Sequence[tuple[bytes, bytes]] = ()

    async def send(self, send: Callable[[Any], Awaitable[None]]) -> None:
        """Send the answer."""
        headers = [*self.headers]
        if self.status not in {204, 304}:  # these have no body
            length = str(len(self.content)).encode()
            headers += [(b"content-type", self.kind), (b"content-length", length)]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.content})


def answer_to(error: Exception) -> Answer:
    """Return the answer to an error. An unexpected error is logged, and its text is not shown."""
    if isinstance(error, msgspec.MsgspecError):
        code, message = "invalid", f"The body is not valid: {error}."
    elif isinstance(error, CrossbanditError):
        code, message = cause_of(error), str(error)
    else:
        _log.error("A request failed: %s", type(error).__name__, exc_info=error)
        code = "internal"
        message = "The request failed because of an error in the service. See its log."
    headers = error.headers if isinstance(error, Refusal) else ()
    return Answer(to_json(ErrorBody(code, message)), status=STATUS[code], headers=headers)


# --- operations ----------------------------------------------------------------------------------


class Call(NamedTuple):
    """A request, decoded."""

    name: str  # the bidder, or ""
    body: Any  # the decoded body, or None
    query: Any  # the decoded query, or None
    headers: Mapping[bytes, bytes]


_Handler = TypeVar("_Handler", bound="Callable[[Any, Call], Any]")


@dataclass(frozen=True)
class Operation:
    """An operation of the service, with its documentation."""

    method: str
    path: str  # the path, with `{name}` for the bidder
    role: str  # the role that it needs; "read" for any token, "open" for none
    handler: Callable[[Any, Call], Any]
    threaded: bool  # whether the handler runs in a thread
    summary: str  # one sentence for the documentation
    body: Any = None  # the type of the body, or None
    query: Any = None  # the type of the query, or None
    answer: Any = None  # the type of the answer, or its media type
    status: int = 200
    codes: tuple[str, ...] = ()  # the error codes that not all operations have

    @cached_property
    def decode(self) -> Callable[[bytes], Any]:
        """The decoder of the body."""
        return msgspec.json.Decoder(self.body).decode


# Routes are searched in this order, so the most frequent requests come first.
OPERATIONS: list[Operation] = []


def operation(method: str, path: str, role: str, **more: Any) -> Callable[[_Handler], _Handler]:
    """Add a handler to the operations; a decorator. The summary is the docstring of the handler.

    A path without a slash at its beginning is one of a bidder.
    """
    whole = path if path.startswith("/") else f"{BIDDER}/{path}".rstrip("/")

    def register(handler: _Handler) -> _Handler:
        summary = (handler.__doc__ or "").partition("\n")[0]
        threaded = not inspect.iscoroutinefunction(handler)
        OPERATIONS.append(Operation(method, whole, role, handler, threaded, summary, **more))
        return handler

    return register


# --- what handlers use ---------------------------------------------------------------------------


class OtherNode:
    """A node to which requests are forwarded, in threads of its own.

    If it stops answering, only requests that are for it wait, and for a limited time.
    """

    def __init__(self, url: str) -> None:
        self.transport = Transport(url, timeout=_TIMEOUT)
        self.threads = ThreadPoolExecutor(_FORWARDING, thread_name_prefix="crossbandit-forward")

    async def post(self, *request: Any) -> Response:
        """Send a request, and return the answer."""
        sent = self.threads.submit(self.transport.request, "POST", *request)
        return await asyncio.wait_for(asyncio.wrap_future(sent), _TIMEOUT)


@dataclass
class Service:
    """What handlers use."""

    node: Node
    metrics: RequestMetrics  # counts requests
    others: dict[str, OtherNode] = field(default_factory=dict)
    # Changes of bidders may wait for a row that is locked. Decisions must not wait for them.
    changing: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(_CHANGING, "crossbandit-changes")
    )
    _changes: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)
    _finished: deque[asyncio.Future[Any]] = field(default_factory=deque)
    _woken: bool = False

    @asynccontextmanager
    async def change_of(self, name: str) -> AsyncIterator[ThreadPoolExecutor]:
        """Return the threads for a change of a bidder, when earlier changes of it are done.

        So the changes of a locked bidder never wait in all threads.
        """
        turn = self._changes.setdefault(name, asyncio.Lock())
        try:
            await asyncio.wait_for(turn.acquire(), _TURN)
        except TimeoutError:
            raise LockedError(
                "Earlier changes of this bidder wait for the store. Nothing was changed. Try again."
            ) from None
        try:
            yield self.changing
        finally:
            turn.release()

    async def result(self, future: Future[Any]) -> Any:
        """Wait for a future of the node, and return its result.

        The event loop is woken once for all futures that finish together, as in one commit.
        """
        if not future.done():
            loop = asyncio.get_running_loop()
            waiting = loop.create_future()
            future.add_done_callback(lambda _: self._finish(loop, waiting))
            await waiting
        return future.result()

    def _finish(self, loop: asyncio.AbstractEventLoop, waiting: asyncio.Future[Any]) -> None:
        """Wake the loop, from any thread."""
        self._finished.append(waiting)
        if not self._woken:
            self._woken = True
            loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        self._woken = False  # before the loop below, so that nothing that comes later is missed
        while self._finished:
            waiting = self._finished.popleft()
            if not waiting.done():  # the client may have gone
                waiting.set_result(None)

    async def find(self, name: str) -> None:
        """Read the store, in a thread, if a bidder is not known."""
        if name not in self.node.directory.bidders:
            await asyncio.to_thread(self.node.settings, name)

    def close(self) -> None:
        """Close the connections to other nodes."""
        for other in self.others.values():
            other.threads.shutdown(wait=False, cancel_futures=True)
            other.transport.close()


# --- decisions and outcomes ----------------------------------------------------------------------


@operation(
    "POST", "decide", DECIDE, body=Auction, answer=Decided, codes=(*DECIDING, "unknown-campaign")
)
async def decide(service: Service, call: Call) -> Any:
    """Decide what to bid in one auction."""
    body, settings = call.body, service.node.settings(call.name)
    check_classes(settings, body.classes)
    given = {"reserve": body.reserve, "at": body.at, "classes": body.classes}
    ask = partial(service.node.decide, call.name, body.value, **given)
    return await _decide_in_thread(service, call, ask, "/decide") if settings.limited else ask()


@operation(
    "POST",
    "outcome",
    REPORT,
    body=Outcome,
    answer=Reported,
    codes=(*STORING, "damaged-token", "foreign-token", "reported-otherwise"),
)
async def outcome(service: Service, call: Call) -> Reported:
    """Report the outcome of one auction. When the answer arrives, it is stored durably."""
    done: Reported = await service.result(service.node.report(call.name, [call.body]))
    for error in done.errors:
        raise Refusal(error.cause if error.cause in STATUS else "invalid", error.message)
    return done


@operation("POST", "outcomes", REPORT, body=OutcomeBatch, answer=Reported, codes=STORING)
async def outcomes(service: Service, call: Call) -> Reported:
    """Report many outcomes. When the answer arrives, the accepted ones are stored durably."""
    rows = call.body.outcomes
    waiting = []
    for start in range(0, len(rows), _AT_ONCE):
        waiting.append(service.node.report(call.name, rows[start : start + _AT_ONCE]))
        await asyncio.sleep(0)
    parts = [await service.result(one) for one in waiting]
    errors = [
        msgspec.structs.replace(error, index=error.index + number * _AT_ONCE)
        for number, part in enumerate(parts)
        for error in part.errors
    ]
    return Reported(sum(part.accepted for part in parts), tuple(errors))


@operation(
    "POST",
    "decide-many",
    DECIDE,
    body=AuctionBatch,
    answer=DecidedMany,
    codes=(*DECIDING, "unknown-campaign"),
)
async def decide_many(service: Service, call: Call) -> Any:
    """Decide what to bid in many auctions."""
    body, node = call.body, service.node
    check_classes(node.settings(call.name), body.classes)
    given = {"reserve": body.reserve, "at": body.at, "classes": body.classes}
    ask = partial(node.decide_many, call.name, body.values, **given)
    made = await _decide_in_thread(service, call, ask, "/decide-many")
    return made if isinstance(made, Answer) else DecidedMany(made)


@operation(
    "GET", "snapshot", DECIDE, answer="application/octet-stream", codes=("limited", *DECIDING)
)
async def snapshot(service: Service, call: Call) -> Answer:
    """Get a snapshot from which a client decides by itself. A new snapshot has a new ETag."""
    node, name = service.node, call.name
    if node.settings(name).limited:
        raise Refusal(
            "limited", "A bidder with limits has no snapshots. Ask the service to decide."
        )
    if node.directory.bidders[name].row.paused:
        raise PausedError(f"The bidder {name!r} is paused. Resume it first.")
    version, content = node.policy_bytes(name)
    # The tag also changes if a bidder is created again, or if tokens have another key from now on.
    signed = "0" if node.key is None else blake2b(node.key, digest_size=4).hexdigest()
    tag = f'"{version}-{node.directory.bidders[name].row.owner}-{signed}"'.encode()
    headers = [(b"etag", tag), (b"crossbandit-signed", b"0" if node.key is None else b"1")]
    if node.key is not None and node.gives_key:
        headers.append((b"crossbandit-key", node.key.hex().encode()))
    if call.headers.get(b"if-none-match") == tag:
        return Answer(status=304, headers=headers)
    return Answer(content, BYTES, headers=headers)


def check_classes(settings: BidderSettings, given: Collection[str]) -> None:
    """Raise unless the given classes are those of a bidder."""
    classes = settings.classes
    if len(given) != len(classes) or any(one not in given for one in classes):
        expected = ", ".join(map(repr, classes)) or "no classes"
        raise Refusal(
            "invalid",
            f"'classes' must hold {expected}. Got {', '.join(map(repr, given)) or 'none'}.",
        )


async def _decide_in_thread(
    service: Service, call: Call, ask: Callable[[], Any], what: str
) -> Any | Answer:
    """Decide here, or at the node that has the lease of a bidder with limits.

    If the bidder is learning, a thread waits for it, so that other requests do not wait.
    """
    try:
        free = what == "/decide" and service.node.at_once(call.name)
        made = ask() if free else await asyncio.to_thread(ask)
    except HeldElsewhereError as error:
        return await _forwarded(service, error, bidder_path(call.name, what), call)
    return await service.result(made) if isinstance(made, Future) else made


async def _forwarded(service: Service, error: HeldElsewhereError, path: str, call: Call) -> Answer:
    """Forward a request, with its access token, to the node that decides for its bidder."""
    if error.url is None or _FORWARDED in call.headers:
        raise error
    if error.url not in service.others:
        service.others[error.url] = OtherNode(error.url)
    headers = {_FORWARDED.decode(): "1", "X-Request-ID": request_id.get()}
    if b"authorization" in call.headers:
        headers["Authorization"] = call.headers[b"authorization"].decode("latin-1")
    content = to_json(call.body)
    try:
        response = await service.others[error.url].post(path, content, headers)
    except (ServiceAwayError, TimeoutError):
        raise Refusal(
            "not-ready", "The node that decides for this bidder does not answer. Try again soon."
        ) from None
    return Answer(response.content, status=response.status)


# --- bidders, health and metrics -----------------------------------------------------------------
# Most are plain functions. They run in a thread, because they may wait for the store, or for a
# bidder that is learning.


_STORE = ("store-unavailable",)
_NOT_READY = ("not-ready", "store-unavailable")
_OF_CAMPAIGN = (*_NOT_READY, "unknown-campaign")


@operation("GET", "policy", DECIDE, query=PolicyQuery, answer=Policy, codes=DECIDING)
def policy(service: Service, call: Call) -> Policy:
    """Get the probability of each bid."""
    asked = call.query
    check_classes(service.node.settings(call.name), asked.classes)
    maker = service.node.bidder(call.name)
    chances = maker.policy(asked.value, reserve=asked.reserve, **asked.classes)
    return Policy(maker.bids.tolist(), chances.tolist())


@operation("GET", "price-law", DECIDE, query=PriceLawQuery, answer=PriceLaw, codes=DECIDING)
def price_law(service: Service, call: Call) -> PriceLaw:
    """Get the law of the highest competing bid."""
    check_classes(service.node.settings(call.name), call.query.classes)
    law = service.node.bidder(call.name).price_law(call.query.value, **call.query.classes)
    return PriceLaw(law.amounts.tolist(), law.chances.tolist(), law.errors.tolist())


@operation("GET", "figures", READ, answer=BidderFigures, codes=_NOT_READY)
def figures(service: Service, call: Call) -> BidderFigures:
    """Get the figures of a bidder: what it has done and learned."""
    return service.node.figures(call.name)


@operation("GET", "/v1/bidders", READ, answer=BidderNames, codes=_STORE)
def bidders(service: Service, _: Call) -> BidderNames:
    """List the bidders."""
    return BidderNames(service.node.names())


@operation("GET", "", READ, answer=Bidder, codes=_STORE)
def bidder(service: Service, call: Call) -> Bidder:
    """Get the settings of a bidder."""
    node, name = service.node, call.name
    return Bidder(name, node.settings(name), paused=node.figures(name).paused)


@operation(
    "PUT", "", ADMIN, body=BidderSettings, answer=Bidder, status=201, codes=("exists", *_NOT_READY)
)
def create(service: Service, call: Call) -> Bidder:
    """Create a bidder. When the answer arrives, it can decide."""
    service.node.create(call.name, call.body)
    return bidder(service, call)


@operation("PATCH", "", ADMIN, body=Changes, answer=Bidder, codes=_NOT_READY)
def change(service: Service, call: Call) -> Bidder:
    """Change the budgets or the targets of a bidder while it runs, or add campaigns."""
    new = call.body
    service.node.change(call.name, budget=new.budget, target=new.target, campaigns=new.campaigns)
    return bidder(service, call)


@operation("DELETE", "", ADMIN, status=204, codes=_STORE)
def delete(service: Service, call: Call) -> None:
    """Delete a bidder and everything that it has learned."""
    service.node.delete(call.name)


@operation("POST", "pause", ADMIN, query=CampaignQuery, answer=Bidder, codes=_OF_CAMPAIGN)
def pause(service: Service, call: Call) -> Bidder:
    """Pause a bidder or a campaign. It bids nothing until it is resumed, and still learns."""
    service.node.pause(call.name, call.query.campaign)
    return bidder(service, call)


@operation("POST", "resume", ADMIN, query=CampaignQuery, answer=Bidder, codes=_OF_CAMPAIGN)
def resume(service: Service, call: Call) -> Bidder:
    """Resume a paused bidder or campaign."""
    service.node.resume(call.name, call.query.campaign)
    return bidder(service, call)


@operation("GET", "/healthz", OPEN, answer=Alive)
async def healthz(*_: Any) -> Alive:
    """Check whether the process runs."""
    return Alive("ok")


@operation("GET", "/readyz", OPEN, answer=Ready, codes=_NOT_READY)
async def readyz(service: Service, _: Call) -> Ready:
    """Check whether the service can store outcomes and decide."""
    found = service.node.health()
    if found["store"]:
        raise Refusal(
            "store-unavailable", "The store cannot be used. The log of the service says why."
        )
    if not found["ready"]:
        raise Refusal("not-ready", "The service is starting or stopping.")
    return Ready(ready=True)


@operation("GET", "/metrics", READ, answer="text/plain", codes=_STORE)
def metrics(service: Service, _: Call) -> Answer:
    """Get all metrics in the text format of Prometheus."""
    families = (*service.metrics.families(), *node_families(service.node))
    return Answer(metrics_text(families), TEXT)


@operation("GET", "/openapi.json", OPEN, answer="application/json")
async def openapi(*_: Any) -> Answer:
    """Get this document."""
    return Answer(document())


# --- the OpenAPI document ------------------------------------------------------------------------


@cache
def document() -> bytes:
    """Return the OpenAPI document of all operations, as JSON."""
    kinds = [kind for one in OPERATIONS for kind in (one.body, one.query, one.answer)]
    structs = [kind for kind in kinds if isinstance(kind, type)]
    _, schemas = msgspec.json.schema_components([*structs, ErrorBody], ref_template=_TEMPLATE)
    for schema in schemas.values():
        texts = _described(schema)
        for name, inner in schema.get("properties", {}).items():
            if name in texts and "$ref" not in inner:
                inner.setdefault("description", texts[name])
    paths: dict[str, dict[str, Any]] = {}
    for one in OPERATIONS:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, schemas)
    for query in {one.query.__name__ for one in OPERATIONS if one.query is not None}:
        del schemas[query]
    return to_json(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "Crossbandit",
                "version": crossbandit.__version__,
                "description": "Bidders for first-price auctions that learn from outcomes.",
                "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            },
            "paths": paths,
            "components": {
                "schemas": schemas,
                "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            },
        }
    )


def _operation(one: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    done: dict[str, Any] = {"description": "Done."}
    if one.answer is not None:
        done["content"] = {one.answer: {}} if isinstance(one.answer, str) else _json(one.answer)
    found: dict[str, Any] = {
        "operationId": one.handler.__name__.replace("_", "-"),
        "summary": one.summary,
        "parameters": [
            *([_NAME] if "{name}" in one.path else []),
            *_query_parameters(one, schemas),
        ],
        "responses": {str(one.status): done, **_problems(one)},
    }
    if one.role != OPEN:
        found["security"] = [{"token": []}]
        found["description"] = f"Role: {one.role}."
    if one.body is not None:
        found["requestBody"] = {"required": True, "content": _json(one.body)}
    return found


def _json(kind: type) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _TEMPLATE.format(name=kind.__name__)}}}


def _query_parameters(one: Operation, schemas: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the parameters of the query, which have no schema of their own."""
    if one.query is None:
        return []
    schema = schemas[one.query.__name__]
    found = []
    for name, inner in schema["properties"].items():
        where: dict[str, Any] = {"name": name, "in": "query"}
        where["required"] = name in schema.get("required", [])
        where["description"] = inner["description"]
        if inner.get("type") == "object":
            where["content"] = {"application/json": {"schema": inner}}
        else:
            where["schema"] = {key: value for key, value in inner.items() if key != "default"}
        found.append(where)
    return found


def _problems(one: Operation) -> dict[str, Any]:
    """Return the answers for errors, by status."""
    codes = [*one.codes]
    if one.role != OPEN:
        codes += _WITH_ROLE
    if one.body is not None:
        codes += _WITH_BODY
    if one.query is not None:
        codes.append("invalid")
    if "{name}" in one.path:
        codes += ["unknown-bidder", "invalid"]
    by_status: dict[int, set[str]] = {}
    for code in codes:
        by_status.setdefault(STATUS[code], set()).add(code)
    return {
        str(status): {
            "description": f"Code: {', '.join(sorted(some))}.",
            "content": _json(ErrorBody),
        }
        for status, some in sorted(by_status.items())
    }


def _described(schema: dict[str, Any]) -> dict[str, str]:
    """Shorten the description of a schema, a docstring; return those of its attributes, by name."""
    text = inspect.cleandoc(schema["description"])
    schema["description"] = text.partition("\n")[0]
    described = inspect.cleandoc(text.partition("Attributes:\n")[2].partition("\n\n")[0])
    items = re.split(r"\n(?! )", described) if described else []
    pairs = (one.partition(": ") for one in items)
    return {name: " ".join(words.split()) for name, _, words in pairs}
