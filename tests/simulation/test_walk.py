"""The walk through the files of a simulation is the one that the documentation describes."""

import re
from pathlib import Path

from benchmarks.walk import layer, walked

PAGE = Path(__file__).parents[2] / "docs/tutorials/find-your-way.md"


def test_a_simulation_enters_the_files_that_the_page_lists_and_none_calls_upwards() -> None:
    files, calls = walked("simulate")
    assert [(above, below) for above, below in calls if layer(above) > layer(below)] == []
    section = (
        PAGE.read_text(encoding="utf-8").split("## One simulation")[1].split("\n\nAll other")[0]
    )
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    listed = [file for cell in cells for file in re.findall(r"`([^`]+)`", cell)]
    assert sorted(listed) == sorted(files)
    assert f"through {len(files)} files" in section
