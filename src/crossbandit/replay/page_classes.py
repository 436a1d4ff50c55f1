"""The results of a replay by class: a table and a chart for each class column."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.replay.oracles import ClassPolicy, PerfectKnowledge
from crossbandit.replay.page_parts import charted
from crossbandit.report import Chart, Series
from crossbandit.report.charts import Shape
from crossbandit.report.text import number

if TYPE_CHECKING:
    from crossbandit.replay.results import Replay
    from crossbandit.replay.runs import StrategyResult

_COLUMNS = 5  # the number of strategies that a table has room for


class ClassRows(NamedTuple):
    """A table by the levels of a class column, as text.

    Attributes:
        column: The name of the column.
        head: The names of the strategies.
        rows: For each level its name, the number of auctions, and the surplus of each strategy.
        best: For each level, which strategy earned most, oracles aside; by its place in `head`.
        note: What "others" stands for, or nothing.
    """

    column: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    best: tuple[int, ...]
    note: str


def shown_strategies(result: Replay) -> list[StrategyResult]:
    """Return the strategies of tables by class: the first ones, and an oracle.

    The oracle is the best policy per class; with limits, where that takes no part, the comparator.
    """
    playing = [one for one in charted(result) if one.kind != "oracle"]
    fixed = [one for one in playing if one.kind == "fixed"]
    others = [one for one in playing if one.kind != "fixed"]
    room = _COLUMNS - 1 - len(fixed)
    oracle = ClassPolicy.name if result.limits is None else result.comparator
    return [*others[:room], *fixed, result.outcome(oracle)]


def class_tables(result: Replay, digits: int) -> list[ClassRows]:
    """Return one table per class column."""
    shown = shown_strategies(result)
    found = []
    for i, column in enumerate(result.classes):
        earned = np.array([one.by_class[i][0] for one in shown])
        rows = tuple(
            (
                level,
                f"{column.auctions[j]:,.0f}",
                *(number(amount, digits) for amount in earned[:, j]),
            )
            for j, level in enumerate(column.levels)
        )
        note = f"The other {column.pooled:,} levels are pooled." if column.pooled else ""
        names = tuple(one.strategy for one in shown)
        best = tuple(earned[:-1].argmax(axis=0).tolist())
        found.append(ClassRows(column.column, names, rows, best, note))
    return found


def class_charts(result: Replay) -> dict[str, list[Chart]]:
    """Return a chart per class column: surplus as a share of what could be earned at all."""
    limit = result.outcome(PerfectKnowledge.name)
    charts = {}
    for i, column in enumerate(result.classes):
        most = np.where(limit.by_class[i][0] > 0, limit.by_class[i][0], np.nan)
        charts[f"class-{i}"] = [
            Chart(
                title=f"Surplus by {column.column}, in percent of {limit.strategy}",
                x_label=column.column,
                y_label=f"percent of {limit.strategy}",
                series=tuple(
                    Series(
                        name=one.strategy,
                        x=tuple(range(len(column.levels))),
                        y=tuple(100 * one.by_class[i][0] / most),
                    )
                    for one in shown_strategies(result)
                ),
                shape=Shape.ROWS,
                x_names=column.levels,
                digits=1,
            )
        ]
    return charts
