"""`crossbandit compare`: all algorithms side by side on the paper's benchmark."""

from __future__ import annotations

import csv
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from crossbandit.algorithms import registered
from crossbandit.environments import paper_benchmark
from crossbandit.simulation import Run, simulate

if TYPE_CHECKING:
    from crossbandit.environments import PaperBenchmark

CONFIDENCE = 1.96


@dataclass(frozen=True)
class Comparison:
    """The runs of one algorithm, one per seed."""

    name: str
    runs: list[Run]
    seconds: float

    @property
    def regret(self) -> float:
        """The mean final regret."""
        return float(np.mean([run.final_regret for run in self.runs]))

    @property
    def half_width(self) -> float:
        """The half-width of its 95 % confidence interval; 0 for a single seed."""
        if len(self.runs) == 1:
            return 0.0
        finals = [run.final_regret for run in self.runs]
        return float(CONFIDENCE * np.std(finals, ddof=1) / np.sqrt(len(finals)))

    @property
    def rounds_per_second(self) -> float:
        """Rounds played in a second of simulation."""
        return sum(run.arms.size for run in self.runs) / self.seconds


def compare(
    horizon: Annotated[int, typer.Option(min=4, help="Rounds in a run.")] = 10_000,
    alpha: Annotated[
        int, typer.Option(min=1, help="Independence number of the ring: 1, 2, 3, 4 or 8.")
    ] = 4,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each algorithm.")] = 10,
    first_seed: Annotated[int, typer.Option(min=0, help="The first seed.")] = 200,
    out: Annotated[Path, typer.Option(help="Folder for the picture and the numbers.")] = Path(
        "results"
    ),
) -> None:
    """Compare the algorithms on the paper's benchmark: a table, a picture, a CSV file."""
    from crossbandit.report.curves import regret_figure  # Matplotlib takes long to load

    console = Console()
    environment = paper_benchmark(horizon, alpha=alpha)
    out.mkdir(parents=True, exist_ok=True)
    comparisons = [
        _run(name, environment, range(first_seed, first_seed + seeds), console)
        for name in registered()
    ]
    comparisons.sort(key=lambda comparison: comparison.regret)
    console.print(_table(comparisons, environment, seeds))
    figure = regret_figure(
        {comparison.name: comparison.runs for comparison in comparisons},
        title=f"Regret on the paper's benchmark, independence number {alpha}",
    )
    figure.savefig(out / "comparison.png", dpi=160)
    _write_csv(comparisons, out / "comparison.csv")
    console.print(f"Wrote {out / 'comparison.png'} and {out / 'comparison.csv'}.")


def _run(name: str, environment: PaperBenchmark, seeds: range, console: Console) -> Comparison:
    algorithm = registered()[name]()
    simulate(algorithm, environment, seed=0, show_progress=False)  # compile before the clock runs
    began = time.perf_counter()
    runs = [
        simulate(algorithm, environment, seed=seed, show_progress=False)
        for seed in track(
            seeds, description=f"{name:18}", console=console, transient=True, total=len(seeds)
        )
    ]
    return Comparison(name, runs, time.perf_counter() - began)


def _table(comparisons: list[Comparison], environment: PaperBenchmark, seeds: int) -> Table:
    problem = environment.problem
    table = Table(
        title=f"{problem.arms} arms, {problem.contexts} contexts, {problem.horizon} rounds, "
        f"independence number {problem.graph.independence_number}, {seeds} seeds",
        title_justify="left",
    )
    table.add_column("algorithm")
    table.add_column("final regret", justify="right")
    table.add_column("95 %", justify="right")
    table.add_column("rounds per second", justify="right")
    for comparison in comparisons:
        table.add_row(
            comparison.name,
            f"{comparison.regret:.1f}",
            f"± {comparison.half_width:.1f}",
            f"{comparison.rounds_per_second:,.0f}",
        )
    return table


def _write_csv(comparisons: list[Comparison], path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["algorithm", "seed", "final_regret"])
        for comparison in comparisons:
            for run in comparison.runs:
                writer.writerow([comparison.name, run.seed.entropy, repr(run.final_regret)])
