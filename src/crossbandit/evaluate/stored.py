"""A censored log on disk: its groups are read one after another, in bounded memory."""

from __future__ import annotations

import copy
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.evaluate.facts import Facts, Range, distance, ranges
from crossbandit.evaluate.groups import Groups, band_count, band_edges, least_size
from crossbandit.evaluate.log import BOTH, LogPiece
from crossbandit.logs.auctions import OutcomeCounts
from crossbandit.logs.database import Scratch, connect, literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb
    import pandas as pd

    from crossbandit.evaluate.facts import BidFrequencies
    from crossbandit.logs.auctions import Auctions, ClassTable
    from crossbandit.types import Floats

PIECE = 100_000  # auctions in memory at a time, or one group if it has more
_CHUNK = 64  # a chunk is this many vectors of 2,048 auctions
_COLUMNS = {
    "value": "DOUBLE",
    "bid": "DOUBLE",
    "won": "BOOLEAN",
    "price": "DOUBLE",
    "reserve": "DOUBLE",
    "propensity": "DOUBLE",
    "time": "DOUBLE",
}
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
        self._scratch = Scratch()
        self._table = classes
        self.frequencies: BidFrequencies | None = None
        self.ties = self._store(chunks, ties)
        self.facts = self._survey()
        self._classes = self._sort()

    def __len__(self) -> int:
        return self.facts.auctions

    @contextmanager
    def _connect(self) -> Iterator[duckdb.DuckDBPyConnection]:
        path = self._scratch.folder / "auctions.duckdb"
        with connect("The copy of the log") as connection:
            connection.execute(f"ATTACH {literal(str(path))} AS store")
            yield connection

    def _store(self, chunks: Iterator[Auctions], ties: str | None) -> str:
        """Copy the auctions, number them in the order of time, and return what equal bids do."""
        import pandas as pd

        levels = [f"level_{i}" for i in range(len(self._table.names))]
        columns = {**_COLUMNS, **dict.fromkeys(levels, "INTEGER")}
        types = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        has_times = False
        with self._connect() as connection:
            connection.execute(f"CREATE TABLE {_RAW} ({types})")
            for chunk in chunks:
                given: dict[str, Any] = {
                    "value": chunk.values,
                    "bid": chunk.bids,
                    "won": chunk.won,
                    "price": chunk.prices,
                    "reserve": chunk.reserves,
                    "propensity": chunk.propensities,
                    "time": chunk.times,
                }
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
            won, wins, losses = connection.execute(
                "SELECT count(*) FILTER (won AND price >= 0), count(*) FILTER (won AND equal), "
                "count(*) FILTER (NOT won AND equal) "
                "FROM (SELECT won, price, bid > 0 AND bid >= reserve AND bid = price AS equal "
                f"FROM {_TIMED})"
            ).fetchall()[0]
        counts = OutcomeCounts(0, 0, 0, won, 0, 0, wins, losses)
        return BOTH if counts.rounded else ties or counts.ties

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

    def _survey(self) -> Facts:
        """Check all auctions, count, and find the ranges of amounts."""
        counts = np.zeros(len(OutcomeCounts._fields), dtype=np.int64)
        found = (Range(), Range(), Range())
        for piece in self.in_time():
            piece.check_auctions(int(counts[0]))
            counts += piece.outcomes
            found = tuple(one.joined(new) for one, new in zip(found, ranges(piece), strict=True))  # type: ignore[assignment]
        outcomes = OutcomeCounts(*counts.tolist())
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
        found.facts = copy.copy(self.facts)
        found.facts.sample = replace(sample, propensities=frequencies.propensities(sample))
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
        return Groups(self._piece(frame), labels, facts=self.facts, positions=positions)
