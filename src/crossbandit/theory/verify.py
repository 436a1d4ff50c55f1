"""Run all checks or some of them, on several cores."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from crossbandit.algorithms import Algorithm
from crossbandit.errors import InvalidParameterError
from crossbandit.theory.estimates import verify_declared
from crossbandit.theory.exact import laws, means
from crossbandit.theory.lemmas import (
    algorithm_1,
    assembly,
    deterministic,
    joint,
    moments,
    one_round,
    stability,
)
from crossbandit.theory.rates import proved_bound, rate_checks
from crossbandit.theory.runs import bias_checks, events, following
from crossbandit.theory.statements import (
    CheckProgress,
    CheckResult,
    Effort,
    Statement,
    Subject,
    all_statements,
)
from crossbandit.validation import integer, reject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# Modules of one group share results that are expensive to compute. The longest groups come first,
# so that no core has to start one of them at the end.
_GROUPS = (
    (rate_checks,),
    (laws, means),
    (bias_checks,),
    (events,),
    (following,),
    (one_round,),
    (joint,),
    (stability,),
    (deterministic,),
    (moments,),
    (algorithm_1,),
    (proved_bound,),
    (assembly,),
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
    mean, variance and second moment, with prompt and late feedback. The terms of its regret must
    add up, on every path and in expectation.

    Args:
        subject: The algorithm under test; None means `CrossGraph()`.
        effort: How much to compute.
        only: Check only parts of the paper whose names contain this text, such as "Lemma 9". For
            another algorithm, return only lines that contain it.
        jobs: The number of processes; None means one for each core. Other algorithms are checked in
            this process.
        progress: Called with the number of finished checks after each group of checks.

    Returns:
        The results in the order of the paper. A check that ends with an error is a failed result.

    Raises:
        InvalidParameterError: An argument is not valid, the algorithm declares no estimator, or no
            part contains `only`.

    >>> [result.passed for result in verify(only="Lemma 5")]
    [True]
    >>> from crossbandit.algorithms import Exp3IX
    >>> [result.statement for result in verify(Exp3IX(), only="penalty")]
    ['Penalty']
    """
    subject = Subject() if subject is None else subject
    if not isinstance(subject, Algorithm):
        reject("verify", "subject", "an algorithm", subject)
    if not isinstance(effort, Effort):
        reject("verify", "effort", "an Effort, such as Effort.QUICK", effort)
    if not isinstance(only, str):
        reject("verify", "only", "a part of the paper, such as 'Lemma 9'", only)
    cores = integer("verify", "jobs", os.cpu_count() if jobs is None else jobs, at_least=1)
    if not isinstance(subject, Subject):
        return verify_declared(subject, effort, only, progress)
    groups = _groups(only)
    total = sum(map(len, groups))
    workers = min(cores, len(groups))
    found: dict[int, list[CheckResult]] = {}
    for results in _results(groups, subject, effort, workers):
        found |= results
        if progress is not None:
            progress(CheckProgress(len(found), total))
    ordered = [result for place in sorted(found) for result in found[place]]
    # A check may cover several lemmas: return the requested ones, and those that failed.
    named = [only.lower() in result.statement.lower() for result in ordered]
    if not any(named):
        return ordered
    return [one for one, fits in zip(ordered, named, strict=True) if fits or not one.passed]


def _groups(only: str) -> list[list[int]]:
    """Return the wanted checks by their place in `all_statements`, group by group."""
    statements = all_statements()
    wanted = [i for i, one in enumerate(statements) if _matches(one, only)]
    if not wanted:
        parts = "; ".join(part for statement in statements for part in statement.parts)
        raise InvalidParameterError(
            f"No checked part of the paper contains {only!r}. Checked parts: {parts}."
        )
    groups = []
    for modules in _GROUPS:
        names = {module.__name__ for module in modules}
        group = [i for i in wanted if statements[i].check.__module__ in names]
        if group:
            groups.append(group)
    return groups


def _matches(one: Statement, only: str) -> bool:
    # "Lemma 1" must not find Lemma 12.
    wanted = re.compile(re.escape(only) + r"(?!\d)", re.IGNORECASE)
    return any(wanted.search(part) for part in one.parts)


def _results(
    groups: Sequence[Sequence[int]], subject: Subject, effort: Effort, workers: int
) -> Iterator[dict[int, list[CheckResult]]]:
    if workers == 1:
        for group in groups:
            yield _check(group, subject, effort)
        return
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=workers, return_as="generator_unordered", batch_size=1)
    yield from parallel(delayed(_check)(group, subject, effort) for group in groups)


def _check(group: Sequence[int], subject: Subject, effort: Effort) -> dict[int, list[CheckResult]]:
    statements = all_statements()
    return {i: statements[i].run(subject, effort) for i in group}
