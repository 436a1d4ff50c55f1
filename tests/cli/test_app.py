"""How the command begins and how it fails, whatever the command."""

import subprocess
import sys

import pytest

import crossbandit
from crossbandit import cli


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
