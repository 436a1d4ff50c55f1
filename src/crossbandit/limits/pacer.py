"""Bidding under limits: pseudo-values that keep to the plan, and money that is reserved."""

from __future__ import annotations

import copy
import math
from decimal import ROUND_CEILING
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.errors import InvalidContextError
from crossbandit.kernels.compilation import resolved
from crossbandit.kernels.pace_plan import open_auction
from crossbandit.kernels.pace_steps import adapt, pay, reserve, settle
from crossbandit.kernels.paced_guard import paced_guarded_play
from crossbandit.kernels.paced_laws import paced_decide, paced_play
from crossbandit.kernels.pacing import SPENT, look
from crossbandit.laws import GuardedLaw
from crossbandit.laws.logs import prepared
from crossbandit.limits.base import PacerBase, Reservation
from crossbandit.limits.rules import in_units
from crossbandit.validation import array, reject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import numpy.typing as npt

    from crossbandit.laws import OutcomeLaw
    from crossbandit.laws.levels import Label
    from crossbandit.types import Floats, Integers


_NO_NUMBERS = np.zeros(3)  # where there is nothing to choose from


class PacedLog(NamedTuple):
    """What was bid on a log.

    Attributes:
        bids: (n,), by number; -1 where nothing could be bid.
        pseudo_values: (n,), what was bid for.
    """

    bids: Integers
    pseudo_values: Floats


class _Steps(NamedTuple):
    """The machine code of the steps; to find it by their arguments takes longer than to run it."""

    open_auction: Callable[..., Any]
    reserve: Callable[..., Any]
    settle: Callable[..., Any]


