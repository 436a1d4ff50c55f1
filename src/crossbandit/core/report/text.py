"""Numbers as text, and tables as Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
import math
import re
from typing import TYPE_CHECKING, Any, TypeVar

from crossbandit.core.report.data import Table, TableCell

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd


MISSING = "\N{EN DASH}"
_SMALLEST_P = 0.001
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a formula of a spreadsheet begins
_Value = TypeVar("_Value")


def number(value: float, digits: int = 2) -> str:
    """Return a number with thousands separators and a minus sign; a dash for NaN.

    >>> number(-1234.5)
    '−1,234.50'
    >>> number(-0.001)
    '0.00'
    """
    if math.isnan(value):
        return MISSING
    shown = f"{value:,.{digits}f}"
    return (shown if float(shown.replace(",", "")) else shown.lstrip("-")).replace("-", "−")


def decimals(largest: float, digits: int) -> int:
    """Return the number of decimals with which a number has so many digits; 2 for zero.

    >>> decimals(1234.5, 5), decimals(0.0123, 4), decimals(1e9, 4)
    (1, 5, 0)
    """
    return max(0, min(6, digits - 1 - math.floor(math.log10(largest)))) if largest > 0 else 2


def plus_minus(value: float, half_width: float, digits: int = 2, **more: str) -> TableCell:
    """Return a cell with a value and its half-width; without one if it is NaN.

    >>> str(plus_minus(12.34, 0.56))
    '12.34 ± 0.56'
    """
    half = "" if math.isnan(half_width) else number(half_width, digits)
    return TableCell(number(value, digits), half, **more)


def percent(share: float) -> str:
    """Return a relative difference in percent, with its sign.

    >>> percent(0.0123), percent(-1e-9)
    ('+1.2 %', '0.0 %')
    """
    if math.isnan(share):
        return MISSING
    shown = f"{100 * share:+.1f}".replace("-", "−")
    return "0.0 %" if shown in {"+0.0", "−0.0"} else f"{shown} %"


def times(ratio: float) -> str:
    """Return a ratio with three digits.

    >>> times(1.0), times(2.346), times(123.4)
    ('1.00', '2.35', '123')
    """
    if math.isnan(ratio):
        return MISSING
    decimals = 2 if abs(ratio) < 10 else 1 if abs(ratio) < 100 else 0
    return f"{ratio:,.{decimals}f}".replace("-", "−")


def p_value(value: float) -> str:
    """Return a p-value with three decimals.

    >>> p_value(0.04), p_value(1e-9)
    ('0.040', '< 0.001')
    """
    if math.isnan(value):
        return MISSING
    return f"{value:.3f}" if value >= _SMALLEST_P else f"< {_SMALLEST_P}"


def count(amount: int, noun: str) -> str:
    """Return a number with its noun.

    >>> count(1, "seed"), count(2000, "seed")
    ('1 seed', '2,000 seeds')
    """
    return f"{amount:,} {noun}" + ("" if amount == 1 else "s")


def ranges(numbers: Sequence[int]) -> str:
    """Return increasing integers as ranges.

    >>> ranges([1, 2, 3, 7])
    '1 to 3, 7'
    """
    groups: list[list[int]] = []
    for value in numbers:
        if groups and value == groups[-1][-1] + 1:
            groups[-1].append(value)
        else:
            groups.append([value])
    return ", ".join(f"{g[0]} to {g[-1]}" if len(g) > 1 else str(g[0]) for g in groups)


def tick_text(value: float, _: object = None) -> str:
    """Return a number as text. Matplotlib also passes the place of the tick.

    >>> tick_text(-12_500.0)
    '\N{MINUS SIGN}12,500'
    """
    return f"{value:,.10g}".replace("-", "−")


def percent_text(value: float, _: object = None) -> str:
    """Return a share as text, in percent."""
    return f"{tick_text(round(100 * value, 6))} %"


def short_text(value: float) -> str:
    """Return a short label: thousands as k."""
    return (
        f"{tick_text(value / 1000)}k" if value >= 1000 and value % 1000 == 0 else tick_text(value)
    )


# --- tables ------------------------------------------------------------------------------------


def markdown(table: Table) -> str:
    """Return a table with its title and caption as Markdown.

    Args:
        table: The table.

    Returns:
        Text that ends with a line break.
    """
    rules = ["--:" if table.is_number(i) else ":--" for i in range(len(table.head))]
    body = [
        [f"**{_md(str(x))}**" if x.style == "best" else _md(str(x)) for x in row]
        for row in table.cells
    ]
    bars = ["| " + " | ".join(cells) + " |" for cells in (map(_md, table.head), rules, *body)]
    return "\n".join([f"## {_md(table.title)}", "", _md(table.caption), "", *bars, ""])


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
    columns = "".join("r" if table.is_number(i) else "l" for i in range(len(table.head)))
    symbol = _tex(table.head[0])
    if len(table.head[0]) == 1 and symbol.isalpha():  # one letter is mathematics
        symbol = rf"\({symbol}\)"
    lines = [
        r"% Needs \usepackage{booktabs}.",
        r"\begin{table}",
        rf"\caption{{{_tex(f'{table.title}. {table.caption}')}}}",
        rf"\label{{tab:{slug(table.label or table.title)}}}",
        r"\centering",
        r"\footnotesize",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _tex_row([symbol, *map(_tex, table.head[1:])]),
        r"\midrule",
    ]
    for i, row in enumerate(table.cells):
        if i > 0 and i in table.groups:
            lines.append(r"\addlinespace")
        cells = [_tex_cell(x, is_number=j >= table.labels) for j, x in enumerate(row)]
        if table.numeric:  # the comma of a number separates thousands; that of a name is a comma
            cells[0] = cells[0].replace(",", r"\,")
        lines.append(_tex_row(cells))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def _tex_cell(cell: TableCell, *, is_number: bool) -> str:
    """Return a cell; numbers in the form of many papers, as 1234.50 (0.56)."""
    text = f"{cell.text} ({cell.half_width})" if cell.half_width else cell.text
    text = _tex(text.replace(",", "") if is_number else text)
    return rf"\textbf{{{text}}}" if cell.style == "best" else text


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


def slug(text: str) -> str:
    """Return text as a name of lower-case letters, digits and hyphens.

    >>> slug("Over / time")
    'over-time'
    """
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower() or "table"


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


def csv_safe(value: _Value) -> _Value | str:
    """Return a value for a CSV file that a spreadsheet does not take for a formula.

    >>> csv_safe("=1+1"), csv_safe("cross-graph"), csv_safe(-1.5)
    ("'=1+1", 'cross-graph', -1.5)
    """
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value
