"""The results of a study: one DuckDB file in its folder, written by one process at a time.

`cells` holds finished runs, and rows are only ever added to it. `members` says which cells belong
to which study and part, and under which names. `failures` holds errors with their time in UTC.
`sources` says with which files of the user a cell was computed. `about` holds the format.

`load`, `failures` and `export` give results to other programs.
"""

from __future__ import annotations

import errno
import json
import math
import os
import platform
import re
import subprocess
import tempfile
from collections import Counter
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, get_type_hints

import duckdb
import pandas as pd

import crossbandit
from crossbandit.core.building import fingerprint
from crossbandit.core.interrupts import interrupts_deferred
from crossbandit.core.report.text import csv_safe
from crossbandit.core.validation import choice
from crossbandit.errors import ResultsError
from crossbandit.studies.plan import FORMAT, Study, own_builders

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence


FILE_NAME = "results.duckdb"


class CellResult(NamedTuple):
    """A row of `cells`: a run. `provenance` and `parameters` are JSON objects."""

    cell: str
    environment: str
    algorithm: str
    seed: int
    horizon: int
    final_regret: float
    loss: float
    comparator_loss: float
    seconds: float
    version: str
    curve_rounds: list[int]
    curve_regret: list[float]
    provenance: str | None
    parameters: str | None
    pseudo_regret: float | None = None  # after the last round; None if it is not known


class CellFailure(NamedTuple):
    """A row of `failures`: an error, with the line of code that raised it, and the traceback."""

    cell: str
    environment: str
    algorithm: str
    seed: int
    error: str
    version: str
    failed_at: datetime
    location: str | None
    traceback: str | None
    provenance: str | None


class _Member(NamedTuple):
    """A row of `members`."""

    study: str
    part: str
    cell: str
    environment_name: str
    algorithm_name: str
    position: int


class _Source(NamedTuple):
    """A row of `sources`."""

    cell: str
    file: str
    sha256: str


_TYPES = {
    str: "VARCHAR NOT NULL",
    int: "BIGINT NOT NULL",
    float: "DOUBLE NOT NULL",
    list[int]: "BIGINT[] NOT NULL",
    list[float]: "DOUBLE[] NOT NULL",
    datetime: "TIMESTAMP NOT NULL",
    str | None: "VARCHAR",
    float | None: "DOUBLE",
}
_ROWS: dict[str, Any] = {
    "cells": CellResult,
    "members": _Member,
    "failures": CellFailure,
    "sources": _Source,
}
_TABLES = {
    "about": {"format": "INTEGER NOT NULL"},
    **{
        table: {name: _TYPES[kind] for name, kind in get_type_hints(row).items()}
        for table, row in _ROWS.items()
    },
}
_TABLES["cells"]["cell"] = "VARCHAR PRIMARY KEY"
_ADDED = "pseudo_regret"  # a column of `cells` that files of earlier versions do not have

# The system's messages if a disk, a quota or a file is full. DuckDB gives only this text.
_FULL = tuple(os.strerror(code) for code in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
# Messages of DuckDB for a DuckDB file that it cannot open.
_DAMAGED = re.compile(r"enough bytes|corrupt|checksum|replaying WAL", re.IGNORECASE)

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "python_enable_replacements": False,  # DuckDB must not use Python variables as tables
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "lock_configuration": True,
}


@contextmanager
def opened(path: Path, *, read_only: bool) -> Iterator[ResultStore]:
    """Open a results file, and check its contents."""
    with _clear_errors(path, "opened"):
        connection = duckdb.connect(path, read_only=read_only, config=_CONFIG)
    try:
        if not read_only:
            _create(path, connection)
        _check(path, connection)
        if not read_only:
            with _clear_errors(path, "written"):
                kind = _TABLES["cells"][_ADDED]
                connection.execute(f"ALTER TABLE cells ADD COLUMN IF NOT EXISTS {_ADDED} {kind}")
        yield ResultStore(path, connection)
    finally:
        with suppress(duckdb.Error):  # the next opening takes the rest from the log file
            connection.close()


@contextmanager
def writable(directory: str | Path) -> Iterator[ResultStore]:
    """Open the results of a folder for writing."""
    path = Path(directory) / FILE_NAME
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultsError(
            f"The folder {str(directory)!r} cannot be created: {error.strerror}."
        ) from error
    with opened(path, read_only=False) as store:
        yield store


