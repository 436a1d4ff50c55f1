"""Survey a log: counts, ranges, bad lines and where they are, and signs that something is wrong."""

from __future__ import annotations

import csv
import math
import sys
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Literal, NamedTuple

from crossbandit.errors import LogError
from crossbandit.logs import files
from crossbandit.logs.log import AuctionLog, feedback_shown, shares_known

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    import duckdb


_NEARLY_ALL = 0.99
VALUE_BINS = 32  # bins of values in each range from an amount to twice the amount
_RATIOS = 1000  # number of different ratios of price to value, from 0 to 1
TIMED_LINES = 100_000  # how many lines are checked for the order of time
_SAMPLED = 1_000  # lines from which a column of times is recognised
_MOST_COLUMNS = 64  # how many columns are checked for times
_COMPARED = 100_000  # about how many lines are compared with each other
_SOME = 0.001  # if a smaller share of the lines is repeated, nothing is said
_TIMES = (  # usual names of a column of times, in the form that `plain` returns
    *("timestamp", "time", "ts", "datetime"),
    *("eventtime", "bidtime", "auctiontime", "bidtimestamp"),
)
_RESULTS = {
    "won": "won_",
    "won_known": "won_ AND price_ >= 0",
    "lost": "NOT won_",
    "lost_known": "NOT won_ AND price_ >= 0",
}
_DATE = r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?|(19|20)\d{12}(\d{3})?"
_FROM, _TO = 946_684_800, 4_102_444_800  # 2000 and 2100, in seconds
_OTHER_UNIT = 30.0  # if medians of values and amounts differ by this factor, so may their units
_UNITS = {
    100.0: "cents and whole units",
    1_000.0: "an amount for a thousand impressions and for one",
    1_000_000.0: "millionths (micros) and whole units",
}


class Survey(NamedTuple):
    """What one reading of the whole log finds."""

    auctions: int
    bad: int
    highest_value: float
    highest_price: float
    median_value: float  # of those above 0, approximately
    median_price: float  # of those above 0, approximately
    own_bids: int  # auctions with an own bid above 0
    zero_prices: int  # auctions in which the price is 0
    own_prices: int  # auctions in which the price equals the log's own bid
    reasons: dict[str, int]  # number of bad rows for each reason, the most frequent first
    ratios: dict[int, int]  # of prices above 0 to values, up to 1, in units of 1 / _RATIOS
    value_counts: dict[int, int]  # of those above 0, by floor(VALUE_BINS * log2(value))
    faults: tuple[Fault, ...]  # the first ten
    # If the log says who won: auctions that were won, those of them with a price, and lost ones.
    results: tuple[int, int, int, int] | None

    @property
    def main_ratio(self) -> tuple[float, int]:
        """The most frequent ratio of price to value, to three digits, and how often it occurs."""
        ratio, count = max(self.ratios.items(), key=itemgetter(1), default=(0, 0))
        return ratio / _RATIOS, count

    @property
    def without_price(self) -> int:
        """The number of auctions whose price is not known."""
        return 0 if self.results is None else self.auctions - sum(self.results[1::2])

    @property
    def feedback(self) -> str | None:
        """To whom the price was told, in nearly all auctions; None if the log does not say it."""
        if self.results is None:
            return None
        return feedback_shown(*self.results, nearly_all=_NEARLY_ALL)

    @property
    def lines(self) -> int:
        """The number of lines, good and bad."""
        return self.auctions + self.bad

    @property
    def main_reason(self) -> str:
        """The reason of more than half of the bad lines, or an empty text."""
        reason, count = next(iter(self.reasons.items()), ("", 0))
        return reason if 2 * count > self.bad else ""


def survey_log(log: AuctionLog) -> Survey:
    """Return the survey of a log; raise LogError if it has no lines at all."""
    counted = _counted(log)
    query = f"SELECT {', '.join(counted.values())} FROM ({log.checked_sql()})"
    with log.source.connect(log.timezone) as connection:
        found = dict(zip(counted, log.source.fetch(connection, query)[0], strict=True))
        rejected = log.source.rejected_by(connection)
        faults = first_faults(log, connection, rejected) if found["bad"] or rejected else ()
    found["bad"] += len(rejected) + sum(fault.lines - 1 for fault in faults)
    if not found["auctions"] and not found["bad"]:
        why = " ".join(log.remarks) or "It has only a header."
        raise LogError(f"{log.source.name} has no auctions. {why}")
    for name in ("reasons", "ratios", "value_counts"):
        counts = (found[name] or {}).items()
        found[name] = dict(sorted(counts, key=itemgetter(1), reverse=True))
    results = tuple(found.pop(name) for name in _RESULTS) if "won" in log.places else None
    return Survey(**found, faults=faults, results=results)


