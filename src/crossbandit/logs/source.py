"""Recognise the format of a log, and write the SQL with which DuckDB reads some of its columns.

The format is taken from the content of the file, not from its name. DuckDB sets aside lines in
which a column that is read is not UTF-8, and counts them. It does not look at other columns.
"""

from __future__ import annotations

import csv
import gzip
import os
import tempfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd

from crossbandit.errors import LogError
from crossbandit.logs.columns import Columns, is_header, is_number
from crossbandit.validation import reject

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SAMPLE_BYTES = 1 << 16
_MOST_REJECTS = 1_000_000
_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"
_SEPARATORS = ",\t;|"
WHITE_SPACE = "\x01"  # stands for white space: each line is read as one field and split later
_NO_NULL = "\x02"  # an empty field must differ from a missing one, so no text is read as NULL
_FRAME = "log"  # the name of a DataFrame in SQL


@dataclass(frozen=True)
class Source:
    """A file with columns, or a DataFrame."""

    path: Path  # for a DataFrame, what messages call it
    columns: Columns
    separator: str = ""  # of a text file; empty for Parquet
    skipped: int = 0  # number of lines up to and including the header
    compressed: bool = False
    frame: pd.DataFrame | None = None

    @property
    def is_text(self) -> bool:
        """Whether the file has lines."""
        return bool(self.separator)

    @contextmanager
    def connect(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open a DuckDB connection that can read this source."""
        with connect(self.path) as connection:
            if self.frame is not None:
                connection.register(_FRAME, self.frame)
            yield connection

    def select(self, places: Mapping[str, int]) -> str:
        """Return SQL that reads columns under the names of their roles, one row per line, in order.

        The column `extra` says whether a line has more fields than the first line. One empty field
        at the end, after a trailing separator, is allowed.
        """
        width = self.columns.width
        numbers = range(1, width + 1)
        names, extra = [f"c{i}" for i in numbers], "false"
        if self.frame is not None:
            table = _FRAME
        elif not self.is_text:
            names, table = [*map(_identifier, self.columns.names)], read_parquet(self.path)
        elif self.separator == WHITE_SPACE:
            names, extra = [f"f[{i}]" for i in numbers], f"len(f) > {width}"
            table = (
                r"(SELECT regexp_split_to_array(trim(c1, ' ' || chr(9)), '\s+') AS f "
                f"FROM {self._read_csv(1, quote='', null='')} WHERE c1 IS NOT NULL)"
            )
        else:
            names = [f"nullif({name}, '')" for name in names]
            extra = f"coalesce(c{width + 1}, '') <> '' OR c{width + 2} IS NOT NULL"
            table = self._read_csv(width + 2, quote='"', null=_NO_NULL)
        columns = [f"{names[place]} AS {role}" for role, place in places.items()]
        return f"SELECT {', '.join(columns)}, {extra} AS extra FROM {table}"

    def _read_csv(self, columns: int, *, quote: str, null: str) -> str:
        # Only the single-threaded reader keeps short lines as well as quoted line ends. Lines that
        # are not text go to the table `reject_errors`.
        types = ", ".join(f"'c{i + 1}': 'VARCHAR'" for i in range(columns))
        return (
            f"read_csv({literal(str(self.path))}, columns = {{{types}}}, "
            f"delim = {literal(self.separator)}, quote = '{quote}', escape = '{quote}', "
            f"nullstr = {literal(null)}, skip = {self.skipped}, header = false, "
            "auto_detect = false, parallel = false, null_padding = true, strict_mode = false, "
            f"ignore_errors = true, store_rejects = true, rejects_limit = {_MOST_REJECTS}, "
            f"hive_partitioning = false, compression = '{'gzip' if self.compressed else 'none'}')"
        )


def recognize(log: str | os.PathLike[str] | pd.DataFrame) -> Source:
    """Return what a file or a DataFrame holds; raise LogError if it cannot be a log."""
    if isinstance(log, pd.DataFrame):
        return _data_frame(log)
    if not isinstance(log, str | os.PathLike):
        reject("AuctionLog", "data", "the path of a CSV or Parquet file, or a DataFrame", log)
    path = Path(log)
    if set("*?[") & set(str(path)):
        raise LogError(f"The path of a log may not contain any of * ? [. Rename {str(path)!r}.")
    if not path.exists():
        raise LogError(f"There is no log {str(path)!r}.")
    if not path.is_file():
        raise LogError(f"{str(path)!r} is not a file. Give a CSV or a Parquet file.")
    with path.open("rb") as file:
        head = file.read(len(_PARQUET))
    if head == _PARQUET:
        return _parquet(path)
    return _text(path, compressed=head.startswith(_GZIP))


def _data_frame(frame: pd.DataFrame) -> Source:
    names = tuple(map(str, frame.columns))
    numbered = frame.set_axis([f"c{i + 1}" for i in range(len(names))], axis=1)
    path = Path("the DataFrame")
    return Source(path, Columns(str(path), names, len(names)), frame=numbered)


def _parquet(path: Path) -> Source:
    with connect(path) as connection:
        rows = connection.execute(f"DESCRIBE SELECT * FROM {read_parquet(path)}").fetchall()
    return Source(path, Columns(str(path), tuple(row[0] for row in rows), len(rows)))


def _text(path: Path, *, compressed: bool) -> Source:
    sample = _intact_sample(path) if compressed else _sample(path)
    if b"\0" in sample:
        raise LogError(f"{path} is neither text nor Parquet. Give a CSV or a Parquet file.")
    lines = sample.decode("utf-8-sig", errors="replace").splitlines()
    first = next((i for i, line in enumerate(lines) if line.strip()), None)
    if first is None:
        raise LogError(f"{path} is empty. A log has one auction per line.")
    separator, fields = _split(lines[first].strip(" "))
    header = is_header(fields)
    columns = Columns(str(path), tuple(fields) if header else (), len(fields))
    return Source(path, columns, separator, first + header, compressed)


def _sample(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_SAMPLE_BYTES)


def _intact_sample(path: Path) -> bytes:
    """Return the beginning of a gzip file whose checksum is right: DuckDB does not check it."""
    try:
        with gzip.open(path, "rb") as file:
            sample = file.read(_SAMPLE_BYTES)
            while file.read(1 << 20):
                pass
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise LogError(f"{path} is a damaged gzip file: {first_line(error)}.") from error
    return sample


def _split(line: str) -> tuple[str, list[str]]:
    """Return the separator of the columns, and the fields of a line."""
    separator = max(_SEPARATORS, key=line.count)
    words = line.split()
    if separator not in line or (" " in line and all(map(is_number, words))):
        return WHITE_SPACE, words
    return separator, next(csv.reader([line], delimiter=separator))


@contextmanager
def connect(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a DuckDB connection to read a log; an error of DuckDB becomes a LogError.

    One thread keeps the rows in order. DuckDB caches what it has read in memory, up to the limit,
    and writes the rest to a temporary folder that is removed afterwards.
    """
    try:
        with tempfile.TemporaryDirectory(
            prefix="crossbandit-", ignore_cleanup_errors=True
        ) as spill:
            config: dict[str, Any] = {
                "threads": 1,
                "memory_limit": "128MB",
                "temp_directory": spill,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            }
            with duckdb.connect(config=config) as connection:
                connection.execute("SET enable_progress_bar = false")
                yield connection
    except duckdb.InterruptException:  # DuckDB has noticed Ctrl-C before Python
        raise KeyboardInterrupt from None
    except RuntimeError as error:  # it does so with this one, too, while a result is fetched
        if "interrupted" not in str(error).lower():
            raise
        raise KeyboardInterrupt from None
    except duckdb.Error as error:
        raise LogError(f"{path} cannot be read: {first_line(error)}.") from error


def first_line(error: Exception) -> str:
    """Return the first line of the message of another library's error."""
    return (str(error) or type(error).__name__).splitlines()[0].rstrip(".")


def read_parquet(path: Path) -> str:
    """Return SQL for a Parquet file; the names of its folders must not become columns."""
    return f"read_parquet({literal(str(path))}, hive_partitioning = false)"


def literal(text: str) -> str:
    """Return text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
