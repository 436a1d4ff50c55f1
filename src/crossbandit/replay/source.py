"""What kind of file a log is, which columns it has, and the SQL by which DuckDB reads some of them.

The kind is taken from the file itself, not from its name. DuckDB sets aside lines in which one of
those columns is not UTF-8, and counts them; whatever the other columns hold, it does not look.
"""

from __future__ import annotations

import csv
import gzip
import os
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd

from crossbandit.errors import LogError
from crossbandit.validation import reject

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

_SAMPLE_BYTES = 1 << 16
_MOST_REJECTS = 1_000_000
_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"
_SEPARATORS = ",\t;|"
WHITE_SPACE = "\x01"  # stands for it: the line is read whole and split afterwards

# What a column may be needed for, and how to call what stands in it.
ROLES = {
    "value": "value",
    "price": "highest competing bid",
    "bid": "own bid",
    "reserve": "reserve",
}

# By these names the columns are found if none is given, the first that is there. A column called
# `price` is not among them: mostly it holds what was paid.
NAMES = {
    "value": ("value", "valuation", "private_value", "bid_value", "impression_value"),
    "price": (
        "highest_competing_bid",
        "competing_bid",
        "highest_other_bid",
        "minimum_bid_to_win",
        "min_bid_to_win",
        "market_price",
    ),
}
_NOT_PAID = {
    "value": "",
    "price": " It is the highest bid of the others, also where you won; not what you bid or paid.",
}
_FRAME = "log"  # what a DataFrame is called in SQL


@dataclass(frozen=True)
class Source:
    """A file with columns, or a DataFrame."""

    path: Path  # of a DataFrame, how to call it
    names: tuple[str, ...]  # of the columns; empty if the file has no header
    width: int  # the number of columns
    separator: str = ""  # of text; empty for Parquet
    skipped: int = 0  # lines up to and with the header
    compressed: bool = False
    frame: pd.DataFrame | None = None

    @property
    def is_text(self) -> bool:
        """Whether the file has lines."""
        return bool(self.separator)

    def column(self, wanted: str | int | None, role: str) -> int:
        """Return the place of a column, from 0: by its name, by its number from 1, or guessed."""
        if wanted is None:
            return self._guess(role)
        if wanted in self.names:
            return self._only(str(wanted), self.names)
        text = str(wanted)
        if text.isascii() and text.isdigit() and 1 <= int(text) <= self.width:
            return int(text) - 1
        near = get_close_matches(text, self.names, n=3)
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise LogError(f"{self.path} has no column {text!r}.{hint} {self._columns()}")

    def _guess(self, role: str) -> int:
        plain = _plain(self.names)
        for name in NAMES[role]:
            if name in plain:
                return self._only(name, plain)
        raise LogError(
            f"Which column of {self.path} holds the {ROLES[role]}? Name it with --{role}-column "
            f"({role}_column=... in Python).{_NOT_PAID[role]} {self._columns()}"
        )

    def _only(self, name: str, names: Sequence[str]) -> int:
        """Return the place of a name that no other column has."""
        places = [str(i) for i, one in enumerate(names, 1) if one == name]
        if len(places) > 1:
            raise LogError(
                f"{self.path} has more than one column {name!r}. Name the one you mean by its "
                f"number: {' or '.join(places)}."
            )
        return names.index(name)

    def place_of(self, name: str) -> int | None:
        """Return the place of the first column of this name, case aside; None if there is none."""
        plain = _plain(self.names)
        return plain.index(name) if name in plain else None

    def _columns(self) -> str:
        if self.names:
            return f"The columns are: {', '.join(map(repr, self.names))}."
        return f"The file has no header; its columns are numbered from 1 to {self.width}."

    def label(self, place: int) -> str:
        """Return how to call a column in a sentence."""
        return repr(self.names[place]) if self.names else f"number {place + 1}"

    def connected(self) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        """Open DuckDB to read this source."""
        return connected(self.path, self.frame)

    def select(self, places: Mapping[str, int]) -> str:
        """Return SQL for columns by their roles, and for `extra`, one row per line, in order."""
        numbers = range(1, self.width + 1)
        names, extra = [f"c{i}" for i in numbers], "false"
        if self.frame is not None:
            table = _FRAME
        elif not self.is_text:
            names, table = (
                [*map(_identifier, self.names)],
                f"read_parquet({literal(str(self.path))})",
            )
        elif self.separator == WHITE_SPACE:
            names, extra = [f"f[{i}]" for i in numbers], f"len(f) > {self.width}"
            table = (
                r"(SELECT regexp_split_to_array(trim(c1, ' ' || chr(9)), '\s+') AS f "
                f"FROM {self._read_csv(1, quote='')} WHERE c1 IS NOT NULL)"
            )
        else:
            extra = f"c{self.width + 1} IS NOT NULL"
            table = self._read_csv(self.width + 1, quote='"')
        columns = [f"{names[place]} AS {role}" for role, place in places.items()]
        return f"SELECT {', '.join(columns)}, {extra} AS extra FROM {table}"

    def _read_csv(self, columns: int, *, quote: str) -> str:
        # Only the reader of one thread keeps short lines as well as quoted line ends. What cannot
        # be text at all goes to the table `reject_errors`.
        types = ", ".join(f"'c{i + 1}': 'VARCHAR'" for i in range(columns))
        return (
            f"read_csv({literal(str(self.path))}, columns = {{{types}}}, "
            f"delim = {literal(self.separator)}, quote = '{quote}', escape = '{quote}', "
            f"skip = {self.skipped}, header = false, auto_detect = false, parallel = false, "
            "null_padding = true, strict_mode = false, "
            f"ignore_errors = true, store_rejects = true, rejects_limit = {_MOST_REJECTS}, "
            f"compression = '{'gzip' if self.compressed else 'none'}')"
        )


