"""Class columns and the price distribution in a replay."""

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

from crossbandit import Problem
from crossbandit.applications.bidding.auctions import AuctionRules
from crossbandit.core.types import Feedback
from crossbandit.errors import InvalidParameterError, LogError
from crossbandit.laws import Diagnosis, OutcomeLaw
from crossbandit.limits import Budget, Limit
from crossbandit.logs import Auctions
from crossbandit.logs import log as log_module
from crossbandit.logs.log import OTHERS, SHOWN, ClassTable
from crossbandit.logs.replay import AuctionLog, Replay, ReplayRules, make_log, play, replay
from crossbandit.logs.replay.page import page, table_text
from crossbandit.logs.replay.results import find_dependence
from crossbandit.logs.replay.strategies import LawStrategy, ReplaySetting, make_chunk

SITES = 14
NOTHING = "Nothing shows that prices are correlated with values here"
AUCTIONS = 6_000


def frame_with_sites(seed: int = 0, auctions: int = AUCTIONS) -> pd.DataFrame:
    """Prices differ by site; the device says nothing."""
    rng = np.random.default_rng(seed)
    site = np.minimum(rng.geometric(0.2, auctions) - 1, SITES - 1)
    return pd.DataFrame(
        {
            "value": rng.uniform(0, 10, auctions),
            "market_price": np.round(rng.gamma(4, 0.5, auctions) * (0.5 + site / 4), 2),
            "site": [f"site-{number}" for number in site],
            "device": rng.choice(["phone", "tv", ""], auctions),
        }
    )


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("classes") / "log.csv"
    frame_with_sites().to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def result(log: Path) -> Replay:
    both = AuctionLog(log, classes=["site", "Device"])
    strategies = ["law", "guarded law", "best response", "shading 0.5"]
    return replay(both, strategies=strategies, seeds=2, rules=ReplayRules(bids=40))


def test_the_surplus_of_the_classes_adds_up(result: Replay) -> None:
    table = result.by_class()
    for column in ("site", "device"):
        mine = table[table["column"] == column].groupby("strategy")
        assert (mine["auctions"].sum() == AUCTIONS).all()
        for one in result.outcomes:
            assert mine["surplus"].sum()[one.strategy] == pytest.approx(one.mean_surplus)
            assert mine["spend"].sum()[one.strategy] == pytest.approx(one.spend.mean())
            won = (table["auctions"] * table["win_rate"])[
                (table["column"] == column) & (table["strategy"] == one.strategy)
            ]
            assert won.sum() == pytest.approx(one.wins.mean())


def test_the_most_frequent_levels_are_shown_and_the_rest_is_pooled(result: Replay) -> None:
    counts = frame_with_sites()["site"].value_counts()
    site, device = result.classes
    assert site.levels == (*counts.index[:SHOWN], OTHERS)
    assert site.auctions.tolist() == [*counts.iloc[:SHOWN], counts.iloc[SHOWN:].sum()]
    assert site.pooled == SITES - SHOWN
    assert set(device.levels) == {"phone", "tv", "(empty)"}
    assert device.pooled == 0


def test_one_level_too_many_is_shown_rather_than_pooled() -> None:
    frame = frame_with_sites(auctions=220)
    frame["site"] = [f"s{i % (SHOWN + 1)}" for i in range(220)]
    found = replay(AuctionLog(frame, classes=["site"]), strategies=["truthful"]).classes[0]
    assert len(found.levels) == SHOWN + 1
    assert OTHERS not in found.levels
    assert (found.auctions == 20).all()


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
def test_classes_are_the_same_from_any_source(tmp_path: Path, kind: str) -> None:
    frame = frame_with_sites(auctions=3_000).assign(number=np.arange(3_000) % 7)
    source: Any = frame
    if kind == "csv":
        frame.to_csv(source := tmp_path / "log.csv", index=False)
    if kind == "parquet":
        source = tmp_path / "log.parquet"
        with duckdb.connect() as connection:
            connection.from_df(frame).write_parquet(str(source))
    log = AuctionLog(source, classes=["number", "site"])
    found = np.concatenate(
        [chunk.classes for chunk in log.chunks(999) if chunk.classes is not None]
    )
    assert found.shape == (3_000, 3)
    for i, column in enumerate(("number", "site")):
        np.testing.assert_array_equal(found[:, i], pd.factorize(frame[column])[0])
    pairs = frame["number"].astype(str) + "/" + frame["site"]
    np.testing.assert_array_equal(found[:, 2], pd.factorize(pairs)[0])


