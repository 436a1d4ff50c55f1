"""Join bids with the notices of an exchange, and drop auctions that say nothing about the price.

A line is a bid, a win, a loss, or something else. Lines of one auction have the same id. Where
every line with a value also has a result, nothing is joined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from crossbandit.errors import LogError
from crossbandit.logs.columns import LOST, WON
from crossbandit.logs.database import identifier, literal
from crossbandit.logs.formats import check_fields, field_places
from crossbandit.logs.source import BROKEN, FILE, PLACE, ROW, ROWS_OF_A_FILE
from crossbandit.logs.staging import ROWS, open_stage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crossbandit.logs.formats import Format
    from crossbandit.logs.source import Source
    from crossbandit.logs.staging import Stage

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
_FIELDS = (
    *("id", "imp", "kind", "value", "bid", "reserve"),
    *("price", "least", "code", "currency", "won", "url"),
    *("seat", "no_bid"),  # the price in a bid response, or a sign that it has no bid
)
_VALUE_IS_BID = (
    "The value is what was bid: in a second-price auction, a bidder bids what an auction is worth."
)
_UNCLEAR = "neither a bid nor a win nor a loss"
_NO_ID = "no auction id"


class JoinedLog(NamedTuple):
    """A log with one line per auction, and remarks about how it was joined."""

    source: Source
    found: tuple[str, ...]  # the roles for which the log has entries
    remarks: tuple[str, ...]
    ties: str  # "lose" if prices are bids of others, not the least bid that wins


def join_notices(
    source: Source,
    form: Format,
    *,
    own: Mapping[str, int],
    kept: Sequence[int],
    price_codes: Sequence[str] | None,
    currency: str | None,
    timezone: str,
) -> JoinedLog:
    """Return one row per auction, with columns value, price, bid, reserve and won.

    Args:
        source: The lines of the exchange.
        form: Their format.
        own: The columns that the user has given, by role. They replace the usual fields.
        kept: Further columns that are kept under their names.
        price_codes: The codes of losses about the price; None for the usual ones.
        currency: Which currency is kept; None if there is only one.
        timezone: The zone of times without an offset.

    Returns:
        The auctions and remarks.

    Raises:
        LogError: The log lacks a field, or has several currencies.
    """
    # If a user gives a price column, it is the highest competing bid, not what was paid.
    given = {"least" if role == "price" else role: [place] for role, place in own.items()}
    fields = field_places(form, source) | given
    check_fields(source, fields)
    columns = {f"{name}_{i}": p for name, found in fields.items() for i, p in enumerate(found)}
    extras = {f"x{i}": place for i, place in enumerate(kept)}
    codes = tuple(price_codes) if price_codes is not None else form.price_codes
    with open_stage(source, timezone) as stage:
        stage.load(columns | extras)
        stage.connection.execute(_events_sql(form, fields, list(extras)))
        has_least = bool(_count(stage, "count(least)"))
        _group(stage, form, list(extras))
        _check_currency(stage, source, currency)
        _judge(stage, codes, currency)
        price = _price_sql(form, has_least=has_least)
        remarks = _remarks(stage, form, codes, has_least=has_least)
        remarks += _unsaid_currency(stage, currency)
        if form.paid_is_price and "value" not in own:
            remarks += (_VALUE_IS_BID,)
        names = [*JOINED, *(source.columns.shown(place) for place in kept)]
        copied = stage.write(_copy_sql(price, list(extras)), names)
    has = {*fields, "price", "won", *(["bid"] if "seat" in fields else [])}
    found = tuple(role for role in JOINED if role in has)
    return JoinedLog(copied, found, remarks, form.ties if has_least else "lose")


def _events_sql(form: Format, fields: Mapping[str, list[int]], extras: list[str]) -> str:
    """Return SQL that makes a table of the lines, with one column per field."""
    known = ", ".join(f"{_field(form, name, fields)} AS {name}" for name in _FIELDS)
    wins = ", ".join(literal(code) for code in form.won_codes) or "NULL"
    by_name = " ".join(
        f"WHEN lower(kind) IN ({', '.join(map(literal, words))}) THEN '{kind}'"
        for kind, words in _KINDS.items()
    )
    path = "regexp_replace(coalesce(url, ''), '[a-zA-Z]+://[^/?]*|[?].*', '', 'g')"
    number = "TRY_CAST({} AS DOUBLE)".format
    kind = f"""CASE WHEN seat IS NOT NULL THEN 'bid'
        WHEN no_bid IS NOT NULL THEN 'other: no bid' {by_name}
        WHEN kind IS NOT NULL THEN 'other: ' || kind
        WHEN regexp_matches({path}, '(?i)[/._-](loss|lose|lost|lurl)') THEN 'loss'
        WHEN regexp_matches({path}, '(?i)[/._-](win|won|nurl|bill|burl|imp)') THEN 'win'
        WHEN code IN ({wins}) THEN 'win' WHEN code IS NOT NULL THEN 'loss'
        WHEN lower(won) IN {WON} THEN 'win' WHEN lower(won) IN {LOST} THEN 'loss'
        WHEN won IS NOT NULL THEN NULL
        WHEN {number("bid")} >= {number("least")} THEN 'win'
        WHEN {number("bid")} < {number("least")} THEN 'loss'
        WHEN value IS NOT NULL THEN 'bid' END"""
    rest = ", ".join([*extras, "broken", FILE, ROW])
    return (
        f"CREATE TABLE {_LINES} AS SELECT * REPLACE ({kind} AS kind, CASE WHEN starts_with("
        f"coalesce({kind}, ''), 'bid') THEN coalesce(bid, price) ELSE bid END AS bid) "
        f"FROM (SELECT {known}, {rest} FROM {ROWS})"
    )


def _field(form: Format, name: str, fields: Mapping[str, list[int]]) -> str:
    """Return SQL for a field: the first column that has it, or a parameter of a URL."""
    found = [identifier(f"{name}_{i}") for i in range(len(fields.get(name, [])))]
    if name != "url" and name in form.fields:
        words = "|".join(form.fields[name]).replace("_", "[_-]?")
        content = '([^&#;\\s"]*)'
        if name == "kind":  # other words, as in type=banner, say nothing about a notice
            known = "|".join(word for kinds in _KINDS.values() for word in kinds)
            content = f'({known})(?:[&#;\\s"]|$)'
        found += [
            f"url_decode(regexp_extract({identifier(f'url_{i}')}, "
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


def _count(stage: Stage, what: str) -> int:
    return int(stage.fetch(f"SELECT {what} FROM {_LINES}")[0][0])


def _group(stage: Stage, form: Format, extras: list[str]) -> None:
    """Make a table of auctions from the lines."""
    apart = "count(id) > 0 OR count(*) FILTER (value IS NULL AND kind IN ('win', 'loss')) > 0"
    only_bids = "count(*) FILTER (value IS NOT NULL AND kind = 'bid') > 0"
    joined = bool(_count(stage, f"{only_bids} AND ({apart})"))
    has_id = "id IS NOT NULL AND broken IS NULL AND kind NOT LIKE 'other%'"
    by_imp = _count(stage, f"count(*) FILTER ({has_id} AND imp IS NULL)") == 0
    alone = f"({PLACE}) || chr(31) || coalesce(imp, '')"  # a bid response may have several bids
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
            greatest(count(*) FILTER (value IS NOT NULL AND kind = 'bid') - 1, 0) AS repeated,
            coalesce(min({PLACE}) FILTER (value IS NOT NULL), min({PLACE})) AS place,
            bool_or(kind = 'win') AS won, bool_or(kind = 'loss') AS lost,
            any_value(code) FILTER (kind = 'loss') AS code,
            any_value(price) FILTER (kind = 'loss') AS loss_price,
            any_value(price) FILTER (kind = 'win') AS win_price
        FROM {_EVENTS} WHERE broken IS NULL AND kind NOT LIKE 'other%' GROUP BY {key}""")


