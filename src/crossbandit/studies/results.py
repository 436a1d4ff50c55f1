"""Results as a data frame, and as files for other programs."""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
import tempfile
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import duckdb
import pandas as pd

import crossbandit
from crossbandit.core.building import fingerprint
from crossbandit.errors import ResultsError
from crossbandit.report.text import csv_safe
from crossbandit.studies.store import readable
from crossbandit.validation import choice

if TYPE_CHECKING:
    from collections.abc import Iterable


_CELLS = """
SELECT study, part, cell, environment, algorithm, environment_name, algorithm_name, seed, horizon,
       final_regret, loss, comparator_loss, seconds, version, provenance, parameters{curves}
FROM members JOIN cells USING (cell)
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
_OPTIONAL = {"provenance", "parameters", "location", "traceback"}


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
    with readable(source) as (path, connection):
        query = _CELLS.format(curves=", curve_rounds, curve_regret" if curves else "")
        frame = _fetch(connection, query)
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
    with readable(source) as (_, connection):
        return _fetch(connection, _FAILURES)


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


def _fetch(connection: Any, query: str) -> pd.DataFrame:
    rows = connection.execute(query).fetchall()
    names = [column[0] for column in connection.description]
    frame = pd.DataFrame(rows, columns=names)
    for name in _OPTIONAL.intersection(names):
        frame[name] = frame[name].astype(object).where(frame[name].notna(), None)
    return frame


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
    flat = {text: dict(_flat(side, _object(side, text))) for text in texts.unique()}
    names = dict.fromkeys(name for parameters in flat.values() for name in parameters)
    return {name: _column([flat[text].get(name) for text in texts], texts.index) for name in names}


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


def _flat(prefix: str, data: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the leaves of nested objects, without the name, which has a column already."""
    leaves: list[tuple[str, Any]] = []
    for key, value in data.items():
        if isinstance(value, dict):
            leaves.append((f"{prefix}.{key}", value.get("name")))
            inner = {name: leaf for name, leaf in value.items() if name != "name"}
            leaves.extend(_flat(f"{prefix}.{key}", inner))
        else:
            leaves.append((f"{prefix}.{key}", value))
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
    cells = [_facts_of(text) for text in dict.fromkeys(texts)]
    names = dict.fromkeys(name for cell in cells for name in cell)
    return {
        name: list(dict.fromkeys(str(cell.get(name) or _UNKNOWN) for cell in cells))
        for name in names
    }


def _facts_of(text: object) -> dict[str, Any]:
    """Return a JSON object; an empty one for anything else."""
    found = json.loads(text) if text and isinstance(text, str) else None
    return found if isinstance(found, dict) else {}


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
