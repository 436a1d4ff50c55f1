"""Draw the pictures of the gallery and write its page: `python -m benchmarks.gallery`.

It runs each script in docs/gallery, in a minute. `python -m benchmarks.gallery many_contexts` runs
one.
"""

from __future__ import annotations

import ast
import contextlib
import re
import runpy
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl
from cycler import cycler
from matplotlib import pyplot as plt

from crossbandit.core.report.print import COLORS, GRID, INK, MUTED

FOLDER = Path(__file__).parents[1] / "docs" / "gallery"
PAGE = FOLDER.with_suffix(".md")
GROUPS = {
    "Bidding": ("correlated_prices", "budget_over_a_day", "censored_log"),
    "Bandits": ("feedback_graph", "many_contexts", "weakly_observable"),
}
NAMES = [name for group in GROUPS.values() for name in group]
INTRODUCTION = (
    "Small programs, each with its picture. Each runs in seconds. Select a title for the program."
)
NOTEBOOKS = """
## Notebooks

Jupyter notebooks with their outputs. To run one, [install](install.md) Crossbandit with `all`, and
Jupyter.

- [Bid from a log](notebooks/bid-from-a-log.ipynb): what strategies would have earned on a log, and
  a bidder trained from it
- [Embed a learner](notebooks/embed-a-learner.ipynb): decide now, learn later, restart, decide on
  other machines
- [Run a study](notebooks/run-a-study.ipynb): a grid of runs, its results as a data frame, a
  comparison seed by seed
"""
# Text stays text, and the same picture is the same file.
STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": MUTED,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.prop_cycle": cycler(color=COLORS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlesize": 10,
    "figure.constrained_layout.use": True,
    "figure.figsize": (6.4, 3.8),
    "font.size": 10,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "svg.fonttype": "none",
    "svg.hashsalt": "crossbandit",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}
# What the colours become on a dark page.
DARK = {
    "#ffffff": "#1e2129",
    INK: "#dfe3ea",
    MUTED: "#9aa0aa",
    GRID: "#383c46",
    **dict(
        zip(
            COLORS,
            ("#4aa8e0", "#f08a3c", "#35c79a", "#de9cc0", "#f0b93a", "#8fd0f5", "#c9ccd3"),
            strict=True,
        )
    ),
}


def main() -> None:
    """Run the scripts that are named, or all; then write the page."""
    for name in sys.argv[1:] or NAMES:
        for path, text in pictures(name).items():
            path.write_text(text, encoding="utf-8")
        print(name)
    PAGE.write_text(page(), encoding="utf-8")


def pictures(name: str) -> dict[Path, str]:
    """Run a script; return its picture for light and for dark pages, by path."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        with mpl.rc_context(STYLE):
            runpy.run_path(str(FOLDER / f"{name}.py"))
        plt.close("all")
        (path,) = Path(folder).iterdir()
        light = path.read_text(encoding="utf-8")
    light = re.sub(r" *<dc:date>.*</dc:date>\n", "", light)
    return {_picture(name, "light"): light, _picture(name, "dark"): darkened(light)}


def darkened(light: str) -> str:
    """Return a picture in the colours of a dark page."""
    new = {old.lower(): color for old, color in DARK.items()}
    return re.sub("|".join(new), lambda found: new[found[0]], light)


def page() -> str:
    """Return the page of the gallery."""
    lines = ["# Gallery", "", INTRODUCTION]
    for group, names in GROUPS.items():
        lines += ["", f"## {group}"]
        for name in names:
            title, text = _heading((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
            lines += ["", f"### [{title}](gallery/{name}.py)", "", *_shown(name, title), "", text]
    return "\n".join([*lines, NOTEBOOKS])


def _heading(code: str) -> tuple[str, str]:
    """Return the title of a script, and what its picture shows."""
    title, text = (ast.get_docstring(ast.parse(code)) or "").split("\n\n")
    return title.removesuffix("."), text.replace("\n", " ")


def _shown(name: str, title: str) -> list[str]:
    return [
        f"![{title}](gallery/pictures/{_picture(name, tone).name}#only-{tone})"
        for tone in ("light", "dark")
    ]


def _picture(name: str, tone: str) -> Path:
    return FOLDER / "pictures" / f"{name}-{tone}.svg"


if __name__ == "__main__":
    main()
