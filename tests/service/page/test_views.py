"""What the page shows is what the figures say."""

from __future__ import annotations

import asyncio
import json
import math
import urllib.error
import urllib.request
from typing import Any

import numpy as np
import pytest

from benchmarks.live_server import LiveServer
from crossbandit.applications import FirstPriceBidder
from crossbandit.service.bidder import LiveBidder
from crossbandit.service.figures import CampaignFigures, learned_figures
from crossbandit.service.page import (
    Board,
    Point,
    Track,
    beside,
    bid_chart,
    detail,
    drawn,
    event_stream,
    history_charts,
    known_classes,
    law_chart,
    page_html,
    row,
    summary,
    thinned,
    win_rates,
)
from tests.service.page.stub import NOW, StubNode, budget, figures, trained


def series(chart: Any) -> Any:
    return chart.to_json()["series"][0]


# ------------------------------------------------------------------------------- over time


def test_minutes_become_sums_that_end_at_the_totals() -> None:
    given = figures(won=50, lost=100, spend=100.0, surplus=150.0)  # 50 outcomes are older
    points = Track().points(NOW, given)
    start = int(NOW) - 300
    assert points[0] == Point(start + 60, 110, 30, 50.0, 70.0)
    assert points[1] == Point(start + 240, 110, 30, 50.0, 70.0)  # nothing came in between
    assert points[-1] == Point(NOW, 150, 50, 100.0, 150.0, 0.25)
    assert [a.time for a in points] == sorted(a.time for a in points)


def test_samples_follow_minutes_and_never_overlap_them() -> None:
    track = Track()
    for second in range(3):
        track.note(NOW - 30 + second, figures(won=28 + second, lost=70))
    points = track.points(NOW, figures())
    assert [point.wins for point in points[-3:]] == [28, 29, 30]
    assert all(point.time < NOW - 30 for point in points[:-3])
    assert points[-1].exploration == 0.25


def test_a_new_bidder_of_an_old_name_has_no_past() -> None:
    track = Track()
    track.note(NOW, figures())
    track.note(NOW + 1, figures(won=0, lost=2, history=()))
    assert [point.outcomes for point in track.points(NOW + 1, figures(history=()))] == [2]


def test_a_clock_that_goes_back_makes_no_line_go_back() -> None:
    track = Track()
    for now in (NOW, NOW + 4, NOW + 5, NOW + 6, NOW + 2):
        track.note(now, figures(history=()))
    times = [point.time for point in track.points(NOW + 2, figures(history=()))]
    assert times == sorted(set(times))


def test_win_rates_are_those_of_windows() -> None:
    points = [Point(100.0 * i, 10 * i, 10 * i if i < 5 else 50, 0, 0) for i in range(10)]
    rates = win_rates(points)
    assert math.isnan(rates[0])
    assert rates[1:6] == [1.0] * 5
    assert rates[6:] == [0.0] * 4


def test_few_points_stay_and_many_are_thinned() -> None:
    points = [Point(float(i), i, 0, 0, 0) for i in range(1000)]
    assert thinned(points[:5], 5) == points[:5]
    kept = thinned(points, 7)
    assert len(kept) == 7
    assert (kept[0], kept[-1]) == (points[0], points[-1])


def test_spend_is_that_of_the_period_and_the_plan_ends_at_what_is_planned() -> None:
    given = figures(limits=(budget(),), limited=True)
    chart = history_charts(given, Track().points(NOW, given))["spend"]
    assert chart is not None
    spend, plan = chart.series
    assert spend.x[0] == NOW - 120
    assert (spend.y[0], spend.y[-1]) == (0.0, 25.0)
    assert (plan.y[0], plan.y[-1]) == (0.0, 50.0)
    assert plan.reference


# ------------------------------------------------------------------------------- rows and words


def test_a_row_says_how_a_bidder_fares() -> None:
    found = row("shop", figures(), Track().points(NOW, figures()))
    assert found["win"] == "30.0 %"
    assert found["surplus"] == "120.0"
    assert (found["state"], found["alerts"], found["late"]) == ("learning", 0, False)
    assert found["spark"][-1] == 120.0


