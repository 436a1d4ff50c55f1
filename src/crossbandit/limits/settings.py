"""The limits that a user sets: budgets, leases and targets; immutable, with a JSON form.

The fields of each class are declared once, with their checks: `fields` and `KINDS` have all that
another form of these settings needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self, get_args

from crossbandit.core.types import Aim, Keep, Pacing, SteadyPacing
from crossbandit.core.validation import choice, integer, number, reject, verbatim
from crossbandit.errors import InvalidContextError, InvalidInputError, InvalidParameterError
from crossbandit.limits.state import EXACT

if TYPE_CHECKING:
    from crossbandit.limits.shared import SharedBudget

Per = str | int | timedelta | None
Check = Callable[[str, str, Any], Any]  # of an owner, the name of a parameter, and its value

CLOCK = ("hour", "day", "week", "month")  # the periods of a time zone
_LONGEST = 366.0 * 86_400
_LARGEST = 1e15
_AMOUNTS: Any = (Real, Decimal)
_LATEST = 4e9  # seconds: after the year 2090


def seconds(
    owner: str,
    at: object,
    name: str = "at",
    error: type[InvalidInputError] = InvalidContextError,
) -> float:
    """Return a time as seconds since 1970."""
    given = at
    if isinstance(at, datetime) and at.tzinfo is not None:
        given = at.timestamp()
    if isinstance(given, bool) or not isinstance(given, Real) or not 0 <= float(given) <= _LATEST:
        expected = "a datetime with a time zone, or seconds since 1970, not milliseconds"
        reject(owner, name, expected, at, error=error)
    return float(given)


def _by(check: Check) -> dict[str, Check]:
    """Return the metadata of a field. Its check raises, or returns the value to store."""
    return {"check": check}


def _as_given(check: Check) -> Check:
    """Return a check after which the value is stored as it was given."""

    def checked(owner: str, name: str, value: Any) -> Any:
        check(owner, name, value)
        return value

    return checked


def _one_of(*choices: str) -> dict[str, Check]:
    return _by(partial(choice, choices=choices))


def _money(owner: str, name: str, value: Any) -> float:
    given = float(value) if isinstance(value, Decimal) else value
    return _positive(owner, name, given)


def _text(owner: str, name: str, value: Any) -> Any:
    return value if isinstance(value, str) else reject(owner, name, "a text", value)


def _period(owner: str, name: str, per: Any) -> Per:
    words = ", ".join(map(repr, CLOCK))
    expected = f"{words}, a timedelta, a number of auctions, or None"
    if per is None or (isinstance(per, str) and per in CLOCK):
        return per
    if isinstance(per, timedelta):
        if not 1.0 <= per.total_seconds() <= _LONGEST:
            reject(owner, name, "a timedelta from one second to 366 days", per)
        return per
    if isinstance(per, bool) or not hasattr(per, "__index__"):
        reject(owner, name, expected, per)
    return integer(owner, name, per, at_least=1)


def _zone(owner: str, name: str, zone: Any) -> Any:
    import zoneinfo

    try:
        zoneinfo.ZoneInfo(zone)
    except (TypeError, ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        reject(owner, name, "the name of a time zone, such as 'Europe/Berlin'", zone)
    return zone


def _moment(owner: str, name: str, value: Any) -> float | None:
    return None if value is None else seconds(owner, value, name, InvalidParameterError)


def _worth(owner: str, name: str, value: Any) -> float | None:
    return None if value is None else _positive(owner, name, value)


_FLIGHT = ("begins", "ends")  # of a budget; left out of its JSON form if they are not given
_positive = partial(number, above=0, at_most=_LARGEST)
_worst = partial(number, at_least=0, at_most=1)


@dataclass(frozen=True)
class JsonForm:
    """What all limits share: a JSON form.

    Attributes:
        kind: The name of the class in the JSON form.
        words: What messages call it.
    """

    kind: ClassVar[str]
    words: ClassVar[str]

    def __post_init__(self) -> None:
        for one in fields(self):
            if check := one.metadata.get("check"):
                checked = check(type(self).__name__, one.name, getattr(self, one.name))
                object.__setattr__(self, one.name, checked)

    def to_json(self) -> dict[str, Any]:
        """Return a form that `json` can write."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in _FLIGHT:
            if values.get(name, self) is None:
                del values[name]
        per = values.get("per")
        if isinstance(per, timedelta):
            values["per"] = {"seconds": per.total_seconds()}
        return {"kind": self.kind, **values}

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Return the limit that `to_json` wrote.

        Args:
            data: What `to_json` returned, perhaps written and read by `json` since.

        Raises:
            InvalidParameterError: It is something else.
        """
        owner = f"{cls.__name__}.from_json"
        optional = _FLIGHT if cls is Budget else ()
        names = ["kind", *(one.name for one in fields(cls) if one.name not in optional)]
        if not isinstance(data, dict) or set(data) - set(optional) != set(names):
            expected = f"a dict with the keys {', '.join(map(repr, names))}"
            got = verbatim(f"one with {list(data)}") if isinstance(data, dict) else data
            reject(owner, "data", expected, got)
        values = dict(data)
        choice(owner, "kind", values.pop("kind"), (cls.kind,))
        if isinstance(values.get("per"), dict):
            seconds = number(owner, "per", values["per"].get("seconds"), above=0)
            values["per"] = timedelta(seconds=min(seconds, 2 * _LONGEST))
        return cls(**values)


@dataclass(frozen=True)
class Budget(JsonForm):
    """An amount that may be spent in each period.

    Bids without an outcome count with what they are expected to cost, and a margin. There are two
    promises:

    - As long as chances are calibrated, a period's amount is exceeded by more than 1 % with a
      probability below 1e-4. Where bids win more often than was expected, the margin grows.
    - Whatever wins, at most `amount * (1 + worst_case)` is spent. With a `worst_case` of 0, no bid
      is made that could exceed the amount. If outcomes are late, it is then not all spent.

    More is spent only for bids that have won although they were reported as lost, or had expired.
    Nothing is bid then until the period is over.

    A bid belongs to the period in which it was made, whenever its outcome comes. What is not spent
    in a period is not carried over.

    `pacing` says how the amount is spread over the period:

    - "traffic": in proportion to the number of auctions that are expected. It is learned how many
      come at each time of the day. On the first day they are expected to be spread evenly. This is
      the default. It earns most, because bids then depend on what they can win, not on the hour.
    - "even": at the same rate at all times, so less per auction at busy times.
    - "asap": bids are those without a budget, until the amount is spent.

    With a number of auctions, "traffic" and "even" are the same.

    With `begins` and `ends`, it is the budget of a *flight*: nothing is bid before or after. With
    `per=None`, the amount is then for the whole flight, and is spread over it.

    Args:
        amount: The money, a number or a Decimal.
        per: The period: "hour", "day", "week" (from Monday) or "month", in the time zone
            `timezone`; a timedelta, which begins with the flight or the first auction; a number of
            auctions; or None for one amount for all time. With None and without a flight, pacing
            needs the number of auctions to come (`horizon`).
        pacing: As above.
        timezone: The name of a time zone, such as "Europe/Berlin". Its days of 23 and 25 hours are
            taken into account.
        worst_case: The share of the amount by which it is exceeded if all bids without an outcome
            win; from 0 to 1.
        begins: When the flight begins: a datetime with a time zone, or seconds since 1970; None if
            it has begun.
        ends: When the flight ends; None if it does not.

    Raises:
        InvalidParameterError: The amount is not positive, or another argument is not possible.

    >>> Budget(500, per="day", timezone="Europe/Berlin").worst_case
    1.0
    """

    kind: ClassVar[str] = "budget"
    words: ClassVar[str] = "The budget of"
    amount: float = field(metadata=_by(_money))
    per: Per = field(default="day", metadata=_by(_period))
    pacing: Pacing = field(default="traffic", metadata=_one_of(*get_args(Pacing)))
    timezone: str = field(default="UTC", metadata=_by(_zone))
    worst_case: float = field(default=1.0, metadata=_by(_worst))
    begins: datetime | float | None = field(default=None, metadata=_by(_moment))
    ends: datetime | float | None = field(default=None, metadata=_by(_moment))

    def __post_init__(self) -> None:
        super().__post_init__()
        given = [name for name in _FLIGHT if getattr(self, name) is not None]
        if given and isinstance(self.per, int):
            expected = "None for a budget per number of auctions: these have no times"
            reject("Budget", given[0], expected, getattr(self, given[0]))
        if self.per is None and len(given) == 1:
            other = _FLIGHT[given == ["begins"]]
            reject("Budget", other, f"given with {given[0]!r} if the budget has no period", None)
        begins, ends = self.flight
        if ends <= begins:
            reject("Budget", "ends", f"after 'begins', {begins:.15g}", self.ends)

    def __repr__(self) -> str:
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        shown = [f"{k}={v!r}" for k, v in given.items() if v is not None or k not in _FLIGHT]
        return f"Budget({', '.join(shown)})"

    @property
    def flight(self) -> tuple[float, float]:
        """When its flight begins and ends, in seconds since 1970; infinite where it does not."""
        begins, ends = self.begins, self.ends
        return (
            -math.inf if begins is None else seconds("Budget", begins),
            math.inf if ends is None else seconds("Budget", ends),
        )

    @property
    def at_most(self) -> Decimal:
        """The money that is spent if all bids without an outcome win, exactly."""
        return EXACT.multiply(Decimal(repr(self.amount)), 1 + Decimal(repr(self.worst_case)))

    def share(self) -> SharedBudget:
        """Return a holder of this budget that leases slices of it, so that a fleet can spend it.

        A `Budget` says what may be spent, and does not change. The holder remembers the slices that
        it has leased. There must be only one holder.

        Raises:
            InvalidParameterError: The budget has periods of auctions, which processes cannot count.

        >>> budget = Budget(500, per="day").share()
        >>> budget.lease(50).amount
        50.0
        """
        from crossbandit.limits.shared import SharedBudget

        return SharedBudget(self)


@dataclass(frozen=True)
class Lease(JsonForm):
    """A slice of a budget that one bidder may spend until a time: `FirstPriceBidder(budget=lease)`.

    A second bidder refuses it, as both would spend the money. Between processes, where `to_bytes`
    makes copies, give each lease to one process only.

    Args:
        id: Which lease it is.
        amount: The money.
        begins: When it begins, in seconds since 1970.
        ends: When it ends. Nothing is bid later.
        pacing: "even" to spread the money over that time, or "asap".
        most: The money that is spent if all bids without an outcome win; None for `amount`.
        whole: The budget that it is a slice of, whose 1 % the margin refers to; None for `amount`.

    Raises:
        InvalidParameterError: An argument is not possible.
    """

    kind: ClassVar[str] = "lease"
    words: ClassVar[str] = "The lease of"
    timezone: ClassVar[str] = "UTC"
    id: str = field(metadata=_by(_text))
    amount: float = field(metadata=_by(_as_given(partial(number, above=0))))
    begins: float = field(metadata=_by(_as_given(partial(number, at_least=0))))
    ends: float  # checked below
    pacing: SteadyPacing = field(default="even", metadata=_one_of(*get_args(SteadyPacing)))
    most: float | None = field(default=None, metadata=_by(_worth))
    whole: float | None = field(default=None, metadata=_by(_worth))

    def __post_init__(self) -> None:
        super().__post_init__()
        number("Lease", "ends", self.ends, above=self.begins)
        if self.most is not None:
            number("Lease", "most", self.most, at_least=self.amount)

    @property
    def per(self) -> timedelta:
        """How long it lasts."""
        return timedelta(seconds=self.ends - self.begins)

    @property
    def at_most(self) -> Decimal:
        """The money that is spent if all bids without an outcome win, exactly."""
        return Decimal(repr(float(self.amount if self.most is None else self.most)))

    def to_bytes(self) -> bytes:
        """Return a form to send to another process."""
        import json

        return json.dumps(self.to_json()).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the lease that `to_bytes` wrote.

        Args:
            data: What `to_bytes` returned.

        Raises:
            InvalidParameterError: It is something else.
        """
        return cls.from_json(parsed("Lease.from_bytes", data))


