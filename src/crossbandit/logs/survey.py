"""Survey a log: counts, ranges, bad lines, and signs that something is wrong with its columns."""

from __future__ import annotations

import math
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from crossbandit.errors import LogError
from crossbandit.logs.columns import plain, time_sql
from crossbandit.logs.faults import first_faults
from crossbandit.logs.source import rejected_records

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

    from crossbandit.logs.faults import Fault
    from crossbandit.logs.log import AuctionLog

_NEARLY_ALL = 0.99
VALUE_BINS = 32  # bins of values in each range from an amount to twice the amount
_RATIOS = 1000  # number of different ratios of price to value, from 0 to 1
TIMED_LINES = 100_000  # how many lines are checked for the order of time
_SAMPLED = 1_000  # lines from which a column of times is recognised
_MOST_COLUMNS = 64  # how many columns are checked for times
_TIMES = (  # usual names of a column of times, in the form that `plain` returns
    *("timestamp", "time", "ts", "datetime"),
    *("eventtime", "bidtime", "auctiontime", "bidtimestamp"),
)
_DATE = r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?|(19|20)\d{12}(\d{3})?"
_FROM, _TO = 946_684_800, 4_102_444_800  # 2000 and 2100, in seconds
_OTHER_UNIT = 30.0  # if medians of values and amounts differ by this factor, so may their units
_UNITS = {
    100.0: "cents and whole units",
    1_000.0: "an amount for a thousand impressions and for one",
    1_000_000.0: "millionths (micros) and whole units",
}


class PriceSigns(NamedTuple):
    """Numbers of auctions with signs that a price is not the highest bid of the others."""

    zero: int = 0  # the price is 0
    own_bid: int = 0  # the price equals the log's own bid
    one_ratio: int = 0  # the price is the same share of the value, to three digits and up to 1
    ratio: float = 0.0  # that share


class Results(NamedTuple):
    """Numbers of auctions that were won and lost, and of those whose price is known."""

    won: int
    lost: int
    won_known: int
    lost_known: int

    @property
    def feedback(self) -> str:
        """Who was told the price: nearly all (99 %) or nearly none of the winners and losers."""
        winners, losers = (
            count > 0 and known >= _NEARLY_ALL * count
            for count, known in ((self.won, self.won_known), (self.lost, self.lost_known))
        )
        if winners and losers:
            return "always"
        if winners:
            return "after-win" if self.lost else "always"
        if losers:
            return "after-loss" if self.won else "always"
        return "won-lost"


class Survey(NamedTuple):
    """What one reading of the whole log finds."""

    auctions: int
    bad: int
    highest_value: float
    highest_price: float
    median_value: float  # of those above 0, approximately
    median_price: float  # of those above 0, approximately
    own_bids: int  # auctions with an own bid above 0
    faults: tuple[Fault, ...]  # the first ten
    reasons: dict[str, int]  # number of bad rows for each reason, the most frequent first
    signs: PriceSigns
    value_counts: dict[int, int]  # of those above 0, by floor(VALUE_BINS * log2(value))
    results: Results | None = None  # if the log says who won

    @property
    def without_price(self) -> int:
        """The number of auctions whose price is not known."""
        return 0 if self.results is None else self.auctions - sum(self.results[2:])

    @property
    def feedback(self) -> str | None:
        """To whom the price was told; None if the log does not say who won."""
        return None if self.results is None else self.results.feedback

    @property
    def lines(self) -> int:
        """The number of lines, good and bad."""
        return self.auctions + self.bad

    @property
    def main_reason(self) -> str:
        """The reason of more than half of the bad lines, or an empty text."""
        reason, count = next(iter(self.reasons.items()), ("", 0))
        return reason if 2 * count > self.bad else ""


def survey_log(log: AuctionLog) -> Survey:
    """Return the survey of a log; raise LogError if it has no lines at all."""
    has_results = "won" in log.places
    counted = _counted(has_bids="bid" in log.places, has_results=has_results)
    query = f"SELECT {', '.join(counted.values())} FROM ({log.checked_sql()})"
    with log.source.connect(log.timezone) as connection:
        row = log.source.memory.fetch(connection, query)[0]
        found = dict(zip(counted, row, strict=True))
        rejected = rejected_records(log.source, connection)
        faults = first_faults(log, connection, rejected) if found["bad"] or rejected else ()
    bad = found["bad"] + len(rejected) + sum(fault.lines - 1 for fault in faults)
    if not found["auctions"] and not bad:
        why = " ".join(log.remarks) or "It has only a header."
        raise LogError(f"{log.source.name} has no auctions. {why}")
    ratio, one_ratio = max((found["ratios"] or {0: 0}).items(), key=itemgetter(1))
    return Survey(
        auctions=found["auctions"],
        bad=bad,
        highest_value=found["highest_value"] or 0.0,
        highest_price=found["highest_price"] or 0.0,
        median_value=found["median_value"] or 0.0,
        median_price=found["median_price"] or 0.0,
        own_bids=found["own_bids"],
        faults=faults,
        reasons=dict(sorted((found["reasons"] or {}).items(), key=itemgetter(1), reverse=True)),
        signs=PriceSigns(found["zero"], found["own_bid"], one_ratio, ratio / _RATIOS),
        value_counts=dict(found["value_counts"] or {}),
        results=Results(*(found[name] for name in Results._fields)) if has_results else None,
    )


