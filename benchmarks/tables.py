"""The long tables of the pages: `python -m benchmarks.tables [NAME ...]` computes and writes them.

Each is a file in benchmarks/measured/tables, from which `benchmarks.numbers` fills the pages. All
seeds are fixed, so a table changes only with the code. All together take about half an hour on one
core; those whose names begin with `choose` come from the study `graphs`, which is run once in
results/graphs and kept.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from benchmarks import adaptive, coverage, numbers
from crossbandit import CrossGraph, CrossGraphAdaptive, environments, graphs, simulate_many, studies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from crossbandit.environments import BlockEnvironment

ANCHOR_ROUNDS, ANCHOR_SEEDS = 20_000, range(4)
COVERAGE_LOGS = 20
GRAPHS = {
    "ring": "ring",
    "threshold": "threshold",
    "loopy-star": "loopy star",
    "random-strongly-observable": "random, strong",
    "apple-tasting": "apple tasting",
    "revealing-action": "revealing action",
    "random-weakly-observable": "random, weak",
    "changing": "changing",
}
HORIZON = 100_000
PACKAGE = "crossbandit"
STATEMENT = "Equation 3"


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose first column is text and whose others are numbers.

    Args:
        header: The names of the columns.
        rows: The cells.
    """
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


# -------------------------------------------------------------------------- the adaptive learner


def constants(cases: Iterable[adaptive.Case]) -> str:
    """Return the mean final regrets with each constant halved and doubled.

    Args:
        cases: The environments.
    """
    usual = CrossGraphAdaptive()
    learners = {"cross-graph": CrossGraph(), "as it is": usual}
    for name in ("rate", "exploration", "recency"):
        learners[f"{name} / 2"] = replace(usual, **{name: getattr(usual, name) / 2})
        learners[f"{name} × 2"] = replace(usual, **{name: getattr(usual, name) * 2})
    rows = []
    for case in cases:
        found = [adaptive.mean_regret(case, one, adaptive.SEEDS) for one in learners.values()]
        rows.append([case.name, *(f"{regret:.0f}" for regret in found)])
    return markdown(["environment", *learners], rows)


def anchor_worlds() -> dict[str, BlockEnvironment]:
    """Return the environments on which anchored and plain learners are compared."""
    rounds, arms = ANCHOR_ROUNDS, graphs.threshold(10)
    return {
        "first-price, told after a loss": environments.first_price(rounds),
        "newsvendor, sales": environments.newsvendor(rounds),
        "posted price, told after a refusal": environments.posted_price(
            rounds, reports="after-refusal"
        ),
        "posted price, told after a sale": environments.posted_price(rounds, reports="after-sale"),
        "ten unrelated arms on such a graph, one context": environments.stochastic(
            arms, rounds, contexts=1, gap=0.2
        ),
    }


def anchors() -> str:
    """Return the mean final regrets of anchored and of plain learners."""
    rows = []
    for name, world in anchor_worlds().items():
        found = [
            simulate_many(CrossGraphAdaptive(anchored=one), world, seeds=ANCHOR_SEEDS)
            for one in (True, False)
        ]
        means = [np.mean([run.final_regret for run in runs]) for runs in found]
        rows.append([name, *(f"{mean:.2g}" for mean in means)])
    return markdown(["environment", "anchored", "plain"], rows)


# ------------------------------------------------------------------------- algorithms and graphs


def choose(losses: str) -> str:
    """Return regrets on all kinds of graphs, divided by the lowest of the column.

    Where the lowest regret is not positive, the column has the regrets themselves. For misleading
    losses, all columns have regrets in percent of the rounds: some grow as the rounds do.

    Args:
        losses: "stochastic"; "late", if the best arm is the worst one at first; or "misleading".
    """
    folder = "results/graphs"
    studies.run(studies.shipped("graphs"), folder)
    frame = studies.load(folder, curves=False)
    kind = frame["environment.late"].fillna(0).gt(0).map({True: "late", False: "stochastic"})
    kind = kind.where(frame["environment_name"] != "misleading", "misleading")
    frame = frame[(frame["horizon"] == HORIZON) & (kind == losses)]
    graph = frame["environment.graph"].fillna("changing")
    means = frame.groupby([frame["algorithm_name"], graph])["final_regret"].mean().unstack()
    means = means[[name for name in GRAPHS if name in means]]
    lowest = means.min()
    ratio = (lowest > 0) & (losses != "misleading")
    shown = means / lowest.where(ratio, HORIZON / 100 if losses == "misleading" else 1.0)
    order = (means / lowest.abs()).rank().mean(axis=1).sort_values().index
    rows = []
    for name in order:
        cells = [f"`{name}`"]
        for column in means:
            value = shown.loc[name, column]
            form = ".1f" if losses == "misleading" else ".0f"
            form = ".2g" if ratio[column] and value < 10 else form
            text = "" if np.isnan(value) else f"{value:{form}}"
            cells.append(f"**{text}**" if means.loc[name, column] == lowest[column] else text)
        rows.append(cells)
    return markdown(["id", *(GRAPHS[column] for column in means)], rows)


# --------------------------------------------------------------------------------------- auctions


