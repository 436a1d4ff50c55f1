"""The limits of a bidder: which bids they allow, and the accounting of what bids cost."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit import forks
from crossbandit.applications.law_learner.decider import LawDecider, Round
from crossbandit.applications.law_learner.decisions import LawDecision, Made
from crossbandit.applications.law_learner.outcome_codes import KNOWN, reaches
from crossbandit.errors import InvalidParameterError
from crossbandit.kernels.paced_laws import lower_chances
from crossbandit.limits import Budget, CostPer, Lease, Pacer, ReturnOnSpend
from crossbandit.limits.batches import choose_many, hold_many, settle_many
from crossbandit.limits.periods import seconds
from crossbandit.limits.saved import freeze, restore
from crossbandit.limits.settings import limits_of
from crossbandit.limits.status import Reasons, lowest_bid, reason, status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta
    from decimal import Decimal

    import numpy.typing as npt

    from crossbandit.algorithms import Decision
    from crossbandit.applications.bidding.bids import Bids
    from crossbandit.laws.levels import Label
    from crossbandit.limits import Limit, LimitStatus
    from crossbandit.types import Booleans, Floats, Integers

    Time = float | datetime | None

_STATE = "limits."
_BEHIND = 60.0  # seconds by which a time may be before an earlier one, until a reason says so
NO_LIMITS = {"budget": None, "target": None, "expires": None}


def given_limits(owner: str, budget: object, target: object) -> list[Limit]:
    """Return the limits of a bidder, budgets first.

    Args:
        owner: The class of the bidder, for messages.
        budget: A budget or a lease, several of them, or None.
        target: A target, several of them, or None.

    Raises:
        InvalidParameterError: One is something else.
    """
    return [
        *limits_of(owner, "budget", budget, (Budget, Lease)),
        *limits_of(owner, "target", target, (ReturnOnSpend, CostPer)),
    ]


class Spending:
    """Keeps the limits of a bidder; any number of threads may use it.

    Args:
        owner: The class of the bidder, for messages.
        amounts: The amounts that may be bid.
        limits: Budgets, leases and targets; at least one of them.
        value_range: The lowest and the highest value.
        horizon: The number of auctions to come, or None.
        expires: The time after which a bid without an outcome counts as lost; None for never.

    Attributes:
        pacer: What keeps the limits.
        lock: Held while a bid is chosen or accounted for.
        forked: Whether this is a forked process, which must not spend what its parent spends.

    Raises:
        InvalidParameterError: An argument is not possible.
    """

    def __init__(
        self,
        owner: str,
        amounts: Floats,
        limits: Sequence[Limit],
        value_range: tuple[float, float],
        horizon: int | None,
        expires: timedelta | float | None,
    ) -> None:
        self.pacer = Pacer(
            amounts,
            limits,
            value_range=value_range,
            horizon=horizon,
            expires=expires,
            owner=owner,
        )
        self.lock = Lock()
        self.forked = False
        forks.know(self)

    def __getstate__(self) -> dict[str, Any]:
        return {name: one for name, one in vars(self).items() if name != "lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, lock=Lock())
        forks.know(self)

    def fork_locks(self) -> tuple[Any, ...]:
        """Return the lock that is held while a decision is made."""
        return (self.lock,)

    def after_fork(self) -> None:
        """Stop bidding in a forked process: the parent would spend the same money."""
        self.forked = True

    def settings(self) -> dict[str, Any]:
        """Return the arguments of the bidder that made it, in a form that `json` can write."""
        forms = [limit.to_json() for limit in self.pacer.limits]
        targets = (ReturnOnSpend.kind, CostPer.kind)
        return {
            "budget": [form for form in forms if form["kind"] not in targets],
            "target": [form for form in forms if form["kind"] in targets],
            "expires": self.pacer.expires,
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
    ) -> tuple[Any, str | None]:
        """Choose a bid within the limits.

        Args:
            learner: A `LawDecider`, or a learner that uses a feedback graph.
            value: What winning is worth.
            labels: The classes of the auction.
            first: The lowest amount that may be bid without limits, by number.
            last: The highest one; lower than `first` if there is none.
            features: A function of a worth, the lowest and the highest amount. It returns the
                context of a learner with a feedback graph, and which amounts the learner may
                choose.
            at: The time of the auction, or None for now.

        Returns:
            The decision and None; or None and the reason.

        Raises:
            InvalidParameterError: This is a forked process, and the limits are its parent's.
        """
        if self.forked:
            raise _refusal()
        now, pacer = time.time() if at is None else seconds("bid", at), self.pacer
        if isinstance(learner, LawDecider) and learner.guard is None:
            with self.lock, learner.deciding:
                key = first_key(learner.id) + learner.round
                worth, usable, arm = pacer.choose(key, learner.law, labels, value, now, first, last)
                if arm < 0:
                    return None, self._reason(now, value, worth, first, last)
                return learner.decided(arm, first, usable), None
        with self.lock:
            worth, usable, cap = pacer.open(value, now, first, last)
            if cap < 0:
                pacer.decline(value)
                return None, self._reason(now, value, worth, first, last)
            if isinstance(learner, LawDecider):
                decision = learner.act(Round(value, worth, 0.0, labels), first, usable)
                wanted = decision.arm
                if cap < usable:
                    cut(decision, cap, pacer.rules.amounts)
            else:
                decision = learner.act(*features(worth, first, cap))
                wanted = decision.arm
                if wanted == cap < usable:  # without the cap it might have bid more
                    wanted += 1
            pacer.reserve(first_key(learner.id) + decision.round, value, decision.arm, wanted)
        return decision, None

    def choose_many(
        self,
        learner: LawDecider,
        values: Floats,
        columns: Mapping[str, Any],
        firsts: Integers,
        lasts: Integers,
        at: object,
    ) -> tuple[Made, Sequence[str | None] | None]:
        """Choose many bids of one time within the limits, in one call of compiled code.

        Args:
            learner: What decides; it has no guard.
            values: What winning is worth.
            columns: A column of labels for every class.
            firsts: The lowest amount that may be bid without limits, by number.
            lasts: The highest one.
            at: The time of the auctions, or None for now.

        Returns:
            The decisions; and the reasons why no bid was made, for each auction, or None.

        Raises:
            InvalidParameterError: This is a forked process, and the limits are its parent's.
        """
        if self.forked:
            raise _refusal()
        now, pacer = time.time() if at is None else seconds("bid_many", at), self.pacer
        with self.lock, learner.deciding:
            slots = learner.law.levels.table(columns, values.size, new=False)
            chosen = choose_many(pacer, learner.law, slots, values, now, firsts, lasts)
            made = learner.decided_many(chosen.bids, chosen.chances, firsts, chosen.usable)
            keys = first_key(made.decider) + made.rounds
            hold_many(pacer, keys, chosen)
        if chosen.bids.min(initial=0) >= 0:
            return made, None
        return made, Reasons(pacer, values, chosen, firsts, lasts)

    def _reason(self, now: float, value: float, worth: float, first: int, last: int) -> str | None:
        """Return why no bid may be made; None if none was possible without limits either."""
        lowest = lowest_bid(self.pacer.rules.amounts, first, last)
        if lowest is None:
            return None
        found, latest = reason(self.pacer, value, worth, lowest), self.pacer.periods.now
        if latest - now <= _BEHIND:
            return found
        times = [datetime.fromtimestamp(at, UTC).isoformat(" ", "minutes") for at in (now, latest)]
        return (
            f"{found} The time, {times[0]}, is before that of an earlier auction, {times[1]}, "
            "which counts."
        )

    def look(self, value: float, first: int, last: int, at: object) -> tuple[float, int, int]:
        """Return the pseudo-value of a value, and which bids may be made; see `Pacer.look`.

        Args:
            value: What winning is worth.
            first: The lowest amount, by number.
            last: The highest one.
            at: The time, or None for that of the latest auction.
        """
        now = None if at is None else seconds("policy", at)
        with self.lock:
            return self.pacer.look(value, first, last, now)

    def correct(self, key: int, before: int, value: float, amount: float, *, won: bool) -> None:
        """Account for an outcome that replaces a wrong one.

        Args:
            key: The number of the bid.
            before: The code of the outcome that was wrong.
            value: What winning was worth.
            amount: The amount, as money.
            won: Whether it won.
        """
        at = int(self.pacer.rules.amounts.searchsorted(amount))
        if before >= KNOWN and reaches(before, at) != won:
            with self.lock:
                self.pacer.correct(key, value, amount, won=won)

    def account_many(self, bids: Bids, won: Booleans, least: Floats) -> None:
        """Account for many bids whose outcomes are known, as `Pacer.settle` does for each.

        Args:
            bids: The bids.
            won: Whether each won.
            least: The lowest amount that would have won; infinite where that is not known.
        """
        if isinstance(bids.made, Made):
            keys = first_key(bids.made.decider) + bids.made.rounds
            rows = bids.made.rounds >= 0
        else:
            made = [-1 if one.decision is None else _key(one.decision) for one in bids.made]
            keys = np.array(made, dtype=np.int64)
            rows = keys >= 0
        rows &= ~np.isnan(bids.amounts)
        money = bids.values[rows], bids.amounts[rows]
        with self.lock:
            settle_many(self.pacer, keys[rows], *money, won[rows], least[rows])

    def status(self) -> tuple[LimitStatus, ...]:
        """Return how the limits stand, budgets first."""
        with self.lock:
            return status(self.pacer)

    def renew(self, lease: Lease | None) -> tuple[str, Decimal]:
        """End a lease, and continue with another one; see `Periods.renew`.

        Args:
            lease: The new lease, or None.
        """
        with self.lock:
            found = self.pacer.periods.renew(lease)
            self.forked = False
            return found

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return all that changes, by name."""
        with self.lock:
            arrays = freeze(self.pacer)
        return {f"{_STATE}{name}": array for name, array in arrays().items()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned.

        Args:
            state: The arrays.

        Raises:
            ValueError: They do not fit the limits.
        """
        with self.lock:
            restore(self.pacer, {name.removeprefix(_STATE): one for name, one in state.items()})


def _refusal() -> InvalidParameterError:
    """Return what a bid in a forked process raises."""
    return InvalidParameterError(
        "A bidder with limits must not bid in a forked process: it and its parent would spend the "
        "same money. Load the bidder in this process, if no other one goes on with it; or give "
        "each process a Lease, with 'renew' after the fork."
    )


def belongs(name: str) -> bool:
    """Return whether a value of an application's state is one of its limits.

    Args:
        name: The name of the value.
    """
    return name.startswith(_STATE)


def cut(decision: LawDecision, cap: int, amounts: Floats) -> None:
    """Lower the amount of a decision to the highest that may be bid.

    Args:
        decision: The decision; it is changed.
        cap: The highest amount, by number.
        amounts: The amounts.
    """
    decision.arm = min(decision.arm, cap)
    part = decision.guard
    if part is not None:  # any higher amount that was drawn means this one
        lower_chances(part.chances, cap)
        object.__setattr__(part, "law_amount", min(part.law_amount, float(amounts[cap])))


def _key(decision: LawDecision | Decision) -> int:
    """Return a number that no bid of another decider has, unless two ids are almost equal.

    A bidder that is loaded from a file continues its round numbers, and so does the bidder that
    wrote the file. Only the id of the decider tells their bids apart.
    """
    maker = decision.decider if type(decision) is LawDecision else decision.learner
    return first_key(maker) + decision.round


@lru_cache(maxsize=64)
def first_key(maker: str) -> int:
    """Return the key of the first bid of a decider: a number of 62 bits, far above any round.

    Args:
        maker: The id of the decider or learner.
    """
    return (int(maker, 16) >> 2) | (1 << 61)