def _fetched(source: str | Path, query: str) -> tuple[Path, pd.DataFrame]:
    """Return the path of a results file, and what a query finds in it."""
    path = Path(source)
    path = path / FILE_NAME if path.is_dir() else path
    if not path.is_file():
        raise ResultsError(
            f"There are no results in {str(source)!r}. The file {str(path)!r} does not exist. Give "
            "the folder of a study that was run, or its results file."
        )
    with opened(path, read_only=True) as store:
        frame = pd.DataFrame(store.rows(query), columns=store.columns)
    for name in _OPTIONAL.intersection(frame.columns) - {_ADDED}:
        frame[name] = frame[name].astype(object).where(frame[name].notna(), None)
    return path, frame


@contextmanager
def _clear_errors(path: Path, action: str) -> Iterator[None]:
    """Turn an error of DuckDB into a sentence that names the file and what to do."""
    try:
        yield
    except RuntimeError as error:
        if "Query interrupted" in str(error):  # this is how DuckDB reports Ctrl-C
            raise KeyboardInterrupt from error
        raise
    except duckdb.Error as error:
        text = str(error)
        if action == "opened" and "set lock" in text:
            holder = re.search(r"PID (\d+)", text)
            who = f"process {holder[1]}" if holder else "another process"
            raise ResultsError(
                f"{path} is in use by {who}. Wait until it has finished, or choose another folder."
            ) from error
        reason = text.splitlines()[0].strip()
        reason += "" if reason.endswith((".", "!")) else "."
        unknown = action == "opened" and not _DAMAGED.search(text)
        advice = "" if unknown else _advice(error)
        raise ResultsError(f"{path} cannot be {action}: {reason}{advice}") from error


def _advice(error: duckdb.Error) -> str:
    """Return advice. It says that data is intact only if that is known."""
    if any(reason in str(error) for reason in _FULL):
        return " Earlier results are intact. Free some space, and run the same command again."
    if isinstance(error, duckdb.OutOfMemoryException):
        return ""
    return " The file may be damaged: restore it from a copy, or choose another folder."


def _create(path: Path, connection: Any) -> None:
    """Create the tables of a new file."""
    with _clear_errors(path, "written"):
        if not connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            connection.begin()
            for table, types in _TABLES.items():
                columns = ", ".join(f"{name} {type_}" for name, type_ in types.items())
                connection.execute(f"CREATE TABLE {table} ({columns})")
            connection.execute("INSERT INTO about VALUES (?)", [FORMAT])
            connection.commit()


def _check(path: Path, connection: Any) -> None:
    """Raise unless the file has this format, and the tables of this format with their types."""
    with _clear_errors(path, "read"):
        code = connection.execute(
            "SELECT view_name FROM duckdb_views() WHERE NOT internal UNION ALL "
            "SELECT function_name FROM duckdb_functions() WHERE NOT internal"
        ).fetchall()
        if code:
            raise ResultsError(
                f"{path} is not a plain results file: it contains the view or macro "
                f"{code[0][0]!r}, which could run code of the file's author. Use a file that "
                "contains tables only."
            )
        try:
            found = connection.execute("SELECT format FROM about").fetchall()
        except (duckdb.CatalogException, duckdb.BinderException) as error:
            raise ResultsError(f"{path} contains no results of Crossbandit.") from error
        if found != [(FORMAT,)]:
            raise ResultsError(
                f"{path} was written in another format, {found}. This version of Crossbandit reads "
                f"format {FORMAT}. Read it with the version that wrote it, or run the study again."
            )
        rows = connection.execute(
            "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal"
        ).fetchall()
    for table, types in _TABLES.items():
        present = {name: type_ for owner, name, type_ in rows if owner == table}
        for name, definition in types.items() if present else ():
            wanted = definition.partition(" ")[0]
            if name not in present and name != _ADDED:
                raise ResultsError(
                    f"{path} is not a plain results file: its table {table!r} has no column "
                    f"{name!r}."
                )
            if present.get(name, wanted) != wanted:
                raise ResultsError(
                    f"{path} is not a plain results file: the column {name!r} of its table "
                    f"{table!r} must be of type {wanted}. Got {present[name]}."
                )


