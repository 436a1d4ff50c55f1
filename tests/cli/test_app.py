"""How the command begins and how it fails, whatever the command."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

import crossbandit
from crossbandit.cli.app import app, run_command
from crossbandit.cli.study import _study
from crossbandit.cli.terminal import Within, takes_options
from tests.studies.helpers import SMALL, mischief, start


def test_the_package_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "crossbandit", "--version"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout == f"crossbandit {crossbandit.__version__}\n"


def test_a_mistake_is_a_sentence_and_no_traceback() -> None:
    command = [sys.executable, "-m", "crossbandit", "replay", "nowhere.csv"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1] == (
        "Error: There is no log 'nowhere.csv'. Check the path. To try it out, make a log with: "
        "crossbandit make-log log.csv"
    )
    assert "Traceback" not in result.stderr


@pytest.mark.skipif(not crossbandit.compiled, reason="there is no compiled core")
def test_a_core_of_another_source_is_a_sentence_and_no_traceback() -> None:
    code = (
        "from crossbandit.core import building; building.checksum = lambda path: -1; "
        "from crossbandit.cli import main; main()"
    )
    command = [sys.executable, "-c", code, "verify"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr.startswith("Error: crossbandit.core.")
    assert "Build it again: make build" in result.stderr
    assert result.stderr.count("\n") == 1


INTERRUPTED_IMPORT = """
import sys

class Interrupting:
    def find_spec(self, name, *_):
        if name == module:
            raise KeyboardInterrupt

module = sys.argv.pop(1)
sys.meta_path.insert(0, Interrupting())
from crossbandit.cli import main
main()
"""


# Everything that takes long to load is loaded after the command can handle Ctrl-C.
@pytest.mark.parametrize("module", ["numpy", "crossbandit.cli.app", "duckdb", "joblib"])
def test_an_interrupt_while_loading_is_one_line(module: str, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    arguments = ["run", str(tmp_path / "small.toml"), "--out", str(tmp_path / "out"), "--jobs", "2"]
    result = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORT, module, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 130, result.stderr
    assert re.fullmatch(r"(0 of 12 cells\n)?Stopped\.[^\n]*\n", result.stderr)


INTERRUPTED_TEXT = """
import crossbandit.cli.app
from crossbandit.cli import main
crossbandit.cli.app.run_command = lambda: exec("raise KeyboardInterrupt")
main()
"""


# Typer evaluates annotations, which are texts. Only `python -m` ends by the signal then.
def test_an_interrupt_of_code_that_is_evaluated_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "interrupted.py").write_text(INTERRUPTED_TEXT)
    command = [sys.executable, "-m", "interrupted"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (130, "Stopped.\n")


def test_ctrl_c_at_any_time_is_one_line_and_the_status_130(tmp_path: Path) -> None:
    path = mischief(tmp_path, '{ id = "slow", seconds = 0.1 }', seeds="0..199")
    for delay in (0.3, 0.8, 1.4, 2.2):
        arguments = [sys.executable, "-m", "crossbandit", "run", str(path), "--quiet"]
        process = subprocess.Popen(
            [*arguments, "--out", str(tmp_path / "out"), "--jobs", "2"],
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        time.sleep(delay)
        os.killpg(process.pid, signal.SIGINT)  # to the workers as well, as a terminal does
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 130, errors
        assert re.fullmatch(r"Stopped\.[^\n]*\n", errors)


def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    path = mischief(tmp_path, '{ id = "slow", seconds = 30.0 }', seeds="0..9")
    process = start("run", path, "--out", tmp_path / "out", "--jobs", 2)
    children = _wait_for(lambda: [c for c in _children(process.pid) if "loky" in _command(c)])
    for child in children:  # Ctrl-C cannot interrupt them while they load their modules
        status = Path(f"/proc/{child}/status").read_text()
        blocked = int(re.search(r"SigBlk:\s*(\w+)", status)[1], 16)  # type: ignore[index]
        assert blocked & 1 << (signal.SIGINT - 1)
    time.sleep(1.0)
    process.kill()
    began = time.monotonic()
    process.communicate(timeout=30)
    _wait_for(lambda: not any("loky" in _command(child) for child in children))
    assert time.monotonic() - began < 5.0


def _wait_for(condition: Callable[[], Any]) -> Any:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise TimeoutError


def _children(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in children.read_text().split()]


def _command(pid: int) -> str:
    """Return the command of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_output_that_is_not_utf_8(encoding: str) -> None:
    script = (
        "from crossbandit.cli.terminal import allow_any_encoding, notify, say\n"
        "allow_any_encoding()\n"
        "say('\\u22121.5 \\u03b1 \\u4e2d'); notify('\\u2212')\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        encoding=encoding,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    )
    assert (result.stdout, result.stderr) == ("-1.5 alpha ?\n", "-\n")


@pytest.mark.parametrize("name", ["runs [old]", "x[/y]", "a:x:b"])
@pytest.mark.usefixtures("empty_figures")
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
    assert _study("quick", quiet=True).name == "quick"


def test_too_little_memory_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full() -> None:
        raise MemoryError("Unable to allocate 8 EiB")

    monkeypatch.setattr("crossbandit.cli.app.app", full)
    with pytest.raises(SystemExit) as ended:
        run_command()
    assert ended.value.code == 1
    expected = "Error: There is not enough memory for this. Unable to allocate 8 EiB\n"
    assert capsys.readouterr().err == expected


def test_options_are_declared_by_a_signature_and_its_docstring() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Options:
        """Some options.

        Attributes:
            low_bids (AMOUNT): What is low, over
                two lines. [default: none]
        """

        low_bids: Annotated[float, Within(0, 1)] | None = None

    @takes_options
    def command(path: str, options: Options, *, force_: bool = False) -> None:
        """Do it.

        Args:
            path (FILE): Where.
            options: More.
            force_: In any case.
        """
        typer.echo(f"{path} {options.low_bids} {force_}")

    made = typer.Typer(rich_markup_mode="rich")
    made.command()(command)
    shown = CliRunner(env={"COLUMNS": "200"}).invoke(made, ["--help"]).output
    shown = " ".join(shown.replace("│", " ").split())
    assert "Args" not in shown
    assert "What is low, over two lines. [default: none]" in shown
    assert "AMOUNT" in shown
    assert "FILE" in shown
    done = CliRunner().invoke(made, ["a", "--low-bids", "0.5", "--force"])
    assert done.output == "a 0.5 True\n"
    assert CliRunner().invoke(made, ["a", "--low-bids", "2"]).exit_code == 2
