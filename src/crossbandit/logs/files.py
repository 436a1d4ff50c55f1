"""The files of a log, or a data frame: what they are, their columns, reading them with DuckDB."""

from __future__ import annotations

import csv
import gzip
import json
import re
import shutil
import tempfile
import weakref
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

import duckdb

from crossbandit.core.types import Ties
from crossbandit.errors import LogError

# --- columns -------------------------------------------------------------------------------------

LEAST_BID = (  # usual names for the least bid that would have won
    *("minimum_bid_to_win", "min_bid_to_win", "auction_min_to_win", "auction_minimum_bid_to_win"),
    *("min_to_win", "minimum_to_win", "price_to_win", "min_price_to_win", "mbtw"),
)


@dataclass(frozen=True)
class Role:
    """What a column of a log means, and what messages and readers call it."""

    what: str  # an entry
    array: str  # the array of `Auctions`
    said: str  # how the description of a log begins to say which column it is
    names: tuple[str, ...] = ()  # under which it is found if none is given; the first one present
    meaning: str = ""

    def __str__(self) -> str:
        return self.what


ROLES = {
    "value": Role(
        "value",
        "values",
        "The value is",
        ("value", "valuation", "private_value", "bid_value", "impression_value"),
    ),
    # `price` is not a usual name: a column of that name usually holds what was paid.
    "price": Role(
        "highest competing bid",
        "prices",
        "the highest competing bid",
        (
            *("highest_competing_bid", "competing_bid", "highest_other_bid"),
            *("best_competing_bid", "max_competing_bid", *LEAST_BID, "market_price"),
        ),
        " It is the highest bid of the others, also where you won; not what you bid or paid. "
        "Without any such column, a log cannot be replayed; `crossbandit evaluate` uses logs of "
        "wins and losses (--won-column). If the lines are notices of an exchange, say so with "
        "--format.",
    ),
    "bid": Role("own bid", "bids", "Your own bid is"),
    "reserve": Role("reserve", "reserves", "The reserve is"),
    "won": Role("result", "won", "Who won is"),
    "propensity": Role("propensity", "propensities", "The propensity is"),
    "time": Role("time", "times", "The time is"),
}
ID = "id"  # the further column by which lines that repeat an auction are recognised
_IGNORED = str.maketrans("", "", "-_")

# What is wrong with a line.
NO_PRICE = f"no {ROLES['price']}"
WITH_COMMA = "is written with a comma"
ABOVE = "the value is above"
_COMMA = r"[-+]?[0-9.]*,[0-9.,]+"
_UNKNOWN = ("nan", "null", "none", "na", "n/a")  # in place of a price that is not known
WON = ("1", "1.0", "true", "t", "yes", "y", "win", "won")
LOST = ("0", "0.0", "false", "f", "no", "n", "loss", "lost")
_WORDS = "won (1, true, yes, won) nor lost (0, false, no, lost)"
# From how large a number on a time is in nano-, micro- or milliseconds; smaller ones are seconds.
_PARTS = {1e17: 1e9, 1e14: 1e6, 1e11: 1e3}
_DIGITS = "(19|20)[0-9]{12}([0-9]{3})?"  # 20260105103000, perhaps with milliseconds

# By what to multiply an amount in a unit of the log, to get units of money for one impression.
Unit = Literal["units", "cents", "micros", "cpm", "cpm-cents", "cpm-micros"]
UNITS: dict[Unit, float] = {
    "units": 1.0,
    "cents": 1e-2,
    "micros": 1e-6,
    "cpm": 1e-3,
    "cpm-cents": 1e-5,
    "cpm-micros": 1e-9,
}
LEAST, MOST = 1e-100, 1e100  # bounds of the highest value: sums and quotients stay finite


