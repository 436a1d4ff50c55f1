"""Open DuckDB connections that read logs, make temporary folders, and quote text for SQL."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from crossbandit.errors import LogError

if TYPE_CHECKING:
    from collections.abc import Iterator


# Megabytes for DuckDB. It keeps text that it has read, up to the limit, so text gets little.
TEXT, TABLES = 24, 128
_MOST = 4096


class Memory:
    """How much memory DuckDB may use for a log.

    DuckDB holds 2,048 lines at a time, or a row group of a Parquet file. If lines are very long,
    that is more than usual.

    Args:
        megabytes: How many megabytes are used at first. `fetch` raises this if a query needs more.
    """

    def __init__(self, megabytes: int) -> None:
        self.megabytes = megabytes

    def fetch(self, connection: duckdb.DuckDBPyConnection, query: str) -> list[tuple[Any, ...]]:
        """Run a query and return its rows. If it needs more memory, later queries get it too."""
        while True:
            try:
                return connection.execute(query).fetchall()
            except duckdb.OutOfMemoryException:
                if self.megabytes >= _MOST:
                    raise
                self.megabytes = min(8 * self.megabytes, _MOST)
                connection.execute(f"SET memory_limit = '{self.megabytes}MB'")


class Scratch:
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

    Args:
        name: What messages call the log.
        timezone: The zone of times without an offset.
        megabytes: How much memory DuckDB may use.

    Yields:
        The connection.

    Raises:
        LogError: DuckDB cannot read the log.
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


def literal(text: str) -> str:
    """Return text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
