"""A log of auctions as a bidder has it: own bids, won or lost, and some of the prices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.errors import InvalidParameterError, LogError
from crossbandit.logs.auctions import OutcomeCounts
from crossbandit.logs.survey import doubt_about_units
from crossbandit.validation import array, as_array, choice, number, reject

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.types import Booleans, Floats, Integers

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
