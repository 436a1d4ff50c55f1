"""Run all checks or some of them, on several cores, and write their page."""

from __future__ import annotations

import os
import re
from functools import partial
from typing import TYPE_CHECKING

from crossbandit.algorithms import Algorithm
from crossbandit.core.backends import open_pool
from crossbandit.core.report import check_folder, csv_text, render, write_files
from crossbandit.core.validation import integer, reject
from crossbandit.errors import InvalidParameterError
from crossbandit.verify.theory import decomposition, implementation, rates
from crossbandit.verify.theory.declared import verify_declared
from crossbandit.verify.theory.statements import (
    CheckProgress,
    CheckResult,
    Effort,
    Statement,
    Subject,
    proofs_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

# Every check, in the order of the paper.
STATEMENTS = (
    Statement(rates.regret_has_the_rate, ("Theorem 1: the rate in T, in alpha and in M",)),
    Statement(rates.regret_is_below_the_proved_bound, ("Theorem 1: the machine-checked bound",)),
    Statement(
        implementation.learner_is_algorithm_1,
        ("Proposition 2", "Equation 1", "Algorithm 1", "Section 3.1: mean of lhat"),
    ),
    Statement(rates.algorithm_1_has_its_bound, ("Proposition 2: bound",)),
    Statement(
        implementation.learner_is_algorithm_2,
        (
            "Equation 2",
            "Equation 3",
            "Algorithm 2",
            "Section 3.3: q, the fallback, s_{e+2} = p_{eL}, lhat and b, W_e and j_e",
            "Appendix A: law of the retained output",
        ),
    ),
    Statement(decomposition.terms_add_up, ("Section 4: pair reduction and regret decomposition",)),
    Statement(
        implementation.compiled_loop_is_algorithm_2, ("Algorithm 2: the compiled simulation",)
    ),
)


def verify(
    subject: Algorithm | None = None,
    effort: Effort = Effort.QUICK,
    *,
    only: str = "",
    jobs: int | None = None,
    progress: Callable[[CheckProgress], None] | None = None,
) -> list[CheckResult]:
    """Check the paper's statements on Algorithm 2, or another algorithm by its declared estimator.

    If `subject` is a `CrossGraph`, it is compared with the paper. Any other algorithm must declare
    its estimator (`Algorithm.estimator`). Then everything that it can do on tiny instances is
    enumerated. Its policies must be FTRL on its estimates. What a round adds must have the declared
    mean, variance and second moment, with prompt and late feedback.

    Args:
        subject: The algorithm under test; None means `CrossGraph()`.
        effort: How much to compute.
        only: Check only parts of the paper whose names contain this text, such as "Equation 2". For
            another algorithm, return only lines that contain it.
        jobs: The number of processes; None means one for each core. Other algorithms are checked in
            this process.
        progress: Called with the number of finished checks after each group of checks.

    Returns:
        The results in the order of the paper. A check that ends with an error is a failed result.

    Raises:
        InvalidParameterError: An argument is not valid, the algorithm declares no estimator, or no
            part contains `only`.

    >>> [result.passed for result in verify(only="compiled", effort=Effort.QUICK)]
    [True, True]
    >>> from crossbandit.algorithms import Exp3IX
    >>> [result.statement for result in verify(Exp3IX(), only="policies")]
    ['Policies']
    """
    subject = Subject() if subject is None else subject
    if not isinstance(subject, Algorithm):
        reject("verify", "subject", "an algorithm", subject)
    if not isinstance(effort, Effort):
        reject("verify", "effort", "an Effort, such as Effort.QUICK", effort)
    if not isinstance(only, str):
        reject("verify", "only", "a part of the paper, such as 'Equation 2'", only)
    cores = integer("verify", "jobs", os.cpu_count() if jobs is None else jobs, at_least=1)
    if not isinstance(subject, Subject):
        return verify_declared(subject, effort, only, progress)
    chosen = _chosen(only)
    found: dict[int, list[CheckResult]] = {}
    check = partial(_check, subject=subject, effort=effort)
    with open_pool("local", min(cores, len(chosen)), None, owner="verify") as pool:
        for place, results in pool.map(check, chosen):
            found[place] = results
            if progress is not None:
                progress(CheckProgress(len(found), len(chosen)))
    ordered = [result for place in chosen for result in found[place]]
    # A check may cover several lemmas: return the requested ones, and those that failed.
    named = [only.lower() in result.statement.lower() for result in ordered]
    if not any(named):
        return ordered
    return [one for one, fits in zip(ordered, named, strict=True) if fits or not one.passed]


def _chosen(only: str) -> list[int]:
    """Return the wanted checks by their place in `STATEMENTS`."""
    wanted = re.compile(re.escape(only) + r"(?!\d)", re.IGNORECASE)  # Lemma 1 is not Lemma 12
    chosen = [i for i, one in enumerate(STATEMENTS) if any(map(wanted.search, one.parts))]
    if not chosen:
        parts = "; ".join(part for one in STATEMENTS for part in one.parts)
        proofs = ", ".join(map(str, proofs_of(only)))
        proved = f" It is proved, in general, in {proofs}." if proofs else ""
        raise InvalidParameterError(
            f"No checked part of the paper contains {only!r}.{proved} Checked parts: {parts}."
        )
    return chosen


def _check(place: int, subject: Subject, effort: Effort) -> tuple[int, list[CheckResult]]:
    return place, STATEMENTS[place].run(subject, effort)


# --- the page ------------------------------------------------------------------------------------

WRITTEN = ("index.html", "statements.csv")
_COLUMNS = ("statement", "checked", "instances", "worst", "passed", "judged", "note")
_STYLES = {
    "measured": "not-judged",
    "failed": "not-met",
    "could not run": "not-met",
    "passed": "met",
}


def write(
    results: Sequence[CheckResult],
    folder: Path,
    facts: Iterable[tuple[str, str]],
    subject: str = "",
) -> list[Path]:
    """Write the page, and the same lines as CSV, into a new folder or that of an earlier page.

    `facts` say how the page was made; `subject` is the algorithm, "" for that of the paper.
    """
    check_folder(folder, WRITTEN, "an earlier verify")
    rows = ([getattr(result, name) for name in _COLUMNS] for result in results)
    texts = (page(results, facts, subject), csv_text(_COLUMNS, rows))
    return write_files(folder, dict(zip(WRITTEN, texts, strict=True)))


def page(
    results: Sequence[CheckResult], facts: Iterable[tuple[str, str]], subject: str = ""
) -> str:
    """Return the page."""
    charts = [result.figure for result in results if result.figure is not None]
    return render(
        "crossbandit.verify.theory",
        "verify.html",
        title=f"{subject}: estimates and regret" if subject else "The paper's statements, checked",
        subject=subject,
        kind="verification",
        charts={f"chart-{i}": [chart] for i, chart in enumerate(charts)},
        tally=tally(results),
        lines=[(one, _STYLES[one.verdict], one.verdict) for one in worst_first(results)],
        facts=list(facts),
    )


def worst_first(results: Sequence[CheckResult]) -> list[CheckResult]:
    """Return the checks that failed, those that could not run, and the others in their order."""
    places = {"failed": 0, "could not run": 1}
    return sorted(results, key=lambda one: places.get(one.verdict, len(places)))


def tally(results: Sequence[CheckResult]) -> str:
    """Return how many checks passed, failed and could not run, in a sentence."""
    judged = [result.verdict for result in results if result.judged]
    bad = {word: judged.count(word) for word in ("failed", "could not run")}
    said = f"{len(judged) - sum(bad.values())} of {len(judged)} checks passed"
    said += "".join(f", {count} {word}" for word, count in bad.items() if count)
    return f"{said}."