@dataclass(frozen=True)
class Columns:
    """The columns of a file or a DataFrame; `names` is empty if the file has no header."""

    owner: str  # what messages call the file
    names: tuple[str, ...]
    width: int

    def find(self, wanted: str | int | None, role: str) -> int:
        """Return the index of a column, from 0."""
        if wanted is None:
            return self._usual(role)
        text = str(wanted)
        if isinstance(wanted, str):
            key = plain([text])[0]
            leaves = plain(map(leaf, self.names))
            for name, names in ((text, self.names), (key, plain(self.names)), (key, leaves)):
                if name in names:
                    return self._unique(name, names)
        if text.isascii() and text.isdigit() and 1 <= int(text) <= self.width:
            return int(text) - 1
        near = get_close_matches(text, self.names, n=3)
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise LogError(f"{self.owner} has no column {text!r}.{hint} {self._listed()}")

    def guess(self, role: str) -> int | None:
        """Return the index of the column that has a usual name of a role, or None."""
        names = plain(self.names)
        found = next((name for name in plain(ROLES[role].names) if name in names), None)
        return None if found is None else self._unique(found, names)

    def _usual(self, role: str) -> int:
        found = self.guess(role)
        if found is not None:
            return found
        raise LogError(
            f"Which column of {self.owner} holds the {ROLES[role]}? Name it with --{role}-column "
            f"(columns={{{role!r}: ...}} in Python).{ROLES[role].meaning} {self._listed()}"
        )

    def _unique(self, name: str, names: Sequence[str]) -> int:
        numbers = [i for i, one in enumerate(names, 1) if one == name]
        if len(numbers) > 1:
            shown = sorted({self.names[i - 1].strip() for i in numbers})
            raise LogError(
                f"{self.owner} has more than one column {' or '.join(map(repr, shown))}. Give the "
                f"number of the column: {' or '.join(map(str, numbers))}."
            )
        return names.index(name)

    def shown(self, index: int) -> str:
        """Return what tables call a column: its name, if it has one."""
        return self.names[index] if self.names else f"column {index + 1}"

    def label(self, index: int) -> str:
        """Return what a message calls a column."""
        return repr(self.names[index]) if self.names else f"number {index + 1}"

    def _listed(self) -> str:
        if self.names:
            return f"The columns are: {', '.join(map(repr, self.names))}."
        return f"The file has no header; its columns are numbered from 1 to {self.width}."


def plain(names: Iterable[str]) -> list[str]:
    """Return names in lower case and without spaces, hyphens and underscores, to compare them.

    >>> plain([" Min bid-to-win", "minBidToWin"])
    ['minbidtowin', 'minbidtowin']
    """
    return ["".join(name.lower().split()).translate(_IGNORED) for name in names]


def leaf(name: str) -> str:
    """Return the last part of the name of a nested field, such as "ext.deal"."""
    return name.rpartition(".")[2]


