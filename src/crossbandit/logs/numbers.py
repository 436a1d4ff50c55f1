"""Turn the text of a log into numbers, results and times, in SQL; find what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.logs.columns import ROLES
from crossbandit.logs.database import literal

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

WITH_COMMA = "is written with a comma"
ABOVE = "the value is above"
_COMMA = r"[-+]?[0-9.]*,[0-9.,]+"
WON = ("1", "1.0", "true", "t", "yes", "y", "win", "won")
_NO_PRICE = ("nan", "null", "none", "na", "n/a")  # in place of a price that was not told
LOST = ("0", "0.0", "false", "f", "no", "n", "loss", "lost")
# A number from this on counts in that part of a second; a smaller one counts seconds.
_PARTS = {1e17: 1e9, 1e14: 1e6, 1e11: 1e3}
_DIGITS = "(19|20)[0-9]{12}([0-9]{3})?"  # 20260105103000, perhaps with milliseconds

# How much of a unit of money, for one impression, is one of the log's units.
UNITS = {
    "units": 1.0,
    "cents": 1e-2,
    "micros": 1e-6,
    "cpm": 1e-3,
    "cpm-cents": 1e-5,
    "cpm-micros": 1e-9,
}


def number_sql(role: str, factor: float = 1.0) -> str:
    """Return SQL for the entry of a column as a number, NULL if it is none.

    Args:
        role: A key of `ROLES`. "won" gives a truth value, "time" seconds since 1970.
        factor: By which an amount is multiplied.

    Returns:
        An expression of SQL.
    """
    if role == "won":
        text = "lower(trim(won::VARCHAR))"
        return f"CASE WHEN {text} IN {WON} THEN true WHEN {text} IN {LOST} THEN false END"
    if role == "time":
        return time_sql("time")
    number = f"TRY_CAST({role} AS DOUBLE)"
    if role == "price":  # which may be unknown; in DuckDB, NaN is above all numbers
        number = f"nullif({number}, 'nan'::DOUBLE)"
    return number if factor == 1 else f"{number} * {factor!r}"


def time_sql(column: str) -> str:
    """Return SQL for a time in seconds since 1970, NULL if it is none.

    Numbers count seconds, or milli-, micro- or nanoseconds if they are that large; other texts are
    in the format ISO 8601, or digits such as 20260105103000. Times without an offset are in the
    time zone of the connection.
    """
    text = f"trim({column}::VARCHAR)"
    number = f"TRY_CAST({text} AS DOUBLE)"
    parts = " ".join(
        f"WHEN abs({number}) >= {least!r} THEN {number} / {part!r}"
        for least, part in _PARTS.items()
    )
    digits = f"try_strptime({text}, ['%Y%m%d%H%M%S%g', '%Y%m%d%H%M%S'])"
    return (
        f"CASE WHEN regexp_full_match({text}, {literal(_DIGITS)}) "
        f"THEN epoch(TRY_CAST({digits} AS TIMESTAMPTZ)) {parts} "
        f"ELSE coalesce({number}, epoch(TRY_CAST({text} AS TIMESTAMPTZ))) END"
    )


def fault_sql(
    roles: Collection[str],
    highest_value: float | None,
    factors: Mapping[str, float],
    *,
    needs_price: bool,
) -> str:
    """Return SQL for what is wrong with a row, NULL if nothing is.

    A column is called like its role; as a number, it has an underscore after its name.

    Args:
        roles: The columns that are read.
        highest_value: A bound of the values.
        factors: By which amounts are multiplied.
        needs_price: Whether a row without a price is bad.

    Returns:
        An expression of SQL.
    """
    missing = [role for role in roles if role != "price" or needs_price]
    numbers = [role for role in roles if role not in {"won", "time"}]
    given = {role: f"{role} IS NOT NULL" for role in numbers}
    if "price" in roles and not needs_price:
        given["price"] += f" AND lower(trim(price::VARCHAR)) NOT IN {_NO_PRICE}"
    cases = [
        "WHEN broken IS NOT NULL THEN broken",
        *(f"WHEN {role} IS NULL THEN 'no {ROLES[role]}'" for role in missing),
        *(
            f"WHEN {given[role]} AND ({role}_ IS NULL OR NOT isfinite({role}_)) THEN CASE "
            f"WHEN regexp_full_match(trim({role}::VARCHAR), '{_COMMA}') "
            f"THEN 'the {ROLES[role]} {WITH_COMMA}' ELSE 'the {ROLES[role]} is not a number' END"
            for role in numbers
        ),
        *(f"WHEN {role}_ < 0 THEN 'the {ROLES[role]} is below 0'" for role in numbers),
    ]
    if "won" in roles:
        cases.append("WHEN won_ IS NULL THEN 'the result is neither won nor lost'")
    if "time" in roles:
        cases.append("WHEN time_ IS NULL OR NOT isfinite(time_) THEN 'the time is not a time'")
    if "propensity" in roles:
        cases.append(
            "WHEN propensity_ = 0 OR propensity_ > 1 "
            "THEN 'the propensity is not above 0 and at most 1'"
        )
    if highest_value:
        factor = factors.get("value", 1.0)
        bound = f"{highest_value:g}" + ("" if factor == 1 else f" after times {factor:g}")
        cases.append(f"WHEN value_ > {highest_value!r} THEN '{ABOVE} {bound}'")
    return f"CASE {' '.join(cases)} END"
