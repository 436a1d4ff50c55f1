"""Save a law, merge it with another, and move it to another grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from crossbandit.laws.base import LawBase, Uniforms
from crossbandit.laws.levels import JOINT
from crossbandit.laws.memory import copied, state_from
from crossbandit.laws.merging import add_counts, compute_all, move
from crossbandit.streams import stream
from crossbandit.validation import reject

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from crossbandit.streams import Seed
    from crossbandit.types import Integers


class KeptLaw(LawBase):
    """A law that can be saved, merged with another, and moved; see `OutcomeLaw`."""

    def merge(self, other: Self) -> None:
        """Add what another law has learned: the counts of each node are added exactly.

        Nodes of classes are added if they have the same label and the same band of contexts. A
        class is counted by band once it has 512 rounds in one law. If it reaches 512 rounds only by
        merging, its bands begin with the next round. If there is no room for the bands of all
        classes, those with the most rounds are kept. If there are more classes than `class_limit`,
        those that were used most are kept.

        Discounted counts are added with their present values: the last round of each law counts as
        1. The weights of the experts are multiplied, because the likelihoods of different rounds
        are. Then a share of 0.0001 is spread over all experts, as after a round. Finally, all laws
        are computed from the new counts.

        Args:
            other: A law of the same form. It is not changed.

        Raises:
            InvalidParameterError: The other law has another grid, range, feedback or features.
        """
        if self._form() != other._form():
            reject("merge", "other", "a law of the same form; see `moved`", other)
        parts = ((self._state, self._levels.numbers), (other._state, other._levels.numbers))
        numbers = self._levels.merge(other._levels)
        # A place may already have a new level, while its counts are those of the level before.
        mine, theirs = (
            np.where(state.owners[: before.size] == before, after, -1)
            for (state, before), after in zip(parts, numbers, strict=True)
        )
        add_counts(self._rules, self._state, other._state, (mine, theirs), self._features())

    def moved(self, amounts: npt.ArrayLike, context_range: tuple[float, float]) -> Self:
        """Return a law on another grid or range that has learned the same, as far as it can.

        An outcome goes to the nearest new amount for which it still holds. A band of contexts goes
        to the new band that has its middle. A class keeps its counts over all contexts, but not
        those by band.

        Args:
            amounts: The new amounts.
            context_range: The new range of contexts.
        """
        grid = {"amounts": amounts, "context_range": context_range}
        made = type(self)(**{**self._form(), **grid}, probing=self.probing)
        made.take_counts(self)
        return made

    def take_counts(self, other: Self) -> None:
        """Replace what was learned by the counts of a law on another grid or range.

        Args:
            other: The law. It is not changed.
        """
        self._use(self._empty())
        self._levels = other._levels.copy()
        move(other._rules, other._state, other.context_range, self._rules, self._state)
        compute_all(self._rules, self._state, self._features())

    def look_like(self, other: Self, seed: Seed | None) -> None:
        """Take what another law of the same form needs in order to decide, but not its counts.

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
        """Return `settings` without the random numbers, which change with each decision."""
        return {**self._form(), "probing": self.probing, "levels": self._levels.entries()}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return copies of the arrays of the law, by name."""
        return copied(self._state)._asdict()

    @classmethod
    def restore(cls, settings: Mapping[str, Any], arrays: Mapping[str, npt.ArrayLike]) -> Self:
        """Return the law whose `settings()` and `arrays()` are given.

        Args:
            settings: What `settings()` returned.
            arrays: What `arrays()` returned.

        Raises:
            CheckpointError: The arrays do not fit the settings or hold impossible numbers.
        """
        given = dict(settings)
        levels, generator = given.pop("levels"), given.pop("generator")
        law = cls(**given)
        law.resume(levels, generator, arrays)
        return law

    def resume(
        self,
        levels: Sequence[Sequence[Any]],
        generator: Mapping[str, Any],
        arrays: Mapping[str, npt.ArrayLike],
    ) -> None:
        """Replace what was learned, and the random numbers, by those of a law of the same settings.

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

    def _features(self) -> Integers:
        count = len(self.classes)
        found = [count if f == JOINT else f for f, *_ in self._levels.entries()]
        return np.array(found + [0] * (self.class_limit - len(found)), dtype=np.int64)

    def _form(self) -> dict[str, Any]:
        """Return what two laws must have in common to be merged."""
        return {
            "amounts": self.amounts.tolist(),
            "context_range": list(self.context_range),
            "classes": list(self.classes),
            "feedback": self.feedback,
            "payoff": self.payoff,
            "ties": self.ties,
            "class_limit": self.class_limit,
        }
