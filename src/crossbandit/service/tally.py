"""Counts of the outcomes of a bidder, computed from its log alone; and counts of durations."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crossbandit.types import Booleans, Floats

MINUTES = 24 * 60  # the number of minutes that are kept


class Minute(msgspec.Struct, array_like=True):
    """What happened in one minute.

    Attributes:
        time: The start of the minute, in seconds since 1970.
        decisions: The number of decisions made under limits.
        outcomes: The number of outcomes learned.
        wins: The number of auctions won among them.
        spend: The money paid for them.
        surplus: The values won less the money paid.
    """

    time: int
    decisions: int = 0
    outcomes: int = 0
    wins: int = 0
    spend: float = 0.0
    surplus: float = 0.0


class Tally(msgspec.Struct):
    """Counts of all outcomes, and of each minute. They are part of the state of a bidder.

    Attributes:
        decisions: The number of decisions made under limits.
        won: The number of auctions won.
        lost: The number of auctions lost.
        corrected: The number of outcomes that a correction has replaced.
        refused: The number of outcomes that were not learned, by cause.
        value: The sum of the values won.
        spend: The money paid.
        minutes: The latest minutes in which something happened, in the order of arrival.
    """

    decisions: int = 0
    won: int = 0
    lost: int = 0
    corrected: int = 0
    refused: dict[str, int] = {}
    value: float = 0.0
    spend: float = 0.0
    minutes: list[Minute] = []

    def minute(self, at: float) -> Minute:
        """Return the minute of the latest arrival.

        Args:
            at: The time, in seconds since 1970.
        """
        start = int(at // 60) * 60
        if not self.minutes or self.minutes[-1].time != start:
            self.minutes.append(Minute(start))
            del self.minutes[:-MINUTES]
        return self.minutes[-1]

    def copied(self) -> Tally:
        """Return a copy that does not change later. Of the minutes, only the latest can change."""
        minutes = [*self.minutes[:-1], *map(msgspec.structs.replace, self.minutes[-1:])]
        return msgspec.structs.replace(self, refused=dict(self.refused), minutes=minutes)

    def decide(self, at: float) -> None:
        """Count a decision.

        Args:
            at: When it was made.
        """
        self.decisions += 1
        self.minute(at).decisions += 1

    def learn(self, at: float, won: Booleans, values: Floats, amounts: Floats) -> None:
        """Count outcomes that were learned.

        Args:
            at: When they arrived.
            won: Whether each bid won.
            values: What winning was worth.
            amounts: The amounts of the bids.
        """
        wins = int(won.sum())
        value, spend = float(values[won].sum()), float(amounts[won].sum())
        self.won, self.lost = self.won + wins, self.lost + int(won.size) - wins
        self.value, self.spend = self.value + value, self.spend + spend
        minute = self.minute(at)
        minute.outcomes += int(won.size)
        self._add(minute, wins, value, spend)

    def correct(self, at: float, value: float, amount: float, *, before: bool, won: bool) -> None:
        """Count an outcome that replaces another.

        Args:
            at: When it arrived.
            value: What winning was worth.
            amount: The amount of the bid.
            before: Whether the bid won by the replaced outcome.
            won: Whether it won by the new one.
        """
        self.corrected += 1
        sign = int(won) - int(before)
        self.won, self.lost = self.won + sign, self.lost - sign
        self.value, self.spend = self.value + sign * value, self.spend + sign * amount
        self._add(self.minute(at), sign, sign * value, sign * amount)

    def refuse(self, cause: str, count: int = 1) -> None:
        """Count outcomes that were not learned.

        Args:
            cause: The code of the error.
            count: How many.
        """
        self.refused[cause] = self.refused.get(cause, 0) + count

    @staticmethod
    def _add(minute: Minute, wins: int, value: float, spend: float) -> None:
        minute.wins += wins
        minute.spend += spend
        minute.surplus += value - spend


class Histogram:
    """Counts of durations, by upper bounds.

    Args:
        bounds: The bounds in seconds, ascending.
    """

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def note(self, seconds: float) -> None:
        """Count a duration.

        Args:
            seconds: The duration.
        """
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.total += seconds
