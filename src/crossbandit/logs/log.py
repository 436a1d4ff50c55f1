"""A log of first-price auctions, read in chunks; `opening.py` finds and joins its files."""

from __future__ import annotations

import copy
import zoneinfo
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from crossbandit.errors import LogError
from crossbandit.logs.auctions import COLUMNS, Auctions, ClassTable, concatenate
from crossbandit.logs.columns import LEAST, MOST, ROLES, UNITS, fault_sql, number_sql
from crossbandit.logs.formats import EXCHANGES
from crossbandit.logs.layout import KINDS
from crossbandit.logs.opening import open_log
from crossbandit.logs.source import FILE, ROW
from crossbandit.validation import choice, integer, number, reject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.logs.source import Source

_VECTORS = 8  # how many vectors of 2,048 rows DuckDB returns at a time
_STREAM = 8  # megabytes for rows that wait to be fetched: more than they need
FORMATS = ("auto", *KINDS, *EXCHANGES)
_SAID = {
    "value": "The value is",
    "price": "the highest competing bid",
    "bid": "Your own bid is",
    "reserve": "The reserve is",
    "won": "Who won is",
    "propensity": "The propensity is",
    "time": "The time is",
}
_AMOUNTS = ("price", "bid", "reserve")  # all in the unit `price_unit`


