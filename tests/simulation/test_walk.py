"""The walks through the files of a simulation and of a replay are those that the page describes."""

import re
from pathlib import Path

from benchmarks.walk import layer, packages, walked

PAGE = Path(__file__).parents[2] / "docs/tutorials/find-your-way.md"


def rows(title: str, call: str) -> tuple[list[list[str]], list[str]]:
    """Return the table below a title of the page, and the files that the call enters."""
    files, calls = walked(call)
    assert [(above, below) for above, below in calls if layer(above) > layer(below)] == []
    section = PAGE.read_text(encoding="utf-8").split(f"## {title}")[1].split("\n## ")[0]
    assert f"through {len(files)} files" in section
    return [line.split("|") for line in section.splitlines() if line.startswith("| `")], files


def test_a_simulation_enters_the_files_that_the_page_lists_and_none_calls_upwards() -> None:
    table, files = rows("One simulation", "simulate")
    assert sorted(re.findall(r"`([^`]+)`", "".join(row[1] for row in table))) == sorted(files)


def test_a_replay_enters_as_many_files_as_the_page_says_and_none_calls_upwards() -> None:
    table, files = rows("One replay", "replay")
    listed: dict[str, int] = {}
    for row in table:
        names, counts = re.findall(r"`([^`]+)`", row[1]), re.findall(r"\d+", row[2])
        each = counts * len(names) if "each" in row[2] else counts
        listed |= dict(zip(names, map(int, each), strict=True))
    assert listed == packages(files)
