"""What a law is made of, how it is kept, merged and moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from crossbandit.errors import InvalidContextError
from crossbandit.kernels.binding import Bound
from crossbandit.kernels.compilation import MachineCode
from crossbandit.laws.grid import AmountGrid, ascending
from crossbandit.laws.levels import JOINT, Label, Levels
from crossbandit.laws.memory import (
    DEPTH,
    FEEDBACK,
    PAYOFFS,
    copied,
    empty_state,
    law_rules,
    scratch_for,
    state_from,
)
from crossbandit.laws.merging import add_counts, compute_all, move
from crossbandit.laws.uniforms import Uniforms
from crossbandit.streams import stream
from crossbandit.validation import choice, integer, number, reject

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from crossbandit.kernels.laws.state import LawRules, LawState, Scratch
    from crossbandit.streams import Seed
    from crossbandit.types import Floats, Integers


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
        cuts = _cuts(grid if payoff == "first-price" else np.zeros(0), low, high)
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

    def merge(self, other: Self) -> None:
        """Add what another law has learned: all counts add up exactly, node by node.

        Nodes of classes are those of the same label and the same band of contexts. A class counts
        by band once it has 512 rounds in one law, so the bands of a class that reaches 512 rounds
        only by merging begin with the next round. If there is no room for the bands of all
        classes, those with the most rounds are kept; and the classes themselves, if there are more
        than `class_limit`.

        Discounted counts are added as they stand now: the last round of each law counts as 1. The
        weights of the experts are multiplied, as likelihoods of different rounds are, and a share
        of 0.0001 is spread over all, as in a round. Laws are computed anew from the counts.

        Args:
            other: A law of the same form. It is not changed.

        Raises:
            InvalidParameterError: The other law has another grid, range, feedback or features.
        """
        if self._form() != other._form():
            reject("merge", "other", "a law of the same form; see `moved`", other)
        numbers = self._levels.merge(other._levels)
        add_counts(self._rules, self._state, other._state, numbers, self._features())

    def moved(self, amounts: npt.ArrayLike, context_range: tuple[float, float]) -> Self:
        """Return a law on another grid or range that has learned the same, as far as it can.

        Outcomes go to the nearest amount for which they still hold, bands of contexts to that of
        their middle. Classes keep what they have learned at all contexts together.

        Args:
            amounts: The new amounts.
            context_range: The new range of contexts.
        """
        made = type(self)(
            amounts,
            context_range,
            classes=self.classes,
            feedback=self.feedback,
            payoff=self.payoff,
            ties=self.ties,
            class_limit=self.class_limit,
            probing=self.probing,
        )
        made.take_counts(self)
        return made

    def take_counts(self, other: Self) -> None:
        """Replace what was learned by the counts of a law on another grid or range.

        Args:
            other: The law. It is not changed.
        """
        slots = self.class_limit if self.classes else 0
        self._use(empty_state(self._rules, slots))
        self._levels = other._levels.copy()
        move(other._rules, other._state, other.context_range, self._rules, self._state)
        compute_all(self._rules, self._state, self._features())

    def look_like(self, other: Self, seed: Seed | None) -> None:
        """Take over what another law of the same form needs to decide, and not what it counts.

        Args:
            other: The law. It is not changed.
            seed: The seed of the random numbers; None for new ones.
        """
        empty = np.zeros((0, self.amounts.size + 1))
        self._use(copied(other._state._replace(told=empty, hidden=empty)))
        self._levels = other._levels.copy()
        self.uniforms = Uniforms(np.random.default_rng() if seed is None else stream(seed, "law"))

    def settings(self) -> dict[str, Any]:
        """Return all that `restore` needs besides the arrays, in a form that JSON can hold."""
        return {**self.description(), "generator": self.uniforms.state}

    def description(self) -> dict[str, Any]:
        """Return `settings` but for the random numbers, which deciding changes."""
        return {
            "amounts": self.amounts.tolist(),
            "context_range": list(self.context_range),
            "classes": list(self.classes),
            "feedback": self.feedback,
            "payoff": self.payoff,
            "ties": self.ties,
            "class_limit": self.class_limit,
            "probing": self.probing,
            "levels": self._levels.entries(),
        }

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return copies of the arrays of the law, by name."""
        return copied(self._state)._asdict()

    @classmethod
    def restore(cls, settings: Mapping[str, Any], arrays: Mapping[str, npt.ArrayLike]) -> Self:
        """Return the law that `settings()` and `arrays()` were taken from.

        Args:
            settings: What `settings()` returned.
            arrays: What `arrays()` returned.

        Raises:
            CheckpointError: The arrays do not fit the settings or hold impossible numbers.
        """
        given = dict(settings)
        levels, generator = given.pop("levels"), given.pop("generator")
        low, high = given.pop("context_range")
        law = cls(given.pop("amounts"), (low, high), **given)
        law.resume(levels, generator, arrays)
        return law

    def resume(
        self,
        levels: Sequence[Sequence[Any]],
        generator: Mapping[str, Any],
        arrays: Mapping[str, npt.ArrayLike],
    ) -> None:
        """Take over what a law with the same settings has learned, and its random numbers.

        Args:
            levels: As in `settings()`.
            generator: As in `settings()`.
            arrays: What `arrays()` returned.

        Raises:
            CheckpointError: The arrays do not fit the settings or hold impossible numbers.
        """
        state = state_from(self._state, arrays)
        self._levels.restore(levels, np.where(state.roots < 0, 0.0, state.visits[state.roots]))
        self._use(state)
        self.uniforms.state = generator

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

    def _features(self) -> Integers:
        count = len(self.classes)
        found = [count if f == JOINT else f for f, *_ in self._levels.entries()]
        return np.array(found + [0] * (self.class_limit - len(found)), dtype=np.int64)

    def _form(self) -> tuple[object, ...]:
        return (
            self.amounts.tolist(),
            self.context_range,
            self.classes,
            self.feedback,
            self.payoff,
            self.ties,
            self.class_limit,
        )


def _cuts(amounts: Floats, low: float, high: float) -> Floats:
    """Return where the finest bands of contexts end.

    Bands are equally wide, or follow the amounts, if there are any: a grid that is finer where most
    values are makes bands that are finer there, too. Above the highest amount, the grid is
    continued with its last step.
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
