"""What a law is made of: its grid, its levels, its state, and how outcomes are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from crossbandit.errors import InvalidContextError
from crossbandit.kernels.compilation import Bound, MachineCode
from crossbandit.laws.grid import AmountGrid, ascending, band_cuts
from crossbandit.laws.levels import Label, Levels
from crossbandit.laws.memory import (
    DEPTH,
    FEEDBACK,
    PAYOFFS,
    empty_state,
    law_rules,
    scratch_for,
)
from crossbandit.laws.uniforms import Uniforms
from crossbandit.streams import stream
from crossbandit.validation import choice, integer, number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from crossbandit.kernels.laws.state import LawRules, LawState, Scratch
    from crossbandit.streams import Seed
    from crossbandit.types import Integers


class LawBase(AmountGrid):
    """The settings and counts of a law, without what is done with them; see `OutcomeLaw`.

    Attributes:
        parts: What compiled steps take: what does not change, what does, and room to compute in.
    """

    def __init__(
        self,
        amounts: npt.ArrayLike,
        context_range: tuple[float, float],
        *,
        classes: Sequence[str] = (),
        feedback: str = "after-loss",
        payoff: str = "first-price",
        ties: str = "win",
        class_limit: int = 4096,
        probing: float = 1.0,
        seed: Seed = 0,
    ) -> None:
        owner = type(self).__name__
        grid = ascending(owner, amounts)
        low = number(owner, "context_range", context_range[0])
        high = number(owner, "context_range", context_range[1], above=low)
        self.context_range = (low, high)
        self.feedback = choice(owner, "feedback", feedback, FEEDBACK)
        self.payoff = choice(owner, "payoff", payoff, PAYOFFS)
        self.ties = choice(owner, "ties", ties, ("win", "lose"))
        self._start_grid(grid)
        self.class_limit = integer(owner, "class_limit", class_limit, at_least=1)
        self.probing = number(owner, "probing", probing, at_least=0, at_most=10)
        self._levels = Levels(owner, classes, self.class_limit)
        cuts = band_cuts(grid if payoff == "first-price" else np.zeros(0), low, high, DEPTH)
        self._rules = law_rules(
            grid,
            cuts,
            feedback,
            payoff,
            len(self._levels.features),
            strict=ties == "lose",
            probing=self.probing,
        )
        slots = self.class_limit if classes else 0
        state = empty_state(self._rules, slots)
        self._scratch = scratch_for(self._rules, state.weights.size)
        self._use(state)
        self.uniforms = Uniforms(stream(seed, "law"))
        self.code = MachineCode()

    @property
    def rounds(self) -> int:
        """How many outcomes were learned from."""
        return int(self._state.rounds[0])

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the features."""
        return self._levels.features

    @property
    def state(self) -> LawState:
        """The arrays of the law; they change as it learns."""
        return self._state

    def _use(self, state: LawState) -> None:
        """Go on with other arrays. `parts` then is another object, which callers may notice."""
        self._state = state
        self.parts: tuple[LawRules, LawState, Scratch] = (self._rules, state, self._scratch)
        self._bound = Bound(*self.parts)

    def slots(self, labels: tuple[Label, ...], *, new: bool = False) -> Integers:
        """Return the numbers of the classes of a round, -1 for those that have none.

        Args:
            labels: The classes, in the order of the law's features.
            new: Whether the round is learned from: then classes are given numbers.
        """
        return self._levels.slots(labels, new=new)

    def bands(self, contexts: npt.ArrayLike) -> Integers:
        """Return the number of the finest band that each context lies in, from 0 to 255.

        Args:
            contexts: Contexts; those outside the range count as its ends.
        """
        found: Integers = np.searchsorted(
            self._rules.cuts, np.asarray(contexts, dtype=float), "right"
        )
        return found

    def slot_table(
        self,
        columns: Mapping[str, npt.ArrayLike],
        count: int,
        *,
        new: bool = True,
        used: bool = True,
    ) -> Integers:
        """Return the numbers of the classes of many rounds, -1 for those that have none.

        Args:
            columns: A column of labels for every feature.
            count: The number of rounds.
            new: Whether to give numbers to those that have none.
            used: Whether the rounds are learned from by the law. If not, classes are given numbers
                only while there is room.
        """
        return self._levels.table(columns, count, new=new, used=used)

    def matched(self, other: Self) -> Integers:
        """Return the number of the same class here, for each class of another law, by place.

        Classes that have none are given one, while there is room; else it is -1.

        Args:
            other: A law with the same features.
        """
        return self._levels.matched(other._levels)

    def labels(self, owner: str, classes: Mapping[str, object]) -> tuple[Label, ...]:
        """Return the labels of a round in the order of the features.

        Args:
            owner: Whom an error names.
            classes: A label for every feature.

        Raises:
            InvalidContextError: A feature is missing or unknown, or a label is no text or integer.
        """
        return self._levels.labels(owner, classes)

    def _at(
        self, owner: str, context: object, classes: Mapping[str, object]
    ) -> tuple[float, tuple[Label, ...]]:
        at = number(owner, "context", context, error=InvalidContextError)
        low, high = self.context_range
        return min(max(at, low), high), self._levels.labels(owner, classes)
