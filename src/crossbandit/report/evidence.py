"""The page of `crossbandit verify`: a line per statement of the paper, and the figures.

What is shown comes from elsewhere (the theory's checks make it); the protocol says what this page
needs of it.
"""

from __future__ import annotations

import csv
import io
import json
import math
from typing import TYPE_CHECKING, Any, Protocol

from crossbandit.report.folders import check_folder
from crossbandit.report.parts import KEYS, facts_list, figure, framed, section, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from crossbandit.report.series_figure import ChartLike

WRITTEN = ("index.html", "statements.csv")
_COLUMNS = ("statement", "checked", "instances", "worst", "passed", "judged", "as_written", "note")
_DIGITS = 6


class Evidence(Protocol):
    """What was found about one statement."""

    @property
    def statement(self) -> str: ...
    @property
    def checked(self) -> str: ...
    @property
    def instances(self) -> int: ...
    @property
    def worst(self) -> str: ...
    @property
    def passed(self) -> bool: ...
    @property
    def note(self) -> str: ...
    @property
    def figure(self) -> ChartLike | None: ...
    @property
    def judged(self) -> bool: ...
    @property
    def as_written(self) -> bool: ...


def write_evidence(
    evidence: Sequence[Evidence], folder: Path, facts: Iterable[tuple[str, str]]
) -> list[Path]:
    """Write the page and the lines as CSV into a folder; return the paths."""
    check_folder(folder, WRITTEN, "an earlier verify")
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / name for name in WRITTEN]
    for path, text in zip(paths, (evidence_page(evidence, facts), _csv(evidence)), strict=True):
        path.write_text(text, encoding="utf-8", newline="\n")
    return paths


def evidence_page(evidence: Sequence[Evidence], facts: Iterable[tuple[str, str]]) -> str:
    """Return the page as text."""
    charts = [one.figure for one in evidence if one.figure is not None]
    return framed(
        title="The paper's statements, executed",
        lead=f"{tally(evidence)} They run the algorithm of this package against what the paper "
        "says about it.",
        main=[_lines(evidence), _figures(charts), section("How it was made", facts_list(facts))],
        data=_data(charts),
        script="evidence.js",
    )


def tally(evidence: Sequence[Evidence]) -> str:
    """Return how many checks passed, failed and were corrected, in a sentence."""
    judged = [one.passed for one in evidence if one.judged]
    said = f"{sum(judged)} of {len(judged)} checks passed"
    if not all(judged):
        said += f", {judged.count(False)} failed"
    corrected = sum(not one.as_written for one in evidence)
    if corrected:
        said += f"; {corrected} {'holds' if corrected == 1 else 'hold'} in a corrected form only"
    return f"{said}."


def _lines(evidence: Sequence[Evidence]) -> str:
    names = ("Statement", "Checked", "Worst case", "Verdict")
    head = "".join(f"<th scope=col>{name}" for name in names)
    rows = "\n".join(map(_line, evidence))
    return section(
        "Statements",
        f'<table class="verdicts evidence"><thead><tr>{head}</tr></thead>',
        f"<tbody>\n{rows}\n</tbody></table>",
        note=(
            "In the order of the paper. Where the paper leaves a constant C open, the smallest C "
            "that held stands beside one for which the inequality is proved. “Corrected” means "
            "that a sentence of the paper fails as written, with a counterexample beside it, and "
            "that its correction passed; “measured”, that the paper says nothing here, and that "
            "the line does not count."
        ),
    )


def _line(one: Evidence) -> str:
    kind, verdict = _verdict(one)
    note = f'<p class="note">{words(one.note)}</p>' if one.note else ""
    instances = f"<br><small>{one.instances:,} instances</small>"
    return (
        f"<tr><th scope=row>{words(one.statement)}</th>"
        f'<td class="expected">{words(one.checked)}{note}</td>'
        f'<td class="measured">{words(one.worst)}{instances}</td>'
        f'<td class="verdict"><span class="status {kind}">{verdict}</span></td></tr>'
    )


def _verdict(one: Evidence) -> tuple[str, str]:
    """Return the look of a verdict, and its word."""
    if not one.judged:
        return "not-judged", "measured"
    if not one.passed:
        return "not-met", "failed"
    return ("met", "passed") if one.as_written else ("not-judged", "corrected")


def _figures(charts: Sequence[ChartLike]) -> str:
    if not charts:
        return ""
    places = "\n".join(
        figure(f"chart-{i}", chart.title, f"{chart.title}. {KEYS}")
        for i, chart in enumerate(charts)
    )
    body = f'<div class="panels two">{places}</div>'
    return section("Figures", body, note=f"Dashed lines are bounds or predicted orders. {KEYS}")


def _data(charts: Sequence[ChartLike]) -> str:
    """Return JSON that may stand inside a script element."""
    data = {"methods": [], "charts": [_chart(chart) for chart in charts]}
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c")


def _chart(chart: ChartLike) -> dict[str, Any]:
    return {
        "x": chart.x_label,
        "y": chart.y_label,
        "xLog": chart.x_log,
        "yLog": chart.y_log,
        "xNames": None if chart.x_names is None else list(chart.x_names),
        "stacked": chart.shape.value == "stacked",
        "series": [
            {
                "name": line.name,
                "x": _rounded(line.x),
                "y": _rounded(line.y),
                "half": None if line.half_widths is None else _rounded(line.half_widths),
                "reference": line.reference,
            }
            for line in chart.series
        ],
    }


def _rounded(values: Iterable[float]) -> list[float | None]:
    return [float(f"{x:.{_DIGITS}g}") if math.isfinite(x) else None for x in map(float, values)]


def _csv(evidence: Sequence[Evidence]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows([getattr(one, name) for name in _COLUMNS] for one in evidence)
    return text.getvalue()