def _counted(*, has_bids: bool, has_results: bool) -> dict[str, str]:
    """Return SQL for what is counted in the rows of `checked_sql`, by names."""

    def good(condition: str) -> str:
        return f"FILTER (fault IS NULL AND {condition})"

    results = {
        "won": "won_",
        "lost": "NOT won_",
        "won_known": "won_ AND price_ >= 0",
        "lost_known": "NOT won_ AND price_ >= 0",
    }
    return {
        "auctions": f"count(*) {good('true')}",
        "bad": "count(fault)",
        "highest_value": f"max(value_) {good('true')}",
        "highest_price": f"max(price_) {good('true')}",
        "median_value": f"approx_quantile(value_, 0.5) {good('value_ > 0')}",
        "median_price": f"approx_quantile(price_, 0.5) {good('price_ > 0')}",
        "own_bids": f"count(*) {good('bid_ > 0')}" if has_bids else "0",
        "reasons": "histogram(fault)",
        "zero": f"count(*) {good('price_ = 0')}",
        "own_bid": f"count(*) {good('price_ > 0 AND bid_ = price_')}" if has_bids else "0",
        "ratios": f"histogram(TRY_CAST(round({_RATIOS} * price_ / value_) AS INTEGER)) "
        + good("price_ > 0 AND price_ <= value_"),
        "value_counts": f"histogram(TRY_CAST(floor({VALUE_BINS} * log2(value_)) AS INTEGER)) "
        + good("value_ > 0"),
        **({name: f"count(*) {good(one)}" for name, one in results.items()} if has_results else {}),
    }


def survey_with_prices(log: AuctionLog) -> tuple[AuctionLog, Survey]:
    """Return a log and its survey. If only a few lines have no price, they count as bad lines."""
    survey = survey_log(log)
    if 0 < survey.without_price <= log.max_bad and survey.feedback == "always":
        log = log.with_prices()
        survey = survey_log(log)
    return log, survey


def doubt_about_units(value: float, amount: float, what: str) -> Iterator[str]:
    """Yield a warning if values and other amounts seem to be in different units.

    Args:
        value: The median of the values above 0; 0 if there is none.
        amount: The median of the other amounts above 0; 0 if there is none.
        what: What the other amounts are called.

    Yields:
        At most one sentence.
    """
    if not value or not amount:
        return
    ratio = max(value / amount, amount / value)
    if ratio < _OTHER_UNIT:
        return
    factor = min(_UNITS, key=lambda unit: abs(math.log(unit / ratio)))
    usual = abs(math.log10(factor / ratio)) <= 0.5
    about = factor if usual else float(f"{ratio:.1g}")
    example = f", for example {_UNITS[factor]}" if usual else ""
    high, low = ("values", what)[:: 1 if value > amount else -1]
    yield (
        f"The {high} are about {about:,.0f} times the {low}: half of the values are below "
        f"{value:,.3g}, half of the {what} below {amount:,.3g}. Are they in "
        f"different units{example}? Then the numbers are wrong: give the units with --value-unit "
        "and --price-unit."
    )


class StepsBack(NamedTuple):
    """How often a column of times goes back.

    Attributes:
        column: What messages call the column; empty if no column of times was found.
        steps: How often a time is before the last one.
    """

    column: str
    steps: int


def steps_back_in_time(log: AuctionLog) -> StepsBack:
    """Return how often the time goes back in the first lines of a log.

    The column of times is the one that was given, or one with a usual name. Otherwise it is one
    that has dates, or seconds (or milliseconds, ...) between 2000 and 2100, in nearly every line.
    If there are several, the one that goes back least often is used.
    """
    columns = log.source.columns
    lines = min(TIMED_LINES, log.limit or TIMED_LINES)
    with log.source.connect(log.timezone) as connection:
        places = _named(log) or _like_times(log, connection, min(lines, _SAMPLED))
        if not places:
            return StepsBack("", 0)
        names = {f"t{place}": place for place in places}
        steps = ", ".join(f"count(*) FILTER ({name} < before_{name})" for name in names)
        # A line without a time is left out of the comparison.
        moments = ", ".join(f"{time_sql(name)} AS {name}" for name in names)
        before = ", ".join(
            f"last_value({name} IGNORE NULLS) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND 1 "
            f"PRECEDING) AS before_{name}"
            for name in names
        )
        query = (
            f"SELECT {steps} FROM (SELECT *, {before} FROM (SELECT {moments} FROM "
            f"(SELECT * FROM ({log.source.select(names)}) LIMIT {lines})))"
        )
        counts = connection.execute(query).fetchall()[0]
    count, place = min(zip(counts, places, strict=True))
    return StepsBack(columns.label(place), count)


def _named(log: AuctionLog) -> list[int]:
    """Return the column of times that was given, or one with a usual name."""
    if "time" in log.places:
        return [log.places["time"]]
    names = plain(log.source.columns.names)
    return [names.index(name) for name in _TIMES if name in names][:1]


def _like_times(log: AuctionLog, connection: duckdb.DuckDBPyConnection, lines: int) -> list[int]:
    """Return the columns whose first entries look like times."""
    known = {*log.places.values(), *log.class_places.values()}
    width = min(log.source.columns.width, _MOST_COLUMNS)
    names = {f"t{place}": place for place in range(width) if place not in known}
    if not names:
        return []
    likely = []
    for name in names:
        text, number = f"trim({name}::VARCHAR)", f"TRY_CAST({name}::VARCHAR AS DOUBLE)"
        large = f"({number} >= {_FROM} AND {time_sql(name)} BETWEEN {_FROM} AND {_TO})"
        like = f"coalesce(regexp_full_match({text}, '{_DATE}') OR {large}, false)"
        likely.append(f"count(*) FILTER ({like}) >= 0.99 * count(*) AND count(*) > 1")
    rows = f"SELECT * FROM ({log.source.select(names)}) LIMIT {lines}"
    found = connection.execute(f"SELECT {', '.join(likely)} FROM ({rows})").fetchall()[0]
    return [place for place, is_time in zip(names.values(), found, strict=True) if is_time]
