import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from crossbandit.algorithms import CrossGraphAdaptive
from crossbandit.applications import FirstPriceBidder, geometric_bids
from crossbandit.core.types import Ties
from crossbandit.errors import InvalidInputError, InvalidParameterError, LogError
from crossbandit.logs.replay import (
    AuctionLog,
    LogWarning,
    Replay,
    ReplayRules,
    Shading,
    Strategy,
    make_log,
    play,
    replay,
)
from crossbandit.logs.replay.play import StrategyRun
from crossbandit.logs.replay.strategies import band_edges, collect_hindsight
from crossbandit.logs.survey import survey_log

AUCTIONS = 6_001  # odd, and more than one chunk


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_log(tmp_path_factory.mktemp("log") / "log.csv", AUCTIONS, seed=1)


@pytest.fixture(scope="module")
def result(log: Path) -> Replay:
    return replay(log, seeds=2, rules=ReplayRules(bids=50))


def test_every_strategy_is_there_once(result: Replay) -> None:
    table = result.table()
    assert list(table["strategy"][:5]) == [
        "price distribution",
        "cross-graph-adaptive",
        "cross-graph",
        "best response",
        "full-information response",
    ]
    assert list(table["strategy"][-4:]) == [
        "truthful",
        "best fixed policy",
        "best policy per band",
        "perfect knowledge",
    ]
    assert table["strategy"].is_unique
    assert list(table["runs"]) == [2, 2, 2] + [1] * (len(table) - 3)
    assert result.auctions == AUCTIONS


def test_money_adds_up(result: Replay, log: Path) -> None:
    frame = pd.read_csv(log)
    values, prices = frame["value"].to_numpy(), frame["highest_competing_bid"].to_numpy()
    for name, bids in (("truthful", values), ("70 % of value", 0.7 * values)):
        won = bids >= prices
        row = result.table().set_index("strategy").loc[name]
        assert row["surplus"] == pytest.approx((values - bids)[won].sum(), abs=1e-6)
        assert row["spend"] == pytest.approx(bids[won].sum())
        assert row["win_rate"] == pytest.approx(won.mean())
        assert row["average_price"] == pytest.approx(bids[won].mean())
    # Perfect knowledge makes the lowest bid of the grid that wins, if it is worth that.
    grid = np.append(result.rules.amounts[1:], np.inf)
    lowest = grid[np.searchsorted(grid, prices)]
    perfect = np.maximum(values - lowest, 0).sum()
    assert result.outcome("perfect knowledge").mean_surplus == pytest.approx(perfect)


def test_regret_is_counted_from_the_best_policy_in_hindsight(result: Replay) -> None:
    table = result.table().set_index("strategy")
    policies = table.loc[["best fixed policy", "best policy per band"]]
    assert result.comparator == policies["surplus"].idxmax()
    best = table.loc[result.comparator]
    assert best["regret"] == 0
    assert best["note"].endswith("; regret is counted from it")
    assert table["note"].str.endswith("regret is counted from it").sum() == 1
    np.testing.assert_allclose(table["regret"], best["surplus"] - table["surplus"])
    assert (table["surplus"] <= table.loc["perfect knowledge", "surplus"]).all()


@pytest.mark.parametrize(
    ("spread", "correlation", "by_site"), [(0.5, 0.9, 0.0), (2.0, 0.5, 0.0), (0.5, 0.0, 0.6)]
)
def test_the_price_law_hardly_beats_its_comparator(
    spread: float, correlation: float, by_site: float
) -> None:
    """Prices go with values, a few values are very high, or prices go with the site."""
    first, second, third = np.random.default_rng(5).standard_normal((3, 12_000))
    rest = np.sqrt(1 - correlation**2 - by_site**2)
    mixed = correlation * first + by_site * np.sign(third) + rest * second
    prices = 0.6 * np.exp((1.5 if spread > 1 else 0.7) * mixed)
    site = np.where(third > 0, "a", "b")
    values = np.exp(spread * first)
    frame = pd.DataFrame({"value": values, "market_price": prices, "site": site})
    log = AuctionLog(frame, classes=["site"] if by_site else [])
    result = replay(log, strategies=["law"], seeds=1)
    law, best = result.outcomes[0], result.outcome(result.comparator)
    assert result.comparator == f"best policy per {'class' if by_site else 'band'}"
    assert -0.005 * best.mean_surplus < result.regret(law) < 0.15 * best.mean_surplus
    # Regret to the policy that pools all prices would be negative.
    assert result.outcome("best fixed policy").mean_surplus < law.mean_surplus


