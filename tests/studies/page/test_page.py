import json
import re
from html.parser import HTMLParser
from typing import Any

import pandas as pd
import pytest

from crossbandit.core.report.text import number, percent
from crossbandit.studies import page as tables
from crossbandit.studies import paper
from crossbandit.studies.page import Report, compose, page
from tests.studies.page.frames import as_published, changed, row


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
    assert "{{" not in text.partition('<script id="data"')[0]
    reader = Reader(text)
    assert len(reader.ids) == len(set(reader.ids))
    for needed in (
        "sweep-0",
        "sweep-1",
        "spread-0",
        "spread-1",
        "curves",
        "theme",
        "live",
    ):
        assert needed in reader.ids


def test_it_contains_every_number_of_the_tables(report: Report, text: str) -> None:
    shown = Reader(text).text
    for sweep in report.sweeps:
        for entry in sweep.entries.values():
            assert entry.published is not None
            for value in (entry.summary.regret, *entry.published):
                assert number(value) in shown
            assert f"± {entry.summary.half_width:,.2f}" in shown
            assert percent(entry.difference) in shown
    for claim in report.claims:
        assert claim.measured in shown


def test_a_failure_is_on_top_and_in_the_table(text: str) -> None:
    shown = Reader(text).text
    assert "7 of 8 claims met, 1 not met" in shown
    assert shown.index("1 not met") < shown.index("Final regret")
    assert text.count('class="n outside"') == 1
    assert '<td class="n outside">+8.4 %</td>' in text


def test_its_data_is_what_the_charts_need(report: Report, text: str) -> None:
    found = data(text)
    assert found["names"] == list(report.methods)
    assert set(found["charts"]) == {"sweep-0", "sweep-1", "curves", "spread-0", "spread-1"}
    assert found["charts"].keys() <= set(Reader(text).ids)
    (sweep,) = found["charts"]["sweep-0"]
    assert [one["name"] for one in sweep["series"]] == [*report.methods, "square root"]
    assert (sweep["series"][0]["y"][0], sweep["series"][0]["details"][0]) == (
        202.87,
        ["202.87", "0.0 %"],
    )
    assert len(found["charts"]["curves"]) == 10
    curve = found["charts"]["curves"][4]
    assert curve["places"] == [5000, 10000]
    assert curve["series"][0]["y"][-1] == pytest.approx(476.33)
    (spread,) = found["charts"]["spread-0"]
    assert spread["series"][0]["others"][0] == pytest.approx([0.01, 0.02])


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
    assert "Claims of the paper" not in shown
    assert "Difference" not in shown
    assert "horizon = 100" in shown
    assert (
        "alpha = 1, arms = 2" in shown
        or "arms = 2, alpha = 1" in shown
        or "(alpha=1, arms=2)" in shown
    )
    charts = data(text)["charts"]
    assert [charts[f"sweep-{i}"][0]["shape"] for i in range(2)] == ["lines", "rows"]
    assert charts["curves"][2]["series"][0]["half"] is None


def test_paired_comparisons_and_exponents_are_in_every_report(text: str) -> None:
    shown = Reader(text).text
    assert "Paired comparisons" in shown
    assert shown.count("Each algorithm minus Ours.") == 2
    # All seeds differ by the same amount: 300.10 - 202.87.
    assert "SZ-Context 97.23 ± 0.00 < 0.001" in shown
    exponents = shown.partition("Exponents")[2].partition("Other loss tables")[0]
    # The published means have these slopes, 0.53 and 0.45 in the paper.
    assert "Ours 5 10 0.534 ± 0.00" in exponents
    assert "Ours 5 10 0.453 ± 0.00" in exponents


def test_the_lowest_mean_is_marked(text: str) -> None:
    assert text.count('<td class="n best">') == 10
    assert '<td class="n best">202.87' in text


