"""What objects show in a notebook, figures and data frames of runs, and progress."""

import io
import re
import sys
import types
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import crossbandit as cb
from crossbandit import graphs
from crossbandit.applications import FirstPriceBidder, SpamFilter
from crossbandit.core import notebook, progress
from crossbandit.environments import first_price, from_table
from crossbandit.laws import GuardedLaw, OutcomeLaw


class Elements(HTMLParser):
    """Reads HTML; raises if an element is not closed, or another one is."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.hints: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.hints += [value or "" for name, value in attrs if name == "title"]

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(thing: Any) -> str:
    page = thing._repr_html_()
    assert "<script" not in page
    assert not re.search(r"(?<!fill=')(black|white|#000|#fff)\b", page)  # legible on both
    return Elements(page).text


@pytest.fixture(scope="module")
def run() -> cb.Run:
    losses = np.random.default_rng(0).random((50, 4, 3))
    environment = from_table(losses, graphs.ring(3, 1))
    return cb.simulate(cb.CrossGraph(), environment, seed=1)


# ------------------------------------------------------------------------------------------ run


def test_a_run_shows_its_regret(run: cb.Run) -> None:
    text = shown(run)
    assert "Run · cross-graph" in text.replace("\xa0", " ")
    assert "50 rounds" in text
    assert f"regret {run.final_regret:,.1f}" in text
    assert f"loss {run.loss / 50:.3f} a round" in text
    assert "granted" not in text


def test_a_run_as_a_frame(run: cb.Run) -> None:
    frame = run.to_frame()
    assert list(frame) == [
        *("rounds", "regret", "context", "arm", "loss", "comparator_arm", "comparator_loss"),
    ]
    assert frame["rounds"].tolist() == list(range(1, 51))
    np.testing.assert_array_equal(frame["arm"], run.arms)
    np.testing.assert_allclose((frame["loss"] - frame["comparator_loss"]).cumsum(), run.regret)


def test_a_thin_run_and_feature_vectors_as_frames() -> None:
    environment = first_price(horizon=40, bids=5)
    thin = cb.simulate(cb.CrossGraph(), environment, seed=1, record="thin")
    assert list(thin.to_frame()) == ["rounds", "regret"]
    full = cb.simulate(cb.CrossGraph(), environment, seed=1).to_frame()
    assert list(full)[2:4] == ["context_0", "context_1"]
    np.testing.assert_array_equal(
        full[["context_0", "context_1"]], cb.simulate(cb.CrossGraph(), environment, seed=1).contexts
    )


def test_a_run_is_drawn(run: cb.Run) -> None:
    ax = run.plot()
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), run.regret)
    assert run.plot(ax, label="again") is ax
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["cross-graph", "again"]
    from matplotlib import pyplot as plt

    plt.close("all")


# ------------------------------------------------------------------------------- other objects


def test_a_learner_shows_its_state() -> None:
    learner = cb.CrossGraph().start(cb.Problem(graphs.ring(3, 1), contexts=2, horizon=9), seed=1)
    learner.act(0)
    assert repr(learner) == "EpochLearner(cross-graph, 1 rounds played)"
    assert "cross-graph · 1 round · 1 pending · 3 arms" in shown(learner)


def test_a_bidder_shows_its_curve_and_settings() -> None:
    bidder = FirstPriceBidder(bids=5, value_range=(0, 10), seed=1)
    bidder.bid(5.0)
    text = shown(bidder)
    assert "FirstPriceBidder · 1 decision" in text
    assert "feedback: after-loss" in text
    assert "median bid" in text
    named = FirstPriceBidder(bids=5, value_range=(0, 10), classes=("site",), seed=1)
    assert "<svg" not in named._repr_html_()  # each site has a curve of its own
    assert "info" not in shown(SpamFilter(mailboxes={"info": (5, 2)}, seed=1))
    assert "101 values" in shown(bidder.shading_curve())


def test_a_law_shows_its_chances() -> None:
    law = OutcomeLaw(np.linspace(0, 1, 11), (0, 1), seed=1)
    law.warm_up([0.5] * 20, np.linspace(0.2, 0.4, 20))
    assert repr(law) == "OutcomeLaw(11 amounts, 20 rounds learned)"
    text = shown(law)
    assert "20 rounds · 11 amounts · contexts from 0 to 1 · after-loss" in text
    assert "probability that it reaches the number, 0 to" in text
    view = law.law(0.5)
    assert f"median {view.quantile(0.5):.4g}" in shown(view)
    guarded = GuardedLaw(law)
    assert f"followed with probability {guarded.law_weight:.2f}" in shown(guarded)
    assert repr(guarded).startswith("GuardedLaw(OutcomeLaw(11 amounts")
    assert "by site" in shown(OutcomeLaw([0.0, 1.0], (0, 1), classes=("site",), seed=1))


# ---------------------------------------------------------------------------------------- cards


def test_text_is_escaped() -> None:
    parsed = Elements(notebook.card("<b>", [("a < b & c", 'it\'s "<i>"')]))
    assert parsed.text == "<b> · a < b & c"
    assert parsed.hints == ['it\'s "<i>"']


def test_a_chart_has_its_points_where_they_belong() -> None:
    line = notebook.Line("l", np.array([0.0, 5.0, 10.0]), np.array([0.0, 2.0, 4.0]))
    page = notebook.chart([line], x="x", y="y")
    points = re.findall(r"points='([^']*)'", page)[0].split()
    # x from 1 to 319, y from the bottom, 132, to the top, 18
    assert points == ["1.0,132.0", "160.0,75.0", "319.0,18.0"]
    assert "y, 0 to 4" in Elements(page).text


def test_charts_of_strange_data() -> None:
    x = np.arange(1000.0)
    long = notebook.chart([notebook.Line("l", x, x)], x="x", y="y")
    assert len(re.findall(r"points='([^']*)'", long)[0].split()) == 200
    assert "y, 0 to 999" in Elements(long).text  # the last point is kept
    gaps = notebook.Line("l", x[:4], np.array([np.nan, 1.0, np.inf, 2.0]))
    assert len(re.findall(r"points='([^']*)'", notebook.chart([gaps], "x", "y"))[0].split()) == 2
    flat = notebook.chart([notebook.Line("l", x[:1], np.zeros(1))], x="x", y="y")
    assert "nan" not in flat
    assert notebook.chart([notebook.Line("l", x[:0], x[:0])], x="x", y="y") == ""


# ------------------------------------------------------------------------------------- progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_on_a_terminal_is_rewritten_and_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN", 0.0)
    line = progress.ProgressLine()
    line.show("a long text")
    line.show("short")
    line.close()
    line.close()
    assert terminal.getvalue() == "\ra long text\r\rshort      \r\r     \r"


def test_a_line_is_not_longer_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("COLUMNS", "10")
    progress.ProgressLine().show("x" * 50)
    assert terminal.getvalue() == f"\r{'x' * 9}\r"


def test_elsewhere_there_are_lines_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    line = progress.ProgressLine()
    for text in ("first", "too soon"):
        line.show(text)
    line.show("done", last=True)
    line.close()
    assert stream.getvalue() == "first\ndone\n"


def test_a_notebook_shows_progress_below_the_cell(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.0)
    with progress.progress("rounds", 4, show=None) as tell:
        tell(0)
        tell(4)
    out, err = capsys.readouterr()
    assert "rounds [--------------------] 0 of 4\r" in out
    assert "rounds [####################] 4 of 4, 0 s left" in out
    assert err == ""
    monkeypatch.setattr(shell, "kernel", None)  # IPython in a terminal
    assert not progress.in_notebook()


def test_compilation_does_not_count_for_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 60.0, 60.0, 62.0, 70.0])  # the first ten rounds take a minute, ten more 2 s
    shown: list[str] = []
    monkeypatch.setattr(
        progress.ProgressLine, "show", lambda _, text, last: shown.append(f"{text} {last}")
    )
    monkeypatch.setattr("time.monotonic", lambda: next(times))
    with progress.progress("rounds", 100, show=True) as tell:
        for done in (0, 10, 20, 100):
            tell(done)
    assert [text.partition("] ")[2] for text in shown] == [
        "0 of 100 False",
        "10 of 100 False",
        "20 of 100, 16 s left False",
        "100 of 100, 0 s left True",
    ]


def test_without_a_standard_error_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", None)
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.0)
    with progress.progress("rounds", 4, show=None) as tell:
        tell(4)
