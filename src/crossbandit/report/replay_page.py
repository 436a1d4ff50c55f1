"""The page of a replayed log: the table, surplus and regret over time, bids by value."""

from __future__ import annotations

import json
import math
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from crossbandit.report.parts import KEYS, METHODS, facts_list, figure, framed, section, switch
from crossbandit.report.replay import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from crossbandit.report.replay import ReplayReport

# What a column is called, and its class: a phone has no room for the roomy ones.
_COLUMNS = {
    "Strategy": "",
    "Surplus": "n",
    "Regret": "n",
    "Spend": "n roomy",
    "Won": "n",
    "Paid": "n roomy",
}
_DIGITS = 6


def replay_page(report: ReplayReport) -> str:
    """Return the page as text."""
    return framed(
        title=report.title,
        lead=escape(report.lead),
        main=[_table(report), _over_time(), _bids(report), _bad_lines(report), _made(report)],
        data=_data(report),
        script="replay.js",
    )


def _table(report: ReplayReport) -> str:
    head = "".join(f'<th scope=col class="{look}">{name}' for name, look in _COLUMNS.items())
    groups = "\n".join(_group(report, kind) for kind in KINDS)
    save = quote(report.table.to_csv(index=False, lineterminator="\n"))
    link = (
        f'<p class="save"><a download="table.csv" href="data:text/csv;charset=utf-8,{save}">'
        "Save the numbers as CSV</a></p>"
    )
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in report.notes)
    return section(
        "What each strategy earned",
        notes,
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>\n{groups}</table></div>',
        link,
        note=(
            "Surplus is value less payment, summed over the auctions won; regret is what is "
            f"missing to the {report.comparator}; paid is the average payment for a win. ± is the "
            "half-width of a 95 % confidence interval over the seeds of a learner."
        ),
    )


def _group(report: ReplayReport, kind: str) -> str:
    inside = report.table[report.table["kind"] == kind]
    if inside.empty:
        return ""
    rows = "\n".join(_row(report, row) for _, row in inside.iterrows())
    return (
        f'<tbody class="group"><tr class="group"><th scope=rowgroup colspan={len(_COLUMNS)}>'
        f"{KINDS[kind]}</th></tr>\n{rows}</tbody>"
    )


def _row(report: ReplayReport, row: pd.Series[Any]) -> str:
    charted = report.charted
    name = row["strategy"]
    key = f" data-key={charted.index(name)}" if name in charted else ""
    note = f"<small>{escape(row['note'])}</small>" if row["note"] else ""
    surplus = report.sum_of_money(row["surplus"])
    if not math.isnan(row["half_width"]):
        surplus += f" <span class=pm>± {row['half_width']:,.{report.digits}f}</span>"
    cells = (
        surplus,
        report.sum_of_money(row["regret"]),
        report.sum_of_money(row["spend"]),
        f"{100 * row['win_rate']:.1f}&nbsp;%",
        report.price(row),
    )
    looks = list(_COLUMNS.values())[1:]
    body = "".join(
        f'<td class="{look}">{cell}</td>' for look, cell in zip(looks, cells, strict=True)
    )
    return f"<tr><th scope=row{key}>{escape(name)}{note}</th>{body}</tr>"


def _over_time() -> str:
    return section(
        "Over time",
        f'<div class="controls">{METHODS}{switch("what", "Shown")}</div>',
        figure("over-time", "", f"Surplus or regret over time. {KEYS}", shape="wide"),
        note=(
            "Mean over the seeds, with 95 % bands. Of the fixed fractions, the best one in "
            "hindsight is shown."
        ),
    )


def _bids(report: ReplayReport) -> str:
    made = " What was bid is not shown." if "own" in set(report.table["kind"]) else ""
    return section(
        "What each strategy bids at the end",
        f'<div class="controls">{METHODS}</div>',
        figure("bids", "", f"Bids by value. {KEYS}", shape="wide"),
        note=f"The bid at each value, on average. The dashed line is the value itself.{made}",
    )


def _bad_lines(report: ReplayReport) -> str:
    if not report.faults:
        return ""
    rows = "\n".join(
        f"<tr><th scope=row>{line:,}</th><td>{escape(reason)}</td></tr>"
        for line, reason in report.faults
    )
    return section(
        "Bad lines",
        "<table><thead><tr><th scope=col>Line<th scope=col>What is wrong</tr></thead>"
        f"<tbody>{rows}</tbody></table>",
        note=escape(report.left_out),
    )


def _made(report: ReplayReport) -> str:
    note = (
        "A learner was told of each auction only what its own bid would have revealed. The log "
        "stays as it was: nobody reacts to the bids that are tried on it. The same version, log "
        "and seeds give the same numbers."
    )
    return section("How it was made", facts_list(report.facts), f'<p class="note">{note}</p>')


def _data(report: ReplayReport) -> str:
    """Return what the charts are drawn from, as JSON that may stand inside a script element."""
    methods = report.charted
    curves = {name: frame for name, frame in report.curves.groupby("strategy") if name in methods}
    bids = {name: frame for name, frame in report.bids.groupby("strategy") if name in methods}
    data = {
        "methods": list(methods),
        "digits": report.digits,
        "comparator": methods.index(report.comparator),
        "auctions": [int(number) for number in curves[report.comparator]["auction"]],
        "series": [
            {
                "method": i,
                "mean": _rounded(curves[name]["surplus"]),
                "half": _half_widths(curves[name]["half_width"]),
            }
            for i, name in enumerate(methods)
        ],
        "values": _rounded(bids[report.comparator]["value"]),
        "bids": [
            {"method": i, "mean": _rounded(bids[name]["bid"]), "half": None}
            for i, name in enumerate(methods)
            if bids[name]["bid"].notna().all()
        ],
    }
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c")


def _half_widths(values: pd.Series[float]) -> list[float] | None:
    return None if values.isna().any() else _rounded(values)


def _rounded(values: Iterable[float]) -> list[float]:
    return [float(f"{value:.{_DIGITS}g}") for value in values]
