"""Handlers that create, change and show bidders, and those for health and metrics.

Most are plain functions. They run in a thread, because they may wait for the store, or for a bidder
that is learning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from crossbandit.service.http.answers import TEXT, Answer, Refusal
from crossbandit.service.http.bodies import Alive, Bidder, BidderNames, Policy, PriceLaw, Ready
from crossbandit.service.http.handlers import check_classes
from crossbandit.service.http.metrics import metrics_text, node_families

if TYPE_CHECKING:
    from crossbandit.service.figures import BidderFigures
    from crossbandit.service.http.gate import Call
    from crossbandit.service.http.handlers import Service


def bidders(service: Service, call: Call) -> BidderNames:
    """List the bidders."""
    del call
    return BidderNames(service.node.names())


def bidder(service: Service, call: Call) -> Bidder:
    """Show the settings of a bidder."""
    node, name = service.node, call.name
    return Bidder(name, node.settings(name), paused=node.figures(name).paused)


def create(service: Service, call: Call) -> Bidder:
    """Create a bidder."""
    service.node.create(call.name, call.body)
    return bidder(service, call)


def delete(service: Service, call: Call) -> None:
    """Delete a bidder."""
    service.node.delete(call.name)


def change(service: Service, call: Call) -> Bidder:
    """Change the budgets or the targets of a bidder."""
    given = {
        key: getattr(call.body, key)
        for key in ("budget", "target")
        if getattr(call.body, key) is not msgspec.UNSET
    }
    service.node.change(call.name, **given)
    return bidder(service, call)


def pause(service: Service, call: Call) -> Bidder:
    """Pause a bidder."""
    service.node.pause(call.name)
    return bidder(service, call)


def resume(service: Service, call: Call) -> Bidder:
    """Resume a bidder."""
    service.node.resume(call.name)
    return bidder(service, call)


def policy(service: Service, call: Call) -> Policy:
    """Show the probability of each bid."""
    asked = call.query
    check_classes(service.node, call.name, asked.classes)
    maker = service.node.bidder(call.name)
    chances = maker.policy(asked.value, reserve=asked.reserve, **asked.classes)
    return Policy(maker.bids.tolist(), chances.tolist())


def price_law(service: Service, call: Call) -> PriceLaw:
    """Show the law of the highest competing bid."""
    check_classes(service.node, call.name, call.query.classes)
    law = service.node.bidder(call.name).price_law(call.query.value, **call.query.classes)
    return PriceLaw(law.amounts.tolist(), law.chances.tolist(), law.errors.tolist())


def figures(service: Service, call: Call) -> BidderFigures:
    """Show the figures of a bidder."""
    return service.node.figures(call.name)


async def healthz(service: Service, call: Call) -> Alive:
    """Report that the process and its event loop run."""
    del service, call
    return Alive("ok")


def readyz(service: Service, call: Call) -> Ready:
    """Report whether the service can store outcomes and decide."""
    del call
    found = msgspec.convert(service.node.health(), Ready)
    if not found.ready or found.store:
        code = "store-unavailable" if found.store else "not-ready"
        raise Refusal(code, found.store or "The service is starting or stopping.")
    return found


def metrics(service: Service, call: Call) -> Answer:
    """Return all metrics."""
    del call
    families = (*service.metrics.families(), *node_families(service.node))
    return Answer(metrics_text(families), TEXT)


async def openapi(service: Service, call: Call) -> Answer:
    """Return the OpenAPI document."""
    del call
    return Answer(service.document)