def test_versions_are_shown_and_a_mixture_is_warned_of() -> None:
    frame = as_published(tables=())
    facts = {"crossbandit": "1.2.3", "commit": "abc123", "numpy": "2.1.0", "processor": "Zen 4"}
    frame["provenance"] = json.dumps(facts)
    shown = Reader(page(compose(frame, command="x"))).text
    for words in ("Commit abc123", "NumPy 2.1.0", "Processor Zen 4"):
        assert words in shown
    assert "Read this first" not in shown
    assert "every machine" not in shown
    assert "the same numbers with the same NumPy and processor" in shown
    frame.loc[0, "provenance"] = json.dumps({**facts, "numpy": "2.2.0", "commit": None})
    shown = Reader(page(compose(frame, command="x"))).text
    assert shown.index("Read this first") < shown.index("Claims of the paper")
    assert "They differ in: Commit, NumPy." in shown
    assert "NumPy 2.2.0, 2.1.0" in shown


def test_parameters_that_were_tuned_are_shown() -> None:
    frame = as_published(tables=())
    assert "The parameters that the algorithms ran with" not in page(compose(frame, command="x"))
    frame["parameters"] = json.dumps({"eta": 0.0123456, "epoch": 40})
    shown = Reader(page(compose(frame, command="x"))).text
    assert shown.count("eta = 0.01235, epoch = 40") == 40


@pytest.mark.parametrize(
    ("seeds", "said"),
    [
        ([0], "One table of losses for all seeds"),
        (["seed"], "A new table of losses for every seed"),
        ([0, "seed"], "paper-benchmark: one table of losses for all seeds"),
        ([], ""),
    ],
)
def test_it_says_how_many_loss_tables_there_are(seeds: list[Any], said: str) -> None:
    settings = [{"horizon": 10, "table_seed": seed} for seed in seeds] or [{"horizon": 10}]
    frame = pd.DataFrame([row("p", setting, "a", 0, 1.0) for setting in settings])
    shown = Reader(page(compose(frame, command="x"))).text
    assert ("Loss tables" in shown) == bool(said)
    assert said in shown


def test_a_failure_shows_where_it_was_raised() -> None:
    failures = pd.DataFrame(
        [
            {
                "part": "p",
                "cell": "c",
                "environment_name": "e",
                "algorithm_name": "a",
                "seed": 3,
                "error": "KeyError: 'x'",
                "location": "mine.py, line 7",
                "traceback": 'File "<mine>.py", line 7',
            }
        ]
    )
    frame = pd.DataFrame([row("p", {"horizon": 10}, "a", 0, 1.0)])
    text = page(compose(frame, command="x", failures=failures))
    assert "e, a, seed 3: KeyError: 'x' (mine.py, line 7)" in Reader(text).text
    assert "File &#34;&lt;mine&gt;.py&#34;, line 7" in text


def test_it_says_which_intervals_are_shown(text: str) -> None:
    shown = Reader(text).text
    assert "Bars are 95 % confidence intervals at 1.96 standard errors, as in the paper." in shown
    assert shown.count("seeds 200 to 209, ± the half-width of its " + tables.AS_PAPER) == 1
    assert shown.count("seeds 100 to 109, ± the half-width of its " + tables.AS_PAPER) == 1
    assert "Bands are 95 % confidence intervals by Student's t" in shown
    assert "missing" not in shown


def test_it_says_which_intervals_stand_beside_the_papers() -> None:
    frame = as_published(tables=())
    mine = frame[frame["part"] == "graph"].assign(part="mine")
    shown = Reader(page(compose(pd.concat([frame, mine]), command="x"))).text
    assert "those of runs that the paper does not have are by Student's t" in shown
    assert shown.count("its " + tables.AS_PAPER) == 2
    assert shown.count("± the half-width of its " + tables.STUDENT) == 1


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
    assert "Bars are 95 % confidence intervals by Student's t." in shown
    assert "1.96" not in shown


def test_a_name_cannot_break_out_of_the_page() -> None:
    evil = "</script><script>alert(1)</script>{{js}}"
    frame = pd.DataFrame([row("p", {"horizon": 10}, evil, 0, 1.0)])
    frame["study"] = evil
    text = page(compose(frame, command=evil))
    assert "<script>alert" not in text
    assert data(text)["names"] == [evil]
