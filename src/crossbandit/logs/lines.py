"""Find the line numbers of rows in a text file.

DuckDB numbers rows, and messages show lines. Blank lines and quoted line ends make the difference.
Only the first bad lines are looked up.
"""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from crossbandit.logs.layout import LogFile

_UP_TO_CLOSING = re.compile(r'(?:[^"]|"")*+"')


def line_numbers(
    file: LogFile, rows: Collection[int], rejected: Collection[int]
) -> tuple[dict[int, range], dict[int, range]]:
    """Return the lines of rows and of rejected records, by their numbers; all count from 1.

    A record is one line, or several if a quoted field contains line ends. Rows are the records that
    are not skipped, blank or rejected. Where DuckDB reads unusual quotation marks differently, the
    last rows may be missing from the answer.
    """
    of_rows: dict[int, range] = {}
    of_rejected: dict[int, range] = {}
    row = 0
    for number, (lines, full) in enumerate(_records(file), file.layout.skipped + 1):
        if number in rejected:
            of_rejected[number] = lines
        elif full:
            row += 1
            if row in rows:
                of_rows[row] = lines
        if len(of_rows) == len(rows) and len(of_rejected) == len(rejected):
            break
    return of_rows, of_rejected


def _records(log: LogFile) -> Iterator[tuple[range, bool]]:
    """Yield the lines of each record, and whether it is not blank."""
    layout = log.layout
    open_text = gzip.open if layout.compressed else open
    # In Latin-1 every byte is a character, so decoding cannot fail.
    with open_text(log.path, "rt", encoding="latin-1", newline="") as file:
        for _ in range(layout.skipped):
            file.readline()
        first = layout.skipped + 1
        inside = False
        number = layout.skipped
        for number, line in enumerate(file, first):
            inside = layout.is_quoted and _ends_quoted(line, layout.separator, inside=inside)
            if not inside:
                yield range(first, number + 1), number > first or bool(line.strip("\r\n"))
                first = number + 1
        if inside:
            yield range(first, number + 1), True


def _ends_quoted(line: str, separator: str, *, inside: bool) -> bool:
    """Return whether a line ends inside quotation marks; `inside` says whether it starts there.

    A quotation mark opens a field only as its first character, and two marks inside a field stand
    for one. The module `csv` follows the same rules, but fails at fields of 131,072 characters.
    """
    if '"' not in line:
        return inside
    place = 0
    while True:
        if not inside and line.startswith('"', place):
            inside = True
            place += 1
        if inside:
            closed = _UP_TO_CLOSING.match(line, place)
            if closed is None:
                return True
            inside = False
            place = closed.end()
        place = line.find(separator, place) + 1
        if place == 0:
            return False
