"""A log of first-price auctions: finding its files and columns, reading it, and what it holds."""

from __future__ import annotations

import copy
import glob
import os
import re
import shutil
import sys
import zoneinfo
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd

from crossbandit.core.types import Ties
from crossbandit.core.validation import boolean, choice, integer, number, reject
from crossbandit.errors import LogError
from crossbandit.logs import files
from crossbandit.logs.exchanges import EXCHANGES, JOINED, find_format, join_notices, with_names
from crossbandit.logs.tenders import TenderWords

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from crossbandit.applications.bidding.logs import FittingLog
    from crossbandit.core.types import Booleans, Floats, Integers
    from crossbandit.logs.exchanges import Exchange


# --- auctions ------------------------------------------------------------------------------------

LIMIT = 4096  # levels of a column that have their own number; later ones are pooled
SHOWN = 10  # how many levels tables and figures show: the most frequent ones
OTHERS = "others"
EMPTY = "(empty)"

MIXED = "mixed"
_ENOUGH = 20  # with fewer bids, nothing is concluded from how many have won
_NEARLY_NONE = 0.001  # a smaller share of the bids counts as none


class Auctions(NamedTuple):
    """Consecutive auctions. A column that is not read is None.

    Attributes:
        values: What each was worth.
        prices: The highest competing bids. A price that is not known is NaN, which only a log that
            says who won may have.
        bids: What was bid.
        reserves: The lowest bids that could win.
        classes: The numbers of the classes: one per class column, and one for their combination.
        won: Whether the own bid won.
        propensities: The probabilities with which the own bids were chosen.
        times: Seconds since 1970.
    """

    values: Floats
    prices: Floats
    bids: Floats | None = None
    reserves: Floats | None = None
    classes: Integers | None = None
    won: Booleans | None = None
    propensities: Floats | None = None
    times: Floats | None = None

    def part(self, start: int, stop: int | None = None) -> Auctions:
        """Return some of the auctions.

        Args:
            start: The index of the first one.
            stop: The index after the last one; None for all that follow.

        Returns:
            The auctions start, ..., stop - 1.
        """
        return self.in_order(slice(start, stop))

    def in_order(self, rows: Integers | slice) -> Auctions:
        """Return auctions in another order, or some of them.

        Args:
            rows: Their indices.

        Returns:
            These auctions, in that order.
        """
        return self._replace(
            **{name: column[rows] for name, column in self._asdict().items() if column is not None}
        )


def concatenate(pieces: Sequence[Auctions]) -> Auctions:
    """Return all auctions of some pieces, in order."""
    columns = {
        name: np.concatenate([piece._asdict()[name] for piece in pieces])
        for name, column in pieces[0]._asdict().items()
        if column is not None
    }
    return Auctions(**columns)


