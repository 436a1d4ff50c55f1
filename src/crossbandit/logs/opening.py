"""Open a log: find its files, its format and its columns; join and sort it where that is needed."""

from __future__ import annotations

import glob
import os
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from crossbandit.errors import LogError
from crossbandit.logs.columns import ROLES
from crossbandit.logs.database import Scratch, connect
from crossbandit.logs.formats import EXCHANGES
from crossbandit.logs.layout import KINDS, Layout, LogFile, find_format, recognize_file, with_names
from crossbandit.logs.notices import JOINED, join_notices
from crossbandit.logs.source import FRAME, Source
from crossbandit.logs.staging import sorted_copy
from crossbandit.validation import reject

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crossbandit.logs.columns import Columns
    from crossbandit.logs.formats import Format
    from crossbandit.logs.log import AuctionLog

STANDARD_INPUT = "-"
_PATTERN = set("*?[")
_SUFFIXES = {".csv", ".tsv", ".txt", ".log", ".json", ".jsonl", ".ndjson", ".parquet"}
_EXPECTED = (
    "the path of a CSV, JSON lines or Parquet file, of a folder or several of them, or a data frame"
)


class OpenedSource(NamedTuple):
    """A source, and where its columns are.

    Attributes:
        source: The files, or a copy of them.
        places: The indices of columns by their roles.
        class_places: The indices of class columns by their names.
        order: The indices of the columns "by" and "sort_by".
        remarks: What the format made of the lines.
        ties: What the format says about a bid that equals the price.
    """

    source: Source
    places: dict[str, int]
    class_places: dict[str, int]
    order: dict[str, int]
    remarks: tuple[str, ...] = ()
    ties: str | None = None

    def moved(self, source: Source, kept: Sequence[int], first: int = 0) -> OpenedSource:
        """Return the same for a copy of the source that has the columns `kept`, from `first` on."""
        new = {place: first + i for i, place in enumerate(kept)}
        places, class_places, order = (
            {name: new[place] for name, place in some.items()}
            for some in (self.places, self.class_places, self.order)
        )
        return OpenedSource(source, places, class_places, order, self.remarks, self.ties)


def open_log(log: AuctionLog) -> OpenedSource:
    """Return the source of a log and the places of its columns.

    Args:
        log: The log, whose arguments have been checked.

    Returns:
        What is needed to read it.

    Raises:
        LogError: A file is missing or unreadable, or a column is not found.
        InvalidParameterError: The data or the classes are invalid.
    """
    kind = log.format if log.format in KINDS else None
    source = find_source(log.data, kind, partitions=log.partitions)
    form = find_format(log.format, source)
    if form is None:
        _refuse_options_of_exchanges(log, source)
        columns = source.columns
        opened = OpenedSource(
            source, _roles(log, columns), _classes(log, columns), _order(log, columns)
        )
    else:
        opened = _join(log, form, source)
    if not opened.order:
        return opened
    kept = _unique(opened.places, opened.class_places, opened.order)
    by, sort = opened.order.get("by"), opened.order.get("sort_by")
    copied = sorted_copy(opened.source, kept, by=by, sort=sort, timezone=log.timezone)
    return opened.moved(copied, kept)


def _refuse_options_of_exchanges(log: AuctionLog, source: Source) -> None:
    given = [name for name in ("currency", "price_losses") if getattr(log, name) is not None]
    if given:
        option = {"currency": "--currency", "price_losses": "--price-loss"}[given[0]]
        raise LogError(
            f"{source.name} is not read as notices of an exchange, so {option} ({given[0]}=... in "
            f"Python) means nothing. Leave it out, or give the format: {', '.join(EXCHANGES)}."
        )