@pytest.mark.parametrize(
    ("changes", "state", "alerts"),
    [
        ({"paused": True}, "paused", 0),
        ({"lag_seconds": 31.0, "lag": 7}, "behind", 1),
        ({"learned": 0}, "waiting", 0),
        ({"holder": ""}, "learning", 1),
        ({"alerts": ("a", "b")}, "learning", 2),
    ],
)
def test_states_and_alerts(changes: dict[str, Any], state: str, alerts: int) -> None:
    found = row("shop", figures(**changes), ())
    assert (found["state"], found["alerts"]) == (state, alerts)


def test_a_bidder_without_outcomes_has_no_numbers() -> None:
    found = row("shop", figures(won=0, lost=0, learned=0, history=()), ())
    assert (found["win"], found["surplus"], found["spend"]) == ("–", "–", "–")  # noqa: RUF001


def test_limits_have_a_bar_and_targets_words() -> None:
    found = row("shop", figures(limits=(budget(),)), ())["limit"]
    assert (found["share"], found["plan"]) == (0.25, 0.5)
    assert found["text"] == "25.00 of 100.0, plan 50.00"
    target = budget(kind="return-on-spend", slack=-1.0, planned=None)
    found = row("shop", figures(limits=(target,)), ())["limit"]
    assert (found["share"], found["text"]) == (None, "25.00, target not kept")


def test_reserved_expected_and_spent_stand_apart_and_late_outcomes_are_said() -> None:
    held = budget(reserved=42.0, expected=30.0, outstanding=70.0, left=33.0)
    (found,) = detail("shop", "", figures(limits=(held,), delay=1_860.0), ())["limits"]
    assert found["words"] == (
        "Budget: 25.00 of 100.0 spent, 50.00 planned by now, 42.00 reserved (30.00 expected, "
        "70.00 if all bids win), 33.00 left. Outcomes come 31 min late."
    )
    assert (found["share"], found["held"], found["plan"]) == (0.25, 0.42, 0.5)
    (prompt,) = detail("shop", "", figures(limits=(held,), delay=3.0), ())["limits"]
    assert prompt["words"].endswith("33.00 left.")


def test_each_campaign_is_shown_with_its_limits() -> None:
    limits = (budget(campaign="shoes"), budget(campaign="shoes", spent=3.0), budget(campaign="old"))
    campaigns = {
        "new": CampaignFigures(paused=True, won=0, lost=0, value_won=0.0, spend=0.0),
        "old": CampaignFigures(paused=True, won=1, lost=3, value_won=30.0, spend=9.0),
        "shoes": CampaignFigures(paused=False, won=29, lost=67, value_won=170.0, spend=71.0),
    }
    given = figures(limits=limits, campaigns=campaigns, limited=True)
    shown = [one["words"] for one in detail("shop", "", given, ())["limits"]]
    assert shown[0] == "shoes: 30.2 % of 96 auctions won, surplus 99.00."
    assert shown[1].startswith("Budget: 25.00 of 100.0 spent")
    assert shown[2].startswith("Budget: 3.000 of 100.0 spent")
    assert shown[3] == "old: paused, 25.0 % of 4 auctions won, surplus 21.00."
    assert shown[5:] == ["new: paused."]
    assert row("shop", given, ())["limit"]["text"] == "80.00, 3 campaigns"
    many = {
        f"c{i}": CampaignFigures(paused=False, won=0, lost=1, value_won=0.0, spend=float(i))
        for i in range(53)
    }
    shown = [one["words"] for one in detail("a", "", figures(campaigns=many), ())["limits"]]
    assert shown[0].startswith("c52: ")
    assert shown[50:] == ["And 3 campaigns that spent less."]
    chart = history_charts(given, Track().points(NOW, given))["spend"]
    assert chart is not None
    assert [one.name for one in chart.series] == ["spend"]  # of all campaigns, without a plan


def test_charts_of_campaigns_are_drawn_also_if_a_token_has_only_a_hash_of_the_name() -> None:
    name = "a name " * 40
    bidder = FirstPriceBidder(value_range=(0, 10), bids=11, campaigns={name: {}, "b": {}}, seed=1)
    tokens = [bidder.bid(8.0, campaign=one).token for one in (name, "b")]
    again = FirstPriceBidder(value_range=(0, 10), bids=11, campaigns={name: {}, "b": {}}, seed=1)
    again.learner.learner = bidder.learner.learner
    for token in tokens:
        again.settle(token, won=False, highest_competing_bid=9.0)
    chart = bid_chart(again)
    assert chart is not None
    assert len(chart.series) == 3


