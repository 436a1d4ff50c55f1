"""Read a censored log: into memory, or a large one into a temporary folder."""

from __future__ import annotations

import copy
import sys
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

import numpy as np
import pandas as pd

from crossbandit.errors import LogError
from crossbandit.evaluate.censored import (
    BOTH,
    CensoredLog,
    Facts,
    LogPiece,
    Range,
    distance,
    ranges,
)
from crossbandit.evaluate.groups import Groups, band_count, band_edges, least_size
from crossbandit.logs.files import ScratchFolder, connect, literal
from crossbandit.logs.log import COLUMNS, ClassTable, OutcomeCounts
from crossbandit.logs.survey import check_survey, find_repeats, steps_back_in_time, survey_log
from crossbandit.validation import number

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

    from crossbandit.evaluate.censored import BidFrequencies
    from crossbandit.logs import AuctionLog, Fault
    from crossbandit.logs.log import Auctions
    from crossbandit.types import Floats


PIECE = 100_000  # auctions in memory at a time, or one group if it has more
_CHUNK = 64  # a chunk is this many vectors of 2,048 auctions
_COLUMNS = {role: "BOOLEAN" if role == "won" else "DOUBLE" for role in COLUMNS}
_RAW, _TIMED, _BY_VALUE = "store.raw", "store.timed", "store.by_value"


class _Class(NamedTuple):
    """The auctions of a class: the rank of the first one, and how many there are."""

    first: int
    auctions: int