def test_one_fraction_is_the_best_in_hindsight(result: Replay) -> None:
    shading = result.table().query("kind == 'fixed'")
    marked = shading[shading["note"] == "the best fraction, in hindsight"]
    assert list(marked.index) == [shading["surplus"].idxmax()]


def test_curves_end_at_the_totals(result: Replay) -> None:
    assert result.points[-1] == AUCTIONS
    assert result.points.size == 500
    assert (np.diff(result.points) > 0).all()
    for outcome in result.outcomes:
        np.testing.assert_allclose(outcome.curve[:, -1], outcome.surplus)
    last = result.curves().groupby("strategy").last()
    table = result.table().set_index("strategy")
    np.testing.assert_allclose(last["surplus"], table["surplus"][last.index])
    assert (last["half_width"].isna() == (table["runs"][last.index] == 1)).all()


def test_bids_at_the_end_rise_with_the_value(result: Replay) -> None:
    bids = result.bid_curves()
    assert (bids.dropna()["bid"] <= bids.dropna()["value"] + 1e-9).sum() > 0.9 * len(bids.dropna())
    best = bids[bids["strategy"] == "best fixed policy"]["bid"]
    assert best.is_monotonic_increasing
    assert bids[bids["strategy"] == "perfect knowledge"]["bid"].isna().all()


def test_bids_at_the_end_are_the_mean_over_the_seeds(log: Path) -> None:
    def bids(*seeds: int) -> Any:
        short = AuctionLog(log, limit=300)
        name = "cross-graph-adaptive"
        result = replay(short, rules=ReplayRules(bids=11), strategies=[name], seeds=seeds)
        return result.outcome(name).bids

    both, first, second = bids(4, 5), bids(4), bids(5)
    np.testing.assert_allclose(both, (first + second) / 2, rtol=1e-12)
    assert np.abs(first - second).max() > 0.01


def surpluses(result: Replay) -> dict[str, list[float]]:
    return {outcome.strategy: outcome.surplus.tolist() for outcome in result.outcomes}


def test_threads_and_company_change_nothing(log: Path, result: Replay) -> None:
    names = ["cross-graph-adaptive", "best response"]
    alone = replay(log, seeds=[1], rules=ReplayRules(bids=50), strategies=names, jobs=1)
    both = surpluses(result)
    assert surpluses(alone)["cross-graph-adaptive"] == both["cross-graph-adaptive"][1:]
    assert surpluses(alone)["best response"] == both["best response"]
    assert alone.seeds == (1,)


def test_parquet_and_text_give_the_same(tmp_path: Path, log: Path, result: Replay) -> None:
    parquet = make_log(tmp_path / "log.parquet", AUCTIONS, seed=1)
    assert surpluses(replay(parquet, seeds=2, rules=ReplayRules(bids=50))) == surpluses(result)
    assert log.suffix == ".csv"


def test_a_limit_is_a_shorter_log(tmp_path: Path, log: Path) -> None:
    short = tmp_path / "short.csv"
    short.write_text("\n".join(log.read_text().splitlines()[:1001]))
    cut = replay(AuctionLog(log, limit=1_000, highest_value=10), seeds=1)
    assert cut.auctions == 1_000
    assert surpluses(cut) == surpluses(replay(AuctionLog(short, highest_value=10), seeds=1))


def test_bids_may_be_given_and_always_contain_none(log: Path) -> None:
    result = replay(AuctionLog(log, limit=500), seeds=1, rules=ReplayRules(bids=[1.0, 2.0, 3.0]))
    assert result.rules.amounts.tolist() == [0, 1, 2, 3]
    assert set(np.unique(result.outcome("best fixed policy").bids)) <= {0, 1, 2, 3}