def _counted(log: AuctionLog) -> dict[str, str]:
    """Return SQL for what is counted in the rows of `checked_sql`, by names."""

    def good(what: str, condition: str = "true") -> str:
        return f"coalesce({what} FILTER (fault IS NULL AND {condition}), 0)"

    def histogram(what: str, condition: str) -> str:
        kept = f"FILTER (fault IS NULL AND {condition})"
        return f"histogram(TRY_CAST({what} AS INTEGER)) {kept}"

    has_bids, results = "bid" in log.places, _RESULTS if "won" in log.places else {}
    return {
        "auctions": good("count(*)"),
        "bad": "count(fault)",
        "highest_value": good("max(value_)"),
        "highest_price": good("max(price_)"),
        "median_value": good("approx_quantile(value_, 0.5)", "value_ > 0"),
        "median_price": good("approx_quantile(price_, 0.5)", "price_ > 0"),
        "own_bids": good("count(*)", "bid_ > 0") if has_bids else "0",
        "zero_prices": good("count(*)", "price_ = 0"),
        "own_prices": good("count(*)", "price_ > 0 AND bid_ = price_") if has_bids else "0",
        "reasons": "histogram(fault)",
        "ratios": histogram(  # of tenders, ratios are not those of the log
            f"round({_RATIOS} * price_ / value_)",
            "false" if log.lowest_wins else "price_ > 0 AND price_ <= value_",
        ),
        "value_counts": histogram(f"floor({VALUE_BINS} * log2(value_))", "value_ > 0"),
        **{name: good("count(*)", how) for name, how in results.items()},
    }


def survey_with_prices(log: AuctionLog) -> tuple[AuctionLog, Survey]:
    """Return a log and its survey. If only a few lines have no price, they count as bad lines."""
    survey = survey_log(log)
    if 0 < survey.without_price <= log.max_bad and survey.feedback == "always":
        log = log.with_prices()
        survey = survey_log(log)
    return log, survey


def doubt_about_units(value: float, amount: float, what: str) -> Iterator[str]:
    """Yield a warning if values and other amounts seem to be in different units."""
    if not value or not amount:
        return
    ratio = max(value / amount, amount / value)
    if ratio < _OTHER_UNIT:
        return
    factor = min(_UNITS, key=lambda unit: abs(math.log(unit / ratio)))
    usual = abs(math.log10(factor / ratio)) <= 0.5
    about = factor if usual else float(f"{ratio:.1g}")
    example = f", for example {_UNITS[factor]}" if usual else ""
    high, low = ("values", what)[:: 1 if value > amount else -1]
    yield (
        f"The {high} are about {about:,.0f} times the {low}: half of the values are below "
        f"{value:,.3g}, half of the {what} below {amount:,.3g}. Are they in "
        f"different units{example}? Then the numbers are wrong: give the units with --value-unit "
        "and --price-unit."
    )


class StepsBack(NamedTuple):
    """How often a column of times goes back."""

    column: str  # what messages call the column; empty if no column of times was found
    steps: int  # how often a time is before the last one


def steps_back_in_time(log: AuctionLog) -> StepsBack:
    """Return how often the time goes back in the first lines of a log.

    The column of times is the one that was given, or one with a usual name. Otherwise it is one
    that has dates, or seconds (or milliseconds, ...) between 2000 and 2100, in nearly every line.
    If there are several, the one that goes back least often is used.
    """
    columns = log.source.columns
    lines = min(TIMED_LINES, log.limit or TIMED_LINES)
    with log.source.connect(log.timezone) as connection:
        places = _named(log) or _like_times(log, connection, min(lines, _SAMPLED))
        if not places:
            return StepsBack("", 0)
        names = {f"t{place}": place for place in places}
        steps = ", ".join(f"count(*) FILTER ({name} < before_{name})" for name in names)
        # A line without a time is left out of the comparison.
        moments = ", ".join(f"{files.time_sql(name)} AS {name}" for name in names)
        before = ", ".join(
            f"last_value({name} IGNORE NULLS) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND 1 "
            f"PRECEDING) AS before_{name}"
            for name in names
        )
        query = (
            f"SELECT {steps} FROM (SELECT *, {before} FROM (SELECT {moments} FROM "
            f"(SELECT * FROM ({log.source.select(names)}) LIMIT {lines})))"
        )
        counts = connection.execute(query).fetchall()[0]
    count, place = min(zip(counts, places, strict=True))
    return StepsBack(columns.label(place), count)