def recognize(log: str | Path | pd.DataFrame) -> Source:
    """Find out what a file or a DataFrame holds; raise LogError if it cannot be a log."""
    if isinstance(log, pd.DataFrame):
        return _data_frame(log)
    if not isinstance(log, str | os.PathLike):
        reject("replay", "log", "the path of a CSV or Parquet file, or a DataFrame", log)
    path = Path(log)
    if set("*?[") & set(str(path)):
        raise LogError(f"A log's name may not contain any of * ? [. Rename {str(path)!r}.")
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
    return Source(Path("the DataFrame"), names, len(names), frame=numbered)


def _parquet(path: Path) -> Source:
    query = f"DESCRIBE SELECT * FROM read_parquet({literal(str(path))})"
    with connected(path) as connection:
        rows = connection.execute(query).fetchall()
    return Source(path, tuple(row[0] for row in rows), len(rows))


def _text(path: Path, *, compressed: bool) -> Source:
    try:
        with (gzip.open if compressed else open)(path, "rb") as file:
            sample = file.read(_SAMPLE_BYTES)
    except (EOFError, gzip.BadGzipFile) as error:
        raise unreadable(path, error) from error
    if b"\0" in sample:
        raise LogError(f"{path} is neither text nor Parquet. Give a CSV or a Parquet file.")
    lines = sample.decode("utf-8-sig", errors="replace").splitlines()
    first = next((i for i, line in enumerate(lines) if line.strip()), None)
    if first is None:
        raise LogError(f"{path} is empty: a log has one auction per line.")
    separator, fields = _split(lines[first].strip(" "))
    if _is_header(fields):
        return Source(path, tuple(fields), len(fields), separator, first + 1, compressed)
    return Source(path, (), len(fields), separator, first, compressed)


def _is_header(fields: list[str]) -> bool:
    known = {name for names in NAMES.values() for name in names}
    return bool(known.intersection(_plain(fields))) or not any(map(_is_number, fields))


def _plain(names: Iterable[str]) -> list[str]:
    """Return names in the form of `NAMES`."""
    return [name.strip().lower().replace(" ", "_").replace("-", "_") for name in names]


def _split(line: str) -> tuple[str, list[str]]:
    """Return what separates the columns, and what stands in them."""
    separator = max(_SEPARATORS, key=line.count)
    words = line.split()
    if separator not in line or (" " in line and all(map(_is_number, words))):
        return WHITE_SPACE, words
    return separator, next(csv.reader([line], delimiter=separator))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@contextmanager
def connected(path: Path, frame: pd.DataFrame | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open DuckDB to read a log; what goes wrong is the log's fault.

    One thread keeps rows in order. What DuckDB has read it keeps in memory, up to the limit.
    """
    config: dict[str, Any] = {"threads": 1, "memory_limit": "128MB"}
    with duckdb.connect(config=config) as connection:
        connection.execute("SET enable_progress_bar = false")
        try:
            if frame is not None:
                connection.register(_FRAME, frame)
            yield connection
        except duckdb.Error as error:
            raise unreadable(path, error) from error


def unreadable(path: Path, error: Exception) -> LogError:
    """Return what to raise if a library could not read the file."""
    return LogError(f"{path} cannot be read: {first_line(error)}.")


def first_line(error: Exception) -> str:
    """Return what an error of a library says first."""
    return (str(error) or type(error).__name__).splitlines()[0].rstrip(".")


def literal(text: str) -> str:
    """Return text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