def test_a_reserve_and_lost_ties_cost_wins(log: Path) -> None:
    short = AuctionLog(log, limit=2_000)
    usual = replay(short, seeds=1)
    hard = replay(short, seeds=1, rules=ReplayRules(reserve=2.0, ties="lose"))
    for name in ("perfect knowledge", "best fixed policy", "truthful"):
        assert hard.outcome(name).wins[0] < usual.outcome(name).wins[0]
    assert (
        hard.outcome("perfect knowledge").spend[0] >= 2 * hard.outcome("perfect knowledge").wins[0]
    )


def with_reserves(log: Path) -> pd.DataFrame:
    """Return a log with many ties, a reserve of each auction, and bids of its own."""
    frame = pd.read_csv(log).head(2_000)
    rng = np.random.default_rng(4)
    grid = np.arange(0, 10.5, 0.5)
    return pd.DataFrame(
        {
            "value": frame["value"],
            "market_price": np.floor(2 * frame["highest_competing_bid"]) / 2,
            "own": rng.choice(grid[:8], 2_000),
            "floor": rng.choice([0.0, 0.5, 1.0, 1.25, 3.0], 2_000),
        }
    )


@pytest.mark.parametrize("ties", ["win", "lose"])
def test_reserves_and_own_bids_count_as_by_hand(log: Path, ties: Ties) -> None:
    frame = with_reserves(log)
    values, prices, own, floors = frame.to_numpy().T
    grid = np.arange(0, 10.5, 0.5)
    result = replay(
        AuctionLog(frame, columns={"bid": "own", "reserve": "floor"}, highest_value=10),
        rules=ReplayRules(bids=grid.tolist(), reserve=0.75, ties=ties),
        seeds=1,
    )
    least = np.maximum(floors, 0.75)

    def won(bids: Any) -> Any:
        above = bids >= prices if ties == "win" else bids > prices
        return above & (bids >= least) & (bids > 0)

    wins = np.array([won(bid).sum() for bid in grid])
    sums = (values[:, None] - grid) * wins
    sums[grid > values[:, None]] = -np.inf
    bands = np.searchsorted(band_edges(survey_log(AuctionLog(frame))), values, "right")
    banded = np.zeros(2_000)
    for band in np.unique(bands):
        inside = bands == band
        sums_of_band = (values[:, None] - grid) * [won(bid)[inside].sum() for bid in grid]
        sums_of_band[grid > values[:, None]] = -np.inf
        banded[inside] = grid[sums_of_band.argmax(axis=1)][inside]
    table = result.table().set_index("strategy")
    for name, bids in (
        ("the log's own bids", own),
        ("50 % of value", 0.5 * values),
        ("truthful", values),
        ("best fixed policy", grid[sums.argmax(axis=1)]),
        ("best policy per band", banded),
    ):
        assert table.loc[name, "surplus"] == pytest.approx((values - bids)[won(bids)].sum())
        assert table.loc[name, "spend"] == pytest.approx(bids[won(bids)].sum())
        assert table.loc[name, "win_rate"] == pytest.approx(won(bids).mean())
    cake = np.max([np.where(won(bid), values - bid, 0.0) for bid in grid], axis=0).sum()
    assert table.loc["perfect knowledge", "surplus"] == pytest.approx(cake)
    assert table.loc["the log's own bids", "kind"] == "own"
    assert list(table["kind"].unique()) == ["learner", "own", "fitted", "fixed", "oracle"]
    assert result.reserve_column == "'floor'"
    assert result.outcome("the log's own bids").curve[0, -1] == pytest.approx(
        table.loc["the log's own bids", "surplus"]
    )