class StoredLog:
    """Auctions as in `CensoredLog`, in a temporary folder that is deleted with the object.

    `open_censored` makes one of a large log.

    Args:
        chunks: The auctions, with own bids, results and reserves.
        classes: The levels of the class columns, which grow with the chunks.
        ties: "win" if a bid beats an equal competing bid, otherwise "lose"; None for what equal
            bids of the log have done.

    Attributes:
        ties: "win" or "lose"; or "both", as for `CensoredLog`.
        facts: What is known of the whole log.
        frequencies: How often each bid was made, if propensities were estimated.

    Raises:
        LogError: The log contradicts itself, or auctions are missing from it.
    """

    def __init__(self, chunks: Iterator[Auctions], classes: ClassTable, ties: str | None) -> None:
        self._scratch = ScratchFolder()
        self._table = classes
        self.frequencies: BidFrequencies | None = None
        outcomes = self._store(chunks)
        self.ties = BOTH if outcomes.rounded else ties or outcomes.ties
        self.facts = self._survey(outcomes)
        self._classes = self._sort()

    def __len__(self) -> int:
        return self.facts.auctions

    @contextmanager
    def _connect(self) -> Iterator[duckdb.DuckDBPyConnection]:
        path = self._scratch.folder / "auctions.duckdb"
        with connect("The copy of the log") as connection:
            connection.execute(f"ATTACH {literal(str(path))} AS store")
            yield connection

    def _store(self, chunks: Iterator[Auctions]) -> OutcomeCounts:
        """Copy the auctions, number them in the order of time, and count their outcomes."""
        levels = [f"level_{i}" for i in range(len(self._table.names))]
        columns = {**_COLUMNS, **dict.fromkeys(levels, "INTEGER")}
        types = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        counts = np.zeros(len(OutcomeCounts._fields), dtype=np.int64)
        has_times = False
        with self._connect() as connection:
            connection.execute(f"CREATE TABLE {_RAW} ({types})")
            for chunk in chunks:
                given: dict[str, Any] = {one: getattr(chunk, COLUMNS[one]) for one in _COLUMNS}
                counts += OutcomeCounts.of(
                    given["bid"], given["won"], given["price"], given["reserve"]
                )
                for i, level in enumerate(levels):
                    given[level] = None if chunk.classes is None else chunk.classes[:, i]
                has_times = chunk.times is not None
                connection.register("chunk", pd.DataFrame(given))
                connection.execute(f"INSERT INTO {_RAW} SELECT * FROM chunk")
                connection.unregister("chunk")
            # One thread reads a table in the order in which it was written.
            order = "ORDER BY time, rowid" if has_times else ""
            connection.execute(
                f"CREATE TABLE {_TIMED} AS SELECT row_number() OVER () - 1 AS position, * "
                f"EXCLUDE (time) FROM (SELECT * FROM {_RAW} {order})"
            )
            connection.execute(f"DROP TABLE {_RAW}")
        return OutcomeCounts(*counts.tolist())

    def in_time(self) -> Iterator[LogPiece]:
        """Yield all auctions in the order of time, some at a time."""
        with self._connect() as connection:
            connection.execute(f"SELECT * FROM {_TIMED}")
            while len(frame := connection.fetch_df_chunk(_CHUNK)):
                yield self._piece(frame)

    def _piece(self, frame: pd.DataFrame) -> LogPiece:
        columns = {name: frame[name].to_numpy() for name in _COLUMNS if name in frame}
        chances = columns["propensity"]
        piece = LogPiece(
            columns["value"],
            columns["bid"],
            columns["won"],
            columns["price"].astype(float),
            None if np.isnan(chances.astype(float)).all() else chances,
            {
                name: np.array(self._table.labels(i))[frame[f"level_{i}"].to_numpy()]
                for i, name in enumerate(self._table.names)
            },
            reserve=columns["reserve"],
            ties=self.ties,
        )
        if self.frequencies is None:
            return piece
        return replace(piece, propensities=self.frequencies.propensities(piece))

    def _survey(self, outcomes: OutcomeCounts) -> Facts:
        """Check all auctions, and find the ranges of amounts."""
        first, found = 0, (Range(), Range(), Range())
        for piece in self.in_time():
            piece.check_auctions(first)
            first += len(piece)
            found = tuple(one.joined(new) for one, new in zip(found, ranges(piece), strict=True))  # type: ignore[assignment]
        outcomes.require_both_outcomes()
        with self._connect() as connection:
            apart = distance(outcomes.auctions)
            frame = connection.execute(
                f"SELECT * FROM {_TIMED} WHERE position % {apart} = 0 ORDER BY position"
            ).df()
        return Facts(outcomes, self._piece(frame), *found)

    def _sort(self) -> list[_Class]:
        """Copy the auctions in the order of classes and values; return the classes."""
        levels = ", ".join(f"level_{i}" for i in range(len(self._table.names)))
        least = least_size(self.facts.feedback)
        with self._connect() as connection:
            connection.execute(
                f"CREATE TABLE {_BY_VALUE} AS SELECT row_number() OVER () - 1 AS rank_, * FROM ("
                f"SELECT auctions.*, coalesce(class_, -1) AS class_ FROM {_TIMED} auctions "
                f"LEFT JOIN (SELECT row_number() OVER () AS class_, {levels} FROM (SELECT {levels} "
                f"FROM {_TIMED} GROUP BY ALL HAVING count(*) >= {least})) USING ({levels}) "
                "ORDER BY class_, value, position)"
                if levels
                else f"CREATE TABLE {_BY_VALUE} AS SELECT row_number() OVER () - 1 AS rank_, *, "
                f"0 AS class_ FROM (SELECT * FROM {_TIMED} ORDER BY value, position)"
            )
            rows = connection.execute(
                f"SELECT min(rank_), count(*) FROM {_BY_VALUE} GROUP BY class_ ORDER BY 1"
            ).fetchall()
        return [_Class(*row) for row in rows]

    def with_frequencies(self, frequencies: BidFrequencies) -> StoredLog:
        """Return the same log with propensities.

        Args:
            frequencies: How often each bid was made.
        """
        found = copy.copy(self)
        found.frequencies = frequencies
        sample = self.facts.sample
        chances = frequencies.propensities(sample)
        found.facts = replace(self.facts, sample=replace(sample, propensities=chances))
        return found

    def pieces(self, bands: int | None) -> Iterator[Groups]:
        """Yield all groups, some at a time.

        Args:
            bands: The number of bands of a class; None for as many as the auctions allow.
        """
        with self._connect() as connection:
            starts = [
                start for one in self._classes for start in self._bands(connection, one, bands)
            ]
            ends = np.array([*starts[1:], len(self)])
            first = 0
            while first < len(starts):
                # Take at least one group, and as many as fit.
                last = max(int(np.searchsorted(ends, starts[first] + PIECE, "right")), first + 1)
                yield self._groups(connection, np.array(starts[first:last]), int(ends[last - 1]))
                first = last

    def _bands(
        self, connection: duckdb.DuckDBPyConnection, one: _Class, bands: int | None
    ) -> Iterator[int]:
        """Yield the ranks at which the bands of a class begin."""

        def between(first: int, stop: int) -> Floats:
            query = (
                f"SELECT value FROM {_BY_VALUE} WHERE rank_ >= {one.first + first} AND "
                f"rank_ < {one.first + stop} ORDER BY rank_"
            )
            values: Floats = connection.execute(query).fetchnumpy()["value"]
            return values

        parts = band_count(one.auctions, self.facts.feedback, bands)
        yield one.first
        for edge in band_edges(one.auctions, parts, between):
            # The edge is a value of the class. DuckDB reads only the part that may hold it.
            query = (
                f"SELECT min(rank_) FROM {_BY_VALUE} WHERE rank_ >= {one.first} AND "
                f"rank_ < {one.first + one.auctions} AND value = '{float(edge)!r}'::DOUBLE"
            )
            row = connection.execute(query).fetchall()[0]
            if row[0] > one.first:
                yield int(row[0])

    def _groups(
        self, connection: duckdb.DuckDBPyConnection, starts: np.ndarray, stop: int
    ) -> Groups:
        frame = connection.execute(
            f"SELECT * FROM {_BY_VALUE} WHERE rank_ >= {starts[0]} AND rank_ < {stop} "
            "ORDER BY position"
        ).df()
        labels = np.searchsorted(starts, frame["rank_"].to_numpy(), "right") - 1
        positions = frame["position"].to_numpy()
        return Groups(self._piece(frame), labels, self.facts, positions)


