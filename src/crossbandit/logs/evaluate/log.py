"""A log of auctions as a bidder has it, in memory or on disk: reading it, and what it shows."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

import numpy as np
import pandas as pd

from crossbandit.core.validation import array, as_array, choice, number, reject
from crossbandit.errors import InvalidParameterError, LogError
from crossbandit.logs.evaluate.groups import Groups, band_count, band_edges, least_size
from crossbandit.logs.files import ROLES, ScratchFolder, connect, literal
from crossbandit.logs.log import Auctions, ClassTable, OutcomeCounts
from crossbandit.logs.survey import (
    check_survey,
    doubt_about_units,
    find_repeats,
    steps_back_in_time,
    survey_log,
)

if TYPE_CHECKING:
    import duckdb
    import numpy.typing as npt

    from crossbandit.core.types import Booleans, Floats, Integers
    from crossbandit.logs import AuctionLog, Fault


_OWNER = "CensoredLog"
BOTH = "both"  # equal bids won in some auctions and lost in others


@dataclass(frozen=True, eq=False)
class CensoredLog:
    """First-price auctions in which one bidder took part, in the order of time.

    What had to be bid to win, the *price*, is known where it was told. Elsewhere a bid that won
    shows that the price was at most as high, and a bid that lost shows that it was higher.

    Args:
        values: What winning was worth, in each auction.
        bids: What was bid; 0 where no bid was made.
        won: Whether the bid won.
        prices: The highest bid of the others; NaN where it is not known. None if it never is.
        propensities: The probability with which each bid was drawn, if bids were drawn at random
            from a few amounts.
        classes: Columns of levels by name, such as {"site": [...]}.
        reserve: The lowest bid that can win: one for all auctions, or one for each.
        ties: "win" if a bid beats an equal competing bid, otherwise "lose". It becomes "both" if
            equal bids won in some auctions and lost in others, because amounts were rounded. Then
            nothing is known of other bids in these auctions, nor of bids that equal the price.

    Attributes:
        low: Bids up to here lose for sure.
        high: Bids from here on win for sure. It is infinite after a loss without a price.
        price_low: The least bid that beats the others is above this, whatever the reserve.
        price_high: It is at most this.

    Raises:
        InvalidParameterError: A column has the wrong form or length.
        LogError: The log contradicts itself, or auctions are missing from it.

    >>> log = CensoredLog([5.0, 5.0, 5.0], [2.0, 3.0, 2.5], [True, False, False], [np.nan, 3.5, 4])
    >>> log.feedback
    'after-loss'
    >>> log.high.tolist()
    [2.0, 3.5, 4.0]
    """

    values: Floats
    bids: Floats
    won: Booleans
    prices: Floats | None = None
    propensities: Floats | None = None
    classes: Mapping[str, npt.ArrayLike] = field(default_factory=dict)
    reserve: float | Floats = field(default=0.0, kw_only=True)
    ties: str = field(default="win", kw_only=True)
    low: Floats = field(init=False, repr=False)
    high: Floats = field(init=False, repr=False)
    price_low: Floats = field(init=False, repr=False)
    price_high: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        choice(_OWNER, "ties", self.ties, ("win", "lose", BOTH))
        values = _amounts("values", self.values, None)
        size = values.size
        given = np.full(size, np.nan) if self.prices is None else self.prices
        if np.ndim(self.reserve) > 0:
            reserve: float | Floats = _amounts("reserve", self.reserve, size)
        else:
            reserve = number(_OWNER, "reserve", self.reserve, at_least=0)
        chances = self.propensities
        self._set(
            values=values,
            bids=_amounts("bids", self.bids, size),
            prices=_amounts("prices", given, size, missing=True),
            reserve=reserve,
            won=_flags(self.won, size),
            classes=_levels(self.classes, size),
            propensities=None if chances is None else _probabilities(chances, size),
        )
        if self.outcomes.rounded:
            self._set(ties=BOTH)
        self._check()
        self._find_intervals()

    def _set(self, **fields: object) -> None:
        for name, column in fields.items():
            object.__setattr__(self, name, column)

    def __len__(self) -> int:
        return int(self.values.size)

    @property
    def reserves(self) -> Floats:
        """The lowest bid that can win in each auction."""
        return np.broadcast_to(np.asarray(self.reserve, dtype=float), self.values.shape)

    @property
    def informative(self) -> Booleans:
        """Whether each bid reached the reserve, so that its outcome depended on the others."""
        return self.won | ((self.bids >= self.reserves) & (self.bids > 0))

    @property
    def told(self) -> Booleans:
        """Whether the price of each auction is known."""
        return ~np.isnan(self._prices)

    @property
    def _prices(self) -> Floats:
        return np.asarray(self.prices, dtype=float)

    @property
    def feedback(self) -> str:
        """Who was told the price: one of the kinds of feedback, or "mixed"."""
        return self.outcomes.feedback

    @property
    def outcomes(self) -> OutcomeCounts:
        """How many auctions were won and lost, and in how many the price is known."""
        return OutcomeCounts.of(self.bids, self.won, self._prices, self.reserves)

    @cached_property
    def facts(self) -> Facts:
        """What is known of the whole log, if this is all of it."""
        rows = np.arange(0, len(self), distance(len(self)))
        return Facts(self.outcomes, self.taken(rows), *ranges(self))

    def known(self, rows: Integers, bids: Floats) -> tuple[Booleans, Booleans]:
        """Return whether the log shows what bids would have done in some auctions.

        Args:
            rows: The numbers of auctions.
            bids: A bid in each of them.

        Returns:
            Whether it is known, and whether it is known to win.
        """
        wins: Booleans = bids >= self.high[rows]
        return wins | (bids <= self.low[rows]), wins

    def taken(self, rows: Integers) -> LogPiece:
        """Return some of the auctions; they are not checked again.

        Args:
            rows: Their numbers, ascending.
        """
        return LogPiece(
            self.values[rows],
            self.bids[rows],
            self.won[rows],
            self._prices[rows],
            None if self.propensities is None else self.propensities[rows],
            {name: np.asarray(column)[rows] for name, column in self.classes.items()},
            reserve=self.reserves[rows],
            ties=self.ties,
        )

    def _check(self) -> None:
        if len(self) < 2:
            raise LogError(f"The log has {len(self)} auctions. An evaluation needs at least 2.")
        self.check_auctions()
        self.outcomes.require_both_outcomes()

    def check_auctions(self, first: int = 0) -> None:
        """Check that no bid is above its value, and that outcomes fit prices.

        Args:
            first: The number of the first auction in the log that these are a piece of.

        Raises:
            LogError: A bid is above its value, or an outcome contradicts its price.
        """
        values, bids = self.values, self.bids
        dear = np.flatnonzero(bids > values)
        if dear.size:
            value, bid = (
                float(np.median(one[one > 0])) if one.any() else 0.0 for one in (values, bids)
            )
            doubts = list(doubt_about_units(value, bid, "own bids"))
            raise LogError(
                f"{dear.size:,} of {self._all(first, 'bids')} are above their values. The first is "
                f"in auction {first + dear[0] + 1:,}: a bid of {bids[dear[0]]:.15g} at a value of "
                f"{values[dear[0]]:.15g}. "
                f"{(doubts or ['Are the columns swapped, or in different units?'])[0]} "
                "Such bids earn nothing if they win. Correct the values, or drop these auctions."
            )
        self._check_outcomes(first)

    def _all(self, first: int, what: str) -> str:
        last = f", {first + 1:,} to {first + len(self):,} of the log," if first else ""
        return f"the {len(self):,} {what}{last}"

    def _check_outcomes(self, first: int) -> None:
        told = self.told
        reached = self._to_reach(np.where(told, self._prices, 0.0))
        possible = self.bids >= np.maximum(reached, self.reserves)
        wrong = np.flatnonzero(np.where(told, possible != self.won, self.won & ~possible))
        if not wrong.size:
            return
        i = int(wrong[0])
        price = self._prices[i] if told[i] else None
        against = (
            f" against a highest competing bid of {price:.15g}" if price is not None else ""
        ) + (f" and a reserve price of {self.reserves[i]:.15g}" if self.reserves[i] else "")
        equal = (self.bids[wrong] == self._prices[wrong]).all()
        other = "lose" if self.ties == "win" else "win"
        ties = self.bids == self._prices
        hint = "The price is the highest bid of the others, not what you paid."
        if equal and (self.won[ties].any() and not self.won[ties].all()):
            hint = (
                "Bids that equal the price lost in some auctions, and won in most that you won. Is "
                "the price what you paid? It should be the highest bid of the others. If amounts "
                "were rounded, give them with more digits."
            )
        elif equal:
            hint = f"Equal bids are taken to {self.ties} here: try --ties {other} (ties={other!r})."
        raise LogError(
            f"{wrong.size:,} of {self._all(first, 'auctions')} contradict themselves. The first is "
            f"auction {first + i + 1:,}: a bid of {self.bids[i]:.15g}{against} cannot have "
            f"{'won' if self.won[i] else 'lost'}. {hint}"
        )

    @property
    def _equal(self) -> Booleans:
        """Whether the own bid equals the price, and could win."""
        equal: Booleans = (self.bids == self._prices) & self.informative
        return equal

    def _to_reach(self, prices: Floats) -> Floats:
        """Return the least bid that beats the others; a bid of 0 means not to bid."""
        above = self._equal & ~self.won if self.ties == BOTH else self.ties == "lose"
        least = np.where(above, np.nextafter(prices, np.inf), prices)
        found: Floats = np.maximum(least, np.nextafter(0.0, 1.0))
        return found

    def _find_intervals(self) -> None:
        told, won = self.told, self.won
        exact = self._to_reach(np.where(told, self._prices, 0.0))
        lost = np.where(self.informative, self.bids, 0.0)
        floors = np.maximum(self.reserves, np.nextafter(0.0, 1.0))
        low = np.where(told, np.nextafter(exact, -np.inf), np.where(won, 0.0, lost))
        high = np.where(told, exact, np.where(won, self.bids, np.inf))
        self._set(price_low=low, price_high=high)
        if self.ties == BOTH:
            equal = self._equal
            low = np.where(equal, np.where(won, 0.0, self.bids), low)
            above = np.where(won, self.bids, np.inf)
            high = np.where(equal, above, np.where(told, np.nextafter(exact, np.inf), high))
        self._set(low=np.maximum(low, np.nextafter(floors, -np.inf)), high=np.maximum(high, floors))


class LogPiece(CensoredLog):
    """Some auctions of a log that was checked as a whole: perhaps all of them were won."""

    def _check(self) -> None:
        """Check nothing."""


def _amounts(name: str, given: object, count: int | None, *, missing: bool = False) -> Floats:
    """Return a column of amounts as numbers; they may be missing, as NaN, if `missing`."""
    expected = "numbers of at least 0, one per auction" + (", or NaN" if missing else "")
    column = array(_OWNER, name, expected, given)
    wrong = np.isinf(column) | (column < 0) | (np.isnan(column) & (not missing))
    if column.ndim != 1 or (count is not None and column.size != count):
        reject(_OWNER, name, expected, given)
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        reject(_OWNER, name, expected, f"{column[i]:.15g} in auction {i + 1:,}")
    return column


def _flags(given: object, count: int) -> Booleans:
    """Return a column that says who won."""
    expected = "True or False for each auction"
    column = as_array(_OWNER, "won", expected, given)
    if column.shape != (count,) or not np.isin(column, (0, 1)).all():
        reject(_OWNER, "won", expected, given)
    return column.astype(bool)


def _levels(given: object, count: int) -> dict[str, npt.NDArray[np.generic]]:
    """Return columns of classes by name."""
    if not isinstance(given, Mapping):
        reject(_OWNER, "classes", "a mapping from names to columns", given)
    columns = {str(name): np.asarray(column) for name, column in given.items()}
    for name, column in columns.items():
        if column.shape != (count,):
            reject(_OWNER, "classes", "columns with a level per auction", f"{name!r}")
    return columns


def _probabilities(given: object, count: int) -> Floats:
    """Return a column of probabilities."""
    expected = "probabilities above 0 and of at most 1, one per auction"
    column = array(_OWNER, "propensities", expected, given)
    if column.shape != (count,):
        reject(_OWNER, "propensities", expected, given)
    wrong = np.flatnonzero(~((column > 0) & (column <= 1)))
    if wrong.size:
        i = int(wrong[0])
        raise InvalidParameterError(
            f"The 'propensities' parameter of {_OWNER} must be {expected}. Got {column[i]:.15g} in "
            f"auction {i + 1:,}. A propensity is the probability of the bid that was made; a "
            "density cannot be used."
        )
    return column


SAMPLE = 50_000  # the most auctions in the sample
_DIGITS = 9  # fractions of the value that agree in these digits are the same
_MOST = 100  # the most different bids
_FEWEST = 20  # the fewest auctions of each bid
_UNITS = tuple(10.0**-k for k in range(10))  # to which bids may be rounded
_FINE = 0.02  # the largest unit, as a share of the median bid
_NEARLY = 1e-6  # a bid that is so little off a multiple of a unit, in units, is one


class Range(NamedTuple):
    """The least and the greatest of some numbers; the least is infinite if there are none."""

    least: float = np.inf
    most: float = -np.inf

    @classmethod
    def of(cls, numbers: Floats) -> Range:
        """Return the range of some numbers."""
        return cls(float(numbers.min()), float(numbers.max())) if numbers.size else cls()

    def joined(self, other: Range) -> Range:
        """Return the range of both."""
        return Range(min(self.least, other.least), max(self.most, other.most))


@dataclass(frozen=True, eq=False)
class Facts:
    """What is known of a whole log."""

    outcomes: OutcomeCounts
    sample: CensoredLog  # some of its auctions, at equal distances in time
    values: Range
    bids: Range  # of those above 0
    fractions: Range  # of these bids as fractions of the value

    @property
    def auctions(self) -> int:
        """The number of auctions."""
        return self.outcomes.auctions

    @cached_property
    def feedback(self) -> str:
        """Who was told the price: one of the kinds of feedback, or "mixed"."""
        return self.outcomes.feedback

    @cached_property
    def unit(self) -> float:
        """The unit to which bids are rounded, such as 0.01.

        It is 0 if they are not, or if the unit is so large that bids were rather drawn from its
        multiples.
        """
        bids = self.sample.bids[self.sample.bids > 0]
        for unit in _UNITS:
            if (np.abs(bids / unit - np.rint(bids / unit)) <= _NEARLY).all():
                return unit if bids.size and unit <= _FINE * np.median(bids) else 0.0
        return 0.0

    @cached_property
    def typical(self) -> float:
        """A typical value above 0; 1 if there is none."""
        above = self.sample.values[self.sample.values > 0]
        return float(np.median(above)) if above.size else 1.0


def distance(auctions: int) -> int:
    """Return the distance between consecutive auctions of the sample."""
    return -(-auctions // SAMPLE)


def ranges(log: CensoredLog) -> tuple[Range, Range, Range]:
    """Return the ranges of values, of bids above 0, and of these as fractions of the value."""
    made = log.bids > 0
    bids = log.bids[made]
    return Range.of(log.values), Range.of(bids), Range.of(bids / log.values[made])


class BidFrequencies(NamedTuple):
    """How often each bid was made."""

    levels: Floats  # the bids, ascending: fractions of the value, or amounts
    shares: Floats  # the share of the auctions in which each was made
    fractions: bool  # whether bids are fractions of the value
    unit: float = 0.0  # the unit to which fractions of the value were rounded; 0 if they were not
    errors: Floats | float = 0.0  # how far each level may be off, if bids were rounded

    def propensities(self, log: CensoredLog) -> Floats:
        """Return how often the bid of each auction was made.

        If bids were rounded, several fractions may have become the same bid. Then it was made as
        often as they together.
        """
        if self.unit:
            found = np.zeros(len(log))
            for share, same in zip(self.shares, self.possible(log), strict=True):
                found += share * same
            return found
        bids = _fractions(log) if self.fractions else log.bids
        chances: Floats = self.shares[np.searchsorted(self.levels, bids)]
        return chances

    def possible(self, log: CensoredLog) -> Iterator[Booleans]:
        """Yield for each fraction of the value in which auctions it is the bid, once rounded."""
        errors = np.broadcast_to(self.errors, self.levels.shape)
        for level, error in zip(self.levels, errors, strict=True):
            off = np.abs(level * log.values - log.bids)
            yield off <= self.unit * (0.5 + _NEARLY) + error * log.values


def with_propensities(log: CensoredLog | StoredLog) -> CensoredLog | StoredLog:
    """Return a log with the propensities that it has, or else with estimated ones."""
    if log.facts.sample.propensities is not None:
        return log
    if not isinstance(log, CensoredLog):
        return log.with_frequencies(_frequencies(log.in_time, log.facts))
    return replace(log, propensities=_frequencies(lambda: [log], log.facts).propensities(log))


def _fractions(log: CensoredLog) -> Floats:
    return np.round(log.bids / np.where(log.values > 0, log.values, 1.0), _DIGITS)


def _frequencies(pieces: Callable[[], Iterable[CensoredLog]], facts: Facts) -> BidFrequencies:
    fractions = amounts = (np.empty(0), np.empty(0, dtype=np.int64))
    for piece in pieces():
        fractions, amounts = _counted(_fractions(piece), fractions), _counted(piece.bids, amounts)
    levels, counts = min(fractions, amounts, key=lambda one: one[0].size)
    rounded = _rounded_frequencies(pieces, facts) if facts.unit else None
    if rounded is not None and rounded.levels.size < levels.size:
        return rounded
    rarest = int(counts.min())
    if levels.size > _MOST or rarest < _FEWEST:
        more = "at least " if levels.size > _MOST else ""
        raise LogError(
            f"The log has {more}{levels.size:,} different bids, and the rarest was made "
            f"{rarest:,} times. Propensities can be estimated for at most {_MOST} amounts, "
            f"or fractions of the value, each bid at least {_FEWEST} times. Amounts may be "
            "rounded. Log the probability of each bid, and name its column with "
            "--propensity-column."
        )
    return BidFrequencies(levels, counts / facts.auctions, levels is fractions[0])


def _counted(bids: Floats, known: tuple[Floats, Integers]) -> tuple[Floats, Integers]:
    """Return different bids, ascending, and their counts, with those that are known."""
    levels, counts = np.unique(bids, return_counts=True)
    if not known[0].size:
        return levels, counts
    levels, places = np.unique(np.append(known[0], levels), return_inverse=True)
    counts = np.bincount(places, np.append(known[1], counts)).astype(np.int64)
    return levels[: 2 * _MOST], counts[: 2 * _MOST]  # enough to know that there are too many


def _rounded_frequencies(
    pieces: Callable[[], Iterable[CensoredLog]], facts: Facts
) -> BidFrequencies | None:
    """Return how often fractions of the value were bid, if bids are some of these, rounded.

    The fractions are the fewest of which every bid of the sample can be one, made more precise by
    least squares. They are counted where values are so high that no two become the same bid.
    """
    sample = facts.sample
    worth = sample.values > 0
    values, bids = sample.values[worth], sample.bids[worth]
    half = facts.unit * (0.5 + _NEARLY)
    levels = _fewest_points((bids - half) / values, (bids + half) / values)
    if levels is None:
        return None
    nearest = np.searchsorted((levels[1:] + levels[:-1]) / 2, bids / values)
    high = values >= np.median(values)  # rounding matters least there
    squares = np.bincount(nearest[high], values[high] ** 2, levels.size)
    if not squares.all():
        return None
    levels = np.bincount(nearest[high], values[high] * bids[high], levels.size) / squares
    errors = 4 * facts.unit / np.sqrt(12 * squares)  # four standard deviations
    frequencies = BidFrequencies(
        levels, np.zeros(levels.size), fractions=True, unit=facts.unit, errors=errors
    )
    counts = np.zeros(levels.size)
    for piece in pieces():
        apart = np.diff(levels).min(initial=np.inf) * piece.values > 2 * facts.unit
        known = np.zeros(len(piece), dtype=np.bool_)
        for i, same in enumerate(frequencies.possible(piece)):
            counts[i] += (same & apart).sum()
            known |= same
        if not known.all():
            return None
    if counts.min() < _FEWEST:
        return None
    return frequencies._replace(shares=counts / counts.sum())


def _fewest_points(lows: Floats, highs: Floats) -> Floats | None:
    """Return the fewest numbers of which each interval has one; None if they are too many."""
    points: list[float] = []
    order = np.argsort(highs)
    lows, highs = lows[order], highs[order]
    while lows.size:
        if len(points) == _MOST:
            return None
        points.append(float(highs[0]))
        missed = lows > highs[0]
        lows, highs = lows[missed], highs[missed]
    return np.array(points)


PIECE = 100_000  # auctions in memory at a time, or one group if it has more
_CHUNK = 64  # a chunk is this many vectors of 2,048 auctions
_COLUMNS = {role: "BOOLEAN" if role == "won" else "DOUBLE" for role in ROLES}
_RAW, _TIMED, _BY_VALUE = "store.raw", "store.timed", "store.by_value"


class StoredLog:
    """Auctions as in `CensoredLog`, in a temporary folder that is deleted with the object.

    `open_censored` makes one of a large log.

    Args:
        chunks: The auctions, with own bids, results and reserves.
        classes: The levels of the class columns, which grow with the chunks.
        ties: "win" if a bid beats an equal competing bid, otherwise "lose"; None for what equal
            bids of the log have done.

    Attributes:
        ties: "win" or "lose"; or "both", as for `CensoredLog`.
        facts: What is known of the whole log.
        frequencies: How often each bid was made, if propensities were estimated.

    Raises:
        LogError: The log contradicts itself, or auctions are missing from it.
    """

    def __init__(self, chunks: Iterator[Auctions], classes: ClassTable, ties: str | None) -> None:
        self._scratch = ScratchFolder()
        self._table = classes
        self.frequencies: BidFrequencies | None = None
        outcomes = self._store(chunks)
        self.ties = BOTH if outcomes.rounded else ties or outcomes.ties
        self.facts = self._survey(outcomes)
        self._classes = self._sort()

    def __len__(self) -> int:
        return self.facts.auctions

    @contextmanager
    def _connect(self) -> Iterator[duckdb.DuckDBPyConnection]:
        path = self._scratch.folder / "auctions.duckdb"
        with connect("The copy of the log") as connection:
            connection.execute(f"ATTACH {literal(str(path))} AS store")
            yield connection

    def _store(self, chunks: Iterator[Auctions]) -> OutcomeCounts:
        """Copy the auctions, number them in the order of time, and count their outcomes."""
        levels = [f"level_{i}" for i in range(len(self._table.names))]
        columns = {**_COLUMNS, **dict.fromkeys(levels, "INTEGER")}
        types = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        counts = np.zeros(len(OutcomeCounts._fields), dtype=np.int64)
        has_times = False
        with self._connect() as connection:
            connection.execute(f"CREATE TABLE {_RAW} ({types})")
            for chunk in chunks:
                given: dict[str, Any] = {one: getattr(chunk, ROLES[one].array) for one in _COLUMNS}
                counts += OutcomeCounts.of(
                    given["bid"], given["won"], given["price"], given["reserve"]
                )
                for i, level in enumerate(levels):
                    given[level] = None if chunk.classes is None else chunk.classes[:, i]
                has_times = chunk.times is not None
                connection.register("chunk", pd.DataFrame(given))
                connection.execute(f"INSERT INTO {_RAW} SELECT * FROM chunk")
                connection.unregister("chunk")
            # One thread reads a table in the order in which it was written.
            order = "ORDER BY time, rowid" if has_times else ""
            connection.execute(
                f"CREATE TABLE {_TIMED} AS SELECT row_number() OVER () - 1 AS position, * "
                f"EXCLUDE (time) FROM (SELECT * FROM {_RAW} {order})"
            )
            connection.execute(f"DROP TABLE {_RAW}")
        return OutcomeCounts(*counts.tolist())

    def in_time(self) -> Iterator[LogPiece]:
        """Yield all auctions in the order of time, some at a time."""
        with self._connect() as connection:
            connection.execute(f"SELECT * FROM {_TIMED}")
            while len(frame := connection.fetch_df_chunk(_CHUNK)):
                yield self._piece(frame)

    def _piece(self, frame: pd.DataFrame) -> LogPiece:
        columns = {name: frame[name].to_numpy() for name in _COLUMNS if name in frame}
        chances = columns["propensity"]
        piece = LogPiece(
            columns["value"],
            columns["bid"],
            columns["won"],
            columns["price"].astype(float),
            None if np.isnan(chances.astype(float)).all() else chances,
            self._table.columns(frame.filter(like="level_").to_numpy()),
            reserve=columns["reserve"],
            ties=self.ties,
        )
        if self.frequencies is None:
            return piece
        return replace(piece, propensities=self.frequencies.propensities(piece))

    def _survey(self, outcomes: OutcomeCounts) -> Facts:
        """Check all auctions, and find the ranges of amounts."""
        first, found = 0, (Range(), Range(), Range())
        for piece in self.in_time():
            piece.check_auctions(first)
            first += len(piece)
            found = tuple(one.joined(new) for one, new in zip(found, ranges(piece), strict=True))  # type: ignore[assignment]
        outcomes.require_both_outcomes()
        with self._connect() as connection:
            apart = distance(outcomes.auctions)
            frame = connection.execute(
                f"SELECT * FROM {_TIMED} WHERE position % {apart} = 0 ORDER BY position"
            ).df()
        return Facts(outcomes, self._piece(frame), *found)

    def _sort(self) -> list[tuple[int, int]]:
        """Copy the auctions in the order of classes and values.

        Return for each class the rank of its first auction, and how many there are.
        """
        levels = ", ".join(f"level_{i}" for i in range(len(self._table.names)))
        least = least_size(self.facts.feedback)
        with self._connect() as connection:
            connection.execute(
                f"CREATE TABLE {_BY_VALUE} AS SELECT row_number() OVER () - 1 AS rank_, * FROM ("
                f"SELECT auctions.*, coalesce(class_, -1) AS class_ FROM {_TIMED} auctions "
                f"LEFT JOIN (SELECT row_number() OVER () AS class_, {levels} FROM (SELECT {levels} "
                f"FROM {_TIMED} GROUP BY ALL HAVING count(*) >= {least})) USING ({levels}) "
                "ORDER BY class_, value, position)"
                if levels
                else f"CREATE TABLE {_BY_VALUE} AS SELECT row_number() OVER () - 1 AS rank_, *, "
                f"0 AS class_ FROM (SELECT * FROM {_TIMED} ORDER BY value, position)"
            )
            rows = connection.execute(
                f"SELECT min(rank_), count(*) FROM {_BY_VALUE} GROUP BY class_ ORDER BY 1"
            ).fetchall()
        return [(first, auctions) for first, auctions in rows]

    def with_frequencies(self, frequencies: BidFrequencies) -> StoredLog:
        """Return the same log with propensities.

        Args:
            frequencies: How often each bid was made.
        """
        found = copy.copy(self)
        found.frequencies = frequencies
        sample = self.facts.sample
        chances = frequencies.propensities(sample)
        found.facts = replace(self.facts, sample=replace(sample, propensities=chances))
        return found

    def pieces(self, bands: int | None) -> Iterator[Groups]:
        """Yield all groups, some at a time.

        Args:
            bands: The number of bands of a class; None for as many as the auctions allow.
        """
        with self._connect() as connection:
            starts = [
                start for one in self._classes for start in self._bands(connection, *one, bands)
            ]
            ends = np.array([*starts[1:], len(self)])
            first = 0
            while first < len(starts):
                # Take at least one group, and as many as fit.
                last = max(int(np.searchsorted(ends, starts[first] + PIECE, "right")), first + 1)
                yield self._groups(connection, np.array(starts[first:last]), int(ends[last - 1]))
                first = last

    def _bands(
        self, connection: duckdb.DuckDBPyConnection, begin: int, auctions: int, bands: int | None
    ) -> Iterator[int]:
        """Yield the ranks at which the bands of a class begin; its own first rank is `begin`."""

        def between(first: int, stop: int) -> Floats:
            query = (
                f"SELECT value FROM {_BY_VALUE} WHERE rank_ >= {begin + first} AND "
                f"rank_ < {begin + stop} ORDER BY rank_"
            )
            values: Floats = connection.execute(query).fetchnumpy()["value"]
            return values

        parts = band_count(auctions, self.facts.feedback, bands)
        yield begin
        for edge in band_edges(auctions, parts, between):
            # The edge is a value of the class. DuckDB reads only the part that may hold it.
            query = (
                f"SELECT min(rank_) FROM {_BY_VALUE} WHERE rank_ >= {begin} AND "
                f"rank_ < {begin + auctions} AND value = '{float(edge)!r}'::DOUBLE"
            )
            row = connection.execute(query).fetchall()[0]
            if row[0] > begin:
                yield int(row[0])

    def _groups(
        self, connection: duckdb.DuckDBPyConnection, starts: np.ndarray, stop: int
    ) -> Groups:
        frame = connection.execute(
            f"SELECT * FROM {_BY_VALUE} WHERE rank_ >= {starts[0]} AND rank_ < {stop} "
            "ORDER BY position"
        ).df()
        labels = np.searchsorted(starts, frame["rank_"].to_numpy(), "right") - 1
        positions = frame["position"].to_numpy()
        return Groups(self._piece(frame), labels, self.facts, positions)


IN_MEMORY = 2_000_000  # the most auctions that are read into memory
_ROWS = 1 << 16
_Log_co = TypeVar("_Log_co", covariant=True)


class ReadLog(NamedTuple, Generic[_Log_co]):
    """A censored log, and what was noticed while it was read.

    Attributes:
        log: The auctions.
        bad: How many lines were left out.
        faults: The first of them.
        notes: What is odd about the lines.
    """

    log: _Log_co
    bad: int
    faults: tuple[Fault, ...]
    notes: tuple[str, ...]


def read_censored(
    log: AuctionLog, *, reserve: float = 0.0, ties: str | None = None
) -> ReadLog[CensoredLog]:
    """Read a log as a bidder has it, all of it into memory.

    With a column of times, the auctions are sorted by it. Without a column that says who won,
    all prices must be known.

    Args:
        log: Files or a data frame, with a column of own bids. If some prices are not known, it also
            needs a column that says who won.
        reserve: The lowest bid that can win.
        ties: "win" if a bid beats an equal competing bid, otherwise "lose"; None for what the
            format of the log says, or else what equal bids of the log have done, or else "win".

    Returns:
        The auctions, and what was left out.

    Raises:
        LogError: The log cannot be read, has too many bad lines, or contradicts itself.
    """
    read = open_censored(log, reserve=reserve, ties=ties, in_memory=sys.maxsize)
    return cast("ReadLog[CensoredLog]", read)


def open_censored(
    log: AuctionLog,
    *,
    reserve: float = 0.0,
    ties: str | None = None,
    in_memory: int = IN_MEMORY,
) -> ReadLog[CensoredLog | StoredLog]:
    """Read a log into memory, or a large one into a temporary folder. Results are the same.

    Args:
        log: As for `read_censored`.
        reserve: The lowest bid that can win.
        ties: As for `read_censored`.
        in_memory: How many auctions are read into memory at most.

    Returns:
        The auctions, and what was left out.

    Raises:
        LogError: The log cannot be read, has too many bad lines, or contradicts itself.
    """
    if "bid" not in log.places:
        raise LogError(
            f"Which column of {log.source.name} holds your own bids? An evaluation needs them: "
            "name it with --bid-column (columns={'bid': ...} in Python)."
        )
    survey = survey_log(log)
    check_survey(log, survey, all_prices=False)
    given = ties or log.ties
    table = ClassTable([*log.class_places])
    found: CensoredLog | StoredLog
    if survey.auctions <= in_memory:
        found = _in_memory(_judged(log.read(table), reserve, given), table, given)
    else:
        chunks = (_judged(one, reserve, given) for one in log.chunks(_ROWS, table))
        found = StoredLog(chunks, table, given)
    notes = [log.description, *log.remarks, *find_repeats(log, survey)]
    if given is None and found.ties == "lose":
        notes.append("All bids that equal the price have lost, so equal bids are taken to lose.")
    if "time" not in log.places and (back := steps_back_in_time(log)).steps:
        notes.append(
            f"Column {back.column} goes back in time {back.steps:,} times. Intervals take the "
            "order of the lines for that of time: name the column with --time-column."
        )
    return ReadLog(found, survey.bad, survey.faults, tuple(notes))


def _in_memory(auctions: Auctions, table: ClassTable, ties: str | None) -> CensoredLog:
    if auctions.times is not None:
        auctions = auctions.in_order(np.argsort(auctions.times, kind="stable"))
    bids, won, reserves = map(np.asarray, (auctions.bids, auctions.won, auctions.reserves))
    counts = OutcomeCounts.of(bids, won, auctions.prices, reserves)
    return CensoredLog(
        auctions.values,
        bids,
        won,
        auctions.prices,
        auctions.propensities,
        table.columns(auctions.classes),
        reserve=reserves,
        ties=ties or counts.ties,
    )


def _judged(auctions: Auctions, reserve: float, ties: str | None) -> Auctions:
    """Return the auctions with a reserve for each, and with who won if the log does not say it."""
    bids = np.asarray(auctions.bids, dtype=float)
    reserves = np.full(bids.size, number("read_censored", "reserve", reserve, at_least=0))
    if auctions.reserves is not None:
        reserves = np.maximum(reserves, auctions.reserves)
    won = auctions.won
    if won is None:
        beats = bids > auctions.prices if ties == "lose" else bids >= auctions.prices
        won = beats & (bids >= reserves) & (bids > 0)
    return auctions._replace(bids=bids, reserves=reserves, won=won)
