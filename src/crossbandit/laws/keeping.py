"""Replace what a law has learned: by the counts of another law, by a copy, or by a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.laws.memory import copied, empty_state, state_from
from crossbandit.laws.merging import compute_all, move
from crossbandit.streams import Uniforms, stream

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from crossbandit.laws.outcome_law import OutcomeLaw
    from crossbandit.streams import Seed


def take_counts(law: OutcomeLaw, other: OutcomeLaw) -> None:
    """Replace what a law has learned by the counts of a law on another grid or range.

    Args:
        law: The law that is changed.
        other: The other law.
    """
    rules, levels = law.parts[0], other.levels.copy()
    law.use(empty_state(rules, law.class_limit), levels)
    move(other.parts[0], other.state, other.context_range, rules, law.state)
    compute_all(rules, law.state, levels.features_of_places)


def look_like(law: OutcomeLaw, other: OutcomeLaw, seed: Seed | None) -> None:
    """Take what another law of the same form needs in order to decide, but not its counts.

    Args:
        law: The law that is changed.
        other: The other law.
        seed: The seed of the random numbers; None for new ones.
    """
    empty = np.zeros((0, law.amounts.size + 1))
    law.use(copied(other.state._replace(told=empty, hidden=empty)), other.levels.copy())
    law.uniforms = Uniforms(np.random.default_rng() if seed is None else stream(seed, "law"))


def resume(
    law: OutcomeLaw,
    levels: Sequence[Sequence[Any]],
    generator: Mapping[str, Any],
    arrays: Mapping[str, npt.ArrayLike],
) -> None:
    """Replace what a law has learned, and its random numbers, by those of one of the same settings.

    Args:
        law: The law that is changed.
        levels: As in `OutcomeLaw.settings()`.
        generator: As in `OutcomeLaw.settings()`.
        arrays: What `OutcomeLaw.arrays()` returned.

    Raises:
        CheckpointError: The arrays do not fit the settings or hold impossible numbers.
        InvalidParameterError: The levels do not fit the settings.
    """
    state = state_from(law.state, arrays)
    law.levels.restore(levels)
    law.use(state, law.levels)
    law.uniforms.state = generator
