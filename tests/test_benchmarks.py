"""The page of measurements says what runs have measured, and nothing else."""

from pathlib import Path

import pytest

from benchmarks import records
from benchmarks.measure import Result

SPEED = Result("a run", 3.14159, 2.5, "times", note="2 of 3 seconds are reading")
SHARE = Result("surplus", 0.99, 0.97, "of hindsight", at_least=True)


def test_the_page_is_what_the_records_say() -> None:
    kept = records.load()
    assert kept
    assert records.PAGE.read_text(encoding="utf-8") == records.page(kept), (
        "docs/benchmarks.md was changed by hand. Run `python -m benchmarks GROUP` instead."
    )


def test_the_readme_shows_what_the_records_say() -> None:
    text = records.README.read_text(encoding="utf-8")
    assert text == records.readme(text, records.load())


def test_each_record_belongs_to_a_group() -> None:
    assert {path.stem for path in records.FOLDER.glob("*.json")} <= set(records.GROUPS)


def test_records_come_back_as_they_were_saved(tmp_path: Path) -> None:
    made = records.record("core", [SPEED, SHARE])
    records.save(made, tmp_path)
    assert records.load(tmp_path) == [made]


def test_an_aim_that_was_not_reached_is_named_with_the_reason() -> None:
    page = records.page([records.record("core", [SPEED, SHARE])])
    assert "| a run | 3.14 times | ≤ 2.5 | not reached: 2 of 3 seconds are reading |" in page
    assert "| surplus | 0.99 of hindsight | ≥ 0.97 |  |" in page


@pytest.mark.parametrize(("value", "reached"), [(0.969, False), (0.97, True), (0.98, True)])
def test_at_least_includes_the_aim(*, value: float, reached: bool) -> None:
    assert Result("share", value, 0.97, "", at_least=True).reached is reached


@pytest.mark.parametrize(("value", "reached"), [(2.6, False), (2.5, True), (2.4, True)])
def test_at_most_includes_the_aim(*, value: float, reached: bool) -> None:
    assert Result("time", value, 2.5, "").reached is reached
