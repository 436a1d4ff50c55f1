"""What the page's charts are drawn from, as JSON."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from crossbandit.report.claims import ENTRY_TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from crossbandit.report.content import Report
    from crossbandit.report.sweeps import Entry, Setting, Sweep
    from crossbandit.report.variation import Spread

_DIGITS = 6


def chart_data(report: Report) -> str:
    """Return JSON that may stand inside a script element."""
    data = _data(report)
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c")


def _data(report: Report) -> dict[str, Any]:
    methods = report.methods
    return {
        "methods": list(methods),
        "sweeps": [_sweep_data(sweep, methods) for sweep in report.sweeps],
        "curves": [
            _curve_data(sweep, setting, methods)
            for sweep in report.sweeps
            for setting in sweep.settings
        ],
        "spreads": [_spread_data(report, spread) for spread in report.spreads],
        "tolerance": ENTRY_TOLERANCE,
    }


def _sweep_data(sweep: Sweep, methods: Sequence[str]) -> dict[str, Any]:
    return {
        "symbol": sweep.symbol,
        "axis": sweep.axis,
        "numeric": sweep.numeric,
        "log": sweep.is_logarithmic,
        "reference": sweep.has_reference,
        "settings": [
            {"label": setting.label, "value": setting.value} for setting in sweep.settings
        ],
        "methods": [methods.index(method) for method in sweep.methods],
        "entries": [
            _entry_data(i, entry, methods)
            for i, setting in enumerate(sweep.settings)
            for entry in sweep.row(setting)
        ],
    }


def _entry_data(setting: int, entry: Entry, methods: Sequence[str]) -> dict[str, Any]:
    return {
        "setting": setting,
        "method": methods.index(entry.method),
        "regret": _round(entry.summary.regret),
        "half": _round(entry.summary.half_width),
        "paper": None if entry.published is None else entry.published.regret,
        "difference": _round(entry.difference),
    }


def _curve_data(sweep: Sweep, setting: Setting, methods: Sequence[str]) -> dict[str, Any]:
    row = sweep.row(setting)
    return {
        "rounds": [int(number) for number in row[0].summary.curve.rounds],
        "series": [
            {
                "method": methods.index(entry.method),
                "mean": _rounded(entry.summary.curve.mean),
                "half": _half_widths(entry),
            }
            for entry in row
        ],
    }


def _half_widths(entry: Entry) -> list[float | None] | None:
    """Return the half-widths of a curve; None for a single seed, which has no band."""
    return _rounded(entry.summary.curve.half_widths) if len(entry.summary.seeds) > 1 else None


def _spread_data(report: Report, spread: Spread) -> dict[str, Any]:
    return {
        "sweep": report.sweeps.index(spread.sweep),
        "setting": spread.sweep.settings.index(spread.entry.setting),
        "method": report.methods.index(spread.entry.method),
        "here": _round(spread.entry.difference),
        "others": [
            [table, _round(spread.against_paper(regret))] for table, regret in spread.others
        ],
    }


def _rounded(values: Iterable[float]) -> list[float | None]:
    return [_round(float(value)) for value in values]


def _round(value: float) -> float | None:
    """Return a number with six digits, more than a screen can show; None for not a number."""
    return None if math.isnan(value) else float(f"{value:.{_DIGITS}g}")
