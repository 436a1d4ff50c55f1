"""Options about logs, which several commands have."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import StrEnum
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from crossbandit.logs import AuctionLog

_COLUMN = "a name, or a number from 1."


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
        help="Whether a bid that equals the highest competing bid wins. "
        "\\[default: as the format says; or as in the log, for evaluate; otherwise win]"
    ),
]
ValueColumn = Annotated[str | None, _column("the value", _BY_NAME)]
PriceColumn = Annotated[str | None, _column("the highest competing bid", _BY_NAME)]
BidColumn = Annotated[
    str | None, _column("your own bids, which evaluate needs and replay compares with")
]
ReserveColumn = Annotated[str | None, _column("a reserve per auction")]
WonColumn = Annotated[str | None, _column("whether you won")]
TimeColumn = Annotated[str | None, _column("the time")]
PropensityColumn = Annotated[str | None, _column("the probability of your bid")]
ClassColumn = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Column with a class, such as a site, that prices may depend on; may be repeated: "
        f"{_COLUMN}",
    ),
]
ValueUnit = Annotated[
    Unit | None,
    typer.Option(help="Unit of the values. All amounts become units of money for one impression."),
]
PriceUnit = Annotated[
    Unit | None,
    typer.Option(help="Unit of prices, bids and reserves; likewise."),
]
Currency = Annotated[
    str | None, typer.Option(metavar="CODE", help="Currency to keep, if notices have several.")
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
    typer.Option(metavar="COLUMN", help="Column of times or numbers to sort the lines by."),
]
Timezone = Annotated[
    str, typer.Option(metavar="ZONE", help="Time zone of times without an offset.")
]
Partitions = Annotated[
    bool, typer.Option("--partitions", help="Read folder names such as day=5 as columns.")
]
HighestValue = Annotated[
    float | None,
    typer.Option(help="An upper bound on the values. \\[default: the highest value of the log]"),
]
Limit = Annotated[
    int | None,
    typer.Option(
        min=1, help="Number of lines to read; with replay --by, of each part. \\[default: all]"
    ),
]
MaxBad = Annotated[
    int, typer.Option(min=0, help="Number of bad lines to leave out before stopping.")
]


@dataclass(frozen=True)
class LogOptions:
    """The options that all commands that read logs have."""

    logs: Logs
    format_: Format = LogFormat.auto
    value_column: ValueColumn = None
    price_column: PriceColumn = None
    bid_column: BidColumn = None
    won_column: WonColumn = None
    reserve_column: ReserveColumn = None
    time_column: TimeColumn = None
    class_column: ClassColumn = None
    reserve: Reserve = 0.0
    ties: TiesRule = None
    value_unit: ValueUnit = None
    price_unit: PriceUnit = None
    currency: Currency = None
    price_loss: PriceLoss = None
    sort_by: SortBy = None
    timezone: Timezone = "UTC"
    partitions: Partitions = False
    limit: Limit = None
    max_bad: MaxBad = 100

    def open(self, columns: Mapping[str, str | None] | None = None, **options: Any) -> AuctionLog:
        """Return the log that the options describe.

        Args:
            columns: Further columns by their roles; None for those that were not given.
            options: Further arguments of `AuctionLog`.

        Returns:
            The log.
        """
        from crossbandit.logs import AuctionLog

        named = {
            "value": self.value_column,
            "price": self.price_column,
            "bid": self.bid_column,
            "won": self.won_column,
            "reserve": self.reserve_column,
            "time": self.time_column,
            **(columns or {}),
        }
        return AuctionLog(
            list(self.logs),
            columns={role: column for role, column in named.items() if column},
            classes=self.class_column or [],
            price_losses=self.price_loss or None,
            format=self.format_.value,
            value_unit=self.value_unit and self.value_unit.value,
            price_unit=self.price_unit and self.price_unit.value,
            currency=self.currency,
            sort_by=self.sort_by,
            timezone=self.timezone,
            partitions=self.partitions,
            limit=self.limit,
            max_bad=self.max_bad,
            **options,
        )

    @property
    def name(self) -> str:
        """What pages call the logs."""
        return name_of(self.logs)

    @property
    def ties_rule(self) -> str | None:
        """What equal bids do, if it was given."""
        return self.ties and self.ties.value


def takes_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the fields of its parameters that are dataclasses, such as `LogOptions`.

    Args:
        command: A function that Typer makes a command of.

    Returns:
        The function that Typer sees: each field is an option, in place of the dataclass.
    """
    parameters: list[Parameter] = []
    groups: dict[str, tuple[Any, list[str]]] = {}
    for one in signature(command, eval_str=True).parameters.values():
        if not is_dataclass(one.annotation):
            parameters.append(one.replace(kind=Parameter.KEYWORD_ONLY))
            continue
        hints = get_type_hints(one.annotation, include_extras=True)
        options = [
            Parameter(
                field.name,
                Parameter.KEYWORD_ONLY,
                default=Parameter.empty if field.default is MISSING else field.default,
                annotation=hints[field.name],
            )
            for field in fields(one.annotation)
        ]
        groups[one.name] = one.annotation, [option.name for option in options]
        parameters += options

    @wraps(command)
    def run(**given: Any) -> None:
        made = {
            group: kind(**{name: given.pop(name) for name in names})
            for group, (kind, names) in groups.items()
        }
        command(**made, **given)

    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def command_line(context: typer.Context, log: str, leave_out: Collection[str]) -> str:
    """Return a command without folders and options that do not change the numbers.

    Args:
        context: The command, and the options that were given.
        log: What pages call the log.
        leave_out: Parameters that do not change the numbers.

    Returns:
        The words of the command.
    """
    words = ["crossbandit", str(context.command.name), log]
    for parameter in context.command.params:
        name = str(parameter.name)
        source = context.get_parameter_source(name)
        if name in leave_out or source is None or source.name != "COMMANDLINE":
            continue
        value = context.params[name]
        if value is True:
            words.append(parameter.opts[0])
            continue
        for one in value if isinstance(value, list | tuple) else [value]:
            is_path = isinstance(one, Path) or name == "module"
            words += [parameter.opts[0], Path(one).name if is_path else str(one)]
    return shlex.join(words)


def name_of(logs: Sequence[str]) -> str:
    """Return what pages call some logs.

    >>> name_of(["a/b.csv"]), name_of(["a/b.csv", "c.csv"]), name_of(["-"])
    ('b.csv', 'b.csv and 1 more', 'the standard input')
    """
    first = "the standard input" if logs[0] == "-" else Path(logs[0]).name
    return first if len(logs) == 1 else f"{first} and {len(logs) - 1} more"