@dataclass(frozen=True, eq=False)
class AuctionLog:
    """A log of first-price auctions: files or a data frame, and which columns mean what.

    A row is an auction, in the order of time. Two columns are needed: the *value*, which is what
    winning is worth to you, and the *price*, which is the highest bid of the others, also where you
    won. If the log says who won (`columns={"won": ...}`), the price may be missing in some or all
    rows; then it is NaN. Such a log can be evaluated, but not replayed.

    Args:
        data: The path of a CSV, JSON lines or Parquet file (text may be compressed with gzip), of a
            folder, a pattern such as `logs/*.csv`, several of them, "-" for the standard input, or
            a data frame of pandas, polars or Arrow.
        format: "auto"; what files must be, "csv", "jsonl" or "parquet"; or whose lines they hold,
            "openrtb", "google" or "ipinyou", in any kind of file.
        columns: Which column holds the "value", the "price", your own "bid", the "reserve" of
            each auction, whether you "won", the "propensity" of the bid and the "time". A column is
            given by its name (upper and lower case do not matter) or by its number from 1. The
            value and the price are found by their usual names if they are not given. The others are
            read only if they are given.
        classes: Categorical columns, such as the site or the campaign: names or numbers. Learners
            that use classes are told them before they bid. An empty entry is a class of its own.
        highest_value: An upper bound of the values. Lines with a higher value are bad. If None, it
            is the highest value of the log.
        limit: How many lines are read; None for all.
        max_bad: How many bad lines are left out before a replay refuses the log.
        value_unit: The unit of the values: "units" of money, "cents" or "micros"; or "cpm",
            "cpm-cents" or "cpm-micros", for a thousand impressions. Values are converted to units
            of money for one impression. None leaves them as they are.
        price_unit: The unit of prices, own bids and reserves, in the same way.
        timezone: The zone of times without an offset.
        partitions: Whether names of folders such as `day=5` are columns.
        sort_by: A column of times or numbers by which the lines are sorted; None leaves them in
            their order.
        by: A column by which `split` separates the log.
        currency: For notices of an exchange, which currency is kept, such as "EUR".
        price_losses: For notices of an exchange, the codes of losses that a higher bid would have
            prevented; None for the usual ones.

    Raises:
        LogError: The file is missing or unreadable, or a column is not found.
        InvalidParameterError: Another argument is invalid.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"worth": [3.0, 2.0], "price": [1.0, 2.5]})
    >>> AuctionLog(frame, columns={"value": "Worth", "price": 2}).description
    "The value is column 'worth', the highest competing bid column 'price'."
    """

    data: Any = field(repr=False)
    format: str = field(default="auto", kw_only=True)
    columns: Mapping[str, str | int] = field(default_factory=dict, kw_only=True)
    classes: Sequence[str | int] = field(default=(), kw_only=True)
    highest_value: float | None = field(default=None, kw_only=True)
    limit: int | None = field(default=None, kw_only=True)
    max_bad: int = field(default=100, kw_only=True)
    value_unit: str | None = field(default=None, kw_only=True)
    price_unit: str | None = field(default=None, kw_only=True)
    timezone: str = field(default="UTC", kw_only=True)
    partitions: bool = field(default=False, kw_only=True)
    sort_by: str | int | None = field(default=None, kw_only=True)
    by: str | int | None = field(default=None, kw_only=True)
    currency: str | None = field(default=None, kw_only=True)
    price_losses: Sequence[str | int] | None = field(default=None, kw_only=True)
    source: Source = field(init=False)
    places: dict[str, int] = field(init=False, repr=False)  # indices of columns by their roles
    class_places: dict[str, int] = field(init=False, repr=False)  # indices of class columns by name
    order: dict[str, int] = field(init=False, repr=False)  # columns by which rows are sorted
    remarks: tuple[str, ...] = field(init=False, repr=False)  # what the format made of the lines
    ties: str | None = field(init=False, repr=False)  # what the format says about equal bids
    needs_price: bool = field(init=False, default=False, repr=False)  # see `with_prices`

    def __post_init__(self) -> None:
        self._check()
        opened = open_log(self)
        for name, value in opened._asdict().items():
            object.__setattr__(self, name, value)

    def with_prices(self) -> AuctionLog:
        """Return this log, with lines that have no price as bad lines.

        Returns:
            A log whose prices are all known.
        """
        log = copy.copy(self)
        object.__setattr__(log, "needs_price", True)
        return log

    def split(self) -> dict[str, AuctionLog]:
        """Return a log for each level of the column `by`.

        Returns:
            The logs by levels, in the order of their names. They share one sorted copy, which is
            removed when none of them is used any more.

        Raises:
            LogError: The log has no column `by`, or cannot be read.
        """
        if "by" not in self.order:
            raise LogError("A log is split by a column. Give it as AuctionLog(..., by=column).")
        place = self.order["by"]
        rows = self.source.select({"level": place})
        query = f"SELECT DISTINCT coalesce(level, '') FROM ({rows}) WHERE broken IS NULL ORDER BY 1"
        with self.source.connect(self.timezone) as connection:
            found = connection.execute(query).fetchall()
        name = self.source.columns.shown(place)
        logs = {}
        for (level,) in found:
            logs[level] = copy.copy(self)
            object.__setattr__(logs[level], "data", self.source.name)  # do not keep a data frame
            object.__setattr__(logs[level], "source", replace(self.source, only=(name, level)))
        return logs

    @classmethod
    def from_frame(cls, frame: Any, **options: Any) -> AuctionLog:
        """Return a log that is a data frame.

        Args:
            frame: A DataFrame of pandas or polars, an Arrow table, or anything else that exports
                Arrow data (`__arrow_c_stream__`).
            options: As for `AuctionLog`.

        Returns:
            The log.

        Raises:
            LogError: A column is not found.
            InvalidParameterError: It is no data frame, or another argument is invalid.
        """
        if not hasattr(frame, "__arrow_c_stream__") and not hasattr(frame, "iloc"):
            hint = " Call its collect() first." if hasattr(frame, "collect") else ""
            expected = f"a data frame of pandas, polars or Arrow.{hint}"
            reject("from_frame", "frame", expected.rstrip("."), type(frame).__name__)
        return cls(frame, **options)

    def _check(self) -> None:
        owner = type(self).__name__
        choice(owner, "format", self.format, FORMATS)
        if self.highest_value is not None:
            number(owner, "highest_value", self.highest_value, at_least=LEAST, at_most=MOST)
        if self.limit is not None:
            integer(owner, "limit", self.limit, at_least=1)
        integer(owner, "max_bad", self.max_bad, at_least=0)
        for name, unit in (("value_unit", self.value_unit), ("price_unit", self.price_unit)):
            if unit is not None:
                choice(owner, name, unit, UNITS)
        currency, codes = (getattr(self, name) for name in ("currency", "price_losses"))
        if currency is not None and not isinstance(currency, str):
            reject(owner, "currency", "the code of a currency such as 'EUR'", currency)
        if codes is not None and (isinstance(codes, str) or not isinstance(codes, Sequence)):
            reject(owner, "price_losses", "a list of codes such as [100, 102]", codes)
        try:
            zoneinfo.ZoneInfo(self.timezone)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, TypeError):
            expected = "the name of a time zone such as 'UTC' or 'Europe/Berlin'"
            reject(owner, "timezone", expected, self.timezone)
        columns: object = self.columns
        if not isinstance(columns, Mapping) or not set(columns) <= set(ROLES):
            expected = f"a mapping from some of {', '.join(map(repr, ROLES))} to columns"
            reject(owner, "columns", expected, columns)

    @property
    def description(self) -> str:
        """A sentence that says which columns are read."""
        guessed = set() if self.remarks else {"value", "price"} - set(self.columns)
        if len(guessed) == 2 and "price" in self.places:
            guessed = {"price"}  # said once, after the price, for both
        found = [
            f"{what} column {self.label(role)}{' (guessed by name)' if role in guessed else ''}"
            for role, what in _SAID.items()
            if role in self.places
        ]
        first = 2 if "price" in self.places else 1
        sentences = [", ".join(found[:first]), *found[first:]]
        if self.class_places:
            sentences.append(f"Classes: {', '.join(self.class_places)}")
        return " ".join(f"{sentence}." for sentence in sentences)

    def label(self, role: str) -> str | None:
        """Return what messages call the column of a role.

        Args:
            role: "value", "price", "bid", "reserve", "won", "propensity" or "time".

        Returns:
            The name in quotes or the number; None if the log has no such column.
        """
        return self.source.columns.label(self.places[role]) if role in self.places else None

    def read(self, classes: ClassTable | None = None) -> Auctions:
        """Read all good lines at once, which takes memory for all of them.

        Args:
            classes: As for `chunks`.

        Returns:
            All auctions.

        Raises:
            LogError: The file cannot be read, or has no good line.
        """
        pieces = [piece for piece in self.chunks(1 << 16, classes) if len(piece.values)]
        if not pieces:
            raise LogError(
                " ".join([f"{self.source.name} has no good line.", *self.remarks, self.description])
            )
        return concatenate(pieces)

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
                joined = concatenate(kept)
                whole = count - count % size
                for start in range(0, whole, size):
                    yield joined.part(start, start + size)
                kept = [joined.part(whole)]
                count -= whole
        if count:
            yield concatenate(kept)

    def _pieces(self, classes: ClassTable) -> Iterator[Auctions]:
        labels = self._class_names()
        roles = {"price", *self.places}
        numbers = ", ".join([*(f"{role}_" for role in roles), *labels])
        megabytes = self.source.memory.megabytes + _STREAM
        with self.source.connect(self.timezone, megabytes) as connection:
            # With WHERE, DuckDB would convert each number from its text once for every check.
            query = f"SELECT {numbers}, fault IS NULL AS good FROM ({self.checked_sql()})"
            connection.execute(query)
            while len(frame := connection.fetch_df_chunk(_VECTORS)):
                good = frame["good"].to_numpy()
                rows = frame if good.all() else frame[good]
                if not len(rows):
                    continue
                found = {COLUMNS[role]: rows[f"{role}_"].to_numpy() for role in roles}
                if labels:
                    found["classes"] = classes.numbers([rows[label] for label in labels])
                yield Auctions(**found)

    def _class_names(self) -> list[str]:
        return [f"class_{i}" for i in range(len(self.class_places))]

    @property
    def factors(self) -> dict[str, float]:
        """The factors by which amounts are multiplied, by role; empty if no unit is given."""
        if self.value_unit is None and self.price_unit is None:
            return {}
        price = UNITS[self.price_unit or "units"]
        return {"value": UNITS[self.value_unit or "units"], **dict.fromkeys(_AMOUNTS, price)}

    def checked_sql(self, source: Source | None = None, limit: int | None = None) -> str:
        """Return SQL for each column as text and as a number, and for what is wrong with a line.

        Args:
            source: A source to read instead of the log's own, such as one of its files.
            limit: How many lines to read, instead of the log's own limit.

        Returns:
            A query. A number has the name of its role with an underscore after it; `fault` is NULL
            for a good line.
        """
        labels = self._class_names()
        places = {**self.places, **dict(zip(labels, self.class_places.values(), strict=True))}
        rows = (source or self.source).select(places)
        limit = self.limit if limit is None else limit
        if limit is not None:
            rows = f"SELECT * FROM ({rows}) LIMIT {limit}"
        factors = self.factors
        numbers = ", ".join(
            f"{number_sql(role, factors.get(role, 1.0))} AS {role}_" for role in self.places
        )
        if "price" not in self.places:
            numbers += ", NULL::DOUBLE AS price_"
        needs_price = self.needs_price or "won" not in self.places
        fault = fault_sql(self.places, self.highest_value, factors, needs_price=needs_price)
        texts = [*self.places, *(f"coalesce({one}::VARCHAR, '') AS {one}" for one in labels)]
        if self.source.origin is not None:
            texts += [FILE, ROW]
        return f"SELECT {numbers}, {fault} AS fault, {', '.join(texts)} FROM ({rows})"
