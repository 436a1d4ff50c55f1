"""The columns of a log, checked and in the form that compiled steps need."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.kernels.laws.state import ABOVE, AT_MOST, TOLD
from crossbandit.validation import array, reject

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.laws.keeping import KeptLaw
    from crossbandit.laws.uniforms import Uniforms
    from crossbandit.types import Floats, Integers


class LogRounds(NamedTuple):
    """n rounds of a log; all (n,) but the slots, (n, width)."""

    contexts: Floats
    worths: Floats
    costs: Floats
    firsts: Integers
    lasts: Integers
    cells: Integers
    slots: Integers

    def part(self, start: int, stop: int) -> LogRounds:
        """Return the rounds from `start` to before `stop`."""
        return LogRounds._make(column[start:stop] for column in self)

    def uniforms(self, source: Uniforms, each: int) -> Floats:
        """Draw `each` random numbers for every round in which there is something to choose."""
        drawn = np.zeros((self.contexts.size, each))
        active = self.firsts <= self.lasts
        drawn[active] = source.take(each * int(active.sum())).reshape(-1, each)
        return drawn


def prepared(
    law: KeptLaw,
    contexts: npt.ArrayLike,
    numbers: npt.ArrayLike,
    worths: npt.ArrayLike | None = None,
    costs: npt.ArrayLike | float = 0.0,
    firsts: npt.ArrayLike | None = None,
    lasts: npt.ArrayLike | None = None,
    classes: Mapping[str, npt.ArrayLike] | None = None,
    cells: npt.ArrayLike | None = None,
) -> LogRounds:
    """Return the rounds of a log; see `OutcomeLaw.play` for what they mean."""
    values = _column("contexts", contexts)
    count, size = values.size, law.amounts.size
    worth = values if worths is None else _column("worths", worths, count)
    paid = np.broadcast_to(_column("costs", costs), (count,)).copy()
    if cells is None:
        cells = law.cells(_column("numbers", numbers, count))
    low = _indices("firsts", np.zeros(count) if firsts is None else firsts, count, 0, size)
    if lasts is None:
        lasts = np.full(count, size - 1)
        if law.payoff == "first-price":
            lasts = np.maximum(np.searchsorted(law.amounts, worth, "right") - 1, 0)
    high = _indices("lasts", lasts, count, -1, size - 1)
    active, columns = low <= high, {name: np.asarray(one) for name, one in (classes or {}).items()}
    slots = law.slot_table(columns, count, new=False)
    if active.all():
        slots = law.slot_table(columns, count)
    else:
        some = {name: one[active] for name, one in columns.items()}
        slots[active] = law.slot_table(some, int(active.sum()))
    return LogRounds(
        contexts=np.clip(values, *law.context_range),
        worths=worth,
        costs=paid,
        firsts=low,
        lasts=high,
        cells=_indices("cells", cells, count, 0, size),
        slots=slots,
    )


def shown_to(
    law: KeptLaw, cells: Integers, played: npt.ArrayLike | None
) -> tuple[Integers, Integers, Integers]:
    """Return what amounts have shown: kinds of outcomes, what they are about, and the amounts."""
    count = cells.size
    if played is None:
        if law.feedback == "won-lost":
            reject("warm_up", "played", "given, as the feedback is 'won-lost'", None)
        return np.full(count, TOLD), cells, np.full(count, -1)
    made = _indices("played", played, count, 0, law.amounts.size - 1)
    reached = cells <= made
    shown = np.full(count, law.feedback == "always")
    if law.feedback in ("after-loss", "after-win"):
        shown = reached == (law.feedback == "after-win")
    kinds = np.where(shown, TOLD, np.where(reached, AT_MOST, ABOVE))
    return kinds, np.where(shown, cells, made), made


def _column(name: str, values: npt.ArrayLike, count: int | None = None) -> Floats:
    column = array("play", name, "finite numbers", values)
    shape = column.shape if count is None else (count,)
    if not np.isfinite(column).all() or column.shape != shape:
        reject("play", name, "finite numbers, one per round", values)
    return column


def _indices(name: str, values: npt.ArrayLike, count: int, low: int, high: int) -> Integers:
    indices = np.asarray(values)
    if indices.shape != (count,) or not np.array_equal(indices, indices.astype(np.int64)):
        reject("play", name, f"{count} integers", values)
    if count and (indices.min() < low or indices.max() > high):
        reject("play", name, f"integers from {low} to {high}", values)
    return np.ascontiguousarray(indices, dtype=np.int64)
