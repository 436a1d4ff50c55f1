"""The page of measurements says what runs have measured, and nothing else."""

import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from benchmarks import bare as sources
from benchmarks import numbers, numpy_cross_graph, records, tables
from benchmarks.building import bare
from benchmarks.measure import Result
from crossbandit import CrossGraph, environments, simulate
from crossbandit.core.streams import stream

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
 price distribution      12 ± 3

 10 % of value    1 ± 1
± is an interval; paid is the
average price of a win.
 strategy   difference
 best           −3
95 % intervals over time.
Prices are correlated with values here: much.
"""
    found = tables.cut_out(printed)
    shown = "strategy      surplus\n─────────────────────\nprice distribution      12 ± 3"
    assert found["replay-strategies"] == f"```text\n{shown}\n```\n"
    assert found["replay-differences"] == "```text\nstrategy   difference\nbest           −3\n```\n"
    assert found["replay-note"] == "```text\nPrices are correlated with values here: much.\n```\n"

    line = f"{tables.STATEMENT} (x): passed\n    3 instances"
    cut = tables.statement(f"Checking ...\n{line}\nAnother: passed\n    2 instances\n")
    assert cut == f"```text\n{line}\n```\n"


@pytest.mark.parametrize("group", records.GROUPS)
def test_every_group_can_be_run(group: str) -> None:
    if group != "peers":  # which needs other libraries
        assert callable(import_module(f"benchmarks.{group}").results)


def test_numpy_for_the_contexts_that_are_played_plays_the_same_arms() -> None:
    environment = environments.paper_benchmark(600, alpha=4)
    parameters = CrossGraph().parameters(environment.problem)
    table = np.array([environment.losses(t) for t in range(600)])
    contexts = environment.context_distribution.draw(stream(3, "contexts"), 600)
    uniforms = stream(3, "learner").random(1200)
    adjacency = environment.problem.graph.adjacency
    found = numpy_cross_graph.run(adjacency, table, contexts, uniforms, parameters)
    np.testing.assert_array_equal(found, simulate(CrossGraph(), environment, seed=3).arms)


def test_bare_loops_do_what_their_sources_say() -> None:
    rng = np.random.default_rng(0)
    values, cells = rng.random(200), rng.integers(0, 7, 200)
    found = []
    for module in (bare(), sources):
        out = np.empty(200, dtype=np.int64)
        module.pooled(values, cells, np.linspace(0, 1, 6), np.zeros((3, 7)), out)
        check = module.softmaxes(values, np.full((1, 5), 0.5), 2, np.empty(5))
        block = environments.paper_benchmark(20, alpha=4, contexts=30).block(0, 20)
        arms, rounds = np.arange(9), np.arange(9) * 2
        estimates = np.zeros((9, 30))
        module.add_all(block, arms, rounds, np.linspace(0.5, 1, 9), estimates)
        found.append((out.tolist(), check, module.exponentials(50), estimates.tolist()))
    assert found[0] == found[1]


def test_the_sizes_are_those_of_what_an_install_needs() -> None:
    base, command = (tables.needed(tables.PACKAGE, extra, {}) for extra in ("", "cli"))
    assert set(base) == {"numpy"}
    assert set(base) < set(command)
    assert {"typer", "duckdb", "scipy"} <= set(command)
    assert min(base.values()) > 1_000_000
