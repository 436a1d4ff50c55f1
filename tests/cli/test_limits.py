"""The options of `crossbandit replay` about limits."""

import re
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from crossbandit.cli.app import app
from crossbandit.errors import CrossbanditError
from crossbandit.limits import Budget, Limit, ReturnOnSpend
from crossbandit.logs.replay import AuctionLog, ReplayRules, make_log, replay
from crossbandit.logs.replay.strategies import PACED

FEW = ("--seeds", 1, "--bids", 20, "--algorithm", "law", "--fractions", "0.2")
DAILY = ("--budget", 20, "--per", "day", "--time-column", "timestamp")


def run(*options: object) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, ["replay", *map(str, options)])


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_log(tmp_path_factory.mktemp("log") / "log.csv", 2_000, seed=1)


def test_from_options_to_the_page(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    zone = ("--timezone", "Europe/Berlin", "--pacing", "even", "--target-roi", 3)
    result = run(log, *FEW, *DAILY, *zone, "--out", out)
    assert result.exit_code == 0, result.output
    limits: list[Limit] = [
        Budget(20, per="day", pacing="even", timezone="Europe/Berlin"),
        ReturnOnSpend(3, timezone="Europe/Berlin"),
    ]
    timed = AuctionLog(log, columns={"time": "timestamp"}, timezone="Europe/Berlin")
    direct = replay(timed, limits=limits, strategies=["law"], seeds=1, rules=ReplayRules(bids=20))
    written = pd.read_csv(out / "table.csv").set_index("strategy")
    own = direct.table().set_index("strategy")
    for column in ("value", "spend", "budget_used", "return_on_spend", "target_kept"):
        assert written.loc["price distribution", column] == pytest.approx(
            own.loc["price distribution", column]
        )
    spending = pd.read_csv(out / "spending.csv")
    assert spending["spend"][spending["strategy"] == PACED].max() <= 20 * (1 + 1e-9)
    table = result.output.partition("What each strategy")[2].partition("Difference from")[0]
    assert max(map(len, table.splitlines())) <= 80
    numbers = r"[\d,.]+ ± [\d,.]+ +[\d,.]+ +[\d,.]+ +[\d.]+ % +[\d.]+"
    assert re.search(rf"price distribution +{numbers} +yes", table)
    page = (out / "index.html").read_text(encoding="utf-8")
    for text in ("Budget used", "Target kept", "Multiplier", "Spend by period", "paced evenly"):
        assert text in page, text
    assert "a budget of 20 per day (Europe/Berlin)" in page
    markdown = (out / "table.md").read_text(encoding="utf-8")
    assert "| budget used | return | target kept | won |" in markdown


def test_a_budget_for_the_whole_log_needs_no_times(log: Path, tmp_path: Path) -> None:
    result = run(log, *FEW, "--budget", 100, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "Spend by period" not in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "Budget used is a share of all budgets of the log." in result.output


def test_several_budgets_in_both_forms(log: Path, tmp_path: Path) -> None:
    forms = {
        "new": ("--budget", "20/day", "--budget", "3/hour"),
        "old": ("--budget", 20, "--per", "day", "--budget", 3, "--per", "hour"),
    }
    tables = []
    for name, options in forms.items():
        out = tmp_path / name
        result = run(log, *FEW, *options, "--time-column", "timestamp", "--out", out)
        assert result.exit_code == 0, result.output
        tables.append((out / "spending.csv").read_text(encoding="utf-8"))
        page = (out / "index.html").read_text(encoding="utf-8")
        assert "Spend per day (UTC)" in page
        assert "Spend per hour (UTC)" in page
    assert tables[0] == tables[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--per", "day"), "--per belongs to --budget, which is missing"),
        (("--pacing", "even"), "--pacing belongs to --budget"),
        (("--aim", "value"), "--aim belongs to --target-roi or --target-cost"),
        (
            ("--budget", 5, "--per", "year"),
            "--per must be hour, day, week, month, log",
        ),
        (
            ("--budget", 5, "--per", "0"),
            "--per must be hour, day, week, month, log",
        ),
        (("--budget", 5, "--per", "day"), "A limit per day needs the time of each auction"),
        (("--budget", -5), "--budget must be"),
        (("--budget", "nan"), "--budget must be"),
        (("--budget", 0), "--budget must be"),
        (
            ("--budget", "5/year"),
            "The period of --budget must be hour, day, week, month, log",
        ),
        (("--budget", "much"), "--budget must be an amount, or an amount and its period"),
        (("--budget", 5, "--budget", "9/7", "--per", 7, "--per", 8), "There are 1 such budgets"),
        (("--target-roi", -1), "--target-roi must be"),
        (("--target-cost", "nan"), "--target-cost must be"),
        ((*DAILY, "--timezone", "Mars/Olympus"), "--timezone must be"),
    ],
)
def test_bad_options_are_refused_by_name(
    log: Path, tmp_path: Path, options: tuple[object, ...], message: str
) -> None:
    result = run(log, *FEW, *options, "--out", tmp_path / "out")
    assert isinstance(result.exception, CrossbanditError)
    assert message in str(result.exception)
    assert not (tmp_path / "out" / "index.html").exists()