class OutcomeCounts(NamedTuple):
    """Numbers of auctions by what became of the own bid."""

    auctions: int  # how many there are
    wins: int  # how many were won
    told: int  # in how many the price is known
    told_wins: int  # in how many of the auctions that were won the price is known
    bids: int  # in how many a bid above 0 was made
    bids_won: int  # how many of these bids won
    equal_wins: int  # in how many a bid that equals the price won
    equal_losses: int  # in how many a bid that equals the price lost

    @classmethod
    def of(
        cls, bids: Floats, won: Booleans, prices: Floats, reserves: Floats | float = 0.0
    ) -> OutcomeCounts:
        """Return the counts of some auctions."""
        told, made = ~np.isnan(prices), bids > 0
        equal = made & (bids == prices) & (bids >= reserves)
        columns = (won, told, told & won, made, made & won, equal & won, equal & ~won)
        return cls(won.size, *(int(one.sum()) for one in columns))

    @property
    def feedback(self) -> str:
        """Who was told the price: one of the kinds of feedback, or "mixed"."""
        return feedback_shown(*self._by_result)

    @property
    def _by_result(self) -> tuple[int, int, int, int]:
        losses, told_losses = self.auctions - self.wins, self.told - self.told_wins
        return self.wins, self.told_wins, losses, told_losses

    @property
    def shares_known(self) -> str:
        """In how many of the auctions that were won, and lost, the price is known, in words."""
        return shares_known(*self._by_result)

    @property
    def rounded(self) -> bool:
        """Whether equal bids won in some auctions and lost in others, because of rounded amounts.

        It is False if most winners were told a price that equals their bid: that price is probably
        what they paid.
        """
        both = min(self.equal_wins, self.equal_losses) > 0
        return both and 2 * self.equal_wins <= self.told_wins

    @property
    def ties(self) -> str:
        """What happens to bids that equal the price: "lose" if all of them lost, else "win"."""
        return "lose" if self.equal_losses and not self.equal_wins else "win"

    def require_both_outcomes(self) -> None:
        """Raise LogError if the won auctions, or the lost ones, seem to be missing from the log."""
        if self.bids < _ENOUGH:
            return
        for found, which, missing in (
            (self.bids_won, "won", "low"),
            (self.bids - self.bids_won, "lost", "high"),
        ):
            if found < _NEARLY_NONE * self.bids:
                raise LogError(
                    f"Your own bids win {100 * self.bids_won / self.bids:.3g} % of the "
                    f"{self.bids:,} auctions in which you bid. If the auctions that you {which} "
                    f"were dropped, nothing can be said of other bids: the auctions with {missing} "
                    "competing bids are missing. Add them to the log; their prices need not be "
                    "known."
                )


def feedback_shown(
    won: int, won_known: int, lost: int, lost_known: int, *, nearly_all: float = 1.0
) -> str:
    """Return who was told the price: all or none, up to a share, of the winners and of the losers.

    If only some of the winners, or of the losers, were told, it is "mixed".
    """
    shares = [known / count for count, known in ((won, won_known), (lost, lost_known)) if count]
    if any(1 - nearly_all < share < nearly_all for share in shares):
        return MIXED
    told = [share > 1 / 2 for share in shares]
    if all(told):
        return "always"
    return ("after-win" if told[0] else "after-loss") if any(told) else "won-lost"


def shares_known(won: int, won_known: int, lost: int, lost_known: int) -> str:
    """Return in how many of the auctions that were won, and lost, the price is known, in words.

    A share is rounded down, so that 100 % are all of them.

    >>> shares_known(842, 842, 3_158, 2_975)
    '842 of the 842 auctions that you won (100 %) and 2,975 of the 3,158 that you lost (94.2 %)'
    """
    whiches = ("auctions that you won", "that you lost")
    return " and ".join(
        f"{known:,} of the {count:,} {which} ({1000 * known // max(count, 1) / 10:g} %)"
        for count, known, which in zip((won, lost), (won_known, lost_known), whiches, strict=True)
    )


class ClassColumn(NamedTuple):
    """A class column and its most frequent levels."""

    column: str
    levels: tuple[str, ...]  # The levels, the most frequent first. The last may be "others".
    auctions: Floats  # the number of auctions of each level
    pooled: int  # how many levels "others" stands for; 0 if there is no such entry


