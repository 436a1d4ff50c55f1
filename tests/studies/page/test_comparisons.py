"""Paired tests between methods, and exponents with intervals."""

import csv
import io
import math
from collections.abc import Sequence

import pandas as pd
import pytest

from crossbandit.core.report.statistics import paired_test
from crossbandit.core.report.text import MISSING
from crossbandit.studies import page as tables
from crossbandit.studies.page import compose, overview
from crossbandit.studies.sweeps import Sweep
from tests.studies.page.frames import row


def frame(regrets: dict[str, dict[int, dict[int, float]]]) -> pd.DataFrame:
    """Return a study from regrets by algorithm, horizon and seed."""
    return pd.DataFrame(
        row("p", {"horizon": horizon}, name, seed, regret)
        for name, by_horizon in regrets.items()
        for horizon, by_seed in by_horizon.items()
        for seed, regret in by_seed.items()
    )


def test_methods_are_compared_on_the_seeds_that_both_have() -> None:
    first = {0: 10.0, 1: 20.0, 2: 30.0}
    second = {1: 21.0, 2: 33.0, 3: 99.0}
    report = compose(frame({"a": {5: first}, "b": {5: second}}), command="")
    (one,) = report.sweeps[0].comparisons
    assert (one.method, one.reference) == ("b", "a")
    assert one.test == paired_test([21.0, 33.0], [20.0, 30.0])
    assert one.adjusted == one.test.p_value


def test_all_pairs_are_compared_and_adjusted_together() -> None:
    regrets = {name: {5: {0: i, 1: 2 * i, 2: i}} for i, name in enumerate("abc", 1)}
    report = compose(frame(regrets), command="")  # type: ignore[arg-type]
    compared = report.sweeps[0].comparisons
    assert [(one.method, one.reference) for one in compared] == [("b", "a"), ("c", "a"), ("c", "b")]
    smallest = min(compared, key=lambda one: one.test.p_value)
    assert smallest.adjusted == pytest.approx(min(1, 3 * smallest.test.p_value))
    text = tables.csv_files(report.sweeps)["comparisons.csv"]
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [float(r["difference"]) for r in rows] == [one.test.difference for one in compared]
    assert [float(r["p_value_holm"]) for r in rows] == [one.adjusted for one in compared]


def test_seeds_that_do_not_meet_are_not_compared() -> None:
    report = compose(frame({"a": {5: {0: 1.0}}, "b": {5: {1: 1.0}}}), command="")
    assert report.sweeps[0].comparisons == []


def test_a_single_seed_has_a_difference_and_no_p_value() -> None:
    report = compose(frame({"a": {5: {0: 1.0}}, "b": {5: {0: 3.0}}}), command="")
    (one,) = report.sweeps[0].comparisons
    assert one.test.difference == 2.0
    assert math.isnan(one.adjusted)


def test_exponents_are_of_powers() -> None:
    regrets = {
        "root": {t: {s: (1 + s / 10) * t**0.5 for s in range(3)} for t in (100, 400, 900)},
        "line": {t: {s: (1 + s / 10) * t for s in range(3)} for t in (100, 400, 900)},
    }
    found = compose(frame(regrets), command="").sweeps[0].exponents
    assert [(one.method, one.points, one.seeds) for one in found] == [
        ("root", 3, 3),
        ("line", 3, 3),
    ]
    assert [one.estimate.value for one in found] == pytest.approx([0.5, 1.0])
    assert [one.estimate.half_width for one in found] == pytest.approx([0, 0], abs=1e-12)


def test_regret_that_is_not_positive_has_no_exponent() -> None:
    regrets = {"a": {1: {0: -1.0}, 2: {0: 1.0}}, "b": {1: {0: 1.0}, 2: {0: 2.0}}}
    report = compose(frame(regrets), command="")
    none, one = report.sweeps[0].exponents
    assert (none.method, one.method) == ("a", "b")
    assert math.isnan(none.estimate.value)
    assert none.missing == "the mean is not above 0 at horizon = 1"
    assert not one.missing
    (first, _) = csv.DictReader(io.StringIO(tables.csv_files(report.sweeps)["exponents.csv"]))
    assert (first["exponent"], first["missing"]) == ("", none.missing)
    page = tables.page(report)
    assert f"<small>{none.missing}</small>" in page
    assert 'download="exponents.csv"' in page


def ratios(sweeps: Sequence[Sweep]) -> list[list[str]]:
    table = overview(sweeps)
    assert table is not None
    assert table.head == ("algorithm", "1", "2")
    return [[cell.text for cell in row] for row in table.cells]


def test_the_overview_divides_by_the_lowest_regret_of_the_last_setting() -> None:
    report = compose(
        frame({"a": {1: {0: 9.0}, 2: {0: 6.0}}, "b": {1: {0: 1.0}, 2: {0: 3.0}}}), command=""
    )
    (sweep,) = report.sweeps
    assert overview([sweep]) is None  # one sweep: its own table says it
    assert ratios([sweep, sweep]) == [["a", "2.00", "2.00"], ["b", "1.00", "1.00"]]
    negative = compose(
        frame({"a": {1: {0: 9.0}, 2: {0: -6.0}}, "b": {1: {0: 1.0}, 2: {0: 3.0}}}), command=""
    )
    assert ratios(2 * negative.sweeps) == [[name, MISSING, MISSING] for name in "ab"]
