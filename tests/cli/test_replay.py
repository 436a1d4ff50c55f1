import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from crossbandit.algorithms import registered
from crossbandit.cli.app import app
from crossbandit.cli.logs import parse_bids, parse_fractions
from crossbandit.errors import InvalidParameterError, LogError, ResultsError, StudyError
from crossbandit.logs.replay import AuctionLog, ReplayRules, Shading, make_log, replay
from crossbandit.logs.replay.page import WRITTEN


def run(*options: object, columns: int = 80) -> Result:
    arguments = ["replay", *map(str, options)]
    return CliRunner(env={"COLUMNS": str(columns)}).invoke(app, arguments)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_log(tmp_path_factory.mktemp("log") / "log.csv", 3_000, seed=1)


@pytest.fixture(scope="module")
def first(log: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    folder = tmp_path_factory.mktemp("replay") / "out"
    return folder, run(log, "--seeds", 2, "--bids", 20, "--out", folder)


def test_from_a_log_to_the_page(first: tuple[Path, Result]) -> None:
    folder, result = first
    assert result.exit_code == 0, result.output
    assert {path.name for path in folder.iterdir()} == set(WRITTEN) - {
        "classes.csv",
        "spending.csv",
    }
    assert "(guessed by name)" in result.output.replace("\n", " ")
    assert f"Open {folder / 'index.html'}" in result.output
    table = result.output.partition("What each strategy")[2].partition("Difference from")[0]
    assert max(map(len, table.splitlines())) <= 80
    for strategy in (
        "price distribution",
        "cross-graph-adaptive",
        "best response",
        "truthful",
        "best fixed policy",
    ):
        assert re.search(rf"^ ?{strategy} .*%", table, re.MULTILINE), strategy
    assert len(re.findall(r"\d\d % of value \(best\)", table)) == 1


def test_the_files_hold_what_the_function_returns(first: tuple[Path, Result], log: Path) -> None:
    result = replay(log, rules=ReplayRules(bids=20), seeds=2)
    for name, frame in (
        ("table", result.table()),
        ("curves", result.curves()),
        ("bids", result.bid_curves()),
    ):
        written = pd.read_csv(first[0] / f"{name}.csv", keep_default_na=False, na_values=[""])
        pd.testing.assert_frame_equal(
            written.select_dtypes("number"), frame.select_dtypes("number"), rtol=1e-12
        )
        assert list(written["strategy"]) == list(frame["strategy"])


def test_the_same_command_gives_the_same_bytes(first: tuple[Path, Result], log: Path) -> None:
    before = {path.name: path.read_bytes() for path in first[0].iterdir()}
    again = run(log, "--seeds", 2, "--bids", 20, "--out", first[0], "--quiet")
    assert (again.exit_code, again.output) == (0, "")
    assert {path.name: path.read_bytes() for path in first[0].iterdir()} == before


def test_the_page_repeats_the_command_without_paths(first: tuple[Path, Result], log: Path) -> None:
    page = (first[0] / "index.html").read_text(encoding="utf-8")
    assert "<code>crossbandit replay log.csv --bids 20 --seeds 2</code>" in page
    for private in (str(first[0]), str(log.parent)):
        assert private not in page


@pytest.mark.usefixtures("empty_figures")
def test_options_reach_the_replay(log: Path, tmp_path: Path) -> None:
    options = ["--feedback", "won-lost", "--algorithm", "schneider-zimmert", "--ties", "lose"]
    more = ["--reserve", "1", "--highest-value", "12", "--limit", "800", "--seed", "3"]
    more += ["--fractions", "0.3,0.625"]
    columns = ["--value-column", "VALUE", "--price-column", "3", "--bids", "geometric:9:0.1:6"]
    result = run(log, *options, *more, *columns, "--seeds", 1, "--jobs", 1, "--out", tmp_path / "o")
    assert result.exit_code == 0, result.output
    bids = np.append(0, np.geomspace(0.1, 6, 8))
    fractions = [Shading(fraction) for fraction in (0.3, 0.625, 1)]
    expected = replay(
        AuctionLog(log, highest_value=12, limit=800),
        rules=ReplayRules(feedback="won-lost", ties="lose", reserve=1, bids=bids),
        strategies=["schneider-zimmert", "best responses", *fractions],
        seeds=[3],
    )
    written = pd.read_csv(tmp_path / "o" / "table.csv")
    np.testing.assert_allclose(written["surplus"], expected.table()["surplus"])
    assert {"30 % of value", "62.5 % of value"} <= set(written["strategy"])
    page = (tmp_path / "o" / "index.html").read_text(encoding="utf-8")
    assert "reserve 1, equal bids lose" in page
    assert "--algorithm schneider-zimmert" in page


OWN = """
from dataclasses import dataclass
from crossbandit import CrossGraphAdaptive
from crossbandit.algorithms import register

@register
@dataclass(frozen=True, kw_only=True)
class Mine(CrossGraphAdaptive):
    id = "mine-for-replay"
"""


@pytest.mark.usefixtures("empty_figures")
def test_an_algorithm_of_ones_own_is_replayed(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "crossbandit.algorithms.learners.algorithm._ALGORITHMS._builders", dict(registered())
    )
    mine = tmp_path / "mine.py"
    mine.write_text(OWN)
    options = ["--algorithm", "mine-for-replay", "--seeds", 1, "--limit", 300]
    without = run(log, *options, "--out", tmp_path / "o")
    assert isinstance(without.exception, InvalidParameterError)
    result = run(log, *options, "--module", mine, "--out", tmp_path / "o")
    assert result.exit_code == 0, result.output
    assert "mine-for-replay" in result.output
    page = (tmp_path / "o" / "index.html").read_text(encoding="utf-8")
    assert "--module mine.py" in page
    assert str(tmp_path) not in page


@pytest.mark.parametrize(
    ("text", "why"), [(None, "There is no Python file"), ("1 / 0", "ZeroDivisionError: division")]
)
def test_a_module_that_cannot_be_loaded_is_named(
    log: Path, tmp_path: Path, text: str | None, why: str
) -> None:
    path = tmp_path / f"broken_{text is None}.py"
    if text is not None:
        path.write_text(text)
    result = run(log, "--module", path, "--out", tmp_path / "o")
    assert isinstance(result.exception, StudyError)
    assert why in str(result.exception)
    assert repr(str(path)) in str(result.exception)


@pytest.mark.usefixtures("empty_figures")
def test_own_bids_and_reserves_are_in_all_files(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    lines = (f"{2 + i % 7 / 10},{1 + i % 5 / 10},1.3,{i % 2}\n" for i in range(200))
    path.write_text("value,market_price,our_bid,floor\n" + "".join(lines))
    options = ["--bid-column", "our_bid", "--reserve-column", "floor", "--reserve", 0.5]
    result = run(path, *options, "--seeds", 1, "--out", tmp_path / "o")
    assert result.exit_code == 0, result.output
    assert re.search(r"the log's own bids .* 80\.0 %", result.output)
    table = pd.read_csv(tmp_path / "o" / "table.csv").set_index("strategy")
    assert table.loc["the log's own bids", ["kind", "win_rate"]].tolist() == ["own", 0.8]
    for name in ("curves.csv", "table.md", "index.html"):
        text = (tmp_path / "o" / name).read_text(encoding="utf-8")
        assert "the log's own bids" in text.replace("&#x27;", "'"), name
    page = (tmp_path / "o" / "index.html").read_text(encoding="utf-8")
    assert "reserve of each auction in column &#39;floor&#39;, at least 0.5, equal" in page


@pytest.mark.usefixtures("empty_figures")
def test_notes_are_printed_letter_by_letter(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("value,market_price\n" + "6,1\n8,2\n" * 50 + "100000,1\n")
    result = run(path, "--seeds", 1, "--bids", 100, "--out", tmp_path / "o", columns=300)
    assert "--bids geometric:100:0.0" in result.output


@pytest.mark.usefixtures("empty_figures")
def test_bad_lines_are_shown_and_left_out(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("value,competing_bid\n" + "2,1\n3,<b>2\n4,1\n" * 20)
    result = run(path, "--seeds", 1, "--out", tmp_path / "o")
    assert result.exit_code == 0, result.output
    assert "20 of 60 lines were left out. The first of them:\n" in result.output
    assert len(re.findall("^  line ", result.output, re.MULTILINE)) == 10
    assert "  line 3: the highest competing bid is not a number: '<b>2'\n" in result.output
    page = (tmp_path / "o" / "index.html").read_text(encoding="utf-8")
    assert "20 of 60 lines were left out. The first of them:" in page
    assert "&lt;b&gt;2" in page
    assert "<b>2" not in page
    stopped = run(path, "--seeds", 1, "--max-bad", 19, "--out", tmp_path / "o")
    assert isinstance(stopped.exception, LogError)
    assert "20 bad lines" in str(stopped.exception)


@pytest.mark.usefixtures("empty_figures")
def test_a_single_bad_line_is_counted_too(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("value,competing_bid\n2,1\nx,1\n4,1\n")
    result = run(path, "--seeds", 1, "--out", tmp_path / "o")
    assert "1 of 3 lines was left out:\n  line 3:" in result.output


def test_a_foreign_folder_is_left_alone(log: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    result = run(log, "--out", tmp_path)
    assert isinstance(result.exception, ResultsError)
    assert "'thesis.tex'" in str(result.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    file = run(log, "--out", tmp_path / "thesis.tex")
    assert isinstance(file.exception, ResultsError)


@pytest.mark.parametrize("text", ["", "x", "1.5", "0,x", "geometric:3", "geometric:a:1:2"])
def test_bids_that_mean_nothing_are_refused(text: str) -> None:
    with pytest.raises(InvalidParameterError, match="--bids must be auto, a number of bids"):
        parse_bids(text)


@pytest.mark.parametrize("text", ["", "x", "0.5;0.6"])
def test_fractions_that_mean_nothing_are_refused(text: str) -> None:
    with pytest.raises(InvalidParameterError, match="--fractions must be a list"):
        parse_fractions(text)


def test_bids_are_numbers_lists_or_ratios() -> None:
    assert parse_bids("30") == 30
    assert parse_bids("0,0.5, 1") == [0, 0.5, 1]
    np.testing.assert_allclose(np.array(parse_bids("geometric:4:1:4")), [0, 1, 2, 4])
    with pytest.raises(InvalidParameterError, match="'highest' parameter"):
        parse_bids("geometric:4:5:4")


def test_every_pair_with_the_first_strategy_is_compared(first: tuple[Path, Result]) -> None:
    table = first[1].output.partition("Difference from price distribution, in the same")[2]
    assert max(map(len, table.splitlines()[:10])) <= 80
    for strategy in (
        "cross-graph-adaptive",
        "cross-graph",
        "best response",
        r"\d\d % of value \(best\)",
    ):
        number = r"−?[\d,.]+"
        row = rf"^ ?{strategy} +{number} +{number} to {number} +[+−][\d.]+ %"
        assert re.search(row, table, re.MULTILINE), strategy
    assert "perfect knowledge" not in table


@pytest.mark.usefixtures("empty_figures")
def test_classes_are_printed_and_written(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    made = CliRunner().invoke(
        app, ["make-log", str(path), "--auctions", "2000", "--sites", "12", "--correlation", "0.5"]
    )
    assert "--class-column site" in made.output
    columns = ("--class-column", "site", "--class-column", "1")
    result = run(path, *columns, "--seeds", 1, "--out", tmp_path / "out", "--bids", 20)
    assert result.exit_code == 0, result.output
    assert "Surplus by site" in result.output
    assert "Surplus by timestamp" in result.output
    assert "The other 2 levels are pooled." in result.output
    written = pd.read_csv(tmp_path / "out" / "classes.csv")
    assert set(written["column"]) == {"site", "timestamp"}
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "--class-column site --class-column 1" in page


@pytest.mark.usefixtures("empty_figures")
def test_a_log_without_the_auctions_won_is_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    lines = (f"{2 + i % 7 / 10},{1.5 + i % 5 / 10},1.3\n" for i in range(200))
    path.write_text("value,market_price,our_bid\n" + "".join(lines))
    result = run(path, "--bid-column", "OUR_BID", "--seeds", 1, "--out", tmp_path / "o")
    assert result.exit_code == 0, result.output
    said = " ".join(result.stderr.split())
    assert "Warning: Your own bids win 0 of the 200 auctions in which you bid. If the" in said
    assert re.search(r"the log's own bids \(!\) .* 0\.0 %", result.stdout)
    assert "(!) nearly all lost: are the" in " ".join(result.stdout.split())
    page = (tmp_path / "o" / "index.html").read_text(encoding="utf-8")
    for text in ("Your own bids win 0 of the 200 auctions", "nearly all lost: are the auctions"):
        assert text in page


def test_help_says_what_each_column_is() -> None:
    text = " ".join(run("--help", columns=200).output.split())
    assert "Column with the highest competing bid: a name, or a number from 1." in text


def command(*options: object) -> list[str]:
    return [sys.executable, "-m", "crossbandit", "replay", *map(str, options)]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_output_may_have_any_encoding(log: Path, tmp_path: Path, encoding: str) -> None:
    done = subprocess.run(
        command(log, "--limit", 300, "--seeds", 2, "--bids", 9, "--out", tmp_path / "o"),
        env={**os.environ, "PYTHONIOENCODING": encoding},
        capture_output=True,
        check=False,
    )
    output = done.stdout.decode(encoding)
    assert done.returncode == 0, done.stderr
    assert "?" not in output
    assert re.search(r"perfect knowledge[ |]+[\d,.]+ (\+/-|±) [\d,.]+[ |]+-[\d,.]+", output)


def test_a_working_folder_may_be_read_only(log: Path, tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    here.chmod(0o555)
    options = ("--limit", 300, "--seeds", 1, "--bids", 9, "--out", tmp_path / "o", "--quiet")
    subprocess.run(command(log, *options), cwd=here, check=True)
    assert list(here.iterdir()) == []


def interrupt(log: Path, out: Path, *, after: str) -> tuple[int, str]:
    """Press Ctrl-C in a replay as soon as the function `after` is called; return how it ends."""
    module, _, name = after.rpartition(".")
    script = (
        f"import os, signal, threading, {module} as module\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"inner = module.{name}\n"
        "def press(*arguments, **options):\n"
        "    threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "    while True:\n"
        "        inner(*arguments, **options)\n"
        f"module.{name} = press\n"
        "from crossbandit.cli import main\n"
        f"import sys; sys.argv = ['crossbandit', 'replay', {str(log)!r}, '--out', {str(out)!r}]\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr.replace(f"Reading {log} ...\n", "")


@pytest.mark.parametrize(
    "after",
    [
        "crossbandit.logs.replay.play.survey_with_prices",
        "crossbandit.logs.replay.play.collect_hindsight",
        "crossbandit.logs.replay.play.play_log",
    ],
)
def test_ctrl_c_is_one_line_and_writes_nothing(log: Path, tmp_path: Path, after: str) -> None:
    ended = interrupt(log, tmp_path / "o", after=after)
    assert ended == (130, "Stopped. Nothing was written.\n")
    assert not list((tmp_path / "o").iterdir()) if (tmp_path / "o").exists() else True