def _check_currency(stage: Stage, source: Source, currency: str | None) -> None:
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


def _judge(stage: Stage, codes: Sequence[str], currency: str | None) -> None:
    """Make a view of the auctions that says why one is dropped."""
    about_price = ", ".join(map(literal, codes)) or "NULL"
    other = "NULL" if currency is None else f"currency <> {literal(currency.upper())}"
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


def _price_sql(form: Format, *, has_least: bool) -> str:
    if has_least:
        return "least"
    paid = "win_price" if form.paid_is_price else "NULL"
    return f"CASE WHEN won THEN {paid} ELSE loss_price END"


def _copy_sql(price: str, extras: list[str]) -> str:
    """Return SQL for the copy: auctions that are kept, and broken lines, in the order of lines."""
    width = len(JOINED) + len(extras)
    floor = "coalesce(reserve, '0')"
    kept = ["value", price, "bid", floor, "CASE WHEN won THEN '1' ELSE '0' END", *extras]
    columns = ", ".join(f"({what})::VARCHAR AS c{i}" for i, what in enumerate(kept, 1))
    empty = ", ".join(f"NULL AS c{i}" for i in range(1, width + 1))
    return f"""
        SELECT {columns}, NULL::VARCHAR AS {BROKEN}, place // {ROWS_OF_A_FILE} AS {FILE},
            place % {ROWS_OF_A_FILE} AS {ROW}
        FROM {_AUCTIONS} WHERE dropped IS NULL
        UNION ALL SELECT {empty}, broken, {FILE}, {ROW} FROM {_EVENTS} WHERE broken IS NOT NULL
        ORDER BY {FILE}, {ROW}"""