def is_number(text: str) -> bool:
    """Return whether a field is a number.

    >>> is_number("1e3"), is_number("1,5")
    (True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return True


def number_sql(role: str, factor: float = 1.0) -> str:
    """Return SQL for the entry of a column as a number; NULL if it is not a number."""
    if role == "won":
        text = "lower(trim(won::VARCHAR))"
        return f"CASE WHEN {text} IN {WON} THEN true WHEN {text} IN {LOST} THEN false END"
    if role == "time":
        return time_sql("time")
    number = f"TRY_CAST({role} AS DOUBLE)"
    if role == "price":  # which may be unknown; in DuckDB, NaN is above all numbers
        number = f"nullif({number}, 'nan'::DOUBLE)"
    return number if factor == 1 else f"{number} * {factor!r}"


def time_sql(column: str) -> str:
    """Return SQL for a time in seconds since 1970; NULL if the entry is not a time.

    Numbers are seconds or, if they are large, milli-, micro- or nanoseconds. Other entries are in
    the format ISO 8601, or digits such as 20260105103000. Times without an offset are in the time
    zone of the connection.
    """
    text = f"trim({column}::VARCHAR)"
    number = f"TRY_CAST({text} AS DOUBLE)"
    parts = " ".join(
        f"WHEN abs({number}) >= {least!r} THEN {number} / {part!r}"
        for least, part in _PARTS.items()
    )
    digits = f"try_strptime({text}, ['%Y%m%d%H%M%S%g', '%Y%m%d%H%M%S'])"
    return (
        f"CASE WHEN regexp_full_match({text}, {literal(_DIGITS)}) "
        f"THEN epoch(TRY_CAST({digits} AS TIMESTAMPTZ)) {parts} "
        f"ELSE coalesce({number}, epoch(TRY_CAST({text} AS TIMESTAMPTZ))) END"
    )


def fault_sql(
    roles: Collection[str],
    highest_value: float | None,
    factors: Mapping[str, float],
    *,
    needs_price: bool,
) -> str:
    """Return SQL for what is wrong with a row; NULL if nothing is.

    The text of a column has the name of its role. Its number has an underscore after that name.
    """
    missing = [role for role in roles if role != "price" or needs_price]
    numbers = [role for role in roles if role not in {"won", "time"}]
    given = {role: f"{role} IS NOT NULL" for role in numbers}
    if "price" in roles and not needs_price:
        given["price"] += f" AND lower(trim(price::VARCHAR)) NOT IN {_UNKNOWN}"
    cases = [
        "WHEN broken IS NOT NULL THEN broken",
        *(f"WHEN {role} IS NULL THEN 'no {ROLES[role]}'" for role in missing),
        *(
            f"WHEN {given[role]} AND ({role}_ IS NULL OR NOT isfinite({role}_)) THEN CASE "
            f"WHEN regexp_full_match(trim({role}::VARCHAR), '{_COMMA}') "
            f"THEN 'the {ROLES[role]} {WITH_COMMA}' ELSE 'the {ROLES[role]} is not a number' END"
            for role in numbers
        ),
        *(f"WHEN {role}_ < 0 THEN 'the {ROLES[role]} is below 0'" for role in numbers),
    ]
    if "won" in roles:
        cases.append(f"WHEN won_ IS NULL THEN 'the result is neither {_WORDS}'")
    if "time" in roles:
        cases.append(
            "WHEN time_ IS NULL OR NOT isfinite(time_) "
            "THEN 'the time is neither like 2026-01-05T10:30:00+01:00 nor seconds since 1970'"
        )
    if "propensity" in roles:
        cases.append(
            "WHEN propensity_ = 0 OR propensity_ > 1 "
            "THEN 'the propensity is not above 0 and at most 1'"
        )
    if highest_value:
        factor = factors.get("value", 1.0)
        bound = f"{highest_value:g}" + ("" if factor == 1 else f" after times {factor:g}")
        cases.append(f"WHEN value_ > {highest_value!r} THEN '{ABOVE} {bound}'")
    return f"CASE {' '.join(cases)} END"


def literal(text: str) -> str:
    """Return text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


# --- DuckDB --------------------------------------------------------------------------------------

# Megabytes for DuckDB. It keeps text that it has read, up to the limit, so text gets little.
TEXT, TABLES = 24, 128
_MOST = 4096


class ScratchFolder:
    """A temporary folder. It is removed when nothing uses this object any more, or at the end.

    A copy in another process does not remove the folder.
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="crossbandit-"))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def __reduce__(self) -> tuple[type[Path], tuple[str]]:
        return Path, (str(self.folder),)


@contextmanager
def connect(
    name: str, timezone: str = "UTC", megabytes: int = TABLES
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a DuckDB connection to read a log; an error of DuckDB becomes a LogError.

    One thread keeps the rows in order. DuckDB caches what it has read in memory, up to the limit,
    and writes the rest to a temporary folder that is removed afterwards. No extension is loaded.
    """
    try:
        with tempfile.TemporaryDirectory(
            prefix="crossbandit-", ignore_cleanup_errors=True
        ) as spill:
            config: dict[str, Any] = {
                "threads": 1,
                "memory_limit": f"{megabytes}MB",
                "temp_directory": spill,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            }
            with duckdb.connect(config=config) as connection:
                hide_progress(connection)
                connection.execute(f"SET TimeZone = {literal(timezone)}")
                connection.execute("SET streaming_buffer_size = '1MB'")  # of rows to be fetched
                yield connection
    except duckdb.InterruptException:  # DuckDB has noticed Ctrl-C before Python
        raise KeyboardInterrupt from None
    except RuntimeError as error:  # DuckDB raises this for Ctrl-C while a result is fetched
        if "interrupted" not in str(error).lower():
            raise
        raise KeyboardInterrupt from None
    except duckdb.OutOfMemoryException as error:
        raise LogError(
            f"{name} has lines that are too long to be read: they need more than {_MOST:,} MB of "
            "memory. Keep only the columns that are needed."
        ) from error
    except duckdb.Error as error:
        raise LogError(f"{name} cannot be read: {first_line(error)}.") from error


