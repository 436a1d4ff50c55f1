"""Lines of exchanges: which fields they have, and joining bids with notices."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from crossbandit.core.types import Ties
from crossbandit.errors import LogError
from crossbandit.logs import files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from crossbandit.logs.log import AuctionLog


_MACROS = re.compile(r"(?i)[?&;]auction[_-]?(id|imp[_-]?id|price|loss|min[_-]?to[_-]?win)=")
# The fields of a line, and the names under which each is found.
_FIELDS = {
    "id": ("auction_id", "request_id", "bid_request_id", "id"),
    "imp": ("auction_imp_id", "imp_id"),
    "kind": ("event", "event_type", "notice", "notice_type", "type", "kind"),
    "value": files.ROLES["value"].names,
    "bid": ("bid", "own_bid", "our_bid", "bid_price"),
    "reserve": ("bidfloor", "floor", "reserve"),
    "price": ("auction_price", "price", "clearing_price", "win_price"),
    "least": files.LEAST_BID,
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
class Exchange:
    """Lines of an exchange: bids and notices, which are joined, or both in one line."""

    name: str  # as `--format` has it
    title: str  # what messages call it
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: _FIELDS, repr=False)
    won_codes: tuple[str, ...] = ()  # the codes of a result that is a win
    price_codes: tuple[str, ...] = ()  # the codes of losses that a higher bid would have prevented
    reasons: Mapping[str, str] = field(default_factory=dict, repr=False)
    ties: Ties = "win"
    paid_is_price: bool = False
    marks: tuple[frozenset[str], ...] = ()


OPENRTB = Exchange(
    "openrtb",
    "OpenRTB bids and notices",
    won_codes=("0",),
    price_codes=("100", "101", "102"),
    reasons=_OPENRTB_REASONS,
    marks=(frozenset({"auctionloss"}), frozenset({files.SEATS})),
)
GOOGLE = Exchange(
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
IPINYOU = Exchange(
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
PREBID = Exchange(
    "prebid",
    "bids and previous auctions of Prebid",
    fields={
        **_FIELDS,
        "id": ("bid_id", *_FIELDS["id"], "bidder_request_id"),
        "bid": (*_FIELDS["bid"], "bidder_cpm"),
        "price": ("highest_bid_cpm",),
        "currency": ("bidder_currency", *_FIELDS["currency"]),
        "rendered": ("rendered",),
    },
    ties="lose",
    marks=(frozenset({files.PREVIOUS}),),
)
EXCHANGES = {one.name: one for one in (OPENRTB, GOOGLE, IPINYOU, PREBID)}

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


def field_places(form: Exchange, source: files.Source) -> dict[str, list[int]]:
    """Return the columns of each field of a format, in the order of their names."""
    names = source.columns.names
    leaves = files.plain(map(files.leaf, names))
    by_depth = sorted(range(len(names)), key=lambda i: names[i].count("."))  # id before site.id
    found = {
        name: [i for wanted in files.plain(usual) for i in by_depth if leaves[i] == wanted]
        for name, usual in form.fields.items()
    }
    for role, whole in _MARKS.items():
        found[role] = [i for i, name in enumerate(names) if name == whole]
    return {name: places for name, places in found.items() if places}


def find_format(name: str, source: files.Source) -> Exchange | None:
    """Return the format of an exchange that a log has."""
    if name != "auto":
        return EXCHANGES.get(name)
    if all(
        with_names(file) is not file
        and re.fullmatch(r"20\d{15}", _beginning(file).split("\t")[1])  # a time
        for file in source.files
    ):
        return IPINYOU
    texts = (file for file in source.files if file.layout.kind == "csv")
    if any(_MACROS.search(_beginning(file)) for file in texts):  # parameters of a URL
        return OPENRTB
    names = {
        one for file in source.files for one in files.plain(map(files.leaf, file.layout.names))
    }
    found = (one for one in EXCHANGES.values() if any(mark <= names for mark in one.marks))
    return next(found, None)


def with_names(file: files.LogFile) -> files.LogFile:
    """Return the file; if it is an iPinYou file without a header, with the names of its columns."""
    layout = file.layout
    names = IPINYOU_NAMES.get(layout.width)
    if layout.kind != "csv" or layout.names or layout.separator != "\t" or names is None:
        return file
    return files.LogFile(file.path, replace(layout, names=names))


def _beginning(file: files.LogFile) -> str:
    """Return the first line that is not blank."""
    with file.open_text() as lines:
        return next((line for line in lines if line.strip()), "")


# The table of lines, the view of it that says which lines are broken, the table of auctions, and
# the view of it that says which auctions are dropped.
_LINES, _EVENTS, _GROUPS, _AUCTIONS = (
    f"stage.{name}" for name in ("fields", "events", "groups", "auctions")
)
_KINDS = {
    "bid": ("bid", "bids", "bid_response", "response"),
    "win": ("1", "win", "won", "nurl", "win_notice", "billing", "billed", "burl", "impression"),
    "loss": ("loss", "lost", "lose", "lurl", "loss_notice"),
}
JOINED = ("value", "price", "bid", "reserve", "won")  # the columns of the copy, by their roles
_EVENT_FIELDS = (
    *("id", "imp", "kind", "value", "bid", "reserve"),
    *("price", "least", "code", "currency", "won", "url"),
    *("seat", "no_bid"),  # the price in a bid response, or a sign that it has no bid
    *("previous", "rendered"),  # whether there is a previous auction, and its winner was shown
)
_MARKS = {
    "seat": f"{files.SEATS}.price",
    "no_bid": f"{files.SEATS}.{files.NO_BID}",
    "previous": files.PREVIOUS,
}
_VALUE_IS_BID = (
    "The value is what was bid: in a second-price auction, a bidder bids what an auction is worth."
)
_UNCLEAR = "neither a bid nor a win nor a loss"
_NO_ID = "no auction id"


def join_notices(
    log: AuctionLog, opened: files.OpenedSource, form: Exchange, own: Mapping[str, int]
) -> files.OpenedSource:
    """Return one row per auction: value, price, bid, reserve, won, and the columns of `opened`.

    The columns `own`, which the user has given by role, replace the usual fields.
    """
    source, kept = opened.source, opened.columns
    # If a user gives a price column, it is the highest competing bid, not what was paid.
    given = {"least" if role == "price" else role: [place] for role, place in own.items()}
    fields = field_places(form, source) | given
    has_urls = "url" in fields and "lines" in {file.layout.kind for file in source.files}
    if "value" not in fields and not has_urls:
        raise LogError(
            f"No line of {source.name} has a value. The notices of an exchange do not say what an "
            "auction was worth to you: add the log of your bids, with the fields id, value and "
            "bid, or name the field with --value-column (columns={'value': ...} in Python)."
        )
    columns = {f"{name}_{i}": p for name, found in fields.items() for i, p in enumerate(found)}
    extras = {f"x{i}": place for i, place in enumerate(kept)}
    codes = form.price_codes if log.price_losses is None else [str(one) for one in log.price_losses]
    with files.open_stage(source, log.timezone) as stage:
        stage.load(columns | extras)
        stage.connection.execute(_events_sql(form, fields, list(extras)))
        has_least = bool(_count(stage, "count(least)"))
        identified = _group(stage, form, list(extras), by_id="id" in own)
        _check_currency(stage, source, log.currency)
        _judge(stage, codes, log.currency)
        paid = "win_price" if form.paid_is_price else "NULL"
        price = "least" if has_least else f"CASE WHEN won THEN {paid} ELSE loss_price END"
        remarks = [*_remarks(stage, form, codes, log.currency, has_least=has_least)]
        if form.paid_is_price and "value" not in own:
            remarks.append(_VALUE_IS_BID)
        names = [*JOINED, *(source.columns.shown(place) for place in kept)]
        copied = stage.write(_copy_sql(price, list(extras)), names)
    has = {*fields, "price", "won", *(["bid"] if "seat" in fields else [])}
    places = {role: i for i, role in enumerate(JOINED) if role in has}
    moved = opened.moved(copied, len(JOINED))
    return moved._replace(
        places=places | moved.places,
        remarks=tuple(remarks),
        ties=form.ties if has_least else "lose",
        identified=identified,
    )


def _events_sql(form: Exchange, fields: Mapping[str, list[int]], extras: list[str]) -> str:
    """Return SQL that makes a table of the lines, with one column per field."""
    known = ", ".join(f"{_field(form, name, fields)} AS {name}" for name in _EVENT_FIELDS)
    wins = ", ".join(files.literal(code) for code in form.won_codes) or "NULL"
    by_name = " ".join(
        f"WHEN lower(kind) IN ({', '.join(map(files.literal, words))}) THEN '{kind}'"
        for kind, words in _KINDS.items()
    )
    path = "regexp_replace(coalesce(url, ''), '[a-zA-Z]+://[^/?]*|[?].*', '', 'g')"
    number = "TRY_CAST({} AS DOUBLE)".format
    beaten = f"{number('bid')} >= {number('coalesce(least, price)')}"
    kind = f"""CASE WHEN seat IS NOT NULL THEN 'bid'
        WHEN previous = 'false' THEN 'other: no previous auction'
        WHEN previous IS NOT NULL AND {number("coalesce(least, bid)")} IS NULL THEN 'other: no bid'
        WHEN previous IS NOT NULL AND {beaten} AND rendered = '0' THEN 'other: not rendered'
        WHEN previous IS NOT NULL AND {beaten} THEN 'win'
        WHEN previous IS NOT NULL THEN 'loss'
        WHEN no_bid IS NOT NULL THEN 'other: no bid' {by_name}
        WHEN kind IS NOT NULL THEN 'other: ' || kind
        WHEN regexp_matches({path}, '(?i)[/._-](loss|lose|lost|lurl)') THEN 'loss'
        WHEN regexp_matches({path}, '(?i)[/._-](win|won|nurl|bill|burl|imp)') THEN 'win'
        WHEN code IN ({wins}) THEN 'win' WHEN code IS NOT NULL THEN 'loss'
        WHEN lower(won) IN {files.WON} THEN 'win' WHEN lower(won) IN {files.LOST} THEN 'loss'
        WHEN won IS NOT NULL THEN NULL
        WHEN {number("bid")} >= {number("least")} THEN 'win'
        WHEN {number("bid")} < {number("least")} THEN 'loss'
        WHEN value IS NOT NULL THEN 'bid' END"""
    rest = ", ".join([*extras, "broken", files.FILE, files.ROW])
    return (
        f"CREATE TABLE {_LINES} AS SELECT * REPLACE ({kind} AS kind, CASE WHEN starts_with("
        f"coalesce({kind}, ''), 'bid') THEN coalesce(bid, price) ELSE bid END AS bid) "
        f"FROM (SELECT {known}, {rest} FROM {files.ROWS})"
    )


def _field(form: Exchange, name: str, fields: Mapping[str, list[int]]) -> str:
    """Return SQL for a field: the first column that has it, or a parameter of a URL."""
    found = [files.identifier(f"{name}_{i}") for i in range(len(fields.get(name, [])))]
    if name != "url" and name in form.fields:
        words = "|".join(form.fields[name]).replace("_", "[_-]?")
        content = '([^&#;\\s"]*)'
        if name == "kind":  # other words, as in type=banner, say nothing about a notice
            known = "|".join(word for kinds in _KINDS.values() for word in kinds)
            content = f'({known})(?:[&#;\\s"]|$)'
        found += [
            f"url_decode(regexp_extract({files.identifier(f'url_{i}')}, "
            f"'(?i)[?&;](?:{words})={content}', 1))"
            for i in range(len(fields.get("url", [])))
        ]
    cleaned = [one if name == "url" else _clean(one) for one in found]
    if name == "code":  # a number may have been read as 102.0
        cleaned = [f"regexp_replace({one}, '[.]0+$', '')" for one in cleaned]
    return f"coalesce({', '.join(cleaned)})" if cleaned else "NULL::VARCHAR"


def _clean(text: str) -> str:
    """Return SQL for a text, NULL if it is empty or a macro that was not replaced."""
    return (
        f"CASE WHEN trim({text}) <> '' AND NOT regexp_matches({text}, "
        f"'(?i)[$][{{]|[%]7B|^(AUDIT|null)$') THEN trim({text}) END"
    )


def _count(stage: files.Stage, what: str) -> int:
    return int(stage.fetch(f"SELECT {what} FROM {_LINES}")[0][0])


def _group(stage: files.Stage, form: Exchange, extras: list[str], *, by_id: bool) -> bool:
    """Make a table of auctions from the lines; return whether their ids were used."""
    apart = "count(id) > 0 OR count(*) FILTER (value IS NULL AND kind IN ('win', 'loss')) > 0"
    only_bids = "count(*) FILTER (value IS NOT NULL AND kind = 'bid') > 0"
    joined = by_id or bool(_count(stage, f"{only_bids} AND ({apart})"))
    bids = "AND kind = 'bid'" if _count(stage, only_bids) else ""
    has_id = "id IS NOT NULL AND broken IS NULL AND kind NOT LIKE 'other%'"
    by_imp = _count(stage, f"count(*) FILTER ({has_id} AND imp IS NULL)") == 0
    alone = (
        f"({files.PLACE}) || chr(31) || coalesce(imp, '')"  # a bid response may have several bids
    )
    key = "id" + (" || chr(31) || imp" if by_imp else "") if joined else alone
    no_id = f"WHEN id IS NULL THEN '{_NO_ID}'" if joined else ""
    stage.connection.execute(
        f"CREATE VIEW {_EVENTS} AS SELECT * REPLACE (CASE WHEN broken IS NOT NULL THEN broken "
        f"WHEN kind LIKE 'other%' THEN NULL WHEN kind IS NULL THEN '{_UNCLEAR}' {no_id} END "
        f"AS broken) FROM {_LINES}"
    )
    of_loss = "FILTER (kind = 'loss')"
    of_price = "FILTER (kind IN ('win', 'loss'))" if form.paid_is_price else of_loss
    checked = {"value": "", "bid": "", "least": "", "code": of_loss, "price": of_price}
    unlike = " OR ".join(
        f"coalesce(min(TRY_CAST({name} AS DOUBLE)) {which} < max(TRY_CAST({name} AS DOUBLE)) "
        f"{which}, false)"
        for name, which in checked.items()
    )
    of_bid = ["value", "bid", "reserve", *extras]
    columns = ", ".join(f"any_value({name}) AS {name}" for name in [*of_bid, "least"])
    stage.connection.execute(f"""
        CREATE TABLE {_GROUPS} AS SELECT {columns}, {unlike} AS unlike,
            {"false" if by_imp else "coalesce(min(imp) < max(imp), false)"} AS several,
            min(upper(currency)) AS currency, max(upper(currency)) AS other_currency,
            greatest(count(*) FILTER (value IS NOT NULL {bids}) - 1, 0) AS repeated,
            coalesce(min({files.PLACE}) FILTER (value IS NOT NULL), min({files.PLACE})) AS place,
            bool_or(kind = 'win') AS won, bool_or(kind = 'loss') AS lost,
            any_value(code) FILTER (kind = 'loss') AS code,
            any_value(price) FILTER (kind = 'loss') AS loss_price,
            any_value(price) FILTER (kind = 'win') AS win_price
        FROM {_EVENTS} WHERE broken IS NULL AND kind NOT LIKE 'other%' GROUP BY {key}""")
    return joined


def _check_currency(stage: files.Stage, source: files.Source, currency: str | None) -> None:
    rows = stage.fetch(
        f"SELECT one, count(*) FROM (SELECT currency AS one FROM {_GROUPS} UNION ALL "
        f"SELECT other_currency FROM {_GROUPS} WHERE other_currency <> currency) "
        "WHERE one IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1"
    )
    counted = ", ".join(f"{name} ({count:,})" for name, count in rows)
    if currency is None and len(rows) > 1:
        raise LogError(
            f"{source.name} has amounts in more than one currency: {counted}. Choose one with "
            "--currency (currency=... in Python)."
        )
    if currency is not None and currency.upper() not in dict(rows):
        raise LogError(
            f"{source.name} has no amounts in {currency}. "
            + (f"It has {counted}." if rows else "It does not say its currency.")
        )


def _judge(stage: files.Stage, codes: Sequence[str], currency: str | None) -> None:
    """Make a view of the auctions that says why one is dropped."""
    about_price = ", ".join(map(files.literal, codes)) or "NULL"
    other = "NULL" if currency is None else f"currency <> {files.literal(currency.upper())}"
    (has_losses,) = stage.fetch(f"SELECT count(*) > 0 FROM {_GROUPS} WHERE lost")[0]
    stage.connection.execute(f"""
        CREATE VIEW {_AUCTIONS} AS SELECT *, CASE
            WHEN value IS NULL THEN 'notice'
            WHEN several THEN 'several'
            WHEN unlike THEN 'unlike'
            WHEN currency <> other_currency THEN 'currencies'
            WHEN won AND lost THEN 'both'
            WHEN NOT won AND NOT lost AND {has_losses} THEN 'silent'
            WHEN lost AND code NOT IN ({about_price}) THEN 'code ' || code
            WHEN {other} THEN 'currency ' || currency END AS dropped FROM {_GROUPS}""")


def _copy_sql(price: str, extras: list[str]) -> str:
    """Return SQL for the copy: auctions that are kept, and broken lines, in the order of lines."""
    width = len(JOINED) + len(extras)
    floor = "coalesce(reserve, '0')"
    kept = ["value", price, "bid", floor, "CASE WHEN won THEN '1' ELSE '0' END", *extras]
    columns = ", ".join(f"({what})::VARCHAR AS c{i}" for i, what in enumerate(kept, 1))
    empty = ", ".join(f"NULL AS c{i}" for i in range(1, width + 1))
    return f"""
        SELECT {columns}, NULL::VARCHAR AS {files.BROKEN},
            place // {files.ROWS_OF_A_FILE} AS {files.FILE},
            place % {files.ROWS_OF_A_FILE} AS {files.ROW}
        FROM {_AUCTIONS} WHERE dropped IS NULL
        UNION ALL SELECT {empty}, broken, {files.FILE}, {files.ROW} FROM {_EVENTS}
        WHERE broken IS NOT NULL ORDER BY {files.FILE}, {files.ROW}"""


_WHY = {
    "notice": "a notice but no bid in the log",
    "several": "several impressions, and notices that do not say which",
    "unlike": "lines that contradict each other",
    "currencies": "lines in different currencies",
    "both": "a notice of a win and one of a loss",
    "silent": "a bid but no notice, while others have notices of losses",
}


def _remarks(
    stage: files.Stage,
    form: Exchange,
    codes: Sequence[str],
    currency: str | None,
    *,
    has_least: bool,
) -> Iterator[str]:
    """Yield what was read, what was dropped and why, and what was assumed."""
    rows = stage.fetch(f"SELECT dropped, count(*) FROM {_AUCTIONS} GROUP BY 1 ORDER BY 2 DESC, 1")
    won, lost, silent, unexplained, repeated = stage.fetch(
        "SELECT count(*) FILTER (won), count(*) FILTER (NOT won), "
        "count(*) FILTER (NOT won AND NOT lost), count(*) FILTER (lost AND code IS NULL), "
        "coalesce(sum(repeated), 0)::BIGINT "
        f"FROM {_AUCTIONS} WHERE dropped IS NULL"
    )[0]
    yield f"Read as {form.title}. Auctions won: {won:,}, lost: {lost:,}."
    dropped = [(why, count) for why, count in rows if why is not None]
    if dropped:
        total = sum(count for _, count in dropped)
        listed = "; ".join(f"{_dropped(form, why)}: {count:,}" for why, count in dropped)
        yield f"Auctions that were dropped: {total:,} ({listed})."
    if repeated:
        yield f"Lines that repeat a bid were not used: {repeated:,}."
    others = stage.fetch(
        f"SELECT substr(kind, 8), count(*) FROM {_EVENTS} WHERE kind LIKE 'other%' "
        "GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10"
    )
    if others:
        listed = ", ".join(
            f"{form.reasons.get(kind, kind)!r} ({count:,})" for kind, count in others
        )
        yield f"Lines of other kinds were not used: {listed}."
    if silent:
        yield (
            f"Bids without any notice count as lost, because the log has no notices of losses: "
            f"{silent:,}."
        )
    if unexplained and codes:
        yield f"Losses without a reason count as lost on the price: {unexplained:,}."
    if form.paid_is_price:
        yield "The price of a won auction is what was paid."
    elif not has_least and lost:
        yield "The price of a lost auction is what the winner paid."
    query = f"SELECT count(*) FROM {_AUCTIONS} WHERE dropped IS NULL AND currency IS NULL"
    if currency is not None and (unsaid := stage.fetch(query)[0][0]):
        yield f"Auctions that do not say their currency count as {currency.upper()}: {unsaid:,}."


def _dropped(form: Exchange, why: str) -> str:
    """Return in words why auctions were dropped."""
    if why.startswith("code "):
        code = why.removeprefix("code ")
        meaning = f" {form.reasons[code]}" if code in form.reasons else ""
        return f"lost for another reason than the price, {code}{meaning}"
    return _WHY.get(why, why)
