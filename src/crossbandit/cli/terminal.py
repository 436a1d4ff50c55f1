"""What all commands share: printing, options, and the end after Ctrl-C."""

from __future__ import annotations

import codecs
import sys
from contextlib import contextmanager
from enum import StrEnum
from io import TextIOWrapper
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from crossbandit.cli import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from crossbandit.logs import Fault

Jobs = Annotated[int | None, typer.Option(min=1, help="Number of workers. \\[default: all cores]")]
Modules = Annotated[
    list[str] | None,
    typer.Option(
        "--module",
        metavar="FILE.py",
        help="A Python file or module that registers more of them. Its code is run. May be "
        "repeated.",
    ),
]


class Backend(StrEnum):
    """Where work is done."""

    local = "local"
    ray = "ray"
    dask = "dask"


# Replacements of characters that a terminal cannot show.
_PLAIN = {
    "−": "-",
    "±": "+/-",
    "–": "-",  # noqa: RUF001
    "—": "-",
    "×": "x",
    "…": "...",
    "α": "alpha",
    "’": "'",  # noqa: RUF001
}


def say(text: str) -> None:
    """Print a result. The text is printed as it is: "[x]" is not markup, ":x:" not an emoji."""
    Console().print(Text(text), soft_wrap=True)


def notify(text: str, heading: str = "", style: str = "") -> None:
    """Print a message on the standard error, as it is."""
    sentence = Text.assemble((f"{heading} ", style), text) if heading else Text(text)
    Console(stderr=True).print(sentence, soft_wrap=True)


def say_paths(paths: Sequence[Path]) -> None:
    """Print which files were written, and which page to open."""
    page = next(path for path in paths if path.suffix == ".html")
    names = ", ".join(path.name for path in paths if path != page)
    say(f"Wrote to {page.parent}: {names}.")
    say(f"Open {page}")


def say_faults(bad: int, auctions: int, faults: Sequence[Fault]) -> None:
    """Print how many lines of a log were bad and how many were not, and the first bad ones."""
    from crossbandit.logs.survey import left_out

    if faults:
        say(left_out(bad, auctions, faults))
    for fault in faults:
        say(f"  {fault.place}: {fault.reason}")


@contextmanager
def stopping(sentence: str) -> Iterator[None]:
    """End with `sentence` and the status of an interrupted command when Ctrl-C is pressed."""
    try:
        yield
    except KeyboardInterrupt:
        notify(sentence)
        raise typer.Exit(INTERRUPTED) from None


def allow_any_encoding() -> None:
    """Replace characters that the encoding of the output lacks, so that any text can be printed."""
    codecs.register_error("crossbandit-plain", _plain_characters)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="crossbandit-plain")


def _plain_characters(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start : error.end]
    return "".join(_PLAIN.get(character, "?") for character in characters), error.end