class Pacer(PacerBase):
    """Limits on the spending of one bidder, and how it keeps to them.

    Every limit has a multiplier. Without limits, a bidder bids for the value v. Under limits it
    bids for a *pseudo-value*, the lowest of

    - v exp(s) under a budget, where s is at most 0 if the aim is the surplus;
    - c (1 + exp(s)) under a target, where c is what a win allows to spend: the value divided by the
      return on spend. With the aim "surplus": c + (v - c) exp(s).

    These are the bids that maximise the Lagrangian. After an auction, s goes down by
    `g / sqrt(sum of g^2)`: under a budget g is what was paid less what was planned, under a target
    what was paid less c. What was planned is the share of the money left that falls on this
    auction. Steps need no scale: the first is 1, later ones become smaller, and half of the sum is
    carried into the next period.

    A limit that is kept at any time is also a cap: no bid is made that could break it, whatever
    becomes of bids that are outstanding. Under a target, g then is that of the bid without the cap,
    as with the cap the target is always kept and s would only rise.

    For each auction call `open`, then `reserve` or `decline`, and `settle` once its outcome is
    known. `play` does all of it on a log.

    Args:
        amounts: The amounts that may be bid, ascending.
        limits: Budgets and targets, at least one of them.
        value_range: The lowest and the highest value.
        horizon: The number of auctions to come, for budgets that have no period.
        expires: After which time a bid without an outcome counts as lost, as a timedelta or in
            seconds; None for never.

    Attributes:
        limits: The limits.
        rules: The limits in the form for compiled steps.
        state: What changes, in that form.
        reserved: The bids without an outcome, by their keys.
        late: (limits,): what was paid for bids that had expired, in units.

    Raises:
        InvalidParameterError: The limits do not fit together, or a budget is too small for any bid.

    >>> from crossbandit.laws import OutcomeLaw
    >>> from crossbandit.limits import Budget
    >>> rng = np.random.default_rng(0)
    >>> values, prices = rng.uniform(0, 1, (2, 10_000))
    >>> law = OutcomeLaw(np.linspace(0, 1, 51), (0, 1))
    >>> pacer = Pacer(law.amounts, [Budget(200, per=10_000)], value_range=(0, 1))
    >>> log = pacer.play(law, values, prices)
    >>> won = (log.bids >= 0) & (law.amounts[log.bids] >= prices)
    >>> spent = law.amounts[log.bids][won].sum()
    >>> bool(199 < spent <= 200)
    True
    """

    def open(self, value: float, now: float, first: int, last: int) -> tuple[float, int, int]:
        """Count an auction, and return what to bid for and how much may be bid.

        Args:
            value: What winning is worth.
            now: The time, in seconds since 1970.
            first: The lowest amount that may be bid without limits, by number.
            last: The highest one.

        Returns:
            The pseudo-value, the highest amount up to it (or the first), and the highest one that
            can break no limit: -1 if there is none.
        """
        now = self._moved(now)
        steps = self._steps or self._compile()
        opened: tuple[float, int, int] = steps.open_auction(
            self.rules, self.state, now, value, first, last, self._ticket
        )
        return opened

    def choose(
        self,
        law: OutcomeLaw,
        labels: tuple[Label, ...],
        value: float,
        now: float,
        first: int,
        last: int,
    ) -> tuple[float, int, int, int]:
        """Do what `open` does, and let a law choose; then `hold` or nothing is to follow.

        Args:
            law: The law of prices, with the same amounts.
            labels: The classes of the auction, in the order of the law's features.
            value: As in `open`; in the range of the law's contexts.
            now: As in `open`.
            first: As in `open`.
            last: As in `open`.

        Returns:
            What `open` returns, and the amount that was wanted. The lower one of the last two is to
            be bid; its money is reserved already. Both are -1 if nothing may be bid; the auction is
            accounted for then.
        """
        found: tuple[float, int, int, int] = law.code[paced_decide](
            *law.parts,
            self.rules,
            self.state,
            value,
            law.slots(labels),
            self._moved(now),
            value,
            first,
            last,
            law.uniforms.take(3) if first <= last else _NO_NUMBERS,
            self._ticket,
        )
        return found

    def hold(self, key: int, value: float, amount: int, wanted: int) -> None:
        """Remember a bid whose money is reserved, until it is settled.

        Args:
            key: A number of the bid that is its own.
            value: What winning is worth.
            amount: The amount, by number.
            wanted: The amount that would have been bid without a cap, by number.
        """
        prices, ticket = self._prices, self._ticket.copy()
        held = (self._now, value, prices[amount], prices[wanted], ticket)
        self.reserved[key] = tuple.__new__(Reservation, held)  # half the time of Reservation(...)

    def decline(self, value: float) -> None:
        """Account for the auction that was opened last, in which no bid was made.

        Args:
            value: What winning was worth.
        """
        adapt(self.rules, self.state, self._ticket, value, 0, -1)

    def reserve(self, key: int, value: float, amount: int, wanted: int) -> None:
        """Set money aside for a bid in the auction that was opened last.

        Args:
            key: A number of the bid that is its own.
            value: What winning is worth.
            amount: The amount, by number; at most the highest that `open` returned.
            wanted: The amount that would have been bid without that limit, by number.
        """
        steps = self._steps or self._compile()
        steps.reserve(self.rules, self.state, self._ticket, value, self._prices[amount])
        self.hold(key, value, amount, wanted)

    def settle(self, key: int, value: float, amount: float, *, won: bool, least: float) -> None:
        """Account for a bid whose outcome is known.

        A win that comes after the bid has expired is paid from what is left now.

        Args:
            key: The number of the bid.
            value: What winning was worth.
            amount: The amount, as money.
            won: Whether it won.
            least: The lowest amount that would have won; infinite if it lost and that is not known.
        """
        held = self.reserved.pop(key, None)
        if held is not None:
            _, bid_for, price, wanted, ticket = held
            rules, steps = self.rules, self._steps or self._compile()
            paid = wanted if won or wanted * rules.unit >= least else -1
            steps.settle(rules, self.state, ticket, bid_for, price, paid, won, not self.reserved)
        elif won:
            self.late += in_units(amount, self.unit, ROUND_CEILING)
            self.correct(value, amount, won=True)

    def correct(self, value: float, amount: float, *, won: bool) -> None:
        """Account for an outcome that is another one than was said before.

        It counts in the present period.

        Args:
            value: What winning was worth.
            amount: The amount, as money.
            won: Whether the bid has won after all; else it has lost.
        """
        price = in_units(amount, self.unit, ROUND_CEILING)
        for limit in range(len(self.limits)):
            if won or self.state.money[limit, SPENT] >= price:
                pay(self.rules, self.state, limit, value, price, 1 if won else -1)

    def look(
        self, value: float, first: int, last: int, now: float | None = None
    ) -> tuple[float, int, int]:
        """Return what `open` would return. Nothing is changed.

        Args:
            value: What winning is worth.
            first: As in `open`.
            last: As in `open`.
            now: The time; None for that of the latest auction.
        """
        if now is not None and now >= self._ends:
            later = copy.deepcopy(self)
            later.turn(now)
            return later.look(value, first, last)
        found: tuple[float, int, int] = look(self.rules, self.state, value, first, last)
        return found

    def play(
        self,
        law: OutcomeLaw | GuardedLaw,
        values: npt.ArrayLike,
        prices: npt.ArrayLike,
        *,
        times: npt.ArrayLike | None = None,
        firsts: npt.ArrayLike | None = None,
        lasts: npt.ArrayLike | None = None,
        classes: Mapping[str, npt.ArrayLike] | None = None,
        cells: npt.ArrayLike | None = None,
    ) -> PacedLog:
        """Bid on a log under the limits, in compiled code; every outcome is known at once.

        The law learns as in `OutcomeLaw.play`. A log may come in parts: call it for each of them.

        Args:
            law: The law of prices, with the same amounts; or one under a guard. It chooses its law
                by the value, and its payoff by the pseudo-value.
            values: The value of each auction.
            prices: The highest competing bid of each.
            times: Seconds since 1970, ascending; needed if a limit has periods of the clock.
            firsts: As in `OutcomeLaw.play`.
            lasts: As in `OutcomeLaw.play`; unless given, the highest amount up to the value.
            classes: As in `OutcomeLaw.play`.
            cells: As in `OutcomeLaw.play`.

        Returns:
            The bids and the pseudo-values.

        Raises:
            InvalidContextError: Times are missing.
        """
        count = np.size(values)
        if times is None:
            if self.timed:
                expected = "given, as a limit has periods of the clock"
                reject("play", "times", expected, None, error=InvalidContextError)
            times = np.full(count, max(self._now, 0.0))
        nows = np.maximum.accumulate(array("play", "times", "numbers, one per auction", times))
        bids, pseudo = np.empty(count, dtype=np.int64), np.empty(count)
        guarded = isinstance(law, GuardedLaw)
        bare = law.law if isinstance(law, GuardedLaw) else law
        steps: Callable[..., None] = paced_guarded_play if guarded else paced_play
        drawn = 5 if guarded else 3
        log = prepared(
            bare, values, prices, firsts=firsts, lasts=lasts, classes=classes, cells=cells
        )
        for start, stop in self.pieces(nows):
            part = log.part(start, stop)
            steps(
                *law.parts,
                self.rules,
                self.state,
                part.contexts,
                part.slots,
                part.worths,
                part.firsts,
                part.lasts,
                part.cells,
                part.uniforms(bare.uniforms, drawn),
                nows[start:stop],
                self._ticket,
                bids[start:stop],
                pseudo[start:stop],
            )
        return PacedLog(bids, pseudo)

    def pieces(self, times: Floats) -> Iterator[tuple[int, int]]:
        """Yield the first of some auctions and the one after the last, cut where periods begin.

        The auctions of a piece must have been played before the next one is asked for.

        Args:
            times: (n,), seconds since 1970, ascending.
        """
        start = 0
        while start < times.size:
            self.turn(float(times[start]))
            ends = int(np.searchsorted(times, self._ends, "left"))
            stop = min(max(min(ends, start + self._auctions), start + 1), times.size)
            yield start, stop
            self._now = float(times[stop - 1])
            self._auctions = 0  # count them anew
            start = stop

    def _moved(self, now: float) -> float:
        """Let time pass: begin periods, let bids expire. Return the time, which never goes back."""
        self._now = now = max(now, self._now)
        if now >= self._ends or self._auctions <= 0:
            self.turn(now)
        self._auctions -= 1
        if self.expires is not None:
            self._expire(now - self.expires)
        return now

    def _compile(self) -> _Steps:
        parts, ticket = (self.rules, self.state), self._ticket
        made = _Steps(
            resolved(open_auction, *parts, 0.0, 0.0, 0, 0, ticket),
            resolved(reserve, *parts, ticket, 0.0, 0),
            resolved(settle, *parts, ticket, 0.0, 0, 0, self.timed, self.timed),
        )
        self._steps = made
        return made

    def _expire(self, before: float) -> None:
        """Count bids without an outcome as lost; the oldest ones come first."""
        while self.reserved:
            key = next(iter(self.reserved))
            held = self.reserved[key]
            if held.time > before:
                return
            self.settle(key, held.value, 0.0, won=False, least=math.inf)
