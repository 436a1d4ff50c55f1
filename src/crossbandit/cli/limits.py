"""The limits that the options of `crossbandit replay` ask for."""

from __future__ import annotations

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


BudgetOption = Annotated[
    float | None,
    typer.Option(metavar="AMOUNT", help="What every strategy may spend in each period."),
]
PerOption = Annotated[
    str | None,
    typer.Option(
        metavar="PERIOD",
        help="Period of the budget: day, hour, a number of auctions, or log. \\[default: log]",
    ),
]
PacingOption = Annotated[
    Pacing | None,
    typer.Option(help="How the budget is spread over its period. \\[default: traffic]"),
]
RoiOption = Annotated[
    float | None,
    typer.Option(metavar="RATIO", help="The least ratio of the values won to the spend."),
]
CostOption = Annotated[
    float | None, typer.Option(metavar="AMOUNT", help="The highest average cost of a win.")
]
AimOption = Annotated[
    Aim | None, typer.Option(help="What to maximize under a target. \\[default: value]")
]


def parse_limits(
    *,
    budget: float | None,
    per: str | None,
    pacing: Pacing | None,
    target_roi: float | None,
    target_cost: float | None,
    aim: Aim | None,
    timezone: str,
) -> list[Limit]:
    """Return the limits that options ask for.

    >>> parse_limits(
    ...     budget=500,
    ...     per="day",
    ...     pacing=None,
    ...     target_roi=None,
    ...     target_cost=None,
    ...     aim=None,
    ...     timezone="UTC",
    ... )
    [Budget(amount=500.0, per='day', pacing='traffic', timezone='UTC')]
    """
    from crossbandit.limits import Budget, CostPer, ReturnOnSpend

    if budget is None and (per or pacing):
        option = "--per" if per else "--pacing"
        raise InvalidParameterError(f"{option} belongs to --budget, which is missing.")
    if aim and target_roi is None and target_cost is None:
        raise InvalidParameterError("--aim belongs to --target-roi or --target-cost.")
    limits: list[Limit] = []
    if budget is not None:
        spread: dict[str, Any] = {"pacing": pacing.value} if pacing else {}
        limits.append(Budget(budget, per=_period(per), timezone=timezone, **spread))
    aims: dict[str, Any] = {"aim": aim.value} if aim else {}
    if target_roi is not None:
        limits.append(ReturnOnSpend(target_roi, timezone=timezone, **aims))
    if target_cost is not None:
        limits.append(CostPer(target_cost, timezone=timezone, **aims))
    return limits


def _period(text: str | None) -> str | int | None:
    if text is None or text == WHOLE_LOG:
        return None
    if text in {"day", "hour"}:
        return text
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    raise InvalidParameterError(
        f"--per must be day, hour, {WHOLE_LOG} or a number of auctions. Got {text!r}."
    )