def hide_progress(connection: duckdb.DuckDBPyConnection) -> None:
    """Switch off DuckDB's own progress bar, if it is on.

    In Jupyter without ipywidgets it is off, and DuckDB refuses to change the setting.
    """
    row = connection.execute("SELECT current_setting('enable_progress_bar')").fetchone()
    if row is not None and row[0]:
        connection.execute("SET enable_progress_bar = false")


def first_line(error: Exception) -> str:
    """Return the first line of the message of another library's error."""
    return (str(error) or type(error).__name__).splitlines()[0].rstrip(".")


# --- recognising files ---------------------------------------------------------------------------

_SAMPLE_BYTES = 1 << 16
_BLOCKS, _BLOCK_BYTES = 64, 1 << 13  # samples of the rest of a file: JSON may have new fields there
_DEPTH = 4  # fields of objects that are nested more deeply are not columns
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_PARQUET = b"PAR1"
_SEPARATORS = ",\t;|"
WHITE_SPACE = "\x01"  # stands for white space: each line is read as one field and split later
KINDS = ("csv", "jsonl", "parquet")  # the kinds of files, by their names in `--format`
_PARAMETERS = re.compile(r"[?&][\w-]+=")  # of a URL
_EXPECTED = "Give a CSV, JSON lines or Parquet file"


@dataclass(frozen=True)
class Layout:
    """How a file, or a data frame, is written."""

    kind: str  # "csv", "jsonl", "parquet", "frame", or "lines": text that is not split
    names: tuple[str, ...]  # the names of the columns; empty if there is no header
    width: int  # the number of columns
    separator: str = ""  # the character that separates the columns of a text file
    skipped: int = 0  # the number of lines up to and including the header
    compressed: bool = False  # whether it is a gzip file
    lists: tuple[str, ...] = ()  # fields whose items are rows, of `_ITEM_ROWS`

    @property
    def is_text(self) -> bool:
        """Whether the file has lines."""
        return self.kind in {"csv", "jsonl", "lines"}

    @property
    def is_quoted(self) -> bool:
        """Whether a quoted field may contain line ends."""
        return self.kind == "csv" and self.separator != WHITE_SPACE


class LogFile(NamedTuple):
    """A file and how it is written; for a data frame, `path` is what messages call it."""

    path: Path
    layout: Layout

    def open_text(self) -> IO[str]:
        """Open the file in Latin-1, in which every byte is a character: decoding cannot fail."""
        open_text = gzip.open if self.layout.compressed else open
        return open_text(self.path, "rt", encoding="latin-1", newline="")


def recognize_file(path: Path, kind: str | None = None, *, notices: bool = False) -> LogFile:
    """Return how a file is written."""
    with path.open("rb") as file:
        head = file.read(len(_PARQUET))
    if head == _ZSTD:
        raise LogError(f"{path} is compressed with zstd. Decompress it, or compress it with gzip.")
    if head == _PARQUET:
        with connect(str(path)) as connection:
            rows = connection.execute(f"DESCRIBE SELECT * FROM {read_parquet([path])}").fetchall()
        layout = Layout("parquet", tuple(row[0] for row in rows), len(rows))
    else:
        layout = _text(path, compressed=head.startswith(_GZIP), notices=notices)
    if kind not in {None, layout.kind}:
        raise LogError(
            f"{path} is not of the format {kind!r}, but of {layout.kind!r}. Leave --format out "
            "(format='auto' in Python)."
        )
    return LogFile(path, layout)


def read_parquet(paths: list[Path], *, partitioned: bool = False) -> str:
    """Return SQL for Parquet files; names of folders become columns only if that is asked for."""
    files = ", ".join(literal(str(path)) for path in paths)
    return f"read_parquet([{files}], {partition_options(partitioned=partitioned)})"


