"""Read a censored log from files or a data frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import numpy as np

from crossbandit.errors import LogError
from crossbandit.evaluate.log import CensoredLog
from crossbandit.evaluate.stored import StoredLog
from crossbandit.logs.auctions import ClassTable, OutcomeCounts
from crossbandit.logs.faults import check_survey
from crossbandit.logs.survey import steps_back_in_time, survey_log
from crossbandit.validation import number

if TYPE_CHECKING:
    from crossbandit.logs import AuctionLog, Auctions, Fault
    from crossbandit.logs.survey import Survey


IN_MEMORY = 2_000_000  # the most auctions that are read into memory
_CHUNK = 1 << 16
_Log_co = TypeVar("_Log_co", covariant=True)
_Log = TypeVar("_Log", CensoredLog, StoredLog)


class ReadLog(NamedTuple, Generic[_Log_co]):
    """A censored log, and what was noticed while it was read.

    Attributes:
        log: The auctions.
        bad: How many lines were left out.
        faults: The first of them.
        notes: What is odd about the lines.
    """

    log: _Log_co
    bad: int
    faults: tuple[Fault, ...]
    notes: tuple[str, ...]


def read_censored(
    log: AuctionLog, *, reserve: float = 0.0, ties: str | None = None
) -> ReadLog[CensoredLog]:
    """Read a log as a bidder has it, all of it into memory.

    With a column of times, the auctions are sorted by it. Without a column that says who won,
    all prices must be known.

    Args:
        log: Files or a data frame, with a column of own bids. If some prices are not known, it also
            needs a column that says who won.
        reserve: The lowest bid that can win.
        ties: "win" if a bid beats an equal competing bid, otherwise "lose"; None for what the
            format of the log says, or else what equal bids of the log have done, or else "win".

    Returns:
        The auctions, and what was left out.

    Raises:
        LogError: The log cannot be read, has too many bad lines, or contradicts itself.
    """
    survey = _survey(log)
    return _read(log, survey, reserve, ties or log.ties)


def open_censored(
    log: AuctionLog,
    *,
    reserve: float = 0.0,
    ties: str | None = None,
    in_memory: int = IN_MEMORY,
) -> ReadLog[CensoredLog | StoredLog]:
    """Read a log into memory, or a large one into a temporary folder. Results are the same.

    Args:
        log: As for `read_censored`.
        reserve: The lowest bid that can win.
        ties: As for `read_censored`.
        in_memory: How many auctions are read into memory at most.

    Returns:
        The auctions, and what was left out.

    Raises:
        LogError: The log cannot be read, has too many bad lines, or contradicts itself.
    """
    survey = _survey(log)
    ties = ties or log.ties
    if survey.auctions <= in_memory:
        return _read(log, survey, reserve, ties)
    table = ClassTable([*log.class_places])
    chunks = (_judged(one, reserve, ties) for one in log.chunks(_CHUNK, table))
    return _with_notes(StoredLog(chunks, table, ties), log, survey, ties)


def _survey(log: AuctionLog) -> Survey:
    if "bid" not in log.places:
        raise LogError(
            f"Which column of {log.source.name} holds your own bids? An evaluation needs them: "
            "name it with --bid-column (columns={'bid': ...} in Python)."
        )
    survey = survey_log(log)
    check_survey(log, survey, all_prices=False)
    return survey


def _read(
    log: AuctionLog, survey: Survey, reserve: float, ties: str | None
) -> ReadLog[CensoredLog]:
    table = ClassTable([*log.class_places])
    auctions = _judged(log.read(table), reserve, ties)
    if auctions.times is not None:
        auctions = auctions.in_order(np.argsort(auctions.times, kind="stable"))
    classes = {
        name: np.array(table.labels(i))[auctions.classes[:, i]]
        for i, name in enumerate(log.class_places)
        if auctions.classes is not None
    }
    bids, won, reserves = map(np.asarray, (auctions.bids, auctions.won, auctions.reserves))
    counts = OutcomeCounts.of(bids, won, auctions.prices, reserves)
    found = CensoredLog(
        auctions.values,
        bids,
        won,
        auctions.prices,
        auctions.propensities,
        classes,
        reserve=reserves,
        ties=ties or counts.ties,
    )
    return _with_notes(found, log, survey, ties)


def _judged(auctions: Auctions, reserve: float, ties: str | None) -> Auctions:
    """Return the auctions with a reserve for each, and with who won if the log does not say it."""
    bids = np.asarray(auctions.bids, dtype=float)
    reserves = np.full(bids.size, number("read_censored", "reserve", reserve, at_least=0))
    if auctions.reserves is not None:
        reserves = np.maximum(reserves, auctions.reserves)
    won = auctions.won
    if won is None:
        beats = bids > auctions.prices if ties == "lose" else bids >= auctions.prices
        won = beats & (bids >= reserves) & (bids > 0)
    return auctions._replace(bids=bids, reserves=reserves, won=won)


def _with_notes(found: _Log, log: AuctionLog, survey: Survey, ties: str | None) -> ReadLog[_Log]:
    notes = [log.description, *log.remarks]
    if ties is None and found.ties == "lose":
        notes.append("All bids that equal the price have lost, so equal bids are taken to lose.")
    if "time" not in log.places and (back := steps_back_in_time(log)).steps:
        notes.append(
            f"Column {back.column} goes back in time {back.steps:,} times. Intervals take the "
            "order of the lines for that of time: name the column with --time-column."
        )
    return ReadLog(found, survey.bad, survey.faults, tuple(notes))
