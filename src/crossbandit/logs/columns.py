"""Find the columns of a log by name or by number."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from crossbandit.errors import LogError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# The columns that a log can have, and what their entries are called in messages.
ROLES = {
    "value": "value",
    "price": "highest competing bid",
    "bid": "own bid",
    "reserve": "reserve",
    "won": "result",
    "propensity": "propensity",
    "time": "time",
}

LEAST_BID = (  # that would have won, as exchanges and bidders call it
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


@dataclass(frozen=True)
class Columns:
    """The columns of a file or a DataFrame; `names` is empty if the file has no header."""

    owner: str  # what messages call the file
    names: tuple[str, ...]
    width: int

    def find(self, wanted: str | int | None, role: str) -> int:
        """Return the index of a column, from 0.

        Args:
            wanted: A name (case, spaces, hyphens and underscores do not matter, and of a nested
                field the last part is enough), a number from 1, or None to look for the usual
                names of the role.
            role: A key of `ROLES`.

        Returns:
            The index of the column.

        Raises:
            LogError: There is no such column, or more than one.
        """
        if wanted is None:
            return self._usual(role)
        text = str(wanted)
        if isinstance(wanted, str):
            key = plain([text])[0]
            leaves = plain(name.rpartition(".")[2] for name in self.names)
            for name, names in ((text, self.names), (key, plain(self.names)), (key, leaves)):
                if name in names:
                    return self._unique(name, names)
        if text.isascii() and text.isdigit() and 1 <= int(text) <= self.width:
            return int(text) - 1
        near = get_close_matches(text, self.names, n=3)
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise LogError(f"{self.owner} has no column {text!r}.{hint} {self._listed()}")

    def guess(self, role: str) -> int | None:
        """Return the index of the column that has a usual name of a role, or None.

        Args:
            role: A key of `NAMES`.

        Returns:
            The index of the column.

        Raises:
            LogError: More than one column has such a name.
        """
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
        """Return the name of a column, or what stands for it in tables."""
        return self.names[index] if self.names else f"column {index + 1}"

    def label(self, index: int) -> str:
        """Return what a message calls a column."""
        return repr(self.names[index]) if self.names else f"number {index + 1}"

    def _listed(self) -> str:
        if self.names:
            return f"The columns are: {', '.join(map(repr, self.names))}."
        return f"The file has no header; its columns are numbered from 1 to {self.width}."


def plain(names: Iterable[str]) -> list[str]:
    """Return names in lower case, without what may differ: spaces, hyphens and underscores.

    >>> plain([" Min bid-to-win", "minBidToWin"])
    ['minbidtowin', 'minbidtowin']
    """
    return ["".join(name.lower().split()).translate(_SEPARATORS) for name in names]


def is_header(fields: Iterable[str]) -> bool:
    """Return whether the first line of a text file is a header."""
    fields = list(fields)
    known = plain(name for names in NAMES.values() for name in names)
    return bool(set(known).intersection(plain(fields))) or not any(map(is_number, fields))


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
