"""Checks, their results, and the machine-checked theorems behind them.

A check takes the algorithm under test and an effort. Tests pass wrong algorithms. A check yields a
result for each line that `crossbandit verify` prints.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from crossbandit.algorithms import CrossGraph
from crossbandit.errors import CheckFailedError

if TYPE_CHECKING:
    from crossbandit.core.report import Chart

Subject: TypeAlias = CrossGraph
"""The algorithm under test. A check sets its parameters with `dataclasses.replace`."""


class Effort(Enum):
    """How much a check may compute.

    Attributes:
        QUICK: Fewer instances and shorter runs: seconds.
        FULL: Minutes.
    """

    QUICK = "quick"
    FULL = "full"


class CheckProgress(NamedTuple):
    """The progress of `verify`.

    Attributes:
        done: How many checks are done.
        total: How many there are.
    """

    done: int
    total: int


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """The result of one check: one line of `crossbandit verify`.

    Attributes:
        statement: The statement by its number in the paper: "Lemma 9 (joint product stability)".
        checked: What was compared, in words.
        instances: The number of instances.
        worst: The worst case, as text: "left/right at most 0.93", "largest difference 2e-16".
        passed: Whether the statement held in all instances.
        note: An interpretation, the smallest constant that held, or an error.
        figure: A figure to show beside the line, or None.
        judged: False if the paper makes no statement here; `note` has the reason.
        ran: Whether the check came to its end. If not, `note` has the error.
    """

    statement: str
    checked: str
    instances: int
    worst: str
    passed: bool
    note: str = ""
    figure: Chart | None = None
    judged: bool = True
    ran: bool = True

    @property
    def verdict(self) -> str:
        """The result in a word: "passed", "measured", "failed" or "could not run"."""
        if not self.judged:
            return "measured"
        if self.passed:
            return "passed"
        return "failed" if self.ran else "could not run"

    @property
    def proofs(self) -> tuple[Proof, ...]:
        """The machine-checked theorems behind this line; none if there is no proof in Coq."""
        return proofs_of(self.statement) if self.judged else ()


Check: TypeAlias = Callable[[Subject, Effort], Iterator[CheckResult]]


class Statement(NamedTuple):
    """A check, and the parts of the paper that it covers."""

    check: Check
    parts: tuple[str, ...]

    def run(self, subject: Subject, effort: Effort) -> list[CheckResult]:
        """Return the results of the check; if it raises an error, the last result says so."""
        return until_error(
            self.check(subject, effort),
            CheckResult(
                statement=self.parts[0],
                checked="whether the learner can be run as Algorithm 2",
                instances=1,
                worst="the learner is not Algorithm 2",
                passed=False,
            ),
        )


def until_error(results: Iterator[CheckResult], failure: CheckResult) -> list[CheckResult]:
    """Return results. If an error ends them, the last is `failure`, with what was raised."""
    found = []
    try:
        for result in results:
            found.append(result)  # noqa: PERF402 - those before an error count
    except Exception as error:  # noqa: BLE001 - any error of a wrong algorithm is a result
        found.append(failed(failure, error))
    return found


def failed(failure: CheckResult, error: Exception) -> CheckResult:
    """Return `failure` with a note that says what was raised, and where."""
    if isinstance(error, CheckFailedError):
        return replace(failure, note=str(error))
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}, line {frame.lineno}"
    note = f"{type(error).__name__}: {error} ({place})"
    return replace(failure, worst="the check ended with an error", note=note, ran=False)


ROUNDING = 1e-12
"""Two sides that are equal in the paper may differ by this much in floating point."""


class Differences:
    """The largest difference between two sides that must be equal."""

    def __init__(self, rounding: float = ROUNDING) -> None:
        self.rounding = rounding
        self.instances = 0
        self.worst = 0.0

    def compare(self, left: Any, right: Any) -> None:
        """Compare two numbers, or two arrays of the same shape, number by number."""
        gaps = np.abs(np.asarray(left, dtype=np.float64) - np.asarray(right, dtype=np.float64))
        self.instances += gaps.size
        largest = float(gaps.max())
        # NaN is equal to nothing.
        self.worst = max(self.worst, np.inf if np.isnan(largest) else largest)

    def result(self, statement: str, checked: str, note: str = "") -> CheckResult:
        """Return the line of the report."""
        return CheckResult(
            statement=statement,
            checked=checked,
            instances=self.instances,
            worst=f"largest difference {self.worst:.1e}" if self.worst else "no difference",
            passed=self.instances > 0 and self.worst <= self.rounding,
            note=note,
        )


# --- machine-checked theorems --------------------------------------------------------------------

PROVED_BOUND = "Theorem 1 (machine-checked bound)"
"""The name of the line of `verify` that gives the bound as a number."""


class Proof(NamedTuple):
    """A theorem of the Coq development in `proofs/`."""

    file: str  # the file, such as "Stability.v"
    theorem: str  # the name of the theorem in it

    def __str__(self) -> str:
        return f"proofs/{self.file}, {self.theorem}"


# The beginning of a line of `verify`, or of the name of what it has no line for; a file; theorems
# in it. Some are proved in a corrected or stronger form: proofs/README.md has the differences. A
# test checks that each theorem exists in `proofs/`.
_PROOFS = (
    ("Theorem 1 (machine-checked", "Main.v", "theorem1_explicit"),
    ("Theorem 1, in T (theorem's rule)", "Tuning.v", "theorem_tuning"),
    ("Proposition 2", "Main.v", "proposition2"),
    ("Equation 2", "Ftrl.v", "equation2_softmax_argmin"),
    ("Equation 3", "Retention.v", "equation3_retained"),
    ("Lemma 3", "Concentration.v", "lemma3_freedman"),
    ("Lemma 4", "GraphInverse.v", "lemma4_printed"),
    ("Lemma 5", "Stability.v", "lemma5_exp3_update"),
    ("Lemma 6", "Selector.v", "lemma6_selector"),
    ("Lemma 7", "Snapshots.v", "lemma7_special_odds"),
    ("Equation 4", "RandomDenominators.v", "equation4_ratio_first"),
    ("Equation 5", "RandomDenominators.v", "equation5_ratio_second"),
    ("Appendix C", "GoodEvents.v", "P_F P_L P_S good_F"),
    ("Equation 7", "GoodEvents.v", "good_L"),
    ("Lemma 8", "Stability.v", "lemma8_snapshot"),
    ("Lemma 8", "Snapshots.v", "lemma8_no_fallback"),
    ("Appendix E", "Snapshots.v", "appendixE_graph_sum"),
    ("Lemma 9", "Stability.v", "lemma9_product lemma9_special_first lemma9_special lemma9_crude"),
    ("Lemma 10", "OnePair.v", "lemma10_bias1"),
    ("Lemma 11", "Biases.v", "lemma11_bias2_regular"),
    ("Lemma 12", "Biases.v", "lemma12_bias3_regular"),
    ("Lemma 13", "Corrections.v", "lemma13_last_step_fails"),
    ("Lemma 13", "Biases.v", "lemma13_bias4_regular"),
    ("Lemma 14", "Biases.v", "lemma14_bias4_special"),
    ("Lemma 15", "Corrections.v", "lemma15_sign_fails lemma15_signs"),
    ("Lemma 15", "Biases.v", "lemma15_cancellation"),
    ("Lemma 16", "Ftrl.v", "lemma16_ftrl_shift"),
    ("Appendix K", "LocalNorms.v", "quad_mean"),
    ("Appendix L", "Assembly.v", "algorithm2_regret"),
)


def proofs_of(statement: str) -> tuple[Proof, ...]:
    """Return the machine-checked theorems about a statement, such as "Lemma 4 (graph inverse)"."""
    return tuple(
        Proof(file, theorem)
        for beginning, file, theorems in _PROOFS
        if statement.startswith(beginning) and not statement[len(beginning) :][:1].isdigit()
        for theorem in theorems.split()
    )