def _join(log: AuctionLog, form: Format, source: Source) -> OpenedSource:
    """Read the lines of an exchange, and return a copy that has one row per auction."""
    if source.frame is None and "url" in form.fields:
        files = (recognize_file(file.path, notices=True) for file in source.files)
        source = replace(source, files=tuple(files))
    source = replace(source, files=tuple(map(with_names, source.files)), lenient=True)
    columns = source.columns
    asked = {role: columns.find(one, role) for role, one in log.columns.items()}
    further = {role: place for role, place in asked.items() if role not in JOINED}
    opened = OpenedSource(source, further, _classes(log, columns), _order(log, columns))
    kept = _unique(further, opened.class_places, opened.order)
    joined = join_notices(
        source,
        form,
        own={role: place for role, place in asked.items() if role in JOINED},
        kept=kept,
        price_codes=None if log.price_losses is None else [str(one) for one in log.price_losses],
        currency=log.currency,
        timezone=log.timezone,
    )
    moved = opened.moved(joined.source, kept, len(JOINED))
    places = {role: i for i, role in enumerate(JOINED) if role in joined.found}
    return moved._replace(places=places | moved.places, remarks=joined.remarks, ties=joined.ties)


def _roles(log: AuctionLog, columns: Columns) -> dict[str, int]:
    asked = {role: columns.find(log.columns[role], role) for role in ROLES if role in log.columns}
    places = {"value": asked["value"] if "value" in asked else columns.find(None, "value")}
    price = asked.get("price", columns.guess("price") if "won" in asked else None)
    if price is not None or "won" not in asked:
        places["price"] = columns.find(None, "price") if price is None else price
    places |= {role: place for role, place in asked.items() if role not in places}
    for (one, place), (other, same) in combinations(places.items(), 2):
        if place == same:
            raise LogError(
                f"The {ROLES[one]} and the {ROLES[other]} cannot both be column "
                f"{columns.label(place)}."
            )
    return places


def _classes(log: AuctionLog, columns: Columns) -> dict[str, int]:
    classes: object = log.classes
    if isinstance(classes, str) or not isinstance(classes, Sequence):
        reject(type(log).__name__, "classes", "a list of columns", classes)
    found = [columns.find(one, "class") for one in classes]
    if len(set(found)) < len(found):
        reject(type(log).__name__, "classes", "different columns", classes)
    return {columns.shown(place): place for place in found}


def _order(log: AuctionLog, columns: Columns) -> dict[str, int]:
    wanted = {"by": log.by, "sort_by": log.sort_by}
    return {name: columns.find(one, name) for name, one in wanted.items() if one is not None}


def _unique(*places: Mapping[str, int]) -> list[int]:
    """Return all columns that are named, each once."""
    return list(dict.fromkeys(place for some in places for place in some.values()))


class _Stream:
    """A data frame that exports its Arrow data each time it is read."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


def find_source(data: object, kind: str | None = None, *, partitions: bool = False) -> Source:
    """Return files or a data frame as a `Source`.

    Args:
        data: A path, a folder, a pattern such as `logs/*.csv`, several of them, "-" for the
            standard input, or a data frame: of pandas, or any that exports Arrow data.
        kind: What files must be: "csv", "jsonl" or "parquet"; None for any.
        partitions: Whether names of folders such as `day=5` are columns.

    Returns:
        The source.

    Raises:
        LogError: It cannot be a log.
        InvalidParameterError: It is neither files nor a data frame.
    """
    if isinstance(data, pd.DataFrame):
        return _pandas(data)
    if hasattr(data, "__arrow_c_stream__"):
        return _arrow(data)
    if isinstance(data, str | os.PathLike):
        data = [data]
    if not isinstance(data, Iterable) or not (paths := list(data)):
        reject("AuctionLog", "data", _EXPECTED, data)
    if not all(isinstance(path, str | os.PathLike) for path in paths):
        reject("AuctionLog", "data", _EXPECTED, data)
    scratch = Scratch() if STANDARD_INPUT in map(str, paths) else None
    found = [file for path in paths for file in _find(os.fspath(path), scratch)]
    name = str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    return Source(
        "the standard input" if name == STANDARD_INPUT else name,
        tuple(recognize_file(path, kind) for path in found),
        keys=_partition_keys(found) if partitions else (),
        scratch=scratch,
    )


def _pandas(frame: pd.DataFrame) -> Source:
    names = tuple(map(str, frame.columns))
    columns = (_forward(frame.iloc[:, i]) for i in range(len(names)))
    numbered = pd.DataFrame({f"c{i}": one for i, one in enumerate(columns, 1)}, copy=False)
    return _frame_source("the DataFrame", names, numbered)


def _forward(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column that DuckDB can read: it cannot read memory backwards, as in `[::-1]`."""
    if isinstance(column.dtype, np.dtype) and column.to_numpy(copy=False).strides[0] >= 0:
        return column
    return column.copy()


