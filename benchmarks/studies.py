"""Studies: what a second worker brings, and how many cells a second a study gets through."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Result
from crossbandit import studies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.core.backends import BackendName

# Over a minute of single-core work: runs of the paper's size, as a sweep has them, and long ones.
STUDY = """
[study]
name = "two workers"
[[part]]
name = "sweep"
seeds = "0..249"
horizon = 10000
algorithms = ["cross-graph", "schneider-zimmert", "per-context-graph", "per-context-exp3"]
environments = [{ name = "paper-benchmark", alpha = [1, 2, 4, 8] }]
[[part]]
name = "long"
seeds = "0..39"
horizon = 1000000
algorithms = ["cross-graph"]
environments = [{ name = "paper-benchmark", alpha = 4 }]
"""
BAR = 1.7
LEAST_SECONDS = 60.0
# Cells a second of the paper's evaluation, with the start of the workers: how, and at least what.
PACES: dict[str, tuple[BackendName, int, float]] = {
    "one process": ("local", 1, 100),
    "two local workers": ("local", 2, 150),
    "Dask, two workers": ("dask", 2, 100),
    "Ray, two workers": ("ray", 2, 100),
}


def results() -> Iterator[Result]:
    """Measure a study on one worker and on two, started and stopped with it."""
    study = studies.Study.from_toml(STUDY)
    one = _seconds(study, jobs=1)
    two = _seconds(study, jobs=2)
    if one < LEAST_SECONDS:
        raise RuntimeError(f"The study took {one:.0f} s on one worker: make it longer.")
    name = f"two local workers against one, {len(study.cells)} cells"
    note = f"{one:.0f} s on one"
    yield Result(name, one / two, BAR, "times faster", at_least=True, note=note)
    for title, (backend, jobs, aim) in PACES.items():
        pace = cells_per_second(backend, jobs)
        yield Result(f"cells a second, {title}", pace, aim, "", at_least=True)


def cells_per_second(backend: BackendName = "local", jobs: int = 2) -> float:
    """Return the pace of the paper's evaluation, 2400 short cells, from start to stop."""
    study = studies.shipped("paper")
    return len(study.cells) / _seconds(study, jobs=jobs, backend=backend)


def _seconds(study: studies.Study, *, jobs: int, backend: BackendName = "local") -> float:
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        summary = studies.run(study, Path(folder), jobs=jobs, backend=backend)
        seconds = time.perf_counter() - began
    if summary.computed != len(study.cells):
        raise RuntimeError(f"Only {summary.computed} of {len(study.cells)} cells were computed.")
    return seconds
