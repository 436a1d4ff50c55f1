"""What kind of file a log is, which columns it has, and the SQL by which DuckDB reads two of them.

The kind is taken from the file itself, not from its name. DuckDB sets aside lines in which one of
the two columns is not UTF-8, and counts them; whatever the other columns hold, it does not look.
"""

from __future__ import annotations

import csv
import gzip
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from crossbandit.errors import LogError

if TYPE_CHECKING:
    from collections.abc import Iterator

_SAMPLE_BYTES = 1 << 16
_MOST_REJECTS = 1_000_000
_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"
_SEPARATORS = ",\t;|"
WHITE_SPACE = "\x01"  # stands for it: the line is read whole and split afterwards

# By these names the columns are found if none is given, the first that is there.
NAMES = {
    "value": ("value", "valuation", "private_value", "bid_value", "impression_value"),
    "price": (
        "highest_competing_bid",
        "competing_bid",
        "highest_other_bid",
        "minimum_bid_to_win",
        "min_bid_to_win",
        "market_price",
        "price",
    ),
}


@dataclass(frozen=True)
class Source:
    """A file with columns."""

    path: Path
    names: tuple[str, ...]  # of the columns; empty if the file has no header
    width: int  # the number of columns
    separator: str = ""  # of text; empty for Parquet
    skipped: int = 0  # lines up to and with the header
    compressed: bool = False

    @property
    def is_text(self) -> bool:
        """Whether the file has lines."""
        return bool(self.separator)

    def column(self, wanted: str | int | None, role: str) -> int:
        """Return the place of a column, from 0: by its name, by its number from 1, or guessed."""
        if wanted is None:
            return self._guess(role)
        if wanted in self.names:
            return self.names.index(str(wanted))
        text = str(wanted)
        if text.isascii() and text.isdigit() and 1 <= int(text) <= self.width:
            return int(text) - 1
        near = get_close_matches(text, self.names, n=3)
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise LogError(f"{self.path} has no column {text!r}.{hint} {self._columns()}")

    def _guess(self, role: str) -> int:
        plain = [name.strip().lower().replace(" ", "_").replace("-", "_") for name in self.names]
        for name in NAMES[role]:
            if name in plain:
                return plain.index(name)
        what = {"value": "the value", "price": "the highest competing bid"}[role]
        raise LogError(
            f"Which column of {self.path} holds {what}? Name it with --{role}-column "
            f"({role}_column=... in Python). {self._columns()}"
        )

    def _columns(self) -> str:
        if self.names:
            return f"The columns are: {', '.join(map(repr, self.names))}."
        return f"The file has no header; its columns are numbered from 1 to {self.width}."

    def label(self, place: int) -> str:
        """Return how to call a column in a sentence."""
        return repr(self.names[place]) if self.names else f"number {place + 1}"

    def select(self, value: int, price: int) -> str:
        """Return SQL for the columns `value`, `price` and `extra`, one row per line, in order."""
        if not self.is_text:
            pair = (_identifier(self.names[place]) for place in (value, price))
            return "SELECT {} AS value, {} AS price, false AS extra FROM read_parquet({})".format(
                *pair, literal(str(self.path))
            )
        if self.separator == WHITE_SPACE:
            lines = self._read_csv(1, quote="")
            return (
                f"SELECT f[{value + 1}] AS value, f[{price + 1}] AS price, "
                f"len(f) > {self.width} AS extra FROM (SELECT "
                rf"regexp_split_to_array(trim(c1, ' ' || chr(9)), '\s+') AS f FROM {lines} "
                "WHERE c1 IS NOT NULL)"
            )
        rows = self._read_csv(self.width + 1, quote='"')
        return (
            f"SELECT c{value + 1} AS value, c{price + 1} AS price, "
            f"c{self.width + 1} IS NOT NULL AS extra FROM {rows}"
        )

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


def recognize(path: str | Path) -> Source:
    """Find out what a file holds; raise LogError if it cannot be a log."""
    path = Path(path)
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
    if any(map(_is_number, fields)):
        return Source(path, (), len(fields), separator, first, compressed)
    return Source(path, tuple(fields), len(fields), separator, first + 1, compressed)


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
def connected(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open DuckDB to read a log; what goes wrong is the log's fault.

    One thread keeps rows in order. What DuckDB has read it keeps in memory, up to the limit.
    """
    config: dict[str, Any] = {"threads": 1, "memory_limit": "128MB"}
    with duckdb.connect(config=config) as connection:
        connection.execute("SET enable_progress_bar = false")
        try:
            yield connection
        except duckdb.Error as error:
            raise unreadable(path, error) from error


def unreadable(path: Path, error: Exception) -> LogError:
    """Return what to raise if a library could not read the file."""
    reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
    return LogError(f"{path} cannot be read: {reason}.")


def literal(text: str) -> str:
    """Return text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
