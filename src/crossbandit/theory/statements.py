"""What a check of the paper returns, and the list of all checks.

A check takes the algorithm under test, so that a wrong one can be put in its place, and an effort;
it yields one outcome for each line that `crossbandit verify` prints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from crossbandit import report
from crossbandit.algorithms import CrossGraph

if TYPE_CHECKING:
    from crossbandit.errors import CheckFailedError

Subject: TypeAlias = CrossGraph
"""The algorithm under test. A check sets its parameters with `dataclasses.replace`."""


# A check may return a chart for the page.
Figure = report.Chart
Series = report.Series
Shape = report.Shape


class Effort(Enum):
    """How long a check may look: seconds, or minutes."""

    QUICK = "quick"
    FULL = "full"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One line of `crossbandit verify`."""

    statement: str  # by its number in the paper: "Lemma 9 (joint product stability)"
    checked: str  # what was compared, in words
    instances: int
    worst: str  # the worst case, readable: "largest ratio 0.93", "largest difference 2e-16"
    passed: bool
    note: str = ""  # a reading, a smallest counterexample, the smallest constant that held
    figure: Figure | None = None
    judged: bool = True  # if False, the paper says nothing here: `note` has the reason
    as_written: bool = True  # if False, `note` has a counterexample, and a correction was checked


def departed(name: str, error: CheckFailedError) -> Outcome:
    """Return the outcome of a check that ended because the learner left the algorithm."""
    return Outcome(
        statement=name,
        checked="the learner's policies, against Algorithm 2",
        instances=1,
        worst="the learner is not Algorithm 2",
        passed=False,
        note=str(error),
    )


Check: TypeAlias = Callable[[Subject, Effort], Iterator[Outcome]]


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A check, and the parts of the paper that it covers."""

    order: int
    parts: tuple[str, ...]
    check: Check


_STATEMENTS: list[Statement] = []


def statement(order: int, *parts: str) -> Callable[[Check], Check]:
    """Register a check of `parts` of the paper; a decorator.

    `order` is the place in the paper: ten times the number of the theorem, proposition or lemma
    (they share one counter), and something between for what has no number of its own.
    """

    def register(check: Check) -> Check:
        _STATEMENTS.append(Statement(order=order, parts=parts, check=check))
        return check

    return register


def all_statements() -> tuple[Statement, ...]:
    """Return every registered check, in the paper's order."""
    return tuple(sorted(_STATEMENTS, key=lambda known: known.order))