def claim(lease: Lease, owner: str, name: str) -> None:
    """Note that a bidder has a lease; raise if one has or had it."""
    mine = object()
    if vars(lease).setdefault("_bidder", mine) is not mine:
        expected = (
            "a Lease that no bidder has or had: two would both spend its money. Ask the "
            "SharedBudget for another one"
        )
        reject(owner, name, expected, lease)


@dataclass(frozen=True)
class ReturnOnSpend(JsonForm):
    """The values won must be at least `ratio` times the money spent.

    Args:
        ratio: Value per money.
        keep: "always": the target holds at any time, and no bid is made that could break it,
            whatever becomes of bids without an outcome. "long-run": it holds on average; `limits`
            shows the slack, which may be negative for a while.
        aim: What to maximise: "value", the values won, as is usual with targets; or "surplus", the
            values won minus the money spent.
        per: The period in which the target must hold, as for `Budget`; None for all time.
        timezone: As for `Budget`.

    Raises:
        InvalidParameterError: An argument is not possible.

    >>> ReturnOnSpend(3).credit()[1] * 12.0  # a win of value 12 allows spending
    4.0
    """

    kind: ClassVar[str] = "return-on-spend"
    words: ClassVar[str] = "The return on spend of"
    ratio: float = field(metadata=_by(_positive))
    keep: Keep = field(default="always", metadata=_one_of(*get_args(Keep)))
    aim: Aim = field(default="value", metadata=_one_of(*get_args(Aim)))
    per: Per = field(default=None, metadata=_by(_period))
    timezone: str = field(default="UTC", metadata=_by(_zone))

    def credit(self) -> tuple[float, float]:
        """Return a and b: a win of value v allows spending a + b v."""
        return 0.0, 1.0 / self.ratio