@pytest.mark.parametrize("ties", ["win", "lose"])
@pytest.mark.parametrize("feedback", ["after-loss", "won-lost"])
def test_with_reserves_a_learner_is_a_bidder_who_is_told_them(
    log: Path, ties: str, feedback: str
) -> None:
    frame = with_reserves(log).head(600)
    grid = np.arange(0, 10.5, 0.5)
    rules: dict[str, Any] = {"bids": grid.tolist(), "feedback": feedback, "ties": ties}
    algorithm = "cross-graph-adaptive"
    result = replay(
        AuctionLog(frame, columns={"reserve": "floor"}, highest_value=10),
        rules=ReplayRules(**rules),
        strategies=[algorithm],
        seeds=1,
    )
    graph = CrossGraphAdaptive()
    bidder = FirstPriceBidder(value_range=(0, 10), seed=0, algorithm=graph, **rules)
    earned = 0.0
    for value, price, _, floor in frame.itertuples(index=False):
        bid = bidder.bid(value)
        amount = float(bid)
        above = amount >= price if ties == "win" else amount > price
        won = bool(above and amount >= floor and amount > 0)
        told = None if won or feedback == "won-lost" else price
        bidder.settle(bid, won=won, highest_competing_bid=told, reserve=floor)
        earned += won * (value - amount)
    assert result.outcome(algorithm).mean_surplus == pytest.approx(earned)


def test_a_data_frame_gives_the_same_as_its_file(log: Path, result: Replay) -> None:
    assert surpluses(replay(pd.read_csv(log), seeds=2, rules=ReplayRules(bids=50))) == surpluses(
        result
    )


def test_a_strategy_that_did_not_play_is_refused(result: Replay) -> None:
    with pytest.raises(InvalidParameterError, match=r"one of 'price distribution', .*'cross gr"):
        result.outcome("cross graph")


def test_with_prices_always_told_there_is_one_best_response(log: Path) -> None:
    short = AuctionLog(log, limit=500)
    result = replay(short, rules=ReplayRules(feedback="always"), seeds=1)
    names = [outcome.strategy for outcome in result.outcomes]
    assert "best response" not in names
    assert "full-information response" in names


def test_an_algorithm_that_cannot_is_left_out_or_refused(log: Path) -> None:
    three = AuctionLog(log, limit=3)
    short = replay(three, seeds=1)
    learners = [o.strategy for o in short.outcomes if o.kind == "learner"]
    assert learners == ["price distribution", "cross-graph-adaptive"]
    assert any("cross-graph cannot play this log" in note for note in short.notes)
    with pytest.raises(InvalidInputError, match="at least"):
        replay(three, seeds=1, strategies=["cross-graph"])
    for name, why in (
        ("per-context-graph", "continuous contexts"),
        ("cross-graph-known", "context distribution"),
    ):
        with pytest.raises(InvalidInputError, match=why) as refused:
            replay(log, strategies=[name])
        able = str(refused.value).partition("Algorithms that can: ")[2].rstrip(".").split(", ")
        assert {"cross-graph", "cross-graph-adaptive", "schneider-zimmert"} <= set(able)
        assert not {"per-context-graph", "per-context-exp3", "cross-graph-known"} & set(able)
    with pytest.raises(InvalidParameterError, match="Did you mean 'cross-graph'"):
        replay(log, strategies=["cross-grapf"])


def own_log(prices: Any, bids: Any) -> AuctionLog:
    frame = pd.DataFrame({"value": 2.0, "market_price": prices, "own": bids})
    return AuctionLog(frame, columns={"bid": "own"})


def test_an_own_bid_of_0_never_wins() -> None:
    """A price of 0 says that nobody else bid, a bid of 0 that you did not bid either."""
    log = own_log([0.0, 0.0, 0.5, 1.5] * 10, [0.0, 1.0, 1.0, 1.0] * 10)
    for ties in ("win", "lose"):
        result = replay(log, rules=ReplayRules(ties=ties, bids=9), seeds=1)
        assert result.outcome("the log's own bids").wins[0] == 20
        assert result.outcome("the log's own bids").mean_surplus == 20
        assert result.outcome("best fixed policy").bids[0] == 0  # at a value of 0
        # Prices 0, 0, 0.5 and 1.5 are beaten by 0.25, 0.25, 0.5 and 1.5 of the grid; if ties lose,
        # by 0.25, 0.25, 0.75 and 1.75.
        earned = 10 * (2 * 1.75 + 1.5 + 0.5 - (0.5 if ties == "lose" else 0))
        assert result.outcome("perfect knowledge").mean_surplus == pytest.approx(earned)
        best = result.outcome("best fixed policy")
        assert best.spend[0] / best.wins[0] > 0