def test_more_levels_than_are_told_apart_are_one_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "LIMIT", 3)
    table = ClassTable(["site"])
    numbers = table.numbers([pd.Series(list("abcdeab"))])
    assert numbers[:, 0].tolist() == [0, 1, 2, 3, 3, 0, 1]
    table.count(numbers)
    assert table.numbers([pd.Series(list("xc"))])[:, 0].tolist() == [3, 2]
    assert table.full() == ["site"]
    assert table.column(0).levels == ("a", "b", "c", OTHERS)
    assert table.column(0).auctions.tolist() == [2, 2, 1, 2]
    (note,) = find_dependence(None, table, ())
    assert "'site' has more than" in note


def test_wrong_class_columns_are_refused(log: Path) -> None:
    with pytest.raises(LogError, match=r"no column 'sites'.*Did you mean 'site'"):
        AuctionLog(log, classes=["sites"])
    with pytest.raises(InvalidParameterError, match="different columns"):
        AuctionLog(log, classes=["site", 3])
    with pytest.raises(InvalidParameterError, match="a list of columns"):
        AuctionLog(log, classes="site")


def test_the_best_policy_per_class_is_the_best_one() -> None:
    frame = frame_with_sites(auctions=500).assign(value=lambda one: np.ceil(one["value"]))
    frame["device"] = frame["device"].replace("", "none")
    result = replay(
        AuctionLog(frame, classes=["site", "device"]),
        strategies=["truthful"],
        rules=ReplayRules(bids=np.linspace(0, 10, 11)),
    )
    total = 0.0
    for _, group in frame.groupby(["site", "device"]):
        prices = np.ceil(group["market_price"].to_numpy()).clip(1)
        for value in group["value"]:
            wins = (prices[:, None] <= np.arange(1, value + 1)).sum(axis=0)
            bid = 1 + int(np.argmax((value - np.arange(1, value + 1)) * wins))
            mine = group["value"].to_numpy() == value
            total += (value - bid) * (prices[mine] <= bid).sum() / mine.sum()
    assert result.outcome("best policy per class").mean_surplus == pytest.approx(total)


def _law_bids(
    feedback: Feedback, chunks: int, *, reserve: float = 0.0, guarded: bool = False
) -> tuple[np.ndarray[Any, Any], OutcomeLaw]:
    frame = frame_with_sites(auctions=3_000)
    rules = AuctionRules(bids=21, highest_value=10.0, reserve=reserve)
    problem = Problem(rules.graph(feedback), features=2)
    strategy = LawStrategy(ReplaySetting(rules, feedback, problem, 1), 3, guarded=guarded)
    numbers = ClassTable(["site"]).numbers([frame["site"]])
    whole = Auctions(frame["value"].to_numpy(), frame["market_price"].to_numpy(), classes=numbers)
    cuts = np.linspace(0, 3_000, chunks + 1).astype(int)
    bids = [
        strategy.bids(make_chunk(whole.part(start, stop), rules, problem))
        for start, stop in pairwise(cuts)
    ]
    return np.concatenate(bids), strategy.law


@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize("feedback", ["after-loss", "after-win", "always", "won-lost"])
def test_the_price_law_bids_alike_in_chunks_of_any_size(feedback: Feedback, guarded: bool) -> None:
    whole, law = _law_bids(feedback, 1, guarded=guarded)
    parts, again = _law_bids(feedback, 7, guarded=guarded)
    np.testing.assert_array_equal(whole, parts)
    values = frame_with_sites(auctions=3_000)["value"]
    assert (whole <= values).all()
    assert law.rounds == again.rounds == (values >= law.amounts[1]).sum()


def test_the_price_law_knows_the_reserve() -> None:
    bids, law = _law_bids("after-loss", 3, reserve=2.2)
    values = frame_with_sites(auctions=3_000)["value"].to_numpy()
    assert set(bids[bids < 2.5]) == {0.0}
    assert ((bids > 0) == (values >= 2.5)).all()
    assert law.rounds == (values >= 2.5).sum()


def test_the_price_law_uses_classes(log: Path, result: Replay) -> None:
    without = replay(log, strategies=["law"], seeds=2, rules=ReplayRules(bids=40))
    assert (
        result.outcome("price distribution").mean_surplus > 1.03 * without.outcomes[0].mean_surplus
    )
    assert without.by_class().empty
    guarded = result.outcome("guarded price distribution").mean_surplus
    assert guarded == pytest.approx(result.outcome("price distribution").mean_surplus, rel=0.03)


