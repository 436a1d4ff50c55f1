"""What the README and the start page claim, and what shows it: a test, a measurement, a theorem."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks import records
from benchmarks.numbers import NUMBER
from crossbandit.algorithms import registered
from tests.pages import blocks, without_code

ROOT = Path(__file__).parents[1]
README, START = "README.md", "docs/index.md"
WORDS = 600
ONCE = "tests/applications/test_settled_once.py::test_a_usual_outcome_counts_once"
LATE = "tests/applications/test_over_laws.py::test_late_and_unordered_outcomes_give_the_same_counts"
PROOF = "tests/proofs/test_link.py::test_the_learner_is_the_one_of_the_theorem"
CLAIMS = (
    (README, "it counts once", ONCE),
    (README, "may come hours later, in another process or after a restart", LATE),
    (README, "assumes that prices are drawn at random", "benchmarks markets"),
    (README, "a Kaplan-Meier estimate is as good", "benchmarks peers"),
    (START, "It needs NumPy only", "tests/test_installation.py::test_a_learner_needs_numpy_only"),
    (README, "one of 24 algorithms", "tests/test_claims.py::test_the_number_of_algorithms"),
    (README, "checked by Coq of three of the algorithms", PROOF),
    (README, "has a regret of", "proofs/Statement.v"),
    (START, "every other bid", "tests/applications/test_rules.py"),
    (
        START,
        "plays the same arms as a literal transcription",
        "tests/algorithms/test_parity.py",
    ),
    (START, "The two main theorems of the paper are machine-checked", "proofs/Statement.v"),
    (START, "simulated rounds a second on one core", "benchmarks core"),
    (START, "from a client of the service", "benchmarks service"),
    (
        START,
        "even if outcomes are late or lost",
        "tests/limits/test_overspend.py::test_nothing_is_overspent_in_ten_thousand_worlds",
    ),
    (
        START,
        "the old one or the new one, never half of each",
        "tests/core/test_files.py::test_the_old_file_stays_until_the_new_one_is_complete",
    ),
)


def text_of(page: str) -> str:
    """Return the text of a page, without code, comments, marks and the targets of links."""
    text = without_code((ROOT / page).read_text(encoding="utf-8"))
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    return " ".join(re.sub(r"\[([^]]*)\]\([^)]*\)|[*]", r"\1", text).split())


@pytest.mark.parametrize(("page", "claim", "shown_by"), CLAIMS)
def test_what_is_claimed_is_shown(page: str, claim: str, shown_by: str) -> None:
    assert claim in text_of(page)
    if shown_by.startswith("benchmarks "):
        assert shown_by.removeprefix("benchmarks ") in {one.group for one in records.load()}
    else:
        path, _, name = shown_by.partition("::")
        assert f"def {name}" in (ROOT / path).read_text() if name else (ROOT / path).exists()


@pytest.mark.parametrize("page", [README, START])
def test_every_number_with_a_unit_was_measured(page: str) -> None:
    unmeasured = NUMBER.sub("", (ROOT / page).read_text(encoding="utf-8"))
    assert re.findall(r"\d[\d.,]* (?:times|million|/s|us|ms|%)", without_code(unmeasured)) == []


def test_the_number_of_algorithms() -> None:
    own = [one for one in registered().values() if one.__module__.startswith("crossbandit.")]
    assert f"one of {len(own)} algorithms" in text_of(README)


def test_the_readme_is_short() -> None:
    assert len(re.findall(r"\w[\w'.,/-]*", text_of(README))) <= WORDS


def test_the_first_example_prints_what_the_pages_show(capsys: pytest.CaptureFixture[str]) -> None:
    example, again = (
        next(one.text for one in blocks(ROOT / page) if one.kind == "python")
        for page in (README, START)
    )
    assert example == again
    exec(compile(example, README, "exec"), {})  # noqa: S102
    printed = capsys.readouterr().out
    for page in (README, START):
        assert f"```text\n{printed}```" in (ROOT / page).read_text(encoding="utf-8")


def test_the_best_bid_of_the_readme_is_the_best() -> None:
    shares = np.arange(0, 1, 1e-4)
    chances = np.cumsum(shares * (1 - shares) ** 4)  # Beta(2, 5), up to a factor
    bids = 8 * shares
    best = bids[np.argmax((9 - bids) * chances)]
    for page in (README, START):
        assert f"the best bid for a value of 9 is {best:.2f}" in text_of(page)
