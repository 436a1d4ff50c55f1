"""The limits that the options of `crossbandit replay` ask for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crossbandit.errors import InvalidParameterError

if TYPE_CHECKING:
    from crossbandit.limits import Limit

WHOLE_LOG = "log"


class Pacing(StrEnum):
    """How a budget is spread over its period."""

    traffic = "traffic"
    even = "even"
    asap = "asap"


class Aim(StrEnum):
    """What to earn as much of as possible under a target."""

    value = "value"
    surplus = "surplus"


@dataclass(frozen=True)
class LimitOptions:
    """The options that ask for limits."""

    budget: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AMOUNT/PERIOD",
            help="What every strategy may spend in each period, such as 500/day. Periods: day, "
            "hour, a number of auctions, or log. May be given several times. "
            "\\[default period: log]",
        ),
    ] = None
    per: Annotated[
        list[str] | None,
        typer.Option(metavar="PERIOD", help="Period of a --budget that is given without one."),
    ] = None
    pacing: Annotated[
        Pacing | None,
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
        Aim | None, typer.Option(help="What to maximize under a target. \\[default: value]")
    ] = None

    def limits(self, timezone: str) -> list[Limit]:
        """Return the limits that the options ask for.

        Args:
            timezone: The time zone of days and hours.

        Raises:
            InvalidParameterError: An option is invalid, or one that it belongs to is missing.

        >>> LimitOptions(budget=["500/day", "30"], per=["hour"]).limits("UTC")
        [Budget(amount=500.0, per='day', pacing='traffic', timezone='UTC'),
         Budget(amount=30.0, per='hour', pacing='traffic', timezone='UTC')]
        """
        from crossbandit.limits import Budget, CostPer, ReturnOnSpend

        has_target = self.target_roi is not None or self.target_cost is not None
        if not self.budget and (self.per or self.pacing):
            option = "--per" if self.per else "--pacing"
            raise InvalidParameterError(f"{option} belongs to --budget, which is missing.")
        if self.aim and not has_target:
            raise InvalidParameterError("--aim belongs to --target-roi or --target-cost.")
        spread: dict[str, Any] = {"pacing": self.pacing.value} if self.pacing else {}
        limits: list[Limit] = [
            Budget(amount, per=period, timezone=timezone, **spread)
            for amount, period in _budgets(self.budget or [], self.per or [])
        ]
        aims: dict[str, Any] = {"aim": self.aim.value} if self.aim else {}
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
    if text in {"day", "hour"}:
        return text
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    what = "--per must be" if option == "--per" else "The period of --budget must be"
    raise InvalidParameterError(
        f"{what} day, hour, {WHOLE_LOG} or a number of auctions. Got {text!r}."
    )
