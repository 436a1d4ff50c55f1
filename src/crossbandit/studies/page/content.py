"""The content of a report on a study, independent of its format."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crossbandit.studies.page import paper, provenance
from crossbandit.studies.page.claims import Claim, Status, judge
from crossbandit.studies.page.comparisons import compare, exponents
from crossbandit.studies.page.layout import study_sweeps
from crossbandit.studies.page.summaries import Summary, summarize
from crossbandit.studies.page.sweeps import Sweep, belongs_to, paper_sweep
from crossbandit.studies.page.variation import Spread, spreads

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from crossbandit.studies.page.comparisons import Comparison, Exponent


@dataclass(frozen=True)
class Failure:
    """A cell that failed and is missing.

    Attributes:
        cell: Its environment, algorithm and seed.
        error: The error, with the file and line if they are known.
        traceback: The traceback, if it is known.
    """

    cell: str
    error: str
    traceback: str = ""

    def __str__(self) -> str:
        return f"{self.cell}: {self.error}"


@dataclass(frozen=True)
class Report:
    """A study's results, summarised, laid out and judged.

    Attributes:
        title: The heading.
        sweeps: The tables and panels.
        claims: The paper's claims, if these are runs of the paper's evaluation.
        spreads: How the paper's entries vary over other loss tables.
        facts: What was run, and with which versions: pairs of a name and a value.
        warnings: Sentences that the page shows before the numbers.
        failed: The cells that failed and are missing.
        comparisons: Paired tests between methods, by the id of the sweep.
        exponents: How regret grows along the axis, by the id of the sweep.
    """

    title: str
    sweeps: tuple[Sweep, ...]
    claims: tuple[Claim, ...]
    spreads: tuple[Spread, ...]
    facts: provenance.Facts
    warnings: tuple[str, ...] = ()
    failed: tuple[Failure, ...] = ()
    comparisons: Mapping[str, list[Comparison]] = field(default_factory=dict)
    exponents: Mapping[str, list[Exponent]] = field(default_factory=dict)

    @property
    def of_paper(self) -> bool:
        """Whether numbers of the paper are shown beside those of the study."""
        return any(sweep.published is not None for sweep in self.sweeps)

    @property
    def met(self) -> bool:
        """Whether every claim that could be judged is met."""
        return all(claim.status is not Status.NOT_MET for claim in self.claims)

    @property
    def methods(self) -> tuple[str, ...]:
        """Every method of every sweep, in order of appearance."""
        return tuple(dict.fromkeys(m for sweep in self.sweeps for m in sweep.methods))


def compose(frame: pd.DataFrame, *, command: str, failures: pd.DataFrame | None = None) -> Report:
    """Make a report.

    Args:
        frame: One row per run, as `crossbandit.studies.load` returns them.
        command: The command that makes this report.
        failures: One row per cell that failed, as `crossbandit.studies.failures` returns them.

    Returns:
        The report, for `write`.

    Raises:
        InvalidInputError: The frame is empty, or a column is missing.
    """
    frame = frame.drop_duplicates(["part", "cell"])  # two studies in one folder may share runs
    summaries = summarize(frame)
    of_paper = _paper_sweeps(summaries)
    rest = [summary for summary in summaries if not _is_placed(summary, of_paper)]
    sweeps = (*of_paper, *study_sweeps(rest))
    return Report(
        title="The paper's evaluation, reproduced" if of_paper else _study(frame),
        sweeps=sweeps,
        claims=tuple(judge(of_paper)) if of_paper else (),
        spreads=tuple(spreads(of_paper, summaries)),
        facts=provenance.facts(frame, summaries, command),
        warnings=provenance.warnings(frame),
        failed=() if failures is None else _failed(failures),
        comparisons={sweep.id: compare(sweep) for sweep in sweeps},
        exponents={sweep.id: exponents(sweep) for sweep in sweeps},
    )


def _failed(failures: pd.DataFrame) -> tuple[Failure, ...]:
    failures = failures.drop_duplicates(["part", "cell"])
    return tuple(
        Failure(
            cell=f"{row['environment_name']}, {row['algorithm_name']}, seed {row['seed']}",
            error=str(row["error"]) + (f" ({row['location']})" if row.get("location") else ""),
            traceback=str(row.get("traceback") or ""),
        )
        for _, row in failures.iterrows()
    )


def _paper_sweeps(summaries: list[Summary]) -> list[Sweep]:
    """Return those of the paper's sweeps of which at least one entry was run."""
    laid_out = [paper_sweep(published, summaries) for published in paper.SWEEPS]
    return [sweep for sweep in laid_out if any(entry.published for entry in sweep.entries.values())]


def _is_placed(summary: Summary, sweeps: list[Sweep]) -> bool:
    """Return whether the paper's sweeps, or the comparison of loss tables, show these runs."""
    return any(
        summary.part == f"tables-{sweep.id}"
        or (sweep.published is not None and belongs_to(sweep.published, summary))
        for sweep in sweeps
    )


def _study(frame: pd.DataFrame) -> str:
    names = dict.fromkeys(str(name) for name in frame["study"] if str(name))
    return ", ".join(names) or "A study"
