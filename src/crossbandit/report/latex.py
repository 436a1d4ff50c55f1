"""Tables as LaTeX."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.report.text import MISSING, slug

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crossbandit.report.text import Table


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
