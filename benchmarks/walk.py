"""Which files of the package a call runs through. `python -m benchmarks.walk simulate` or `replay`.

It prints which file calls which, and at the end the number of files of each package. If
`CROSSBANDIT_INTERPRETED=1` is set, cores run as plain Python, so that their files count too. What
runs while a module is imported is not part of the walk. A base class that calls a method which a
class above it overrides does not call upwards. ARCHITECTURE.md has both.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import crossbandit
from crossbandit.core.building import INTERPRETED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType

PACKAGE = Path(crossbandit.__file__).parent
ROOT = Path(__file__).parents[1]


def walked(call: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the files that a call enters, and the pairs of files in which one calls the next.

    Args:
        call: `simulate` or `replay`.

    Returns:
        The files in the order in which they are entered, and the pairs (caller, called).
    """
    command = [sys.executable, "-m", "benchmarks.walk", call]
    environment = {**os.environ, INTERPRETED: "1", "PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True
    )
    found = [line for line in done.stdout.splitlines() if line.startswith("walk ")]
    pairs = [line.removeprefix("walk ").split(" -> ") for line in found]
    calls = [(above.strip(), below) for above, below in pairs if above.strip() != below]
    return list(dict.fromkeys(below for _, below in calls)), [pair for pair in calls if pair[0]]


def packages(files: Iterable[str]) -> dict[str, int]:
    """Return how many of the files each package has; a module of its own has one.

    Args:
        files: Files, relative to the package.
    """
    return dict(Counter(file.split("/", maxsplit=1)[0].removesuffix(".py") for file in files))


def layer(file: str) -> int:
    """Return how deep the module of a file is, by the layers in pyproject.toml; the top is 0.

    Args:
        file: A file, relative to the package.
    """
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one["id"] == "layers")
    module = file.split("/", maxsplit=1)[0].removesuffix(".py")
    names = [one.replace("|", " ").replace(":", " ").split() for one in layers]
    return next(i for i, modules in enumerate(names) if module in modules)


class _Walk:
    """Notes which files are entered while it is the profile function of this thread."""

    def __init__(self) -> None:
        self.calls: dict[tuple[str, str], None] = {}  # in their order

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Note a call. The arguments are those of `sys.setprofile`."""
        del argument
        file = _file(frame.f_code.co_filename)
        if event != "call" or file is None:
            return
        caller = frame.f_back
        while caller is not None and _file(caller.f_code.co_filename) is None:
            caller = caller.f_back
        above = ""
        if caller is not None and not _overridden(caller, frame):
            above = _file(caller.f_code.co_filename) or ""
        if (above, file) not in self.calls and not _importing(frame):
            self.calls[above, file] = None


def _overridden(caller: FrameType, called: FrameType) -> bool:
    """Return whether an object calls itself: a base class calls what a class above overrides.

    The same holds for a generator, which whoever made it has handed down, and for a function in a
    decorator.
    """
    if called.f_code.co_flags & inspect.CO_GENERATOR:
        return True
    code = called.f_code
    if any(getattr(one, "__code__", None) is code for one in caller.f_locals.values()):
        return True
    own = called.f_locals.get("self")
    return own is not None and caller.f_locals.get("self") is own


def _importing(frame: FrameType | None) -> bool:
    """Return whether the body of a module or a class of the package is being run."""
    while frame is not None:
        code = frame.f_code
        # Bodies of functions are optimized; those of modules and classes are not.
        if not code.co_flags & inspect.CO_OPTIMIZED and PACKAGE in Path(code.co_filename).parents:
            return True
        frame = frame.f_back
    return False


@functools.cache
def _file(name: str) -> str | None:
    path = Path(name)
    if path.stem in {"building", "lazy"}:  # they run while modules are imported
        return None
    if path.suffix != ".py" or path.stem == "__init__" or PACKAGE not in path.parents:
        return None
    return path.relative_to(PACKAGE).as_posix()


def _simulate() -> Callable[[], object]:
    environment = crossbandit.environments.paper_benchmark(100, alpha=4)
    algorithm = crossbandit.CrossGraph(epoch_length=20)
    return lambda: crossbandit.simulate(algorithm, environment, seed=200)


def _replay() -> Callable[[], object]:
    from crossbandit.cli.app import app

    auctions = np.random.default_rng(0).random((8, 2)).round(2)
    lines = ["value,highest_competing_bid", *(f"{v},{price}" for v, price in auctions)]

    def call() -> None:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            Path("log.csv").write_text("\n".join(lines), encoding="utf-8")
            with contextlib.suppress(SystemExit):
                app(["replay", "log.csv", "--seeds", "1"])  # the others enter the same files

    return call


def main() -> None:
    """Make the call that is named on the command line, and print the walk."""
    call = {"simulate": _simulate, "replay": _replay}[sys.argv[1]]()
    walk = _Walk()
    sys.setprofile(walk)
    try:
        call()
    finally:
        sys.setprofile(None)
    for above, below in walk.calls:
        print("walk", above, "->", below)
    files = {below for _, below in walk.calls}
    print(len(files), "files:", packages(sorted(files)))


if __name__ == "__main__":
    main()
