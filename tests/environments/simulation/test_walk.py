"""The walks through the files of a simulation and of a replay are those of ARCHITECTURE.md."""

import re
import tomllib
from pathlib import Path

from benchmarks.walk import layer, packages, walked

PAGE = Path(__file__).parents[3] / "ARCHITECTURE.md"


def rows(title: str) -> list[list[str]]:
    """Return the table below a title of the page."""
    section = PAGE.read_text(encoding="utf-8").split(f"## {title}")[1].split("\n## ")[0]
    return [line.split("|") for line in section.splitlines() if line.startswith("| `")]


def entered(call: str, said: str) -> list[str]:
    """Return the files that a call enters; as many as the page says, and none calls upwards."""
    files, calls = walked(call)
    assert [(above, below) for above, below in calls if layer(above) > layer(below)] == []
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert said.format(len(files)) in text
    return files


def test_a_simulation_enters_the_files_that_the_page_lists_and_none_calls_upwards() -> None:
    listed = re.findall(r"`([^`]+)`", "".join(row[1] for row in rows("One round")))
    assert sorted(listed) == sorted(entered("simulate", "`simulate` runs through {} files"))


def test_a_replay_enters_as_many_files_as_the_page_says_and_none_calls_upwards() -> None:
    listed: dict[str, int] = {}
    for row in rows("The house"):
        names, counts = re.findall(r"`([^`]+)`", row[1]), row[3].split(",")
        counted = zip(names, counts, strict=True) if row[3].strip() else ()
        listed |= {name: int(count) for name, count in counted if count.strip()}
    assert listed == packages(entered("replay", "a replay through {} "))


def test_the_drawing_has_the_layers_of_the_contract() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.count("\n") <= 120
    drawn = [re.split(r"  +", line)[0] for line in text.split("```")[1].splitlines()[1:]]
    settings = tomllib.loads((PAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    assert drawn == next(one["layers"] for one in contracts if one["id"] == "layers")
