"""Options that several commands share: of a log, and of limits."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Collection, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from crossbandit.errors import InvalidParameterError

if TYPE_CHECKING:
    from crossbandit.limits import Limit
    from crossbandit.logs import AuctionLog


WHOLE_LOG = "log"


@dataclass(frozen=True)
class LimitOptions:
    """The options that ask for limits."""

    budget: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AMOUNT/PERIOD",
            help="What every strategy may spend in each period, such as 500/day. Periods: hour, "
            "day, week, month, a number of auctions, or log. May be given several times. "
            "\\[default period: log]",
        ),
    ] = None
    per: Annotated[
        list[str] | None,
        typer.Option(metavar="PERIOD", help="Period of a --budget that is given without one."),
    ] = None
    pacing: Annotated[
        Literal["traffic", "even", "asap"] | None,
        typer.Option(help="How budgets are spread over their periods. \\[default: traffic]"),
    ] = None
    target_roi: Annotated[
        float | None,
        typer.Option(metavar="RATIO", help="The least ratio of the values won to the spend."),
    ] = None
    target_cost: Annotated[
        float | None, typer.Option(metavar="AMOUNT", help="The highest average cost of a win.")
    ] = None
    aim: Annotated[
        Literal["value", "surplus"] | None,
        typer.Option(help="What to maximize under a target. \\[default: value]"),
    ] = None

    def limits(self, timezone: str) -> list[Limit]:
        """Return the limits that the options ask for.

        >>> LimitOptions(budget=["500/day", "30"], per=["hour"]).limits("UTC")
        [Budget(amount=500.0, per='day', pacing='traffic', timezone='UTC',
         worst_case=1.0),
         Budget(amount=30.0, per='hour', pacing='traffic', timezone='UTC',
         worst_case=1.0)]
        """
        from crossbandit.limits import Budget, CostPer, ReturnOnSpend

        has_target = self.target_roi is not None or self.target_cost is not None
        if not self.budget and (self.per or self.pacing):
            option = "--per" if self.per else "--pacing"
            raise InvalidParameterError(f"{option} belongs to --budget, which is missing.")
        if self.aim and not has_target:
            raise InvalidParameterError("--aim belongs to --target-roi or --target-cost.")
        spread: dict[str, Any] = {"pacing": self.pacing} if self.pacing else {}
        limits: list[Limit] = [
            Budget(amount, per=period, timezone=timezone, **spread)
            for amount, period in _budgets(self.budget or [], self.per or [])
        ]
        aims: dict[str, Any] = {"aim": self.aim} if self.aim else {}
        if self.target_roi is not None:
            limits.append(ReturnOnSpend(self.target_roi, timezone=timezone, **aims))
        if self.target_cost is not None:
            limits.append(CostPer(self.target_cost, timezone=timezone, **aims))
        return limits


def _budgets(budgets: list[str], periods: list[str]) -> list[tuple[float, str | int | None]]:
    """Return amounts and periods. Budgets without a period take those of --per, in their order."""
    bare = sum("/" not in text for text in budgets)
    if periods and len(periods) != bare:
        raise InvalidParameterError(
            f"--per must be given once for each --budget without a period. There are {bare} such "
            f"budgets, and {len(periods)} periods. Write --budget 500/day --budget 30/hour."
        )
    rest, found = iter(periods or [WHOLE_LOG] * bare), []
    for text in budgets:
        amount, slash, period = text.partition("/")
        try:
            money = float(amount)
        except ValueError:
            raise InvalidParameterError(
                f"--budget must be an amount, or an amount and its period, such as 500/day. Got "
                f"{text!r}."
            ) from None
        found.append(
            (money, _period("--budget", period) if slash else _period("--per", next(rest)))
        )
    return found


def _period(option: str, text: str) -> str | int | None:
    if text == WHOLE_LOG:
        return None
    if text in {"hour", "day", "week", "month"}:
        return text
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    what = "--per must be" if option == "--per" else "The period of --budget must be"
    raise InvalidParameterError(
        f"{what} hour, day, week, month, {WHOLE_LOG} or a number of auctions. Got {text!r}."
    )


# --- options about logs, which several commands have ---------------------------------------------


_COLUMN = "a name, or a number from 1."


_BY_NAME = " \\[default: by usual names]"
Unit = Literal["units", "cents", "micros", "cpm", "cpm-cents", "cpm-micros"]


def column_option(what: str, default: str = "") -> Any:
    """Return an option that names a column."""
    return typer.Option(metavar="COLUMN", help=f"Column with {what}: {_COLUMN}{default}")


@dataclass(frozen=True)
class LogOptions:
    """The options that all commands that read logs have."""

    logs: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG...",
            help="CSV, JSON lines or Parquet files, folders, patterns, or - for the standard "
            "input.",
        ),
    ]
    format_: Annotated[
        Literal["auto", "csv", "parquet", "jsonl", "openrtb", "google", "ipinyou"],
        typer.Option("--format", help="What the log holds. 'auto' recognises it from the content."),
    ] = "auto"
    value_column: Annotated[str | None, column_option("the value", _BY_NAME)] = None
    price_column: Annotated[str | None, column_option("the highest competing bid", _BY_NAME)] = None
    bid_column: Annotated[
        str | None, column_option("your own bids, which evaluate needs and replay compares with")
    ] = None
    won_column: Annotated[str | None, column_option("whether you won")] = None
    reserve_column: Annotated[str | None, column_option("a reserve per auction")] = None
    time_column: Annotated[str | None, column_option("the time")] = None
    id_column: Annotated[
        str | None, column_option("the id of the auction; lines that repeat one are left out")
    ] = None
    class_column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Column with a class, such as a site, that prices may depend on; may be "
            f"repeated: {_COLUMN}",
        ),
    ] = None
    reserve: Annotated[float, typer.Option(min=0, help="The lowest bid that can win.")] = 0.0
    ties: Annotated[
        Literal["win", "lose"] | None,
        typer.Option(
            help="Whether a bid that equals the highest competing bid wins. "
            "\\[default: as the format says; or as in the log, for evaluate; otherwise win]"
        ),
    ] = None
    value_unit: Annotated[
        Unit | None,
        typer.Option(
            help="Unit of the values. All amounts become units of money for one impression."
        ),
    ] = None
    price_unit: Annotated[
        Unit | None, typer.Option(help="Unit of prices, bids and reserves; likewise.")
    ] = None
    currency: Annotated[
        str | None, typer.Option(metavar="CODE", help="Currency to keep, if notices have several.")
    ] = None
    price_loss: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CODE",
            help="A code of losses that are about the price; may be repeated. "
            "\\[default: as the format says]",
        ),
    ] = None
    sort_by: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of times or numbers to sort the lines by."),
    ] = None
    timezone: Annotated[
        str, typer.Option(metavar="ZONE", help="Time zone of times without an offset.")
    ] = "UTC"
    partitions: Annotated[
        bool, typer.Option("--partitions", help="Read folder names such as day=5 as columns.")
    ] = False
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of lines to read; with replay --by, of each part. \\[default: all]"
        ),
    ] = None
    max_bad: Annotated[
        int, typer.Option(min=0, help="Number of bad lines to leave out before stopping.")
    ] = 100

    def open(self, **further: Any) -> AuctionLog:
        """Return the log that the options describe; `further` are columns and other options."""
        from crossbandit.logs import AuctionLog

        roles = ("value", "price", "bid", "won", "reserve", "time", "id")
        named = {role: getattr(self, f"{role}_column") for role in roles}
        named["propensity"] = further.pop("propensity", None)
        same = ("value_unit", "price_unit", "currency", "sort_by", "timezone", "partitions")
        return AuctionLog(
            list(self.logs),
            columns={role: column for role, column in named.items() if column},
            classes=self.class_column or [],
            price_losses=self.price_loss or None,
            format=self.format_,
            limit=self.limit,
            max_bad=self.max_bad,
            **{name: getattr(self, name) for name in same},
            **further,
        )

    @property
    def name(self) -> str:
        """What pages call the logs."""
        return name_of(self.logs)


def takes_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the fields of its parameters that are dataclasses, such as `LogOptions`."""
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


