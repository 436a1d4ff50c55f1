from pathlib import Path

from typer.testing import CliRunner, Result

from crossbandit.cli.app import app
from crossbandit.errors import LogError
from crossbandit.logs.replay import make_log


def run(*options: object) -> Result:
    return CliRunner().invoke(app, ["make-log", *map(str, options)])


def test_it_writes_what_the_function_writes(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "log.csv"
    result = run(path, "--auctions", 200, "--seed", 4, "--laws", "known")
    assert result.exit_code == 0, result.output
    assert f"Wrote 200 auctions to {path}" in result.output
    expected = make_log(tmp_path / "log.csv", 200, seed=4, laws="known")
    assert path.read_bytes() == expected.read_bytes()


def test_it_overwrites_only_by_force(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    assert run(path, "--auctions", 10, "--quiet").output == ""
    before = path.read_bytes()
    refused = run(path, "--auctions", 20)
    assert isinstance(refused.exception, LogError)
    assert path.read_bytes() == before
    assert run(path, "--auctions", 20, "--force").exit_code == 0
    assert path.read_bytes() != before
