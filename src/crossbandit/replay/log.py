"""A log of first-price auctions, read a chunk at a time; bad lines are counted and shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.errors import LogError
from crossbandit.replay.lines import line_numbers
from crossbandit.replay.source import connected, recognize

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import duckdb

    from crossbandit.kernels.rounds import Floats
    from crossbandit.replay.source import Source

SHOWN_FAULTS = 10
_SHOWN_TEXT = 40
_NO_TEXT = "the value or the highest competing bid is not text in UTF-8"
_VECTORS = 8  # of 2,048 rows: what DuckDB hands over at once


class Fault(NamedTuple):
    """A bad line: its number from 1, what is wrong with it, and how many lines it goes on for."""

    line: int
    reason: str
    lines: int = 1


class Auctions(NamedTuple):
    """Consecutive auctions: what each was worth, and the highest competing bid."""

    values: Floats
    prices: Floats


class Survey(NamedTuple):
    """What one reading of the whole log finds."""

    auctions: int
    bad: int
    highest_value: float
    highest_price: float
    median_value: float  # about
    faults: tuple[Fault, ...]  # the first ten


@dataclass(frozen=True)
class Log:
    """A file whose lines are auctions; `limit` is how many lines are read, None for all."""

    source: Source
    value: int
    price: int
    guessed: bool = False  # whether the columns were found by their names
    highest_value: float | None = None
    limit: int | None = None

    @property
    def columns(self) -> str:
        """Which columns are read, in a sentence."""
        value, price = self.source.label(self.value), self.source.label(self.price)
        how = " (guessed by name)" if self.guessed else ""
        return f"The value is column {value}, the highest competing bid column {price}{how}."

    def survey(self) -> Survey:
        """Read the whole log once: how many auctions, how many bad lines, the ranges."""
        query = (
            "SELECT count(*) FILTER (fault IS NULL), count(fault), "
            "max(v) FILTER (fault IS NULL), max(p) FILTER (fault IS NULL), "
            "approx_quantile(v, 0.5) FILTER (fault IS NULL) "
            f"FROM ({self._checked()})"
        )
        with connected(self.source.path) as connection:
            auctions, bad, value, price, median = connection.execute(query).fetchall()[0]
            rejected = self._rejected(connection)
            faults = self._faults(connection, rejected) if bad or rejected else ()
        bad += len(rejected) + sum(fault.lines - 1 for fault in faults)
        if not auctions and not bad:
            raise LogError(f"{self.source.path} holds no auctions: there is nothing but a header.")
        return Survey(auctions, bad, value or 0.0, price or 0.0, median or 0.0, faults)

    def chunks(self, size: int) -> Iterator[Auctions]:
        """Yield the good lines in order, `size` at a time; the last chunk may be shorter."""
        kept: list[Auctions] = []
        count = 0
        for piece in self._pieces():
            kept.append(piece)
            count += len(piece.values)
            if count >= size:
                joined = Auctions(*map(np.concatenate, zip(*kept, strict=True)))
                whole = count - count % size
                for start in range(0, whole, size):
                    yield Auctions(*(column[start : start + size] for column in joined))
                kept = [Auctions(*(column[whole:] for column in joined))]
                count -= whole
        if count:
            yield Auctions(*map(np.concatenate, zip(*kept, strict=True)))

    def _pieces(self) -> Iterator[Auctions]:
        with connected(self.source.path) as connection:
            connection.execute(f"SELECT v, p FROM ({self._checked()}) WHERE fault IS NULL")
            while len(frame := connection.fetch_df_chunk(_VECTORS)):
                yield Auctions(frame["v"].to_numpy(), frame["p"].to_numpy())

    def _checked(self) -> str:
        """Return SQL for value, price and, where the line is bad, what is wrong with it."""
        rows = self.source.select(self.value, self.price)
        if self.limit is not None:
            rows += f" LIMIT {self.limit}"
        highest = self.highest_value
        above = f"WHEN v > {highest!r} THEN 'the value is above {highest:g}'" if highest else ""
        return f"""
            SELECT TRY_CAST(value AS DOUBLE) AS v, TRY_CAST(price AS DOUBLE) AS p, CASE
                WHEN extra THEN 'more columns than the first line has'
                WHEN value IS NULL THEN 'no value'
                WHEN price IS NULL THEN 'no highest competing bid'
                WHEN v IS NULL OR NOT isfinite(v) THEN 'the value is not a number'
                WHEN p IS NULL OR NOT isfinite(p) THEN 'the highest competing bid is not a number'
                WHEN v < 0 THEN 'the value is below 0'
                WHEN p < 0 THEN 'the highest competing bid is below 0'
                {above}
            END AS fault, value, price
            FROM ({rows})
        """

    def _rejected(self, connection: duckdb.DuckDBPyConnection) -> list[int]:
        """Return the numbers of the records that DuckDB has set aside in the last reading."""
        if not self.source.is_text:
            return []
        rows = connection.execute("SELECT DISTINCT line FROM reject_errors ORDER BY line")
        return [row[0] for row in rows.fetchall()]

    def _faults(
        self, connection: duckdb.DuckDBPyConnection, rejected: list[int]
    ) -> tuple[Fault, ...]:
        """Return the first bad lines; DuckDB counts rows, and the file is asked for their lines."""
        rows = connection.execute(
            "SELECT number, fault, value, price "
            f"FROM (SELECT row_number() OVER () AS number, * FROM ({self._checked()})) "
            f"WHERE fault IS NOT NULL LIMIT {SHOWN_FAULTS}"
        ).fetchall()
        spans = {row[0]: range(row[0], row[0] + 1) for row in rows}
        others: dict[int, range] = {}
        if self.source.is_text:
            spans, others = line_numbers(self.source, spans, set(rejected))
        faults = [_fault(spans[row[0]], _reason(*row[1:])) for row in rows]
        faults += [_fault(span, _NO_TEXT) for span in others.values()]
        return tuple(sorted(faults)[:SHOWN_FAULTS])


def _fault(span: range, reason: str) -> Fault:
    """Say how far a bad line goes: a quotation mark that is not closed takes others with it."""
    if len(span) > 1:
        reason = f"quoted up to line {span[-1]}, and {reason}"
    return Fault(span.start, reason, len(span))


def _reason(fault: str, value: object, price: object) -> str:
    culprit = value if "value" in fault else price
    return fault if culprit is None else f"{fault}: {str(culprit)[:_SHOWN_TEXT]!r}"


def open_log(
    path: str | Path,
    *,
    value_column: str | int | None = None,
    price_column: str | int | None = None,
    highest_value: float | None = None,
    limit: int | None = None,
) -> Log:
    """Return the log in a file; columns that are not named are found by their usual names."""
    source = recognize(path)
    value = source.column(value_column, "value")
    price = source.column(price_column, "price")
    if value == price:
        raise LogError(
            f"The value and the highest competing bid cannot both be column {source.label(value)}."
        )
    guessed = value_column is None or price_column is None
    return Log(source, value, price, guessed, highest_value, limit)
