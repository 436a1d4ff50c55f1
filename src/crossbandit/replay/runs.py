"""Run the strategies: each bids in every auction of a log, in threads."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.replay.strategies import make_chunk
from crossbandit.report.statistics import half_width

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import numpy.typing as npt

    from crossbandit.logs.auctions import Auctions
    from crossbandit.replay.spending import Account, LimitedResult
    from crossbandit.replay.strategies import Chunk, Setting, Strategy
    from crossbandit.types import Floats, Integers


class Ledger:
    """What one run of a strategy has earned so far."""

    def __init__(self, points: Integers, class_sizes: Sequence[int] = ()) -> None:
        self.surplus = 0.0
        self.spend = 0.0
        self.wins = 0.0
        self.curve = np.empty(points.size)
        self._points = points
        self.auctions = 0
        self.by_class = [np.zeros((3, size)) for size in class_sizes]  # surplus, spend, wins

    def add(
        self,
        earned: Floats,
        paid: Floats,
        won: npt.NDArray[np.bool_] | Floats,
        classes: Integers | None = None,
    ) -> None:
        """Add consecutive auctions: surplus, payment, the share that was won, classes."""
        sums = self.surplus + np.cumsum(earned)
        for i, table in enumerate(self.by_class):
            if classes is None:
                break
            numbers = np.minimum(classes[:, i], table.shape[1] - 1)
            for row, amounts in enumerate((earned, paid, won)):
                table[row] += np.bincount(numbers, amounts, table.shape[1])
        now, places = points_within(self._points, self.auctions, paid.size)
        self.curve[now] = sums[places]
        self.auctions += paid.size
        self.surplus = float(sums[-1])
        self.spend += float(paid.sum())
        self.wins += float(won.sum())


def points_within(points: Integers, before: int, count: int) -> tuple[slice, Integers]:
    """Return which points lie in the next auctions, and their positions among these."""
    first, last = np.searchsorted(points, [before, before + count], side="right")
    return slice(first, last), points[first:last] - before - 1


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


@dataclass(frozen=True, eq=False)
class StrategyResult:
    """What a strategy earned.

    Attributes:
        strategy: The name of the strategy.
        kind: "learner", "own", "fitted", "fixed" or "oracle".
        note: A short remark.
        surplus: One entry per seed; a strategy that draws nothing has one entry.
        spend: The sum of the bids that won; one entry per seed.
        wins: The number of auctions won; one entry per seed.
        curve: (seeds, points). The surplus up to each of `Replay.points`.
        bids: What it would bid at the end at each of `Replay.values`; the mean over the seeds.
        by_class: For each of `Replay.classes`, an array (3, levels): surplus, spend and wins, the
            mean over the seeds.
        limited: What it did under limits; None without limits.
    """

    strategy: str
    kind: str
    note: str
    surplus: Floats
    spend: Floats
    wins: Floats
    curve: Floats
    bids: Floats
    by_class: tuple[Floats, ...] = ()
    limited: LimitedResult | None = None

    @property
    def mean_surplus(self) -> float:
        """The mean surplus over the seeds."""
        return float(self.surplus.mean())

    @property
    def half_width(self) -> float:
        """The half-width of the 95 % interval of the mean over the seeds; NaN for one entry."""
        return half_width(self.surplus)

    @property
    def mean_value(self) -> float:
        """The mean of the values won over the seeds."""
        return float((self.surplus + self.spend).mean())