def command_line(context: typer.Context, logs: Sequence[str], leave_out: Collection[str]) -> str:
    """Return a command, to be run in the folder of the logs.

    Pages show it. So it has no folders but those between several logs, and no options that do not
    change the numbers.
    """
    words = ["crossbandit", str(context.command.name), *without_folder(logs)]
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


def without_folder(logs: Sequence[str]) -> list[str]:
    """Return paths of logs as seen from the folder that has all of them.

    >>> without_folder(["a/b.csv"]), without_folder(["a/b/c.csv", "a/d/c.csv", "-"])
    (['b.csv'], ['b/c.csv', 'd/c.csv', '-'])
    """
    paths = {one: Path(one).absolute() for one in logs if one != "-"}
    try:
        folder = os.path.commonpath([path.parent for path in paths.values()])
    except ValueError:  # no paths, or on different drives
        return list(logs)
    return [str(paths[one].relative_to(folder)) if one in paths else one for one in logs]


def name_of(logs: Sequence[str]) -> str:
    """Return what pages call some logs.

    >>> name_of(["a/b.csv"]), name_of(["a/b.csv", "c.csv"]), name_of(["-"])
    ('b.csv', 'b.csv and 1 more', 'the standard input')
    """
    first = "the standard input" if logs[0] == "-" else Path(logs[0]).name
    return first if len(logs) == 1 else f"{first} and {len(logs) - 1} more"
