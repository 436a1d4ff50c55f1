"""Bad lines of a log: where they are, and when a log is refused because of them.

DuckDB counts rows, but messages show the numbers of lines. They differ if there are blank lines or
quoted line ends. Only the first bad lines are looked up in the files.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from crossbandit.errors import LogError
from crossbandit.logs.columns import ABOVE, LEAST, MOST, NO_PRICE, ROLES, WITH_COMMA
from crossbandit.logs.source import MORE_COLUMNS, PLACE, ROWS_OF_A_FILE, TOO_LONG

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    import duckdb

    from crossbandit.logs.layout import LogFile
    from crossbandit.logs.log import AuctionLog
    from crossbandit.logs.source import Source
    from crossbandit.logs.survey import Survey

SHOWN_FAULTS = 10
_SHOWN_TEXT = 40
_UP_TO_CLOSING = re.compile(r'(?:[^"]|"")*+"')


class Fault(NamedTuple):
    """A bad line.

    Attributes:
        line: Its number, from 1.
        reason: What is wrong with it.
        lines: How many lines it covers; more than one if a quoted field contains line ends.
        file: The file, if the log has more than one.
    """

    line: int
    reason: str
    lines: int = 1
    file: str = ""

    @property
    def place(self) -> str:
        """Where it is, in words."""
        return f"{self.file}, line {self.line}" if self.file else f"line {self.line}"


def left_out(bad: int, auctions: int, faults: Sequence[Fault]) -> str:
    """Return the text before a list of bad lines.

    One fault may cover many lines, after a stray quotation mark.

    Args:
        bad: How many lines were left out.
        auctions: How many lines were not left out.
        faults: The first bad lines.

    Returns:
        The text.
    """
    were = "was" if bad == 1 else "were"
    said = f"{bad:,} of {auctions + bad:,} lines {were} left out"
    shown = sum(fault.lines for fault in faults)
    return f"{said}:" if shown == bad else f"{said}. The first of them:"


def first_faults(
    log: AuctionLog,
    connection: duckdb.DuckDBPyConnection,
    rejected: Mapping[tuple[str, int], str],
) -> tuple[Fault, ...]:
    """Return the first bad lines. DuckDB numbers rows; their lines are looked up in the files."""
    if log.source.origin is not None:
        return _faults_of_copy(log, log.source.origin, connection, rejected)
    faults: list[Fault] = []
    left = log.limit
    for file in log.source.files:
        part = log.source.part(file)
        query = f"SELECT row_number() OVER () AS number, * FROM ({log.checked_sql(part, left)})"
        rows = _bad_rows(log, connection, query)
        faults += _located(log, log.source, file, rows, rejected)
        if left is not None:
            left -= connection.execute(f"SELECT count(*) FROM ({query})").fetchall()[0][0]
        if len(faults) >= SHOWN_FAULTS or left == 0:
            break
    return tuple(faults[:SHOWN_FAULTS])


def _faults_of_copy(
    log: AuctionLog,
    origin: Source,
    connection: duckdb.DuckDBPyConnection,
    rejected: Mapping[tuple[str, int], str],
) -> tuple[Fault, ...]:
    """Return the first bad lines of a copy, with their places in the original files."""
    rows = _bad_rows(log, connection, f"SELECT {PLACE} AS number, * FROM ({log.checked_sql()})")
    faults: list[Fault] = []
    for i, file in enumerate(origin.files):
        first = i * ROWS_OF_A_FILE
        own = {row - first: why for row, why in rows.items() if row // ROWS_OF_A_FILE == i}
        faults += _located(log, origin, file, own, rejected)
    return tuple(faults[:SHOWN_FAULTS])


def _bad_rows(log: AuctionLog, connection: duckdb.DuckDBPyConnection, query: str) -> dict[int, str]:
    """Return the reasons of the first bad rows, by their numbers."""
    roles = ", ".join(f"{role}::VARCHAR" for role in log.places)
    rows = connection.execute(
        f"SELECT number, fault, {roles} FROM ({query}) WHERE fault IS NOT NULL LIMIT {SHOWN_FAULTS}"
    ).fetchall()
    return {row[0]: _reason(row[1], dict(zip(log.places, row[2:], strict=True))) for row in rows}


def _located(
    log: AuctionLog,
    source: Source,
    file: LogFile,
    rows: Mapping[int, str],
    rejected: Mapping[tuple[str, int], str],
) -> list[Fault]:
    """Return faults with their lines; reasons are given by the numbers of rows and records."""
    aside = {
        line: _set_aside(log, reason)
        for (path, line), reason in rejected.items()
        if path == str(file.path)
    }
    spans = {row: range(row, row + 1) for row in rows}
    others: dict[int, range] = {}
    if file.layout.is_text and (rows or aside):
        spans, others = line_numbers(file, rows, aside)
    name = str(file.path) if len(source.files) > 1 else ""
    faults = [
        _fault(spans.get(row, row + file.layout.skipped), reason, name)
        for row, reason in rows.items()
    ]
    faults += [_fault(span, aside[record], name) for record, span in others.items()]
    return sorted(faults)


def _set_aside(log: AuctionLog, reason: str) -> str:
    if reason == TOO_LONG:
        return reason
    return f"{' or '.join(f'the {ROLES[role]}' for role in log.places)} is {reason}"


def _fault(span: range | int, reason: str, name: str) -> Fault:
    """Return a fault. If `span` is a number and not a range, the line is only approximate."""
    if isinstance(span, int):
        return Fault(span, f"near this line, {reason}", file=name)
    if len(span) > 1:
        reason = f"quoted up to line {span[-1]}, and {reason}"
    return Fault(span.start, reason, len(span), name)


def _reason(fault: str, texts: Mapping[str, str | None]) -> str:
    text = next((texts[role] for role in texts if ROLES[role] in fault), None)
    if fault == MORE_COLUMNS:
        text = texts.get("price")
    return fault if text is None else f"{fault}: {text[:_SHOWN_TEXT]!r}"


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
    with log.open_text() as file:
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


def check_survey(log: AuctionLog, survey: Survey, *, all_prices: bool = True) -> None:
    """Raise LogError if a log has too many bad lines, too few auctions or impossible values.

    Args:
        log: The log.
        survey: Its survey.
        all_prices: Whether the price must be known in all auctions.
    """
    path = log.source.name
    if survey.without_price and all_prices:
        raise LogError(f"{_censored(log, survey)}\n{log.description}")
    check_bad_lines(log, survey, all_prices=all_prices)
    if survey.auctions < 2:
        raise LogError(_too_few_good(log, survey))
    if survey.highest_value == 0:
        raise LogError(f"All values in {path} are 0. {log.description}")
    if log.highest_value is None and not LEAST <= survey.highest_value <= MOST:
        raise LogError(
            f"The highest value in {path} is {survey.highest_value:g}. It must be from {LEAST:g} "
            f"to {MOST:g}. Give the amounts in another unit. {log.description}"
        )


def check_bad_lines(log: AuctionLog, survey: Survey, *, all_prices: bool = True) -> None:
    """Raise LogError if a log has more bad lines than are allowed."""
    if survey.bad <= log.max_bad:
        return
    if survey.main_reason == NO_PRICE:
        text = _too_few_prices(log, survey, all_prices=all_prices)
    else:
        text = (
            f"{log.source.name} has {survey.bad:,} bad lines, and at most {log.max_bad:,} are "
            f"allowed (--max-bad, max_bad=... in Python).{_advice(log, survey)} The first of "
            f"them:\n{_shown(survey)}"
        )
    raise LogError(f"{text}\n{log.description}")


def _censored(log: AuctionLog, survey: Survey) -> str:
    """Return why a log that does not have all prices cannot be replayed, and what can be done."""
    known = {
        "after-loss": "It has the highest competing bid of auctions that you lost only",
        "after-win": "It has the highest competing bid of auctions that you won only",
        "won-lost": "It has no highest competing bids, only who won",
        "always": "The highest competing bid is missing in some auctions",
    }[survey.feedback or "always"]
    return (
        f"{log.source.name} cannot be replayed: {survey.without_price:,} of {survey.auctions:,} "
        f"auctions have no highest competing bid. {known}. A replay needs it in all auctions, "
        "because it asks what any other bid would have done. `crossbandit evaluate` works with "
        "such a log: it says what is known exactly, bounds the rest, and estimates it."
    )


def _too_few_good(log: AuctionLog, survey: Survey) -> str:
    lines = "1 good line" if survey.auctions == 1 else "0 good lines"
    message = f"{log.source.name} has {lines}. At least 2 auctions are needed."
    if not survey.bad:
        return message
    which = "The bad lines" if survey.bad <= SHOWN_FAULTS else "The first bad lines"
    return f"{message}{_advice(log, survey)} {which}:\n{_shown(survey)}\n{log.description}"


def _too_few_prices(log: AuctionLog, survey: Survey, *, all_prices: bool) -> str:
    text = (
        f"{survey.reasons[NO_PRICE]:,} of the {survey.lines:,} lines of {log.source.name} have no "
        "highest competing bid. "
    )
    if not all_prices:
        return (
            f"{text}It may be missing if the log says who won: name that column with --won-column "
            "(columns={'won': ...} in Python)."
        )
    return (
        f"{text}If it is missing where you won, this log cannot be replayed: only the auctions "
        "that you lost are left, and they give a wrong answer. A replay needs the highest bid of "
        "the others in all auctions. `crossbandit evaluate` can use such a log if it says what you "
        "bid and who won (--bid-column, --won-column). (Only if it is missing by pure chance, "
        "allow more bad lines with --max-bad, max_bad=... in Python.) The first of them:\n"
        f"{_shown(survey)}"
    )


def _shown(survey: Survey) -> str:
    return "\n".join(f"  {fault.place}: {fault.reason}" for fault in survey.faults)


def _advice(log: AuctionLog, survey: Survey) -> str:
    """Return what to do about the most frequent fault, if that is known."""
    if survey.main_reason.endswith(WITH_COMMA):
        return " Write decimals with a point, 1.5 and not 1,5, and no thousands separators."
    if survey.main_reason == MORE_COLUMNS and log.source.files[0].layout.separator == ",":
        return " Are there decimal commas? Write 1.5, not 1,5."
    if survey.main_reason.startswith(ABOVE):
        return " Are the values in another unit than the bound? Give it with --value-unit."
    return ""
