"""The files of a log, or a data frame, and the SQL with which DuckDB reads some of its columns.

If a column that is read is not UTF-8 in some line, DuckDB rejects that line and counts it. It does
not check columns that are not read.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

from crossbandit.errors import LogError
from crossbandit.logs.columns import Columns, plain
from crossbandit.logs.database import TABLES, TEXT, Memory, connect, identifier, literal
from crossbandit.logs.formats import NO_BID, SEATS
from crossbandit.logs.layout import WHITE_SPACE, LogFile, partition_options, read_parquet

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import duckdb

    from crossbandit.logs.database import Scratch
    from crossbandit.logs.layout import Layout

MORE_COLUMNS = "more columns than the first line has"
NO_OBJECT = "no JSON object"
NOT_UTF8 = "not text in UTF-8"
_MOST_REJECTS = 1_000_000
_LONGEST = 2_000_000  # the largest number of bytes of a line
TOO_LONG = f"more than {_LONGEST:,} bytes"
_NO_NULL = "\x02"  # an empty field must differ from a missing one, so no text is read as NULL
_NONE = "NULL::VARCHAR"
FRAME = "log"  # the name of a data frame in SQL
# Columns of a copy: what was wrong with the line, and the file and the row that it was in.
BROKEN, FILE, ROW = "broken_", "file_", "row_"
ROWS_OF_A_FILE = 2**40  # more than any file has
PLACE = f"{FILE} * {ROWS_OF_A_FILE} + {ROW}"  # the file and the row as one number


@dataclass(frozen=True, eq=False)
class Source:
    """Files with columns, or a data frame.

    Attributes:
        name: What messages call it.
        files: The files, in the order in which they are read. A data frame is one "file".
        keys: Names of folders that are columns, as in `day=5`.
        frame: The data frame, in a form that DuckDB reads.
        lenient: Whether a file may lack columns that others have.
        scratch: A folder that must stay while the source is used.
        only: The name of a column and its value; other rows are left out.
        origin: What this is a copy of. The columns of a copy are called c1, c2, ... in SQL.
        rejected: The records that DuckDB rejected when the copy was made.
        memory: How much memory DuckDB may use to read it.
    """

    name: str
    files: tuple[LogFile, ...]
    keys: tuple[str, ...] = ()
    frame: Any = field(default=None, repr=False)
    lenient: bool = False
    scratch: Scratch | None = field(default=None, repr=False)
    only: tuple[str, str] | None = None
    origin: Source | None = field(default=None, repr=False)
    rejected: dict[tuple[str, int], str] = field(default_factory=dict, repr=False)
    memory: Memory = field(init=False, repr=False)

    def __post_init__(self) -> None:
        text = all(file.layout.is_text for file in self.files)
        object.__setattr__(self, "memory", Memory(TEXT if text else TABLES))

    @cached_property
    def columns(self) -> Columns:
        """The columns of all files."""
        widest = max(self.files, key=lambda file: file.layout.width).layout
        if not all(file.layout.names for file in self.files):
            self._check_without_header()
            return Columns(self.name, (), widest.width)
        names = list(self.files[0].layout.names)
        known = set(plain(names))
        for file in self.files[1:]:
            new = [name for name in file.layout.names if plain([name])[0] not in known]
            names += new
            known.update(plain(new))
        names += [key for key in self.keys if plain([key])[0] not in known]
        return Columns(self.name, tuple(names), len(names))

    def _check_without_header(self) -> None:
        first = self.files[0]
        for file in self.files[1:]:
            if file.layout.names or first.layout.names:
                other, one = (file, first) if first.layout.names else (first, file)
                raise LogError(f"{other.path} has no header, but {one.path} has one.")
            if file.layout.width != first.layout.width:
                raise LogError(
                    f"{file.path} has {file.layout.width} columns, but {first.path} has "
                    f"{first.layout.width}. All files of a log must have the same columns."
                )

    @contextmanager
    def connect(
        self, timezone: str = "UTC", megabytes: int = 0
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open a DuckDB connection that can read this source, with at least this much memory."""
        megabytes = max(self.memory.megabytes, megabytes)
        with connect(self.name, timezone, megabytes) as connection:
            if self.frame is not None:
                connection.register(FRAME, self.frame)
            yield connection

    def part(self, file: LogFile) -> Source:
        """Return a source that has one of the files, and the same columns."""
        one = replace(self, files=(file,))
        one.__dict__["columns"] = self.columns
        return one

    def select(self, places: Mapping[str, int]) -> str:
        """Return SQL that reads columns under the names of their roles, one row per line, in order.

        The column `broken` says what is wrong with a line as a whole; NULL if nothing is. In a line
        of a CSV file, one empty field at the end, after a trailing separator, is allowed.
        """
        groups = groupby(self.files, key=lambda file: file.layout)
        return " UNION ALL ".join(
            self._select(layout, [file.path for file in files], places) for layout, files in groups
        )

    def _select(self, layout: Layout, paths: list[Path], places: Mapping[str, int]) -> str:
        names = {role: self._name(layout, paths[0], place) for role, place in places.items()}
        wanted = [name for name in names.values() if isinstance(name, str)]
        fields, table, broken = self._table(layout, paths, wanted)
        columns = [
            f"{_NONE if name is None else fields.get(name, identifier(str(name)))} AS {role}"
            for role, name in names.items()
        ]
        columns.append(f"{broken} AS broken")
        if layout.kind == "copy":
            columns += [FILE, ROW]
        if layout.seats:
            columns.append(ROW)
        return f"SELECT {', '.join(columns)} FROM {table}{self._where()}"

    def _name(self, layout: Layout, path: Path, place: int) -> str | int | None:
        """Return the name of a column in one layout, or its index; None if it is not there."""
        names = self.columns.names
        alike = place < layout.width and names[: layout.width] == layout.names
        if not names or (alike and layout.kind != "jsonl"):
            return place
        own = dict(zip(plain(layout.names), layout.names, strict=True))
        found = names[place] if names[place] in layout.names else own.get(plain([names[place]])[0])
        if found is None and (names[place] in self.keys or layout.kind == "jsonl"):
            return names[place]
        if found is None and not self.lenient:
            raise LogError(
                f"{path} has no column {names[place]!r}, which other files have. All files of a "
                "log must have the columns that are read."
            )
        return found

    def _where(self) -> str:
        if self.only is None:
            return ""
        column, level = self.only
        place = self.columns.names.index(column) + 1
        return f" WHERE coalesce(c{place}, '') = {literal(level)}"

    def _table(
        self, layout: Layout, paths: list[Path], wanted: list[str]
    ) -> tuple[dict[str | int, str], str, str]:
        """Return SQL for columns by name and index, for rows, and for what is wrong with one."""
        numbers = range(1, layout.width + 1)
        match layout.kind:
            case "frame":
                fields, broken = [f"c{i}" for i in numbers], _NONE
                table = f"{FRAME} AS t({', '.join(fields)})"
            case "copy":
                fields, broken = [f"c{i}" for i in numbers], BROKEN
                table = read_parquet(paths)
            case "parquet":
                fields = [*map(identifier, layout.names)]
                table = read_parquet(paths, partitioned=bool(self.keys))
                broken = _NONE
            case "jsonl":
                return self._json_table(layout, paths, wanted)
            case "lines":
                fields, table, broken = ["c1"], self._lines(layout, paths), _NONE
            case _ if layout.separator == WHITE_SPACE:
                fields = [f"f[{i}]" for i in numbers]
                table = (
                    r"(SELECT *, regexp_split_to_array(trim(c1, ' ' || chr(9)), '\s+') AS f "
                    f"FROM {self._lines(layout, paths)} WHERE c1 IS NOT NULL)"
                )
                broken = f"CASE WHEN len(f) > {layout.width} THEN '{MORE_COLUMNS}' END"
            case _:
                last, beyond = f"c{layout.width + 1}", f"c{layout.width + 2}"
                fields = [f"nullif(c{i}, '')" for i in numbers]
                table = self._read_csv(layout, paths, layout.width + 2, quote='"', null=_NO_NULL)
                extra = f"coalesce({last}, '') <> '' OR {beyond} IS NOT NULL"
                broken = f"CASE WHEN {extra} THEN '{MORE_COLUMNS}' END"
        by_index: dict[str | int, str] = dict(enumerate(fields))
        return by_index | dict(zip(layout.names, fields, strict=False)), table, broken

    def _json_table(
        self, layout: Layout, paths: list[Path], wanted: list[str]
    ) -> tuple[dict[str | int, str], str, str]:
        """Return SQL for fields of JSON objects; a line is parsed once for all of them."""
        names = [name for name in wanted if name not in self.keys]
        fields = ", ".join(literal(_path(name)) for name in names)
        lines = f"{self._lines(layout, paths)} WHERE c1 IS NOT NULL"
        if layout.seats:
            lines = f"({_bid_rows(lines)})"
        table = (
            "(SELECT *, CASE WHEN json_valid(c1) AND json_type(c1) = 'OBJECT' "
            f"THEN json_extract_string(c1, [{fields}]::VARCHAR[]) END AS f FROM {lines})"
        )
        found: dict[str | int, str] = {name: f"f[{i}]" for i, name in enumerate(names, 1)}
        return found, table, f"CASE WHEN f IS NULL THEN '{NO_OBJECT}' END"

    def _lines(self, layout: Layout, paths: list[Path]) -> str:
        return self._read_csv(layout, paths, 1, quote="", null="")

    def _read_csv(
        self, layout: Layout, paths: list[Path], columns: int, *, quote: str, null: str
    ) -> str:
        # Only the single-threaded reader keeps short lines as well as quoted line ends. Lines that
        # are not text go to the table `reject_errors`.
        types = ", ".join(f"'c{i + 1}': 'VARCHAR'" for i in range(columns))
        files = ", ".join(literal(str(path)) for path in paths)
        return (
            f"read_csv([{files}], columns = {{{types}}}, "
            f"delim = {literal(layout.separator)}, quote = '{quote}', escape = '{quote}', "
            f"nullstr = {literal(null)}, skip = {layout.skipped}, header = false, "
            "auto_detect = false, parallel = false, null_padding = true, strict_mode = false, "
            f"max_line_size = {_LONGEST}, buffer_size = {2 * _LONGEST}, "
            f"ignore_errors = true, store_rejects = true, rejects_limit = {_MOST_REJECTS}, "
            f"compression = '{'gzip' if layout.compressed else 'none'}', "
            f"{partition_options(partitioned=bool(self.keys))})"
        )


