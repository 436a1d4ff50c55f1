"""Show what a bidder would bid now and what it has learned, as data and as a figure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from crossbandit.applications.hidden_number import HiddenNumberApplication
from crossbandit.applications.money import amount_of
from crossbandit.errors import InvalidContextError, InvalidParameterError
from crossbandit.extras import require
from crossbandit.files import replacing
from crossbandit.learners.law_learner import Round
from crossbandit.notebook import GRAY, Line, card, chart, counted, new_axes
from crossbandit.validation import as_array, reject

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from decimal import Decimal

    import numpy.typing as npt
    from matplotlib.axes import Axes

    from crossbandit.applications.bidding.spending import Spending, Time
    from crossbandit.applications.money import Money
    from crossbandit.laws import LawView
    from crossbandit.laws.levels import Label
    from crossbandit.limits import Lease, LimitStatus
    from crossbandit.rules import AuctionRules
    from crossbandit.streams import Seed
    from crossbandit.types import Floats, Integers


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
        if not state:
            return
        from crossbandit.applications.bidding.spending import belongs

        if not all(belongs(name) for name in state):
            super().restore(state)
        if self._spending is not None:  # otherwise limits were added or removed
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
    def spending(self) -> Spending | None:
        """What keeps its budgets and targets; None if there are none."""
        return self._spending

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


# --- what a bidder would bid, and has learned ----------------------------------------------------


_CURVE_POINTS = 101
_PICTURE_POINTS = 41
_LOW, _HIGH = 0.1, 0.9
_INK, _COLOR = "#767676", "#0072B2"


@dataclass(frozen=True, eq=False)
class ShadingCurve:
    """What a bidder would bid now at each of several values.

    A bidder draws its bids at random. Where `low` and `high` are far apart, it is not sure yet. The
    bids are NaN at values at which no bid may be made.

    Attributes:
        values: The values.
        bids: The median bid at each value.
        low: The bid below which one bid in ten lies.
        high: The bid above which one bid in ten lies.
    """

    values: Floats
    bids: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, values: Floats, amounts: Floats, policies: Floats) -> ShadingCurve:
        """Return the curve of given distributions.

        Args:
            values: (values,).
            amounts: (bids,), ascending.
            policies: (values, bids), the probability of each bid at each value.
        """
        cumulative = np.cumsum(policies, axis=1)
        silent = np.isnan(policies).any(axis=1)
        low, middle, high = (
            np.where(silent, np.nan, amounts[_position(cumulative, share)])
            for share in (_LOW, 0.5, _HIGH)
        )
        return cls(values, middle, low, high)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curve with its uncertainty, and a line for bidding the whole value.

        Args:
            ax: The axes to draw on; by default those of a new figure.

        Returns:
            The axes.

        Raises:
            MissingPackageError: Matplotlib is not installed.
        """
        if ax is None:
            ax = new_axes("ShadingCurve.plot")
        ax.plot(self.values, self.values, color=_INK, linewidth=1, linestyle="--", label="value")
        ax.fill_between(
            self.values,
            self.low,
            self.high,
            step="mid",
            color=_COLOR,
            alpha=0.2,
            linewidth=0,
            label="eight bids of ten",
        )
        ax.step(self.values, self.bids, where="mid", color=_COLOR, label="median bid")
        ax.set_xlabel("value")
        ax.set_ylabel("bid")
        ax.legend(frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
        return ax

    def picture(self) -> str:
        """Return the curve as a small SVG picture, for notebooks."""
        return chart(
            [
                Line("value", self.values, self.values, GRAY, dashed=True),
                Line("one bid in ten is lower", self.values, self.low, GRAY),
                Line("one bid in ten is higher", self.values, self.high, GRAY),
                Line("median bid", self.values, self.bids),
            ],
            x="value",
            y="bid",
        )

    def _repr_html_(self) -> str:
        facts = [(counted(self.values.size, "value"), "the gray lines hold eight bids of ten")]
        return card("ShadingCurve", facts, self.picture())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the figure to a file, atomically.

        Args:
            path: The file. Its suffix, such as ".svg" or ".png", sets the format.

        Raises:
            MissingPackageError: Matplotlib is not installed.
            OSError: The file cannot be written.
        """
        require("matplotlib", extra="notebook", owner="ShadingCurve.save")
        from pathlib import Path

        from matplotlib.figure import Figure

        figure = Figure(figsize=(5.2, 3.6), layout="constrained")
        self.plot(figure.add_subplot())
        dates = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}  # same file for a curve
        suffix = Path(path).suffix.lower()
        with replacing(path) as temporary:
            figure.savefig(
                temporary, dpi=150, format=suffix[1:] or "png", metadata=dates.get(suffix)
            )


class AuctionViews(LimitedApplication):
    """The part of a bidder that shows what it would do now, and what it has learned."""

    _grid: list[float]  # the amounts that may be bid, ascending

    def policy(
        self, value: Money, *, reserve: Money | None = None, at: Time = None, **classes: Label
    ) -> Floats:
        """Return the probability with which each bid would be made now.

        Under the law, the random numbers of a bid are integrated over a fixed grid of quantiles:
        the answer is deterministic, with an error of at most 1/64.

        Args:
            value: What winning is worth.
            reserve: The reserve price of the auction, if it is known.
            at: As for `bid`, but by default the time of the latest auction.
            **classes: As for `bid`.

        Returns:
            A probability for each of `bids`; all 0 if no bid may be made. That of an amount of 0 is
            the probability of not bidding.

        Raises:
            InvalidContextError: As for `bid`.
        """
        return self._policy("policy", value, reserve, self._labels("policy", classes), at)

    def price_law(self, value: float, **classes: Label) -> LawView:
        """Return the law of the highest competing bid at a value, with its uncertainty.

        Args:
            value: What winning is worth.
            **classes: As for `bid`.

        Returns:
            The probability of winning with each bid, and how much of it comes from all auctions
            and how much from those like this one. `print` shows it in words, `plot` draws it.

        Raises:
            InvalidContextError: As for `bid`.
            InvalidParameterError: This bidder does not learn by the law.
        """
        worth = self._auction("price_law", value, None)[0]
        return self._view("price_law", worth, classes)

    def shading_curve(
        self,
        values: npt.ArrayLike | None = None,
        *,
        reserve: float | None = None,
        **classes: Label,
    ) -> ShadingCurve:
        """Return what would be bid now at each of several values.

        Args:
            values: The values; by default 101 of them, evenly spread over the range.
            reserve: The reserve price of the auctions, if it is known.
            **classes: As for `bid`.

        Returns:
            The curve. It is NaN where no bid may be made.

        Raises:
            InvalidContextError: As for `bid`.
        """
        if values is None:
            values = np.linspace(*self.value_range, _CURVE_POINTS)
        expected = "values in the bidder's range"
        given = as_array("shading_curve", "values", expected, values, error=InvalidContextError)
        worths = np.atleast_1d(given)
        policies = np.empty((worths.size, self.rules.arms))
        labels = self._labels("shading_curve", classes)
        for i, value in enumerate(worths):
            policies[i] = self._policy("shading_curve", value, reserve, labels)
        policies[~policies.any(axis=1)] = np.nan
        return ShadingCurve.of(worths.astype(np.float64), self.rules.amounts, policies)

    def picture(self) -> str:
        if self.classes:
            return ""
        return self.shading_curve(np.linspace(*self.value_range, _PICTURE_POINTS)).picture()

    def _auction(
        self, owner: str, value: object, reserve: object
    ) -> tuple[float, float | None, int, int]:
        """Return the value and the reserve price, and the lowest and the highest possible bid."""
        low, high = self.value_range
        worth = amount_of(
            owner, "value", value, at_least=low, at_most=high, error=InvalidContextError
        )
        grid = self._grid
        last = (bisect_right(grid, worth) if self.rules.at_most_value else len(grid)) - 1
        if reserve is None:
            return worth, None, 0, last
        least = self.rules.reserve
        floor = amount_of(owner, "reserve", reserve, at_least=least, error=InvalidContextError)
        return worth, floor, bisect_left(grid, floor), last

    def _policy(
        self,
        owner: str,
        value: object,
        reserve: object,
        labels: tuple[Label, ...],
        at: Time = None,
    ) -> Floats:
        worth, _, first, last = self._auction(owner, value, reserve)
        if first > last:
            return np.zeros(self.rules.arms)
        if self._spending is not None:
            opened = self._spending.look(worth, first, last, at)
            return self._limited_policy(opened, worth, labels, first)
        given = Round(worth, worth, 0.0, labels)
        return self._probabilities(self.rules.contexts(worth), given, first, last)

    def _limited_policy(
        self, opened: tuple[float, int, int], value: float, labels: tuple[Label, ...], first: int
    ) -> Floats:
        """Return the probabilities at the pseudo-value; bids that may not be made are lowered."""
        worth, usable, cap = opened
        if cap < 0:
            return np.zeros(self.rules.arms)
        features = self.rules.contexts(min(worth, self.value_range[1]))
        last = cap if self.learner.law is None else usable
        cost = 0.0 if self._spending is None else self._spending.pacer.cost_of_holding
        given = Round(value, worth, cost, labels)
        chances = self._probabilities(features, given, first, last)
        chances[cap] += chances[cap + 1 :].sum()
        chances[cap + 1 :] = 0.0
        return chances


def _position(cumulative: Floats, share: float) -> Integers:
    """Return where each row (values, bids) first reaches `share`, up to rounding."""
    reached = (cumulative < share - 1e-12).sum(axis=1)
    last: Integers = np.minimum(reached, cumulative.shape[1] - 1)
    return last
