"""The base class of laws: its amounts, bands of contexts, classes, counts and random numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from crossbandit.errors import InvalidContextError, InvalidLossesError
from crossbandit.kernels.compilation import Bound, MachineCode
from crossbandit.kernels.laws.outcomes import shown
from crossbandit.laws.levels import Label, Levels
from crossbandit.laws.memory import (
    DEPTH,
    FEEDBACK,
    PAYOFFS,
    empty_state,
    law_rules,
    scratch_for,
)
from crossbandit.streams import stream
from crossbandit.validation import array, choice, integer, number, reject

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from crossbandit.kernels.laws.state import LawRules, LawState, Scratch
    from crossbandit.streams import Seed
    from crossbandit.types import Floats, Integers

# After which outcomes the number is told: True if the amount has reached it, False if not.
_TOLD = {"after-loss": (False,), "after-win": (True,), "always": (False, True), "won-lost": ()}
_BLOCK = 1024  # random numbers that are drawn at a time


class LawBase:
    """The settings and counts of a law. Subclasses learn and decide; see `OutcomeLaw`.

    Attributes:
        amounts: The amounts, ascending.
        feedback: What is shown after an amount was played, as in `OutcomeLaw`.
        ties: Whether an amount that equals the number reaches it: "win" or "lose".
        parts: The arguments of compiled steps: the rules, the state, and scratch arrays.
        uniforms: The random numbers of choices.
        code: The machine code of the steps.
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
        grid = _ascending(owner, amounts)
        low = number(owner, "context_range", context_range[0])
        high = number(owner, "context_range", context_range[1], above=low)
        self.context_range = (low, high)
        self.feedback = choice(owner, "feedback", feedback, FEEDBACK)
        self.payoff = choice(owner, "payoff", payoff, PAYOFFS)
        self.ties = choice(owner, "ties", ties, ("win", "lose"))
        self.amounts = grid.view()
        self.amounts.flags.writeable = False
        self._told: tuple[bool, ...] = _TOLD[feedback]
        self.class_limit = integer(owner, "class_limit", class_limit, at_least=1)
        self.probing = number(owner, "probing", probing, at_least=0, at_most=10)
        self._levels = Levels(owner, classes, self.class_limit)
        self._rules = law_rules(
            grid,
            _band_cuts(grid if payoff == "first-price" else np.zeros(0), low, high),
            feedback,
            payoff,
            len(self._levels.features),
            strict=ties == "lose",
            probing=self.probing,
        )
        self._scratch = scratch_for(self._rules)
        self._use(self._empty())
        self.uniforms = Uniforms(stream(seed, "law"))
        self.code = MachineCode()

    def _empty(self) -> LawState:
        """Return the state of a law that has seen nothing."""
        return empty_state(self._rules, self.class_limit if self.classes else 0)

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
        """Replace the arrays of the law. `parts` becomes a new object, so callers can notice it."""
        self._state = state
        self.parts: tuple[LawRules, LawState, Scratch] = (self._rules, state, self._scratch)
        self._bound = Bound(*self.parts)

    def cells(self, numbers: npt.ArrayLike) -> Integers:
        """Return the number of the lowest amount that reaches each number; K if none does.

        Args:
            numbers: Hidden numbers.
        """
        side: Any = "left" if self.ties == "win" else "right"
        found: Integers = np.searchsorted(self.amounts, np.asarray(numbers, dtype=float), side)
        return found

    def shown(
        self, amount: float, *, reached: bool, number: float | None = None
    ) -> tuple[int, int, int]:
        """Return what an outcome says on the grid of amounts.

        If an amount between two amounts of the grid has reached the number, the higher of the two
        reaches it as well. If it has not, the lower of the two does not reach it either.

        Args:
            amount: What was played, on the grid or not.
            reached: Whether it reached the number.
            number: The number, needed where the law's feedback shows it.

        Returns:
            Three numbers. The first is the kind of the outcome: 0 if the cell is known, 1 if an
            amount reaches the number, 2 if an amount does not reach it, -1 if nothing is known
            about any amount. The second is that cell or amount. The third is the number of the
            amount played, or -1 if it is not on the grid.

        Raises:
            InvalidLossesError: The number is missing or contradicts `reached`.
        """
        told = reached in self._told
        if told and (number is None or not math.isfinite(number)):
            reject("learn", "number", "a finite number", number, error=InvalidLossesError)
        if told and number is not None:
            reaches = amount >= number if self.ties == "win" else amount > number
            if reaches != reached:
                raise InvalidLossesError(
                    f"An amount of {amount:.15g} and a number of {number:.15g} contradict "
                    f"reached={reached}. Nothing was learned."
                )
        given = (float(amount), bool(reached), float(number) if told and number else 0.0)
        found: tuple[int, int, int] = self.code[shown](self._rules, *given)
        return found

    def bands(self, contexts: npt.ArrayLike) -> Integers:
        """Return the number of the finest band in which each context lies, from 0 to 255.

        Args:
            contexts: Contexts. One outside the range counts as the nearest end of the range.
        """
        found: Integers = np.searchsorted(
            self._rules.cuts, np.asarray(contexts, dtype=float), "right"
        )
        return found

    def slots(self, labels: tuple[Label, ...], *, new: bool = False) -> Integers:
        """Return the numbers of the classes of a round, -1 for those that have none.

        Args:
            labels: The classes, in the order of the law's features.
            new: Whether the round is learned from: then classes are given numbers.
        """
        return self._levels.slots(labels, new=new)

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
            used: Whether the law learns from the rounds. If not, classes are given numbers only
                while there is room.
        """
        return self._levels.table(columns, count, new=new, used=used)

    def matched(self, other: Self) -> Integers:
        """Return the number that each class of another law has in this law.

        A class without a number here is given one while there is room, and -1 otherwise. The order
        is that of the places of the other law.

        Args:
            other: A law with the same features.
        """
        return self._levels.matched(other._levels)

    def labels(self, owner: str, classes: Mapping[str, object]) -> tuple[Label, ...]:
        """Return the labels of a round in the order of the features.

        Args:
            owner: The method or class that an error names.
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


