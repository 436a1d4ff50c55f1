"""The columns of a log: finding them, and turning their text into numbers, in SQL."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from crossbandit.errors import LogError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

# The columns that a log can have, and what messages call their entries.
ROLES = {
    "value": "value",
    "price": "highest competing bid",
    "bid": "own bid",
    "reserve": "reserve",
    "won": "result",
    "propensity": "propensity",
    "time": "time",
}
ID = "id"  # the further column by which lines that repeat an auction are recognised

LEAST_BID = (  # usual names for the least bid that would have won
    "minimum_bid_to_win",
    "min_bid_to_win",
    "auction_min_to_win",
    "auction_minimum_bid_to_win",
    "min_to_win",
    "minimum_to_win",
    "price_to_win",
    "min_price_to_win",
    "mbtw",
)
# Names under which a column is found if none is given; the first one present is used. `price` is
# not among them: a column of that name usually holds what was paid.
NAMES = {
    "value": ("value", "valuation", "private_value", "bid_value", "impression_value"),
    "price": (
        "highest_competing_bid",
        "competing_bid",
        "highest_other_bid",
        "best_competing_bid",
        "max_competing_bid",
        *LEAST_BID,
        "market_price",
    ),
}
_MEANING = {
    "value": "",
    "price": " It is the highest bid of the others, also where you won; not what you bid or paid. "
    "Without any such column, a log cannot be replayed; `crossbandit evaluate` uses logs of wins "
    "and losses (--won-column). If the lines are notices of an exchange, say so with --format.",
}
_SEPARATORS = str.maketrans("", "", "-_")

# What is wrong with a line.
NO_PRICE = f"no {ROLES['price']}"
WITH_COMMA = "is written with a comma"
ABOVE = "the value is above"
_COMMA = r"[-+]?[0-9.]*,[0-9.,]+"
_UNKNOWN = ("nan", "null", "none", "na", "n/a")  # in place of a price that is not known
WON = ("1", "1.0", "true", "t", "yes", "y", "win", "won")
LOST = ("0", "0.0", "false", "f", "no", "n", "loss", "lost")
_WORDS = "won (1, true, yes, won) nor lost (0, false, no, lost)"
# From how large a number on a time is in nano-, micro- or milliseconds; smaller ones are seconds.
_PARTS = {1e17: 1e9, 1e14: 1e6, 1e11: 1e3}
_DIGITS = "(19|20)[0-9]{12}([0-9]{3})?"  # 20260105103000, perhaps with milliseconds

# By what to multiply an amount in a unit of the log, to get units of money for one impression.
UNITS = {
    "units": 1.0,
    "cents": 1e-2,
    "micros": 1e-6,
    "cpm": 1e-3,
    "cpm-cents": 1e-5,
    "cpm-micros": 1e-9,
}
LEAST, MOST = 1e-100, 1e100  # bounds of the highest value: sums and quotients stay finite


@dataclass(frozen=True)
class Columns:
    """The columns of a file or a DataFrame; `names` is empty if the file has no header."""

    owner: str  # what messages call the file
    names: tuple[str, ...]
    width: int

    def find(self, wanted: str | int | None, role: str) -> int:
        """Return the index of a column, from 0."""
        if wanted is None:
            return self._usual(role)
        text = str(wanted)
        if isinstance(wanted, str):
            key = plain([text])[0]
            leaves = plain(map(leaf, self.names))
            for name, names in ((text, self.names), (key, plain(self.names)), (key, leaves)):
                if name in names:
                    return self._unique(name, names)
        if text.isascii() and text.isdigit() and 1 <= int(text) <= self.width:
            return int(text) - 1
        near = get_close_matches(text, self.names, n=3)
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise LogError(f"{self.owner} has no column {text!r}.{hint} {self._listed()}")

    def guess(self, role: str) -> int | None:
        """Return the index of the column that has a usual name of a role, or None."""
        names = plain(self.names)
        found = next((name for name in plain(NAMES[role]) if name in names), None)
        return None if found is None else self._unique(found, names)

    def _usual(self, role: str) -> int:
        found = self.guess(role)
        if found is not None:
            return found
        raise LogError(
            f"Which column of {self.owner} holds the {ROLES[role]}? Name it with --{role}-column "
            f"(columns={{{role!r}: ...}} in Python).{_MEANING[role]} {self._listed()}"
        )

    def _unique(self, name: str, names: Sequence[str]) -> int:
        numbers = [i for i, one in enumerate(names, 1) if one == name]
        if len(numbers) > 1:
            shown = sorted({self.names[i - 1].strip() for i in numbers})
            raise LogError(
                f"{self.owner} has more than one column {' or '.join(map(repr, shown))}. Give the "
                f"number of the column: {' or '.join(map(str, numbers))}."
            )
        return names.index(name)

    def shown(self, index: int) -> str:
        """Return what tables call a column: its name, if it has one."""
        return self.names[index] if self.names else f"column {index + 1}"

    def label(self, index: int) -> str:
        """Return what a message calls a column."""
        return repr(self.names[index]) if self.names else f"number {index + 1}"

    def _listed(self) -> str:
        if self.names:
            return f"The columns are: {', '.join(map(repr, self.names))}."
        return f"The file has no header; its columns are numbered from 1 to {self.width}."


def plain(names: Iterable[str]) -> list[str]:
    """Return names in lower case and without spaces, hyphens and underscores, to compare them.

    >>> plain([" Min bid-to-win", "minBidToWin"])
    ['minbidtowin', 'minbidtowin']
    """
    return ["".join(name.lower().split()).translate(_SEPARATORS) for name in names]


def leaf(name: str) -> str:
    """Return the last part of the name of a nested field, such as "ext.deal"."""
    return name.rpartition(".")[2]


def is_header(fields: Iterable[str]) -> bool:
    """Return whether the first line of a text file is a header."""
    fields = list(fields)
    known = set(plain(name for names in NAMES.values() for name in names))
    return not known.isdisjoint(plain(fields)) or not any(map(is_number, fields))


def is_number(text: str) -> bool:
    """Return whether a field is a number.

    >>> is_number("1e3"), is_number("1,5")
    (True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return True


def number_sql(role: str, factor: float = 1.0) -> str:
    """Return SQL for the entry of a column as a number; NULL if it is not a number."""
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
    """Return SQL for a time in seconds since 1970; NULL if the entry is not a time.

    Numbers are seconds or, if they are large, milli-, micro- or nanoseconds. Other entries are in
    the format ISO 8601, or digits such as 20260105103000. Times without an offset are in the time
    zone of the connection.
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
    """Return SQL for what is wrong with a row; NULL if nothing is.

    The text of a column has the name of its role. Its number has an underscore after that name.
    """
    missing = [role for role in roles if role != "price" or needs_price]
    numbers = [role for role in roles if role not in {"won", "time"}]
    given = {role: f"{role} IS NOT NULL" for role in numbers}
    if "price" in roles and not needs_price:
        given["price"] += f" AND lower(trim(price::VARCHAR)) NOT IN {_UNKNOWN}"
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
        cases.append(f"WHEN won_ IS NULL THEN 'the result is neither {_WORDS}'")
    if "time" in roles:
        cases.append(
            "WHEN time_ IS NULL OR NOT isfinite(time_) "
            "THEN 'the time is neither like 2026-01-05T10:30:00+01:00 nor seconds since 1970'"
        )
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


def literal(text: str) -> str:
    """Return text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
