"""The sets of limits of a bidder: one for all its auctions, or one for each of its campaigns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.core.locks import Lock
from crossbandit.core.notebook import Listed
from crossbandit.core.validation import reject
from crossbandit.errors import InvalidContextError, InvalidParameterError
from crossbandit.laws.levels import checked_label, key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from crossbandit.applications.bidding.bids import Bid, Bids
    from crossbandit.applications.bidding.spending import Spending, Time
    from crossbandit.applications.first_price import FirstPriceBidder
    from crossbandit.applications.money import Money
    from crossbandit.core.types import Integers
    from crossbandit.laws.levels import Label
    from crossbandit.limits import Lease, LimitStatus
    from crossbandit.limits.periods import LeaseUse
    from crossbandit.limits.settings import BudgetLike, TargetLike

CAMPAIGN = "campaign"  # the class by which a law knows the campaign of an auction
_LIMITS = ("budget", "target")
_STATE = "limits."


class Limited(Listed):
    """What may have limits of its own: a bidder, or a campaign of one.

    Attributes:
        learner: What it learns by.
    """

    listed = "change_limits limits pause renew resume"
    learner: Any

    @property
    def spending(self) -> Spending | None:
        """What keeps its budgets and targets; None if there are none."""
        raise NotImplementedError

    @property
    def limits(self) -> tuple[LimitStatus, ...]:
        """The state of budgets and targets: spent, reserved, left, planned, slack, multiplier."""
        return () if self.spending is None else self.spending.status()

    def change_limits(
        self,
        *,
        budget: BudgetLike | Sequence[BudgetLike] | None = None,
        target: TargetLike | Sequence[TargetLike] | None = None,
    ) -> None:
        """Change budgets or targets while the bidder runs.

        What was spent and what is reserved count on, and what is left is planned for the rest of
        the period. Amounts, pacing, time zones, worst cases, flights, and what a target asks for
        may change, but not the kinds and the periods of the limits. If a budget is set below what
        was spent, nothing is bid until its period is over. Bids without an outcome are not taken
        back.

        Args:
            budget: What takes the place of the budget, or of all budgets; None to keep them.
            target: The same for targets.

        Raises:
            InvalidParameterError: There are no limits, or others than these; or this is a copy.
                Nothing has changed.
        """
        self._limited("change_limits").change(budget, target)

    def pause(self) -> None:
        """Make no more bids until `resume` is called. A bidder that is saved stays paused.

        Bids without an outcome are settled as usual. Calls of `bid` may go on: they return no bid,
        and the traffic of the day is learned. Time goes on, so a day that ends in a pause is over.

        Raises:
            InvalidParameterError: There is no budget; with a lease, use `renew`.
        """
        self._limited("pause").pause()

    def resume(self, *, at: Time = None) -> None:
        """Bid again after a pause. What is left is planned for the rest of each period.

        Args:
            at: The time, as in `bid`.

        Raises:
            InvalidContextError: The time is far ahead.
            InvalidParameterError: There is no budget, or this is a copy.
        """
        self._limited("resume").resume(at, self.learner)

    def renew(self, lease: Lease | None = None) -> LeaseUse:
        """End the lease that is the budget, and continue with another one.

        Args:
            lease: The new lease; None to stop bidding. `SharedBudget.next_lease` returns one with
                the id of the old one, on which bids without an outcome count on.

        Returns:
            What was used of the old lease: its id; what was spent and is reserved; and what is
            spent if all bids without an outcome win. `next_lease`, `report` and `take_back` take
            all three.

        Raises:
            InvalidParameterError: There is no lease, or another bidder has or had the new one.
        """
        if self.spending is None:
            reject("renew", "lease", "for a bidder with a Lease as its budget", lease)
        return self.spending.renew(lease)

    def _limited(self, owner: str) -> Spending:
        if self.spending is None:
            raise InvalidParameterError(
                f"{owner!r} needs a bidder with limits. Make one with a budget or a target, and "
                "give it what this one has learned by 'take_counts'. If the bidder has campaigns, "
                f"its limits are theirs: bidder.campaigns[name].{owner}(...)."
            )
        return self.spending


class Campaign(Limited):
    """A campaign of a bidder: it learns with all others, and has budgets and targets of its own.

    `FirstPriceBidder.campaign` makes one, and `FirstPriceBidder.campaigns` has all. Its bids are
    settled with the bidder.

    Args:
        bidder: The bidder.
        name: Its name.
        spending: What keeps its limits; None if it has none.
    """

    listed = "bid bid_many name"

    def __init__(self, bidder: FirstPriceBidder, name: str, spending: Spending | None) -> None:
        self.name, self.learner = name, bidder.learner
        self._bidder, self._spending = bidder, spending

    @property
    def spending(self) -> Spending | None:
        return self._spending

    def bid(self, value: Money, **given: Any) -> Bid:
        """Choose a bid for this campaign, as `FirstPriceBidder.bid` does.

        Args:
            value: What winning is worth.
            **given: As for `FirstPriceBidder.bid`: the reserve price, the time, other classes.

        Returns:
            The bid.

        Raises:
            InvalidContextError: As for `FirstPriceBidder.bid`.
        """
        return self._bidder.bid(value, **{**given, CAMPAIGN: self.name})

    def bid_many(self, values: npt.ArrayLike, **given: Any) -> Bids:
        """Choose many bids at once for this campaign, as `FirstPriceBidder.bid_many` does.

        Args:
            values: What winning is worth, in each auction.
            **given: As for `FirstPriceBidder.bid_many`.

        Returns:
            The bids.

        Raises:
            InvalidContextError: As for `FirstPriceBidder.bid_many`.
        """
        return self._bidder.bid_many(values, **{**given, CAMPAIGN: self.name})

    def __repr__(self) -> str:
        return f"Campaign({self.name!r}, {len(self.limits)} limits)"


class Accounts:
    """The sets of limits of a bidder, by campaign; without campaigns there is one, for None.

    A set without limits is None; `only` is that of a bidder without campaigns. All sets share one
    lock, so that a batch takes no two. `place` is the number of the campaign among the classes.
    """

    def __init__(
        self, owner: str, classes: Sequence[str], campaigns: object, make: Callable[..., Spending]
    ) -> None:
        self._owner, self._make, self.lock = owner, make, Lock()
        self.only: Spending | None = None
        self.sets: dict[str | None, Spending | None] = {}
        self._keys: dict[int, str] = {}
        self.place = None if campaigns is None else classes.index(CAMPAIGN)
        expected = 'a limit or several for each name, such as {"shoes": {"budget": Budget(500)}}'
        if campaigns is None:
            return
        if not isinstance(campaigns, Mapping):
            reject(owner, "campaigns", expected, campaigns)
        for name, limits in campaigns.items():
            if not isinstance(limits, Mapping) or not set(limits) <= {*_LIMITS}:
                reject(owner, "campaigns", expected, campaigns)
            self.add(name, *(limits.get(one) for one in _LIMITS))

    def add(
        self, name: object, budget: object, target: object, *, claims: bool = False
    ) -> Spending | None:
        """Add the set of a campaign, or that of a bidder without campaigns.

        claims: whether to claim its lease, before anything has changed.
        """
        owner = self._owner if name is None else CAMPAIGN
        if name is not None and self.place is None:
            raise InvalidParameterError(
                "This bidder has no campaigns. Make it with campaigns={}, or with the first ones: "
                f"{self._owner}(campaigns={{{name!r}: {{'budget': ...}}}}, ...)."
            )
        if name is not None and (not isinstance(name, str) or not name):
            reject(owner, "name", "a text that is not empty", name)
        if isinstance(name, str):
            checked_label(owner, "name", name)
            name = str.__str__(name)  # a member of an enumeration is one, too
        key = None if name is None else key_of(name)
        if name in self.sets or key in self._keys:
            raise InvalidParameterError(
                f"There is a campaign {name!r} already, and two would share its law and its money. "
                "Choose another name; or change its limits: "
                f"bidder.campaigns[{name!r}].change_limits(...)."
            )
        found = None
        if budget is not None or target is not None:
            from crossbandit.applications.bidding.spending import given_limits

            if limits := given_limits(owner, budget, target):
                found = self._make(limits, self)
                if claims:
                    found.claim(owner)
        # One step, which no interrupt can part; other threads go on with the former sets.
        keys = self._keys if key is None else {**self._keys, key: name}
        vars(self).update(sets={**self.sets, name: found}, _keys=keys)
        if name is None:
            self.only = found
        return found

    def claim(self) -> None:
        """Raise if another bidder has or had a lease of one of the sets."""
        for one in self.sets.values():
            if one is not None:
                one.claim(self._owner)

    @property
    def limited(self) -> bool:
        """Whether there are any limits."""
        return any(one is not None for one in self.sets.values())

    def of(self, labels: tuple[Label, ...]) -> Spending | None:
        """Return the set of an auction, by its classes; raise if there is no such campaign."""
        if self.place is None:
            return self.only
        name = self._known(labels[self.place])
        if name is None:
            known = ", ".join(map(repr, [*self.sets][:10])) or "none so far"
            expected = f"the name of a campaign of the bidder ({known}); add a new one first"
            reject("bid", CAMPAIGN, expected, labels[self.place], error=InvalidContextError)
        return self.sets[name]

    def paying(self, bid: Any) -> Spending | None:
        """Return the set that pays for a bid; None for a token, or if there is no such campaign."""
        return self.sets.get(self.name_of(bid))

    def name_of(self, bid: Any) -> str | None:
        """Return the name of the campaign of a bid; None if there is none, or if it is a token."""
        labels: Any = getattr(bid, "classes", ())
        if self.place is None or len(labels) <= self.place:
            return None
        return self._known(labels[self.place])

    def _known(self, label: Any) -> str | None:
        """Return the name of a campaign, from its name or what a token has in place of it."""
        return label if label in self.sets else self._keys.get(key_of(label))

    def latest(self) -> float:
        """Return the time of the latest auction of all sets; below 0 if there was none."""
        return max(one.pacer.periods.now for one in self.sets.values() if one is not None)

    def parts(
        self, labels: Sequence[tuple[Label, ...]], count: int
    ) -> list[tuple[Spending | None, Integers]]:
        """Return the sets of many auctions, each with its rows."""
        if self.place is None or not labels:
            return [(self.only, np.arange(count))]
        rows: dict[Any, list[int]] = {}
        for i, one in enumerate(labels):
            rows.setdefault(one[self.place] if one else None, []).append(i)
        return [(self.sets.get(self._known(name)), np.array(at)) for name, at in rows.items()]

    def settled_many(
        self, bids: Bids, shown: Sequence[Any], own: set[str] | None, only: int | None = None
    ) -> Sequence[Callable[[], Any]]:
        """Return the steps that account for many bids, under `lock`; see `Spending`.

        shown: for each bid, whether it won, and the number to reach. only: the row of one of them.
        """
        parts = self.parts(bids.classes, len(bids)) if only is None else [(self.only, [only])]
        found: list[Callable[[], Any]] = []
        for spending, rows in parts:
            if spending is not None:
                some = bids if len(rows) == len(bids) else bids.part(rows)
                won, least = (one[rows] for one in shown)
                found += spending.settled_many(some, won, least, own)
        return found

    def withdraw(self, taken: Sequence[Any]) -> None:
        """Count bids as lost whose caller did not get them, because of an exception."""
        for one in self.sets.values():
            if one is not None:
                one.withdraw(taken)

    # --- files and snapshots -------------------------------------------------------------------

    def settings(self, *, ended: bool = False) -> dict[str, Any]:
        """Return the limits as arguments of the bidder, in a form that `json` can write.

        ended: whether a lease that has ended takes the place of the budgets, as in a snapshot.
        """
        none: dict[str, Any] = dict.fromkeys(_LIMITS)
        found = {
            name: {} if one is None else one.settings(ended=ended)
            for name, one in self.sets.items()
        }
        if self.place is None:
            return {**none, **found[None], "campaigns": None}
        return {**none, "campaigns": found}

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return all that changes, by name."""
        return {
            f"{_prefix(name)}{array}": value
            for name, one in self.sets.items()
            if one is not None
            for array, value in one.state().items()
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned, of all campaigns that there are."""
        for name, one in self.sets.items():
            start = _prefix(name)
            given = {
                array.removeprefix(start): value
                for array, value in state.items()
                if array.rpartition(".")[0] + "." == start
            }
            if one is not None and given:
                one.restore(given)


def _prefix(campaign: str | None) -> str:
    """Return how the names of a campaign's arrays begin; they must be letters and digits."""
    return _STATE if campaign is None else f"{_STATE}{key_of(campaign):x}."


def belongs(name: str) -> bool:
    """Return whether a value of an application's state is one of its limits."""
    return name.startswith(_STATE)


def pays(decision: Any, own: set[str] | None) -> bool:
    """Return whether a bidder pays for a decision: not if a snapshot made it, which has a lease."""
    return decision is not None and (own is None or decision.decider in own)
