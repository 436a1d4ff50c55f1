"""Replays of the parts of a log, each by itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from crossbandit.core.backends import BackendName
from crossbandit.core.report.data import Table
from crossbandit.core.report.terminal import show
from crossbandit.errors import InvalidParameterError, LogError
from crossbandit.limits import Budget
from crossbandit.logs import AuctionLog, make_log
from crossbandit.logs.replay import LogWarning, ReplayRules, Shading, play, replay, replay_by
from crossbandit.logs.replay import page as page_of_part
from crossbandit.logs.replay.page import overview, write_by
from crossbandit.logs.replay.strategies import ALL_TOLD

SETTINGS: dict[str, Any] = {
    "rules": ReplayRules(bids=7),
    "strategies": ["cross-graph-adaptive", "best responses", Shading(0.5), "truthful"],
    "seeds": 2,
}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = make_log(tmp_path_factory.mktemp("by") / "log.csv", 600, sites=2)
    with path.open("a") as file:
        file.write("2026-02-01,x,1,site-1\n2026-02-01,1,1,lonely\n")
    return path


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_part_is_replayed_as_if_it_were_the_log(log: Path, jobs: int) -> None:
    results = replay_by(AuctionLog(log, by="site"), jobs=jobs, **SETTINGS)
    frame = pd.read_csv(log).query("value != 'x'").astype({"value": float})
    sites = frame.groupby("site").size().sort_values(ascending=False)
    assert list(results.replays) == list(sites.index[:2])
    for site, result in results.replays.items():
        alone = replay(frame[frame.site == site], **SETTINGS)
        pd.testing.assert_frame_equal(result.table(), alone.table())
    (reason,) = results.failed.values()
    assert "1 good line" in reason
    assert results.bad == 1
    assert results.faults[0].line == 602
    assert len(results.table()) == sum(len(one.outcomes) for one in results.replays.values())


def test_the_limits_of_parts_are_explained(log: Path) -> None:
    limits = [Budget(5, per=100)]
    parts = AuctionLog(log, by="site")
    results = replay_by(parts, jobs=1, limits=limits, strategies=["truthful"])
    assert "The limits hold for each site by itself" in results.notes[-1]
    assert all(one.limits is not None and one.limits.total > 5 for one in results.replays.values())


def test_the_overview_has_what_any_chart_shows_in_all_parts() -> None:
    """A chart leaves out lines where there are too many; a strategy still played there."""
    frame = pd.DataFrame({"value": 3.0, "market_price": 1.0, "ad": ["a"] * 40 + ["b"] * 2})
    results = replay_by(AuctionLog(frame, by="ad"), jobs=1, seeds=1)
    table = overview(results)
    place = table.head.index(ALL_TOLD)
    amounts = [one.outcome(ALL_TOLD).mean_surplus for one in results.replays.values()]
    texts = [float(str(row[place])) for row in table.rows]
    assert texts == pytest.approx([*amounts, sum(amounts)], abs=0.06)


def test_a_narrow_terminal_shows_which_part_a_line_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    amounts = tuple("1,234,567.0" for _ in range(6))
    head = ("site", *(f"strategy {i}" for i in range(6)))
    show(Table(head=head, rows=(("shoes", *amounts), ("books", *amounts))))
    assert {"shoes", "books"} <= set(capsys.readouterr().out.split())


def test_a_part_with_its_own_error_does_not_end_the_others() -> None:
    """The lowest bid is that of each part, so that a budget can be too small for one of them."""
    frame = pd.DataFrame(
        {"value": [3.0] * 10 + [9e6] * 2, "market_price": 1.0, "ad": ["a"] * 10 + ["b"] * 2}
    )
    settings = SETTINGS | {"limits": [Budget(5, per=None)]}
    results = replay_by(frame, by="ad", jobs=1, **settings)
    assert list(results.replays) == ["a"]
    assert "at least the lowest bid, 1500000" in results.failed["b"]
    with pytest.raises(InvalidParameterError, match="at least the lowest bid"):
        replay_by(frame[frame.ad == "b"], by="ad", jobs=1, **settings)


class Dying:
    """A pool whose worker dies after the first part."""

    died = (ConnectionError,)

    def map(self, work: Any, tasks: Any) -> Any:
        yield work(tasks[0])
        raise ConnectionError


def test_parts_of_a_worker_that_died_are_replayed_here(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def open_pool(*arguments: Any, **_: Any) -> Iterator[Dying]:
        assert arguments == ("ray", None, "there:1")
        yield Dying()

    monkeypatch.setattr(play, "open_pool", open_pool)
    results = replay_by(log, by="site", backend="ray", address="there:1", **SETTINGS)
    assert (len(results.replays), len(results.failed)) == (2, 1)


def test_an_overview_and_a_page_for_each_part(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_of_part, "draw_figure", lambda *_, **__: None)  # takes seconds
    monkeypatch.setattr(page_of_part, "figure_files", lambda *_: {})
    results = replay_by(log, by="site", jobs=1, **SETTINGS)
    paths = write_by(results, tmp_path / "out", log="log.csv", command="crossbandit replay")
    assert [path.name for path in paths] == ["index.html", "table.md", "table.csv"]
    table = overview(results)
    assert table.head[-1] == "best in hindsight"
    page = paths[0].read_text()
    *parts, total = table.cells
    for row in parts:
        assert (tmp_path / "out" / row[0].link).is_file()
        assert f'href="{row[0].link}"' in page
        assert all(cell.text in page for cell in row[1:])
    assert "lonely" in page
    assert "The value is column" in page
    assert [cell.text for cell in total[:2]] == ["all", "600"]
    assert "line 602" in page
    earned = sum(one.outcomes[0].mean_surplus for one in results.replays.values())
    assert float(total[2].text.replace(",", "")) == pytest.approx(earned, rel=1e-3)
    write_by(results, tmp_path / "out", log="log.csv", command="again")


def test_warnings_name_their_part() -> None:
    frame = pd.DataFrame({"value": 2.0, "market_price": [1.0, 1.5] * 40, "own": 5.0, "ad": "shoes"})
    log = AuctionLog(frame, columns={"bid": "own"}, by="ad")
    with pytest.warns(LogWarning, match=r"shoes: Your own bids win 80 of the 80"):
        replay_by(log, jobs=1, **SETTINGS)


def test_a_log_of_which_no_part_can_be_replayed_is_refused() -> None:
    frame = pd.DataFrame({"value": [1.0, 2.0], "market_price": 1.0, "ad": ["a", "b"]})
    with pytest.raises(LogError, match=r"No part of the DataFrame can be replayed\. 'a': "):
        replay_by(frame, by="ad", jobs=1, **SETTINGS)
    with pytest.raises(LogError, match="has no column 'nothing'"):
        replay_by(frame, by="nothing", jobs=1, **SETTINGS)


def test_a_format_sets_feedback_and_ties() -> None:
    frame = pd.DataFrame(
        {
            "request_id": range(6),
            "value": 4.0,
            "bid": 2.0,
            "creative_status_code": [1, 79] * 3,
            "minimum_bid_to_win": [1.0, 2.0] * 3,
        }
    )
    result = replay(frame, **SETTINGS)
    assert (result.feedback, result.rules.ties) == ("always", "lose")
    assert result.outcome("the log's own bids").wins[0] == 3
    assert result.notes[1].startswith("Read as bids and feedback of Authorized Buyers.")
    asked = replay(frame, **SETTINGS | {"rules": ReplayRules(feedback="after-loss", ties="win")})
    assert (asked.feedback, asked.rules.ties) == ("after-loss", "win")
    plain = replay(frame[["value", "minimum_bid_to_win"]], **SETTINGS)
    assert (plain.feedback, plain.rules.ties) == ("after-loss", "win")


def test_a_few_missing_prices_are_bad_lines_and_many_are_refused() -> None:
    frame = pd.DataFrame({"value": 2.0, "won": [1, 0] * 100, "market_price": [1.0, 3.0] * 100})
    frame.loc[4, "market_price"] = None
    log = AuctionLog(frame, columns={"won": "won"}, max_bad=1)
    result = replay(log, **SETTINGS)
    assert (result.auctions, result.bad) == (199, 1)
    assert result.faults[0].reason == "no highest competing bid"
    frame.loc[[6, 8], "market_price"] = None  # 3 % of the won auctions: not by chance
    with pytest.raises(LogError, match="3 of 200 auctions have no highest competing bid"):
        replay(AuctionLog(frame, columns={"won": "won"}), **SETTINGS)


@pytest.mark.parametrize("backend", ["dask", "ray"])
def test_a_cluster_gives_the_same_numbers(log: Path, backend: BackendName) -> None:
    """A real cluster of two workers on this machine."""
    pytest.importorskip({"dask": "distributed", "ray": "ray"}[backend])
    settings = {**SETTINGS, "strategies": ["best responses", Shading(0.5)]}
    here = replay_by(AuctionLog(log, by="site"), jobs=1, **settings)
    there = replay_by(AuctionLog(log, by="site"), jobs=2, backend=backend, **settings)
    pd.testing.assert_frame_equal(there.table(), here.table())
    assert there.failed == here.failed
