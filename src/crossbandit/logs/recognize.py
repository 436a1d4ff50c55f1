"""Find the files of a log, or take a data frame."""

from __future__ import annotations

import glob
import os
import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from crossbandit.errors import LogError
from crossbandit.logs.database import connect
from crossbandit.logs.layout import Layout, LogFile, recognize_file
from crossbandit.logs.scratch import Scratch
from crossbandit.logs.source import FRAME, Source
from crossbandit.validation import reject

if TYPE_CHECKING:
    from collections.abc import Sequence

STANDARD_INPUT = "-"
_PATTERN = set("*?[")
_SUFFIXES = {".csv", ".tsv", ".txt", ".log", ".json", ".jsonl", ".ndjson", ".parquet"}
_EXPECTED = (
    "the path of a CSV, JSON lines or Parquet file, of a folder or several of them, or a data frame"
)


class _Stream:
    """A data frame that hands itself out as Arrow data each time it is read."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


def recognize(data: object, kind: str | None = None, *, partitions: bool = False) -> Source:
    """Return what files or a data frame hold.

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
    """Return paths in the order of their names, numbers in them by size: part-2 before part-10."""

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
