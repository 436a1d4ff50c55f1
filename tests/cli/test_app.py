"""How the command begins and how it fails, whatever the command."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import crossbandit
from crossbandit import cli
from crossbandit.cli.app import app
from crossbandit.cli.run import _study


def test_the_package_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "crossbandit", "--version"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout == f"crossbandit {crossbandit.__version__}\n"


def test_a_mistake_is_a_sentence_and_no_traceback() -> None:
    command = [sys.executable, "-m", "crossbandit", "replay", "nowhere.csv"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1] == "Error: There is no log 'nowhere.csv'."
    assert "Traceback" not in result.stderr


def test_an_interrupt_while_loading_is_quiet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupting:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "crossbandit.cli.app":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "crossbandit.cli.app", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", ["runs [old]", "x[/y]", "a:x:b"])
def test_a_path_is_printed_as_it_is(name: str, tmp_path: Path) -> None:
    log = tmp_path / "a:x:b.csv"
    made = CliRunner().invoke(app, ["make-log", str(log), "--auctions", "300"])
    assert made.exit_code == 0, made.output
    out = tmp_path / name
    result = CliRunner().invoke(app, ["replay", str(log), "--seeds", "1", "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[-1] == f"Open {out / 'index.html'}"
    assert f"Reading {log} ..." in result.output


def test_a_folder_with_the_name_of_a_shipped_study_does_not_hide_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quick").mkdir()
    assert _study("quick").name == "quick"


def test_too_little_memory_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full() -> None:
        raise MemoryError("Unable to allocate 8 EiB")

    monkeypatch.setattr("crossbandit.cli.app.app", full)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    expected = "Error: There is not enough memory for this. Unable to allocate 8 EiB\n"
    assert capsys.readouterr().err == expected
