from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.patches import Circle, FancyArrowPatch

from crossbandit import graphs
from crossbandit.graphs import FeedbackGraph, drawing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes

mpl.use("Agg")


@pytest.fixture
def ax() -> Iterator[Axes]:
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def test_few_arms_stand_on_a_circle(ax: Axes) -> None:
    graph = graphs.paper_ring(9, 1)
    assert graph.draw(ax) is ax
    circles = [patch for patch in ax.patches if isinstance(patch, Circle)]
    arrows = [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]
    assert len(circles) == 9 + 8  # arms and self-loops
    # 8 arms point to arm 0 and 8 on to the next but 8 -> 0 is both, and 0 <-> 1 is one arrow.
    assert len(arrows) == 15
    assert [text.get_text() for text in ax.texts] == [str(arm) for arm in range(9)]
    assert _legend(ax) == ["reveals itself", "does not reveal itself"]


def test_the_legend_names_only_what_is_there(ax: Axes) -> None:
    graphs.singletons(3).draw(ax)
    assert _legend(ax) == ["reveals itself"]


def test_many_arms_are_an_adjacency_picture(ax: Axes) -> None:
    graph = graphs.paper_ring(drawing.CIRCLE_ARMS + 1, 2)
    graph.draw(ax)
    (image,) = ax.images
    assert np.array_equal(np.asarray(image.get_array()), graph.adjacency)
    assert _legend(ax) == ["revealed", "does not reveal itself"]


def test_a_huge_graph_shows_one_arm_in_ten(ax: Axes) -> None:
    graphs.threshold(10_000).draw(ax)
    (image,) = ax.images
    assert np.array_equal(np.asarray(image.get_array()), graphs.threshold(1_000).adjacency)
    assert ax.get_xlabel() == "revealed arm (one in 10)"


def test_draw_makes_a_figure_of_its_own() -> None:
    axes = graphs.apple_tasting().draw()
    axes.figure.canvas.draw()
    plt.close(axes.figure)  # type: ignore[arg-type]


@pytest.mark.parametrize("arms", [1, 2, 3, 40])
def test_the_svg_is_well_formed_and_complete(arms: int) -> None:
    graph = graphs.complete(arms)
    page = graph._repr_html_()
    svg = ET.fromstring(page[page.index("<svg") : page.index("</svg>") + 6])  # noqa: S314 - its own
    assert len(list(svg.iter("{http://www.w3.org/2000/svg}circle"))) == 2 * arms
    assert len(list(svg.iter("{http://www.w3.org/2000/svg}path"))) == arms * (arms - 1) // 2
    assert "nan" not in page


def test_the_facts() -> None:
    page = graphs.paper_ring(9, 2)._repr_html_()
    for fact in (
        "9 arms",
        "32 edges",
        "strongly observable",
        "independence number 3",
        "except arm 0",
    ):
        assert fact in page
    assert "not observable" in FeedbackGraph([[False]])._repr_html_()
    assert "1 arm<" in FeedbackGraph([[False]])._repr_html_()


def test_a_large_graph_has_facts_but_no_picture() -> None:
    page = graphs.threshold(10_000)._repr_html_()
    assert "<svg" not in page
    assert "10,000 arms" in page
    assert "50,005,000 edges" in page
    assert "independence" not in page


def _legend(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]