class ClassTable:
    """Numbers for the levels of class columns and for their combinations, in bounded memory.

    A level gets the next free number when it first occurs. Once `LIMIT` numbers are used, all new
    levels get the number `LIMIT`.

    >>> import pandas as pd
    >>> table = ClassTable(["site", "device"])
    >>> table.numbers([pd.Series(["a", "b", "a"]), pd.Series(["x", "x", "y"])])
    array([[0, 0, 0],
           [1, 0, 1],
           [0, 1, 2]])
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._levels: list[dict[str, int]] = [{} for _ in names]
        self._combinations: dict[tuple[int, ...], int] = {}
        self.auctions = np.zeros((len(self.names), LIMIT + 1))

    def numbers(self, labels: Sequence[pd.Series[str]]) -> Integers:
        """Return the numbers of some auctions: one per column, and one for the combination."""
        columns = [
            _numbered(levels, *column.factorize())
            for levels, column in zip(self._levels, labels, strict=True)
        ]
        rows = np.stack(columns, axis=1)
        if len(columns) == 1:
            return np.hstack([rows, rows])
        kinds, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        keys = [tuple(kinds[i].tolist()) for i in order]
        joint = _numbered(self._combinations, rank[inverse.reshape(-1)], keys)
        return np.column_stack([rows, joint])

    def count(self, numbers: Integers) -> None:
        """Count the auctions of each level."""
        for i in range(len(self.names)):
            self.auctions[i] += np.bincount(numbers[:, i], minlength=LIMIT + 1)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many numbers each column may use, including the number for pooled levels."""
        return tuple(len(levels) + 1 for levels in self._levels)

    def labels(self, column: int) -> list[str]:
        """Return the levels of a column by their numbers; the last one stands for later levels."""
        return [*self._levels[column], OTHERS][: LIMIT + 1]

    def columns(self, numbers: Integers | None) -> dict[str, npt.NDArray[np.str_]]:
        """Return columns of levels by name, from their numbers; none without numbers."""
        if numbers is None:
            return {}
        return {name: np.array(self.labels(i))[numbers[:, i]] for i, name in enumerate(self.names)}

    def full(self) -> list[str]:
        """Return the columns that have more than `LIMIT` levels."""
        return [
            name for name, counts in zip(self.names, self.auctions, strict=True) if counts[LIMIT]
        ]

    def places(self, column: int) -> Integers:
        """Return where tables show the numbers of a column: 0 for the most frequent level."""
        counts, size = self.auctions[column], len(self._levels[column])
        order = np.argsort(-counts[:size], kind="stable")
        places = np.minimum(np.argsort(order), SHOWN)
        if size == SHOWN + 1 and not counts[LIMIT]:
            places = np.argsort(order)
        return np.append(places, min(size, SHOWN))

    def column(self, column: int) -> ClassColumn:
        """Return what tables show for a column."""
        places, labels = self.places(column), list(self._levels[column])
        counts = np.append(self.auctions[column, : len(labels)], self.auctions[column, LIMIT])
        auctions: Floats = np.bincount(places, counts).astype(float)
        auctions = auctions[: np.flatnonzero(auctions)[-1] + 1]
        levels = [OTHERS] * auctions.size
        for i in range(len(labels)):
            if places[i] < SHOWN or len(labels) == SHOWN + 1:
                levels[places[i]] = labels[i] or EMPTY
        pooled = max(len(labels) - SHOWN, 0) if levels[-1] == OTHERS else 0
        return ClassColumn(self.names[column], tuple(levels), auctions, pooled)


def _numbered(known: dict[Any, int], codes: Integers, keys: Sequence[Any]) -> Integers:
    """Return the numbers of keys[codes]. New keys get the next numbers while there are any left."""
    found = np.empty(len(keys), dtype=np.int64)
    for i, key in enumerate(keys):
        if len(known) < LIMIT:
            known.setdefault(key, len(known))
        found[i] = known.get(key, LIMIT)
    numbers: Integers = found[codes]
    return numbers


# --- finding files and columns -------------------------------------------------------------------

STANDARD_INPUT = "-"
_PATTERN = set("*?[")
_SUFFIXES = {".csv", ".tsv", ".txt", ".log", ".json", ".jsonl", ".ndjson", ".parquet"}
_EXPECTED = (
    "the path of a CSV, JSON lines or Parquet file, of a folder or several of them, or a data frame"
)


def open_log(log: AuctionLog) -> files.OpenedSource:
    """Return the source of a log and the places of its columns."""
    kind = log.format if log.format in files.KINDS else None
    source = find_source(log.data, kind, partitions=log.partitions)
    form = find_format(log.format, source)
    if form is None:
        if log.price_losses is not None:
            raise LogError(
                f"{source.name} is not read as notices of an exchange, so --price-loss "
                "(price_losses=... in Python) means nothing. Leave it out, or give the format: "
                f"{', '.join(EXCHANGES)}."
            )
        columns = source.columns
        order = _order(log, columns)
        if files.ID in log.columns:
            order[files.ID] = columns.find(log.columns[files.ID], files.ID)
        opened = files.OpenedSource(source, _roles(log, columns), _classes(log, columns), order)
    else:
        opened = _join(log, form, source)
    return files.sorted_copy(opened, timezone=log.timezone) if opened.order else opened