def test_a_price_law_depends_on_no_size_of_chunks(
    log: Path, monkeypatch: pytest.MonkeyPatch, result: Replay
) -> None:
    monkeypatch.setattr(play, "_ENTRIES", 2**13)
    both = AuctionLog(log, classes=["site", "device"])
    again = replay(both, strategies=["law"], seeds=2, rules=ReplayRules(bids=40))
    np.testing.assert_allclose(again.outcomes[0].surplus, result.outcomes[0].surplus, rtol=1e-12)
    first = again.by_class().query("strategy == 'price distribution'").reset_index(drop=True)
    pd.testing.assert_frame_equal(
        first, result.by_class().query("strategy == 'price distribution'").reset_index(drop=True)
    )


def test_the_page_and_the_table_show_the_classes(result: Replay) -> None:
    shown = page(result, log="l.csv", command="c")
    for text in ("<h2>By site</h2>", "<h2>By device</h2>", 'id="class-1"', "4 levels are pooled"):
        assert text in shown
    text = table_text(result, log="l.csv")
    assert "## By device" in text
    assert "| (empty) |" in text


def test_with_limits_the_classes_are_compared_with_the_comparator(log: Path) -> None:
    """No best policy per class takes part then."""
    by_site = AuctionLog(log, classes=["site"])
    limits: list[Limit] = [Budget(500, per=None)]
    rules = ReplayRules(bids=40)
    result = replay(by_site, limits=limits, strategies=["law"], seeds=1, rules=rules)
    head = f"| site | auctions | price distribution | {result.comparator} |"
    assert head in table_text(result, log="log.csv")
    assert "<h2>By site</h2>" in page(result, log="log.csv", command="crossbandit")


def test_the_diagnosis_is_said_in_words(tmp_path: Path) -> None:
    said = {}
    for correlation in (0.0, 0.7):
        path = make_log(tmp_path / f"{correlation}.csv", 8_000, correlation=correlation)
        result = replay(path, strategies=["law"], seeds=1)
        assert result.diagnosis is not None
        assert result.diagnosis.rounds <= 8_000
        said[correlation] = result.notes[-1]
    # Both are higher in the evening, so that they are not quite independent at correlation 0.
    assert "hardly matters" in said[0.0] or "Nothing shows" in said[0.0]
    assert "correlated with values here: bidding by value earns an estimated" in said[0.7]
    result = replay(tmp_path / "0.7.csv", strategies=["law", "best response"], seeds=1)
    mine, other = (result.outcomes[i].mean_surplus for i in (0, 1))
    assert mine > 1.03 * other
    assert f"bidding by value earned {100 * (mine / other - 1):.0f} % more" in result.notes[-1]
    assert replay(tmp_path / "0.7.csv", strategies=["truthful"]).diagnosis is None


@pytest.mark.parametrize(
    ("evidence", "by_class", "gain", "names", "said"),
    [
        (
            9.0,
            math.nan,
            0.051,
            (),
            "Prices are correlated with values here: bidding by value earns an estimated 5 % more.",
        ),
        (9.0, 0.0, 0.02, ("s",), "bidding by value and class earns an estimated 2.0 % more."),
        (
            9.0,
            9.0,
            0.02,
            ("s",),
            "the class: bidding by value and class earns an estimated 2.0 % more.",
        ),
        (
            9.0,
            math.nan,
            0.001,
            (),
            "it hardly matters: bidding by value earns an estimated 0.1 % more.",
        ),
        (
            0.0,
            9.0,
            0.2,
            ("s",),
            f"{NOTHING}, given the class.",
        ),
        (
            0.0,
            0.0,
            0.2,
            ("s",),
            f"{NOTHING}, given the class.",
        ),
        (0.0, math.nan, 0.2, (), f"{NOTHING}."),
    ],
)
def test_every_finding_has_its_words(
    evidence: float, by_class: float, gain: float, names: tuple[str, ...], said: str
) -> None:
    found = Diagnosis(evidence, gain, 100, class_log_evidence=by_class)
    (note,) = find_dependence(found, ClassTable(names), ())
    assert note.endswith(said)
    assert ("with the class" in note) == found.depends_on_class
