"""What all commands share: printing, options, and the end after Ctrl-C."""

from __future__ import annotations

import codecs
import re
import sys
from contextlib import contextmanager
from dataclasses import is_dataclass
from enum import StrEnum
from functools import wraps
from inspect import Parameter, Signature, cleandoc, signature
from io import TextIOWrapper
from textwrap import dedent
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args, get_type_hints

import typer
from rich.console import Console
from rich.text import Text

from crossbandit.cli import INTERRUPTED
from crossbandit.errors import InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from crossbandit.logs import Fault

_REJECTED = re.compile(r"The '(\w+)' parameter of (\w+) must")
# The options whose names are not those of the parameters that they set.
_OPTIONS = {
    ("Budget", "amount"): "budget",
    ("CostPer", "amount"): "target_cost",
    ("ReturnOnSpend", "ratio"): "target_roi",
    ("Shading", "fraction"): "fractions",
}
_BARE = sys.flags.optimize > 1
_NO_TEXTS = "Python was started with -OO, which removes the texts of this help. Leave it out."
_EXTRAS = "__metadata__"  # of an annotated type


class Within(NamedTuple):
    """What a number may be at least, and at most."""

    min: float | None = None
    max: float | None = None


Count = Annotated[int, Within(1)]
Natural = Annotated[int, Within(0)]


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
    """Make a command of a function; a parameter that is a dataclass stands for its fields.

    Keyword-only parameters and fields are options, others are arguments. What `--help` says of each
    is under "Args:" or "Attributes:" of the docstring, with what it takes in parentheses.
    """
    parameters: list[Parameter] = []
    groups: dict[str, tuple[Any, list[str]]] = {}
    kinds = get_type_hints(command)
    for one in _parameters(command):
        kind = kinds[one.name]
        own = list(_parameters(kind)) if is_dataclass(kind) else [one]
        if is_dataclass(kind):
            groups[one.name] = kind, [option.name for option in own]
        parameters += own

    @wraps(command)
    def run(**given: Any) -> None:
        made = {
            group: kind(**{name: given.pop(name) for name in names if name in given})
            for group, (kind, names) in groups.items()
        }
        try:
            command(**made, **given)
        except InvalidParameterError as error:
            found = _REJECTED.match(str(error))
            name = _OPTIONS.get((found[2], found[1]), found[1]) if found else ""
            if name not in {one.name.rstrip("_") for one in parameters}:
                raise
            option = f"--{name.replace('_', '-')}"
            raise InvalidParameterError(_REJECTED.sub(f"{option} must", str(error))) from error

    run.__doc__ = cleandoc(command.__doc__ or _NO_TEXTS).partition("\n\nArgs:")[0]
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def _parameters(owner: Any) -> Iterator[Parameter]:
    """Yield the parameters of a function, or the fields of a dataclass, as Typer reads them."""
    hints, ranged = get_type_hints(owner), get_type_hints(owner, include_extras=True)
    described = {name: (takes, words) for name, takes, words in _described(owner.__doc__ or "")}
    for one in signature(owner).parameters.values():
        annotation = hints[one.name]
        if annotation is not typer.Context and not is_dataclass(annotation):
            takes, words = described.get(one.name, (None, ""))  # without docstrings: python -OO
            whole = ranged[one.name]
            found = [x for hint in (whole, *get_args(whole)) for x in getattr(hint, _EXTRAS, ())]
            bounds: dict[str, Any] = (*found, Within())[0]._asdict()
            takes = "" if annotation is bool else takes
            said = {"metavar": takes, "help": words.replace("[", "\\["), **bounds}
            if is_dataclass(owner) and one.kind is Parameter.KEYWORD_ONLY:
                said["rich_help_panel"] = (
                    owner.__doc__ if owner.__doc__ and not _BARE else "Options"
                ).partition(".")[0]
            name = f"--{one.name.rstrip('_').replace('_', '-')}"
            is_option = one.kind is Parameter.KEYWORD_ONLY
            annotation = Annotated[
                annotation, typer.Option(name, **said) if is_option else typer.Argument(**said)
            ]
        yield one.replace(kind=Parameter.KEYWORD_ONLY, annotation=annotation)


def _described(text: str) -> Iterator[tuple[str, str | None, str]]:
    """Yield names, what they take, and their meanings, from the last section of a docstring."""
    section = re.search(r"\n(?:Args|Attributes):\n(.*?)(?:\n\n|$)", cleandoc(text), re.DOTALL)
    for item in re.split(r"\n(?! )", dedent(section[1])) if section else ():
        head, _, words = item.partition(": ")
        name, _, takes = head.rstrip(")").partition(" (")
        yield name, takes or None, " ".join(words.split())


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