def _join(log: AuctionLog, form: Exchange, source: files.Source) -> files.OpenedSource:
    """Read the lines of an exchange, and return a copy that has one row per auction."""
    if source.frame is None and "url" in form.fields:
        known = (files.recognize_file(file.path, notices=True) for file in source.files)
        source = replace(source, files=tuple(known))
    source = replace(source, files=tuple(map(with_names, source.files)), lenient=True)
    columns = source.columns
    asked = {role: columns.find(one, role) for role, one in log.columns.items()}
    own = {role: place for role, place in asked.items() if role in {*JOINED, files.ID}}
    further = {role: place for role, place in asked.items() if role not in own}
    opened = files.OpenedSource(source, further, _classes(log, columns), _order(log, columns))
    return join_notices(log, opened, form, own)


def _roles(log: AuctionLog, columns: files.Columns) -> dict[str, int]:
    asked = {
        role: columns.find(log.columns[role], role) for role in files.ROLES if role in log.columns
    }
    places = {"value": asked["value"] if "value" in asked else columns.find(None, "value")}
    price = asked.get("price", columns.guess("price") if "won" in asked else None)
    if price is not None or "won" not in asked:
        places["price"] = columns.find(None, "price") if price is None else price
    places |= {role: place for role, place in asked.items() if role not in places}
    for (one, place), (other, same) in combinations(places.items(), 2):
        if place == same:
            raise LogError(
                f"The {files.ROLES[one]} and the {files.ROLES[other]} cannot both be column "
                f"{columns.label(place)}."
            )
    return places


def _classes(log: AuctionLog, columns: files.Columns) -> dict[str, int]:
    classes: object = log.classes
    if isinstance(classes, str) or not isinstance(classes, Sequence):
        reject(type(log).__name__, "classes", "a list of columns", classes)
    found = [columns.find(one, "class") for one in classes]
    if len(set(found)) < len(found):
        reject(type(log).__name__, "classes", "different columns", classes)
    return {columns.shown(place): place for place in found}


def _order(log: AuctionLog, columns: files.Columns) -> dict[str, int]:
    wanted = {"by": log.by, "sort_by": log.sort_by}
    return {name: columns.find(one, name) for name, one in wanted.items() if one is not None}


class _Stream:
    """A data frame that exports its Arrow data each time it is read."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


def find_source(data: object, kind: str | None = None, *, partitions: bool = False) -> files.Source:
    """Return files or a data frame as a `Source`."""
    if isinstance(data, pd.DataFrame) or hasattr(data, "__arrow_c_stream__"):
        return _frame_source(data)
    if isinstance(data, str | os.PathLike):
        data = [data]
    paths = list(data) if isinstance(data, Iterable) else []
    if not paths or not all(isinstance(path, str | os.PathLike) for path in paths):
        reject("AuctionLog", "data", _EXPECTED, data)
    scratch = files.ScratchFolder() if STANDARD_INPUT in map(str, paths) else None
    found = [file for path in paths for file in _find(os.fspath(path), scratch)]
    name = str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    return files.Source(
        "the standard input" if name == STANDARD_INPUT else name,
        tuple(files.recognize_file(path, kind) for path in found),
        keys=_partition_keys(found) if partitions else (),
        scratch=scratch,
    )


def _frame_source(data: Any) -> files.Source:
    """Return a data frame, of pandas or with Arrow data, as a source."""
    if isinstance(data, pd.DataFrame):
        name, names = "the DataFrame", tuple(map(str, data.columns))
        columns = {f"c{i}": _forward(data.iloc[:, i - 1]) for i in range(1, len(names) + 1)}
        frame: Any = pd.DataFrame(columns, copy=False)
    else:
        name, frame = f"the {type(data).__name__}", _Stream(data)
        with files.connect(name) as connection:
            connection.register(files.FRAME, frame)
            rows = connection.execute(f"DESCRIBE {files.FRAME}").fetchall()
        names = tuple(row[0] for row in rows)
    layout = files.Layout("frame", names, len(names))
    return files.Source(name, (files.LogFile(Path(name), layout),), frame=frame)


def _forward(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column that DuckDB can read: it cannot read memory backwards, as in `[::-1]`."""
    if isinstance(column.dtype, np.dtype) and column.to_numpy(copy=False).strides[0] >= 0:
        return column
    return column.copy()


