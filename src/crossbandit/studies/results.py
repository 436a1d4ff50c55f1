"""Results as a data frame, and as files for other programs."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any, Literal

import duckdb
import pandas as pd

from crossbandit.errors import ResultsError
from crossbandit.studies.store import readable
from crossbandit.validation import choice

_CELLS = """
SELECT study, part, cell, environment, algorithm, environment_name, algorithm_name, seed, horizon,
       final_regret, loss, comparator_loss, seconds, version{curves}
FROM members JOIN cells USING (cell)
ORDER BY study, position
"""
_FAILURES = """
SELECT study, part, cell, environment_name, algorithm_name, environment, algorithm, seed,
       error, version, failed_at
FROM (SELECT *, row_number() OVER (PARTITION BY cell ORDER BY failed_at DESC, rowid DESC) AS age
      FROM failures)
JOIN members USING (cell)
WHERE age = 1 AND cell NOT IN (SELECT cell FROM cells)
ORDER BY study, position
"""


def load(source: str | Path, *, curves: bool = True) -> pd.DataFrame:
    """Return one row per finished cell of every part, in the order of the study file.

    `source` is a study's folder, or a results file by itself. Every parameter has a column of its
    own: `environment.alpha`, `environment.graph.radius`, `algorithm.eta`. Without `curves`, there
    are no columns `curve_rounds` and `curve_regret`, which take nearly all of the memory.
    """
    query = _CELLS.format(curves=", curve_rounds, curve_regret" if curves else "")
    with readable(source) as connection:
        rows = connection.execute(query).fetchall()
        names = [column[0] for column in connection.description]
    frame = pd.DataFrame(rows, columns=names)
    for side in ("environment", "algorithm"):
        for name, values in _parameters(side, frame[side]).items():
            frame[name] = values
    return frame


def failures(source: str | Path) -> pd.DataFrame:
    """Return one row per cell that failed and has not been finished since, with its last error."""
    with readable(source) as connection:
        rows = connection.execute(_FAILURES).fetchall()
        names = [column[0] for column in connection.description]
    return pd.DataFrame(rows, columns=names)


def export(
    source: str | Path, *, to: Literal["parquet", "csv"], out: str | Path | None = None
) -> Path:
    """Write what `load` returns into a Parquet or CSV file, and return its path.

    A file of that name is replaced, once the new one is complete. In CSV, curves are lists in
    brackets.
    """
    choice("export", "to", to, ("parquet", "csv"))
    frame = _uniform(load(source))
    source = Path(source)
    folder = source if source.is_dir() else source.parent
    path = folder / f"results.{to}" if out is None else Path(out)
    options = "FORMAT PARQUET, COMPRESSION ZSTD" if to == "parquet" else "FORMAT CSV, HEADER"
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
    return path


def _parameters(side: str, texts: pd.Series) -> dict[str, pd.Series]:
    """Return a column for each parameter; a JSON text that recurs is read once."""
    flat = {text: dict(_flat(side, json.loads(text))) for text in texts.unique()}
    columns = dict.fromkeys(name for parameters in flat.values() for name in parameters)
    return {
        name: _column([flat[text].get(name) for text in texts], texts.index) for name in columns
    }


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
        if frame[name].dtype == object and len(kinds) > 1:
            frame[name] = [None if v is None else json.dumps(v) for v in frame[name]]
    return frame