class ResultStore:
    """An open results file."""

    def __init__(self, path: Path, connection: Any) -> None:
        self.path = path
        self.connection = connection

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return what a query finds."""
        with _clear_errors(self.path, "read"):
            found: list[tuple[Any, ...]] = self.connection.execute(query).fetchall()
        return found

    @property
    def columns(self) -> list[str]:
        """The names of the columns of the last query."""
        return [column[0] for column in self.connection.description]

    def enroll(self, study: Study) -> None:
        """Store which cells belong to the study. A changed name replaces the old one."""
        plan = [
            _Member(study.name, x.part, x.key, x.environment_name, x.algorithm_name, i)
            for i, x in enumerate(study.cells)
        ]
        names = ", ".join(_Member._fields)
        with self._transaction(), self._registered("plan", plan, _Member):
            new = self.connection.execute(
                f"SELECT count(*) FROM (SELECT {names} FROM plan EXCEPT "  # noqa: S608
                f"SELECT {names} FROM members)"
            ).fetchall()
            if new[0][0]:
                self.connection.execute(
                    "DELETE FROM members USING plan WHERE members.study = plan.study "
                    "AND members.part = plan.part AND members.cell = plan.cell"
                )
                self._insert("members", plan)

    def finished(self) -> set[str]:
        """Return the keys of all finished cells."""
        return {key for (key,) in self.rows("SELECT cell FROM cells")}

    def provenances(self, cells: Collection[str]) -> set[str | None]:
        """Return the different provenances of the given cells; None if there is none."""
        rows = self.rows("SELECT cell, provenance FROM cells")
        return {provenance for cell, provenance in rows if cell in cells}

    def changed(self, cells: Collection[str], sources: Mapping[str, str]) -> dict[str, int]:
        """Return which files have changed since cells were computed with them."""
        rows = self.rows("SELECT file, sha256, cell FROM sources")
        now = set(sources.values())
        return Counter(file for file, hash_, cell in rows if hash_ not in now and cell in cells)

    def add(self, results: Sequence[CellResult | CellFailure], sources: Mapping[str, str]) -> None:
        """Store a batch completely or not at all. When this returns, it survives a crash."""
        finished = [result for result in results if isinstance(result, CellResult)]
        own = [cell.cell for cell in finished if own_builders(cell.environment, cell.algorithm)]
        with self._transaction():
            self._insert("cells", finished)
            self._insert(
                "sources", [_Source(cell, *source) for cell in own for source in sources.items()]
            )
            self._insert("failures", [one for one in results if isinstance(one, CellFailure)])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with _clear_errors(self.path, "written"), interrupts_deferred():
            self.connection.begin()
            try:
                yield
                self.connection.commit()
            except BaseException:
                with suppress(duckdb.Error):  # the first error says why it is broken
                    self.connection.rollback()
                raise

    @contextmanager
    def _registered(self, name: str, rows: Sequence[Any], kind: Any) -> Iterator[None]:
        """Let queries use rows as a table."""
        self.connection.register(name, pd.DataFrame(rows, columns=kind._fields))
        yield
        self.connection.unregister(name)

    def _insert(self, table: str, rows: Sequence[Any]) -> None:
        names = ", ".join(_ROWS[table]._fields)
        if rows:
            with self._registered("fresh", rows, _ROWS[table]):
                self.connection.execute(
                    f"INSERT INTO {table} ({names}) SELECT {names} FROM fresh"  # noqa: S608
                )


# --- results for other programs ------------------------------------------------------------------


_CELLS = """
SELECT study, part, cell, environment, algorithm, environment_name, algorithm_name, seed, horizon,
       final_regret, loss, comparator_loss, seconds, version, provenance, parameters,
       pseudo_regret{curves}
FROM members
JOIN (FROM cells UNION ALL BY NAME SELECT NULL::DOUBLE AS pseudo_regret WHERE false) USING (cell)
ORDER BY study, position
"""
_FAILURES = """
SELECT study, part, cell, environment_name, algorithm_name, environment, algorithm, seed,
       error, version, location, traceback, provenance, failed_at
FROM (SELECT *, row_number() OVER (PARTITION BY cell ORDER BY failed_at DESC, rowid DESC) AS age
      FROM failures)
