"""The limits of a bidder: which bids they allow, and the accounting of what bids cost."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.algorithms.learners.law_learner import (
    LawLearner,
    Made,
    Payment,
    Round,
    Shown,
)
from crossbandit.applications.bidding.bids import first_key, key_of
from crossbandit.applications.bidding.campaigns import pays
from crossbandit.core import forks
from crossbandit.errors import InvalidParameterError, LearnedBeforeError
from crossbandit.limits import Budget, CostPer, Lease, Pacer, ReturnOnSpend
from crossbandit.limits.periods import LeaseUse, check_jump, jump_of, steady_time
from crossbandit.limits.settings import Money, claim, limits_of, seconds
from crossbandit.limits.state import PERIOD
from crossbandit.limits.status import lowest_bid, reason, reasons, status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import timedelta

    import numpy.typing as npt

    from crossbandit.algorithms import Decision
    from crossbandit.applications.bidding.bids import Bids
    from crossbandit.applications.bidding.campaigns import Accounts
    from crossbandit.applications.bidding.inputs import BidBounds
    from crossbandit.core.types import Booleans, Floats, Integers
    from crossbandit.laws.levels import Label
    from crossbandit.limits import Limit, LimitStatus

    Time = float | datetime | None

_BEHIND = 60.0  # seconds by which a time may be before an earlier one, until a reason says so
_SYSTEM = time.time


def given_limits(owner: str, budget: object, target: object) -> list[Limit]:
    """Return the limits of a bidder, budgets first."""
    return [
        *limits_of(owner, "budget", budget, (Budget, Lease)),
        *limits_of(owner, "target", target, (ReturnOnSpend, CostPer)),
    ]


class Spending:
    """Keeps the limits of a bidder; any number of threads may use it."""

    def __init__(
        self,
        owner: str,
        amounts: Floats | None,
        limits: Sequence[Limit],
        value_range: tuple[float, float],
        most: float,
        horizon: int | None,
        expires: timedelta | float | None,
        max_jump: timedelta | float | None,
        accounts: Accounts,
    ) -> None:
        self.max_jump, self._latest = jump_of(owner, max_jump), accounts.latest
        self.pacer = Pacer(
            amounts,
            limits,
            value_range=value_range,
            most=most,
            horizon=horizon,
            expires=expires,
            owner=owner,
        )
        self.lock, self.copied, self.claimed = accounts.lock, False, False
        forks.know(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, copied=True)
        forks.know(self)

    def fork_locks(self) -> tuple[Any, ...]:
        """Return the lock: that of learning comes before it, and that of deciding after it."""
        return (None, self.lock)

    def claim(self, owner: str) -> None:
        """Raise if another bidder has or had a lease of this one."""
        for one in self.pacer.limits:
            if isinstance(one, Lease) and not self.claimed:
                claim(one, owner, "budget")
        self.claimed = True

    def after_fork(self) -> None:
        """Stop bidding in a forked process: the parent would spend the same money."""
        self.copied = True

    def settings(self, *, ended: bool = False) -> dict[str, Any]:
        """Return its budgets and targets, in a form that `json` can write.

        ended: whether a lease that has ended takes the place of the budgets. A snapshot begins with
        it, and gets money by `renew`.
        """
        limits = self.pacer.limits
        money: list[Budget | Lease] = [one for one in limits if isinstance(one, Money)]
        if ended and money:
            least = min(one.amount for one in money)
            money = [Lease("", least, 0.0, 1.0, most=float(max(one.at_most for one in money)))]
        return {
            "budget": [one.to_json() for one in money],
            "target": [one.to_json() for one in limits if not isinstance(one, Money)],
        }

    def choose(
        self,
        learner: Any,
        value: float,
        labels: tuple[Label, ...],
        first: int,
        last: int,
        features: Any,
        at: object,
        taken: list[int],
    ) -> tuple[Any, str | None]:
        """Choose a bid within the limits."""
        if self.copied:
            raise _refusal()
        now, pacer = self._time("bid", at, learner), self.pacer
        with self.lock:
            pacer.vacate()
            try:
                decision = None
                if learner.law is None or learner.guard is not None:
                    worth, usable, cap = pacer.open(value, now, first, last)
                    if cap < 0:
                        pacer.decline(value)
                    elif learner.law is None:
                        decision = learner.act(*features(worth, first, cap))
                        more = decision.arm == cap < usable  # what it might bid without the cap
                        self._reserve(learner, value, decision, decision.arm + more, taken)
                    else:
                        decision = learner.act(Round(value, worth, 0.0, labels), first, usable)
                        wanted = decision.arm
                        if cap < usable:
                            cut(decision, cap, pacer.rules.amounts)
                        self._reserve(learner, value, decision, wanted, taken)
                else:
                    with learner.deciding:
                        key = first_key(learner.id) + learner.round
                        taken.append(key)
                        auction = (value, now, first, last)
                        worth, usable, arm = pacer.choose(key, learner.law, labels, auction)
                        if arm >= 0:
                            decision = learner.decision_for(arm, first, usable)
                        if arm < pacer.lowest:
                            taken.clear()
                if decision is None:
                    return None, self.reason(now, value, worth, first, last)
            except BaseException:
                missed = [key for key in taken if key not in pacer.reserved.rows]
                pacer.withdraw(taken, [pacer.reserved.opened] if missed else [])
                raise
            return decision, None

    def choose_between(
        self,
        learner: Any,
        value: float,
        labels: tuple[Label, ...],
        bounds: BidBounds,
        at: object,
        taken: list[int],
    ) -> tuple[Any, float, str | None]:
        """Choose any amount within the limits; return the decision, the amount, or a reason."""
        if self.copied:
            raise _refusal()
        now, pacer = self._time("bid", at, learner), self.pacer
        with self.lock:
            pacer.vacate()
            try:
                worth, left = pacer.open_between(value, now)
                low, high, most = bounds.under(worth, left)
                if not 0.0 < low <= min(high, most):
                    pacer.decline(value)
                    lowest = bounds.under(value, left)
                    possible = 0.0 < lowest[0] <= lowest[1]
                    return None, 0.0, self._why(now, value, worth, low) if possible else None
                given = (value, worth, pacer.cost_of_holding, labels, low, high, most)
                decision, wanted, chance = learner.act_between(*given)
                wanted = bounds.rounded(wanted, low, high)
                amount = min(wanted, most)
                taken.append(key_of(decision))
                pacer.reserve_money(taken[0], value, amount, wanted, chance)
            except BaseException:
                missed = [key for key in taken if key not in pacer.reserved.rows]
                pacer.withdraw(taken, [pacer.reserved.opened] if missed else [])
                raise
            return decision, amount, None

    def _reserve(
        self, learner: Any, value: float, decision: Any, wanted: int, taken: list[int]
    ) -> None:
        """Reserve the money of a decision of a guard or a feedback graph."""
        if decision.arm < self.pacer.lowest:
            self.pacer.decline(value)
        else:
            taken.append(first_key(learner.id) + decision.round)
            chance = 1.0 if learner.law is None else learner.law.core.chance(decision.arm)
            self.pacer.reserve(taken[0], value, decision.arm, wanted, chance)

    def withdraw(self, taken: Sequence[Any]) -> None:
        """Count bids as lost whose caller did not get them, because of an exception."""
        keys = [
            one if isinstance(one, int) else key_of(one.decision)
            for one in taken
            if isinstance(one, int) or one.amount
        ]
        with self.lock:
            self.pacer.withdraw(keys, [])

    def choose_many(
        self,
        learner: LawLearner,
        values: Floats,
        columns: Mapping[str, Any],
        firsts: Integers,
        lasts: Integers,
        at: object,
        taken: list[int],
    ) -> tuple[Made, Sequence[str | None] | None]:
        """Choose many bids of one time within the limits, in one call of compiled code."""
        if self.copied:
            raise _refusal()
        now, pacer = self._time("bid_many", at, learner), self.pacer
        with self.lock, learner.deciding:
            slots = learner.law.levels.table(columns, values.size)
            rows, keys = np.full(values.size, -1), np.empty(0, dtype=np.int64)  # none so far
            try:
                auctions = {"worths": values, "slots": slots, "firsts": firsts, "lasts": lasts}
                chosen = pacer.choose_many(learner.law, auctions, now, rows)
                made = learner.decided_many(chosen.bids, chosen.chances, firsts, chosen.usable)
                keys = first_key(made.decider) + made.rounds
                pacer.hold_many(keys, chosen)
                taken += keys[chosen.bids >= pacer.lowest].tolist()
            except BaseException:
                pacer.withdraw(keys.tolist(), rows.tolist())
                raise
        if chosen.bids.min(initial=0) >= 0:
            return made, None
        return made, reasons(pacer, values, chosen, firsts, lasts)

    def _time(self, owner: str, at: object, learner: Any) -> float:
        """Return the time of an auction; raise if it jumps ahead."""
        now = time.time() if at is None else seconds(owner, at)
        if self.max_jump is not None and now > self.pacer.periods.now + self.max_jump:
            latest = self._latest()  # of all campaigns
            clock = getattr(learner, "clock", _SYSTEM)
            known = steady_time() if clock is _SYSTEM else clock()
            check_jump(owner, now, latest, self.max_jump, known)
        return now

    def reason(self, now: float, value: float, worth: float, first: int, last: int) -> str | None:
        """Return why no bid may be made; None if none was possible without limits either."""
        lowest = lowest_bid(self.pacer.rules.amounts, first, last)
        return None if lowest is None else self._why(now, value, worth, lowest)

    def _why(self, now: float, value: float, worth: float, lowest: float) -> str:
        found, latest = reason(self.pacer, value, worth, lowest), self.pacer.periods.now
        if latest - now <= _BEHIND:
            return found
        times = [datetime.fromtimestamp(at, UTC).isoformat(" ", "minutes") for at in (now, latest)]
        return (
            f"{found} The time, {times[0]}, is before that of an earlier auction, {times[1]}, "
            "which counts."
        )

    def look(self, value: float, first: int, last: int, at: object) -> tuple[float, int, int]:
        """Return the pseudo-value of a value, and which bids may be made; see `Pacer.look`."""
        now = None if at is None else seconds("policy", at)
        with self.lock:
            return self.pacer.look(value, first, last, now)

    def look_between(self, value: float, at: object) -> tuple[float, Decimal]:
        """Return the pseudo-value of a value, and the most that may be bid."""
        now = None if at is None else seconds("policy", at)
        with self.lock:
            return self.pacer.look_between(value, now)

    def payment(self, decision: Any, own: set[str] | None) -> Payment | None:
        """Return what accounts for a decision; None if a snapshot made it, which has a lease."""
        return Payment(self, key_of(decision)) if pays(decision, own) else None

    def pay(self, decision: Any, shown: Shown, bid: Any) -> None:
        """Account for a bid of a snapshot, which remembers no others than those without outcome."""
        key = key_of(decision)
        with self.lock:
            if key not in self.pacer.reserved.rows and self.pacer.expires is None:
                raise LearnedBeforeError(
                    f"The bid of {bid.amount:.15g} has been settled before. Each counts once."
                )
            self.pacer.settle(key, bid.value, *shown)

    def settled(
        self,
        key: int,
        value: float,
        amount: float,
        won: bool,  # noqa: FBT001 - keywords take time
        least: float,
    ) -> Sequence[Callable[[], Any]]:
        """Return the steps that account for an outcome, under `lock`; see `Pacer.settled`."""
        return self.pacer.settled(key, value, amount, won, least)

    def corrected(
        self, key: int, value: float, amount: float, *, won: bool
    ) -> Sequence[Callable[[], Any]]:
        """Return the steps that account for the opposite of an outcome before, under `lock`."""
        return self.pacer.corrected(key, value, amount, won=won)

    def settled_many(
        self,
        bids: Bids,
        won: Booleans,
        least: Floats,
        own: set[str] | None,
    ) -> Sequence[Callable[[], Any]]:
        """Return the steps that account for many bids, under `lock`; see `Pacer.settled`.

        own: the deciders whose bids it pays for; None for all.
        """
        if isinstance(bids.made, Made):
            keys = first_key(bids.made.decider) + bids.made.rounds
            rows = bids.made.rounds >= (0 if own is None or bids.made.decider in own else np.inf)
        else:
            made: list[Any] = [one.decision for one in bids.made]
            keys = np.array([-1 if not pays(one, own) else key_of(one) for one in made])
            rows = keys >= 0
        rows &= ~np.isnan(bids.amounts)
        money = bids.values[rows], bids.amounts[rows]
        return self.pacer.settled_many(keys[rows], *money, won[rows], least[rows])

    def spare(self, share: float, most: int) -> int:
        """Return for how many bids a share of the free money would do; see `Pacer.spare`."""
        with self.lock:
            return self.pacer.spare(share, most)

    def reserve_unknown(self, decider: str, first: int, count: int, at: float) -> None:
        """Reserve money for bids that may have been made; see `Pacer.reserve_unknown`."""
        with self.lock:
            self.pacer.reserve_unknown(first_key(decider) + first + np.arange(count), at)

    @property
    def period(self) -> bytes:
        """What differs between any two auctions that are not in the same periods."""
        return self.pacer.state.times[:, PERIOD].tobytes()

    def status(self) -> tuple[LimitStatus, ...]:
        """Return how the limits stand, budgets first."""
        with self.lock:
            return status(self.pacer)

    def renew(self, lease: Lease | None) -> LeaseUse:
        """End a lease, and continue with another one; see `Periods.renew`."""
        with self.lock:
            if self.copied and not all(isinstance(one, Lease) for one in self.pacer.limits):
                raise _refusal()
            if isinstance(lease, Lease):
                claim(lease, "renew", "lease")
            if not self.copied:
                return self.pacer.periods.renew(lease)
            # The first bidder gives its lease back. No lease has an empty id.
            self.pacer.periods.renew(lease, same=False)
            self.copied = False
            return LeaseUse("", Decimal(0), Decimal(0))

    def change(self, budget: object, target: object) -> None:
        """Continue under other budgets or targets; None keeps the present ones."""
        with self.lock:
            if self.copied:
                raise _refusal()
            limits = given_limits("change_limits", budget, target)
            for one in self.pacer.limits:
                if (budget if isinstance(one, Money) else target) is None:
                    limits.append(one)
            self.pacer.change(sorted(limits, key=lambda one: not isinstance(one, Money)))

    def pause(self) -> None:
        """Bid nothing until `resume`; see `Periods.pause`."""
        with self.lock:
            self.pacer.periods.pause()

    def resume(self, at: object, learner: Any) -> None:
        """Bid again, from a time on; see `Periods.resume`."""
        now = self._time("resume", at, learner)
        with self.lock:
            if self.copied:
                raise _refusal()
            self.pacer.periods.resume(now)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return all that changes, by name."""
        with self.lock:
            arrays = self.pacer.freeze()
        return arrays()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned."""
        with self.lock:
            self.pacer.restore(state)


def _refusal() -> InvalidParameterError:
    """Return what a bid of a copy raises."""
    return InvalidParameterError(
        "This bidder is a copy, made by a fork, by pickle or by copy.deepcopy. A copy holds no "
        "money: it would spend what the first bidder spends. Let one process hold the budget, "
        "shared = Budget(...).share(), and give each bidder a slice: "
        "FirstPriceBidder(..., budget=shared.lease(amount)), or 'renew' if it had a Lease. "
        "'take_counts' gives it what this copy has learned. If no other process goes on with "
        "this bidder, save and load it instead."
    )


def cut(decision: Decision, cap: int, amounts: Floats) -> None:
    """Lower the amount of a decision to the highest that may be bid."""
    decision.arm = min(decision.arm, cap)
    part = decision.guard
    if part is not None:  # any higher amount that was drawn means this one
        part.chances[cap] = sum(part.chances[cap + 1 :].tolist(), start=part.chances[cap])
        part.chances[cap + 1 :] = 0.0
        object.__setattr__(part, "law_amount", min(part.law_amount, float(amounts[cap])))
