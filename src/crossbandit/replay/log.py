"""A log of first-price auctions, read a chunk at a time; bad lines are counted and shown."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.errors import LogError
from crossbandit.replay.lines import line_numbers
from crossbandit.replay.source import ROLES, recognize

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import duckdb
    import pandas as pd

    from crossbandit.replay.source import Source
    from crossbandit.types import Floats

SHOWN_FAULTS = 10
_SHOWN_TEXT = 40
NO_PRICE = "no highest competing bid"
MORE_COLUMNS = "more columns than the first line has"
WITH_COMMA = "is written with a comma"
TOO_LONG = "more than 2,000,000 bytes"
_COMMA = r"[-+]?[0-9.]*,[0-9.,]+"
_RATIOS = 1000  # that are told apart, from 0 to 1
TIMED_LINES = 100_000  # the first of a log, of which the order is looked at
_VECTORS = 8  # of 2,048 rows: what DuckDB hands over at once


class Fault(NamedTuple):
    """A bad line: its number from 1, what is wrong with it, and how many lines it goes on for."""

    line: int
    reason: str
    lines: int = 1


class Auctions(NamedTuple):
    """Consecutive auctions: what each was worth, and the highest competing bid.

    Where the log has them, also what was bid, and the reserve of each auction.
    """

    values: Floats
    prices: Floats
    bids: Floats | None = None
    reserves: Floats | None = None

    def part(self, start: int, stop: int | None = None) -> Auctions:
        """Return the auctions start, ..., stop - 1."""
        return self._replace(
            **{
                name: column[start:stop]
                for name, column in self._asdict().items()
                if column is not None
            }
        )


def _joined(pieces: Sequence[Auctions]) -> Auctions:
    columns = {
        name: np.concatenate([piece._asdict()[name] for piece in pieces])
        for name, column in pieces[0]._asdict().items()
        if column is not None
    }
    return Auctions(**columns)


class Doubts(NamedTuple):
    """Signs, as numbers of auctions, that a price is not the highest bid of the others."""

    nothing: int = 0  # the price is 0
    own_bid: int = 0  # it equals the log's own bid
    one_ratio: int = 0  # it is the same share of the value, to three digits and up to 1
    ratio: float = 0.0  # that share


class Survey(NamedTuple):
    """What one reading of the whole log finds."""

    auctions: int
    bad: int
    highest_value: float
    highest_price: float
    median_value: float  # about
    faults: tuple[Fault, ...]  # the first ten
    reasons: dict[str, int]  # how many rows are bad for each, the commonest first
    doubts: Doubts

    @property
    def lines(self) -> int:
        """How many lines there are, good and bad."""
        return self.auctions + self.bad

    @property
    def main_reason(self) -> str:
        """Why more than half of the bad lines are bad; empty if there is no such reason."""
        reason, count = next(iter(self.reasons.items()), ("", 0))
        return reason if 2 * count > self.bad else ""


@dataclass(frozen=True, eq=False)
class Log:
    """A file whose lines are auctions; `limit` is how many lines are read, None for all."""

    source: Source
    places: Mapping[str, int]  # of the columns, from 0, by their roles
    guessed: frozenset[str] = frozenset()  # roles whose columns were found by their names
    highest_value: float | None = None
    limit: int | None = None

    @property
    def columns(self) -> str:
        """Which columns are read, in a sentence."""
        by_name = " (guessed by name)"
        first = by_name if self.guessed == {"value"} else ""
        second = by_name if "price" in self.guessed else ""
        bid, reserve = self.label("bid"), self.label("reserve")
        return (
            f"The value is column {self.label('value')}{first}, the highest competing bid column "
            f"{self.label('price')}{second}."
            + (f" Your own bid is column {bid}." if bid else "")
            + (f" The reserve is column {reserve}." if reserve else "")
        )

    def label(self, role: str) -> str | None:
        """Return how to call the column of a role, None if it has none."""
        return self.source.label(self.places[role]) if role in self.places else None

    def survey(self) -> Survey:
        """Read the whole log once: how many auctions, how many bad lines, the ranges."""
        good = "FILTER (fault IS NULL)"
        equal = "bid_ = price_" if "bid" in self.places else "false"
        query = f"""
            SELECT count(*) {good}, count(fault), max(value_) {good}, max(price_) {good},
                approx_quantile(value_, 0.5) {good}, histogram(fault),
                count(*) FILTER (fault IS NULL AND price_ = 0),
                count(*) FILTER (fault IS NULL AND price_ > 0 AND {equal}),
                histogram(TRY_CAST(round({_RATIOS} * price_ / value_) AS INTEGER))
                    FILTER (fault IS NULL AND price_ > 0 AND price_ <= value_)
            FROM ({self._checked()})
        """
        with self.source.connected() as connection:
            row = connection.execute(query).fetchall()[0]
            auctions, bad, value, price, median, reasons, nothing, own_bid, ratios = row
            rejected = self._rejected(connection)
            faults = self._faults(connection, rejected) if bad or rejected else ()
        bad += len(rejected) + sum(fault.lines - 1 for fault in faults)
        if not auctions and not bad:
            raise LogError(f"{self.source.path} holds no auctions: there is nothing but a header.")
        ratio, shared = max((ratios or {0: 0}).items(), key=itemgetter(1))
        return Survey(
            auctions=auctions,
            bad=bad,
            highest_value=value or 0.0,
            highest_price=price or 0.0,
            median_value=median or 0.0,
            faults=faults,
            reasons=dict(sorted((reasons or {}).items(), key=itemgetter(1), reverse=True)),
            doubts=Doubts(nothing, own_bid, shared, ratio / _RATIOS),
        )

    def steps_back(self) -> int:
        """Count how often column `timestamp` goes back in time in the first lines of the log.

        Moments are numbers, or dates as ISO 8601 has them; others are passed over.
        """
        place = self.source.place_of("timestamp")
        if place is None:
            return 0
        lines = min(TIMED_LINES, self.limit or TIMED_LINES)
        query = f"""
            SELECT count(*) FILTER (moment < before)
            FROM (SELECT moment, lag(moment) OVER () AS before FROM (
                SELECT coalesce(TRY_CAST(t AS DOUBLE), epoch(TRY_CAST(t AS TIMESTAMP))) AS moment
                FROM (SELECT moment::VARCHAR AS t FROM (
                    {self.source.select({"moment": place})} LIMIT {lines}))
                WHERE moment IS NOT NULL))
        """
        with self.source.connected() as connection:
            return int(connection.execute(query).fetchall()[0][0])

    def chunks(self, size: int) -> Iterator[Auctions]:
        """Yield the good lines in order, `size` at a time; the last chunk may be shorter."""
        kept: list[Auctions] = []
        count = 0
        for piece in self._pieces():
            kept.append(piece)
            count += len(piece.values)
            if count >= size:
                joined = _joined(kept)
                whole = count - count % size
                for start in range(0, whole, size):
                    yield joined.part(start, start + size)
                kept = [joined.part(whole)]
                count -= whole
        if count:
            yield _joined(kept)

    def _pieces(self) -> Iterator[Auctions]:
        numbers = ", ".join(f"{role}_" for role in self.places)
        with self.source.connected() as connection:
            # With WHERE, DuckDB would make each number out of its text once for every check.
            connection.execute(f"SELECT {numbers}, fault IS NULL AS good FROM ({self._checked()})")
            while len(frame := connection.fetch_df_chunk(_VECTORS)):
                good = frame["good"].to_numpy()
                rows = frame if good.all() else frame[good]
                yield Auctions(**{f"{role}s": rows[f"{role}_"].to_numpy() for role in self.places})

    def _checked(self) -> str:
        """Return SQL for each column as text, as a number, and what is wrong with a bad line.

        A number has the name of its role with an underscore behind it.
        """
        rows = self.source.select(self.places)
        if self.limit is not None:
            rows += f" LIMIT {self.limit}"
        named = [(role, ROLES[role]) for role in self.places]
        faults = [
            f"WHEN extra THEN '{MORE_COLUMNS}'",
            *(f"WHEN {role} IS NULL THEN 'no {name}'" for role, name in named),
            *(
                f"WHEN {role}_ IS NULL OR NOT isfinite({role}_) THEN CASE "
                f"WHEN regexp_full_match(trim({role}::VARCHAR), '{_COMMA}') "
                f"THEN 'the {name} {WITH_COMMA}' ELSE 'the {name} is not a number' END"
                for role, name in named
            ),
            *(f"WHEN {role}_ < 0 THEN 'the {name} is below 0'" for role, name in named),
        ]
        if highest := self.highest_value:
            faults.append(f"WHEN value_ > {highest!r} THEN 'the value is above {highest:g}'")
        numbers = ", ".join(f"TRY_CAST({role} AS DOUBLE) AS {role}_" for role in self.places)
        return (
            f"SELECT {numbers}, CASE {' '.join(faults)} END AS fault, {', '.join(self.places)} "
            f"FROM ({rows})"
        )

    def _rejected(self, connection: duckdb.DuckDBPyConnection) -> dict[int, str]:
        """Return the records that DuckDB has set aside in the last reading, and why."""
        if not self.source.is_text:
            return {}
        rows = connection.execute(
            "SELECT line, bool_or(error_type = 'LINE SIZE OVER MAXIMUM') FROM reject_errors "
            "GROUP BY line ORDER BY line"
        ).fetchall()
        columns = " or ".join(f"the {ROLES[role]}" for role in self.places)
        no_text = f"{columns} is not text in UTF-8"
        return {line: TOO_LONG if too_long else no_text for line, too_long in rows}

    def _faults(
        self, connection: duckdb.DuckDBPyConnection, rejected: Mapping[int, str]
    ) -> tuple[Fault, ...]:
        """Return the first bad lines; DuckDB counts rows, and the file is asked for their lines."""
        rows = connection.execute(
            f"SELECT number, fault, {', '.join(f'{role}::VARCHAR' for role in self.places)} "
            f"FROM (SELECT row_number() OVER () AS number, * FROM ({self._checked()})) "
            f"WHERE fault IS NOT NULL LIMIT {SHOWN_FAULTS}"
        ).fetchall()
        spans = {row[0]: range(row[0], row[0] + 1) for row in rows}
        others: dict[int, range] = {}
        if self.source.is_text:
            spans, others = line_numbers(self.source, spans, rejected)
        faults = [
            _fault(
                spans.get(row[0], row[0] + self.source.skipped),
                _reason(row[1], dict(zip(self.places, row[2:], strict=True))),
            )
            for row in rows
        ]
        faults += [_fault(span, rejected[record]) for record, span in others.items()]
        return tuple(sorted(faults)[:SHOWN_FAULTS])


def _fault(span: range | int, reason: str) -> Fault:
    """Say how far a bad line goes: a quotation mark that is not closed takes others with it.

    A number in place of the span says about where the line is.
    """
    if isinstance(span, int):
        return Fault(span, f"near this line, {reason}")
    if len(span) > 1:
        reason = f"quoted up to line {span[-1]}, and {reason}"
    return Fault(span.start, reason, len(span))


def _reason(fault: str, texts: Mapping[str, str | None]) -> str:
    culprit = next((role for role in texts if ROLES[role] in fault), "price")
    text = texts[culprit]
    return fault if text is None else f"{fault}: {text[:_SHOWN_TEXT]!r}"


def open_log(
    log: str | Path | pd.DataFrame,
    *,
    value_column: str | int | None = None,
    price_column: str | int | None = None,
    bid_column: str | int | None = None,
    reserve_column: str | int | None = None,
    highest_value: float | None = None,
    limit: int | None = None,
) -> Log:
    """Return the log in a file or a DataFrame.

    The columns of the value and the price are found by their usual names if they are not named.
    """
    source = recognize(log)
    places = {
        "value": source.column(value_column, "value"),
        "price": source.column(price_column, "price"),
    }
    for role, wanted in (("bid", bid_column), ("reserve", reserve_column)):
        if wanted is not None:
            places[role] = source.column(wanted, role)
    for (one, place), (other, same) in combinations(places.items(), 2):
        if place == same:
            raise LogError(
                f"The {ROLES[one]} and the {ROLES[other]} cannot both be column "
                f"{source.label(place)}."
            )
    asked = {"value": value_column, "price": price_column}
    guessed = frozenset(role for role, wanted in asked.items() if wanted is None)
    return Log(source, places, guessed, highest_value, limit)
