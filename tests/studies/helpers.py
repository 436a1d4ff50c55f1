"""Small studies, algorithms that misbehave, and the command line as a real process."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from crossbandit import studies
from crossbandit.studies import Study

# A tiny study: 2 horizons, 2 algorithms, 3 seeds.
SMALL = """
[study]
name = "small"
[[part]]
name = "one"
seeds = "5..7"
horizon = [60, 100]
algorithms = ["cross-graph", "per-context-exp3"]
[[part.environments]]
name = "paper-benchmark"
radius = 1
arms = 5
contexts = 7
"""

# Algorithms that play like per-context-exp3, if they play at all.
MISCHIEF = '''
"""Algorithms that misbehave on the seed 6."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from crossbandit.algorithms import Algorithm, PerContextExp3, register


@register
@dataclass(frozen=True, kw_only=True)
class Raising(Algorithm):
    """Raises until a file of this name exists."""

    id: ClassVar[str] = "raising"
    mended: str = ""

    def start(self, problem, *, seed):
        if getattr(seed, "entropy", seed) == 6 and not Path(self.mended or "/nowhere").exists():
            raise RuntimeError("boom")
        return PerContextExp3().start(problem, seed=seed)


@register
@dataclass(frozen=True, kw_only=True)
class Deadly(Algorithm):
    """Ends its process without a word, `times` times, counted by files in `folder`."""

    id: ClassVar[str] = "deadly"
    folder: str
    times: int = 1

    def start(self, problem, *, seed):
        if getattr(seed, "entropy", seed) == 6:
            deaths = len(list(Path(self.folder).iterdir()))
            if deaths < self.times:
                (Path(self.folder) / f"{deaths}").touch()
                os._exit(3)
        return PerContextExp3().start(problem, seed=seed)


@register
@dataclass(frozen=True, kw_only=True)
class Slow(Algorithm):
    """Takes its time."""

    id: ClassVar[str] = "slow"
    seconds: float = 0.05

    def start(self, problem, *, seed):
        time.sleep(self.seconds)
        return PerContextExp3().start(problem, seed=seed)
'''

RUN_COMMAND = "from crossbandit.cli import main; main()"


def mischief(folder: Path, algorithms: str, *, seeds: str = "0..9") -> Path:
    """Write a study of the given algorithms, and the module that registers them."""
    (folder / "mischief.py").write_text(MISCHIEF)
    path = folder / "mischief.toml"
    path.write_text(f"""
[study]
name = "mischief"
modules = ["mischief.py"]
[[part]]
seeds = "{seeds}"
horizon = 60
algorithms = [{algorithms}]
environments = [{{ name = "paper-benchmark", radius = 1, arms = 5, contexts = 7 }}]
""")
    return path


def crossbandit(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    command = [sys.executable, "-c", RUN_COMMAND, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=180)


def start(*arguments: object) -> subprocess.Popen[str]:
    """Start the command in a process of its own, and return once it has planned its cells."""
    process = subprocess.Popen(
        [sys.executable, "-c", RUN_COMMAND, *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    while "runs the code" in line:
        line = process.stderr.readline()
    assert " of " in line, line + process.stderr.read()
    return process


def content(source: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Return everything that must not depend on where and when a cell was computed.

    Which columns there are depends on the other cells, so what a cell does not have is left out.
    """
    frame = studies.load(source).drop(columns=["seconds", "provenance"])
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return {
        (row["part"], row["cell"]): {name: one for name, one in row.items() if one is not None}
        for row in rows
    }


def small() -> Study:
    """Return the tiny study."""
    return Study.from_toml(SMALL)