def find_repeats(log: AuctionLog, survey: Survey) -> Iterator[str]:
    """Say if many lines have the entries of an earlier line, in all columns.

    If the log is long, lines are compared whose entries have certain hash values: equal lines have
    the same one, so that memory is bounded. Nothing is said of a log with an id, of a part of a
    log, of a sorted copy of a data frame, and of a log whose lines are mostly alike.
    """
    source = log.source.origin or log.source
    whole = source is log.source or (log.limit is None and source.files[0].layout.kind != "frame")
    if log.identified or log.source.only is not None or not whole:
        return
    apart = -(-survey.lines // _COMPARED)
    names = {f"t{place}": place for place in range(min(source.columns.width, _MOST_COLUMNS))}
    rows = f"SELECT * FROM ({source.select(names)})" + (f" LIMIT {log.limit}" if log.limit else "")
    query = (
        f"SELECT count(*) - count(DISTINCT entries) FROM (SELECT hash({', '.join(names)}) AS "
        f"entries FROM ({rows})) WHERE entries % {apart} = 0"
    )
    with source.connect(log.timezone) as connection:
        count = apart * int(source.fetch(connection, query)[0][0])
    if _SOME * survey.lines <= count <= survey.lines / 2 and count:
        yield (
            f"{'About ' if apart > 1 else ''}{count:,} of the {survey.lines:,} lines "
            f"{'has' if count == 1 else 'have'} the entries of an earlier line, in all columns. "
            "Auctions that were logged twice count twice: name the column that identifies an "
            "auction with --id-column (columns={'id': ...} in Python)."
        )


def _named(log: AuctionLog) -> list[int]:
    """Return the column of times that was given, or one with a usual name."""
    if "time" in log.places:
        return [log.places["time"]]
    names = files.plain(log.source.columns.names)
    return [names.index(name) for name in _TIMES if name in names][:1]


def _like_times(log: AuctionLog, connection: duckdb.DuckDBPyConnection, lines: int) -> list[int]:
    """Return the columns whose first entries look like times."""
    known = {*log.places.values(), *log.class_places.values()}
    width = min(log.source.columns.width, _MOST_COLUMNS)
    names = {f"t{place}": place for place in range(width) if place not in known}
    if not names:
        return []
    likely = []
    for name in names:
        text, number = f"trim({name}::VARCHAR)", f"TRY_CAST({name}::VARCHAR AS DOUBLE)"
        large = f"({number} >= {_FROM} AND {files.time_sql(name)} BETWEEN {_FROM} AND {_TO})"
        like = f"coalesce(regexp_full_match({text}, '{_DATE}') OR {large}, false)"
        likely.append(f"count(*) FILTER ({like}) >= 0.99 * count(*) AND count(*) > 1")
    rows = f"SELECT * FROM ({log.source.select(names)}) LIMIT {lines}"
    found = connection.execute(f"SELECT {', '.join(likely)} FROM ({rows})").fetchall()[0]
    return [place for place, is_time in zip(names.values(), found, strict=True) if is_time]


SHOWN_FAULTS = 10
_SHOWN_TEXT = 40


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
    origin = log.source.origin or log.source
    read = origin.files
    roles = ", ".join(f"{role}::VARCHAR" for role in log.places)
    rows: dict[tuple[int, int], str] = {}
    left = log.limit
    for number in range(len(log.source.files)):
        query = log.checked_sql(number, left)
        found = connection.execute(
            f"SELECT {files.FILE}, {files.ROW}, fault, {roles} FROM ({query}) "
            f"WHERE fault IS NOT NULL LIMIT {SHOWN_FAULTS}"
        ).fetchall()
        for file, row, fault, *texts in found:
            rows[file, row] = _reason(fault, dict(zip(log.places, texts, strict=True)))
        if left is not None:
            left -= connection.execute(f"SELECT count(*) FROM ({query})").fetchall()[0][0]
        if len(rows) >= SHOWN_FAULTS or left == 0:
            read = read if log.source.origin else read[: number + 1]
            break
    what = " or ".join(f"the {files.ROLES[role]}" for role in log.places)
    faults: list[Fault] = []
    for i, one in enumerate(read):
        bad = {row: why for (number, row), why in rows.items() if number == i}
        aside = {
            line: why if why == files.TOO_LONG else f"{what} is {why}"
            for (path, line), why in rejected.items()
            if path == str(one.path)
        }
        name = str(one.path) if len(origin.files) > 1 else ""
        faults += sorted(_located(one, bad, aside, name))
    return tuple(faults[:SHOWN_FAULTS])


def _located(
    file: files.LogFile, rows: Mapping[int, str], rejected: Mapping[int, str], name: str
) -> Iterator[Fault]:
    """Yield faults with their lines; reasons are given by the numbers of rows and records."""
    spans = {row: range(row, row + 1) for row in rows}
    others: dict[int, range] = {}
    if file.layout.is_text and (rows or rejected):
        spans, others = line_numbers(file, rows, rejected)
    found = [(spans[row], reason) for row, reason in rows.items() if row in spans]
    for span, reason in [*found, *((others[one], rejected[one]) for one in others)]:
        quoted = f"quoted up to line {span[-1]}, and " if len(span) > 1 else ""
        yield Fault(span.start, f"{quoted}{reason}", len(span), name)
    for row in set(rows) - set(spans):
        yield Fault(row + file.layout.skipped, f"near this line, {rows[row]}", file=name)


def _reason(fault: str, texts: Mapping[str, str | None]) -> str:
    text = next((texts[role] for role in texts if files.ROLES[role].what in fault), None)
    if fault == files.MORE_COLUMNS:
        text = texts.get("price")
    return fault if text is None else f"{fault}: {text[:_SHOWN_TEXT]!r}"


def line_numbers(
    file: files.LogFile, rows: Collection[int], rejected: Collection[int]
) -> tuple[dict[int, range], dict[int, range]]:
    """Return the lines of rows and of rejected records, by their numbers; all count from 1.

    A record is one line, or several if a quoted field contains line ends. Rows are the records that
    are not skipped, blank or rejected. Where DuckDB reads unusual quotation marks differently, the
    last rows may be missing from the answer.
    """
    layout, row = file.layout, 0
    of_rows: dict[int, range] = {}
    of_rejected: dict[int, range] = {}
    longest = csv.field_size_limit(sys.maxsize)
    try:
        with file.open_text() as text:
            first = layout.skipped + 1
            lines = islice(text, layout.skipped, None)
            quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if layout.is_quoted else csv.QUOTE_NONE
            records = csv.reader(lines, delimiter=layout.separator, quoting=quoting)
            for number, record in enumerate(records, first):
                span = range(first, layout.skipped + records.line_num + 1)
                first = span.stop
                if number in rejected:
                    of_rejected[number] = span
                elif record:
                    row += 1
                    if row in rows:
                        of_rows[row] = span
                if len(of_rows) == len(rows) and len(of_rejected) == len(rejected):
                    break
    finally:
        csv.field_size_limit(longest)
    return of_rows, of_rejected


def check_survey(log: AuctionLog, survey: Survey, *, all_prices: bool = True) -> None:
    """Raise LogError if a log has too many bad lines, too few auctions or impossible values."""
    path = log.source.name
    if survey.without_price and all_prices:
        raise LogError(f"{_censored(log, survey)}\n{log.description}")
    check_bad_lines(log, survey, all_prices=all_prices)
    if survey.auctions < 2:
        raise LogError(_too_few_good(log, survey))
    if survey.highest_value == 0:
        raise LogError(f"All values in {path} are 0. {log.description}")
    if log.highest_value is None and not files.LEAST <= survey.highest_value <= files.MOST:
        raise LogError(
            f"The highest value in {path} is {survey.highest_value:g}. It must be from "
            f"{files.LEAST:g} to {files.MOST:g}. Give the amounts in another unit. "
            f"{log.description}"
        )


def check_bad_lines(log: AuctionLog, survey: Survey, *, all_prices: bool = True) -> None:
    """Raise LogError if a log has more bad lines than are allowed."""
    if survey.bad <= log.max_bad:
        return
    if survey.main_reason == files.NO_PRICE:
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
    known = ""
    if survey.results is not None:
        known = f" They are known in {shares_known(*survey.results)}."
    return (
        f"{log.source.name} cannot be replayed: {survey.without_price:,} of {survey.auctions:,} "
        f"auctions have no highest competing bid.{known} A replay needs the highest competing bids "
        "of all auctions, because it asks what any other bid would have done. `crossbandit "
        "evaluate` works with such a log: it says what is known exactly, bounds the rest, and "
        "estimates it."
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
        f"{survey.reasons[files.NO_PRICE]:,} of the {survey.lines:,} lines of {log.source.name} "
        "have no highest competing bid. "
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
    if survey.main_reason.endswith(files.WITH_COMMA):
        return " Write decimals with a point, 1.5 and not 1,5, and no thousands separators."
    if survey.main_reason == files.MORE_COLUMNS and log.source.files[0].layout.separator == ",":
        return " Are there decimal commas? Write 1.5, not 1,5."
    if survey.main_reason.startswith(files.ABOVE):
        return " Are the values in another unit than the bound? Give it with --value-unit."
    return ""
