"""The page of `crossbandit verify`: a line per statement of the paper, and the charts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.report import check_folder, csv_text, render, write_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from crossbandit.theory.statements import CheckResult

WRITTEN = ("index.html", "statements.csv")
_COLUMNS = ("statement", "checked", "instances", "worst", "passed", "judged", "as_written", "note")


def write(
    results: Sequence[CheckResult],
    folder: Path,
    facts: Iterable[tuple[str, str]],
    subject: str = "",
) -> list[Path]:
    """Write the page, and the same lines as CSV.

    Args:
        results: What the checks found, in the order of the paper.
        folder: A new folder, or that of an earlier page.
        facts: How the page was made: pairs of a name and a value.
        subject: The algorithm, if it is checked against its declared estimator; "" for the paper's.

    Returns:
        The paths, in the order of `WRITTEN`.

    Raises:
        ResultsError: If the folder holds other files, or cannot be written.
    """
    check_folder(folder, WRITTEN, "an earlier verify")
    rows = ([getattr(result, name) for name in _COLUMNS] for result in results)
    texts = (page(results, facts, subject), csv_text(_COLUMNS, rows))
    return write_files(folder, dict(zip(WRITTEN, texts, strict=True)))


def page(
    results: Sequence[CheckResult], facts: Iterable[tuple[str, str]], subject: str = ""
) -> str:
    """Return the page.

    Args:
        results: What the checks found, in the order of the paper.
        facts: How the page was made: pairs of a name and a value.
        subject: The algorithm, if it is checked against its declared estimator; "" for the paper's.

    Returns:
        HTML. The same arguments give the same text.
    """
    charts = [result.figure for result in results if result.figure is not None]
    return render(
        "crossbandit.theory",
        "verify.html",
        title=f"{subject}: estimates and regret" if subject else "The paper's statements, checked",
        subject=subject,
        kind="verification",
        charts={f"chart-{i}": [chart] for i, chart in enumerate(charts)},
        tally=tally(results),
        lines=[(result, *_verdict(result)) for result in results],
        facts=list(facts),
    )


def tally(results: Sequence[CheckResult]) -> str:
    """Return how many checks passed, failed and were corrected, in a sentence.

    Args:
        results: What the checks found.

    Returns:
        The sentence.
    """
    judged = [result.passed for result in results if result.judged]
    said = f"{sum(judged)} of {len(judged)} checks passed"
    if not all(judged):
        said += f", {judged.count(False)} failed"
    corrected = sum(not result.as_written for result in results)
    if corrected:
        said += f"; {corrected} {'holds' if corrected == 1 else 'hold'} only in a corrected form"
    return f"{said}."


def _verdict(result: CheckResult) -> tuple[str, str]:
    """Return the style and the word for the status of a result."""
    if not result.judged:
        return "not-judged", "measured"
    if not result.passed:
        return "not-met", "failed"
    return ("met", "passed") if result.as_written else ("not-judged", "corrected")
