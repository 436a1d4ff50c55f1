"""Logs of tenders: replayed and evaluated, against the sums of their own columns."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from crossbandit.applications import FirstPriceBidder, TenderBidder
from crossbandit.cli.app import app
from crossbandit.errors import InvalidParameterError
from crossbandit.limits import Budget
from crossbandit.logs import AuctionLog
from crossbandit.logs.evaluate import evaluate
from crossbandit.logs.replay import ReplayRules, replay
from crossbandit.logs.tenders import TenderWords

COLUMNS = {"value": "cost", "price": "other", "bid": "ours", "reserve": "ceiling"}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    buyer = rng.choice(["city", "rail"], 800)
    cost = np.round(np.exp(rng.normal(8.0, 0.7, 800)), 2)
    other = np.round(cost * np.where(buyer == "rail", 1.4, 1.1) * rng.uniform(0.8, 1.4, 800), 2)
    other[::40] = 0.0  # nobody else has bid
    ours = np.round(1.15 * cost, 2)
    ours[::50] = 0.0  # no bid
    ceiling = np.where(rng.uniform(size=800) < 0.5, np.round(1.6 * cost, 2), 0.0)
    made = pd.DataFrame({"buyer": buyer, "cost": cost, "other": other, "ours": ours})
    made["ceiling"] = ceiling
    made["won"] = wins(made, made["ours"])
    return made


def wins(frame: pd.DataFrame, bids: Any) -> Any:
    """Return which bids win: below the others, at most the ceiling."""
    beats = (bids <= frame["other"]) | (frame["other"] == 0)
    return beats & (bids > 0) & ((bids <= frame["ceiling"]) | (frame["ceiling"] == 0))


def log_of(frame: pd.DataFrame, **options: Any) -> AuctionLog:
    return AuctionLog(frame, columns=COLUMNS, classes=["buyer"], lowest_wins=True, **options)


@pytest.mark.parametrize("markup", [0.5, 1.0, 2.0])
def test_a_replay_earns_what_the_columns_say(frame: pd.DataFrame, markup: float) -> None:
    log = log_of(frame, max_markup=markup)
    result = replay(log, strategies=["law", "60 % of value"], seeds=1, show_progress=False)
    bids = (1 + 0.4 * markup) * frame["cost"]
    for name, made in ((f"cost + {40 * markup:g} %", bids), ("the log's own bids", frame["ours"])):
        won, one = wins(frame, made), result.outcome(name)
        assert one.mean_surplus == pytest.approx((made - frame["cost"])[won].sum())
        assert one.spend[0] == pytest.approx(made[won].sum())
        assert one.wins[0] == won.sum()
        levels = list(result.classes[0].levels)
        rail = won & (frame["buyer"] == "rail")
        assert one.by_class[0][1][levels.index("rail")] == pytest.approx(made[rail].sum())
    fixed = result.outcome(f"cost + {40 * markup:g} %")
    assert fixed.bids == pytest.approx((1 + 0.4 * markup) * result.values)
    assert result.values[-1] == pytest.approx(frame["cost"].max())


def test_the_price_distribution_plays_without_a_grid(frame: pd.DataFrame) -> None:
    result = replay(log_of(frame), strategies=["law"], seeds=1, show_progress=False)
    bidder, earned = FirstPriceBidder(classes=["buyer"], missing="accept", seed=0), 0.0
    names = {name: i for i, name in enumerate(dict.fromkeys(frame["buyer"]))}
    for row in frame.itertuples():
        bid = bidder.bid(row.cost, buyer=names[row.buyer])
        least = max(2 * row.cost - min(row.other or np.inf, row.ceiling or np.inf), 0.0)
        won = bid.amount >= least
        earned += (row.cost - bid.amount) * won
        bidder.settle(bid, won=won, highest_competing_bid=None if won else least)
    assert result.outcomes[0].mean_surplus == pytest.approx(earned, rel=1e-6)


def test_an_evaluation_bounds_what_the_columns_say(frame: pd.DataFrame) -> None:
    hidden = frame.assign(other=frame["other"].where(~frame["won"]))
    columns = {**COLUMNS, "won": "won"}
    log = AuctionLog(hidden, columns=columns, lowest_wins=True, max_markup=0.5)
    bidder = TenderBidder.fit(log, seed=1)
    result = evaluate(log, fractions=[0.6], bidders={"fitted": bidder})
    bids = 1.2 * frame["cost"]
    known = result["cost + 20 %"].known
    truth = (0.2 * frame["cost"])[wins(frame, bids)].sum()
    assert known.lower <= truth <= known.upper
    assert known.lower < known.upper
    assert 0.5 * truth < result["fitted"].best.value < 2 * truth
    assert "highest competing bid" not in " ".join(result.notes)
    for other in (FirstPriceBidder(value_range=(0, 9), seed=1), TenderBidder(seed=1)):
        with pytest.raises(InvalidParameterError, match="no TenderBidder of the same max_markup"):
            evaluate(log, bidders={"other": other})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"limits": [Budget(5)]}, "the winner of a tender is paid"),
        ({"rules": ReplayRules(reserve=5.0)}, "name a column"),
        ({"rules": ReplayRules(bids=[0, 1, 2])}, "give their number"),
    ],
)
def test_what_means_nothing_for_tenders_is_refused(
    frame: pd.DataFrame, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidParameterError, match=said):
        replay(log_of(frame), **options)


def test_other_options_are_checked(frame: pd.DataFrame) -> None:
    with pytest.raises(InvalidParameterError, match="max_markup"):
        log_of(frame, max_markup=-1)
    with pytest.raises(InvalidParameterError, match="notices of an exchange"):
        AuctionLog(frame, format="google", lowest_wins=True)


def test_a_bound_of_the_costs_is_one_of_the_costs(frame: pd.DataFrame) -> None:
    most = float(frame["cost"].quantile(0.99))
    log = log_of(frame, highest_value=most, max_markup=0.5, max_bad=1_000)
    result = replay(log, strategies=["truthful"], show_progress=False)
    assert result.bad == (frame["cost"] > most).sum()
    assert result.values[-1] == pytest.approx(most)


@pytest.mark.parametrize("command", ["replay", "evaluate"])
def test_pages_speak_of_tenders(frame: pd.DataFrame, tmp_path: Path, command: str) -> None:
    path, out = tmp_path / "tenders.csv", tmp_path / "out"
    frame.assign(won=frame["won"].astype(int)).to_csv(path, index=False)
    columns = ["--value-column", "cost", "--price-column", "other", "--bid-column", "ours"]
    also = ["--seeds", "1", "--class-column", "buyer"]
    also = also if command == "replay" else ["--won-column", "won"]
    args = [command, str(path), "--lowest-wins", *columns, "--reserve-column", "ceiling", *also]
    result = CliRunner().invoke(app, [*args, "--out", str(out)])
    assert result.exit_code == 0, result.output
    page = (out / "index.html").read_text(encoding="utf-8")
    said = re.sub(r"<(script|style)[^>]*>.*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL)
    said = said.replace("--value-column", "").replace("the values.", "")  # of a chart
    for text in (said, result.output.replace("--value-column", "")):
        assert "cost + 20 %" in text
        assert "800 tenders" in text
        for word in ("auction", "value", "fraction", "highest competing", "spend"):
            assert not re.search(rf"\b{word}", text, re.IGNORECASE), word


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("25.5 % of value", "cost + 37.25 %"),
        ("Values of 'value'", "Costs of 'value'"),
        ("--value-column auctions.csv", "--value-column auctions.csv"),
        ("In first-price auctions.", "In tenders."),
    ],
)
def test_names_are_left_as_they_are(text: str, said: str) -> None:
    assert TenderWords(0.5)(text) == said


def test_a_bidder_without_a_grid_is_evaluated_by_its_bids_in_money() -> None:
    rng = np.random.default_rng(0)
    values = np.exp(rng.normal(3.0, 1.0, 1_000))
    made = pd.DataFrame({"value": values, "price": values * rng.uniform(0.2, 0.8, 1_000)})
    made["bid"] = 0.5 * values
    bidder = FirstPriceBidder(feedback="always", seed=1)
    bidder.observe(values, highest_competing_bid=made["price"].to_numpy())
    log = AuctionLog(made, columns={"price": "price", "bid": "bid"})
    found = evaluate(log, bidders={"free": bidder})["free"].known
    bids = bidder.shading_curve(values).bids
    earned = np.where(bids >= made["price"], values - bids, 0.0).sum()
    assert found.exact == pytest.approx(earned, rel=0.1)  # it draws its bids
