"""Checks of declared estimators by enumeration, for any algorithm of the FTRL kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from crossbandit.checks.estimator import tiny_graphs, tiny_problem
from crossbandit.errors import InvalidParameterError
from crossbandit.theory.estimates.lines import LINES, nodes_of
from crossbandit.theory.statements import CheckProgress, CheckResult, error_note
from crossbandit.validation import reject, verbatim

T = TypeVar("T")

if TYPE_CHECKING:
    from collections.abc import Callable

    from crossbandit.algorithms import Algorithm
    from crossbandit.theory.statements import Effort


def verify_declared(
    algorithm: Algorithm,
    effort: Effort,
    only: str = "",
    progress: Callable[[CheckProgress], None] | None = None,
) -> list[CheckResult]:
    """Check an algorithm against what it declares, by enumeration.

    Args:
        algorithm: An algorithm of the FTRL kind that declares its estimator.
        effort: How much to compute.
        only: Return only the lines that contain this text, and those that failed.
        progress: Called with the number of finished groups of lines.

    Returns:
        The lines. An error within a check is a line that failed.

    Raises:
        InvalidParameterError: The algorithm declares no estimator, or no line contains `only`.
    """
    for graph in tiny_graphs(algorithm):
        if algorithm.estimator(tiny_problem(graph, algorithm)) is None:
            expected = "a CrossGraph, or an algorithm that declares its estimator"
            got = verbatim(f"{algorithm}, which declares none for {graph}")
            reject("verify", "subject", expected, got)
    results: list[CheckResult] = []
    nodes = _tried(results, lambda: nodes_of(algorithm, effort))
    for done, lines in enumerate(LINES if nodes else ()):
        _tried(results, lambda lines=lines: results.extend(lines(algorithm, nodes)))  # type: ignore[misc]
        if progress is not None:
            progress(CheckProgress(done + 1, len(LINES)))
    chosen = [one for one in results if only.lower() in one.statement.lower() or not one.passed]
    if not chosen:
        names = "; ".join(one.statement for one in results)
        raise InvalidParameterError(f"No line contains {only!r}. The lines are: {names}.")
    return chosen


def _tried(results: list[CheckResult], check: Callable[[], T]) -> T | None:
    """Return the result of a check. If it ends with an error, add a line with the error."""
    try:
        return check()
    except Exception as error:  # noqa: BLE001 - any error of a wrong algorithm is a result
        results.append(_failure(error))
        return None


def _failure(error: Exception) -> CheckResult:
    """Return the line of a check that ended with an error."""
    return CheckResult(
        statement="Enumeration",
        checked="whether all that the learner can draw can be played",
        instances=1,
        worst="the check ended with an error",
        passed=False,
        note=error_note(error),
    )
