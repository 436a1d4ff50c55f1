"""Check what must hold before a version is published: python -m benchmarks.release.

It prints a line for each point of the list, and ends with status 1 if one does not hold. Points
that wait for an address of the project are named, and do not count.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import venv
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import crossbandit

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
_TRY = "import crossbandit; assert crossbandit.compiled; print(crossbandit.__version__)"


def points() -> Iterator[tuple[str, bool]]:
    """Yield the points of the list that need no build, and whether each holds."""
    version = crossbandit.__version__
    changes = _text("CHANGELOG.md")
    dated = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$"
    yield f"the changelog has {version} with a date", bool(re.search(dated, changes, re.MULTILINE))
    waiting = changes.partition("## [Unreleased]\n")[2].partition("## [")[0]
    yield "nothing of the changelog is unreleased", not waiting.strip()
    yield "no line of the changelog is too long", max(map(len, changes.split("\n"))) <= 100
    yield f"CITATION.cff has {version}", f"\nversion: {version}\n" in _text("CITATION.cff")
    golden = ROOT / "tests" / "golden" / version / "expected.json"
    yield f"tests/golden has the files of {version}", golden.is_file()
    project = settings()["project"]
    tried = set(re.findall(r"3\.\d+", _text(".github/workflows/tests.yml")))
    claimed = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    yield f"tests run on Python {', '.join(claimed)}", tried >= set(claimed)


def built(folder: Path) -> Iterator[tuple[str, bool]]:
    """Build the sdist and a wheel, check what an index shows of them, and try the wheel."""
    build = _runs(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder))
    yield "the sdist and a wheel can be built", build
    files = [str(path) for path in sorted(folder.iterdir())]
    checked = build and _runs(sys.executable, "-m", "twine", "check", "--strict", *files)
    yield "an index can show their description", checked
    python = folder / "env" / "bin" / "python"
    venv.create(folder / "env", with_pip=True)
    wheels = [file for file in files if file.endswith(".whl")]
    installed = build and _runs(str(python), "-m", "pip", "install", "--quiet", *wheels)
    yield (
        "the wheel can be installed, with NumPy only, and its cores are compiled",
        (installed and _runs(str(python), "-W", "error", "-c", _TRY)),
    )


def settings() -> Any:
    """Return pyproject.toml."""
    return tomllib.loads(_text("pyproject.toml"))


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def _runs(*command: str) -> bool:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        print((done.stdout + done.stderr)[-2_000:], file=sys.stderr)
    return done.returncode == 0


def main() -> None:
    """Print the list."""
    held = []
    with TemporaryDirectory() as folder:
        for point, holds in chain(points(), built(Path(folder))):
            print(f"{'yes' if holds else 'NO ':3}  {point}", flush=True)
            held.append(holds)
    if "urls" not in settings()["project"]:
        print("--   [project.urls], and absolute links of the README, wait for an address")
    sys.exit(0 if all(held) else 1)


if __name__ == "__main__":
    main()
