"""What every page is made of: the frame, sections, places for charts, facts."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

METHODS = '<div class="methods" role="group" aria-label="Methods shown"></div>'
KEYS = "Point at a chart, or focus it and use the arrow keys, to read the values."


def framed(*, title: str, lead: str, main: Iterable[str], data: str, script: str) -> str:
    """Return a page: one file that loads nothing, with its style, its script and its data."""
    return _fill(
        _asset("page.html"),
        {
            "title": words(title),
            "lead": lead,
            "css": _asset("page.css"),
            "main": "\n".join(section for section in main if section),
            "data": data,
            "js": f"{_asset('charts.js')}\n\n{_asset(script)}",
        },
    )


def _asset(name: str) -> str:
    return (files("crossbandit.report") / "assets" / name).read_text(encoding="utf-8").strip()


def _fill(template: str, values: Mapping[str, str]) -> str:
    """Put values into their places, all at once: a value may contain what looks like a place."""
    pieces = template.split("{{")
    filled = [pieces[0]]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}}")
        filled.append(values[name] + rest)
    return "".join(filled)


def words(text: str) -> str:
    """Return text for people: escaped, with the apostrophe of a book."""
    return escape(text, quote=False).replace("'", "&rsquo;")


def section(title: str, *body: str, note: str = "") -> str:
    """Return a section with a heading, perhaps a note, and whatever is in it."""
    lines = [f"<section>\n<h2>{title}</h2>"]
    if note:
        lines.append(f'<p class="note">{note}</p>')
    return "\n".join([*lines, *body, "</section>"])


def switch(id_: str, label: str = "Axes") -> str:
    """Return a place for buttons of which one is pressed."""
    return f'<div class="switch" id="{id_}" role="group" aria-label="{label}"></div>'


def figure(id_: str, caption: str, label: str, *, shape: str = "", rows: int = 0) -> str:
    """Return a place for a chart; one with rows is as high as they need."""
    shown = f"<figcaption>{words(caption)}</figcaption>" if caption else ""
    look = f'class="chart rows" style="--rows:{rows}"' if rows else f'class="chart {shape}"'
    return (
        f'<figure>{shown}<div {look} id="{id_}" tabindex="0" role="group" '
        f'aria-label="{escape(label)}"></div></figure>'
    )


def facts_list(facts: Iterable[tuple[str, str]]) -> str:
    """Return what was done, as a list of terms; the command stands as code."""
    rows = "\n".join(
        f"<dt>{escape(name)}</dt><dd>{_fact(name, value)}</dd>" for name, value in facts
    )
    return f"<dl>{rows}</dl>"


def _fact(name: str, value: str) -> str:
    return f"<code>{escape(value)}</code>" if name == "Command" else escape(value)
