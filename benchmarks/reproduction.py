"""The paper's evaluation from one command, against the same runs in vectorised NumPy."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.measure import Result, seconds
from crossbandit import studies
from tests.reference import cross_graph, per_context, schneider_zimmert, tuning
from tests.reference.benchmark import draw_benchmark
from tests.reference.graphs import paper_ring

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.reference.common import Floats

ARMS, CONTEXTS, ALPHA = 9, 1000, 4
ROUNDS = 1000
_COMMAND = "from crossbandit.cli import main; main()"


def results() -> Iterator[Result]:
    """Measure the whole command, from the start of Python to the written page."""
    with tempfile.TemporaryDirectory() as folder:
        before = _reference_seconds()
        command = seconds(lambda: _reproduce("--out", str(Path(folder) / "paper")))
        after = _reference_seconds()
    # The machine may be busy with something else: measured on both sides of the command.
    reference = (before + after) / 2
    yield Result(
        "crossbandit reproduce against vectorised NumPy, one process",
        command / reference,
        1 / 50,
        "of its time",
        note=f"{command:.0f} s against {reference:.0f} s",
    )


def _reproduce(*options: str) -> None:
    arguments = [sys.executable, "-c", _COMMAND, "reproduce", "--quiet", *options]
    subprocess.run(arguments, check=True)


def _reference_seconds() -> float:
    """Return how long the reference would take for all runs of the study.

    One run of each algorithm is measured; its losses are made beforehand and cost nothing. A round
    takes the same time at every horizon and on every graph.
    """
    rounds: Counter[str] = Counter()
    for cell in studies.shipped("paper").cells:
        rounds[cell.algorithm_name] += cell.horizon
    measured = {name: seconds(run) / ROUNDS for name, run in _references().items()}
    return sum(count * measured[name] for name, count in rounds.items())


def _references() -> dict[str, Callable[[], object]]:
    """Return a run of each algorithm of the study, by its name."""
    rng = np.random.default_rng(0)
    environment = draw_benchmark(rng, ARMS, CONTEXTS, ROUNDS)
    table = np.array([environment.losses(t) for t in range(ROUNDS)])
    contexts, uniforms = rng.integers(CONTEXTS, size=ROUNDS), rng.random(2 * ROUNDS)
    world = (paper_ring(ARMS, 1), _row_of(table), contexts, uniforms)
    ours = tuning.cross_graph(ALPHA, ARMS, ROUNDS)._asdict()
    theirs = tuning.schneider_zimmert(ARMS, ROUNDS)._asdict()
    eta_graph = tuning.per_context_graph(ALPHA, ARMS, CONTEXTS, ROUNDS)
    eta_exp3 = tuning.per_context_exp3(ARMS, CONTEXTS, ROUNDS)
    return {
        "cross-graph": lambda: cross_graph.run(*world, **ours),
        "schneider-zimmert": lambda: schneider_zimmert.run(*world, **theirs),
        "per-context-graph": lambda: per_context.run_graph(*world, eta=eta_graph),
        "per-context-exp3": lambda: per_context.run_exp3(*world, eta=eta_exp3),
    }


def _row_of(table: Floats) -> Callable[[int], Floats]:
    def losses(t: int) -> Floats:
        row: Floats = table[t]
        return row

    return losses
