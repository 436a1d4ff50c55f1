"""On which line of a text file a row stands.

DuckDB numbers rows, and a reader of its messages wants lines: blank lines and quoted line ends
make the difference. Only the first bad lines are looked up.
"""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING

from crossbandit.replay.source import WHITE_SPACE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from crossbandit.replay.source import Source

_UP_TO_CLOSING = re.compile(r'(?:[^"]|"")*+"')


def line_numbers(
    source: Source, rows: Collection[int], rejected: Collection[int]
) -> tuple[dict[int, range], dict[int, range]]:
    """Return the lines of rows and of rejected records, by their numbers; all count from 1.

    Every line is a record, unless it goes on in the next one, quoted. Rows are the records that
    are neither skipped, nor blank, nor rejected. Where quotation marks are so odd that DuckDB
    reads other records, the last rows may be missing.
    """
    of_rows: dict[int, range] = {}
    of_rejected: dict[int, range] = {}
    row = 0
    for number, (lines, full) in enumerate(_records(source), source.skipped + 1):
        if number in rejected:
            of_rejected[number] = lines
        elif full:
            row += 1
            if row in rows:
                of_rows[row] = lines
        if len(of_rows) == len(rows) and len(of_rejected) == len(rejected):
            break
    return of_rows, of_rejected


def _records(source: Source) -> Iterator[tuple[range, bool]]:
    """Yield the lines of each record, and whether it holds anything."""
    opened = gzip.open if source.compressed else open
    quoted = source.separator != WHITE_SPACE
    # In Latin-1 every byte is a letter: nothing stops the counting.
    with opened(source.path, "rt", encoding="latin-1", newline="") as file:
        for _ in range(source.skipped):
            file.readline()
        first = source.skipped + 1
        inside = False
        number = source.skipped
        for number, line in enumerate(file, first):
            inside = quoted and _goes_on(line, source.separator, inside=inside)
            if not inside:
                yield range(first, number + 1), number > first or bool(line.strip("\r\n"))
                first = number + 1
        if inside:
            yield range(first, number + 1), True


def _goes_on(line: str, separator: str, *, inside: bool) -> bool:
    """Return whether a line ends within quotation marks; `inside` says whether it begins so.

    A mark opens only as the first letter of a field, and two marks within others stand for one.
    The module `csv` knows this too, but gives up at fields of 131,072 letters.
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