JOIN members USING (cell)
WHERE age = 1 AND cell NOT IN (SELECT cell FROM cells)
ORDER BY study, position
"""
_NUMBERS = ("final_regret", "loss", "comparator_loss", "seconds")
_OPTIONAL = {"provenance", "parameters", "location", "traceback", "pseudo_regret"}


def load(source: str | Path, *, curves: bool = True) -> pd.DataFrame:
    """Return one row per finished cell of every part, in the order of the study file.

    Every parameter has its own column: `environment.alpha`, `environment.graph.radius`,
    `algorithm.eta`. The columns `parameters.eta` and so on have the values that were used: given
    ones, and those that the tuning rule chose.

    Args:
        source: The folder of a study, or a results file.
        curves: Whether to load the columns `curve_rounds` and `curve_regret`, which take nearly
            all of the memory.

    Returns:
        The cells. `provenance` and `parameters` are JSON objects.

    Raises:
        ResultsError: There are no results, or they are damaged or not plain results.
    """
    query = _CELLS.format(curves=", curve_rounds, curve_regret" if curves else "")
    path, frame = _fetched(source, query)
    try:
        _check_cells(frame)
        for side in ("environment", "algorithm", "parameters"):
            for name, values in _parameter_columns(side, frame[side]).items():
                frame[name] = values
    except ValueError as error:
        raise ResultsError(f"{path} is damaged: {error}. Restore it from a copy.") from error
    return frame


def failures(source: str | Path) -> pd.DataFrame:
    """Return one row per cell that failed and has not been finished since, with its last error.

    Args:
        source: The folder of a study, or a results file.

    Returns:
        The cells. `error` is the error, `location` the file and line that raised it and
        `traceback` the whole traceback.

    Raises:
        ResultsError: There are no results, or they are damaged or not plain results.
    """
    return _fetched(source, _FAILURES)[1]


def export(
    source: str | Path, *, to: Literal["parquet", "csv"], out: str | Path | None = None
) -> Path:
    """Write what `load` returns into a Parquet or CSV file.

    An existing file is replaced once the new one is complete. If cells have failed, what `failures`
    returns is written to a second file, whose name has "failures" in it. In CSV, curves are lists
    in brackets, and a text that a spreadsheet would take for a formula begins with an apostrophe.

    Args:
        source: The folder of a study, or a results file.
        to: "parquet" or "csv".
        out: The file; None for `results.parquet` or `results.csv` in the folder of the study.

    Returns:
        The path of the file.

    Raises:
        ResultsError: There are no results, they are damaged, or the file cannot be written.
    """
    choice("export", "to", to, ("parquet", "csv"))
    frame, failed = load(source), failures(source)
    source = Path(source)
    folder = source if source.is_dir() else source.parent
    path = folder / f"results.{to}" if out is None else Path(out)
    _write(frame, path, to)
    if len(failed):
        stem = "failures" if out is None else f"{path.stem}-failures"
        _write(failed, path.with_name(f"{stem}.{to}"), to)
    return path


def _check_cells(frame: pd.DataFrame) -> None:
    """Raise a ValueError unless every number is finite and every curve complete."""
    required = [name for name in frame.columns if name not in _OPTIONAL]
    missing = frame[required].isna().any()
    if missing.any():
        raise ValueError(f"a cell has no {missing.idxmax()}")
    for name in _NUMBERS:
        for value in frame[name]:
            if not math.isfinite(value):
                raise ValueError(f"a cell has the {name} {value}")
    if (frame["seed"] < 0).any() or (frame["horizon"] < 1).any():
        raise ValueError("a cell has a negative seed, or no rounds")
    if "curve_regret" not in frame:
        return
    for rounds, regret in zip(frame["curve_rounds"], frame["curve_regret"], strict=True):
        if not rounds or len(rounds) != len(regret):
            raise ValueError(f"a curve has {len(rounds)} rounds and {len(regret)} values")
        if None in rounds or None in regret or not all(map(math.isfinite, regret)):
            raise ValueError("a curve has a value that is not a finite number")


def _write(frame: pd.DataFrame, path: Path, to: str) -> None:
    """Write a frame into a file, which appears once it is complete."""
    frame = _uniform(frame)
    options = "FORMAT PARQUET, COMPRESSION ZSTD"
    if to == "csv":
        options = "FORMAT CSV, HEADER"
        for name in frame.columns:
            if frame[name].map(lambda value: isinstance(value, str)).any():
                frame[name] = frame[name].map(csv_safe)
    try:
        with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
            fresh = Path(scratch) / path.name
            with duckdb.connect() as connection:
                connection.register("frame", frame)
                name = str(fresh).replace("'", "''")
                connection.execute(f"COPY frame TO '{name}' ({options})")
            fresh.replace(path)
    except (OSError, duckdb.Error) as error:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else error
        raise ResultsError(f"{path} cannot be written: {reason}.") from error


def _parameter_columns(side: str, texts: pd.Series) -> dict[str, pd.Series]:
    """Return a column for each parameter; a JSON text that recurs is read once."""
    read = {text: dict(flat(side, _object(side, text))) for text in texts.unique()}
    names = dict.fromkeys(name for parameters in read.values() for name in parameters)
    return {name: _column([read[text].get(name) for text in texts], texts.index) for name in names}


def _object(side: str, text: str | None) -> dict[str, Any]:
    """Return a JSON object, or raise a ValueError that says what there is instead."""
    if text is None:
        return {}

    def no_number(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not a finite number")

    try:
        data = json.loads(text, parse_constant=no_number)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the {side} of a cell is not valid JSON ({error})") from error
    if not isinstance(data, dict):
        raise ValueError(f"the {side} of a cell is not a JSON object")  # noqa: TRY004
    return data


def flat(prefix: str, data: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the leaves of nested objects by their paths; an inner object has its name, too."""
    leaves: list[tuple[str, Any]] = []
    for key, value in data.items():
        path = f"{prefix}.{key}" if prefix else key
        if isinstance(value, dict):
            leaves.append((path, value.get("name")))
            leaves += flat(path, {name: leaf for name, leaf in value.items() if name != "name"})
        else:
            leaves.append((path, value))
    return leaves