def _ascending(owner: str, amounts: npt.ArrayLike) -> Floats:
    """Return amounts as an array; they must be 2 or more, ascending."""
    expected = "at least 2 finite numbers, ascending"
    grid = array(owner, "amounts", expected, amounts)
    if grid.ndim != 1 or grid.size < 2 or not np.isfinite(grid).all() or (np.diff(grid) <= 0).any():
        reject(owner, "amounts", expected, amounts)
    return grid


def _band_cuts(amounts: Floats, low: float, high: float) -> Floats:
    """Return the upper ends of the 256 finest bands of contexts, except that of the highest band.

    If two or more amounts lie in the range of contexts, the bands follow them: where the amounts
    are closer together, the bands are narrower. Above the highest amount, the grid is continued
    with its last step. Otherwise all bands are equally wide.
    """
    equal = np.linspace(low, high, (1 << DEPTH) + 1)
    inside = amounts[(amounts > low) & (amounts < high)]
    if inside.size < 2:
        return equal[1:-1]
    step = max(inside[-1] - inside[-2], (high - inside[-1]) / equal.size)
    more = np.arange(inside[-1] + step, high - 1e-6 * step, step)
    edges = np.concatenate([[low], inside, more, [high]])
    shares = np.linspace(0, 1, edges.size)
    cuts: Floats = np.interp(np.linspace(0, 1, equal.size), shares, edges)
    # Rounding must not move the cuts of evenly spaced amounts.
    return np.where(np.isclose(cuts, equal, rtol=0, atol=1e-9 * (high - low)), equal, cuts)[1:-1]


class Uniforms:
    """Random numbers from [0, 1), drawn in blocks: taking a few is faster than calling a generator.

    Args:
        generator: The generator. Nothing else may draw from it.

    >>> uniforms = Uniforms(np.random.default_rng(7))
    >>> [*uniforms.take(2), *uniforms.take(1)] == np.random.default_rng(7).random(3).tolist()
    True
    """

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator
        self._begin()

    def _begin(self) -> None:
        self._before = self._generator.bit_generator.state  # when the block was drawn
        self._block: Floats = np.zeros(0)
        self._used = 0

    def take(self, count: int) -> Floats:
        """Return the next numbers. The caller must not change the array.

        Args:
            count: How many.
        """
        start = self._used
        stop = start + count
        if stop <= self._block.size:
            self._used = stop
            return self._block[start:stop]
        self._rewind()
        if count > _BLOCK:
            return self._generator.random(count)
        self._before = self._generator.bit_generator.state
        self._block = self._generator.random(_BLOCK)
        self._used = count
        return self._block[:count]

    @property
    def state(self) -> dict[str, Any]:
        """The state of the generator after the numbers that were taken; may be set."""
        self._rewind()
        found: Any = self._generator.bit_generator.state
        return dict(found)

    @state.setter
    def state(self, state: Any) -> None:
        self._generator.bit_generator.state = state
        self._begin()

    def _rewind(self) -> None:
        """Set the generator to its state after the numbers that were taken."""
        if self._block.size:
            self._generator.bit_generator.state = self._before
            self._generator.random(self._used)
        self._begin()