IN_MEMORY = 2_000_000  # the most auctions that are read into memory
_ROWS = 1 << 16
_Log_co = TypeVar("_Log_co", covariant=True)


class ReadLog(NamedTuple, Generic[_Log_co]):
    """A censored log, and what was noticed while it was read.

    Attributes:
        log: The auctions.
        bad: How many lines were left out.
        faults: The first of them.
        notes: What is odd about the lines.
    """

    log: _Log_co
    bad: int
    faults: tuple[Fault, ...]
    notes: tuple[str, ...]


def read_censored(
    log: AuctionLog, *, reserve: float = 0.0, ties: str | None = None
) -> ReadLog[CensoredLog]:
    """Read a log as a bidder has it, all of it into memory.

    With a column of times, the auctions are sorted by it. Without a column that says who won,
    all prices must be known.

    Args:
        log: Files or a data frame, with a column of own bids. If some prices are not known, it also
            needs a column that says who won.
        reserve: The lowest bid that can win.
        ties: "win" if a bid beats an equal competing bid, otherwise "lose"; None for what the
            format of the log says, or else what equal bids of the log have done, or else "win".

    Returns:
        The auctions, and what was left out.

    Raises:
        LogError: The log cannot be read, has too many bad lines, or contradicts itself.
    """
    read = open_censored(log, reserve=reserve, ties=ties, in_memory=sys.maxsize)
    return cast("ReadLog[CensoredLog]", read)


def open_censored(
    log: AuctionLog,
    *,
    reserve: float = 0.0,
    ties: str | None = None,
    in_memory: int = IN_MEMORY,
) -> ReadLog[CensoredLog | StoredLog]:
    """Read a log into memory, or a large one into a temporary folder. Results are the same.

    Args:
        log: As for `read_censored`.
        reserve: The lowest bid that can win.
        ties: As for `read_censored`.
        in_memory: How many auctions are read into memory at most.

    Returns:
        The auctions, and what was left out.

    Raises:
        LogError: The log cannot be read, has too many bad lines, or contradicts itself.
    """
    if "bid" not in log.places:
        raise LogError(
            f"Which column of {log.source.name} holds your own bids? An evaluation needs them: "
            "name it with --bid-column (columns={'bid': ...} in Python)."
        )
    survey = survey_log(log)
    check_survey(log, survey, all_prices=False)
    given = ties or log.ties
    table = ClassTable([*log.class_places])
    found: CensoredLog | StoredLog
    if survey.auctions <= in_memory:
        found = _in_memory(_judged(log.read(table), reserve, given), table, given)
    else:
        chunks = (_judged(one, reserve, given) for one in log.chunks(_ROWS, table))
        found = StoredLog(chunks, table, given)
    notes = [log.description, *log.remarks, *find_repeats(log, survey)]
    if given is None and found.ties == "lose":
        notes.append("All bids that equal the price have lost, so equal bids are taken to lose.")
    if "time" not in log.places and (back := steps_back_in_time(log)).steps:
        notes.append(
            f"Column {back.column} goes back in time {back.steps:,} times. Intervals take the "
            "order of the lines for that of time: name the column with --time-column."
        )
    return ReadLog(found, survey.bad, survey.faults, tuple(notes))


def _in_memory(auctions: Auctions, table: ClassTable, ties: str | None) -> CensoredLog:
    if auctions.times is not None:
        auctions = auctions.in_order(np.argsort(auctions.times, kind="stable"))
    classes = {
        name: np.array(table.labels(i))[auctions.classes[:, i]]
        for i, name in enumerate(table.names)
        if auctions.classes is not None
    }
    bids, won, reserves = map(np.asarray, (auctions.bids, auctions.won, auctions.reserves))
    counts = OutcomeCounts.of(bids, won, auctions.prices, reserves)
    return CensoredLog(
        auctions.values,
        bids,
        won,
        auctions.prices,
        auctions.propensities,
        classes,
        reserve=reserves,
        ties=ties or counts.ties,
    )


def _judged(auctions: Auctions, reserve: float, ties: str | None) -> Auctions:
    """Return the auctions with a reserve for each, and with who won if the log does not say it."""
    bids = np.asarray(auctions.bids, dtype=float)
    reserves = np.full(bids.size, number("read_censored", "reserve", reserve, at_least=0))
    if auctions.reserves is not None:
        reserves = np.maximum(reserves, auctions.reserves)
    won = auctions.won
    if won is None:
        beats = bids > auctions.prices if ties == "lose" else bids >= auctions.prices
        won = beats & (bids >= reserves) & (bids > 0)
    return auctions._replace(bids=bids, reserves=reserves, won=won)
