"""Tables in a terminal."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

from crossbandit.core import extras

extras.require("rich", extra="cli", owner="crossbandit.core.report.terminal")

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

if TYPE_CHECKING:
    from crossbandit.core.report.data import Table, TableCell

_STYLES = {"best": "bold", "met": "green", "not met": "bold red", "not judged": "yellow"}
_HEADING = 8  # letters of a heading over numbers that are not broken
_NAME = 12  # letters of a word that a narrow terminal shows in full
# Checks have long texts, so lines separate them.
_OPEN: dict[str, Any] = {"box": SIMPLE_HEAD, "padding": (0, 1, 0, 0), "pad_edge": False}


def show(*tables: Table) -> None:
    """Print tables, without the columns that are not for terminals."""
    for table in tables:
        Console().print(_drawn(table))


def _drawn(table: Table) -> RichTable:
    doubtful = [row[0].note for row in table.cells if row[0].mark == "!"]
    drawn = RichTable(
        title=Text(table.title),
        title_justify="left",
        title_style="bold",
        caption=Text(" ".join([table.caption, *(f"(!) {note}" for note in doubtful)])),
        caption_justify="left",
        **({} if table.checks else _OPEN),
    )
    kept = [i for i, name in enumerate(table.head) if name not in table.brief]
    for i in kept:
        if not table.is_number(i):
            # A short name would vanish beside many numbers.
            names = [table.head[i], *(str(_text(row[i])) for row in table.cells)]
            width = max(map(len, names))
            is_word = width <= _NAME and not any(" " in name for name in names)
            drawn.add_column(
                Text(table.head[i]), no_wrap=is_word, min_width=width if is_word else None
            )
            continue
        cells = [str(row[i]) for row in table.cells]
        width = max(_HEADING, *(len(cell) + 3 for cell in cells)) if cells else _HEADING
        head = "\n".join(wrap(table.head[i], width, break_long_words=False))
        is_range = any(" to " in cell for cell in cells)  # which may be broken, numbers may not
        drawn.add_column(Text(head), justify="right", no_wrap=not is_range)
    for i, row in enumerate(table.cells):
        if i > 0 and i in table.groups:
            drawn.add_section()
        bold = "bold" if i in table.strong else None
        drawn.add_row(*(_text(row[j]) for j in kept), style=bold)
    return drawn


def _text(cell: TableCell) -> Text:
    mark = f" ({cell.mark})" if cell.mark else ""
    return Text(f"{cell}{mark}", _STYLES.get(cell.style, ""))
