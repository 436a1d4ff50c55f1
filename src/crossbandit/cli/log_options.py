"""Options about logs, which several commands have."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crossbandit.logs import AuctionLog

_COLUMN = "a name or a 1-based index."


class LogFormat(StrEnum):
    """What a log holds."""

    auto = "auto"
    csv = "csv"
    parquet = "parquet"
    jsonl = "jsonl"
    openrtb = "openrtb"
    google = "google"
    ipinyou = "ipinyou"


class Unit(StrEnum):
    """Units of amounts, for one impression or for a thousand."""

    units = "units"
    cents = "cents"
    micros = "micros"
    cpm = "cpm"
    cpm_cents = "cpm-cents"
    cpm_micros = "cpm-micros"


class Ties(StrEnum):
    """What happens to a bid that equals the highest competing bid."""

    win = "win"
    lose = "lose"


def _column(what: str, default: str = "") -> Any:
    return typer.Option(metavar="COLUMN", help=f"Column with {what}: {_COLUMN}{default}")


_BY_NAME = " \\[default: by usual names]"
Logs = Annotated[
    list[str],
    typer.Argument(
        metavar="LOG...",
        help="CSV, JSON lines or Parquet files, folders, patterns, or - for the standard input.",
    ),
]
Format = Annotated[
    LogFormat,
    typer.Option("--format", help="What the log holds. 'auto' recognises it from the content."),
]
Reserve = Annotated[float, typer.Option(min=0, help="The lowest bid that can win.")]
TiesRule = Annotated[
    Ties | None,
    typer.Option(
        help="What a bid does that equals the highest competing bid. "
        "\\[default: as the format says; otherwise win]"
    ),
]
ValueColumn = Annotated[str | None, _column("the value", _BY_NAME)]
PriceColumn = Annotated[str | None, _column("the highest competing bid", _BY_NAME)]
BidColumn = Annotated[str | None, _column("your own bids, to compare with")]
ReserveColumn = Annotated[str | None, _column("a reserve per auction")]
WonColumn = Annotated[str | None, _column("whether you won")]
TimeColumn = Annotated[str | None, _column("the time")]
PropensityColumn = Annotated[str | None, _column("the probability of your bid")]
ClassColumn = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help=f"Column with a class, such as a site, that laws use; may be repeated: {_COLUMN}",
    ),
]
ValueUnit = Annotated[
    Unit | None,
    typer.Option(help="Unit of the values. All amounts become units of money for one impression."),
]
PriceUnit = Annotated[
    Unit | None,
    typer.Option(help="Unit of prices, bids and reserves. All amounts become units of money."),
]
Currency = Annotated[
    str | None, typer.Option(metavar="CODE", help="Of notices in several currencies, keep this.")
]
PriceLoss = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CODE",
        help="A code of losses that are about the price; may be repeated. "
        "\\[default: as the format says]",
    ),
]
SortBy = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column of times or numbers by which lines are sorted."),
]
Timezone = Annotated[str, typer.Option(metavar="ZONE", help="Zone of times without an offset.")]
Partitions = Annotated[
    bool, typer.Option("--partitions", help="Names of folders such as day=5 are columns.")
]
HighestValue = Annotated[
    float | None,
    typer.Option(help="A bound of the values. \\[default: the highest value of the log]"),
]
Limit = Annotated[
    int | None,
    typer.Option(min=1, help="Number of lines to read; with --by, of each part. \\[default: all]"),
]
MaxBad = Annotated[
    int, typer.Option(min=0, help="Number of bad lines to leave out before stopping.")
]


def open_logs(
    logs: Sequence[str],
    columns: Mapping[str, str | None],
    *,
    classes: Sequence[str] | None = None,
    price_losses: Sequence[str] | None = None,
    **options: Any,
) -> AuctionLog:
    """Return the log that the options of a command describe.

    Args:
        logs: Paths.
        columns: Columns by their roles; None for those that were not given.
        classes: Class columns.
        price_losses: Codes of losses.
        options: As for `AuctionLog`.

    Returns:
        The log.
    """
    from crossbandit.logs import AuctionLog

    return AuctionLog(
        list(logs),
        columns={role: column for role, column in columns.items() if column},
        classes=classes or [],
        price_losses=price_losses or None,
        **options,
    )


def name_of(logs: Sequence[str]) -> str:
    """Return what pages call some logs.

    >>> name_of(["a/b.csv"]), name_of(["a/b.csv", "c.csv"]), name_of(["-"])
    ('b.csv', 'b.csv and 1 more', 'the standard input')
    """
    first = "the standard input" if logs[0] == "-" else Path(logs[0]).name
    return first if len(logs) == 1 else f"{first} and {len(logs) - 1} more"
