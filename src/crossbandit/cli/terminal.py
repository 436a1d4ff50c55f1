"""What all commands share: printing, options, and the end after Ctrl-C."""

from __future__ import annotations

import codecs
import sys
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from functools import wraps
from inspect import Parameter, Signature, signature
from io import TextIOWrapper
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from rich.console import Console
from rich.text import Text

from crossbandit.cli import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
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


def takes_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the fields of its parameters that are dataclasses, such as `LogOptions`."""
    parameters: list[Parameter] = []
    groups: dict[str, tuple[Any, list[str]]] = {}
    for one in signature(command, eval_str=True).parameters.values():
        if not is_dataclass(one.annotation):
            parameters.append(one.replace(kind=Parameter.KEYWORD_ONLY))
            continue
        hints = get_type_hints(one.annotation, include_extras=True)
        options = [
            Parameter(
                field.name,
                Parameter.KEYWORD_ONLY,
                default=Parameter.empty if field.default is MISSING else field.default,
                annotation=hints[field.name],
            )
            for field in fields(one.annotation)
        ]
        groups[one.name] = one.annotation, [option.name for option in options]
        parameters += options

    @wraps(command)
    def run(**given: Any) -> None:
        made = {
            group: kind(**{name: given.pop(name) for name in names if name in given})
            for group, (kind, names) in groups.items()
        }
        command(**made, **given)

    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


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
