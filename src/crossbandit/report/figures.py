"""The figures for print: PNG, PDF and SVG, the same bytes for the same results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.report.claims import ENTRY_TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from crossbandit.report.sweeps import Entry, Setting, Sweep
    from crossbandit.report.variation import Spread

# Okabe and Ito's colours: told apart in print and by colour-blind readers. Shapes tell them apart
# once more, where there is no colour.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#444444")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
INK = "#222222"
MUTED = "#767676"
GRID = "#E3E3E3"
FORMATS = ("png", "pdf", "svg")
STYLE: dict[Any, Any] = {  # Matplotlib's types want one of all its names
    "font.size": 9,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "pdf.fonttype": 42,  # letters stay letters, which journals ask for
    "svg.hashsalt": "crossbandit",
}
# A study's labels may hold dollars and backslashes, which are to be printed, not to be computed.
LABELS = STYLE | {"text.parse_math": False}


def write_figure(
    figure: Figure, folder: Path, name: str, *, formats: Sequence[str] = FORMATS
) -> list[Path]:
    """Write a figure in every one of `formats`; return the paths."""
    from matplotlib import rc_context

    paths = [folder / f"{name}.{kind}" for kind in formats]
    dates: dict[str, dict[str, None]] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
    with rc_context(STYLE):
        for kind, path in zip(formats, paths, strict=True):
            figure.savefig(path, dpi=200, metadata=dates.get(kind))
    return paths


def sweeps_figure(sweeps: Sequence[Sweep]) -> Figure:
    """Return one panel per sweep: final regret with 95 % intervals, one line per method."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    styles = _styles(method for sweep in sweeps for method in sweep.methods)
    wide = not all(sweep.numeric for sweep in sweeps)  # rows of names need the whole width
    columns = 1 if wide else min(2, len(sweeps))
    rows = -(-len(sweeps) // columns)
    height = max(3.5, *(0.0 if sweep.numeric else _rows_height(sweep) for sweep in sweeps))
    with rc_context(LABELS):
        width = 7.2 if wide else 4.6 * columns + 0.4
        figure = Figure(figsize=(width, height * rows), layout="constrained")
        for i, sweep in enumerate(sweeps):
            axes = figure.add_subplot(rows, columns, i + 1)
            _draw_sweep(axes, sweep, styles)
    return figure


def _rows_height(sweep: Sweep) -> float:
    return 1.2 + 0.48 * len(sweep.settings) + 0.2 * len(sweep.methods)


def _styles(methods: Iterable[str]) -> dict[str, tuple[str, str]]:
    return {method: style(i) for i, method in enumerate(dict.fromkeys(methods))}


def style(i: int) -> tuple[str, str]:
    """Return the color and the marker of series number `i`; 49 series have 49 pairs of them."""
    turn, place = divmod(i, len(COLORS))
    return COLORS[place], MARKERS[(place + turn) % len(MARKERS)]


def _draw_sweep(axes: Axes, sweep: Sweep, styles: Mapping[str, tuple[str, str]]) -> None:
    axes.set_title(sweep.title, loc="left", fontsize=9.5, pad=10)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    if sweep.numeric:
        _draw_lines(axes, sweep, styles)
    else:
        _draw_rows(axes, sweep, styles)


def _draw_lines(axes: Axes, sweep: Sweep, styles: Mapping[str, tuple[str, str]]) -> None:
    log = sweep.is_logarithmic
    if log:
        axes.set_xscale("log")
        axes.set_yscale("log")
    ends = []
    for method in sweep.methods:
        column = sweep.column(method)
        if column:
            _draw_column(axes, column, styles[method])
            ends.append((column[-1].summary.regret, method, styles[method][0]))
    if sweep.has_reference:
        ends.append((_draw_reference(axes, sweep), "square root", MUTED))
    _name_axes(axes, sweep, log=log)
    label_ends(axes, ends, log=log)


def _draw_rows(axes: Axes, sweep: Sweep, styles: Mapping[str, tuple[str, str]]) -> None:
    """Draw environments that have no place on an axis of numbers one below the other."""
    for method in sweep.methods:
        column = sweep.column(method)
        color, marker = styles[method]
        axes.errorbar(
            [entry.summary.regret for entry in column],
            [sweep.settings.index(entry.setting) + 0.2 for entry in column],
            xerr=np.nan_to_num([entry.summary.half_width for entry in column]),
            color=color,
            marker=marker,
            linestyle="none",
            markersize=5,
            elinewidth=1,
            label=method,
        )
    for i, setting in enumerate(sweep.settings):
        label = axes.annotate(
            setting.label,
            xy=(0, i - 0.15),
            xycoords=("axes fraction", "data"),
            fontsize=8,
            annotation_clip=False,
        )
        label.set_in_layout(False)  # a long name must not squeeze the chart
        axes.axhline(i + 0.5, color=GRID, linewidth=0.7)
    axes.set_ylim(len(sweep.settings) - 0.5, -0.5)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlim(left=min(0.0, axes.get_xlim()[0]))
    axes.set_xlabel("final regret")
    axes.grid(axis="x", color=GRID, linewidth=0.7)
    axes.legend(
        frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(0.0, -0.14), borderaxespad=0
    )


def _draw_column(axes: Axes, column: Sequence[Entry], style: tuple[str, str]) -> None:
    color, marker = style
    axes.errorbar(
        [entry.setting.value for entry in column],
        [entry.summary.regret for entry in column],
        yerr=np.nan_to_num([entry.summary.half_width for entry in column]),
        color=color,
        marker=marker,
        markersize=4.5,
        markeredgecolor="white",
        markeredgewidth=0.6,
        linewidth=1.5,
        elinewidth=1,
        capsize=2.5,
    )


def _draw_reference(axes: Axes, sweep: Sweep) -> float:
    """Draw a square root through the smallest point of the first method; return where it ends."""
    column = sweep.column(sweep.methods[0])
    x = np.array([column[0].setting.value, column[-1].setting.value])
    y = column[0].summary.regret * np.sqrt(x / x[0])
    axes.plot(x, y, color=MUTED, linestyle=(0, (4, 3)), linewidth=1, zorder=1)
    return float(y[-1])


def _name_axes(axes: Axes, sweep: Sweep, *, log: bool) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

    axes.set_xlabel(sweep.axis)
    axes.set_ylabel("final regret")
    axes.grid(axis="y", color=GRID, linewidth=0.7)
    axes.set_xticks(
        [setting.value for setting in sweep.settings],
        [_short(setting) for setting in sweep.settings],
    )
    axes.xaxis.set_minor_locator(NullLocator())
    if log:
        low, high = axes.get_ylim()
        axes.set_yticks([tick for tick in round_numbers(low, high) if low <= tick <= high])
        axes.set_ylim(low, high)
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    axes.yaxis.set_major_formatter(FuncFormatter(_tick))


def _tick(value: float, _: object = None) -> str:
    return f"{value:,.10g}".replace("-", "−")


def _short(setting: Setting) -> str:
    """Return a label that leaves room for its neighbours: thousands as k."""
    return (
        f"{setting.label.removesuffix(',000')}k" if ",000" in setting.label[-4:] else setting.label
    )


def round_numbers(low: float, high: float) -> list[float]:
    """Return 1, 2, 5, 10, 20, ... from `low` to beyond `high`, both positive.

    >>> round_numbers(150, 900)
    [200.0, 500.0]
    """
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    ticks = [step * 10.0**decade for decade in decades for step in (1, 2, 5)]
    return [tick for tick in ticks if low <= tick <= high]


def label_ends(axes: Axes, ends: list[tuple[float, str, str]], *, log: bool) -> None:
    """Write each name beside the end of its line, pushed apart where lines end close together."""
    if not ends:
        return
    low, high = axes.get_ylim()
    place = np.log if log else np.asarray
    bottom, top = float(place(low)), float(place(high))
    fractions = [(float(place(end)) - bottom) / (top - bottom) for end, _, _ in ends]
    order = np.argsort(fractions)
    for position, i in zip(spread_out([fractions[i] for i in order], 0.065), order, strict=True):
        axes.annotate(
            ends[i][1],
            xy=(1, position),
            xycoords="axes fraction",
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            color=ends[i][2],
            fontsize=8.5,
            annotation_clip=False,
        )


def spread_out(places: Sequence[float], apart: float) -> list[float]:
    """Move increasing places as little as needed for neighbours to be `apart`, within [0, 1].

    >>> [round(place, 3) for place in spread_out([0.5, 0.52, 0.9], 0.1)]
    [0.46, 0.56, 0.9]
    """
    groups: list[list[float]] = []  # places that touch move together, around their mean
    for place in places:
        groups.append([place])
        while len(groups) > 1 and _first(groups[-1], apart) < _last(groups[-2], apart) + apart:
            touching = groups.pop()
            groups[-1] += touching
    return [_first(group, apart) + apart * i for group in groups for i in range(len(group))]


def _first(group: Sequence[float], apart: float) -> float:
    middle = sum(group) / len(group)
    half = apart * (len(group) - 1) / 2
    return min(max(middle, half), max(1.0 - half, half)) - half


def _last(group: Sequence[float], apart: float) -> float:
    return _first(group, apart) + apart * (len(group) - 1)


def curves_figure(sweep: Sweep) -> Figure:
    """Return one panel per setting: regret over time with 95 % bands, one line per method."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    styles = _styles(sweep.methods)
    columns = min(2, len(sweep.settings)) if sweep.numeric else 1  # names need the whole width
    rows = -(-len(sweep.settings) // columns)
    with rc_context(LABELS):
        figure = Figure(figsize=(4.6 * columns + 0.4, 2.9 * rows), layout="constrained")
        for i, setting in enumerate(sweep.settings):
            axes = figure.add_subplot(rows, columns, i + 1)
            title = f"{sweep.symbol} = {setting.label}" if sweep.numeric else setting.label
            axes.set_title(title, loc="left", fontsize=9.5, pad=8)
            _draw_curves(axes, sweep.row(setting), styles)
    return figure


def _draw_curves(
    axes: Axes, entries: Sequence[Entry], styles: Mapping[str, tuple[str, str]]
) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    for entry in entries:
        curve, (color, marker) = entry.summary.curve, styles[entry.method]
        # A single seed has a line and no band.
        low, high = curve.mean - curve.half_widths, curve.mean + curve.half_widths
        axes.fill_between(curve.rounds, low, high, color=color, alpha=0.18, linewidth=0)
        axes.plot(
            curve.rounds,
            curve.mean,
            color=color,
            linewidth=1.3,
            marker=marker,
            markersize=4.5,
            markevery=[-1],
        )
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=GRID, linewidth=0.7)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=min(0.0, axes.dataLim.y0))
    axes.set_xlabel("round")
    axes.set_ylabel("regret")
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(FuncFormatter(_tick))
    axes.yaxis.set_major_formatter(FuncFormatter(_tick))
    ends = [(float(e.summary.curve.mean[-1]), e.method, styles[e.method][0]) for e in entries]
    label_ends(axes, ends, log=False)


def tables_figure(spreads: Sequence[Spread]) -> Figure:
    """Return how the entries vary over loss tables, as differences from the paper's entries."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    by_sweep: dict[str, list[Spread]] = {}
    for spread in spreads:
        by_sweep.setdefault(spread.sweep.id, []).append(spread)
    styles = _styles(method for spread in spreads for method in spread.sweep.methods)
    with rc_context(LABELS):
        figure = Figure(figsize=(4.6 * len(by_sweep) + 0.4, 3.2), layout="constrained")
        panels = figure.subplots(1, len(by_sweep), sharey=True, squeeze=False)[0]
        for axes, group in zip(panels, by_sweep.values(), strict=True):
            _draw_spreads(axes, group, styles)
        panels[0].set_ylabel("difference from the paper, %")
        _name_methods(figure, styles)
    return figure


def _draw_spreads(
    axes: Axes, spreads: Sequence[Spread], styles: Mapping[str, tuple[str, str]]
) -> None:
    sweep = spreads[0].sweep
    bar = 100 * ENTRY_TOLERANCE
    axes.axhspan(-bar, bar, color=GRID, alpha=0.45, linewidth=0)
    axes.axhline(0, color=MUTED, linewidth=0.8)
    for spread in spreads:
        color, marker = styles[spread.entry.method]
        shift = sweep.methods.index(spread.entry.method) - (len(sweep.methods) - 1) / 2
        x = sweep.settings.index(spread.entry.setting) + 0.18 * shift
        others = [100 * spread.against_paper(regret) for _, regret in spread.others]
        axes.plot([x] * len(others), others, "_", color=color, markersize=7, alpha=0.75)
        axes.plot(
            x,
            100 * spread.entry.difference,
            marker,
            color=color,
            markersize=5,
            markeredgecolor="white",
            markeredgewidth=0.6,
        )
    axes.set_xticks(range(len(sweep.settings)), [setting.label for setting in sweep.settings])
    axes.set_xlabel(sweep.axis)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(length=0)


def _name_methods(figure: Figure, styles: Mapping[str, tuple[str, str]]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=color, marker=marker, linestyle="none", label=method)
        for method, (color, marker) in styles.items()
    ]
    handles.append(
        Line2D([], [], color=MUTED, marker="_", linestyle="none", label="another loss table")
    )
    figure.legend(
        handles=handles, loc="outside upper left", ncols=len(handles), frameon=False, fontsize=8
    )