def _find(path: str, scratch: files.ScratchFolder | None) -> list[Path]:
    """Return the files that a path stands for, in their order."""
    if path == STANDARD_INPUT and scratch is not None:
        return [_copy_standard_input(scratch)]
    found = Path(path)
    if found.is_dir():
        listed = _in_order(_in_folder(found))
        if not listed:
            raise LogError(
                f"{path!r} is a folder without a log. Logs in folders have names that end in "
                f"{', '.join(sorted(_SUFFIXES))}, also with .gz after it."
            )
    elif _PATTERN & set(path) and not found.exists():
        listed = _in_order(
            one
            for one in map(Path, glob.glob(path, recursive=True))  # noqa: PTH207
            if one.is_file()
        )
        if not listed:
            raise LogError(f"No file matches {path!r}.")
    elif not found.exists():
        raise LogError(
            f"There is no log {path!r}. Check the path. To try it out, make a log with: "
            "crossbandit make-log log.csv"
        )
    elif not found.is_file():
        raise LogError(f"{path!r} is neither a file nor a folder.")
    else:
        listed = [found]
    for file in listed:
        if _PATTERN & set(str(file)):
            raise LogError(f"The path of a log may not contain any of * ? [. Rename {str(file)!r}.")
    return listed


def _in_folder(folder: Path) -> list[Path]:
    return [
        path
        for path in folder.rglob("*")
        if path.is_file()
        and not any(part[0] in "._" for part in path.relative_to(folder).parts)
        and Path(path.name.removesuffix(".gz")).suffix.lower() in _SUFFIXES
    ]


def _in_order(paths: Iterable[Path]) -> list[Path]:
    """Return paths sorted by name, with numbers in names sorted by size: part-2 before part-10."""

    def key(path: Path) -> list[tuple[int, int, str]]:
        parts = re.split(r"(\d+)", str(path))
        return [(1, int(part), "") if part.isdecimal() else (0, 0, part) for part in parts]

    return sorted(paths, key=key)


def _copy_standard_input(scratch: files.ScratchFolder) -> Path:
    """Copy the standard input to a file, because a log is read more than once."""
    if sys.stdin.isatty():
        raise LogError("The standard input is a terminal. Send a log to it, or name a file.")
    path = scratch.folder / "standard-input"
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return path


def _partition_keys(paths: Sequence[Path]) -> tuple[str, ...]:
    """Return the names that folders such as `day=5` give to columns."""
    keys = {
        path: tuple(part.partition("=")[0] for part in path.parts[:-1] if "=" in part)
        for path in paths
    }
    first = keys[paths[0]]
    other = next((path for path in paths if keys[path] != first), None)
    if other is not None:
        raise LogError(
            f"{other} and {paths[0]} are not in folders of the same names. With --partitions, all "
            "files must be in folders such as day=5."
        )
    if not first:
        raise LogError(f"{paths[0]} is not in a folder such as day=5. Leave --partitions out.")
    return first


# --- the log -------------------------------------------------------------------------------------