def partition_options(*, partitioned: bool) -> str:
    """Return options of a reader that say whether names of folders are columns."""
    if not partitioned:
        return "hive_partitioning = false"
    return "hive_partitioning = true, hive_types_autocast = false"


def _text(path: Path, *, compressed: bool, notices: bool) -> Layout:
    sample, *later = _intact_samples(path) if compressed else _samples(path)
    if b"\0" in sample:
        raise LogError(f"{path} is neither text nor Parquet. {_EXPECTED}.")
    lines = sample.decode("utf-8-sig", errors="replace").splitlines()
    first = next((i for i, line in enumerate(lines) if line.strip()), None)
    if first is None:
        raise LogError(f"{path} is empty. A log has one auction per line.")
    beginning = lines[first].lstrip()
    if beginning.startswith("{"):
        whole = lines[first:] if len(sample) < _SAMPLE_BYTES else lines[first:-1] or lines[first:]
        whole += [line for block in later for line in block.decode(errors="replace").splitlines()]
        lists = tuple(x for x in _ITEM_ROWS if notices and any(f'"{x}"' in one for one in whole))
        if lists:
            with connect(str(path)) as connection:
                rows = _item_rows("(SELECT unnest(?) AS c1)", lists)
                whole = [text for text, _ in connection.execute(rows, [whole]).fetchall()]
        listed = [*_fields(path, whole), *(_ITEM_ROWS[one][0] for one in lists)]
        names = tuple(dict.fromkeys(listed))
        return Layout("jsonl", names, len(names), WHITE_SPACE, compressed=compressed, lists=lists)
    if beginning.startswith("[") and beginning[1:].lstrip()[:1] in {"", "{"}:
        raise LogError(
            f"{path} is a list in JSON. Write one object per line, without brackets and commas "
            "around them."
        )
    if notices and _PARAMETERS.search(lines[first]):
        return Layout("lines", ("line",), 1, WHITE_SPACE, compressed=compressed)
    separator, fields = _split(lines[first].strip(" "))
    usual = set(plain(name for role in ROLES.values() for name in role.names))
    header = not usual.isdisjoint(plain(fields)) or not any(map(is_number, fields))
    names = tuple(fields) if header else ()
    return Layout("csv", names, len(fields), separator, first + header, compressed)


def _fields(path: Path, lines: list[str]) -> Iterator[str]:
    """Yield the names of the fields of JSON objects; a nested one as "outer.inner"."""
    found = False
    for line in lines:
        try:
            thing = json.loads(line)
        except ValueError:
            continue
        if isinstance(thing, dict):
            found = True
            yield from _flat(thing, "", _DEPTH)
    if not found:
        raise LogError(
            f"{path} begins like JSON, but none of its first lines is an object. Write one object "
            "per line."
        )


def _flat(thing: dict[str, Any], prefix: str, depth: int) -> Iterator[str]:
    for key, value in thing.items():
        if not key or set(key) & set('".'):
            continue
        if isinstance(value, dict) and depth > 1:
            yield from _flat(value, f"{prefix}{key}.", depth - 1)
        else:
            yield prefix + key


