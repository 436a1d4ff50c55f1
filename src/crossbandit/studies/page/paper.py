"""What the paper published: both tables, the slopes and the seeds.

Source: "Nearly Tight Bounds for Cross-Learning Contextual Bandits with Graphical Feedback", section
"Experiments and Formalization" and appendix "Extended Experiments and Reproducibility", tables
tab:horizon-scaling and tab:alpha-scaling. Half-widths are of 95 % confidence intervals: 1.96
standard errors of the per-seed difference between a method's loss and the comparator's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

TITLE = "Nearly Tight Bounds for Cross-Learning Contextual Bandits with Graphical Feedback"

OURS, CONTEXT, GRAPH, EXP3 = "cross-graph", "sz-context", "obpc-graph", "obpc-exp3"

# The algorithms in the order of the paper's columns. The paper calls the first one "Ours".
METHODS = (OURS, CONTEXT, GRAPH, EXP3)

# The paper does not name a seed for its loss table. This one was fixed before anything was run.
TABLE_SEED = 0
BENCHMARK = {"name": "paper-benchmark", "arms": 9, "contexts": 1000, "table_seed": TABLE_SEED}


class PublishedEntry(NamedTuple):
    """An entry of a table.

    Attributes:
        regret: The mean final regret.
        half_width: The half-width of its 95 % confidence interval.
    """

    regret: float
    half_width: float


@dataclass(frozen=True)
class PublishedSweep:
    """One table: one parameter varies, everything else is fixed.

    Attributes:
        part: The part of the study with these runs.
        title: The title of the table.
        variable: The name of the parameter.
        symbol: Its symbol.
        name: Its name on an axis.
        fixed: The other parameters that matter, with their values.
        seeds: The seeds of the paper.
        entries: The published numbers by value and algorithm.
    """

    part: str
    title: str
    variable: str
    symbol: str
    name: str
    fixed: Mapping[str, int]
    seeds: range
    entries: Mapping[int, Mapping[str, PublishedEntry]]

    @property
    def values(self) -> tuple[int, ...]:
        """The values of the parameter, in increasing order."""
        return tuple(self.entries)


def _row(*pairs: tuple[float, float]) -> dict[str, PublishedEntry]:
    return {method: PublishedEntry(*pair) for method, pair in zip(METHODS, pairs, strict=True)}


HORIZON = PublishedSweep(
    part="horizon",
    title="Final regret by horizon, at α = 4",
    variable="horizon",
    symbol="T",
    name="horizon T",
    fixed={"alpha": 4},
    seeds=range(200, 210),
    entries={
        2000: _row((202.87, 6.36), (300.10, 5.12), (531.41, 7.73), (546.86, 8.89)),
        4000: _row((299.76, 8.89), (423.60, 9.26), (1031.10, 5.36), (1070.60, 10.58)),
        6000: _row((378.38, 6.65), (557.18, 11.15), (1504.73, 9.58), (1583.97, 8.45)),
        8000: _row((429.78, 8.88), (668.47, 11.09), (1959.87, 11.00), (2091.23, 8.40)),
        10000: _row((476.33, 8.90), (732.77, 12.73), (2403.75, 12.99), (2582.93, 7.35)),
    },
)

ALPHA = PublishedSweep(
    part="graph",
    title="Final regret by independence number, at T = 10,000",
    variable="alpha",
    symbol="α",
    name="independence number α",
    fixed={"horizon": 10_000},
    seeds=range(100, 110),
    entries={
        1: _row((267.61, 4.63), (723.53, 9.65), (1796.83, 14.25), (2590.00, 9.91)),
        2: _row((356.71, 6.61), (723.53, 9.65), (2181.09, 17.08), (2590.00, 9.91)),
        3: _row((419.40, 6.38), (723.53, 9.65), (2307.20, 17.21), (2590.00, 9.91)),
        4: _row((473.49, 5.88), (723.53, 9.65), (2419.22, 11.05), (2590.00, 9.91)),
        8: _row((694.40, 10.27), (723.53, 9.65), (2570.83, 10.66), (2590.00, 9.91)),
    },
)

SWEEPS = (HORIZON, ALPHA)


class Slope(NamedTuple):
    """A fitted log-log slope.

    Attributes:
        published: The slope in the paper.
        low: The lowest slope that a reproduction may have.
        high: The highest slope that it may have.
    """

    published: float
    low: float
    high: float


SLOPE_IN_HORIZON = Slope(0.53, 0.50, 0.58)
SLOPE_IN_ALPHA = Slope(0.45, 0.40, 0.50)
# The paper names no range for this slope. It gets one of the same width as the first.
CONTEXT_SLOPE_IN_HORIZON = Slope(0.57, 0.53, 0.61)
