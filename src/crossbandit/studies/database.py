"""Open a results file, check its contents, and turn errors of DuckDB into clear ones.

A results file may come from an untrusted source. So it is opened without access to other files or
to the network, and it may contain only tables of known types, because a view or a macro is code.
"""

from __future__ import annotations

import errno
import os
import re
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import duckdb

from crossbandit.errors import ResultsError
from crossbandit.studies.plan import FORMAT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

FILE_NAME = "results.duckdb"

_TEXT, _COUNT, _NUMBER = "VARCHAR NOT NULL", "BIGINT NOT NULL", "DOUBLE NOT NULL"
_CELL = {"cell": _TEXT, "environment": _TEXT, "algorithm": _TEXT, "seed": _COUNT}
_TABLES: Mapping[str, Mapping[str, str]] = {
    "about": {"format": "INTEGER NOT NULL"},
    "cells": {
        **_CELL,
        "cell": "VARCHAR PRIMARY KEY",
        "horizon": _COUNT,
        "final_regret": _NUMBER,
        "loss": _NUMBER,
        "comparator_loss": _NUMBER,
        "seconds": _NUMBER,
        "version": _TEXT,
        "curve_rounds": "BIGINT[] NOT NULL",
        "curve_regret": "DOUBLE[] NOT NULL",
        "provenance": "VARCHAR",
        "parameters": "VARCHAR",
    },
    "members": {
        "study": _TEXT,
        "part": _TEXT,
        "cell": _TEXT,
        "environment_name": _TEXT,
        "algorithm_name": _TEXT,
        "position": _COUNT,
    },
    "failures": {
        **_CELL,
        "error": _TEXT,
        "version": _TEXT,
        "failed_at": "TIMESTAMP NOT NULL",
        "location": "VARCHAR",
        "traceback": "VARCHAR",
        "provenance": "VARCHAR",
    },
    "sources": {"cell": _TEXT, "file": _TEXT, "sha256": _TEXT},
}

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


def connect(path: Path, *, read_only: bool) -> Any:
    """Return a connection to a results file, whose contents are checked.

    Raises:
        ResultsError: The file is in use, damaged, of another kind or format, or contains more than
            tables.
    """
    try:
        connection = duckdb.connect(path, read_only=read_only, config=_CONFIG)
    except duckdb.Error as error:
        raise _cannot_open(path, error) from error
    try:
        if not read_only:
            _create(path, connection)
        _check(path, connection)
    except BaseException:
        close(connection)
        raise
    return connection


def close(connection: Any) -> None:
    """Close a connection. What was committed is safe even if this fails."""
    with suppress(duckdb.Error):  # the next opening takes the rest from the log file
        connection.close()


def columns(connection: Any, table: str) -> dict[str, str]:
    """Return the types of the columns of a table, by their names."""
    rows = connection.execute(
        "SELECT column_name, data_type FROM duckdb_columns() "
        "WHERE table_name = ? AND NOT internal ORDER BY column_index",
        [table],
    ).fetchall()
    return dict(rows)


@contextmanager
def clear_errors(path: Path, action: str) -> Iterator[None]:
    """Turn an error of DuckDB into a sentence that names the file and what to do."""
    try:
        yield
    except RuntimeError as error:
        if "Query interrupted" in str(error):  # this is how DuckDB reports Ctrl-C
            raise KeyboardInterrupt from error
        raise
    except duckdb.Error as error:
        text = f"{path} cannot be {action}: {_first_line(error)}{_advice(error)}"
        raise ResultsError(text) from error


def _cannot_open(path: Path, error: duckdb.Error) -> ResultsError:
    text = str(error)
    if "lock" in text and "set lock" in text:
        holder = re.search(r"PID (\d+)", text)
        who = f"process {holder[1]}" if holder else "another process"
        return ResultsError(
            f"{path} is in use by {who}. Wait until it has finished, or choose another folder."
        )
    advice = _advice(error) if _DAMAGED.search(text) else ""
    return ResultsError(f"{path} cannot be opened: {_first_line(error)}{advice}")


def _create(path: Path, connection: Any) -> None:
    """Create the tables of a new file."""
    with clear_errors(path, "written"):
        if not connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            connection.begin()
            for table, types in _TABLES.items():
                connection.execute(f"CREATE TABLE {table} ({_definition(types)})")
            connection.execute("INSERT INTO about VALUES (?)", [FORMAT])
            connection.commit()


def _definition(types: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {type_}" for name, type_ in types.items())


def _check(path: Path, connection: Any) -> None:
    """Raise unless the file has this format, and the tables of this format with their types."""
    with clear_errors(path, "read"):
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
                f"format {FORMAT}."
            )
        for table, types in _TABLES.items():
            _check_table(path, connection, table, types)


def _check_table(path: Path, connection: Any, table: str, types: Mapping[str, str]) -> None:
    present = columns(connection, table)
    for name, definition in types.items():
        wanted = definition.partition(" ")[0]
        if present.get(name, wanted) != wanted:
            raise ResultsError(
                f"{path} is not a plain results file: the column {name!r} of its table {table!r} "
                f"must be of type {wanted}. Got {present[name]}."
            )
        if present and name not in present:
            raise ResultsError(
                f"{path} is not a plain results file: its table {table!r} has no column {name!r}."
            )


def _advice(error: duckdb.Error) -> str:
    """Return advice. It says that data is intact only if that is known."""
    if any(reason in str(error) for reason in _FULL):
        return " Earlier results are intact. Free some space, and run the same command again."
    if isinstance(error, duckdb.OutOfMemoryException):
        return ""
    return " The file may be damaged: restore it from a copy, or choose another folder."


def _first_line(error: Exception) -> str:
    line = str(error).splitlines()[0].strip()
    return line if line.endswith((".", "!")) else line + "."
