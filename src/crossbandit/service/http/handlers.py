"""Handlers of decisions and outcomes. They run in the event loop, so none may block it for long."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from crossbandit.client.transport import Transport, bidder_path
from crossbandit.errors import ServiceAwayError
from crossbandit.service.causes import HeldElsewhereError, PausedError
from crossbandit.service.contents import Decided, Outcome, Reported
from crossbandit.service.http.access import DECIDE, REPORT
from crossbandit.service.http.answers import BYTES, STATUS, Answer, Refusal
from crossbandit.service.http.bodies import Auction, Auctions, DecidedMany, Outcomes
from crossbandit.service.http.operations import BIDDER, DECIDING, STORING, operation

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from crossbandit.service.http.gate import Call
    from crossbandit.service.http.metrics import RequestMetrics
    from crossbandit.service.node import Node
    from crossbandit.service.settings import BidderSettings

    _Row = tuple[float, float | None, dict[str, Any]]  # value, reserve price, classes

_FORWARDED = b"crossbandit-forwarded"  # the header of forwarded requests
_TIMEOUT = 5.0  # seconds to wait for the answer of another node
_AT_ONCE = 100  # rows that are handled before other requests get a turn


@dataclass
class Service:
    """What handlers use.

    Attributes:
        node: The node.
        metrics: Counts requests.
        document: The OpenAPI document.
        transports: The connections to other nodes, by address.
    """

    node: Node
    metrics: RequestMetrics
    document: bytes = b""
    transports: dict[str, Transport] = field(default_factory=dict)

    async def find(self, name: str) -> None:
        """Read the store, in a thread, if a bidder is not known.

        Args:
            name: Its name.

        Raises:
            UnknownBidderError: There is no bidder of that name.
        """
        if name not in self.node.directory.bidders:
            await asyncio.to_thread(self.node.settings, name)

    def close(self) -> None:
        """Close the connections to other nodes."""
        for transport in self.transports.values():
            transport.close()


@operation("POST", f"{BIDDER}/decide", DECIDE, body=Auction, answer=Decided, codes=DECIDING)
async def decide(service: Service, call: Call) -> Any:
    """Decide what to bid in one auction."""
    body, settings = call.body, service.node.settings(call.name)
    check_classes(settings, body.classes)
    if settings.limited:
        rows = [(body.value, body.reserve, body.classes)]
        made = await _decide_under_limits(service, call, rows, "/decide")
        return made if isinstance(made, Answer) else made[0]
    return service.node.decide(
        call.name, body.value, reserve=body.reserve, at=body.at, classes=body.classes
    )


@operation(
    "POST",
    f"{BIDDER}/outcome",
    REPORT,
    body=Outcome,
    answer=Reported,
    codes=(*STORING, "damaged-token", "foreign-token"),
)
async def outcome(service: Service, call: Call) -> Reported:
    """Report the outcome of one auction. When the answer arrives, it is stored durably."""
    done = await asyncio.wrap_future(service.node.report(call.name, [call.body]))
    for error in done.errors:
        raise Refusal(error.cause if error.cause in STATUS else "invalid", error.message)
    return done


@operation("POST", f"{BIDDER}/outcomes", REPORT, body=Outcomes, answer=Reported, codes=STORING)
async def outcomes(service: Service, call: Call) -> Reported:
    """Report many outcomes. When the answer arrives, the accepted ones are stored durably."""
    rows = call.body.outcomes
    waiting = []
    for start in range(0, len(rows), _AT_ONCE):
        waiting.append(service.node.report(call.name, rows[start : start + _AT_ONCE]))
        await asyncio.sleep(0)
    parts = await asyncio.gather(*map(asyncio.wrap_future, waiting))
    errors = [
        msgspec.structs.replace(error, index=error.index + number * _AT_ONCE)
        for number, part in enumerate(parts)
        for error in part.errors
    ]
    return Reported(sum(part.accepted for part in parts), tuple(errors))


@operation(
    "POST", f"{BIDDER}/decide-many", DECIDE, body=Auctions, answer=DecidedMany, codes=DECIDING
)
async def decide_many(service: Service, call: Call) -> Any:
    """Decide what to bid in many auctions."""
    node, name, settings = service.node, call.name, service.node.settings(call.name)
    check_classes(settings, call.body.classes)
    rows = _rows(call.body)
    _check_rows(settings, rows)
    if settings.limited:
        found = await _decide_under_limits(service, call, rows, "/decide-many")
        return found if isinstance(found, Answer) else DecidedMany(found)
    made: list[Any] = []
    for number, (value, reserve, classes) in enumerate(rows):
        made.append(node.decide(name, value, reserve=reserve, at=call.body.at, classes=classes))
        if number % _AT_ONCE == _AT_ONCE - 1:
            await asyncio.sleep(0)
    return DecidedMany(made)


@operation(
    "GET",
    f"{BIDDER}/snapshot",
    DECIDE,
    answer="application/octet-stream",
    codes=("limited", *DECIDING),
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
    # The tag also changes if a bidder is created again, or if tokens are signed from now on.
    signed = b"0" if node.key is None else b"1"
    tag = f'"{version}-{node.directory.bidders[name].row.owner}-'.encode() + signed + b'"'
    headers = [(b"etag", tag), (b"crossbandit-signed", signed)]
    if call.headers.get(b"if-none-match") == tag:
        return Answer(status=304, headers=headers)
    return Answer(content, BYTES, headers=headers)


def check_classes(settings: BidderSettings, given: Collection[str]) -> None:
    """Raise unless the given classes are those of a bidder.

    Args:
        settings: The settings of the bidder.
        given: The names of the given classes.

    Raises:
        Refusal: A class is missing, or the bidder has no such class.
    """
    classes = settings.classes
    if len(given) != len(classes) or any(one not in given for one in classes):
        expected = ", ".join(map(repr, classes)) or "no classes"
        raise Refusal(
            "invalid",
            f"'classes' must hold {expected}. Got {', '.join(map(repr, given)) or 'none'}.",
        )


async def _decide_under_limits(
    service: Service, call: Call, rows: Sequence[_Row], what: str
) -> list[Decided] | Answer:
    """Decide for a bidder with limits, here or at the node that has its lease.

    The bidder may be learning. A thread waits for it, so that other requests do not wait.
    """
    node, name, at = service.node, call.name, call.body.at

    def ask() -> list[Any]:
        return [
            node.decide(name, value, reserve=reserve, at=at, classes=classes)
            for value, reserve, classes in rows
        ]

    try:
        waiting = await asyncio.to_thread(ask)
    except HeldElsewhereError as error:
        return await _forwarded(service, error, bidder_path(name, what), call)
    made: list[Decided] = await asyncio.gather(*map(asyncio.wrap_future, waiting))
    return made


async def _forwarded(service: Service, error: HeldElsewhereError, path: str, call: Call) -> Answer:
    """Forward a request, with its access token, to the node that decides for its bidder.

    Args:
        service: What handlers use.
        error: The error that names the node.
        path: The path of the request.
        call: The request.

    Returns:
        The answer of that node.

    Raises:
        HeldElsewhereError: The address of the node is not known; or the request was forwarded
            before, so that two nodes would forward it to each other for ever.
        Refusal: The node does not answer.
    """
    if error.url is None or _FORWARDED in call.headers:
        raise error
    if error.url not in service.transports:
        service.transports[error.url] = Transport(error.url, timeout=_TIMEOUT)
    transport = service.transports[error.url]
    headers = {_FORWARDED.decode(): "1"}
    if b"authorization" in call.headers:
        headers["Authorization"] = call.headers[b"authorization"].decode("latin-1")
    content = msgspec.json.encode(call.body)
    try:
        response = await asyncio.to_thread(transport.request, "POST", path, content, headers)
    except ServiceAwayError:
        raise Refusal(
            "not-ready", "The node that decides for this bidder does not answer. Try again soon."
        ) from None
    return Answer(response.content, status=response.status)


def _rows(body: Auctions) -> list[_Row]:
    """Return the value, the reserve price and the classes of each auction."""
    count = len(body.values)
    reserves = _column("reserve", body.reserve, count)
    columns = {name: _column(name, one, count) for name, one in body.classes.items()}
    return [
        (value, reserves[i], {name: column[i] for name, column in columns.items()})
        for i, value in enumerate(body.values)
    ]


def _check_rows(settings: BidderSettings, rows: Sequence[_Row]) -> None:
    """Raise if a row is wrong, before anything is decided."""
    low, high = settings.value_range
    for number, (value, reserve, _) in enumerate(rows):
        if not low <= value <= high:
            raise Refusal(
                "invalid",
                f"'values' must be from {low:g} to {high:g}. Got {value} in row {number}. Nothing "
                "was decided.",
            )
        if reserve is not None and reserve < settings.reserve:
            raise Refusal(
                "invalid",
                f"'reserve' must be at least {settings.reserve:g}, the reserve price of the "
                f"bidder. Got {reserve} in row {number}. Nothing was decided.",
            )


def _column(name: str, given: Any, count: int) -> Sequence[Any]:
    if not isinstance(given, list):
        return [given] * count
    if len(given) != count:
        raise Refusal(
            "invalid",
            f"{name!r} must be one value for all auctions, or a list of {count}. Got a list of "
            f"{len(given)}.",
        )
    return given
