"""What an index of packages, the Journal of Open Source Software and pyOpenSci ask for."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from mkdocs.utils.yaml import yaml_load

from benchmarks.release import points

ROOT = Path(__file__).parents[1]
PAPER = (ROOT / "paper/paper.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def settings() -> Any:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def workflow(name: str) -> Any:
    with (ROOT / ".github/workflows" / name).open(encoding="utf-8") as file:
        return yaml_load(file)


@pytest.mark.parametrize(
    "name",
    ["LICENSE", "CITATION.cff", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md"],
)
def test_each_page_that_a_community_needs_is_there(name: str) -> None:
    assert len((ROOT / name).read_text(encoding="utf-8").split()) > 50


def test_wheels_and_tests_cover_the_versions_of_the_classifiers(settings: Any) -> None:
    classifiers = " ".join(settings["project"]["classifiers"])
    versions = set(re.findall(r"Python :: (3\.\d+)", classifiers))
    wheels = re.findall(r"cp3(\d+)-", settings["tool"]["cibuildwheel"]["build"])
    jobs = workflow("tests.yml")["jobs"]
    tested = {
        *jobs["versions"]["strategy"]["matrix"]["python"],
        *(step["with"]["python-version"] for step in jobs["everything"]["steps"] if "with" in step),
    }
    assert versions <= {f"3.{minor}" for minor in wheels}
    assert versions <= tested


def test_only_the_last_job_of_a_release_may_publish_and_it_waits_for_all_others() -> None:
    release = workflow("release.yml")
    assert release["permissions"] == {"contents": "read"}
    jobs = release["jobs"]
    assert {name for name, job in jobs.items() if "permissions" in job} == {"publish"}
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert {"publish", *jobs["publish"]["needs"]} == set(jobs)


@pytest.mark.parametrize(("point", "holds"), list(points()))
def test_the_list_of_a_release_holds(point: str, holds: bool) -> None:
    assert holds or point.startswith("nothing of the changelog"), point


def test_the_paper_has_the_length_that_is_asked_for() -> None:
    text = PAPER.split("---\n", 2)[2]
    assert 250 <= len(text.split()) <= 1000


def test_the_paper_cites_what_its_bibliography_has() -> None:
    cited = set(re.findall(r"@([a-z]+\d{4})", PAPER))
    entries = re.findall(r"^@\w+\{(\w+),", (ROOT / "paper/paper.bib").read_text(), re.MULTILINE)
    assert sorted(cited) == entries


def test_the_paper_says_how_the_software_was_written() -> None:
    assert "# How it was written" in PAPER
