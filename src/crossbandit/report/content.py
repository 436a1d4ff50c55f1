"""Everything a report says, before it takes any form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crossbandit.report import paper
from crossbandit.report.claims import Status, Verdict, judge
from crossbandit.report.summaries import Summary, summarize
from crossbandit.report.sweeps import Sweep, belongs_to, generic_sweeps, paper_sweep
from crossbandit.report.variation import Spread, spreads

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Report:
    """A study's results, summarised, laid out and judged."""

    title: str
    sweeps: tuple[Sweep, ...]
    verdicts: tuple[Verdict, ...]
    spreads: tuple[Spread, ...]
    facts: tuple[tuple[str, str], ...]
    failed: tuple[str, ...] = ()  # a line for each cell that failed and is missing

    @property
    def of_paper(self) -> bool:
        """Whether the numbers stand beside the paper's."""
        return any(sweep.published is not None for sweep in self.sweeps)

    @property
    def met(self) -> bool:
        """Whether no claim failed; claims that were not judged do not count against it."""
        return all(verdict.status is not Status.NOT_MET for verdict in self.verdicts)

    @property
    def methods(self) -> tuple[str, ...]:
        """Every method of every sweep, in order of appearance."""
        return tuple(dict.fromkeys(m for sweep in self.sweeps for m in sweep.methods))


def compose(frame: pd.DataFrame, *, command: str, failures: pd.DataFrame | None = None) -> Report:
    """Make a report of a frame with one row per run; `command` is how the runs were made.

    `failures` has one row per cell that failed and is missing.
    """
    frame = frame.drop_duplicates(["part", "cell"])  # two studies in one folder may share runs
    summaries = summarize(frame)
    of_paper = _paper_sweeps(summaries)
    rest = [summary for summary in summaries if not _is_placed(summary, of_paper)]
    sweeps = (*of_paper, *generic_sweeps(rest))
    return Report(
        title="The paper's evaluation, reproduced" if of_paper else _study(frame),
        sweeps=sweeps,
        verdicts=tuple(judge(of_paper)) if of_paper else (),
        spreads=tuple(spreads(of_paper, summaries)),
        facts=_facts(frame, summaries, command),
        failed=() if failures is None else _failed(failures),
    )


def _failed(failures: pd.DataFrame) -> tuple[str, ...]:
    """Return which cells failed, and why."""
    failures = failures.drop_duplicates(["part", "cell"])
    return tuple(
        f"{row.environment_name}, {row.algorithm_name}, seed {row.seed}: {row.error}"
        for row in failures.itertuples()
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


def _facts(
    frame: pd.DataFrame, summaries: list[Summary], command: str
) -> tuple[tuple[str, str], ...]:
    """Return what was run, in words that do not depend on the machine."""
    versions = sorted({str(version) for version in frame["version"]})
    return (
        ("Command", command),
        ("Version", f"Crossbandit {', '.join(versions)}"),
        ("ArmRanges", f"{len(frame):,}, with {int(frame['horizon'].sum()):,} rounds in all"),
        *_parts(summaries),
    )


def _parts(summaries: list[Summary]) -> list[tuple[str, str]]:
    """Return one fact per part: its environments, algorithms and seeds."""
    facts = []
    for part in dict.fromkeys(summary.part for summary in summaries):
        inside = [summary for summary in summaries if summary.part == part]
        settings = {str((s.environment, sorted(s.setting.items()))) for s in inside}
        methods = {str((s.algorithm, sorted(s.parameters.items()))) for s in inside}
        seeds = sorted({seed for summary in inside for seed in summary.seeds})
        counts = [_count(len(settings), "environment"), _count(len(methods), "algorithm")]
        text = f"{' × '.join(counts)} × {_count(len(seeds), 'seed')}: {_ranges(seeds)}"
        facts.append((f"Part {part}" if part else "Grid", text))
    return facts


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _ranges(seeds: list[int]) -> str:
    """Return numbers as ranges.

    >>> _ranges([1, 2, 3, 7])
    '1 to 3, 7'
    """
    runs: list[list[int]] = []
    for seed in seeds:
        if runs and seed == runs[-1][-1] + 1:
            runs[-1].append(seed)
        else:
            runs.append([seed])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
