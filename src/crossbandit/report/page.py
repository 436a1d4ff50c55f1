"""The page: one HTML file with the verdicts, the charts, the tables and how they were made.

It loads nothing: style, script and data are inside it. What can be read without a script (verdicts,
tables, facts) is written here; the charts are drawn by the scripts in `assets/` from the JSON.
"""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from crossbandit.report import paper, tables
from crossbandit.report.charts import chart_data
from crossbandit.report.claims import ENTRY_TOLERANCE, Status, is_within
from crossbandit.report.parts import (
    KEYS,
    METHODS,
    facts_list,
    figure,
    framed,
    section,
    switch,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crossbandit.report.claims import Verdict
    from crossbandit.report.content import Report
    from crossbandit.report.sweeps import Entry, Setting, Sweep
    from crossbandit.report.variation import Spread


_SHOWN_FAILURES = 10


def page(report: Report) -> str:
    """Return the page as text."""
    sections = [
        _verdicts(report.verdicts),
        _failed(report.failed),
        _charts(report),
        _curves(report),
        _tables(report),
        _variation(report),
        _made(report),
    ]
    return framed(
        title=report.title,
        lead=_lead(report),
        main=sections,
        data=chart_data(report),
        script="page.js",
    )


def _lead(report: Report) -> str:
    if not report.verdicts:
        return (
            "Mean final regret of every algorithm in every environment, with 95 % confidence "
            "intervals."
        )
    counts = {status: sum(v.status is status for v in report.verdicts) for status in Status}
    judged = counts[Status.MET] + counts[Status.NOT_MET]
    said = f"{counts[Status.MET]} of {judged} claims met" if judged else "No claim could be judged"
    if counts[Status.NOT_MET]:
        said += f", {counts[Status.NOT_MET]} not met"
    if counts[Status.NOT_JUDGED] and judged:
        said += f", {counts[Status.NOT_JUDGED]} not judged"
    return f"{said}. Both sweeps of <cite>{escape(paper.TITLE)}</cite>, run again and compared."


def _verdicts(verdicts: Sequence[Verdict]) -> str:
    if not verdicts:
        return ""
    head = "".join(f"<th scope=col>{name}" for name in ("Claim", "Expected", "Measured", "Verdict"))
    rows = "\n".join(_verdict(verdict) for verdict in verdicts)
    head = f'<table class="verdicts"><thead><tr>{head}</tr></thead>'
    return section("Verdicts", head, f"<tbody>\n{rows}\n</tbody></table>")


def _verdict(verdict: Verdict) -> str:
    kind = verdict.status.value.replace(" ", "-")
    return (
        f"<tr><th scope=row>{words(verdict.name)}</th>"
        f'<td class="expected">{words(verdict.expected)}</td>'
        f'<td class="measured">{words(verdict.measured)}</td>'
        f'<td class="verdict"><span class="status {kind}">{verdict.status}</span></td></tr>'
    )


def _failed(lines: Sequence[str]) -> str:
    if not lines:
        return ""
    shown = "".join(f"<li>{words(line)}</li>" for line in lines[:_SHOWN_FAILURES])
    more = len(lines) - _SHOWN_FAILURES
    if more > 0:
        shown += f"<li>and {more:,} more</li>"
    one = len(lines) == 1
    cells = "1 cell has failed and is" if one else f"{len(lines):,} cells have failed and are"
    note = f"{cells} missing from everything below."
    return section("Failed cells", f"<ul>{shown}</ul>", note=note)


def _charts(report: Report) -> str:
    panels = "\n".join(_sweep_figure(i, sweep) for i, sweep in enumerate(report.sweeps))
    note = f"Bars are {_intervals(report)}. "
    if any(sweep.has_reference for sweep in report.sweeps):
        first = escape(report.sweeps[0].methods[0])
        note += f"The dashed line is a square root through the first point of {first}. "
    return section(
        "Final regret",
        f'<div class="controls">{METHODS}{switch("sweep-scale")}</div>',
        f'<div class="panels{_two(report.sweeps)}">{panels}</div>',
        note=note + KEYS,
    )


def _intervals(report: Report) -> str:
    """Return in words which intervals the final regrets have."""
    if not report.of_paper:
        return "95 % confidence intervals by Student&rsquo;s law"
    said = "95 % confidence intervals at 1.96 standard errors, as in the paper"
    if all(sweep.published is not None for sweep in report.sweeps):
        return said
    return f"{said}; those of runs that the paper does not have are by Student&rsquo;s law"


def _sweep_figure(i: int, sweep: Sweep) -> str:
    rows = 0 if sweep.numeric else len(sweep.settings)
    return figure(f"sweep-{i}", sweep.title, f"{sweep.title}. {KEYS}", rows=rows)


def _two(panels: Sequence[Any]) -> str:
    return " two" if len(panels) > 1 else ""


def _curves(report: Report) -> str:
    groups = []
    value = 0
    for sweep in report.sweeps:
        options = []
        for setting in sweep.settings:
            chosen = " selected" if value == len(report.sweeps[0].settings) - 1 else ""
            options.append(f"<option value={value}{chosen}>{_place(sweep, setting)}</option>")
            value += 1
        groups.append(f'<optgroup label="{escape(sweep.title)}">{"".join(options)}</optgroup>')
    choose = (
        '<label class="choose">Setting <select id="point">' + "".join(groups) + "</select></label>"
    )
    return section(
        "Regret over time",
        f'<div class="controls">{choose}{METHODS}{switch("curve-scale")}</div>',
        figure("curves", "", f"Regret over time. {KEYS}", shape="wide"),
        note="Mean over the seeds, with bands that are 95 % confidence intervals by "
        "Student&rsquo;s law.",
    )


def _place(sweep: Sweep, setting: Setting) -> str:
    """Return a setting by name and value."""
    label = escape(setting.label)
    return f"{escape(sweep.symbol)} = {label}" if sweep.numeric else label


def _tables(report: Report) -> str:
    note = ""
    if report.of_paper:
        note = (
            "Each entry stands beside the paper&rsquo;s number and the relative difference; the "
            f"paper calls {escape(paper.METHODS[paper.OURS])} “Ours”."
        )
    body = "\n".join(_table(report, sweep) for sweep in report.sweeps)
    save = quote(tables.to_csv(report.sweeps))
    link = (
        f'<p class="save"><a download="tables.csv" href="data:text/csv;charset=utf-8,{save}">'
        "Save the numbers as CSV</a></p>"
    )
    return section(
        "Tables", f'<div class="panels{_two(report.sweeps)}">{body}</div>', link, note=note
    )


def _table(report: Report, sweep: Sweep) -> str:
    if sweep.published is None:
        names = ["Method", "Seeds", "Regret"]
    else:
        names = ["Method", "Regret", "Paper", "Difference"]
    head = "".join(f"<th scope=col{' class=n' if i else ''}>{name}" for i, name in enumerate(names))
    groups = "\n".join(_group(report, sweep, setting, len(names)) for setting in sweep.settings)
    return (
        f'<div><h3>{escape(sweep.title)}</h3><p class="note">{words(tables.caption(sweep))}</p>'
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>\n{groups}</table></div></div>'
    )


def _group(report: Report, sweep: Sweep, setting: Setting, columns: int) -> str:
    rows = "\n".join(_row(report, sweep, entry) for entry in sweep.row(setting))
    return (
        f'<tbody class="group"><tr class="group"><th scope=rowgroup colspan={columns}>'
        f"{_place(sweep, setting)}</th></tr>\n{rows}</tbody>"
    )


def _row(report: Report, sweep: Sweep, entry: Entry) -> str:
    here = _plus_minus(entry.summary.regret, entry.summary.half_width)
    if sweep.published is None:
        cells = f"<td class=n>{len(entry.summary.seeds)}</td><td class=n>{here}</td>"
    else:
        theirs = _plus_minus(*entry.published) if entry.published else tables.MISSING
        outside = entry.published is not None and not is_within(entry)
        kind = "n outside" if outside else "n"
        cells = (
            f'<td class=n>{here}</td><td class="n theirs">{theirs}</td>'
            f'<td class="{kind}">{tables.percent(entry.difference)}</td>'
        )
    return f"<tr>{_method(report, entry.method)}{cells}</tr>"


def _method(report: Report, method: str) -> str:
    index = report.methods.index(method)
    return f"<th scope=row data-key={index}>{escape(method)}</th>"


def _plus_minus(regret: float, half_width: float) -> str:
    if math.isnan(half_width):
        return tables.number(regret)
    return f"{tables.number(regret)} <span class=pm>± {half_width:,.2f}</span>"


def _variation(report: Report) -> str:
    if not report.spreads:
        return ""
    seen = {id(spread.sweep) for spread in report.spreads}
    panels = "\n".join(
        figure(f"spread-{i}", f"By {sweep.axis}", f"By {sweep.axis}. {KEYS}", shape="low")
        for i, sweep in enumerate(report.sweeps)
        if id(sweep) in seen
    )
    others = sorted({table for spread in report.spreads for table, _ in spread.others})
    return section(
        "Other loss tables",
        f'<div class="controls">{METHODS}</div>',
        f'<div class="panels{_two(list(seen))}">{panels}</div>',
        _spread_table(report),
        note=(
            f"The losses are one random table; its seed was fixed once, at {paper.TABLE_SEED}, "
            "not chosen for a good result. Symbols are the entries above; dashes are the same "
            f"entries under the {_tables_text(others)}, over {_seed_counts(report)} seeds; "
            f"the shaded range is ±{100 * ENTRY_TOLERANCE:.0f} %."
        ),
    )


def _tables_text(seeds: Sequence[int]) -> str:
    if len(seeds) == 1:
        return f"table of seed {seeds[0]}"
    return f"tables of seeds {', '.join(map(str, seeds))}, each"


def _seed_counts(report: Report) -> str:
    counts = sorted({spread.seeds for spread in report.spreads})
    return " to ".join(map(str, dict.fromkeys([counts[0], counts[-1]])))


def _spread_table(report: Report) -> str:
    head = "".join(
        f"<th scope=col{' class=n' if i else ''}>{name}"
        for i, name in enumerate(("Entry", "This table", "Lowest other", "Highest other", "Paper"))
    )
    rows = "\n".join(_spread_row(report, spread) for spread in report.spreads)
    return (
        "<details><summary>The numbers</summary><div class=scroll><table><thead>"
        f"<tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table></div></details>"
    )


def _spread_row(report: Report, spread: Spread) -> str:
    entry = spread.entry
    published = math.nan if entry.published is None else entry.published.regret
    values = (entry.summary.regret, spread.lowest, spread.highest, published)
    cells = "".join(f"<td class=n>{tables.number(value)}</td>" for value in values)
    place = _place(spread.sweep, entry.setting)
    index = report.methods.index(entry.method)
    return f"<tr><th scope=row data-key={index}>{escape(entry.method)}, {place}</th>{cells}</tr>"


def _made(report: Report) -> str:
    note = (
        "Within a seed, all algorithms meet the same contexts, and a shorter horizon is the "
        "beginning of a longer one. Regret is against the best fixed arm of each context over "
        "the whole horizon, on the contexts that occurred. The same version and seeds give the "
        "same numbers on every machine."
    )
    return section("How it was made", facts_list(report.facts), f'<p class="note">{note}</p>')
