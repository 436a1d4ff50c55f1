"""Make sorted and joined copies of logs: Parquet files in a temporary folder, made by DuckDB.

Each row of a copy has the file and the row that it comes from, so that messages can say where a bad
line is. Sorting and joining need little memory: DuckDB uses the disk.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crossbandit.logs.columns import time_sql
from crossbandit.logs.database import TABLES, Scratch, identifier, literal
from crossbandit.logs.layout import Layout, LogFile
from crossbandit.logs.source import BROKEN, FILE, ROW, Source, rejected_records

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import duckdb

NO_KEY = "no time or number to sort by"
ROWS = "stage.lines"  # the table of the lines that were read


class Stage:
    """A DuckDB connection that has read the lines of a source into the table `ROWS`.

    The columns are texts with the names that `places` gives, and `broken`, `file_` and `row_`.
    """

    def __init__(
        self, source: Source, connection: duckdb.DuckDBPyConnection, scratch: Scratch
    ) -> None:
        self.source = source
        self.connection = connection
        self.scratch = scratch
        self.rejected: dict[tuple[str, int], str] = {}

    def fetch(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return self.connection.execute(query).fetchall()

    def load(self, places: Mapping[str, int]) -> None:
        """Read columns of all files, in order."""
        names = ", ".join(f"{identifier(name)} VARCHAR" for name in [*places, "broken"])
        self.connection.execute(f"CREATE TABLE {ROWS} ({names}, {FILE} BIGINT, {ROW} BIGINT)")
        texts = ", ".join(f"{identifier(name)}::VARCHAR" for name in [*places, "broken"])
        for number, file in enumerate(self.source.files):
            rows = self.source.part(file).select(places)
            place = f"{number}, {ROW if file.layout.seats else 'row_number() OVER ()'}"
            if self.source.origin is not None:
                place = f"{FILE}, {ROW}"
            insert = f"INSERT INTO {ROWS} SELECT {texts}, {place} FROM ({rows})"
            self.source.memory.fetch(self.connection, insert)
        self.rejected = rejected_records(self.source, self.connection)

    def write(self, query: str, names: Sequence[str]) -> Source:
        """Write the rows of a query, and return them as a source.

        Args:
            query: SQL for columns c1, c2, ..., `broken_`, `file_` and `row_`, in order.
            names: What messages call the columns.

        Returns:
            The copy.
        """
        path = self.scratch.folder / "log.parquet"
        self.connection.execute(f"COPY ({query}) TO {literal(str(path))} (FORMAT parquet)")
        layout = Layout("copy", tuple(names), len(names))
        return replace(
            self.source,
            files=(LogFile(path, layout),),
            keys=(),
            frame=None,
            scratch=self.scratch,
            origin=self.source.origin or replace(self.source, frame=None),
            rejected=self.rejected,
        )


@contextmanager
def open_stage(source: Source, timezone: str) -> Iterator[Stage]:
    """Yield a stage for a source. Its tables are removed afterwards, but not its copies."""
    scratch = Scratch()
    database = scratch.folder / "lines.duckdb"
    with source.connect(timezone, TABLES) as connection:
        connection.execute(f"ATTACH {literal(str(database))} AS stage")
        yield Stage(source, connection, scratch)
    for path in (database, Path(f"{database}.wal")):
        path.unlink(missing_ok=True)


def sorted_copy(
    source: Source, places: Sequence[int], *, by: int | None, sort: int | None, timezone: str
) -> Source:
    """Return a copy of some columns, with the rows in another order.

    Args:
        source: What is copied.
        places: The columns.
        by: A column by whose text the rows are sorted first.
        sort: A column of times or numbers by which they are then sorted. A line without a time or
            number is bad.
        timezone: The zone of times without an offset.

    Returns:
        The copy. Rows that are equal stay in their order.
    """
    columns = {f"c{i}": place for i, place in enumerate(places, 1)}
    names = [source.columns.shown(place) for place in places]
    order, broken = [FILE, ROW], "broken"
    if sort is not None:
        moment = time_sql(f"c{places.index(sort) + 1}")
        order.insert(0, moment)
        broken = f"CASE WHEN broken IS NULL AND {moment} IS NULL THEN '{NO_KEY}' ELSE broken END"
    if by is not None:
        order.insert(0, f"coalesce(c{places.index(by) + 1}, '')")
    with open_stage(source, timezone) as stage:
        stage.load(columns)
        kept = ", ".join([*columns, f"{broken} AS {BROKEN}", FILE, ROW])
        return stage.write(f"SELECT {kept} FROM {ROWS} ORDER BY {', '.join(order)}", names)
