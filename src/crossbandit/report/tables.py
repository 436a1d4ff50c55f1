"""The tables, as Markdown, CSV and LaTeX; each entry beside the paper's, where it has one."""

from __future__ import annotations

import csv
import io
import math
import re
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
    "interval",
    "paper_regret",
    "paper_half_width",
    "relative_difference",
)
MISSING = "\N{EN DASH}"
STUDENT = "95 % confidence interval by Student's law"
AS_PAPER = "95 % confidence interval at 1.96 standard errors, as in the paper"


def markdown(sweeps: Sequence[Sweep]) -> str:
    """Return the tables of all sweeps as one Markdown document."""
    return "\n".join(_markdown(sweep) for sweep in sweeps)


def _markdown(sweep: Sweep) -> str:
    columns = len(sweep.methods)
    head, rule = [sweep.symbol], ["--:" if sweep.numeric else ":--"]
    if sweep.published is not None:
        head, rule = [*head, ""], [*rule, ":--"]
    lines = [
        f"## {_md(sweep.title)}",
        "",
        _md(caption(sweep)),
        "",
        _bar([*map(_md, [*head, *sweep.methods])]),
        _bar([*rule, *["--:"] * columns]),
    ]
    for setting in sweep.settings:
        for names, cells in _rows(sweep, setting, plus_minus):
            lines.append(_bar([*map(_md, names), *cells]))
    return "\n".join([*lines, ""])


def _bar(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _md(text: str) -> str:
    """Escape what Markdown would read as form; underscores inside a word are none."""
    text = re.sub(r"[\\`*<>|$~\[\]]", r"\\\g<0>", " ".join(text.split()))
    return re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", text)


def caption(sweep: Sweep, *, where: str = "±") -> str:
    """Return what the numbers of a table are, over which seeds, and how many are missing.

    `where` says what marks a half-width.
    """
    said = f"Mean over {seeds_text(sweep)}"
    if any(len(entry.summary.seeds) > 1 for entry in sweep.entries.values()):
        said += f", {where} the half-width of its {interval(sweep)}"
    missing = missing_text(sweep)
    return f"{said}. {missing}" if missing else f"{said}."


def interval(sweep: Sweep) -> str:
    """Return in words which intervals a sweep has."""
    return STUDENT if sweep.published is None else AS_PAPER


def latex(sweep: Sweep) -> str:
    """Return one sweep as a LaTeX table in the paper's form; it needs the booktabs package."""
    columns = ("r" if sweep.numeric else "l") + "r" * len(sweep.methods)
    head = [_tex_symbol(sweep.symbol)]
    words = caption(sweep, where="in parentheses")
    if sweep.published is not None:
        columns, head = columns[0] + "l" + columns[1:], [*head, ""]
    lines = [
        r"% Needs \usepackage{booktabs}.",
        r"\begin{table}",
        rf"\caption{{{_tex(f'{sweep.title}. {words}')}}}",
        r"\centering",
        r"\footnotesize",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _tex_row([*head, *map(_tex, sweep.methods)]),
        r"\midrule",
    ]
    for i, setting in enumerate(sweep.settings):
        if i > 0 and sweep.published is not None:
            lines.append(r"\addlinespace")
        for names, cells in _rows(sweep, setting, parentheses):
            first, *rest = map(_tex, names)
            # The comma of a label is a comma; that of a number parts thousands.
            first = first.replace(",", r"\,") if sweep.numeric else first
            lines.append(_tex_row([first, *rest, *map(_tex, cells)]))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def _tex_row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


_GREEK = {"α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "η": "eta"}
_GREEK |= {"θ": "theta", "λ": "lambda", "μ": "mu", "ρ": "rho", "σ": "sigma", "τ": "tau"}
# A bracket or a star that begins a row would belong to the end of the row above it.
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
    if len(symbol) == 1 and symbol.isascii():
        return rf"\({symbol}\)"
    return _tex(symbol)


def _rows(
    sweep: Sweep, setting: Setting, form: Callable[[float, float], str]
) -> list[tuple[list[str], list[str]]]:
    """Return the rows of one setting: the names on their left, and the entries.

    Where there is a paper, what it says stands below what was measured, and a name tells which is
    which.
    """
    entries = [sweep.entry(setting, method) for method in sweep.methods]
    here = [_cell(entry, lambda e: _here(e, form)) for entry in entries]
    if sweep.published is None:
        return [([setting.label], here)]
    theirs = [_cell(entry, lambda e: _published(e, form)) for entry in entries]
    differences = [_cell(entry, lambda e: percent(e.difference)) for entry in entries]
    return [
        ([setting.label, "here"], here),
        (["", "paper"], theirs),
        (["", "difference"], differences),
    ]


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
    shown = f"{regret:.2f}".replace("-", "−")
    return shown if math.isnan(half_width) else f"{shown} ({half_width:.2f})"


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
    """Return over which seeds the entries are, in words; columns that differ are named."""
    columns: dict[str, list[str]] = {}
    for method in sweep.methods:
        seeds = [entry.summary.seeds for entry in sweep.column(method)]
        columns.setdefault(_column_seeds(seeds), []).append(method)
    most = max(columns, key=lambda seeds: len(columns[seeds]))
    others = [
        f"{', '.join(methods)}: {seeds}" for seeds, methods in columns.items() if seeds != most
    ]
    return f"{most} ({'; '.join(others)})" if others else most


def _column_seeds(entries: Sequence[tuple[int, ...]]) -> str:
    """Return in words the seeds of the entries of one column."""
    if len(set(entries)) > 1:
        fewest, most = min(map(len, entries)), max(map(len, entries))
        if fewest < most:
            return f"{fewest} to {most} seeds"
        return f"{most} {'seed' if most == 1 else 'seeds'}, not the same everywhere"
    seeds = entries[0]
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    if seeds == tuple(range(seeds[0], seeds[-1] + 1)):
        return f"seeds {seeds[0]} to {seeds[-1]}"
    return f"{len(seeds)} seeds"


def missing_text(sweep: Sweep) -> str:
    """Return how many cells are missing from the grid, as a sentence; empty where none is."""
    seeds = {seed for entry in sweep.entries.values() for seed in entry.summary.seeds}
    total = len(sweep.settings) * len(sweep.methods) * len(seeds)
    missing = total - sum(len(entry.summary.seeds) for entry in sweep.entries.values())
    if not missing:
        return ""
    verb = "is" if missing == 1 else "are"
    return f"Of {total:,} cells, {missing:,} {verb} missing: failed, or not run."


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
    row.append("1.96 standard errors" if summary.as_paper else "Student")
    if entry.published is None:
        return [*row, "", "", ""]
    return [*row, *map(repr, entry.published), _exact(entry.difference)]


def _exact(value: float) -> str:
    return "" if math.isnan(value) else repr(value)
