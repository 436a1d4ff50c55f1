"""On which line of a text file a row stands.

DuckDB numbers rows, and a reader of its messages wants lines: blank lines and quoted line ends
make the difference. Only the first bad lines are looked up.
"""

from __future__ import annotations

import csv
import gzip
from typing import TYPE_CHECKING

from crossbandit.errors import LogError
from crossbandit.replay.source import WHITE_SPACE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from crossbandit.replay.source import Source


def line_numbers(
    source: Source, rows: Collection[int], rejected: Collection[int]
) -> tuple[dict[int, range], dict[int, range]]:
    """Return the lines of rows and of rejected records, by their numbers; all count from 1.

    Every line is a record, unless it goes on in the next one, quoted. Rows are the records that
    are neither skipped, nor blank, nor rejected.
    """
    of_rows: dict[int, range] = {}
    of_rejected: dict[int, range] = {}
    row = 0
    for number, (lines, record) in enumerate(_records(source), source.skipped + 1):
        if number in rejected:
            of_rejected[number] = lines
        elif record:
            row += 1
            if row in rows:
                of_rows[row] = lines
        if len(of_rows) == len(rows) and len(of_rejected) == len(rejected):
            break
    return of_rows, of_rejected


def _records(source: Source) -> Iterator[tuple[range, list[str]]]:
    """Yield the lines of each record, and its fields."""
    opened = gzip.open if source.compressed else open
    whole = source.separator == WHITE_SPACE
    # In Latin-1 every byte is a letter: nothing stops the counting.
    with opened(source.path, "rt", encoding="latin-1", newline="") as file:
        for _ in range(source.skipped):
            file.readline()
        reader = csv.reader(
            file,
            delimiter=source.separator,
            quoting=csv.QUOTE_NONE if whole else csv.QUOTE_MINIMAL,
        )
        first = source.skipped + 1
        try:
            for record in reader:
                following = source.skipped + reader.line_num + 1
                yield range(first, following), record
                first = following
        except csv.Error as error:
            raise LogError(
                f"{source.path} cannot be read from line {first} on: {error}. Is there a quotation "
                "mark that is not closed?"
            ) from error
