"""A log of first-price auctions, read in chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.errors import LogError
from crossbandit.logs.classes import ClassTable
from crossbandit.logs.columns import ROLES
from crossbandit.logs.faults import LEAST, MOST, fault_sql
from crossbandit.logs.source import Source, recognize
from crossbandit.validation import integer, number, reject

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    import pandas as pd

    from crossbandit.types import Floats, Integers

_VECTORS = 8  # of 2,048 rows: what DuckDB returns at once


class Auctions(NamedTuple):
    """Consecutive auctions. A column that is not read is None.

    Attributes:
        values: What each was worth.
        prices: The highest competing bids.
        bids: What was bid.
        reserves: The lowest bids that could win.
        classes: The numbers of the classes: one per class column, and one for their combination.
    """

    values: Floats
    prices: Floats
    bids: Floats | None = None
    reserves: Floats | None = None
    classes: Integers | None = None

    def part(self, start: int, stop: int | None = None) -> Auctions:
        """Return some of the auctions.

        Args:
            start: The index of the first one.
            stop: The index after the last one; None for all that follow.

        Returns:
            The auctions start, ..., stop - 1.
        """
        return self._replace(
            **{
                name: column[start:stop]
                for name, column in self._asdict().items()
                if column is not None
            }
        )


def _concatenate(pieces: Sequence[Auctions]) -> Auctions:
    columns = {
        name: np.concatenate([piece._asdict()[name] for piece in pieces])
        for name, column in pieces[0]._asdict().items()
        if column is not None
    }
    return Auctions(**columns)


@dataclass(frozen=True, eq=False)
class AuctionLog:
    """A log of first-price auctions: a file or a DataFrame, and which columns mean what.

    A row is an auction, in the order of time. Two columns are needed: the *value*, which is what
    winning is worth to you, and the *price*, which is the highest bid of the others, also where you
    won.

    Args:
        data: The path of a CSV or Parquet file (CSV may be compressed with gzip), or a DataFrame.
        columns: Which column holds the "value", the "price", your own "bid" and the "reserve" of
            each auction: names, in which case does not matter, or numbers from 1. The value and the
            price are found by their usual names if they are not given. Own bids and reserves are
            read only if they are given.
        classes: Categorical columns, such as the site or the campaign: names or numbers. Learners
            that use classes are told them before they bid. An empty entry is a class of its own.
        highest_value: A bound of the values. Lines with a higher value are bad. None takes the
            highest value of the log.
        limit: How many lines are read; None for all.
        max_bad: How many bad lines are left out before a replay refuses the log.

    Raises:
        LogError: The file is missing or unreadable, or a column is not found.
        InvalidParameterError: Another argument is invalid.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"worth": [3.0, 2.0], "price": [1.0, 2.5]})
    >>> AuctionLog(frame, columns={"value": "Worth", "price": 2}).description
    "The value is column 'worth', the highest competing bid column 'price'."
    """

    data: str | os.PathLike[str] | pd.DataFrame = field(repr=False)
    columns: Mapping[str, str | int] = field(default_factory=dict, kw_only=True)
    classes: Sequence[str | int] = field(default=(), kw_only=True)
    highest_value: float | None = field(default=None, kw_only=True)
    limit: int | None = field(default=None, kw_only=True)
    max_bad: int = field(default=100, kw_only=True)
    source: Source = field(init=False)
    places: dict[str, int] = field(init=False, repr=False)  # indices of columns by their roles
    class_places: dict[str, int] = field(init=False, repr=False)  # likewise, by names of columns

    def __post_init__(self) -> None:
        owner = type(self).__name__
        if self.highest_value is not None:
            number(owner, "highest_value", self.highest_value, at_least=LEAST, at_most=MOST)
        if self.limit is not None:
            integer(owner, "limit", self.limit, at_least=1)
        integer(owner, "max_bad", self.max_bad, at_least=0)
        columns: object = self.columns
        if not isinstance(columns, Mapping) or not set(columns) <= set(ROLES):
            expected = f"a mapping from some of {', '.join(map(repr, ROLES))} to columns"
            reject(owner, "columns", expected, columns)
        object.__setattr__(self, "source", recognize(self.data))
        object.__setattr__(self, "places", self._find_columns())
        object.__setattr__(self, "class_places", self._find_classes())

    def _find_columns(self) -> dict[str, int]:
        columns = self.source.columns
        places = {
            role: columns.find(self.columns.get(role), role)
            for role in ROLES
            if role in self.columns or role in {"value", "price"}
        }
        for (one, place), (other, same) in combinations(places.items(), 2):
            if place == same:
                raise LogError(
                    f"The {ROLES[one]} and the {ROLES[other]} cannot both be column "
                    f"{columns.label(place)}."
                )
        return places

    def _find_classes(self) -> dict[str, int]:
        classes: object = self.classes
        if isinstance(classes, str) or not isinstance(classes, Sequence):
            reject(type(self).__name__, "classes", "a list of columns", classes)
        columns = self.source.columns
        found = [columns.find(one, "class") for one in classes]
        if len(set(found)) < len(found):
            reject(type(self).__name__, "classes", "different columns", classes)
        names = columns.names or [f"column {i + 1}" for i in range(columns.width)]
        return {names[place]: place for place in found}

    @property
    def description(self) -> str:
        """A sentence that says which columns are read."""
        by_name = " (guessed by name)"
        guessed = {"value", "price"} - set(self.columns)
        first = by_name if guessed == {"value"} else ""
        second = by_name if "price" in guessed else ""
        bid, reserve = self.label("bid"), self.label("reserve")
        return (
            f"The value is column {self.label('value')}{first}, the highest competing bid column "
            f"{self.label('price')}{second}."
            + (f" Your own bid is column {bid}." if bid else "")
            + (f" The reserve is column {reserve}." if reserve else "")
            + (f" Classes: {', '.join(self.class_places)}." if self.class_places else "")
        )

    def label(self, role: str) -> str | None:
        """Return what messages call the column of a role.

        Args:
            role: "value", "price", "bid" or "reserve".

        Returns:
            The name in quotes or the number; None if the log has no such column.
        """
        return self.source.columns.label(self.places[role]) if role in self.places else None

    def chunks(self, size: int, classes: ClassTable | None = None) -> Iterator[Auctions]:
        """Read the good lines in order.

        Args:
            size: The number of auctions per chunk. The last chunk may be shorter.
            classes: The numbers of the classes, to which new ones are added; None for a new table.

        Yields:
            The auctions of one chunk.

        Raises:
            LogError: The file cannot be read.
        """
        kept: list[Auctions] = []
        count = 0
        for piece in self._pieces(classes or ClassTable([*self.class_places])):
            kept.append(piece)
            count += len(piece.values)
            if count >= size:
                joined = _concatenate(kept)
                whole = count - count % size
                for start in range(0, whole, size):
                    yield joined.part(start, start + size)
                kept = [joined.part(whole)]
                count -= whole
        if count:
            yield _concatenate(kept)

    def _pieces(self, classes: ClassTable) -> Iterator[Auctions]:
        labels = self._class_names()
        numbers = ", ".join([*(f"{role}_" for role in self.places), *labels])
        with self.source.connect() as connection:
            # With WHERE, DuckDB would convert each number from its text once for every check.
            query = f"SELECT {numbers}, fault IS NULL AS good FROM ({self.checked_sql()})"
            connection.execute(query)
            while len(frame := connection.fetch_df_chunk(_VECTORS)):
                good = frame["good"].to_numpy()
                rows = frame if good.all() else frame[good]
                auctions = Auctions(
                    **{f"{role}s": rows[f"{role}_"].to_numpy() for role in self.places}
                )
                if labels and len(rows):
                    numbered = classes.numbers([rows[label] for label in labels])
                    auctions = auctions._replace(classes=numbered)
                yield auctions

    def _class_names(self) -> list[str]:
        return [f"class_{i}" for i in range(len(self.class_places))]

    def checked_sql(self) -> str:
        """Return SQL for each column as text and as a number, and for what is wrong with a line.

        Returns:
            A query. A number has the name of its role with an underscore after it; `fault` is NULL
            for a good line.
        """
        labels = self._class_names()
        places = {**self.places, **dict(zip(labels, self.class_places.values(), strict=True))}
        rows = self.source.select(places)
        if self.limit is not None:
            rows += f" LIMIT {self.limit}"
        numbers = ", ".join(f"TRY_CAST({role} AS DOUBLE) AS {role}_" for role in self.places)
        fault = fault_sql(self.places, self.highest_value)
        texts = [*self.places, *(f"coalesce({one}::VARCHAR, '') AS {one}" for one in labels)]
        return f"SELECT {numbers}, {fault} AS fault, {', '.join(texts)} FROM ({rows})"