@dataclass(frozen=True)
class CostPer(JsonForm):
    """The money spent must be at most `amount` per win, or per click or sale.

    Without `worth`, every auction won counts as one. With it, a value must be an amount of money. A
    value v counts as v / worth clicks or sales, which is their expected number if each is worth
    `worth`. The target is then the same as a return on spend of `worth / amount`.

    Args:
        amount: The money.
        worth: What a click or sale is worth, in the unit of the values; None to count wins.
        keep: As for `ReturnOnSpend`.
        aim: As for `ReturnOnSpend`.
        per: As for `ReturnOnSpend`.
        timezone: As for `Budget`.

    Raises:
        InvalidParameterError: An argument is not possible.

    >>> CostPer(12.0, worth=60.0).credit() == ReturnOnSpend(5.0).credit()
    True
    """

    kind: ClassVar[str] = "cost-per"
    words: ClassVar[str] = "The cost limit of"
    amount: float = field(metadata=_by(_positive))
    worth: float | None = field(default=None, metadata=_by(_worth))
    keep: Keep = field(default="always", metadata=_one_of(*get_args(Keep)))
    aim: Aim = field(default="value", metadata=_one_of(*get_args(Aim)))
    per: Per = field(default=None, metadata=_by(_period))
    timezone: str = field(default="UTC", metadata=_by(_zone))

    def credit(self) -> tuple[float, float]:
        """Return a and b: a win of value v allows spending a + b v."""
        return (self.amount, 0.0) if self.worth is None else (0.0, self.amount / self.worth)


