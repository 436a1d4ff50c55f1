"""The reference of the command line, made from the commands themselves."""

from __future__ import annotations

import re
from typing import Any

import typer.main

from crossbandit.cli.app import app

_MARKUP = re.compile(r"(?<!\\)\[/?[a-z ]+\]")  # [bold] and [/bold], not \[default: 1]
_OPTION = re.compile(r"(?<=\s)(--[a-z][a-z-]*)")
_LEAST = re.compile(r"\bx>=([\d.]+)")
_RANGE = re.compile(r"\b([\d.]+)<=x<=([\d.]+)")
_KIND = re.compile(r" ?<([^>]+)>")
_PLACEHOLDERS = {"int": "N", "float": "X", "path": "PATH", "str": "TEXT"}


def page() -> str:
    """Return the page of all commands, in Markdown.

    Returns:
        The commands with their arguments, options and defaults.
    """
    text = (
        "This page lists all commands of `crossbandit` with their arguments and options."
        " `crossbandit COMMAND --help` prints the same in a terminal."
    )
    parts = ["# Commands", "", text]
    commands: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for name, command in commands.items():
        context = command.make_context(name, [], resilient_parsing=True)
        usage = " ".join(["crossbandit", name, *command.collect_usage_pieces(context)])
        example = command.epilog.removeprefix("Example: ")
        parts += ["", f"## {name}", "", _plain(command.help or ""), ""]
        parts += [f"```sh\n{usage}\n{example}\n```", ""]
        parts += ["| argument or option | meaning |", "|---|---|"]
        records = [one.get_help_record(context) for one in command.get_params(context)]
        parts += [row(*record) for record in records if record and record[0] != "--help"]
    return "\n".join(parts) + "\n"


def row(names: str, meaning: str) -> str:
    """Return the row of an argument or an option.

    Args:
        names: Its names, and what it takes in angle brackets.
        meaning: Its help text.

    Returns:
        A row of a table.

    >>> row("--ties <win|lose>", "What an equal bid does. See --bids.")
    '| `--ties` | What an equal bid does. See `--bids`. One of `win`, `lose`. |'
    >>> row("--jobs <int range>", "Workers. [x>=1]")
    '| `--jobs N` | Workers. (at least 1) |'
    """
    text = _OPTION.sub(r"`\1`", _plain(meaning))
    kind = _KIND.search(names)
    names = _KIND.sub("", names)
    if kind and "|" in kind[1]:
        text += f" One of {', '.join(f'`{choice}`' for choice in kind[1].split('|'))}."
    elif kind and names.startswith("-"):
        names += f" {_PLACEHOLDERS.get(kind[1].split()[0], kind[1].upper())}"
    text = _RANGE.sub(r"from \1 to \2", _LEAST.sub(r"at least \1", text))
    text = text.replace("|", "\\|").replace("[", "(").replace("]", ")")
    return f"| `{names}` | {' '.join(text.split())} |"


def _plain(text: str) -> str:
    """Return a help text without the markup of the terminal."""
    return _MARKUP.sub("", text.partition("\f")[0]).replace("\\[", "[").strip()
