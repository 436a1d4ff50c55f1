"""Tables of text, as Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crossbandit.report.text import MISSING, csv_safe

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table for a document.

    Attributes:
        title: Its heading.
        caption: What its numbers are.
        head: The names of the columns.
        rows: The cells, row by row.
        groups: The indices of rows that begin a group. LaTeX leaves some space before them.
        labels: How many columns on the left are names; all others hold numbers.
        numeric: Whether the first column holds numbers too.
        best: The places (row, column) of the cells to mark.
        label: The name for references in LaTeX.
    """

    title: str
    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    groups: frozenset[int] = frozenset()
    labels: int = 1
    numeric: bool = False
    best: frozenset[tuple[int, int]] = frozenset()
    label: str = ""


def markdown(table: Table) -> str:
    """Return a table with its title and caption as Markdown.

    Args:
        table: The table.

    Returns:
        Text that ends with a line break.
    """
    names = ["--:" if table.numeric else ":--", *[":--"] * (table.labels - 1)]
    rules = [*names, *["--:"] * (len(table.head) - table.labels)]
    lines = [
        *(f"## {_md(table.title)}", "", _md(table.caption), ""),
        _bar(map(_md, table.head)),
        _bar(rules),
    ]
    for i, row in enumerate(table.rows):
        cells = [
            f"**{_md(text)}**" if (i, j) in table.best else _md(text) for j, text in enumerate(row)
        ]
        lines.append(_bar(cells))
    return "\n".join([*lines, ""])


def _bar(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _md(text: str) -> str:
    """Escape what Markdown would read as formatting; an underscore inside a word is none."""
    text = re.sub(r"[\\`*<>|$~\[\]]", r"\\\g<0>", " ".join(text.split()))
    return re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", text)


def latex(table: Table) -> str:
    r"""Return a table as LaTeX, with a caption, a label and the marked cells in bold.

    Args:
        table: The table.

    Returns:
        Text that ends with a line break. It needs the booktabs package.
    """
    columns = ("r" if table.numeric else "l") + "l" * (table.labels - 1)
    columns += "r" * (len(table.head) - table.labels)
    lines = [
        r"% Needs \usepackage{booktabs}.",
        r"\begin{table}",
        rf"\caption{{{_tex(f'{table.title}. {table.caption}')}}}",
        rf"\label{{tab:{slug(table.label or table.title)}}}",
        r"\centering",
        r"\footnotesize",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _tex_row([_tex_symbol(table.head[0]), *map(_tex, table.head[1:])]),
        r"\midrule",
    ]
    for i, row in enumerate(table.rows):
        if i > 0 and i in table.groups:
            lines.append(r"\addlinespace")
        cells = [
            rf"\textbf{{{_tex(text)}}}" if (i, j) in table.best else _tex(text)
            for j, text in enumerate(row)
        ]
        if table.numeric:  # the comma of a number separates thousands; that of a name is a comma
            cells[0] = cells[0].replace(",", r"\,")
        lines.append(_tex_row(cells))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def slug(text: str) -> str:
    """Return text as a name of lower-case letters, digits and hyphens.

    >>> slug("Over / time")
    'over-time'
    """
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower() or "table"


def _tex_row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


_GREEK = {"α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "η": "eta"}
_GREEK |= {"θ": "theta", "λ": "lambda", "μ": "mu", "ρ": "rho", "σ": "sigma", "τ": "tau"}
# A bracket or a star at the beginning of a row would belong to the end of the row above it.
_SPECIAL = (
    {char: f"\\{char}" for char in "%&_#${}"}
    | {char: f"{{{char}}}" for char in "[]*"}
    | {char: rf"\({name}\)" for char, name in {"−": "-", "±": r"\pm", "×": r"\times"}.items()}
    | {char: rf"\(\{name}\)" for char, name in _GREEK.items()}
    | {
        "\\": r"\textbackslash{}",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        MISSING: "--",
    }
)


def _tex(text: str) -> str:
    """Escape what LaTeX would not print as it is."""
    return "".join(_SPECIAL.get(char, char) for char in " ".join(text.split()))


def _tex_symbol(symbol: str) -> str:
    """Return one letter as mathematics, and more than one as words."""
    return rf"\({symbol}\)" if len(symbol) == 1 and symbol.isascii() else _tex(symbol)


def csv_text(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    r"""Return rows as CSV. Numbers are exact, NaN and None are empty.

    A spreadsheet takes text that begins with `=`, `+`, `-` or `@` for a formula, so such text gets
    an apostrophe before it. Numbers stay numbers.

    Args:
        head: The names of the columns.
        rows: The cells, row by row.

    Returns:
        The text, with one line per row.

    >>> csv_text(["name", "x"], [["=cmd", -1.5]])
    "name,x\n'=cmd,-1.5\n"
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)  # its line ends are "\r\n", so that it quotes a cell with "\r"
    writer.writerow(map(_csv_cell, head))
    writer.writerows([_csv_cell(cell) for cell in row] for row in rows)
    return text.getvalue().replace("\r\n", "\n")


def frame_csv(frame: pd.DataFrame) -> str:
    """Return a data frame as CSV, without its index, safe for spreadsheets.

    Args:
        frame: The data.

    Returns:
        The text, as `csv_text` writes it.
    """
    return csv_text(frame.columns, frame.itertuples(index=False, name=None))


def _csv_cell(cell: Any) -> Any:
    if isinstance(cell, str):
        return csv_safe(cell)
    if cell is None or type(cell).__name__ in {"NAType", "NaTType"}:
        return ""
    if hasattr(cell, "item"):  # a NumPy scalar
        cell = cell.item()
    return "" if isinstance(cell, float) and cell != cell else cell  # noqa: PLR0124 - NaN