def test_what_is_earned_is_shown_beside_the_best_fixed_shading_once_it_is_known() -> None:
    bidder = trained(20)
    live = LiveBidder(bidder)
    assert learned_figures(live, 0.0, None).shading is None  # too little is known
    # Prices are 0.8 of low values and 0.2 of high ones.
    values = np.random.default_rng(0).uniform(0, 10, 20_000)
    bidder.warm_up(values, np.where(values < 5, 0.8, 0.2) * values)
    found = learned_figures(live, 0.0, None).shading
    assert found is not None
    looked = values[-64:, None]
    wins = bidder.bids >= np.where(looked < 5, 0.8, 0.2) * looked
    payoffs = (looked - bidder.bids) * wins
    fractions = np.arange(1, 21) / 20
    bids = bidder.bids.searchsorted(fractions * looked, side="right") - 1
    fixed = np.take_along_axis(payoffs, bids, axis=1).sum(axis=0)
    assert found.fraction == fractions[fixed.argmax()]
    assert found.gain == pytest.approx(payoffs.max(axis=1).sum() / fixed.max() - 1, abs=0.02)
    (_, gain, note) = beside(found)[0]
    assert gain == f"{100 * found.gain:+.1f} %"
    assert "% of value" in note
    assert beside(None) == []


def test_the_summary_counts() -> None:
    assert summary([figures()]) == "1 bidder. 100 outcomes learned."
    assert summary([figures(), figures(alerts=("x",))]) == (
        "2 bidders. 200 outcomes learned. 1 bidder has alerts."
    )


# ------------------------------------------------------------------------------- bids and laws


def test_the_bid_chart_is_the_shading_curve() -> None:
    bidder = trained()
    chart = bid_chart(bidder)
    assert chart is not None
    curve = bidder.shading_curve(np.array(chart.series[0].x))
    np.testing.assert_array_equal(chart.series[0].y, curve.bids)
    np.testing.assert_array_equal(chart.series[0].ends, np.stack([curve.low, curve.high], axis=1))


def test_the_law_chart_has_a_line_per_class_also_from_a_snapshot() -> None:
    bidder = trained(classes=["site"])
    assert known_classes(bidder) == [{"site": "a"}, {"site": "b"}]
    charts = [law_chart(bidder), law_chart(bidder.snapshot())]
    assert charts[0] is not None
    assert charts[0] == charts[1]
    assert [one.name for one in charts[0].series] == ["a", "b"]
    np.testing.assert_array_equal(charts[0].series[0].y, bidder.price_law(5.0, site="a").chances)
    assert all(0 <= low <= high <= 1 for low, high in charts[0].series[0].ends or ())


def test_a_decider_that_follows_newer_snapshots_shows_the_classes_that_they_know() -> None:
    bidder = FirstPriceBidder(bids=21, value_range=(0, 10), classes=("site",), seed=1)
    decider = FirstPriceBidder.from_bytes(bidder.snapshot().to_bytes())
    assert law_chart(decider) is None
    bidder.warm_up([4.0, 8.0] * 50, [2.0, 5.0] * 50, site=["a", "b"] * 50)
    decider.learner.follow(FirstPriceBidder.from_bytes(bidder.snapshot().to_bytes()).learner)
    chart = law_chart(decider)
    assert chart is not None
    assert {one.name for one in chart.series} == {"a", "b"}


def test_laws_that_are_alike_are_one_line() -> None:
    bidder = trained(0)
    chart = law_chart(bidder)
    assert chart is not None
    assert [one.name for one in chart.series] == ["at all values"]


def test_a_bidder_with_classes_that_knows_none_has_no_charts() -> None:
    bidder = trained(0, classes=["site"])
    assert bid_chart(bidder) is None
    assert law_chart(bidder) is None


# ------------------------------------------------------------------------------- events


def test_details_are_json_and_hold_no_nan() -> None:
    given = figures(limits=(budget(),), refused={"expired": 3, "learned-before": 0})
    found = detail("shop", "settings", given, Track().points(NOW, given))
    bidder = trained(classes=["site"])
    charts = found["charts"] | drawn({"bids": bid_chart(bidder), "law": law_chart(bidder)})
    json.dumps([found, charts], allow_nan=False)
    assert found["refusals"] == [["expired", "3"]]
    assert set(charts) == {"bids", "law", "surplus", "spend", "wins", "multiplier"}
    assert "exploration" in history_charts(figures(), ())
    for place in charts:
        assert f'id="{place}"' in page_html()


