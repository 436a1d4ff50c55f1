"""The formats of exchanges: which fields their lines have, and what their codes mean."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crossbandit.errors import LogError
from crossbandit.logs.columns import LEAST_BID, NAMES, leaf, plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crossbandit.logs.source import Source

SEATS = "seatbid"  # the field of a bid response that has the bids, by seats
NO_BID = "nobid"  # a field in place of the bids, where there are none
# The fields of a line, and the names under which each is found.
_FIELDS = {
    "id": ("auction_id", "request_id", "bid_request_id", "id"),
    "imp": ("auction_imp_id", "imp_id"),
    "kind": ("event", "event_type", "notice", "notice_type", "type", "kind"),
    "value": NAMES["value"],
    "bid": ("bid", "own_bid", "our_bid", "bid_price"),
    "reserve": ("bidfloor", "floor", "reserve"),
    "price": ("auction_price", "price", "clearing_price", "win_price"),
    "least": LEAST_BID,
    "code": ("auction_loss", "loss", "loss_reason", "loss_code", "reason"),
    "currency": ("auction_currency", "currency", "cur"),
    "won": ("won", "is_won", "win"),
    "url": ("url", "notice_url", "request_uri", "uri", "request", "nurl", "burl", "lurl", "line"),
}
_OPENRTB_REASONS = {
    "1": "internal error",
    "2": "impression expired",
    "3": "invalid bid response",
    "4": "invalid deal",
    "5": "invalid auction id",
    "6": "malformed advertiser domain",
    "7": "missing markup",
    "8": "missing creative id",
    "9": "missing bid price",
    "10": "missing data for approval",
    "103": "lost to a deal",
    "104": "seat blocked",
    "200": "creative filtered",
    "201": "creative not yet processed",
    "202": "creative disapproved",
    "203": "size not allowed",
    "204": "wrong creative format",
    "205": "advertiser excluded",
    "206": "app excluded",
    "207": "not secure",
    "208": "language excluded",
    "209": "category excluded",
    "210": "creative attribute excluded",
    "211": "ad type excluded",
    "212": "animation too long",
    "213": "not allowed in the deal",
}


@dataclass(frozen=True)
class Format:
    """Lines of an exchange: bids and notices, which are joined, or both in one line.

    Attributes:
        name: As `--format` has it.
        title: What messages call it.
        fields: The names of columns by the fields of a line.
        won_codes: The codes of a result that is a win.
        price_codes: The codes of losses that a higher bid would have prevented.
        reasons: What other codes, or kinds of lines, mean.
        ties: What happens to a bid that equals the price: "win" if the price is the least bid that
            wins, "lose" if it is the bid of somebody else.
        paid_is_price: Whether winners pay the highest competing bid: a second-price auction.
        marks: Sets of columns. A file that has all columns of one of these sets has this format.
    """

    name: str
    title: str
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: _FIELDS, repr=False)
    won_codes: tuple[str, ...] = ()
    price_codes: tuple[str, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict, repr=False)
    ties: str = "win"
    paid_is_price: bool = False
    marks: tuple[frozenset[str], ...] = ()


OPENRTB = Format(
    "openrtb",
    "OpenRTB bids and notices",
    won_codes=("0",),
    price_codes=("100", "101", "102"),
    reasons=_OPENRTB_REASONS,
    marks=(frozenset({"auctionloss"}), frozenset({SEATS})),
)
GOOGLE = Format(
    "google",
    "bids and feedback of Authorized Buyers",
    fields={
        **_FIELDS,
        "code": ("creative_status_code", "status_code"),
        "price": ("price", "cpm_micros"),
    },
    won_codes=("1",),
    price_codes=("79", "80"),
    ties="lose",
    marks=(frozenset({"creativestatuscode"}),),
)
IPINYOU = Format(
    "ipinyou",
    "iPinYou bid, impression and click logs",
    fields={
        "id": ("bidid",),
        "kind": ("logtype",),
        "value": ("bidprice",),
        "bid": ("bidprice",),
        "reserve": ("slotprice",),
        "price": ("payprice",),
    },
    reasons={"2": "click", "3": "conversion"},
    ties="lose",
    paid_is_price=True,
    marks=(frozenset({"bidid", "bidprice"}),),
)
EXCHANGES = {one.name: one for one in (OPENRTB, GOOGLE, IPINYOU)}

_IPINYOU_BIDS = (
    *("bidid", "timestamp", "ipinyouid", "useragent", "ip", "region", "city", "adexchange"),
    *("domain", "url", "urlid", "slotid", "slotwidth", "slotheight", "slotvisibility"),
    *("slotformat", "slotprice", "creative", "bidprice", "advertiser", "usertag"),
)
_IPINYOU_IMPRESSIONS = [*_IPINYOU_BIDS]
_IPINYOU_IMPRESSIONS[2:2] = ["logtype"]
_IPINYOU_IMPRESSIONS[20:20] = ["payprice", "keypage"]
# The columns of its files, which have no header, by their number.
IPINYOU_NAMES = {len(names): tuple(names) for names in (_IPINYOU_BIDS, _IPINYOU_IMPRESSIONS)}


def field_places(form: Format, source: Source) -> dict[str, list[int]]:
    """Return the columns of each field of a format, in the order of their names.

    Args:
        form: The format.
        source: The log.

    Returns:
        Indices of columns; a field that the log does not have is missing.
    """
    names = source.columns.names
    leaves = plain(map(leaf, names))
    by_depth = sorted(range(len(names)), key=lambda i: names[i].count("."))  # id before site.id
    found = {
        name: [i for wanted in plain(usual) for i in by_depth if leaves[i] == wanted]
        for name, usual in form.fields.items()
    }
    for role, inner in (("seat", "price"), ("no_bid", NO_BID)):
        found[role] = [i for i, name in enumerate(names) if name == f"{SEATS}.{inner}"]
    return {name: places for name, places in found.items() if places}


def check_fields(source: Source, found: Mapping[str, list[int]]) -> None:
    """Raise LogError if a log lacks what its format needs."""
    if "url" in found and "lines" in {file.layout.kind for file in source.files}:
        return
    if "value" not in found:
        raise LogError(
            f"No line of {source.name} has a value. The notices of an exchange do not say what an "
            "auction was worth to you: add the log of your bids, with the fields id, value and "
            "bid, or name the field with --value-column (columns={'value': ...} in Python)."
        )
