"""Files, tokens and stores of every version since 0.3.0 are read, and go on as they would have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.golden import files
from tests.golden.cases import CASES

if TYPE_CHECKING:
    from pathlib import Path

WRITTEN = [(version, name) for version in files.versions() for name in files.expected(version)]


def alike(one: Any, other: Any) -> bool:
    """Return whether two results are the same, up to rounding errors of the processor."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return bool(one == pytest.approx(other, rel=1e-9) if isinstance(one, float) else one == other)


@pytest.mark.parametrize(("version", "name"), WRITTEN)
def test_what_a_version_wrote_is_read_and_goes_on(version: str, name: str) -> None:
    """If a later version decides otherwise on purpose, compare only the counts and the money."""
    case = files.expected(version)[name]
    found = files.read(version, name, case["given"])
    assert alike(found, case["found"]), (found, case["found"])


def test_each_released_version_has_files_and_the_newest_has_all_kinds() -> None:
    versions = files.versions()
    assert set(files.released()) <= set(versions), "run: python -m tests.golden VERSION"
    assert set(files.expected(versions[-1])) == set(CASES), "run: python -m tests.golden VERSION"
    assert sum(one.stat().st_size for one in files.FOLDER.rglob("*") if one.is_file()) < 1_000_000


def test_files_of_a_released_version_are_never_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text(
        "# Changelog\n\n## [Unreleased]\n\n## [0.3.0] - 2027-01-01\n\n## [0.2.0]\n"
    )
    monkeypatch.setattr(files, "CHANGELOG", changelog)
    monkeypatch.setattr(files, "CASES", {"shared budget": CASES["shared budget"]})
    kept = tmp_path / "0.3.0"
    kept.mkdir()
    (kept / "file").touch()
    for version in ("0.3.0", "0.2.0"):
        with pytest.raises(SystemExit, match=f"{version} is released"):
            files.write(version, tmp_path)
    assert [one.name for one in kept.iterdir()] == ["file"]
    files.write("0.3.1", tmp_path)
    assert sorted(one.name for one in (tmp_path / "0.3.1").iterdir()) == [
        "expected.json",
        "shared budget.gz",
    ]
