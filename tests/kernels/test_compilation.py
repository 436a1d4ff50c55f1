"""Kernels compile wherever the package is installed."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import pytest

from crossbandit.kernels.compilation import compiled, inlined


def double(x: float) -> float:
    return 2.0 * x


@pytest.mark.parametrize("decorator", [compiled, inlined])
def test_where_no_folder_can_be_written_machine_code_is_not_kept(
    decorator: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    original, asked = numba.njit, []

    def read_only(**options: Any) -> Any:
        asked.append(options["cache"])
        if options["cache"]:
            raise RuntimeError("cannot cache function 'double': no locator available")
        return original(**options)

    monkeypatch.setattr(numba, "njit", read_only)
    assert decorator(double)(21.0) == 42.0
    assert asked == [True, False]


# ------------------------------------------------------------------------ loops of given kernels

PLAY = """
from crossbandit.kernels.compilation import inlined

@inlined
def play(x):
    return 2.0 * x
"""
LEARN = """
from crossbandit.kernels.compilation import inlined

@inlined
def learn(x):
    return x + 1.0
"""
MAIN = """
import loops, one, other, two
from crossbandit.kernels.compilation import compiled_with

for learn in (one.learn, other.learn):
    kernel = compiled_with(loops.loop, play=two.play, learn=learn)
    print(kernel(3.0), sum(kernel.stats.cache_hits.values()))
"""


def test_the_machine_code_of_a_loop_is_that_of_its_kernels(tmp_path: Path) -> None:
    """It is found in a later process, and made anew if a file changes; no two are mixed up."""
    files = {
        "loops": "def loop(x):\n    return learn(play(x))\n",
        "two": PLAY,
        "one": LEARN,
        "other": LEARN.replace("1.0", "5.0"),
        "main": MAIN,
    }
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")

    def run() -> list[str]:
        environment = {**os.environ, "NUMBA_CACHE_DIR": "", "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, str(tmp_path / "main.py")]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        return done.stdout.split()

    assert run() == ["7.0", "0", "11.0", "0"]
    assert run() == ["7.0", "1", "11.0", "1"]
    (tmp_path / "other.py").write_text(LEARN.replace("1.0", "9.5"), encoding="utf-8")
    assert run() == ["7.0", "1", "15.5", "0"]
    (tmp_path / "two.py").write_text(PLAY.replace("2.0", "3.25"), encoding="utf-8")
    assert run() == ["10.75", "0", "19.25", "0"]
