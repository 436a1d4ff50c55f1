"""Options of `crossbandit replay` about logs."""

import html
import json
import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from crossbandit.cli.app import app
from crossbandit.errors import LogError
from crossbandit.logs.replay import make_log

FAST = ("--algorithm", "cross-graph-adaptive", "--seeds", 1, "--bids", 5, "--fractions", 0.5)


def run(*options: object, text: bytes | None = None) -> Result:
    arguments = ["replay", *map(str, [*options, *FAST])]
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, arguments, input=text)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crossbandit.logs.replay.page.draw_figure", lambda *_, **__: None)
    monkeypatch.setattr("crossbandit.logs.replay.page.figure_files", lambda *_: {})


def surplus(folder: Path) -> dict[str, float]:
    return dict(pd.read_csv(folder / "table.csv")[["strategy", "surplus"]].itertuples(index=False))


def notices(tmp_path: Path, told: tuple[str, ...] = ("win", "loss")) -> list[Path]:
    bids: list[dict[str, object]] = []
    events: list[dict[str, object]] = []
    for i in range(40):
        won = i % 3 == 0
        kind = "win" if won else "loss"
        bids.append({"auction_id": i, "value": 4e6, "bid": 2e6, "t": 1767571200 + 60 * (40 - i)})
        macros = {"AUCTION_MIN_TO_WIN": 1e6 if won else 3e6} if kind in told else {}
        code = {"AUCTION_LOSS": 0 if won else 102 if i % 3 == 1 else 202}
        events.append({"notice": kind, "AUCTION_ID": i, **code, **macros})
    paths = [tmp_path / "bids.jsonl", tmp_path / "notices.jsonl"]
    for path, records in zip(paths, (bids, events), strict=True):
        path.write_text("\n".join(map(json.dumps, records)))
    return paths


def test_notices_in_micros_sorted_by_time(tmp_path: Path) -> None:
    options = ("--value-unit", "micros", "--price-unit", "micros", "--sort-by", "t")
    result = run(*notices(tmp_path), *options, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "Auctions won: 14, lost: 13." in result.output
    assert "202 creative disapproved: 13" in result.output
    earned = surplus(tmp_path / "out")
    assert earned["the log's own bids"] == earned["50 % of value"] == pytest.approx(14 * 2)
    assert earned["perfect knowledge"] == pytest.approx(14 * 3 + 13 * 1)
    page = (tmp_path / "out" / "index.html").read_text()
    assert "always: " in page
    assert "equal bids win" in page
    assert "--sort-by t" in page


def test_prices_of_losses_only_are_refused_with_the_way_out(tmp_path: Path) -> None:
    result = run(*notices(tmp_path, told=("loss",)), "--out", tmp_path / "out")
    assert isinstance(result.exception, LogError)
    message = str(result.exception)
    assert "14 of 27 auctions have no highest competing bid" in message
    known = "0 of the 14 auctions that you won (0 %) and 13 of the 13 that you lost (100 %)"
    assert f"They are known in {known}." in message
    assert "`crossbandit evaluate` works with such a log" in message


def test_the_command_of_a_page_makes_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run in the folder of the logs; they may be in several folders below it."""
    for day, seed in (("mon", 1), ("tue", 2)):
        (tmp_path / "logs" / day).mkdir(parents=True)
        make_log(tmp_path / "logs" / day / "log 1.csv", 150, seed=seed)
    monkeypatch.chdir(tmp_path)
    logs = ["logs/mon/log 1.csv", tmp_path / "logs" / "tue" / "log 1.csv"]
    assert run(*logs, "--out", tmp_path / "one").exit_code == 0
    page = (tmp_path / "one" / "index.html").read_text()
    (command,) = re.findall("<code>(crossbandit replay [^<]*)</code>", page)
    assert str(tmp_path) not in page
    monkeypatch.chdir(tmp_path / "logs")
    words = [*shlex.split(html.unescape(command))[1:], "--out", str(tmp_path / "two")]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert (tmp_path / "two" / "index.html").read_text() == page


def test_the_standard_input_is_a_log(tmp_path: Path) -> None:
    path = make_log(tmp_path / "log.csv", 300)
    piped = run("-", "--out", tmp_path / "piped", text=path.read_bytes())
    assert piped.exit_code == 0, piped.output
    assert run(path, "--out", tmp_path / "named").exit_code == 0
    assert surplus(tmp_path / "piped") == surplus(tmp_path / "named")
    page = (tmp_path / "piped" / "index.html").read_text()
    assert "the standard input, replayed" in page
    assert "<code>crossbandit replay - " in page


def test_each_campaign_has_its_page(tmp_path: Path) -> None:
    path = make_log(tmp_path / "log.csv", 300, sites=2)
    result = run(path, "--by", "site", "--jobs", 1, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "Surplus by site" in result.output
    pages = sorted(path.parent.name for path in (tmp_path / "out").glob("*/index.html"))
    assert pages == ["part-1-site-1", "part-2-site-2"]
    table = pd.read_csv(tmp_path / "out" / "table.csv")
    assert table.groupby("level")["auctions"].first().sum() == 300


def test_replays_of_the_whole_and_of_parts_have_folders_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No replay stands in the way of another one, and none replaces it."""
    path = make_log(tmp_path / "log.csv", 200, sites=2)
    monkeypatch.chdir(tmp_path)
    for options in ((), ("--by", "site", "--jobs", 1), ()):
        result = run(path, *options)
        assert result.exit_code == 0, result.output
    assert sorted(one.name for one in Path("results").iterdir()) == ["replay", "replay-by-site"]
    assert Path("results/replay-by-site/part-1-site-1/index.html").exists()
    refused = run(path, "--by", "site", "--out", "results/replay")
    assert "holds files that are not part of replays with --by" in str(refused.exception)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--backend", "dask"), "--backend and --address are for the parts of a log"),
        (("--price-loss", "79"), "is not read as notices of an exchange, so --price-loss"),
        (("--format", "jsonl"), "is not of the format 'jsonl', but of 'csv'"),
        (("--timezone", "Mars"), "must be the name of a time zone"),
    ],
)
def test_options_that_would_do_nothing_are_refused(
    tmp_path: Path, options: tuple[str, str], message: str
) -> None:
    path = make_log(tmp_path / "log.csv", 10)
    result = run(path, *options, "--out", tmp_path / "out")
    assert isinstance(result.exception, ValueError)
    assert message in str(result.exception)


@pytest.mark.parametrize("factor", [1_000, 1e-3, 1e6])
def test_another_unit_is_called_that_and_nothing_else(tmp_path: Path, factor: float) -> None:
    frame = pd.read_csv(make_log(tmp_path / "log.csv", 2_000))
    frame["value"] *= factor
    frame.to_csv(tmp_path / "other.csv", index=False)
    result = run(tmp_path / "other.csv", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "in different units" in result.output
    assert "--value-unit" in result.output
    assert "swapped" not in result.output
    assert "what you bid or paid" not in result.output