@pytest.mark.parametrize(
    ("price", "dropped", "less"), [(1.5, "won", "seems to earn less"), (0.5, "lost", "earn more")]
)
def test_a_log_without_the_auctions_won_or_lost_is_warned_of(
    price: float, dropped: str, less: str
) -> None:
    rng = np.random.default_rng(0)
    prices = price + rng.uniform(-0.3, 0.3, 200)
    bids = np.where(np.arange(200) < 150, 1.0, 0.0)  # in a quarter of them, no bid was made
    with pytest.warns(LogWarning, match=f"If the auctions that you {dropped} were dropped"):
        result = replay(own_log(prices, bids), seeds=1)
    wins = 0 if dropped == "won" else 150
    (warning,) = result.warnings
    assert result.notes[0] == warning
    assert f"Your own bids win {wins} of the 150 auctions in which you bid." in warning
    assert less in warning
    note = result.outcome("the log's own bids").note
    assert note.endswith(f"are the auctions that you {dropped} missing?")


@pytest.mark.parametrize("wins", [1, 149])
def test_one_auction_of_the_other_kind_makes_a_log_whole(wins: int) -> None:
    prices = np.where(np.arange(150) < wins, 0.5, 1.5)
    result = replay(own_log(prices, 1.0), seeds=1)
    assert result.warnings == ()
    assert result.outcome("the log's own bids").note == "as they were made"


@pytest.mark.parametrize(
    ("factor", "example"),
    [
        (100, "cents and whole units"),
        (1_000, "an amount for a thousand impressions and for one"),
        (1_000_000, "millionths (micros) and whole units"),
        (0.01, "cents and whole units"),
        (1e-6, "millionths (micros) and whole units"),
    ],
)
def test_amounts_in_different_units_are_diagnosed_as_such(
    log: Path, factor: float, example: str
) -> None:
    frame = pd.read_csv(log).head(500)
    frame["value"] *= factor
    with pytest.warns(LogWarning, match="in different units") as caught:
        result = replay(frame, rules=ReplayRules(bids=20), seeds=1)
    assert len(caught) == 1
    first, second = ("values", "highest competing bids")[:: 1 if factor > 1 else -1]
    about = f"The {first} are about {max(factor, 1 / factor):,.0f} times the {second}: half of"
    assert about in result.warnings[0]
    assert f"different units, for example {example}?" in result.warnings[0]
    assert "swapped" not in " ".join(result.notes)


@pytest.mark.parametrize("factor", [1.0, 0.1, 10.0])
def test_other_ratios_are_no_unit(log: Path, factor: float) -> None:
    frame = pd.read_csv(log).head(500)
    frame["value"] *= factor
    notes = replay(frame, rules=ReplayRules(bids=20), seeds=1).notes
    assert "different units" not in " ".join(notes)


def test_its_form_in_a_console_is_short(result: Replay) -> None:
    playing = result.table().query("kind != 'oracle'")
    best = playing.loc[playing["surplus"].idxmax(), "strategy"]
    assert repr(result) == f"Replay(6001 auctions, {len(result.outcomes)} strategies, best: {best})"


def noted(
    path: Path, lines: str, rules: ReplayRules | None = None, highest_value: float | None = None
) -> str:
    path.write_text("value,competing_bid\n" + lines)
    log = AuctionLog(path, highest_value=highest_value)
    return " ".join(replay(log, rules=rules, seeds=1).notes)


