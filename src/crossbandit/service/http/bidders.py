"""Handlers that create, change and show bidders, and those for health and metrics.

Most are plain functions. They run in a thread, because they may wait for the store, or for a bidder
that is learning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from crossbandit.service.figures import BidderFigures
from crossbandit.service.http.access import ADMIN, DECIDE, OPEN, READ
from crossbandit.service.http.answers import TEXT, Answer, Refusal
from crossbandit.service.http.bodies import (
    Alive,
    Bidder,
    BidderNames,
    Limits,
    Policy,
    PolicyQuery,
    PriceLaw,
    PriceLawQuery,
    Ready,
)
from crossbandit.service.http.handlers import check_classes
from crossbandit.service.http.metrics import metrics_text, node_families
from crossbandit.service.http.operations import BIDDER, DECIDING, operation
from crossbandit.service.settings import BidderSettings

if TYPE_CHECKING:
    from crossbandit.service.http.gate import Call
    from crossbandit.service.http.handlers import Service

_STORE = ("store-unavailable",)
_NOT_READY = ("not-ready", "store-unavailable")


@operation("GET", f"{BIDDER}/policy", DECIDE, query=PolicyQuery, answer=Policy, codes=DECIDING)
def policy(service: Service, call: Call) -> Policy:
    """Get the probability of each bid."""
    asked = call.query
    check_classes(service.node.settings(call.name), asked.classes)
    maker = service.node.bidder(call.name)
    chances = maker.policy(asked.value, reserve=asked.reserve, **asked.classes)
    return Policy(maker.bids.tolist(), chances.tolist())


@operation(
    "GET", f"{BIDDER}/price-law", DECIDE, query=PriceLawQuery, answer=PriceLaw, codes=DECIDING
)
def price_law(service: Service, call: Call) -> PriceLaw:
    """Get the law of the highest competing bid."""
    check_classes(service.node.settings(call.name), call.query.classes)
    law = service.node.bidder(call.name).price_law(call.query.value, **call.query.classes)
    return PriceLaw(law.amounts.tolist(), law.chances.tolist(), law.errors.tolist())


@operation("GET", f"{BIDDER}/figures", READ, answer=BidderFigures, codes=_NOT_READY)
def figures(service: Service, call: Call) -> BidderFigures:
    """Get the figures of a bidder: what it has done and learned."""
    return service.node.figures(call.name)


@operation("GET", "/v1/bidders", READ, answer=BidderNames, codes=_STORE)
def bidders(service: Service, call: Call) -> BidderNames:
    """List the bidders."""
    del call
    return BidderNames(service.node.names())


@operation("GET", BIDDER, READ, answer=Bidder, codes=_STORE)
def bidder(service: Service, call: Call) -> Bidder:
    """Get the settings of a bidder."""
    node, name = service.node, call.name
    return Bidder(name, node.settings(name), paused=node.figures(name).paused)


@operation(
    "PUT",
    BIDDER,
    ADMIN,
    body=BidderSettings,
    answer=Bidder,
    status=201,
    codes=("exists", "store-unavailable"),
)
def create(service: Service, call: Call) -> Bidder:
    """Create a bidder."""
    service.node.create(call.name, call.body)
    return bidder(service, call)


@operation("PATCH", BIDDER, ADMIN, body=Limits, answer=Bidder, codes=_NOT_READY)
def change(service: Service, call: Call) -> Bidder:
    """Change the budgets or the targets of a bidder while it runs."""
    given = {
        key: getattr(call.body, key)
        for key in ("budget", "target")
        if getattr(call.body, key) is not msgspec.UNSET
    }
    service.node.change(call.name, **given)
    return bidder(service, call)


@operation("DELETE", BIDDER, ADMIN, status=204, codes=_STORE)
def delete(service: Service, call: Call) -> None:
    """Delete a bidder and everything that it has learned."""
    service.node.delete(call.name)


@operation("POST", f"{BIDDER}/pause", ADMIN, answer=Bidder, codes=_NOT_READY)
def pause(service: Service, call: Call) -> Bidder:
    """Pause a bidder. It makes no decisions until it is resumed. Outcomes are still accepted."""
    service.node.pause(call.name)
    return bidder(service, call)


@operation("POST", f"{BIDDER}/resume", ADMIN, answer=Bidder, codes=_NOT_READY)
def resume(service: Service, call: Call) -> Bidder:
    """Resume a paused bidder."""
    service.node.resume(call.name)
    return bidder(service, call)


@operation("GET", "/healthz", OPEN, answer=Alive)
async def healthz(service: Service, call: Call) -> Alive:
    """Check whether the process runs."""
    del service, call
    return Alive("ok")


@operation("GET", "/readyz", OPEN, answer=Ready, codes=_NOT_READY)
def readyz(service: Service, call: Call) -> Ready:
    """Check whether the service can store outcomes and decide."""
    del call
    found = msgspec.convert(service.node.health(), Ready)
    if not found.ready or found.store:
        code = "store-unavailable" if found.store else "not-ready"
        raise Refusal(code, found.store or "The service is starting or stopping.")
    return found


@operation("GET", "/metrics", READ, answer="text/plain", codes=_STORE)
def metrics(service: Service, call: Call) -> Answer:
    """Get all metrics in the text format of Prometheus."""
    del call
    families = (*service.metrics.families(), *node_families(service.node))
    return Answer(metrics_text(families), TEXT)


@operation("GET", "/openapi.json", OPEN, answer="application/json")
async def openapi(service: Service, call: Call) -> Answer:
    """Get this document."""
    del call
    return Answer(service.document)