_VECTORS = 8  # how many vectors of 2,048 rows DuckDB returns at a time
_STREAM = 8  # megabytes for rows that wait to be fetched: more than they need
LogFormat = Literal["auto", "csv", "jsonl", "parquet", "openrtb", "google", "ipinyou", "prebid"]
FORMATS: tuple[LogFormat, ...] = get_args(LogFormat)
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
            "openrtb", "google", "ipinyou" or "prebid", in any kind of file.
        columns: Which column holds the "value", the "price", your own "bid", the "reserve" of
            each auction, whether you "won", the "propensity" of the bid, the "time" and the "id" of
            the auction. A line with the id and the entries of an earlier one is left out; one with
            other entries is bad. A column is given by its name (upper and lower case do not matter)
            or by its number from 1. The value and the price are found by their usual names if they
            are not given. The others are read only if they are given.
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
        currency: The currency of the amounts, such as "EUR", for pages. Of notices of an exchange,
            only those in this currency are kept.
        price_losses: For notices of an exchange, the codes of losses that a higher bid would have
            prevented; None for the usual ones.
        lowest_wins: Whether the lowest bid wins and is paid, as in tenders. The value is then what
            winning costs, the price the lowest bid of the others, and the reserve the highest bid
            that can win. All amounts are read as those of the first-price auction that earns the
            same: 100 + 30 of cost and markup is a bid that is 30 below the value.
        max_markup: For tenders, the highest markup on the cost that is bid, as a share of it.

    Raises:
        LogError: The file is missing or unreadable, or a column is not found.
        InvalidParameterError: Another argument is invalid.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"worth": [3.0, 2.0], "price": [1.0, 2.5]})
    >>> AuctionLog(frame, columns={"value": "Worth", "price": 2}).description
    "The value is column 'worth', the highest competing bid column 'price'."
    """

    data: Any = field(repr=False)
    _: KW_ONLY
    format: LogFormat = "auto"
    columns: Mapping[str, str | int] = field(default_factory=dict)
    classes: Sequence[str | int] = ()
    highest_value: float | None = None
    limit: int | None = None
    max_bad: int = 100
    value_unit: files.Unit | None = None
    price_unit: files.Unit | None = None
    timezone: str = "UTC"
    partitions: bool = False
    sort_by: str | int | None = None
    by: str | int | None = None
    currency: str | None = None
    price_losses: Sequence[str | int] | None = None
    lowest_wins: bool = False
    max_markup: float = 1.0
    source: files.Source = field(init=False)
    places: dict[str, int] = field(init=False, repr=False)  # indices of columns by their roles
    class_places: dict[str, int] = field(init=False, repr=False)  # indices of class columns by name
    order: dict[str, int] = field(init=False, repr=False)  # columns by which rows are sorted
    remarks: tuple[str, ...] = field(init=False, repr=False)  # what was made of the lines
    ties: Ties | None = field(init=False, repr=False)  # what the format says about equal bids
    identified: bool = field(init=False, repr=False)  # whether an id shows repeated auctions
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
            number(
                owner, "highest_value", self.highest_value, at_least=files.LEAST, at_most=files.MOST
            )
        if self.limit is not None:
            integer(owner, "limit", self.limit, at_least=1)
        integer(owner, "max_bad", self.max_bad, at_least=0)
        number(owner, "max_markup", self.max_markup, above=0)
        if boolean(owner, "lowest_wins", self.lowest_wins) and self.format in EXCHANGES:
            reject(owner, "lowest_wins", "False for notices of an exchange", self.lowest_wins)
        for name, unit in (("value_unit", self.value_unit), ("price_unit", self.price_unit)):
            if unit is not None:
                choice(owner, name, unit, files.UNITS)
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
        roles = (*files.ROLES, files.ID)
        if not isinstance(columns, Mapping) or not set(columns) <= set(roles):
            expected = f"a mapping from some of {', '.join(map(repr, roles))} to columns"
            reject(owner, "columns", expected, columns)

    @property
    def description(self) -> str:
        """A sentence that says which columns are read."""
        guessed = {"value", "price"} - set(self.columns) if self.ties is None else set()
        if len(guessed) == 2 and "price" in self.places:
            guessed = {"price"}  # said once, after the price, for both
        found = [
            f"{one.said} column {self.label(role)}{' (guessed by name)' if role in guessed else ''}"
            for role, one in files.ROLES.items()
            if role in self.places
        ]
        first = 2 if "price" in self.places else 1
        sentences = [", ".join(found[:first]), *found[first:]]
        if files.ID in self.order:
            sentences.append(f"The id is column {self.source.columns.label(self.order[files.ID])}")
        if self.class_places:
            sentences.append(f"Classes: {', '.join(self.class_places)}")
        said = " ".join(f"{sentence}." for sentence in sentences)
        return TenderWords(self.max_markup)(said) if self.lowest_wins else said

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
        megabytes = self.source.megabytes + _STREAM
        with self.source.connect(self.timezone, megabytes) as connection:
            # With WHERE, DuckDB would convert each number from its text once for every check.
            query = f"SELECT {numbers}, fault IS NULL AS good FROM ({self.checked_sql()})"
            connection.execute(query)
            while len(frame := connection.fetch_df_chunk(_VECTORS)):
                good = frame["good"].to_numpy()
                rows = frame if good.all() else frame[good]
                if not len(rows):
                    continue
                found = {files.ROLES[role].array: rows[f"{role}_"].to_numpy() for role in roles}
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
        price = files.UNITS[self.price_unit or "units"]
        return {"value": files.UNITS[self.value_unit or "units"], **dict.fromkeys(_AMOUNTS, price)}

    def top(self, highest: float) -> float:
        """Return an upper bound of the values, given the highest value of the log.

        Args:
            highest: The highest value of the log.
        """
        if self.highest_value is None:
            return highest
        return self.highest_value * (self.max_markup if self.lowest_wins else 1.0)

    def checked_sql(self, file: int | None = None, limit: int | None = None) -> str:
        """Return SQL for each column as text and as a number, and for what is wrong with a line.

        Args:
            file: The only file to read; then the query has its number and those of the rows.
            limit: How many lines to read, instead of the log's own limit.

        Returns:
            A query. A number has the name of its role with an underscore after it; `fault` is NULL
            for a good line.
        """
        labels = self._class_names()
        places = {**self.places, **dict(zip(labels, self.class_places.values(), strict=True))}
        rows = self.source.select(places, file)
        limit = self.limit if limit is None else limit
        if limit is not None:
            rows = f"SELECT * FROM ({rows}) LIMIT {limit}"
        factors = self.factors
        numbers = ", ".join(
            f"{files.number_sql(role, factors.get(role, 1.0))} AS {role}_" for role in self.places
        )
        if "price" not in self.places:
            numbers += ", NULL::DOUBLE AS price_"
        needs_price = self.needs_price or "won" not in self.places
        fault = files.fault_sql(self.places, self.highest_value, factors, needs_price=needs_price)
        texts = [*self.places, *(f"coalesce({one}::VARCHAR, '') AS {one}" for one in labels)]
        if file is not None:
            texts += [files.FILE, files.ROW]
        checked = f"SELECT {numbers}, {fault} AS fault, {', '.join(texts)} FROM ({rows})"
        return self._mirrored(checked) if self.lowest_wins else checked

    def _mirrored(self, checked: str) -> str:
        """Return SQL that reads tenders as auctions; see `crossbandit.applications.tender`.

        The unit is such that surplus is the same: what is the cost there is the highest margin.
        """
        top = f"{1.0 + self.max_markup!r} * value_"
        amounts = [
            f"CASE WHEN {role}_ > 0 THEN greatest({top} - {role}_, 0) ELSE {role}_ END AS {role}_"
            for role in _AMOUNTS
            if role in {"price", *self.places}
        ]
        value = f"{self.max_markup!r} * value_ AS value_"
        return f"SELECT * REPLACE ({', '.join([value, *amounts])}) FROM ({checked})"

    def fitting(self, given: Mapping[str, Any]) -> FittingLog:
        """Return the settings of a bidder that fit this log, and what `warm_up` takes.

        Args:
            given: The settings that are given. The others are chosen.

        Returns:
            The settings, and the columns of the log.

        Raises:
            LogError: The log cannot be read, or the auctions that were won or lost are missing.

        Warns:
            LogWarning: Values and bids seem to be in different units.
        """
        from crossbandit.logs.fitting import fitting_log

        return fitting_log(self, given)
