"""Let every strategy bid in every auction of a log, in threads."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.replay.chunks import make_chunk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from crossbandit.logs.auctions import Auctions
    from crossbandit.replay.chunks import Chunk, Setting
    from crossbandit.replay.ledger import Account, Ledger
    from crossbandit.replay.strategies import Strategy
    from crossbandit.types import Floats


class StrategyRun(NamedTuple):
    """A strategy that bids, and what it has earned."""

    strategy: Strategy
    ledger: Ledger
    account: Account | None = None  # with limits


def play_log(
    runs: Sequence[StrategyRun],
    auctions: Iterator[Auctions],
    setting: Setting,
    jobs: int | None,
    tell: Callable[[int], None],
) -> None:
    """Let every strategy bid in every auction; a chunk is read once for all of them.

    Compiled code releases the interpreter, so strategies run in threads on all cores, and the next
    chunk is read at the same time.
    """
    chunks = _chunks(auctions, setting)
    with ThreadPoolExecutor(1) as reader, ThreadPoolExecutor(jobs or os.cpu_count()) as threads:
        chunk = next(chunks, None)
        while chunk is not None:
            following = reader.submit(next, chunks, None)
            list(threads.map(_settle, runs, repeat(chunk), repeat(setting)))
            tell(runs[0].ledger.auctions)
            chunk = following.result()


def _chunks(auctions: Iterator[Auctions], setting: Setting) -> Iterator[Chunk]:
    """Yield auctions in the forms that strategies need, with their periods."""
    start = 0
    for piece in auctions:
        chunk, stop = make_chunk(piece, setting.rules, setting.problem), start + piece.values.size
        if setting.limits is not None:
            sections = setting.limits.sections_at(start, stop)
            chunk = replace(chunk, sections=sections, parts=setting.limits.parts(start, stop))
        start = stop
        yield chunk


def _settle(run: StrategyRun, chunk: Chunk, setting: Setting) -> None:
    entries = run.strategy.entries(chunk)
    shares: list[Floats] = [
        np.where(setting.rules.wins(one.bids, chunk.prices), one.shares, 0.0) for one in entries
    ]
    paid = _total(one.bids * won for one, won in zip(entries, shares, strict=True))
    won = _total(shares)
    values = chunk.values * won
    run.ledger.add(values - paid, paid, won, chunk.classes)
    if run.account is not None and chunk.sections is not None:
        pseudo = run.strategy.pseudo
        multipliers = None
        if pseudo is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                multipliers = chunk.values / pseudo
        run.account.add(values, paid, won, chunk.sections, multipliers)


def _total(amounts: Iterable[Floats]) -> Floats:
    first, *others = amounts
    return sum(others, first)