def test_one_very_high_value_is_told(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    lines = "".join(f"{value},1\n" for value in (6, 8, 10) * 50)
    assert "highest value" not in noted(path, lines)
    assert "closer together" not in noted(path, lines)
    chosen = noted(path, lines + "100000,1\n")
    assert "The 100 bids are closer together where most values are" in chosen
    assert "50 % with evenly spaced bids" in chosen
    assert "highest value" not in chosen
    notes = noted(path, lines + "100000,1\n", ReplayRules(bids=100))
    assert "The highest value is 100,000; half of the values are below 8" in notes
    assert "and only 1 of 100 bids is. For a finer grid where most values are: " in notes
    assert "--highest-value" not in notes
    assert "--bids geometric:100:0.08:100000 (bids=geometric_bids(100, 0.08, 100000) in" in notes
    geometric = geometric_bids(100, 0.08, 100_000)
    finer = ReplayRules(bids=geometric.tolist())
    assert "highest value" not in noted(path, lines + "100000,1\n", finer)
    assert "highest value" not in noted(path, lines + "100000,1\n", highest_value=10)


def notes_of(frame: pd.DataFrame, *, own: bool = False) -> str:
    log = AuctionLog(frame, columns={"bid": "bid"} if own else {})
    return " ".join(replay(log, rules=ReplayRules(bids=20), seeds=1).notes)


def test_prices_that_look_like_own_bids_are_told() -> None:
    rng = np.random.default_rng(0)
    values, rivals = rng.uniform(1, 10, (2, 1_000))
    bids = np.round(0.7 * values, 4)
    frame = pd.DataFrame({"value": values, "market_price": np.where(bids >= rivals, bids, rivals)})
    paid = round(100 * np.mean(bids >= rivals))
    said = f"In {paid} % of the auctions the highest competing bid is "
    notes = notes_of(frame)
    assert f"{said}0.700 of the value" in notes
    assert "a replay needs the highest bid of the others, also where you won" in notes
    frame["bid"] = bids
    notes = notes_of(frame, own=True)
    assert f"{said}your own bid" in notes
    assert "of the value" not in notes
    frame["market_price"] = rivals
    assert "what you bid or paid" not in notes_of(frame, own=True)
    frame.loc[:60, "market_price"] = 0.0
    notes = notes_of(frame)
    assert "In 6.1 % of the auctions the highest competing bid is 0: nobody else has" in notes


def test_many_lines_left_out_are_told(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    assert "left out" not in noted(path, "2,1\n3,1\n" * 99 + "2,\n2,x\n")
    missing = noted(path, "2,1\n3,1\n2,\n" * 9 + "2,x\n")
    assert "36 % of the lines were left out, most of them because they have no highest" in missing
    assert "If it is missing where you won, the numbers are wrong" in missing
    wrong = noted(path, "2,1\n3,1\n2,x\n" * 9)
    assert "for one reason: the highest competing bid is not a number. The numbers are" in wrong
    assert "33 % of the lines were left out. The" in noted(
        path, "2,1\n3,1\n2,x\n9,1\nx,1\n3,1\n" * 9
    )


def test_a_log_with_prices_of_lost_auctions_only_is_refused_for_that(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("value,competing_bid\n" + "2,3\n3,\n" * 200 + "x,1\n")
    with pytest.raises(LogError) as refused:
        replay(path)
    message = str(refused.value)
    assert message.startswith("200 of the 401 lines of ")
    assert "If it is missing where you won, this log cannot be replayed" in message
    assert "Only if it is missing by pure chance, allow more bad lines with --max-bad" in message
    assert "\n  line 3: no highest competing bid\n" in message


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("value;competing_bid\n" + "2,5;1\n" * 9, "decimals with a point, 1.5 and not 1,5"),
        ("value,competing_bid\n" + "2,5,1\n" * 9, "Are there decimal commas? Write 1.5, not 1,5."),
    ],
)
def test_decimal_commas_are_named(tmp_path: Path, text: str, advice: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text)
    with pytest.raises(LogError) as refused:
        replay(AuctionLog(path, max_bad=5))
    assert advice in str(refused.value)


def test_a_log_or_a_grid_without_a_win_is_told(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    with pytest.warns(LogWarning, match="is at or above the value. Are the columns swapped?"):
        swapped = noted(path, "1,2\n2,3\n3,4\n" * 5)
    assert "every auction the highest competing bid is at or above the value." in swapped
    with pytest.warns(LogWarning, match="competing bid or the reserve"):
        noted(path, "3,2\n" * 10, ReplayRules(reserve=4))
    low = noted(path, "3,2\n4,1.5\n" * 5, ReplayRules(bids=[0.5, 1]))
    assert "The highest bid, 1, would have won no auction of the log." in low
    usual = noted(path, "3,2\n4,1.5\n" * 5)
    assert "Nothing could be earned" not in usual
    assert "would have won no auction" not in usual


def test_bad_lines_stop_a_replay_only_past_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("value,competing_bid\n" + "2,1\n3,2\nx,1\n" * 4)
    result = replay(AuctionLog(path, max_bad=4), seeds=1)
    assert (result.auctions, result.bad, result.faults[0].line) == (8, 4, 4)
    with pytest.raises(
        LogError, match=r"4 bad lines, and at most 3 .*\n  line 4: the value is not"
    ):
        replay(AuctionLog(path, max_bad=3), seeds=1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "value,competing_bid\n1,2\n",
            r"has 1 good line\. At least 2 auctions are needed\.$",
        ),
        ("value,competing_bid\n0,1\n0,1\n", "values in .* are 0"),
    ],
)
def test_too_little_to_replay(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text)
    with pytest.raises(LogError, match=message):
        replay(path)