Money = Budget | Lease
Target = ReturnOnSpend | CostPer
Limit = Budget | Lease | ReturnOnSpend | CostPer
# What a user may give for limits: themselves, their JSON form, or a number for the budget of a day.
BudgetLike = Budget | Lease | float | Decimal | Mapping[str, Any]
TargetLike = ReturnOnSpend | CostPer | Mapping[str, Any]
KINDS: dict[str, type[Limit]] = {one.kind: one for one in (Budget, Lease, ReturnOnSpend, CostPer)}


def limit_from_json(data: Any) -> Limit:
    """Return the limit of any kind that `to_json` wrote."""
    kind = data.get("kind") if isinstance(data, dict) else data
    return KINDS[choice("limit_from_json", "kind", kind, KINDS)].from_json(data)


def parsed(owner: str, data: object) -> Any:
    """Return the content of JSON text that is given as bytes."""
    import json

    try:
        return json.loads(data)  # type: ignore[arg-type]  # whatever was given
    except (TypeError, ValueError):
        reject(owner, "data", "what to_bytes returned", data)


def limits_of(owner: str, name: str, given: object, kinds: tuple[type[Any], ...]) -> list[Limit]:
    """Return limits that were given as one, as several, or in their JSON form.

    Where a budget may be given, an amount is one per day.
    """
    if given is None:
        return []
    several = isinstance(given, Sequence) and not isinstance(given, str)
    every: Sequence[Any] = given if several else [given]  # type: ignore[assignment]
    found = [limit_from_json(one) if isinstance(one, Mapping) else one for one in every]
    for i, one in enumerate(found):
        if Budget in kinds and isinstance(one, _AMOUNTS) and one > 0 and one is not True:
            found[i] = Budget(one)
        elif not isinstance(one, kinds):
            names = " or ".join(f"a {kind.__name__}" for kind in kinds)
            names += ", an amount per day" if Budget in kinds else ""
            reject(owner, name, f"{names}, several of them, or None", given)
    return found


def timed(limit: Limit) -> bool:
    """Return whether a limit has periods of time, not of auctions."""
    if limit.per is None:
        return isinstance(limit, Budget) and limit.ends is not None
    return not isinstance(limit.per, int)


def named(limit: Limit) -> str:
    """Return what messages call a limit, such as "The budget of 5 per day"."""
    size = limit.ratio if isinstance(limit, ReturnOnSpend) else limit.amount
    per = "" if limit.per is None else f" per {limit.per}"
    unit = " auctions" if isinstance(limit.per, int) else ""
    flight = " for a flight" if limit.per is None and timed(limit) else ""
    return f"{limit.words} {size:.6g}{per}{unit}{flight}"
