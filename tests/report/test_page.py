import json
import re
from html.parser import HTMLParser
from typing import Any

import pandas as pd
import pytest

from crossbandit.report import Report, compose, paper, tables
from crossbandit.report.page import page
from tests.report.frames import as_published, changed, row


class Reader(HTMLParser):
    """Collects what a browser would load, the ids, and the visible text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.words: list[str] = []
        self.ids: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open.append(tag)
        values = dict(attrs)
        self.loads += [v for k, v in attrs if k in {"src", "href", "srcset", "action"} and v]
        if values.get("id"):
            self.ids.append(str(values["id"]))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] not in {"script", "style"}:
            self.words.append(data)

    @property
    def text(self) -> str:
        text = re.sub(r"\s+", " ", " ".join(self.words))
        return text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")


@pytest.fixture(scope="module")
def report() -> Report:
    return compose(as_published(changed("graph", 3, paper.GRAPH, 2500.0)), command="crossbandit x")


@pytest.fixture(scope="module")
def text(report: Report) -> str:
    return page(report)


def data(text: str) -> Any:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.DOTALL)
    assert found
    return json.loads(found[1])


def test_it_loads_nothing(text: str) -> None:
    assert [link for link in Reader(text).loads if not link.startswith(("#", "data:"))] == []
    assert "default-src 'none'" in text
    addresses = set(re.findall(r"https?://[^\"'\s)]+", text))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name, not a place
    assert not re.search(r"@import|url\((?!#)|\bfetch\(|XMLHttpRequest|\bimport\(", text)


def test_it_is_complete_and_well_formed(text: str) -> None:
    assert "{{" not in text
    reader = Reader(text)
    assert len(reader.ids) == len(set(reader.ids))
    for needed in (
        "sweep-0",
        "sweep-1",
        "spread-0",
        "spread-1",
        "curves",
        "point",
        "theme",
        "live",
    ):
        assert needed in reader.ids


def test_it_contains_every_number_of_the_tables(report: Report, text: str) -> None:
    shown = Reader(text).text
    for sweep in report.sweeps:
        for entry in sweep.entries.values():
            assert entry.published is not None
            for number in (entry.summary.regret, *entry.published):
                assert tables.number(number) in shown
            assert f"± {entry.summary.half_width:,.2f}" in shown
            assert tables.percent(entry.difference) in shown
    for verdict in report.verdicts:
        assert verdict.measured in shown


def test_a_failure_is_on_top_and_in_the_table(text: str) -> None:
    shown = Reader(text).text
    assert "7 of 8 claims met, 1 not met" in shown
    assert shown.index("1 not met") < shown.index("Final regret")
    assert text.count('class="n outside"') == 1
    assert '<td class="n outside">+8.4 %</td>' in text


def test_its_data_is_what_the_charts_need(report: Report, text: str) -> None:
    found = data(text)
    assert found["methods"] == list(report.methods)
    assert [len(sweep["entries"]) for sweep in found["sweeps"]] == [20, 20]
    entry = found["sweeps"][0]["entries"][0]
    assert (entry["regret"], entry["paper"]) == (202.87, 202.87)
    assert entry["difference"] == pytest.approx(0, abs=1e-12)
    assert len(found["curves"]) == 10
    curve = found["curves"][4]
    assert curve["rounds"] == [5000, 10000]
    assert curve["series"][0]["mean"][-1] == pytest.approx(476.33)
    assert len(found["spreads"]) == 40
    assert found["spreads"][0]["others"][1] == [2, pytest.approx(0.02)]


def test_it_says_how_it_was_made(text: str) -> None:
    shown = Reader(text).text
    for fact in ("crossbandit x", "Crossbandit 1.2.3", "seeds: 200 to 209", "480, with"):
        assert fact in shown


def test_the_same_results_give_the_same_page(text: str) -> None:
    again = compose(as_published(changed("graph", 3, paper.GRAPH, 2500.0)), command="crossbandit x")
    assert page(again) == text


def test_any_study_has_a_page() -> None:
    rows = [
        row("one", {"horizon": horizon}, "mine", seed, regret)
        for horizon, regret in ((100, 5.0), (200, 7.0))
        for seed in (1, 2)
    ]
    rows += [
        row("two", {"horizon": 10, "alpha": alpha, "arms": arms}, "mine", 1, 3.0)
        for alpha, arms in ((1, 2), (2, 3))
    ]
    text = page(compose(pd.DataFrame(rows), command="crossbandit report x"))
    shown = Reader(text).text
    assert "Verdicts" not in shown
    assert "Difference" not in shown
    assert "horizon = 100" in shown
    assert "paper-benchmark arms=2 alpha=1" in shown or "paper-benchmark alpha=1 arms=2" in shown
    found = data(text)
    assert [sweep["numeric"] for sweep in found["sweeps"]] == [True, False]
    assert found["curves"][2]["series"][0]["half"] is None


def test_it_says_which_intervals_are_shown(text: str) -> None:
    shown = Reader(text).text
    assert "Bars are 95 % confidence intervals at 1.96 standard errors, as in the paper." in shown
    assert shown.count("seeds 200 to 209, ± the half-width of its " + tables.AS_PAPER) == 1
    assert shown.count("seeds 100 to 109, ± the half-width of its " + tables.AS_PAPER) == 1
    assert "bands that are 95 % confidence intervals by Student's law" in shown
    assert "missing" not in shown


def test_it_says_which_intervals_stand_beside_the_papers() -> None:
    frame = as_published(tables=())
    mine = frame[frame["part"] == "graph"].assign(part="mine")
    shown = Reader(page(compose(pd.concat([frame, mine]), command="x"))).text
    assert "those of runs that the paper does not have are by Student's law" in shown
    assert shown.count(tables.AS_PAPER) == 2
    assert shown.count(tables.STUDENT) == 1


def test_it_says_which_seeds_a_column_has_and_what_is_missing() -> None:
    rows = [
        row("one", {"horizon": horizon}, name, seed, 5.0 + seed)
        for horizon in (100, 200)
        for name, seeds in (("all", 4), ("few", 2))
        for seed in range(seeds)
        if (horizon, name, seed) != (200, "few", 1)
    ]
    shown = Reader(page(compose(pd.DataFrame(rows), command="x"))).text
    assert "Mean over seeds 0 to 3 (few: 1 to 2 seeds), ± the half-width" in shown
    assert "Of 16 cells, 5 are missing: failed, or not run." in shown
    assert "Bars are 95 % confidence intervals by Student's law." in shown
    assert "1.96" not in shown


def test_a_name_cannot_break_out_of_the_page() -> None:
    evil = "</script><script>alert(1)</script>{{js}}"
    frame = pd.DataFrame([row("p", {"horizon": 10}, evil, 0, 1.0)])
    frame["study"] = evil
    text = page(compose(frame, command=evil))
    assert "<script>alert" not in text
    assert data(text)["methods"] == [evil]
