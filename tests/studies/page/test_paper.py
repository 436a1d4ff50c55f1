"""The paper's numbers, copied a second time: what everything here is compared with."""

import re

import pytest

from crossbandit.core.report.statistics import slope
from crossbandit.studies import paper
from crossbandit.studies.paper import PublishedSweep, Slope

HORIZON = r"""
2000  & 202.87 (6.36) & 300.10 (5.12)  & 531.41 (7.73)   & 546.86 (8.89)\\
4000  & 299.76 (8.89) & 423.60 (9.26)  & 1031.10 (5.36) & 1070.60 (10.58)\\
6000  & 378.38 (6.65) & 557.18 (11.15) & 1504.73 (9.58) & 1583.97 (8.45)\\
8000  & 429.78 (8.88) & 668.47 (11.09) & 1959.87 (11.00)& 2091.23 (8.40)\\
10000 & 476.33 (8.90) & 732.77 (12.73) & 2403.75 (12.99)& 2582.93 (7.35)\\
"""
ALPHA = r"""
1 & 267.61 (4.63)  & 723.53 (9.65) & 1796.83 (14.25) & 2590.00 (9.91)\\
2 & 356.71 (6.61)  & 723.53 (9.65) & 2181.09 (17.08) & 2590.00 (9.91)\\
3 & 419.40 (6.38)  & 723.53 (9.65) & 2307.20 (17.21) & 2590.00 (9.91)\\
4 & 473.49 (5.88)  & 723.53 (9.65) & 2419.22 (11.05) & 2590.00 (9.91)\\
8 & 694.40 (10.27) & 723.53 (9.65) & 2570.83 (10.66) & 2590.00 (9.91)\\
"""
COLUMNS = ("cross-graph", "schneider-zimmert", "per-context-graph", "per-context-exp3")


def read(rows: str) -> dict[int, dict[str, tuple[float, float]]]:
    """Return a table by the value of its row and the name of its column."""
    table = {}
    for line in rows.strip().splitlines():
        value, *numbers = map(float, re.findall(r"[\d.]+", line))
        pairs = zip(numbers[::2], numbers[1::2], strict=True)
        table[int(value)] = dict(zip(COLUMNS, pairs, strict=True))
    return table


@pytest.mark.parametrize(("sweep", "rows"), [(paper.HORIZON, HORIZON), (paper.ALPHA, ALPHA)])
def test_tables_are_the_papers(sweep: PublishedSweep, rows: str) -> None:
    assert sweep.entries == read(rows)
    assert sweep.values == tuple(read(rows))


def test_what_is_fixed_and_the_seeds_are_the_papers() -> None:
    assert (paper.HORIZON.variable, paper.HORIZON.fixed) == ("horizon", {"alpha": 4})
    assert (paper.ALPHA.variable, paper.ALPHA.fixed) == ("alpha", {"horizon": 10_000})
    assert list(paper.HORIZON.seeds) == [200, 201, 202, 203, 204, 205, 206, 207, 208, 209]
    assert list(paper.ALPHA.seeds) == [100, 101, 102, 103, 104, 105, 106, 107, 108, 109]
    assert paper.BENCHMARK == {
        "name": "paper-benchmark",
        "arms": 9,
        "contexts": 1000,
        "table_seed": 0,
    }


@pytest.mark.parametrize(
    ("bar", "published", "low", "high", "rows", "method"),
    [
        (paper.SLOPE_IN_HORIZON, 0.53, 0.50, 0.58, HORIZON, "cross-graph"),
        (paper.SLOPE_IN_ALPHA, 0.45, 0.40, 0.50, ALPHA, "cross-graph"),
        (paper.CONTEXT_SLOPE_IN_HORIZON, 0.57, 0.53, 0.61, HORIZON, "schneider-zimmert"),
    ],
)
def test_slopes_are_the_papers_and_follow_from_its_tables(
    bar: Slope, published: float, low: float, high: float, rows: str, method: str
) -> None:
    assert bar == (published, low, high)
    table = read(rows)
    fitted = slope(list(table), [row[method][0] for row in table.values()])
    assert round(fitted, 2) == published