def coverages() -> str:
    """Return how often intervals cover the truth, in percent, and their mean half-widths."""
    rows = []
    for name in (*coverage.HOLDS, *coverage.FAILS):
        found = {
            feedback: coverage.measure(name, feedback, COVERAGE_LOGS, coverage.AUCTIONS)
            for feedback in coverage.FEEDBACK
        }
        told = found["after-loss"]
        cells = [
            *(one["by band"] for one in found.values()),
            told["inverse propensity"],
            told["doubly robust"],
        ]
        widths = " / ".join(f"{100 * told[method].width:.1f}" for method in coverage.METHODS)
        shares = [f"{100 * cell.covered / cell.tried:.0f}" for cell in cells]
        rows.append([name, *shares, widths])
    first = f"by band: {coverage.FEEDBACK[0]}"
    header = ["world", first, *coverage.FEEDBACK[1:], *coverage.METHODS[1:], "half-widths"]
    return markdown(header, rows)


def replayed() -> dict[str, str]:
    """Return what the tutorial's two commands print: the strategies, a note, the differences."""
    printed = ""
    with tempfile.TemporaryDirectory() as folder:
        for line in ("make-log log.csv --auctions 100000 --seed 1", "replay log.csv"):
            command = [sys.executable, "-m", "crossbandit", *line.split()]
            done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
            printed = done.stdout
    return cut_out(printed)


def cut_out(printed: str) -> dict[str, str]:
    """Return the parts of a replay's output that the tutorial shows, as blocks of text.

    Args:
        printed: What the command has printed.
    """
    lines = [line.rstrip().removeprefix(" ") for line in printed.splitlines()]
    tables: list[list[str]] = []
    within = False
    for line in lines:
        if line.startswith("strategy "):
            tables.append([])
            within = True
        elif re.match(
            r"±|95 % int|Difference|Wrote|Open", line
        ):  # an explanation, of several lines
            within = False
        if within:
            tables[-1].append(line)
    seldom = r"(10|20|30|40|60|80|95) % of value"
    strategies = [line for line in tables[0] if not re.match(seldom, line)]
    [note] = [line for line in lines if line.startswith("Prices are correlated with values")]
    found = {"strategies": strategies, "note": [note], "differences": tables[1]}
    return {
        f"replay-{name}": "```text\n" + "\n".join(text).rstrip() + "\n```\n"
        for name, text in found.items()
    }


# ---------------------------------------------------------------------------- commands, packages


def verified() -> str:
    """Return what `crossbandit verify` prints of one statement, as a block of text."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "crossbandit", "verify", "--only", STATEMENT]
        done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return statement(done.stdout)


def statement(printed: str) -> str:
    """Return the first statement of an output of `crossbandit verify`, as a block of text.

    Args:
        printed: What the command has printed.
    """
    lines = [line.rstrip() for line in printed.splitlines()]
    first = next(i for i, line in enumerate(lines) if line.startswith(STATEMENT))
    last = next(
        (i for i in range(first + 1, len(lines)) if not lines[i].startswith(" ")), len(lines)
    )
    return "```text\n" + "\n".join(lines[first:last]) + "\n```\n"


def needed(package: str, extra: str, found: dict[tuple[str, str], int]) -> dict[str, int]:
    """Return the bytes of all packages that a package needs, itself not among them.

    Args:
        package: Its name.
        extra: One of its extras, or "".
        found: The bytes by package and extra so far, which is extended.
    """
    for line in metadata.requires(package) or ():
        required = Requirement(line)
        if required.marker is not None and not required.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(required.name)
        for one in ("", *required.extras):
            if (name, one) not in found:
                paths = [Path(str(file.locate())) for file in metadata.files(name) or ()]
                found[name, one] = sum(path.stat().st_size for path in paths if path.exists())
                needed(name, one, found)
    return {name: size for (name, _), size in found.items() if name != PACKAGE}


def sizes() -> str:
    """Return how much disk space the packages take that each extra installs here."""
    rows = []
    for extra in ("", "cli", "all"):
        found = needed(PACKAGE, extra, {})
        largest = max(found, key=lambda name: found[name])
        told = f"`{PACKAGE}[{extra}]`" if extra else f"`{PACKAGE}`"
        megabytes = (sum(found.values()), found[largest])
        total, most = (f"{round(size / 1e6, -1):.0f} MB" for size in megabytes)
        rows.append([told, str(len(found)), total, f"{largest}, {most}"])
    return markdown(["install", "packages", "disk space", "the largest"], rows)


TABLES: dict[str, Callable[[], str | dict[str, str]]] = {
    "adaptive-trials": lambda: constants(adaptive.trials()),
    "anchors": anchors,
    "choose-stochastic": lambda: choose("stochastic"),
    "choose-late": lambda: choose("late"),
    "choose-misleading": lambda: choose("misleading"),
    "coverage": coverages,
    "install": sizes,
    "replay": replayed,
    "verify-line": verified,
}


def save(name: str, text: str) -> None:
    """Write a table in place of the one of an earlier run, without the pages.

    Args:
        name: Its name.
        text: The table, as Markdown.
    """
    numbers.TABLES.mkdir(parents=True, exist_ok=True)
    (numbers.TABLES / f"{name}.md").write_text(text, encoding="utf-8")


def main() -> None:
    """Compute the tables named on the command line, or all of them, and write the pages."""
    names = sys.argv[1:] or list(TABLES)
    unknown = [name for name in names if name not in TABLES]
    if unknown:
        sys.exit(f"There is no table {unknown[0]!r}. There are: {', '.join(TABLES)}.")
    for name in names:
        made = TABLES[name]()
        for part, text in (made if isinstance(made, dict) else {name: made}).items():
            save(part, text)
    numbers.write()


if __name__ == "__main__":
    main()