def _column(values: list[Any], index: pd.Index) -> pd.Series:
    """Return a column whose integers stay integers, also where some are missing."""
    kinds = {type(value) for value in values}
    if int in kinds and any(abs(value) >= 2**63 for value in values if type(value) is int):
        return pd.Series(values, index=index, dtype="object")
    if kinds == {int, type(None)}:
        return pd.Series(values, index=index, dtype="Int64")
    if len(kinds) == 1 and kinds <= {int, float, bool, str}:
        return pd.Series(values, index=index)
    if kinds == {float, type(None)}:
        return pd.Series(values, index=index, dtype="float64")
    return pd.Series(values, index=index, dtype="object")


def _uniform(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with values of several types in one column written as JSON text."""
    frame = frame.copy()
    for name in frame.columns:
        kinds = {type(value) for value in frame[name] if value is not None}
        big = int in kinds and frame[name].dtype == object
        if frame[name].dtype == object and (len(kinds) > 1 or big):
            frame[name] = [None if v is None else json.dumps(v) for v in frame[name]]
    return frame


_UNKNOWN = "unknown"


@cache
def provenance() -> str:
    """Return the provenance of results of this process, as a JSON object.

    Its keys are `crossbandit` (the version), `commit` (null if unknown), `python`, `numpy`, `cores`
    (a checksum of the code that is compiled) and `processor`.
    """
    facts = {
        "crossbandit": crossbandit.__version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "numpy": metadata.version("numpy"),
        "cores": fingerprint(),
        "processor": _processor(),
    }
    return json.dumps(facts, sort_keys=True)


def differences(texts: Iterable[str | None]) -> dict[str, list[str]]:
    """Return the facts in which cells differ.

    Args:
        texts: The provenance of each cell, as JSON; None if it is unknown.

    Returns:
        The values of each fact that has more than one; "unknown" for missing ones.

    >>> differences(['{"numpy": "2.1"}', '{"numpy": "2.2"}'])
    {'numpy': ['2.1', '2.2']}
    """
    found = fact_values(texts)
    return {name: sorted(values) for name, values in found.items() if len(values) > 1}


def fact_values(texts: Iterable[str | None]) -> dict[str, list[str]]:
    """Return the values of every fact, each once, in the order of the cells."""
    parsed = [
        json.loads(text) if isinstance(text, str) and text else {} for text in dict.fromkeys(texts)
    ]
    cells: list[dict[str, Any]] = [one if isinstance(one, dict) else {} for one in parsed]
    names = dict.fromkeys(name for cell in cells for name in cell)
    return {
        name: list(dict.fromkeys(str(cell.get(name) or _UNKNOWN) for cell in cells))
        for name in names
    }


def _commit() -> str | None:
    """Return the commit of the code that runs, if it was installed from one or is in a checkout."""
    try:
        origin = metadata.distribution("crossbandit").read_text("direct_url.json")
        commit = json.loads(origin or "{}").get("vcs_info", {}).get("commit_id")
    except (metadata.PackageNotFoundError, ValueError, AttributeError):
        commit = None
    folder = Path(crossbandit.__file__).parent
    # If the package is installed inside another checkout, that checkout does not track it.
    if commit is None and _git(folder, "ls-files", "--error-unmatch", "__init__.py"):
        commit = _git(folder, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
    return None if commit is None else str(commit)


def _git(folder: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(folder), *arguments]
    try:
        result = subprocess.run(  # noqa: S603 - the words above, and the folder of this package
            command, capture_output=True, text=True, check=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip() or None


def _processor() -> str:
    """Return the name of the processor, as the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine() or _UNKNOWN
