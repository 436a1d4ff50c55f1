"""Bid under limits: compute pseudo-values that follow the plan, and reserve money for bids."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.errors import InvalidContextError
from crossbandit.kernels.pace_steps import settle_all
from crossbandit.kernels.paced_laws import paced_decide_all, paced_guarded_play, paced_play
from crossbandit.laws import GuardedLaw
from crossbandit.laws.rounds import prepared
from crossbandit.limits.steps import PacerSteps
from crossbandit.validation import array, reject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import numpy.typing as npt

    from crossbandit.laws import OutcomeLaw
    from crossbandit.types import Booleans, Floats, Integers


class PacedLog(NamedTuple):
    """What was bid on a log.

    Attributes:
        bids: (n,), by number; -1 where nothing could be bid.
        pseudo_values: (n,), what was bid for.
    """

    bids: Integers
    pseudo_values: Floats


class PacedChoices(NamedTuple):
    """What was chosen in the auctions of a batch.

    Attributes:
        bids: (n,), by number; -1 where nothing could be bid.
        chances: (n,), the probabilities of winning with these bids, by the law.
        usable: (n,), the highest amounts up to the pseudo-value.
        pseudo_values: (n,), what was bid for.
        tightest: (n, 3). Where nothing could be bid: the number of the limit that leaves least, the
            units that it leaves, and those that it has reserved.
        rows: (n,), the rows of these bids in `Pacer.reserved`. If nothing was bid, the row is free.
    """

    bids: Integers
    chances: Floats
    usable: Integers
    pseudo_values: Floats
    tightest: Integers
    rows: Integers


class Pacer(PacerSteps):
    """Keeps one bidder within its limits.

    Every limit has a multiplier. Without limits, a bidder bids for the value v. Under limits it
    bids for a *pseudo-value*, the lowest of

    - v exp(s) under a budget, where s is at most 0 if the aim is the surplus;
    - c (1 + exp(s)) under a target, where c is the credit of a win: the value divided by the return
      on spend. With the aim "surplus" it is c + (v - c) exp(s).

    These pseudo-values maximise the Lagrangian. After an auction, s is reduced by
    `g / sqrt(sum of g^2)`. Under a budget, g is what was paid minus what was planned, which is the
    share of the remaining money that is meant for this auction. Under a target, g is what was paid
    minus c. The steps need no scale: the first is 1, and later ones become smaller. The next period
    starts with half of the sum.

    A limit that must hold at any time is also a cap: no bid is made that could break it, whatever
    becomes of bids without an outcome. Under a target, g is then computed from the bid without the
    cap. With the cap the target always holds, so s would only rise.

    For each auction call `open`, then `reserve` or `decline`, and `settle` once its outcome is
    known. `choose_many`, `hold_many` and `settle_many` do this for a batch, and `play` for a log.

    Args:
        amounts: The amounts that may be bid, ascending.
        limits: Budgets and targets, at least one of them.
        value_range: The lowest and the highest value.
        horizon: The number of auctions to come, for budgets that have no period.
        expires: The time after which a bid without an outcome counts as lost, as a timedelta or in
            seconds; None for never.

    Attributes:
        limits: The limits.
        rules: The limits, as compiled steps take them.
        state: The state of the limits, as compiled steps take it.
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

    def choose_many(
        self,
        law: OutcomeLaw,
        slots: Integers,
        values: Floats,
        now: float,
        firsts: Integers,
        lasts: Integers,
    ) -> PacedChoices:
        """Do what `Pacer.choose` does in many auctions of the same time. Call `hold_many` next.

        Args:
            law: The law of prices, with the same amounts.
            slots: (n, width). The classes of each auction, as the law numbers them.
            values: (n,). What winning is worth.
            now: The time, in seconds since 1970.
            firsts: (n,). The lowest amount that may be bid without limits, by number.
            lasts: (n,). The highest one.

        Returns:
            The bids, and what the limits need to know about them. Their money is already reserved.
        """
        count, reserved = values.size, self.reserved
        bids, usable, rows = np.empty((3, count), dtype=np.int64)
        found = PacedChoices(
            bids=bids,
            chances=np.empty(count),
            usable=usable,
            pseudo_values=np.empty(count),
            tightest=np.full((count, 3), -1),
            rows=rows,
        )
        active = firsts <= lasts
        chosen = int(np.count_nonzero(active))
        uniforms = law.uniforms.take(3 * chosen).reshape(-1, 3)
        if chosen < count:
            drawn, uniforms = uniforms, np.zeros((count, 3))
            uniforms[active] = drawn
        columns = (values, slots, firsts, lasts, uniforms, rows, *found[:-1])
        now = max(now, self._now)
        for start, stop in self.pieces(np.full(count, now)):
            if start == 0 and self.expires is not None:
                self._expire(now - self.expires)
            if start == 0:
                rows[:] = self._take(count)
            state = (*law.parts, self.rules, self.state, reserved.table)
            parts = (one[start:stop] for one in columns)
            law.code[paced_decide_all](*state, now, *parts)
        return found

    def hold_many(self, keys: Integers, chosen: PacedChoices) -> None:
        """Remember the bids that `choose_many` has just reserved money for.

        Args:
            keys: (n,). A unique number for each bid; ignored if nothing was bid.
            chosen: What `choose_many` returned.
        """
        made = chosen.bids >= 0
        rows = chosen.rows
        if not made.all():
            self.reserved.free.extend(rows[~made].tolist())
            keys, rows = keys[made], rows[made]
        self.reserved.rows.update(zip(keys.tolist(), rows.tolist(), strict=True))

    def settle_many(
        self, keys: Integers, values: Floats, amounts: Floats, won: Booleans, least: Floats
    ) -> None:
        """Account for many bids whose outcomes are known, as `Pacer.settle` does for each.

        Args:
            keys: (n,). The numbers of the bids.
            values: (n,). What winning was worth.
            amounts: (n,). The amounts, as money.
            won: (n,). Whether each won.
            least: (n,). The lowest amounts that would have won; infinite where that is not known.
        """
        reserved = self.reserved
        pop = reserved.rows.pop
        rows = np.array([pop(key, -1) for key in keys.tolist()], dtype=np.int64)
        known = rows >= 0
        given = (rows[known], won[known], least[known], len(reserved))
        self._code[settle_all](self.rules, self.state, reserved.table, *given)
        for i in np.flatnonzero(won & ~known).tolist():
            self._pay_late(float(values[i]), float(amounts[i]))
        reserved.free.extend(given[0].tolist())
        if len(reserved.free) > reserved.spare:
            self._resize(0)

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
        """Bid on a log under the limits, in compiled code. Each outcome is known immediately.

        The law learns as in `OutcomeLaw.play`. If a log comes in parts, call this for each part.

        Args:
            law: The law of prices, with the same amounts; or a `GuardedLaw`. The value is the
                context of the law, and the pseudo-value is the worth in the payoff.
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
                self.reserved.table.tickets[self.reserved.opened],
                bids[start:stop],
                pseudo[start:stop],
            )
        return PacedLog(bids, pseudo)

    def pieces(self, times: Floats) -> Iterator[tuple[int, int]]:
        """Yield the start and the stop of each piece of some auctions, split where periods begin.

        Play the auctions of a piece before asking for the next piece.

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
            self._auctions = 0  # `turn` finds out again how many are left
            start = stop