def events(board: Board, name: str | None, count: int) -> list[dict[str, Any]]:
    async def some() -> list[str]:
        stream = event_stream(board, name, seconds=0.0)
        found = [await anext(stream) for _ in range(count)]
        await stream.aclose()  # type: ignore[attr-defined]
        return found

    texts = asyncio.run(some())
    assert all(text.startswith("data: ") and text.endswith("\n\n") for text in texts)
    assert all("\n" not in text[:-2] for text in texts)
    return [json.loads(text[6:]) for text in texts]


def test_a_chart_is_sent_again_only_if_it_has_changed() -> None:
    node, time = StubNode(), [NOW]
    node.all["shop"] = trained(), figures()
    board = Board(node, clock=lambda: time[0])  # type: ignore[arg-type]
    first, second = events(board, "shop", 2)
    assert set(first["detail"]["charts"]) > {"bids", "law"}
    assert second["detail"]["charts"] == {}
    assert second["detail"]["tiles"] == first["detail"]["tiles"]
    node.all["shop"] = trained(), figures(surplus=130.0)
    board = Board(node, clock=lambda: time[0])  # type: ignore[arg-type]
    stream = event_stream(board, "shop", seconds=0.0)

    async def changed() -> dict[str, Any]:
        await anext(stream)
        node.all["shop"] = trained(), figures(won=31, surplus=140.0)
        time[0] += 5
        found: dict[str, Any] = json.loads((await anext(stream))[6:])
        return found

    assert set(asyncio.run(changed())["detail"]["charts"]) >= {"surplus", "wins"}


def test_a_board_asks_again_when_time_has_passed() -> None:
    node, time = StubNode(), [NOW]
    board = Board(node, clock=lambda: time[0])  # type: ignore[arg-type]
    assert board.overview()["rows"] == []
    node.all["shop"] = None, figures()
    assert board.overview()["rows"] == []
    time[0] += 1
    assert [one["name"] for one in board.overview()["rows"]] == ["shop"]
    assert board.detail("none") is None
    found = board.detail("shop")
    assert found is not None
    assert found["charts"]["bids"] is None  # nothing decides yet
    del node.all["shop"]
    time[0] += 1
    assert board.overview() == {"rows": [], "summary": ""}


def test_bidders_with_alerts_come_first() -> None:
    node = StubNode()
    for name, alerts in (("c", ()), ("b", ("look",)), ("a", ()), ("d", ("look",))):
        node.all[name] = None, figures(name, alerts=alerts)
    board = Board(node)  # type: ignore[arg-type]
    assert [one["name"] for one in board.overview()["rows"]] == ["b", "d", "a", "c"]


def test_an_unknown_bidder_has_no_detail() -> None:
    board = Board(StubNode())  # type: ignore[arg-type]
    assert "detail" not in events(board, "none", 1)[0]


def test_only_so_many_pages_may_be_open(monkeypatch: pytest.MonkeyPatch) -> None:
    node = StubNode()
    node.all["shop"] = None, figures()
    monkeypatch.setattr("crossbandit.service.page._MOST_STREAMS", 1)
    with LiveServer(node) as server:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/events") as first:
            assert first.headers["Content-Type"].startswith("text/event-stream")
            assert json.loads(first.readline()[6:])["rows"][0]["name"] == "shop"
            with pytest.raises(urllib.error.HTTPError, match="503"):
                urllib.request.urlopen(f"http://127.0.0.1:{server.port}/events")
        page = urllib.request.urlopen(f"http://127.0.0.1:{server.port}/")
        assert page.headers["X-Frame-Options"] == "DENY"
        page.close()


def test_the_page_holds_no_data_and_loads_nothing_from_elsewhere() -> None:
    text = page_html()
    assert "connect-src 'self'" in text
    assert "default-src 'none'" in text
    assert "http://www.w3.org/2000/svg" in text
    assert text.count("http://") == 1
    assert "https://" not in text
    assert "innerHTML" not in text
