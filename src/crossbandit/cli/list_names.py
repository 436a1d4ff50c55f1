"""`crossbandit list`: the names that a study file can use."""

from __future__ import annotations

import inspect
import re
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crossbandit import algorithms, environments, graphs
from crossbandit.cli.terminal import Modules
from crossbandit.modules import load_modules

if TYPE_CHECKING:
    from collections.abc import Callable


# A period that ends a sentence: not one after an abbreviation or an initial.
_SENTENCE_END = re.compile(r"(?<!\bal)(?<!\be\.g)(?<!\bi\.e)(?<!\bcf)(?<!\b[A-Z])\. (?=[^a-z(])")


class Kind(StrEnum):
    """What to list."""

    algorithms = "algorithms"
    environments = "environments"
    graphs = "graphs"


def list_names(
    kind: Annotated[Kind, typer.Argument(help="What to list.")],
    module: Modules = None,
) -> None:
    """List what a study file can name, one line each: name, parameters, meaning."""
    if module:
        load_modules(module)
    known: dict[str, Callable[..., Any]] = {
        Kind.algorithms: dict[str, Any](algorithms.registered()),
        Kind.environments: environments.registered(),
        Kind.graphs: graphs.registered(),
    }[kind]
    described = {f"{name}({_parameters(known[name])})": known[name] for name in sorted(known)}
    width = max(map(len, described))
    for text, builder in described.items():
        memory = " Needs memory." if getattr(builder, "needs_memory", False) else ""
        typer.echo(f"{text:<{width}}  {_first_sentence(builder)}{memory}")


def _parameters(builder: Callable[..., Any]) -> str:
    """Return the parameters as in a call. None means that a rule chooses the value."""
    return ", ".join(
        name if parameter.default is parameter.empty else f"{name}={parameter.default!r}"
        for name, parameter in inspect.signature(builder).parameters.items()
    )


def _first_sentence(builder: Callable[..., Any]) -> str:
    """Return the first sentence of a docstring; a period after an abbreviation does not end it."""
    paragraph = " ".join(inspect.cleandoc(builder.__doc__ or "").partition("\n\n")[0].split())
    return _SENTENCE_END.split(paragraph, maxsplit=1)[0].rstrip(".") + "."
