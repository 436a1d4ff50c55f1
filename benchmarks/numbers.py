"""Numbers and tables on pages, as they were measured: `python -m benchmarks.numbers` writes them.

A page names what it shows in a comment, which readers do not see, and the text follows:

    <!-- measured core: a run against vectorised NumPy -->231 times faster<!-- end -->
    <!-- measured core: rounds through simulate as millions -->2.1 million<!-- end -->

The first word is the group (a file in benchmarks/measured), the rest the name of the row, and
after " as " the form: one of `FORMS`. A table is a file in benchmarks/measured/tables, which
`benchmarks.tables` writes:

    <!-- table anchors -->
    | ... |
    <!-- end -->

`python -m benchmarks` and `python -m benchmarks.tables` write all pages after each group or table.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from benchmarks import records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from benchmarks.measure import Result
    from benchmarks.records import Record

TABLES = records.FOLDER / "tables"
NUMBER = re.compile(r"(<!-- measured (\w+): (.+?)(?: as (\w+))? -->).*?<!-- end -->")
TABLE = re.compile(r"^(<!-- table ([\w-]+) -->\n).*?^<!-- end -->$", re.MULTILINE | re.DOTALL)
# The marks of both kinds, to find those that neither pattern reads.
MARK = re.compile(r"<!-- (?:measured|table) ")

FORMS: dict[str, Callable[[Result], str]] = {
    "measured": lambda row: records.cells(row)[1],
    "number": lambda row: records.short(row.value),
    "rounded": lambda row: f"{row.value:,.0f}" if abs(row.value) >= 10 else f"{row.value:.2g}",
    "thousands": lambda row: f"{round(row.value, -3):,.0f}",
    "millions": lambda row: f"{row.value / 1e6:.2g} million",
    "percent": lambda row: f"{100 * row.value:.3g} %",
    "less": lambda row: f"{100 * (1 - row.value):.2g} %",
    "more": lambda row: f"{100 * (row.value - 1):.2g} %",
    "note": lambda row: row.note,
}


class UnknownNumberError(ValueError):
    """A page names a row, a form or a table that is not there."""


def pages() -> Iterator[Path]:
    """Yield the pages that may show what was measured."""
    yield records.ROOT / "README.md"
    yield from sorted(path for path in records.PAGE.parent.rglob("*.md") if path != records.PAGE)


def filled(text: str, measured: list[Record]) -> str:
    """Return a page with its numbers and tables as they were measured.

    Args:
        text: The page as it is.
        measured: The records of all groups.

    Raises:
        UnknownNumberError: The page names something that was not measured.
    """
    found: dict[tuple[str, str], list[Result]] = {}
    for kept in measured:
        for row in kept.results:
            found.setdefault((kept.group, row.name), []).append(row)

    def number(match: re.Match[str]) -> str:
        begins, group, name, form = match.groups()
        rows = found.get((group, name), [])
        if len(rows) != 1:
            state = "has no" if not rows else "has more than one"
            raise UnknownNumberError(f"The group {group!r} {state} row {name!r}.")
        if (form or "measured") not in FORMS:
            raise UnknownNumberError(f"There is no form {form!r}. There are: {', '.join(FORMS)}.")
        return f"{begins}{FORMS[form or 'measured'](rows[0])}<!-- end -->"

    def table(match: re.Match[str]) -> str:
        path = TABLES / f"{match[2]}.md"
        if not path.exists():
            raise UnknownNumberError(f"There is no table {match[2]!r} in {TABLES.name}.")
        return f"{match[1]}{path.read_text(encoding='utf-8')}<!-- end -->"

    result = TABLE.sub(table, NUMBER.sub(number, text))
    if len(MARK.findall(text)) != len(NUMBER.findall(text)) + len(TABLE.findall(text)):
        raise UnknownNumberError("A comment begins with 'measured' or 'table' and is not complete.")
    return result


def write() -> None:
    """Write the page of all measurements, and the numbers and tables of all other pages."""
    measured = records.load()
    records.PAGE.write_text(records.page(measured), encoding="utf-8")
    for path in pages():
        text = path.read_text(encoding="utf-8")
        try:
            renewed = filled(text, measured)
        except UnknownNumberError as error:
            raise UnknownNumberError(f"{path.name}: {error}") from None
        if renewed != text:
            path.write_text(renewed, encoding="utf-8")


if __name__ == "__main__":
    write()
