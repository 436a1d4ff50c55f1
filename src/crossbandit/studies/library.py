"""The study files that come with the package."""

from __future__ import annotations

from importlib import resources

from crossbandit.errors import StudyFileError
from crossbandit.studies.plan import Study


def shipped_names() -> list[str]:
    """Return the names of the shipped studies."""
    folder = resources.files("crossbandit.studies") / "shipped"
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in folder.iterdir()
        if entry.name.endswith(".toml")
    )


def shipped(name: str) -> Study:
    """Return a shipped study.

    "paper" is the paper's evaluation, "quick" a small part of it, and "adaptive" everything on
    which the adaptive learner has a bar.

    >>> shipped("quick")
    Study('quick', 168 cells)
    """
    if name not in shipped_names():
        known = ", ".join(shipped_names())
        raise StudyFileError(f"There is no shipped study {name!r}. There is: {known}.")
    return Study.from_toml(_text("shipped", f"{name}.toml"))


def template() -> str:
    """Return a commented study file to start from."""
    return _text("template.toml")


def _text(*path: str) -> str:
    entry = resources.files("crossbandit.studies").joinpath(*path)
    return entry.read_text(encoding="utf-8")
