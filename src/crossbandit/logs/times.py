"""Whether the lines of a log are in the order of time, whatever the column of times is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from crossbandit.logs.columns import plain
from crossbandit.logs.numbers import time_sql

if TYPE_CHECKING:
    import duckdb

    from crossbandit.logs.log import AuctionLog

TIMED_LINES = 100_000  # how many lines are checked for the order of time
_SAMPLED = 1_000  # lines from which a column of times is recognised
_MOST_COLUMNS = 64  # that are looked at
_NAMES = plain(
    [
        "timestamp",
        "time",
        "ts",
        "datetime",
        "event_time",
        "bid_time",
        "auction_time",
        "bid_timestamp",
    ]
)
_DATE = r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?|(19|20)\d{12}(\d{3})?"
_FROM, _TO = 946_684_800, 4_102_444_800  # 2000 and 2100, in seconds


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

    The column of times is the one that was given, one with a usual name, or else one with dates
    or with seconds (or milliseconds, ...) between 2000 and 2100 in nearly every line. Of several,
    the one that goes back least often counts.
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
    return [names.index(name) for name in _NAMES if name in names][:1]


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
