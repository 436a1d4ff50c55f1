"""What is done with the commands on pages: they are run, or it is said why they are not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer.main
from typer.testing import CliRunner

from benchmarks.records import GROUPS
from crossbandit.cli.app import app
from tests.pages import ROOT, Block

if TYPE_CHECKING:
    from collections.abc import Callable

SERVICE = "tests/service/test_service_pages.py"
# Pages whose commands another test runs, one after the other.
RUN_BY = {
    "docs/tutorials/service.md": f"{SERVICE}::test_the_commands_of_the_pages_run",
    "docs/how-to/operate.md": f"{SERVICE}::test_the_commands_of_the_pages_run",
}
# Commands that no test runs as they stand, by how they begin, and why.
NOT_RUN = {
    "make proofs": "needs Coq; CI runs it",
    "make -C proofs": "needs Coq; CI runs it",
    "apt-get": "needs root, and the network",
    "python3 -m venv /opt": "needs root",
    "systemctl": "needs root, and systemd as the first process",
    "podman": "needs a container engine",
    "dask": "needs several machines; tests/studies/test_backends.py has workers on this one",
    "ray": "needs several machines; tests/studies/test_backends.py has workers on this one",
}
# Commands that take minutes: their options are parsed here, and these tests run them on less.
PARSED = {
    "benchmark": "tests/cli/test_reproduce.py",
    "reproduce": "tests/cli/test_reproduce.py",
    "verify": "tests/cli/test_verify.py",
    "serve bidders.toml --store postgresql": "tests/service/test_node.py",
    "run my-study.toml --backend": "tests/studies/test_backends.py",
    "replay log.csv --by site --out results/sites --backend": "tests/studies/test_backends.py",
}
MODULES = {
    "benchmarks.house": "tests/test_house.py",
    "benchmarks.mutants": "tests/test_mutants.py",
}


def is_script(block: Block) -> bool:
    """Return whether a block is more than a list of commands."""
    return "$(" in block.text or "<<" in block.text


def run(block: Block, folder: Path) -> None:
    """Run the commands of a block in a folder, except for those that are listed above."""
    if is_script(block):
        _bash([], block.text, folder)
        return
    for words, line in zip(block.commands, block.lines, strict=True):
        handler(words)(words, line, folder)


def handler(words: list[str]) -> Callable[[list[str], str, Path], None]:
    """Return what is done with a command.

    Raises:
        LookupError: The command is of a kind that is neither run nor listed.
    """
    line = " ".join(words)
    if any(line.startswith(begin) for begin in NOT_RUN):
        return _nothing
    if Path(words[0]).name == "pip":
        return _nothing
    if words[0] == "make":
        return _make
    if Path(words[0]).name == "python" and words[1] == "-m" and words[2].startswith("benchmarks"):
        return _benchmark
    if words[0] == "crossbandit":
        rest = line.removeprefix("crossbandit ")
        return _parse if any(rest.startswith(begin) for begin in PARSED) else _command
    if "crossbandit" in words and "|" in words:
        return _bash
    raise LookupError(
        f"The command {line!r} of a page is neither run nor listed. Make it run, or say in "
        "tests/shell.py why it cannot be."
    )


def _nothing(words: list[str], line: str, folder: Path) -> None:
    del words, line, folder


def _make(words: list[str], line: str, folder: Path) -> None:
    del line, folder
    command = ["make", "--dry-run", "--directory", str(ROOT), *words[1:]]
    subprocess.run(command, check=True, capture_output=True)


def _benchmark(words: list[str], line: str, folder: Path) -> None:
    del line, folder
    assert set(words[3:]) <= set(GROUPS), words
    assert words[2] == "benchmarks" or words[2] in MODULES, words


def _parse(words: list[str], line: str, folder: Path) -> None:
    del line, folder
    group = typer.main.get_command(app)
    command = group.commands[words[1]]  # type: ignore[attr-defined]
    command.make_context(words[1], words[2:]).close()


def _command(words: list[str], line: str, folder: Path) -> None:
    del folder
    result = CliRunner().invoke(app, words[1:], catch_exceptions=False)
    assert result.exit_code == 0, f"{line}\n{result.output}"


def _bash(words: list[str], line: str, folder: Path) -> None:
    del words
    here = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = ["bash", "-euo", "pipefail", "-c", line]
    environment = {**os.environ, "PATH": here}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{line}\n{done.stderr}"
