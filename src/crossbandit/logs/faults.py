"""Bad lines of a log: how they are found in SQL, and what is said about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from crossbandit.errors import LogError
from crossbandit.logs.columns import ROLES
from crossbandit.logs.lines import line_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import duckdb

    from crossbandit.logs.log import AuctionLog
    from crossbandit.logs.survey import Survey

SHOWN_FAULTS = 10
_SHOWN_TEXT = 40
NO_PRICE = "no highest competing bid"
MORE_COLUMNS = "more columns than the first line has"
WITH_COMMA = "is written with a comma"
TOO_LONG = "more than 2,000,000 bytes"
_COMMA = r"[-+]?[0-9.]*,[0-9.,]+"
LEAST, MOST = 1e-100, 1e100  # bounds of the highest value: sums and quotients stay finite


class Fault(NamedTuple):
    """A bad line.

    Attributes:
        line: Its number, from 1.
        reason: What is wrong with it.
        lines: How many lines it covers; more than one if a quoted field contains line ends.
    """

    line: int
    reason: str
    lines: int = 1


def fault_sql(roles: Iterable[str], highest_value: float | None) -> str:
    """Return SQL for what is wrong with a row, NULL if nothing is.

    A column is called like its role; as a number, it has an underscore after its name.
    """
    named = [(role, ROLES[role]) for role in roles]
    cases = [
        f"WHEN extra THEN '{MORE_COLUMNS}'",
        *(f"WHEN {role} IS NULL THEN 'no {name}'" for role, name in named),
        *(
            f"WHEN {role}_ IS NULL OR NOT isfinite({role}_) THEN CASE "
            f"WHEN regexp_full_match(trim({role}::VARCHAR), '{_COMMA}') "
            f"THEN 'the {name} {WITH_COMMA}' ELSE 'the {name} is not a number' END"
            for role, name in named
        ),
        *(f"WHEN {role}_ < 0 THEN 'the {name} is below 0'" for role, name in named),
    ]
    if highest_value:
        cases.append(f"WHEN value_ > {highest_value!r} THEN 'the value is above {highest_value:g}'")
    return f"CASE {' '.join(cases)} END"


def rejected_records(log: AuctionLog, connection: duckdb.DuckDBPyConnection) -> dict[int, str]:
    """Return the records that DuckDB has set aside in the last reading, with the reasons."""
    if not log.source.is_text:
        return {}
    rows = connection.execute(
        "SELECT line, bool_or(error_type = 'LINE SIZE OVER MAXIMUM') FROM reject_errors "
        "GROUP BY line ORDER BY line"
    ).fetchall()
    columns = " or ".join(f"the {ROLES[role]}" for role in log.places)
    not_text = f"{columns} is not text in UTF-8"
    return {line: TOO_LONG if too_long else not_text for line, too_long in rows}


def first_faults(
    log: AuctionLog, connection: duckdb.DuckDBPyConnection, rejected: Mapping[int, str]
) -> tuple[Fault, ...]:
    """Return the first bad lines. DuckDB numbers rows; their lines are looked up in the file."""
    roles = ", ".join(f"{role}::VARCHAR" for role in log.places)
    rows = connection.execute(
        f"SELECT number, fault, {roles} "
        f"FROM (SELECT row_number() OVER () AS number, * FROM ({log.checked_sql()})) "
        f"WHERE fault IS NOT NULL LIMIT {SHOWN_FAULTS}"
    ).fetchall()
    spans = {row[0]: range(row[0], row[0] + 1) for row in rows}
    others: dict[int, range] = {}
    if log.source.is_text:
        spans, others = line_numbers(log.source, spans, rejected)
    faults = [
        _fault(
            spans.get(row[0], row[0] + log.source.skipped),
            _reason(row[1], dict(zip(log.places, row[2:], strict=True))),
        )
        for row in rows
    ]
    faults += [_fault(span, rejected[record]) for record, span in others.items()]
    return tuple(sorted(faults)[:SHOWN_FAULTS])


def _fault(span: range | int, reason: str) -> Fault:
    """Return a fault; a number in place of the span says that the line is only about there."""
    if isinstance(span, int):
        return Fault(span, f"near this line, {reason}")
    if len(span) > 1:
        reason = f"quoted up to line {span[-1]}, and {reason}"
    return Fault(span.start, reason, len(span))


def _reason(fault: str, texts: Mapping[str, str | None]) -> str:
    culprit = next((role for role in texts if ROLES[role] in fault), "price")
    text = texts[culprit]
    return fault if text is None else f"{fault}: {text[:_SHOWN_TEXT]!r}"


def check_survey(log: AuctionLog, survey: Survey) -> None:
    """Raise LogError if a log has too many bad lines, too few auctions or impossible values."""
    path = log.source.path
    if survey.bad > log.max_bad:
        raise LogError(f"{_too_many_bad(log, survey)}\n{log.description}")
    if survey.auctions < 2:
        raise LogError(_too_few_good(log, survey))
    if survey.highest_value == 0:
        raise LogError(f"All values in {path} are 0. {log.description}")
    if log.highest_value is None and not LEAST <= survey.highest_value <= MOST:
        raise LogError(
            f"The highest value in {path} is {survey.highest_value:g}. It must be from {LEAST:g} "
            f"to {MOST:g}. Give the amounts in another unit. {log.description}"
        )


def _too_few_good(log: AuctionLog, survey: Survey) -> str:
    lines = "1 good line" if survey.auctions == 1 else "0 good lines"
    message = f"{log.source.path} has {lines}. A replay needs at least 2 auctions."
    if not survey.bad:
        return message
    which = "The bad lines" if survey.bad <= SHOWN_FAULTS else "The first bad lines"
    return f"{message}{_advice(log, survey)} {which}:\n{_shown(survey)}\n{log.description}"


def _too_many_bad(log: AuctionLog, survey: Survey) -> str:
    path, cause = log.source.path, survey.main_reason
    if cause == NO_PRICE:
        return (
            f"{survey.reasons[cause]:,} of the {survey.lines:,} lines of {path} have no highest "
            "competing bid. If it is missing where you won, this log cannot be replayed: only the "
            "auctions that you lost are left, and they give a wrong answer. A replay needs the "
            "highest bid of the others in all auctions. (Only if it is missing by pure chance, "
            "allow more bad lines with --max-bad, max_bad=... in Python.) The first of them:\n"
            f"{_shown(survey)}"
        )
    return (
        f"{path} has {survey.bad:,} bad lines, and at most {log.max_bad:,} are allowed (--max-bad, "
        f"max_bad=... in Python).{_advice(log, survey)} The first of them:\n{_shown(survey)}"
    )


def _shown(survey: Survey) -> str:
    return "\n".join(f"  line {fault.line}: {fault.reason}" for fault in survey.faults)


def _advice(log: AuctionLog, survey: Survey) -> str:
    """Return what to do about the most frequent fault, if that is known."""
    if survey.main_reason.endswith(WITH_COMMA):
        return " Write decimals with a point, 1.5 and not 1,5, and no thousands separators."
    if survey.main_reason == MORE_COLUMNS and log.source.separator == ",":
        return " Are there decimal commas? Write 1.5, not 1,5."
    return ""