def test_a_short_log_of_bad_lines_is_told_why(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("value;competing_bid\n1,5;0,5\n2,5;1,5\n$1;1\n")
    with pytest.raises(LogError) as refused:
        replay(path)
    assert str(refused.value) == (
        f"{path} has 0 good lines. At least 2 auctions are needed. Write decimals with a "
        "point, 1.5 and not 1,5, and no thousands separators. The bad lines:\n"
        "  line 2: the value is written with a comma: '1,5'\n"
        "  line 3: the value is written with a comma: '2,5'\n"
        "  line 4: the value is not a number: '$1'\n"
        "The value is column 'value', the highest competing bid column 'competing_bid' (guessed "
        "by name)."
    )


def test_of_many_bad_lines_a_short_log_shows_the_first(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("value,competing_bid\n1,1\n" + "x,1\n" * 11)
    with pytest.raises(LogError, match=r"1 good line\..* The first bad lines:\n  line 3:"):
        replay(path)


@pytest.mark.parametrize("value", [5e-324, 1e-200, 1e150])
def test_values_that_are_no_sums_of_money_are_blamed_on_the_log(value: float) -> None:
    frame = pd.DataFrame({"value": [value, value], "market_price": [0.0, value]})
    with pytest.raises(
        LogError, match=re.escape(f"is {value:g}. It must be from 1e-100 to 1e+100")
    ):
        replay(frame)


@pytest.mark.parametrize("value", [1e-100, 1e100])
def test_very_small_and_very_large_money_is_played(value: float) -> None:
    frame = pd.DataFrame({"value": [value] * 20, "market_price": [value / 2] * 20})
    result = replay(frame, seeds=1, rules=ReplayRules(bids=11))
    assert result.outcome(result.comparator).mean_surplus == pytest.approx(20 * 0.5 * value)


def test_a_log_that_is_not_in_the_order_of_time_is_told() -> None:
    frame = pd.DataFrame(
        {"timestamp": [1, 3, 2, 5, 4], "value": [2.0] * 5, "market_price": [1.0] * 5}
    )
    notes = " ".join(replay(frame, seeds=1).notes)
    assert "Column 'timestamp' goes back in time 2 times" in notes
    assert "sort the log by time" in notes
    assert "goes back" not in " ".join(replay(frame.sort_values("timestamp"), seeds=1).notes)


@pytest.mark.parametrize(
    "options",
    [{"seeds": 0}, {"seeds": [-1]}, {"seeds": [1, 1]}, {"jobs": 0}, {"rules": "win"}]
    + [{"strategies": wanted} for wanted in ([], "cross-graph", ["chess"], [3])],
)
def test_bad_options_are_refused_by_name(log: Path, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError, match=f"'{next(iter(options))}' parameter of replay"):
        replay(log, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"limit": 0},
        {"max_bad": -1},
        {"highest_value": 0},
        {"highest_value": 1e101},
        {"columns": {"cost": 1}},
        {"columns": ["value"]},
    ],
)
def test_bad_options_of_a_log_are_refused_by_name(log: Path, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError, match=f"'{next(iter(options))}' parameter of Auc"):
        AuctionLog(log, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"feedback": "never"},
        {"bids": "many"},
        {"bids": 1},
        {"bids": [1, -1]},
        {"reserve": -1},
        {"ties": "draw"},
    ],
)
def test_bad_rules_are_refused_by_name(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError, match=f"'{next(iter(options))}' parameter of Replay"):
        ReplayRules(**options)


