"""Read a censored log from files or a data frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.errors import LogError
from crossbandit.evaluate.log import CensoredLog
from crossbandit.logs.classes import ClassTable
from crossbandit.logs.faults import check_survey
from crossbandit.logs.survey import survey_log
from crossbandit.logs.times import steps_back_in_time
from crossbandit.validation import number

if TYPE_CHECKING:
    from crossbandit.logs import AuctionLog, Fault


class ReadLog(NamedTuple):
    """A censored log, and what was noticed while it was read.

    Attributes:
        log: The auctions.
        bad: How many lines were left out.
        faults: The first of them.
        notes: What is odd about the lines.
    """

    log: CensoredLog
    bad: int
    faults: tuple[Fault, ...]
    notes: tuple[str, ...]


def read_censored(log: AuctionLog, *, reserve: float = 0.0, ties: str | None = None) -> ReadLog:
    """Read a log as a bidder has it, all of it into memory.

    With a column of times, the auctions are sorted by it. Without a column that says who won,
    all prices must be known.

    Args:
        log: Files or a data frame, with a column of own bids. For where the price is not known,
            it needs a column that says who won.
        reserve: The lowest bid that can win.
        ties: "win" if a bid beats an equal competing bid, otherwise "lose"; None for what the
            format of the log says, or else "win".

    Returns:
        The auctions, and what was left out.

    Raises:
        LogError: The log cannot be read, has too many bad lines, or contradicts itself.
    """
    if "bid" not in log.places:
        raise LogError(
            f"Which column of {log.source.name} holds your own bids? An evaluation needs them: "
            "name it with --bid-column (columns={'bid': ...} in Python)."
        )
    ties = ties or log.ties or "win"
    survey = survey_log(log)
    check_survey(log, survey, all_prices=False)
    table = ClassTable([*log.class_places])
    auctions = log.read(table)
    bids = np.asarray(auctions.bids, dtype=float)
    reserves = np.full(bids.size, number("read_censored", "reserve", reserve, at_least=0))
    if auctions.reserves is not None:
        reserves = np.maximum(reserves, auctions.reserves)
    won = auctions.won
    if won is None:
        beats = bids >= auctions.prices if ties == "win" else bids > auctions.prices
        won = beats & (bids >= reserves) & (bids > 0)
    order = np.arange(bids.size)
    notes = [log.description, *log.remarks]
    if auctions.times is not None:
        order = np.argsort(auctions.times, kind="stable")
    elif (back := steps_back_in_time(log)).steps:
        notes.append(
            f"Column {back.column} goes back in time {back.steps:,} times. Intervals take the "
            "order of the lines for that of time: name the column with --time-column."
        )
    classes = {
        name: np.array(table.labels(i))[auctions.classes[order, i]]
        for i, name in enumerate(log.class_places)
        if auctions.classes is not None
    }
    found = CensoredLog(
        auctions.values[order],
        bids[order],
        won[order],
        auctions.prices[order],
        None if auctions.propensities is None else auctions.propensities[order],
        classes,
        reserve=reserves[order],
        ties=ties,
    )
    return ReadLog(found, survey.bad, survey.faults, tuple(notes))
