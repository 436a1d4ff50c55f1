"""The page of checked statements: every line, every chart, nothing that breaks out."""

import csv
import json
from pathlib import Path

import pytest

from crossbandit.core.report import Chart, Series, Shape
from crossbandit.verify.theory import CheckResult
from crossbandit.verify.theory.verify import page as verify_page
from crossbandit.verify.theory.verify import write

FIGURE = Chart(
    title="Regret over T",
    x_label="T",
    y_label="regret",
    series=(
        Series(name="measured", x=(1.0, 10.0), y=(2.0, float("nan")), half_widths=(0.5, 0.5)),
        Series(name="</script><b>", x=(1.0, 10.0), y=(1 / 3, 3.0), reference=True),
    ),
    x_log=True,
)
LAYERS = Chart(
    title="Terms", x_label="T", y_label="regret", series=FIGURE.series, shape=Shape.STACKED
)


def result(statement: str, **changes: object) -> CheckResult:
    values: dict[str, object] = {
        "statement": statement,
        "checked": "left <= right",
        "instances": 1234,
        "worst": "left/right at most 0.5",
        "passed": True,
    }
    return CheckResult(**{**values, **changes})  # type: ignore[arg-type]


RESULTS = [
    result("Lemma 1 (A & B)", figure=FIGURE),
    result("Lemma 2", passed=False, note="It's <false>"),
    result("Lemma 3", figure=LAYERS),
    result("Lemma 5", passed=False, ran=False, note="OverflowError"),
    result("Lemma 4", judged=False, note="The paper says nothing here."),
]
FACTS = [("Command", "crossbandit verify")]


@pytest.fixture
def page() -> str:
    return verify_page(RESULTS, FACTS)


def test_the_lead_counts_what_was_judged(page: str) -> None:
    assert "2 of 4 checks passed, 1 failed, 1 could not run." in page


def test_every_line_has_its_verdict_and_is_escaped(page: str) -> None:
    body = page.partition("<tbody>")[2].partition("</tbody>")[0]
    rows = body.split("<tr>")[1:]
    assert [row.split('class="status ')[1].split("<")[0] for row in rows] == [
        'not-met">failed',
        'not-met">could not run',
        'met">passed',
        'met">passed',
        'not-judged">measured',
    ]
    assert "Lemma 1 (A &amp; B)" in rows[2]
    assert "1,234 instances" in rows[2]
    assert "It\N{RIGHT SINGLE QUOTATION MARK}s &lt;false&gt;" in rows[0]


def test_every_figure_has_a_place_and_its_data(page: str) -> None:
    data = page.partition('<script id="data" type="application/json">')[2]
    places = json.loads(data.partition("</script>")[0])["charts"]
    assert list(places) == ["chart-0", "chart-1"]
    charts = [charts[0] for charts in places.values()]
    assert [chart["shape"] for chart in charts] == ["lines", "stacked"]
    assert charts[0]["places"] == [1, 10]
    measured = charts[0]["series"][0]
    assert (measured["y"], measured["half"]) == ([2, None], [0.5, 0.5])
    assert charts[0]["series"][1]["name"] == "</script><b>"
    assert charts[0]["series"][1]["y"][0] == 0.333333
    for i in range(2):
        assert f'id="chart-{i}"' in page
    assert 'id="chart-2"' not in page


def test_without_figures_there_is_no_section_for_them() -> None:
    assert "<h2>Figures</h2>" not in verify_page(RESULTS[1:2], FACTS)


def test_files_are_written_the_same_each_time(tmp_path: Path) -> None:
    first, second = (write(RESULTS, tmp_path / name, FACTS) for name in "ab")
    assert [path.name for path in first] == ["index.html", "statements.csv"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    with first[1].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["passed"] for row in rows] == ["True", "False", "True", "False", "True"]
    assert [row["judged"] for row in rows] == ["True", "True", "True", "True", "False"]
    assert rows[1]["note"] == "It's <false>"