def _bid_rows(lines: str) -> str:
    """Return SQL for lines in which each bid of a bid response is a row, with its line's number.

    Args:
        lines: SQL for lines of JSON.
    """
    numbered = f"SELECT c1, row_number() OVER () AS {ROW} FROM {lines}"
    is_list = f"json_valid(c1) AND coalesce(json_type(c1, '$.{SEATS}') = 'ARRAY', false)"
    bids = f"json_extract(c1, '$.{SEATS}[*].bid[*]')"
    one = f"json_merge_patch(c1, json_object('{SEATS}', bid))::VARCHAR"
    found = (
        f"CASE WHEN NOT ({is_list}) THEN [NULL::JSON] WHEN len({bids}) > 0 THEN {bids} "
        f"ELSE [json_object('{NO_BID}', 1)] END"
    )
    return (
        f"SELECT CASE WHEN bid IS NULL THEN c1 ELSE {one} END AS c1, {ROW} FROM "
        f"(SELECT c1, {ROW}, unnest({found}) AS bid FROM ({numbered}))"
    )


def rejected_records(
    source: Source, connection: duckdb.DuckDBPyConnection
) -> dict[tuple[str, int], str]:
    """Return the records that DuckDB rejected in the last reading: file, number and reason."""
    if not any(file.layout.is_text for file in source.files):
        return source.rejected
    rows = connection.execute(
        "SELECT file_path, line, bool_or(error_type = 'LINE SIZE OVER MAXIMUM') "
        "FROM reject_errors JOIN reject_scans USING (scan_id, file_id) "
        "GROUP BY file_path, line ORDER BY file_path, line"
    ).fetchall()
    return {(path, line): TOO_LONG if too_long else NOT_UTF8 for path, line, too_long in rows}


def _path(name: str) -> str:
    """Return the JSON path of a field.

    >>> _path("ext.deal")
    '$."ext"."deal"'
    """
    return "$" + "".join(f'."{part}"' for part in name.split("."))