_WHY = {
    "notice": "a notice but no bid in the log",
    "several": "several impressions, and notices that do not say which",
    "unlike": "lines that contradict each other",
    "currencies": "lines in different currencies",
    "both": "a notice of a win and one of a loss",
    "silent": "a bid but no notice, while others have notices of losses",
}


def _remarks(
    stage: Stage, form: Format, codes: Sequence[str], *, has_least: bool
) -> tuple[str, ...]:
    """Return what was read, what was dropped and why, and what was assumed."""
    rows = stage.fetch(f"SELECT dropped, count(*) FROM {_AUCTIONS} GROUP BY 1 ORDER BY 2 DESC, 1")
    won, lost, silent, unexplained, repeated = stage.fetch(
        "SELECT count(*) FILTER (won), count(*) FILTER (NOT won), "
        "count(*) FILTER (NOT won AND NOT lost), count(*) FILTER (lost AND code IS NULL), "
        "coalesce(sum(repeated), 0)::BIGINT "
        f"FROM {_AUCTIONS} WHERE dropped IS NULL"
    )[0]
    remarks = [f"Read as {form.title}. Auctions won: {won:,}, lost: {lost:,}."]
    dropped = [(why, count) for why, count in rows if why is not None]
    if dropped:
        total = sum(count for _, count in dropped)
        listed = "; ".join(f"{_dropped(form, why)}: {count:,}" for why, count in dropped)
        remarks.append(f"Auctions that were dropped: {total:,} ({listed}).")
    if repeated:
        remarks.append(f"Lines that repeat a bid were not used: {repeated:,}.")
    others = stage.fetch(
        f"SELECT substr(kind, 8), count(*) FROM {_EVENTS} WHERE kind LIKE 'other%' "
        "GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10"
    )
    if others:
        listed = ", ".join(
            f"{form.reasons.get(kind, kind)!r} ({count:,})" for kind, count in others
        )
        remarks.append(f"Lines of other kinds were not used: {listed}.")
    if silent:
        remarks.append(
            f"Bids without any notice count as lost, because the log has no notices of losses: "
            f"{silent:,}."
        )
    if unexplained and codes:
        remarks.append(f"Losses without a reason count as lost on the price: {unexplained:,}.")
    if form.paid_is_price:
        remarks.append("The price of a won auction is what was paid.")
    elif not has_least and lost:
        remarks.append("The price of a lost auction is what the winner paid.")
    return tuple(remarks)


def _unsaid_currency(stage: Stage, currency: str | None) -> tuple[str, ...]:
    if currency is None:
        return ()
    query = f"SELECT count(*) FROM {_AUCTIONS} WHERE dropped IS NULL AND currency IS NULL"
    (count,) = stage.fetch(query)[0]
    said = f"Auctions that do not say their currency count as {currency.upper()}: {count:,}."
    return (said,) if count else ()


def _dropped(form: Format, why: str) -> str:
    """Return in words why auctions were dropped."""
    if why.startswith("code "):
        code = why.removeprefix("code ")
        meaning = f" {form.reasons[code]}" if code in form.reasons else ""
        return f"lost for another reason than the price, {code}{meaning}"
    return _WHY.get(why, why)