def _samples(path: Path) -> list[bytes]:
    """Return the beginning of a file, and blocks from all parts of the rest."""
    with path.open("rb") as file:
        samples = [file.read(_SAMPLE_BYTES)]
        rest = file.seek(0, 2) - _SAMPLE_BYTES - _BLOCK_BYTES
        for i in range(_BLOCKS if rest > -_BLOCK_BYTES else 0):
            file.seek(_SAMPLE_BYTES + max(rest, 0) * i // (_BLOCKS - 1))
            samples.append(file.read(_BLOCK_BYTES))
    return samples


def _intact_samples(path: Path) -> list[bytes]:
    """Return samples of a gzip file, after checking its checksum: DuckDB does not check it."""
    later: list[bytes] = []
    step, last = 1, b""
    try:
        with gzip.open(path, "rb") as file:
            sample = file.read(_SAMPLE_BYTES)
            for i, part in enumerate(iter(lambda: file.read(1 << 18), b"")):
                last = part[-_BLOCK_BYTES:]
                if i % step == 0:
                    later.append(part[:_BLOCK_BYTES])
                if len(later) > _BLOCKS:
                    later, step = later[::2], 2 * step
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise LogError(f"{path} is a damaged gzip file: {first_line(error)}.") from error
    return [sample, *later, last]


def _split(line: str) -> tuple[str, list[str]]:
    """Return the separator of the columns, and the fields of a line."""
    separator = max(_SEPARATORS, key=line.count)
    words = line.split()
    if separator not in line or (" " in line and all(map(is_number, words))):
        return WHITE_SPACE, words
    return separator, next(csv.reader([line], delimiter=separator))


# --- reading files -------------------------------------------------------------------------------

SEATS = "seatbid"  # the field of a bid response that has the bids, by seats
NO_BID = "nobid"  # a field in place of the bids, where there are none
# The list in a bid request that has the results of earlier ones; in its rows, whether there is one.
PREVIOUS = "previousauctioninfo"
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


@dataclass(eq=False)
class Source:
    """Files with columns, or a data frame."""

    name: str  # what messages call it
    files: tuple[LogFile, ...]
    keys: tuple[str, ...] = ()  # names of folders that are columns, as in `day=5`
    frame: Any = field(default=None, repr=False)  # the data frame, in a form that DuckDB reads
    lenient: bool = False  # whether a file may lack columns that others have
    scratch: ScratchFolder | None = field(default=None, repr=False)
    only: tuple[str, str] | None = None
    origin: Source | None = field(default=None, repr=False)
    rejected: dict[tuple[str, int], str] = field(default_factory=dict, repr=False)
    megabytes: int = field(init=False, repr=False)  # how much memory DuckDB may use to read it

    def __post_init__(self) -> None:
        self.megabytes = TEXT if all(file.layout.is_text for file in self.files) else TABLES

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
        with connect(self.name, timezone, max(self.megabytes, megabytes)) as connection:
            if self.frame is not None:
                connection.register(FRAME, self.frame)
            yield connection

    def fetch(self, connection: duckdb.DuckDBPyConnection, query: str) -> list[tuple[Any, ...]]:
        """Run a query and return its rows. If it needs more memory, later queries get it too.

        DuckDB holds 2,048 lines at a time, or a row group of a Parquet file. If lines are very
        long, that is more than usual.
        """
        while True:
            try:
                return connection.execute(query).fetchall()
            except duckdb.OutOfMemoryException:
                if self.megabytes >= _MOST:
                    raise
                self.megabytes = min(8 * self.megabytes, _MOST)
                connection.execute(f"SET memory_limit = '{self.megabytes}MB'")

    def rejected_by(self, connection: duckdb.DuckDBPyConnection) -> dict[tuple[str, int], str]:
        """Return the records that DuckDB rejected in the last reading: file, number and reason."""
        if not any(file.layout.is_text for file in self.files):
            return self.rejected
        rows = connection.execute(
            "SELECT file_path, line, bool_or(error_type = 'LINE SIZE OVER MAXIMUM') "
            "FROM reject_errors JOIN reject_scans USING (scan_id, file_id) "
            "GROUP BY file_path, line ORDER BY file_path, line"
        ).fetchall()
        return {(path, line): TOO_LONG if too_long else NOT_UTF8 for path, line, too_long in rows}

    def select(self, places: Mapping[str, int], file: int | None = None) -> str:
        """Return SQL that reads columns under the names of their roles, one row per line, in order.

        The column `broken` says what is wrong with a line as a whole; NULL if nothing is. In a line
        of a CSV file, one empty field at the end, after a trailing separator, is allowed. If only
        one file is read, there are columns with its number and that of the row.
        """
        groups = groupby(
            self.files if file is None else [self.files[file]], key=attrgetter("layout")
        )
        return " UNION ALL ".join(
            self._select(layout, [one.path for one in files], places, file)
            for layout, files in groups
        )

    def _select(
        self, layout: Layout, paths: list[Path], places: Mapping[str, int], file: int | None
    ) -> str:
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
        elif file is not None:
            row = ROW if layout.lists else f"row_number() OVER () AS {ROW}"
            columns += [f"{file} AS {FILE}", row]
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
        if layout.lists:
            lines = f"({_item_rows(lines, layout.lists)})"
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


class OpenedSource(NamedTuple):
    """A source, and where its columns are."""

    source: Source  # the files, or a copy of them
    places: dict[str, int]  # the indices of columns by their roles
    class_places: dict[str, int]  # the indices of class columns by their names
    order: dict[str, int]  # the indices of the columns "by" and "sort_by", and of the "id"
    remarks: tuple[str, ...] = ()  # what was made of the lines
    ties: Ties | None = None  # what the format says about a bid that equals the price
    identified: bool = False  # whether lines that repeat an auction are recognised by an id

    @property
    def columns(self) -> list[int]:
        """The indices of all columns that are needed, each once."""
        places = (*self.places.values(), *self.class_places.values(), *self.order.values())
        return list(dict.fromkeys(places))

    def moved(self, source: Source, first: int = 0) -> OpenedSource:
        """Return the same for a copy of the source that has only these columns, from `first` on."""
        new = {place: first + i for i, place in enumerate(self.columns)}
        places, class_places, order = (
            {name: new[place] for name, place in some.items()}
            for some in (self.places, self.class_places, self.order)
        )
        return self._replace(source=source, places=places, class_places=class_places, order=order)


# Of lists whose items are rows: the field by which a row without an item is known, SQL for whether
# a line has such a list, for its items, for what stands for none, and for a row. A bid replaces the
# list of all bids. Of a bid request only the previous auctions are kept: it is about another one.
_ITEM_ROWS = {
    SEATS: (
        f"{SEATS}.{NO_BID}",
        f"coalesce(json_type(c1, '$.{SEATS}') = 'ARRAY', false)",
        f"json_extract(c1, '$.{SEATS}[*].bid[*]')",
        f"json_object('{NO_BID}', 1)",
        f"json_merge_patch(c1, json_object('{SEATS}', item))",
    ),
    PREVIOUS: (
        PREVIOUS,
        f"json_type(c1, '$.imp') = 'ARRAY' OR len(json_extract(c1, '$..{PREVIOUS}')) > 0",
        f"json_extract(c1, '$..{PREVIOUS}[*]')",
        "json_object()",
        f"json_merge_patch(item, json_object('{PREVIOUS}', item <> '{{}}'))",
    ),
}


def _item_rows(lines: str, lists: Iterable[str]) -> str:
    """Return SQL for lines in which each item of a list is a row, with its line's number."""
    items = patched = ""
    for _, there, found, none, row in (_ITEM_ROWS[name] for name in lists):
        items += f"WHEN {there} THEN CASE WHEN len({found}) > 0 THEN {found} ELSE [{none}] END "
        patched += f"WHEN {there} THEN {row}::VARCHAR "
    return (
        f"SELECT CASE WHEN item IS NULL THEN c1 {patched} END AS c1, {ROW} FROM (SELECT c1, {ROW}, "
        f"unnest(CASE WHEN NOT json_valid(c1) THEN [NULL::JSON] {items} ELSE [NULL::JSON] END) "
        f"AS item FROM (SELECT c1, row_number() OVER () AS {ROW} FROM {lines}))"
    )


def _path(name: str) -> str:
    """Return the JSON path of a field.

    >>> _path("ext.deal")
    '$."ext"."deal"'
    """
    return "$" + "".join(f'."{part}"' for part in name.split("."))


# --- copies --------------------------------------------------------------------------------------

NO_KEY = "no time or number to sort by"
NO_ID = "no id"
TWICE = "an earlier line has the same id and other entries"
ROWS = "stage.lines"  # the table of the lines that were read


@dataclass
class Stage:
    """A DuckDB connection that has read the lines of a source into the table `ROWS`.

    The columns are texts with the names that `places` gives, and `broken`, `file_` and `row_`.
    """

    source: Source
    connection: duckdb.DuckDBPyConnection
    scratch: ScratchFolder
    rejected: dict[tuple[str, int], str] = field(default_factory=dict)

    def fetch(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return self.connection.execute(query).fetchall()

    def load(self, places: Mapping[str, int]) -> None:
        """Read columns of all files, in order."""
        names = ", ".join(f"{identifier(name)} VARCHAR" for name in [*places, "broken"])
        self.connection.execute(f"CREATE TABLE {ROWS} ({names}, {FILE} BIGINT, {ROW} BIGINT)")
        texts = ", ".join(f"{identifier(name)}::VARCHAR" for name in [*places, "broken"])
        for file in range(len(self.source.files)):
            rows = self.source.select(places, file)
            insert = f"INSERT INTO {ROWS} SELECT {texts}, {FILE}, {ROW} FROM ({rows})"
            self.source.fetch(self.connection, insert)
        self.rejected = self.source.rejected_by(self.connection)

    def write(self, query: str, names: Sequence[str]) -> Source:
        """Write the rows of a query, and return them as a source."""
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
    scratch = ScratchFolder()
    database = scratch.folder / "lines.duckdb"
    with source.connect(timezone, TABLES) as connection:
        connection.execute(f"ATTACH {literal(str(database))} AS stage")
        yield Stage(source, connection, scratch)
    for path in (database, Path(f"{database}.wal")):
        path.unlink(missing_ok=True)


def sorted_copy(opened: OpenedSource, *, timezone: str) -> OpenedSource:
    """Return a copy of the columns that are needed, with rows in order, and each auction once."""
    source, places = opened.source, opened.columns
    columns = {f"c{i}": place for i, place in enumerate(places, 1)}
    names = [source.columns.shown(place) for place in places]
    named = {name: f"c{places.index(place) + 1}" for name, place in opened.order.items()}
    keys, faults, rows = [FILE, ROW], ["WHEN broken IS NOT NULL THEN broken"], ROWS
    with open_stage(source, timezone) as stage:
        stage.load(columns)
        if sort := named.get("sort_by"):
            keys.insert(0, time_sql(sort))
            faults.append(f"WHEN {keys[0]} IS NULL THEN '{NO_KEY}'")
        if by := named.get("by"):
            keys.insert(0, f"coalesce({by}, '')")
        identity, repeated = named.get(ID), 0
        if identity is not None:
            faults += [f"WHEN {identity} IS NULL THEN '{NO_ID}'", f"WHEN unlike THEN '{TWICE}'"]
            rows = "stage.identified"
            repeated = _identify(stage, rows, identity, list(columns))
        kept = ", ".join([*columns, f"CASE {' '.join(faults)} END AS {BROKEN}", FILE, ROW])
        copied = stage.write(f"SELECT {kept} FROM {rows} ORDER BY {', '.join(keys)}", names)
    moved = opened.moved(copied)
    if identity is None:
        return moved
    said = f"Lines that repeat an auction, with the same id, were not used: {repeated:,}."
    return moved._replace(remarks=(said,) if repeated else (), identified=True)


def _identify(stage: Stage, view: str, identity: str, columns: Sequence[str]) -> int:
    """Make a view of the lines that are not repeats, and return how many are.

    Its column `unlike` says that an earlier line has the same id and other entries. Only lines
    whose id is repeated are joined with others, so that an id that occurs once costs nothing.
    """
    firsts = "stage.firsts"
    entries = ", ".join(f"{one} AS first_{one}" for one in columns)
    stage.connection.execute(
        f"CREATE TABLE {firsts} AS SELECT {entries}, {PLACE} AS first_place FROM {ROWS} "
        f"WHERE {PLACE} IN (SELECT min({PLACE}) FROM {ROWS} WHERE {identity} IS NOT NULL "
        f"GROUP BY {identity} HAVING count(*) > 1)"
    )
    unlike = " OR ".join(f"{one} IS DISTINCT FROM first_{one}" for one in columns)
    later = f"coalesce({PLACE} > first_place, false)"
    joined = (
        f"SELECT *, {later} AS later, {later} AND ({unlike}) AS unlike "
        f"FROM {ROWS} LEFT JOIN {firsts} ON {identity} = first_{identity}"
    )
    stage.connection.execute(
        f"CREATE VIEW {view} AS SELECT * FROM ({joined}) WHERE unlike OR NOT later"
    )
    (repeated,) = stage.fetch(f"SELECT count(*) FROM ({joined}) WHERE later AND NOT unlike")[0]
    return int(repeated)
