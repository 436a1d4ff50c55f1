"""The part of a bidder that saves, restores and shows its budgets and targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from crossbandit.applications.bidding.spending import Spending, belongs
from crossbandit.applications.hidden_number import HiddenNumberApplication
from crossbandit.errors import InvalidParameterError
from crossbandit.validation import reject

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal

    from crossbandit.environments.auctions import AuctionRules
    from crossbandit.limits import Lease, LimitStatus
    from crossbandit.streams import Seed


class LimitedApplication(HiddenNumberApplication):
    """The part of a bidder that keeps its budgets and targets.

    A subclass sets `rules`, `value_range` and `_spending`, which is None if there are no limits.
    """

    rules: AuctionRules
    value_range: tuple[float, float]
    _spending: Spending | None

    def state(self) -> dict[str, Any]:
        return {} if self._spending is None else dict(self._spending.state())

    def restore(self, state: Mapping[str, Any]) -> None:
        if not all(belongs(name) for name in state):
            super().restore(state)
        if self._spending is not None and state:  # otherwise limits were added or removed
            self._spending.restore(state)

    def snapshot(self, seed: Seed | None = None) -> Self:
        """Return a copy that only decides; see `Application.snapshot`.

        Args:
            seed: The seed of its random choices. If None, they differ from those of all others.

        Raises:
            InvalidParameterError: The bidder has limits, which a copy could not keep.
        """
        if self._spending is not None:
            raise InvalidParameterError(
                "A bidder with limits has no snapshots: they could not know what it has spent. "
                "Give each process a bidder of its own with a Lease of a SharedBudget."
            )
        return super().snapshot(seed)

    @property
    def limits(self) -> tuple[LimitStatus, ...]:
        """The state of budgets and targets: spent, reserved, left, planned, slack, multiplier."""
        return () if self._spending is None else self._spending.status()

    def renew(self, lease: Lease | None = None) -> tuple[str, Decimal]:
        """End the lease that the bidder has as its budget, and continue with another one.

        Args:
            lease: The new lease; None to stop bidding.

        Returns:
            The id of the old lease, and the money that was spent of it or is reserved for bids that
            may still win. `SharedBudget.take_back` takes both.

        Raises:
            InvalidParameterError: The bidder has no lease.
        """
        if self._spending is None:
            reject("renew", "lease", "for a bidder with a Lease as its budget", lease)
        return self._spending.renew(lease)
