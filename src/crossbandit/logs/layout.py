"""Recognise how the files of a log are written: from their content, not from their names."""

from __future__ import annotations

import csv
import gzip
import json
import re
import zlib
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from crossbandit.errors import LogError
from crossbandit.logs.columns import is_header, is_number, leaf, plain
from crossbandit.logs.database import connect, first_line, literal
from crossbandit.logs.formats import EXCHANGES, IPINYOU, IPINYOU_NAMES, NO_BID, OPENRTB, SEATS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from crossbandit.logs.formats import Format
    from crossbandit.logs.source import Source

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
_MACROS = re.compile(r"(?i)[?&;]auction[_-]?(id|imp[_-]?id|price|loss|min[_-]?to[_-]?win)=")
_EXPECTED = "Give a CSV, JSON lines or Parquet file"


@dataclass(frozen=True)
class Layout:
    """How a file, or a data frame, is written.

    Attributes:
        kind: "csv", "jsonl", "parquet", "frame", or "lines": text that is not split.
        names: The names of the columns; empty if there is no header.
        width: The number of columns.
        separator: The character that separates the columns of a text file.
        skipped: The number of lines up to and including the header.
        compressed: Whether it is a gzip file.
        seats: Whether objects may be bid responses of OpenRTB, with a list of bids. Each bid is a
            row of its own, in which it takes the place of the list.
    """

    kind: str
    names: tuple[str, ...]
    width: int
    separator: str = ""
    skipped: int = 0
    compressed: bool = False
    seats: bool = False

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
    """Return how a file is written.

    Args:
        path: The file.
        kind: What it must be: one of `KINDS`, or None for any.
        notices: Whether the file comes from an exchange. If so, lines with URLs are not split, and
            each bid of a bid response is a row.

    Returns:
        The file and its layout.

    Raises:
        LogError: The file is not a log, or is of another kind.
    """
    with path.open("rb") as file:
        head = file.read(len(_PARQUET))
    if head == _ZSTD:
        raise LogError(f"{path} is compressed with zstd. Decompress it, or compress it with gzip.")
    if head == _PARQUET:
        layout = _parquet(path)
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


def _parquet(path: Path) -> Layout:
    with connect(str(path)) as connection:
        rows = connection.execute(f"DESCRIBE SELECT * FROM {read_parquet([path])}").fetchall()
    return Layout("parquet", tuple(row[0] for row in rows), len(rows))


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
        names = tuple(dict.fromkeys(_fields(path, whole, seats=notices)))
        seats = notices and any(name.startswith(f"{SEATS}.") for name in names)
        return Layout("jsonl", names, len(names), WHITE_SPACE, compressed=compressed, seats=seats)
    if beginning.startswith("[") and beginning[1:].lstrip()[:1] in {"", "{"}:
        raise LogError(
            f"{path} is a list in JSON. Write one object per line, without brackets and commas "
            "around them."
        )
    if notices and _PARAMETERS.search(lines[first]):
        return Layout("lines", ("line",), 1, WHITE_SPACE, compressed=compressed)
    separator, fields = _split(lines[first].strip(" "))
    header = is_header(fields)
    names = tuple(fields) if header else ()
    return Layout("csv", names, len(fields), separator, first + header, compressed)


def _fields(path: Path, lines: list[str], *, seats: bool) -> Iterator[str]:
    """Yield the names of the fields of JSON objects; a nested one as "outer.inner"."""
    found = False
    for line in lines:
        try:
            thing = json.loads(line)
        except ValueError:
            continue
        if isinstance(thing, dict):
            found = True
            if seats and isinstance(thing.get(SEATS), list):
                for bid in _bids(thing[SEATS]):
                    yield from _flat({**thing, SEATS: bid}, "", _DEPTH)
            else:
                yield from _flat(thing, "", _DEPTH)
    if not found:
        raise LogError(
            f"{path} begins like JSON, but none of its first lines is an object. Write one object "
            "per line."
        )


def _bids(seats: list[Any]) -> Iterator[dict[str, Any]]:
    """Yield the bids of a bid response, then the row of a response without bids."""
    lists = [seat.get("bid") for seat in seats if isinstance(seat, dict)]
    bids = [bid for bids in lists if isinstance(bids, list) for bid in bids]
    yield from (bid for bid in bids if isinstance(bid, dict))
    yield {NO_BID: 1}


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


def find_format(name: str, source: Source) -> Format | None:
    """Return the format of an exchange that a log has.

    Args:
        name: A key of `EXCHANGES`, or another name of a format.
        source: The log.

    Returns:
        That format; for "auto" the one whose marks the log has. None for plain columns.
    """
    if name != "auto":
        return EXCHANGES.get(name)
    if all(map(_is_ipinyou, source.files)):
        return IPINYOU
    if any(map(_has_notice_urls, source.files)):
        return OPENRTB
    names = {one for file in source.files for one in plain(map(leaf, file.layout.names))}
    found = (one for one in EXCHANGES.values() if any(mark <= names for mark in one.marks))
    return next(found, None)


def with_names(file: LogFile) -> LogFile:
    """Return the file; if it is an iPinYou file without a header, with the names of its columns."""
    layout = file.layout
    names = IPINYOU_NAMES.get(layout.width)
    if layout.kind != "csv" or layout.names or layout.separator != "\t" or names is None:
        return file
    return LogFile(file.path, replace(layout, names=names))


def _is_ipinyou(file: LogFile) -> bool:
    """Return whether a file has no header, the columns of iPinYou, and a time in the second."""
    if with_names(file) is file:
        return False
    return re.fullmatch(r"20\d{15}", _beginning(file).split("\t")[1]) is not None


def _has_notice_urls(file: LogFile) -> bool:
    """Return whether the first line of a text has a URL with parameters named after macros."""
    return file.layout.kind == "csv" and _MACROS.search(_beginning(file)) is not None


def _beginning(file: LogFile) -> str:
    """Return the first line that is not blank."""
    with file.open_text() as lines:
        return next((line for line in lines if line.strip()), "")
