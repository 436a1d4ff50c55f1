"""The study files that come with the package."""

from __future__ import annotations

from importlib import resources

from crossbandit.errors import StudyFileError
from crossbandit.studies.plan import Study


def shipped_names() -> list[str]:
    """Return the names of the studies that come with the package."""
    folder = resources.files("crossbandit.studies") / "shipped"
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in folder.iterdir()
        if entry.name.endswith(".toml")
    )


def shipped(name: str) -> Study:
    """Return a study that comes with the package.

    Args:
        name: "paper" for the evaluation in the paper, "quick" for a small part of it, "adaptive"
            for the evaluation of the adaptive learner, "budgets" for auctions with a budget, or
            "graphs" for all algorithms on many graphs.

    Raises:
        StudyFileError: There is no such study.

    >>> shipped("quick")
    Study('quick', 168 cells)
    """
    if name not in shipped_names():
        known = ", ".join(shipped_names())
        raise StudyFileError(f"There is no shipped study {name!r}. Shipped studies: {known}.")
    return Study.from_toml(_text("shipped", f"{name}.toml"))


def template() -> str:
    """Return a commented study file to start from."""
    return _text("template.toml")


def _text(*path: str) -> str:
    entry = resources.files("crossbandit.studies").joinpath(*path)
    return entry.read_text(encoding="utf-8")
