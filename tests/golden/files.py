"""The golden files of each version: where they are, and how they are written and read."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.golden.cases import CASES

FOLDER = Path(__file__).parent
CHANGELOG = FOLDER.parents[1] / "CHANGELOG.md"
FIRST = (0, 3, 0)  # the first version whose files all later ones read
_EXPECTED = "expected.json"


def number_of(version: str) -> tuple[int, ...]:
    """Return a version as numbers."""
    return tuple(map(int, version.split(".")))


def released() -> list[str]:
    """Return the versions that the changelog lists, from the first whose files must be read."""
    found = re.findall(r"^## \[(\d[\d.]*)\]", CHANGELOG.read_text(encoding="utf-8"), re.MULTILINE)
    return [version for version in found if number_of(version) >= FIRST]


def versions() -> list[str]:
    """Return the versions that have golden files, in order."""
    found = [one.name for one in FOLDER.iterdir() if (one / _EXPECTED).exists()]
    return sorted(found, key=number_of)


def write(version: str, folder: Path = FOLDER) -> None:
    """Write the files of the version that comes next; those of a released one never change."""
    if number_of(version) < FIRST or version in released():
        raise SystemExit(
            f"{version} is released, or earlier than the promise. Its files must stay as they are. "
            "Give the version that comes next."
        )
    target = folder / version
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    expected = {}
    for name, case in CASES.items():
        with TemporaryDirectory() as place:
            path = Path(place) / "file"
            given = case.write(path)
            (target / f"{name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        given = json.loads(json.dumps(given))
        found = read(version, name, given, folder)
        expected[name] = {"given": given, "found": found}
    lines = [f"{json.dumps(name)}: {json.dumps(case)}" for name, case in expected.items()]
    text = "{\n" + ",\n".join(lines) + "\n}\n"  # a line for each case
    (target / _EXPECTED).write_text(text, encoding="utf-8")


def expected(version: str) -> dict[str, Any]:
    """Return what each case of a version was given, and what was found when it was written."""
    found: dict[str, Any] = json.loads((FOLDER / version / _EXPECTED).read_text(encoding="utf-8"))
    return found


def read(version: str, name: str, given: Any, folder: Path = FOLDER) -> Any:
    """Read a golden file, go on with it, and return what comes out, as JSON gives it back."""
    with TemporaryDirectory() as place:
        path = Path(place) / "file"
        path.write_bytes(gzip.decompress((folder / version / f"{name}.gz").read_bytes()))
        return json.loads(json.dumps(CASES[name].read(path, given)))