class Half(Strategy):
    """Bids half the value; a strategy as a user would write one."""

    name = "half"

    def bids(self, chunk: Any) -> Any:
        return self.curve(chunk.values)

    def curve(self, values: Any) -> Any:
        return values / 2


def test_strategies_are_objects_or_names(log: Path) -> None:
    short = AuctionLog(log, limit=500)
    wanted: list[Any] = [Half(), "schneider-zimmert", Shading(0.5), "shading 0.5", "best response"]
    result = replay(short, strategies=wanted, seeds=1)
    names = [outcome.strategy for outcome in result.outcomes if outcome.kind != "oracle"]
    assert names == ["schneider-zimmert", "half", "best response", "50 % of value"]
    half, shading = result.outcome("half"), result.outcome("50 % of value")
    assert half.surplus.tolist() == shading.surplus.tolist()
    with pytest.raises(InvalidParameterError, match="strategies with different names"):
        replay(short, strategies=[Half(), Half()])
    odd = Half()
    odd.kind = "odd"
    with pytest.raises(InvalidParameterError, match="'kind' parameter of Half must be one of"):
        replay(short, strategies=[odd])


def test_a_log_that_changes_meanwhile_is_noticed(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.csv"
    path.write_text("\n".join(log.read_text().splitlines()[:101]) + "\n")

    def meddle(*arguments: Any) -> Any:
        with path.open("a") as file:
            file.write("2026-01-01,1,1\n")
        return collect_hindsight(*arguments)

    monkeypatch.setattr(play, "collect_hindsight", meddle)
    with pytest.raises(LogError, match="has changed"):
        replay(path, seeds=1)


def test_a_ledger_notes_the_points_whatever_the_chunks() -> None:
    rng = np.random.default_rng(0)
    margins, bids, won = rng.random(50), rng.random(50), rng.random(50) < 0.5
    points = np.array([1, 7, 20, 21, 50])
    for size in (1, 7, 20, 50):
        ledger = StrategyRun(Shading(0.5), points)
        for i in range(0, 50, size):
            some = slice(i, i + size)
            ledger.add(((margins + bids) * won)[some], (bids * won)[some], won[some])
        earned = np.cumsum(np.where(won, margins, 0))
        np.testing.assert_allclose(ledger.curve, earned[points - 1])
        assert ledger.wins == won.sum()
        assert ledger.spend == pytest.approx(bids[won].sum())


def test_regret_grows_as_the_theorem_says(tmp_path: Path) -> None:
    """On independent draws, `cross-graph` approaches the best fixed policy: slope at most 0.6.

    Over fixed seeds; a fit to five horizons with four seeds each strays by about 0.02.
    """
    path = make_log(tmp_path / "log.parquet", 80_000, seed=3, laws="known")
    horizons = [5_000, 10_000, 20_000, 40_000, 80_000]
    rules = ReplayRules(bids=10)
    regrets = []
    for horizon in horizons:
        log = AuctionLog(path, limit=horizon)
        result = replay(log, rules=rules, strategies=["cross-graph"], seeds=4)
        best = result.outcome("best fixed policy")  # the comparator of the theorem
        regrets.append(best.mean_surplus - result.outcomes[0].mean_surplus)
    slope = np.polyfit(np.log(horizons), np.log(regrets), 1)[0]
    assert 0.3 < slope <= 0.6
    assert regrets[-1] / horizons[-1] < regrets[0] / horizons[0] / 2
