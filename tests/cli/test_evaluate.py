"""`crossbandit evaluate`, from the file to the page."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from crossbandit.applications import FirstPriceBidder
from crossbandit.cli.app import app
from crossbandit.errors import LogError, ResultsError
from crossbandit.logs import AuctionLog
from crossbandit.logs.evaluate import evaluate, read_censored

COLUMNS = ["--bid-column", "bid", "--won-column", "won"]
ROLES = {"bid": "bid", "won": "won"}


def frame(count: int = 1_200) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    values = rng.uniform(1, 10, count).round(3)
    prices = rng.uniform(0, 6, count).round(2)
    fractions, chances = np.array([0.3, 0.5, 0.7]), np.array([0.2, 0.5, 0.3])
    drawn = rng.choice(3, count, p=chances)
    bids = fractions[drawn] * values
    won = bids >= prices
    return pd.DataFrame(
        {
            "when": pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(count), unit="min"),
            "value": values,
            "bid": bids,
            "won": won,
            "min_bid_to_win": np.where(won, np.nan, prices),
            "q": chances[drawn],
            "site": rng.choice(["a", "=b"], count),
        }
    )


def run(*words: str) -> str:
    result = CliRunner().invoke(app, ["evaluate", *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_a_log_is_evaluated_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    data = frame()
    data.sample(frac=1, random_state=1).to_csv(tmp_path / "log.csv", index=False)
    out = tmp_path / "out"
    bidder = FirstPriceBidder(bids=11, value_range=(0, 10), seed=1)
    bidder.save(tmp_path / "mine.bidder")
    options = ["--propensity-column", "q", "--class-column", "site", "--time-column", "when"]
    shadings = ["--fractions", "0.5,0.7,0.25"]
    log = str(tmp_path / "log.csv")
    bidders = ["--bidder", str(tmp_path / "mine.bidder")]
    text = run(log, *COLUMNS, *options, *shadings, *bidders, "--out", str(out))
    assert "The price is known where you lost" in text
    assert "doubly robust" in text
    assert "25 % of value (open:" in text
    assert "mine" in text
    assert sorted(path.name for path in out.iterdir()) == [
        "evaluation.json",
        "index.html",
        "table.csv",
        "table.md",
    ]
    # The same numbers as in Python, on the log in the order of time.
    roles = {"bid": "bid", "won": "won", "propensity": "q"}
    read = read_censored(AuctionLog(data, columns=roles, classes=["site"]))
    expected = evaluate(read.log, fractions=[0.25, 0.5, 0.7], bidders={"mine": bidder})
    first = max(expected.results[1:], key=lambda one: one.best.value)
    assert expected.results[0].kind == "own"
    assert f"Of these strategies, {first.strategy} would have earned most: " in text
    written = json.loads((out / "evaluation.json").read_text())
    assert written["strategies"] == json.loads(json.dumps(expected.to_json()["strategies"]))
    assert written["bad_lines"] == 0
    table = pd.read_csv(out / "table.csv")
    assert table["doubly_robust"].iloc[-2] == expected.table()["doubly_robust"].iloc[-2]
    page = (out / "index.html").read_text(encoding="utf-8")
    assert "What the numbers assume" in page
    assert "The propensities are right" in page
    assert "--fractions 0.5,0.7,0.25" in page
    assert str(tmp_path) not in page


def test_bad_lines_are_counted_and_shown(tmp_path: Path) -> None:
    data = frame(300)
    data["won"] = data["won"].astype(object)
    data.loc[7, "won"] = "perhaps"
    data.drop(columns=["when", "q", "site"]).to_csv(tmp_path / "log.csv", index=False)
    text = run(str(tmp_path / "log.csv"), *COLUMNS, "--out", str(tmp_path / "out"))
    assert "line 9: the result is neither won (1, true, yes, won) nor lost" in text
    assert "Bad lines" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")


def test_a_log_from_which_the_won_auctions_were_dropped_is_refused(tmp_path: Path) -> None:
    data = frame(300)
    data[~data["won"]].to_csv(tmp_path / "log.csv", index=False)
    with pytest.raises(LogError, match="Your own bids win 0 %"):
        run(str(tmp_path / "log.csv"), *COLUMNS, "--out", str(tmp_path / "out"))
    assert not list((tmp_path / "out").iterdir())


def test_what_is_missing_is_asked_for(tmp_path: Path) -> None:
    data = frame(60)
    data.to_csv(tmp_path / "log.csv", index=False)
    log, out = str(tmp_path / "log.csv"), str(tmp_path / "out")
    with pytest.raises(LogError, match="no column 'offer'"):
        run(log, "--bid-column", "offer", "--out", out)
    with pytest.raises(LogError, match="--bid-column"):
        read_censored(AuctionLog(data, columns={"won": "won"}))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("x")
    with pytest.raises(ResultsError, match=r"thesis\.tex"):
        run(log, *COLUMNS, "--out", str(tmp_path / "full"))


def test_what_would_help_is_said() -> None:
    """Prices are missing and nobody says who won; other units; ties that go both ways."""
    data = frame(400)
    with pytest.raises(LogError, match="name that column with --won-column") as found:
        read_censored(AuctionLog(data, columns={"bid": "bid"}))
    assert "replay" not in str(found.value)
    data["value"] /= 1_000
    with pytest.raises(LogError, match="The own bids are about 1,000 times the values"):
        read_censored(AuctionLog(data, columns=ROLES))
    ties = pd.DataFrame({"value": 5.0, "bid": 2.0, "won": [True, False] * 5})
    ties["min_bid_to_win"] = 2.0
    with pytest.raises(LogError, match="Is the price what you paid"):
        read_censored(AuctionLog(ties, columns=ROLES))
    with pytest.raises(LogError, match="try --ties lose"):
        read_censored(AuctionLog(ties[~ties["won"]], columns=ROLES), ties="win")


def test_lines_out_of_order_are_said() -> None:
    data = frame(200).sort_index(ascending=False).rename(columns={"when": "timestamp"})
    read = read_censored(AuctionLog(data, columns={"bid": "bid", "won": "won"}))
    assert "goes back in time 199 times" in read.notes[1]


def test_all_prices_known_needs_no_column_of_wins() -> None:
    data = frame(200)
    data["min_bid_to_win"] = 2.0
    read = read_censored(AuctionLog(data, columns={"bid": "bid"}))
    assert read.log.feedback == "always"
    assert read.log.won.tolist() == (data["bid"] >= 2.0).tolist()
    result = evaluate(read.log, fractions=[0.4])
    assert all(one.known.share == 1 for one in result.results)
    assert "all numbers are exact" in result.notes[0]


@pytest.mark.parametrize("factor", [100, 1_000])
def test_another_unit_is_noticed(tmp_path: Path, factor: float) -> None:
    data = frame(200)
    data["value"] *= factor
    data.to_csv(tmp_path / "log.csv", index=False)
    text = run(str(tmp_path / "log.csv"), *COLUMNS, "--out", str(tmp_path / "out"))
    said = " ".join(text.split())
    assert f"The values are about {factor:,} times the own bids" in said
    assert "--value-unit" in said
    assert "different units" in (tmp_path / "out" / "index.html").read_text()
    sound = evaluate(read_censored(AuctionLog(frame(200), columns=ROLES)).log)
    assert not any("units" in note for note in sound.notes)


def test_bad_lines_of_several_files_are_named_by_their_files(tmp_path: Path) -> None:
    data = frame(60).astype(object)
    for i, part in enumerate((data[:30], data[30:])):
        part.to_csv(tmp_path / f"{i}.csv", index=False)
    text = (tmp_path / "1.csv").read_text().splitlines()
    text[4] = text[4].replace(",", ",x", 1)
    (tmp_path / "1.csv").write_text("\n".join(text))
    said = run(str(tmp_path), *COLUMNS, "--out", str(tmp_path / "out"))
    assert "1.csv, line 5: the value is not a number" in " ".join(said.split())
    page = (tmp_path / "out" / "index.html").read_text()
    assert "1.csv, line 5" in page.replace("<wbr>", "")


def test_names_are_whole_in_narrow_terminals_and_guesses_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    frame(200).to_csv(tmp_path / "log.csv", index=False)
    text = run(str(tmp_path / "log.csv"), *COLUMNS, "--out", str(tmp_path / "out"))
    assert "50 % of value" in text
    assert "column 'min_bid_to_win' (guessed by name)" in " ".join(text.split())
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
