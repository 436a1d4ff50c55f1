"""The page of measurements says what runs have measured, and nothing else."""

import re
from pathlib import Path

import pytest

from benchmarks import numbers, records, tables
from benchmarks.measure import Result

SPEED = Result("a run", 3.14159, 2.5, "times", note="2 of 3 seconds are reading")
SHARE = Result("surplus", 0.99, 0.97, "of hindsight", at_least=True)


def test_the_page_is_what_the_records_say() -> None:
    kept = records.load()
    assert kept
    assert records.PAGE.read_text(encoding="utf-8") == records.page(kept), (
        "docs/benchmarks.md was changed by hand. Run `python -m benchmarks GROUP` instead."
    )


@pytest.mark.parametrize("page", list(numbers.pages()), ids=lambda page: page.name)
def test_pages_show_what_was_measured(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == numbers.filled(text, records.load()), (
        f"Numbers of {page.name} were changed by hand. Run `python -m benchmarks.numbers`."
    )
    # At the start of a line, Markdown would take the comment for a block of HTML.
    assert not re.search(r"^ *<!-- measured", text, re.MULTILINE)


def test_numbers_are_filled_in() -> None:
    kept = [
        records.record("core", [SPEED, SHARE, Result("twice", 1, 1, ""), Result("twice", 1, 1, "")])
    ]
    text = "It is <!-- measured core: a run -->x<!-- end -->, "
    text += "<!-- measured core: surplus as less --><!-- end -->."
    assert re.sub(r"<!--.*?-->", "", numbers.filled(text, kept)) == "It is 3.14 times, 1 %."
    for wrong in ("core: nothing", "core: twice", "core: a run as wine", "cellar: a run"):
        with pytest.raises(numbers.UnknownNumberError):
            numbers.filled(f"<!-- measured {wrong} -->x<!-- end -->", kept)
    for wrong in ("<!-- measured core: a run -->x", "<!-- table no-such -->\n<!-- end -->"):
        with pytest.raises(numbers.UnknownNumberError):
            numbers.filled(wrong, kept)


def test_every_table_is_on_a_page() -> None:
    shown = {
        name for page in numbers.pages() for _, name in numbers.TABLE.findall(page.read_text())
    }
    assert shown == {path.stem for path in numbers.TABLES.glob("*.md")}


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


def test_the_parts_of_outputs_that_pages_show_are_cut_out() -> None:
    printed = """What each strategy would have earned
 strategy      surplus
 ─────────────────────
 price law      12 ± 3

 shading 0.10    1 ± 1
± is an interval; paid is the
average price of a win.
 strategy   difference
 best           −3
95 % intervals over time.
Prices go with values here: much.
"""
    found = tables.cut_out(printed)
    shown = "strategy      surplus\n─────────────────────\nprice law      12 ± 3"
    assert found["replay-strategies"] == f"```text\n{shown}\n```\n"
    assert found["replay-differences"] == "```text\nstrategy   difference\nbest           −3\n```\n"
    assert found["replay-note"] == "```text\nPrices go with values here: much.\n```\n"

    line = f"{tables.STATEMENT} (x): passed\n    3 instances"
    cut = tables.statement(f"Checking ...\n{line}\nAnother: passed\n    2 instances\n")
    assert cut == f"```text\n{line}\n```\n"


def test_the_sizes_are_those_of_what_an_install_needs() -> None:
    base, command = (tables.needed(tables.PACKAGE, extra, {}) for extra in ("", "cli"))
    assert set(base) == {"numpy", "numba", "llvmlite"}
    assert set(base) < set(command)
    assert {"typer", "duckdb", "scipy"} <= set(command)
    assert min(base.values()) > 1_000_000
