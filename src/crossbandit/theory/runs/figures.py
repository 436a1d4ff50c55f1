"""Figures of decompositions over the horizon or the independence number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.theory.runs.decomposition import SIGNS, Decomposition
from crossbandit.theory.runs.intervals import mean_interval
from crossbandit.theory.statements import Figure, Series, Shape

if TYPE_CHECKING:
    from collections.abc import Sequence

# The largest term comes first, so that it is at the bottom.
_NAMES = {
    "ftrl": "FTRL",
    "bias_1": "Bias 1",
    "bias_2": "Bias 2",
    "bias_3": "Bias 3",
    "bias_4": "Bias 4",
    "bias_5": "− Bias 5",
}


_BOUNDED = {
    "bias_1": "Bias 1",
    "bias_2_regular": "Bias 2, regular",
    "bias_3_regular": "Bias 3, regular",
    "bias_4_regular": "Bias 4, regular",
    "special": "special arm",
    "ftrl": "FTRL",
    "total": "all",
}


def stacked_terms(title: str, axis: str, decompositions: Sequence[Decomposition]) -> Figure:
    """Return the terms, stacked, and the order of their sum, drawn through the first point.

    `axis` is "T" or "alpha": the number in which the decompositions differ.
    """
    x = _x_values(axis, decompositions)
    series = []
    for term, label in _NAMES.items():
        means = [
            SIGNS.get(term, 1.0) * mean_interval(one.values(term))[0] for one in decompositions
        ]
        halves = [mean_interval(one.values(term))[1] for one in decompositions]
        series.append(Series(name=label, x=x, y=tuple(means), half_widths=tuple(halves)))
    scale = float(decompositions[0].values("regret").mean()) / decompositions[0].orders.total
    order = tuple(scale * one.orders.total for one in decompositions)
    series.append(Series(name="predicted order", x=x, y=order, reference=True))
    return Figure(
        title=title,
        x_label=axis,
        y_label="regret after the warm-up",
        series=tuple(series),
        shape=Shape.STACKED,
    )


def term_ratios(title: str, axis: str, decompositions: Sequence[Decomposition]) -> Figure:
    """Return each term divided by the order of its lemma. The claim is that it does not grow."""
    x = _x_values(axis, decompositions)
    series = []
    for name, label in _BOUNDED.items():
        summary = [(mean_interval(one.values(name)), one.order(name)) for one in decompositions]
        y = tuple(mean / order for (mean, _), order in summary)
        halves = tuple(half_width / order for (_, half_width), order in summary)
        series.append(Series(name=label, x=x, y=y, half_widths=halves))
    return Figure(
        title=title,
        x_label=axis,
        y_label="term / order of its lemma",
        series=tuple(series),
        x_log=True,
    )


def _x_values(axis: str, decompositions: Sequence[Decomposition]) -> tuple[float, ...]:
    if axis == "T":
        return tuple(float(one.rounds[-1]) for one in decompositions)
    graphs = [one.environment.problem.graph for one in decompositions]
    return tuple(float(graph.independence_number) for graph in graphs)
