"""Make synthetic logs: similar to those of an ad exchange, or drawn from known distributions."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import duckdb
import numpy as np
import pandas as pd

from crossbandit.core.streams import stream
from crossbandit.core.types import Floats
from crossbandit.core.validation import choice, integer, number, reject
from crossbandit.errors import LogError
from crossbandit.logs.files import first_line, hide_progress, literal

HIGHEST_VALUE = 10.0
_DAYS = 14.0
_START = np.datetime64(datetime(2026, 1, 5, tzinfo=UTC).replace(tzinfo=None), "ms")  # a Monday
_CHUNK = 65_536  # changing it would change the random numbers of a log
_FORMATS = {
    ".csv": "FORMAT csv, HEADER, TIMESTAMPFORMAT '%Y-%m-%dT%H:%M:%S.%g'",
    ".parquet": "FORMAT parquet, COMPRESSION zstd",
}


def make_log(
    path: str | Path,
    auctions: int,
    *,
    seed: int = 0,
    laws: Literal["realistic", "known"] = "realistic",
    correlation: float | None = None,
    sites: int = 0,
    overwrite: bool = False,
) -> Path:
    """Write a synthetic log of first-price auctions.

    The columns are timestamp, value and highest_competing_bid; the auctions cover 14 days. The
    memory used does not depend on their number. The same arguments give the same bytes.

    Args:
        path: The file to write; its name ends in .csv or .parquet.
        auctions: The number of auctions.
        seed: The seed of the random numbers.
        laws: "realistic" or "known". If "realistic", values and competing bids are correlated and
            depend on the hour, competition grows by a third from the first day to the last, and
            many competing bids are round numbers. If "known", values are uniform in [0, 10] and
            competing bids ten times a Beta(2, 4) number, all independent.
        correlation: How the logarithms of values and competing bids correlate, from 0 to 1; only
            with "realistic". None for 0.26.
        sites: The number of sites, each with its own level of competing bids; above 0, the log has
            a column site. Only with "realistic".
        overwrite: Whether to replace an existing file.

    Returns:
        The path of the file.

    Raises:
        LogError: The file exists already, or cannot be written.
        InvalidParameterError: An argument is invalid.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     log = make_log(Path(folder) / "log.csv", 100, seed=1)
    ...     log.read_text().splitlines()[0]
    'timestamp,value,highest_competing_bid'
    """
    path = Path(path)
    integer("make_log", "auctions", auctions, at_least=1)
    integer("make_log", "seed", seed, at_least=0)
    choice("make_log", "laws", laws, LAWS)
    integer("make_log", "sites", sites, at_least=0)
    if correlation is not None:
        number("make_log", "correlation", correlation, at_least=0, at_most=1)
    if laws != "realistic" and (correlation is not None or sites):
        reject("make_log", "laws", "'realistic' with a correlation or sites", laws)
    if path.suffix not in _FORMATS:
        reject("make_log", "path", "a name that ends in .csv or .parquet", str(path))
    if path.is_dir():
        raise LogError(f"{str(path)!r} is a folder. Choose another name.")
    if path.exists() and not overwrite:
        raise LogError(
            f"{path} exists already. Choose another name, or replace it with --force "
            "(overwrite=True in Python)."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".make-log-") as scratch:
        complete = Path(scratch) / path.name
        try:
            chunks = _chunks(auctions, seed, laws, correlation, sites)
            _write(complete, chunks, with_sites=sites > 0)
        except duckdb.InterruptException:
            raise KeyboardInterrupt from None
        except duckdb.Error as error:
            raise LogError(f"{path} cannot be written: {first_line(error)}.") from error
        complete.replace(path)
    return path


def _write(path: Path, chunks: Iterator[pd.DataFrame], *, with_sites: bool) -> None:
    """Collect the chunks in a table on disk, then write the file: this bounds the memory."""
    config: dict[str, Any] = {"threads": 1, "memory_limit": "256MB"}
    with duckdb.connect(path.with_suffix(".duckdb"), config=config) as connection:
        hide_progress(connection)
        connection.execute(
            "CREATE TABLE log (timestamp TIMESTAMP, value DECIMAL(18, 4), "
            f"highest_competing_bid DECIMAL(18, 4){', site VARCHAR' if with_sites else ''})"
        )
        for chunk in chunks:
            connection.register("chunk", chunk)
            connection.execute("INSERT INTO log SELECT * FROM chunk")
            connection.unregister("chunk")
        connection.execute(f"COPY log TO {literal(str(path))} ({_FORMATS[path.suffix]})")


def _chunks(
    auctions: int, seed: int, laws: str, correlation: float | None, sites: int
) -> Iterator[pd.DataFrame]:
    generator, chosen = stream(seed, "log"), stream(seed, "sites")
    parts = (0.3, 0.5)
    if correlation is not None:
        parts = (math.sqrt(0.34 * correlation), math.sqrt(0.34 * (1 - correlation)))
    names = np.array([f"site-{i + 1:0{len(str(sites))}d}" for i in range(sites)])
    levels = np.exp(chosen.normal(0.0, 0.4, sites))
    sizes = 1 / np.arange(1, sites + 1)
    for start in range(0, auctions, _CHUNK):
        numbers = np.arange(start, min(start + _CHUNK, auctions))
        days = _days(numbers / auctions)
        values, prices = LAWS[laws](days, generator, parts)
        moments = _START + (86_400_000 * days).astype("timedelta64[ms]")
        frame = pd.DataFrame({"timestamp": moments, "value": values, "price": prices})
        if sites:
            drawn = chosen.choice(sites, numbers.size, p=sizes / sizes.sum())
            frame["price"] = np.round(np.minimum(prices * levels[drawn], 2 * HIGHEST_VALUE), 2)
            frame["site"] = names[drawn]
        yield frame


def _days(shares: Floats) -> Floats:
    """Return the times of the auctions, in days; most of them are in the evening."""
    days = np.linspace(0.0, _DAYS, 24 * int(_DAYS) + 1)
    busy = days + 0.09 * np.sin(2 * np.pi * (days - 0.85))
    times: Floats = np.interp(shares * (busy[-1] - busy[0]) + busy[0], busy, days)
    return times


def _realistic(
    days: Floats, generator: np.random.Generator, parts: tuple[float, float]
) -> tuple[Floats, Floats]:
    """Return values and prices. parts: the weights of the shared factor and of the others.

    Values and prices share a normal factor, since an impression that is valuable to us is often
    valuable to others. A fifth of the prices are rounded up to a multiple of a half, like limits
    that people have typed in.
    """
    count = days.size
    shared, own, theirs = generator.standard_normal((3, count))
    evening = np.cos(2 * np.pi * (days - 0.85))
    values = 2.6 * np.exp(parts[0] * shared + parts[1] * own + 0.1 * evening)
    level = 1.25 * (1 + days / (3 * _DAYS)) * np.exp(0.22 * evening)
    prices = level * np.exp(parts[0] * shared + parts[1] * theirs)
    typed = generator.random(count) < 0.2
    prices = np.where(typed, np.ceil(2 * prices) / 2, np.round(prices, 2))
    return np.round(np.minimum(values, HIGHEST_VALUE), 4), np.minimum(prices, 2 * HIGHEST_VALUE)


def _known(days: Floats, generator: np.random.Generator, _: object) -> tuple[Floats, Floats]:
    values, prices = generator.random(days.size), generator.beta(2, 4, days.size)
    return np.round(HIGHEST_VALUE * values, 4), np.round(HIGHEST_VALUE * prices, 4)


LAWS = {"realistic": _realistic, "known": _known}