def _arrow(frame: Any) -> Source:
    name = f"the {type(frame).__name__}"
    stream = _Stream(frame)
    with connect(name) as connection:
        connection.register(FRAME, stream)
        rows = connection.execute(f"DESCRIBE {FRAME}").fetchall()
    return _frame_source(name, tuple(row[0] for row in rows), stream)


def _frame_source(name: str, names: tuple[str, ...], frame: object) -> Source:
    layout = Layout("frame", names, len(names))
    return Source(name, (LogFile(Path(name), layout),), frame=frame)


def _find(path: str, scratch: Scratch | None) -> list[Path]:
    """Return the files that a path stands for, in their order."""
    if path == STANDARD_INPUT and scratch is not None:
        return [_copy_standard_input(scratch)]
    found = Path(path)
    if found.is_dir():
        files = _in_order(_in_folder(found))
        if not files:
            raise LogError(
                f"{path!r} is a folder without a log. Logs in folders have names that end in "
                f"{', '.join(sorted(_SUFFIXES))}, also with .gz after it."
            )
    elif _PATTERN & set(path) and not found.exists():
        files = _in_order(
            one
            for one in map(Path, glob.glob(path, recursive=True))  # noqa: PTH207
            if one.is_file()
        )
        if not files:
            raise LogError(f"No file matches {path!r}.")
    elif not found.exists():
        raise LogError(
            f"There is no log {path!r}. Check the path. To try it out, make a log with: "
            "crossbandit make-log log.csv"
        )
    elif not found.is_file():
        raise LogError(f"{path!r} is neither a file nor a folder.")
    else:
        files = [found]
    for file in files:
        if _PATTERN & set(str(file)):
            raise LogError(f"The path of a log may not contain any of * ? [. Rename {str(file)!r}.")
    return files


def _in_folder(folder: Path) -> list[Path]:
    return [
        path
        for path in folder.rglob("*")
        if path.is_file()
        and not any(part[0] in "._" for part in path.relative_to(folder).parts)
        and Path(path.name.removesuffix(".gz")).suffix.lower() in _SUFFIXES
    ]


def _in_order(paths: Iterable[Path]) -> list[Path]:
    """Return paths sorted by name, with numbers in names sorted by size: part-2 before part-10."""

    def key(path: Path) -> list[tuple[int, int, str]]:
        parts = re.split(r"(\d+)", str(path))
        return [(1, int(part), "") if part.isdecimal() else (0, 0, part) for part in parts]

    return sorted(paths, key=key)


def _copy_standard_input(scratch: Scratch) -> Path:
    """Copy the standard input to a file, because a log is read more than once."""
    if sys.stdin.isatty():
        raise LogError("The standard input is a terminal. Send a log to it, or name a file.")
    path = scratch.folder / "standard-input"
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return path


def _partition_keys(paths: Sequence[Path]) -> tuple[str, ...]:
    """Return the names that folders such as `day=5` give to columns."""
    keys = {
        path: tuple(part.partition("=")[0] for part in path.parts[:-1] if "=" in part)
        for path in paths
    }
    first = keys[paths[0]]
    other = next((path for path in paths if keys[path] != first), None)
    if other is not None:
        raise LogError(
            f"{other} and {paths[0]} are not in folders of the same names. With --partitions, all "
            "files must be in folders such as day=5."
        )
    if not first:
        raise LogError(f"{paths[0]} is not in a folder such as day=5. Leave --partitions out.")
    return first
