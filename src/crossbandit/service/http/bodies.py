"""The bodies of requests and answers, except settings, decisions and outcomes."""

from __future__ import annotations

from typing import Annotated

import msgspec

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
    """The state of a node of the service.

    Attributes:
        node: Its name.
        ready: Whether it can store outcomes and decide.
        store: The present problem with the store; "" if there is none.
        bidders: The number of bidders.
        learning: The bidders for which it learns.
        waiting: The number of outcomes that wait to be stored.
        commits: The number of commits.
    """

    node: str
    ready: bool
    store: str
    bidders: int
    learning: list[str]
    waiting: int
    commits: int
