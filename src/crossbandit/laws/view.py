"""`LawView`: the law at one context, to be printed and plotted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.core.notebook import GRAY, Line, card, chart, counted, new_axes
from crossbandit.laws.rounds import chances_of, context_of
from crossbandit.laws.state import WON_LOST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crossbandit.core.types import Floats
    from crossbandit.laws.levels import Label
    from crossbandit.laws.outcome_law import OutcomeLaw
    from crossbandit.laws.state import LawRules, LawState


@dataclass(frozen=True, eq=False)
class LawView:
    """The law of the number at a context and its classes, and the data behind it.

    `pool`, `own` and `own_share` are computed from counts. A snapshot of an application does not
    have these counts, so these three are NaN there.

    Attributes:
        amounts: The amounts, ascending.
        chances: The probability that each amount reaches the number.
        errors: About one standard error of each chance.
        pool: The chances estimated from all rounds together.
        own: The chances estimated only from the rounds of its band of contexts.
        own_rounds: How many rounds `own` is estimated from.
        own_share: Where the law lies between `pool` (0) and `own` (1).
        classes_weight: The weight of the laws that use features, from 0 to 1.
        recent_weight: The weight of the laws that discount the past, from 0 to 1.
    """

    amounts: Floats
    chances: Floats
    errors: Floats
    pool: Floats
    own: Floats
    own_rounds: float
    own_share: float
    classes_weight: float
    recent_weight: float

    def quantile(self, probability: float) -> float:
        """Return the lowest amount that reaches the number with at least this probability.

        Infinite if no amount does.

        Args:
            probability: From 0 to 1.
        """
        reached = np.flatnonzero(self.chances >= probability)
        return float(self.amounts[reached[0]]) if reached.size else float("inf")

    def __str__(self) -> str:
        half = f"Half of the numbers are at most {self.quantile(0.5):.4g}."
        if np.isnan(self.own_share):
            return half
        share = round(100 * self.own_share)
        return (
            f"{100 - share} % of this law comes from all rounds, {share} % from its own "
            f"{self.own_rounds:,.0f} rounds. {half}"
        )

    def picture(self) -> str:
        """Return the chances as a small SVG picture, for notebooks."""
        return chart(
            [
                Line("all rounds", self.amounts, self.pool, GRAY, dashed=True),
                Line("here", self.amounts, self.chances),
            ],
            x="amount",
            y="probability that it reaches the number",
        )

    def _repr_html_(self) -> str:
        facts = [
            (f"median {self.quantile(0.5):.4g}", "half of the numbers are at most this"),
            (f"{self.own_share:.0%} of its own", str(self)),
        ]
        return card("LawView", facts, self.picture())

    def plot(self, axes: Any = None) -> Any:
        """Draw the chances, their errors and the pool's, on Matplotlib axes, and return them.

        Args:
            axes: Where to draw; by default on a new figure.

        Returns:
            The axes.

        Raises:
            MissingPackageError: Matplotlib is not installed.
        """
        if axes is None:
            axes = new_axes("LawView.plot")
        low = np.clip(self.chances - 2 * self.errors, 0, 1)
        high = np.clip(self.chances + 2 * self.errors, 0, 1)
        axes.fill_between(self.amounts, low, high, alpha=0.25, step="post", linewidth=0)
        axes.step(self.amounts, self.chances, where="post", label="here")
        axes.step(self.amounts, self.pool, where="post", linestyle="--", label="all rounds")
        axes.set_xlabel("amount")
        axes.set_ylabel("probability that it reaches the number")
        axes.legend()
        return axes


def view_of(
    law: OutcomeLaw, context: float, classes: Mapping[str, Label], *, counts: bool = True
) -> LawView:
    """Return the law at a context, as `OutcomeLaw.law` does."""
    rules, state, scratch = law.parts
    law.core.read(*context_of(law, "law", context, classes))
    chances = chances_of(law)
    spread = np.sqrt(scratch.spreads)
    if rules.mirrored:
        spread = spread[::-1]
    if rules.feedback == WON_LOST:
        errors = spread * chances * (1 - chances)
    else:
        errors = spread * (1 - chances if rules.mirrored else chances)
    nearest = int(scratch.rows[0, 0])
    own = pool = np.full_like(chances, np.nan)
    if counts:
        own, pool = alone(rules, state, nearest), alone(rules, state, 0)
    return LawView(
        amounts=law.amounts_at(context),
        chances=chances,
        errors=np.minimum(errors, 0.5),
        pool=pool,
        own=own,
        own_rounds=float(state.visits[nearest]),
        own_share=share_of(chances, pool, own) if counts else np.nan,
        classes_weight=float(state.stages[1:].sum()) if law.classes else 0.0,
        recent_weight=float(1 - state.weights[0]),
    )


def law_card(law: OutcomeLaw) -> str:
    """Return what a notebook shows of a law, as HTML."""
    low, high = law.context_range
    facts = [
        (counted(law.rounds, "round"), "how many outcomes were learned from"),
        (counted(law.amounts.size, "amount"), "from which one is chosen in each round"),
        (
            "any context" if law.lays else f"contexts from {low:g} to {high:g}",
            "on which the number may depend",
        ),
        (law.feedback, "what is told after a round"),
        *((f"by {name}", "a class on which the number may depend") for name in law.classes),
    ]
    return card("OutcomeLaw", facts, law_picture(law))


def law_picture(law: OutcomeLaw) -> str:
    """Return the law at the middle context as a small SVG picture; empty if it has classes."""
    return "" if law.classes or law.lays else law.law(sum(law.context_range) / 2).picture()


def share_of(law: Floats, pool: Floats, own: Floats) -> float:
    """Return where a law lies between `pool` (0) and `own` (1)."""
    way = own - pool
    length = float(way @ way)
    if length <= 1e-12:
        return 0.0
    return float(np.clip((law - pool) @ way / length, 0.0, 1.0))


def in_order(rules: LawRules, chances: Floats) -> Floats:
    """Return chances in the order of the amounts."""
    turned: Floats = 1 - chances[::-1] if rules.mirrored else chances.copy()
    return turned


def alone(rules: LawRules, state: LawState, row: int) -> Floats:
    """Return the chances from one node's counts, plus a flat law that counts as one round."""
    told, hidden = state.told[row], state.hidden[row]
    size = rules.amounts.size
    if rules.feedback == WON_LOST:
        flat = np.arange(1, size + 1) / (size + 1)
        rates = (told[:size] + flat) / (told[:size] + hidden[:size] + 1)
        chances: Floats = np.maximum.accumulate(rates)
        return chances
    below = np.cumsum(told) + np.concatenate([[0.0], np.cumsum(hidden)[:-1]])
    hazards = (told + 1 / np.arange(1, size + 2)) / (below + 1)
    return in_order(rules, np.cumprod(1 - hazards[:0:-1])[::-1])
