import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from crossbandit.errors import InvalidParameterError, LogError
from crossbandit.logs import AuctionLog, make_log
from crossbandit.logs.survey import survey_log


@pytest.fixture(scope="module")
def realistic(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    path = make_log(tmp_path_factory.mktemp("log") / "log.csv", 140_000, seed=5)
    return pd.read_csv(path, parse_dates=["timestamp"])


@pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
def test_the_same_arguments_give_the_same_bytes(tmp_path: Path, name: str) -> None:
    files = [
        make_log(tmp_path / str(i) / name, 70_000, seed=seed).read_bytes()
        for i, seed in enumerate((1, 1, 2))
    ]
    assert files[0] == files[1]
    assert files[0] != files[2]
    assert [path.name for path in (tmp_path / "0").iterdir()] == [name]


def test_both_formats_hold_the_same_log(tmp_path: Path) -> None:
    text, parquet = (make_log(tmp_path / f"log{end}", 5_000) for end in (".csv", ".parquet"))
    for one, other in zip(
        AuctionLog(text).chunks(512), AuctionLog(parquet).chunks(512), strict=True
    ):
        np.testing.assert_array_equal(one.values, other.values)
        np.testing.assert_array_equal(one.prices, other.prices)


def test_it_replays_without_a_word(tmp_path: Path) -> None:
    survey = survey_log(AuctionLog(make_log(tmp_path / "log.csv", 3_000)))
    assert (survey.auctions, survey.bad) == (3_000, 0)
    assert survey.highest_value <= 10


def test_realistic_logs_have_a_day_a_drift_and_round_prices(realistic: pd.DataFrame) -> None:
    times, values = realistic["timestamp"], realistic["value"]
    prices = realistic["highest_competing_bid"]
    assert times.is_monotonic_increasing
    assert (times.iloc[-1] - times.iloc[0]).days == 13
    assert 0.2 < np.corrcoef(values, prices)[0, 1] < 0.3
    by_hour = realistic.groupby(times.dt.hour)["highest_competing_bid"]
    assert by_hour.size()[20] > 2 * by_hour.size()[8]
    assert by_hour.mean()[20] > 1.3 * by_hour.mean()[8]
    days = times.dt.day_of_year - times.dt.day_of_year.iloc[0]
    assert prices[days == 13].mean() > 1.2 * prices[days == 0].mean()
    most = prices.value_counts().index[:3]
    assert set(most) == {1.0, 1.5, 2.0}


def test_known_laws_are_the_laws(tmp_path: Path) -> None:
    frame = pd.read_csv(make_log(tmp_path / "log.csv", 50_000, seed=1, laws="known"))
    values, prices = frame["value"] / 10, frame["highest_competing_bid"] / 10
    # Each would fail by chance once in a thousand seeds; the seed is fixed.
    assert stats.kstest(values, "uniform").pvalue > 1e-3
    assert stats.kstest(prices, stats.beta(2, 4).cdf).pvalue > 1e-3
    assert stats.spearmanr(values, prices).pvalue > 1e-3
    assert stats.spearmanr(values[1:], values[:-1]).pvalue > 1e-3


def test_a_correlation_and_sites_are_as_asked_for(tmp_path: Path) -> None:
    frames = {
        c: pd.read_csv(make_log(tmp_path / f"{c}.csv", 20_000, correlation=c, sites=30))
        for c in (0.0, 0.8)
    }
    for correlation, frame in frames.items():
        logs = np.log(frame[["value", "highest_competing_bid"]].clip(lower=0.01))
        means = logs.groupby(frame["site"]).transform("mean")
        inside = (logs - means).corr().iloc[0, 1]
        assert abs(inside - correlation) < 0.12  # also the hours, and prices that are rounded
        assert frame["site"].nunique() == 30
        assert frame["site"].value_counts().index[0] == "site-01"
        assert means["highest_competing_bid"].std() > 0.2
    with pytest.raises(InvalidParameterError, match="'laws' parameter"):
        make_log(tmp_path / "x.csv", 5, laws="known", sites=2)
    with pytest.raises(InvalidParameterError, match="'correlation' parameter"):
        make_log(tmp_path / "x.csv", 5, correlation=1.5)


def test_a_log_is_not_overwritten_by_accident(tmp_path: Path) -> None:
    path = make_log(tmp_path / "log.csv", 10)
    before = path.read_bytes()
    with pytest.raises(LogError, match=r"exists already.*--force"):
        make_log(path, 20)
    assert path.read_bytes() == before
    assert make_log(path, 20, overwrite=True).read_bytes() != before


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "log.csv").mkdir()
    with pytest.raises(LogError, match=r"log\.csv' is a folder"):
        make_log(tmp_path / "log.csv", 10, overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["log.csv"]


FULL = """
import resource, sys
from crossbandit.logs import AuctionLog, make_log
from crossbandit.errors import LogError
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
try:
    make_log(sys.argv[1], 200_000)
except LogError as error:
    print(error)
"""


@pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
def test_a_full_disk_is_a_sentence_and_leaves_nothing(tmp_path: Path, name: str) -> None:
    command = [sys.executable, "-c", FULL, str(tmp_path / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.startswith(f"{tmp_path / name} cannot be written: "), done.stderr
    assert done.stdout.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"auctions": 0}, "'auctions' parameter"),
        ({"seed": -1}, "'seed' parameter"),
        ({"laws": "none"}, "'realistic', 'known'"),
        ({"path": "log.txt"}, r"\.csv or \.parquet"),
    ],
)
def test_bad_arguments_are_refused(
    tmp_path: Path, arguments: dict[str, object], message: str
) -> None:
    usual: dict[str, object] = {"path": "log.csv", "auctions": 10}
    given = {**usual, **arguments}
    path = tmp_path / str(given.pop("path"))
    with pytest.raises(InvalidParameterError, match=message):
        make_log(path, **given)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
