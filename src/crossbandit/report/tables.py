"""The tables, as Markdown, CSV and LaTeX; each entry beside the paper's, where it has one."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crossbandit.report.sweeps import Entry, Setting, Sweep

COLUMNS = (
    "table",
    "setting",
    "method",
    "seeds",
    "regret",
    "half_width",
    "paper_regret",
    "paper_half_width",
    "relative_difference",
)
MISSING = "\N{EN DASH}"


def markdown(sweeps: Sequence[Sweep]) -> str:
    """Return the tables of all sweeps as one Markdown document."""
    return "\n".join(_markdown(sweep) for sweep in sweeps)


def _markdown(sweep: Sweep) -> str:
    lines = [
        f"## {sweep.title}",
        "",
        f"Mean over {seeds_text(sweep)}, ± the half-width of its 95 % confidence interval.",
        "",
        _bar([sweep.symbol, "", *sweep.methods]),
        _bar(["--:", ":--", *["--:"] * len(sweep.methods)]),
    ]
    for setting in sweep.settings:
        for name, cells in _rows(sweep, setting, plus_minus):
            lines.append(_bar([setting.label if name == _FIRST else "", name, *cells]))
    return "\n".join([*lines, ""])


def _bar(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def latex(sweep: Sweep) -> str:
    """Return one sweep as a LaTeX table in the paper's form; it needs the booktabs package."""
    columns = "rl" + "r" * len(sweep.methods)
    lines = [
        r"\begin{table}",
        _caption(sweep),
        r"\centering",
        r"\footnotesize",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _tex_row([f"\\({_tex_symbol(sweep.symbol)}\\)", "", *map(_tex, sweep.methods)]),
        r"\midrule",
    ]
    for i, setting in enumerate(sweep.settings):
        if i > 0 and sweep.published is not None:
            lines.append(r"\addlinespace")
        for name, cells in _rows(sweep, setting, parentheses):
            shown = setting.label.replace(",", r"\,") if name == _FIRST else ""
            lines.append(_tex_row([_tex(shown, keep="\\"), name, *map(_tex, cells)]))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def _caption(sweep: Sweep) -> str:
    words = f"{sweep.title}: mean over {seeds_text(sweep)}. "
    return rf"\caption{{{_tex(words)}Parentheses contain 95\% confidence-interval half-widths.}}"


def _tex_row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _tex(text: str, *, keep: str = "") -> str:
    """Escape what LaTeX would read as a command."""
    special = {"\\": r"\textbackslash{}", "α": r"\(\alpha\)", "−": r"\(-\)", "±": r"\(\pm\)"}
    special |= {char: f"\\{char}" for char in "%&_#${}"} | {MISSING: "--"}
    return "".join(char if char in keep else special.get(char, char) for char in text)


def _tex_symbol(symbol: str) -> str:
    if len(symbol) == 1:
        return symbol.replace("α", r"\alpha")
    return rf"\text{{{_tex(symbol)}}}"


_FIRST = "here"


def _rows(
    sweep: Sweep, setting: Setting, form: Callable[[float, float], str]
) -> list[tuple[str, list[str]]]:
    """Return the rows of one setting: what was measured and, if there is a paper, what it says."""
    entries = [sweep.entry(setting, method) for method in sweep.methods]
    rows = [(_FIRST, [_cell(entry, lambda e: _here(e, form)) for entry in entries])]
    if sweep.published is not None:
        rows += [
            ("paper", [_cell(entry, lambda e: _published(e, form)) for entry in entries]),
            ("difference", [_cell(entry, lambda e: percent(e.difference)) for entry in entries]),
        ]
    return rows


def _cell(entry: Entry | None, text: Callable[[Entry], str]) -> str:
    return MISSING if entry is None else text(entry)


def _here(entry: Entry, form: Callable[[float, float], str]) -> str:
    return form(entry.summary.regret, entry.summary.half_width)


def _published(entry: Entry, form: Callable[[float, float], str]) -> str:
    return MISSING if entry.published is None else form(*entry.published)


def plus_minus(regret: float, half_width: float) -> str:
    """Return a mean and its half-width, as 12.34 ± 0.56."""
    return number(regret) if math.isnan(half_width) else f"{number(regret)} ± {half_width:,.2f}"


def parentheses(regret: float, half_width: float) -> str:
    """Return a mean and its half-width in the paper's form, as 12.34 (0.56)."""
    if math.isnan(half_width):
        return f"{regret:.2f}"
    return f"{regret:.2f} ({half_width:.2f})"


def number(value: float) -> str:
    """Return a number as the tables show it."""
    return f"{value:,.2f}".replace("-", "−")


def percent(share: float) -> str:
    """Return a relative difference as the tables show it."""
    if math.isnan(share):
        return MISSING
    shown = f"{100 * share:+.1f}".replace("-", "−")
    return "0.0 %" if shown in {"+0.0", "−0.0"} else f"{shown} %"


def seeds_text(sweep: Sweep) -> str:
    """Return which seeds were run, in words."""
    seeds = sorted({seed for entry in sweep.entries.values() for seed in entry.summary.seeds})
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    if seeds == list(range(seeds[0], seeds[-1] + 1)):
        return f"seeds {seeds[0]} to {seeds[-1]}"
    return f"{len(seeds)} seeds"


def to_csv(sweeps: Sequence[Sweep]) -> str:
    """Return all entries as CSV, one per line, unrounded."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for sweep in sweeps:
        for setting in sweep.settings:
            writer.writerows(_csv_row(sweep, entry) for entry in sweep.row(setting))
    return text.getvalue()


def _csv_row(sweep: Sweep, entry: Entry) -> list[str]:
    summary = entry.summary
    setting = f"{entry.setting.value:.15g}" if sweep.numeric else entry.setting.label
    row = [sweep.id, setting, entry.method, str(len(summary.seeds))]
    row += [repr(summary.regret), _exact(summary.half_width)]
    if entry.published is None:
        return [*row, "", "", ""]
    return [*row, *map(repr, entry.published), _exact(entry.difference)]


def _exact(value: float) -> str:
    return "" if math.isnan(value) else repr(value)
