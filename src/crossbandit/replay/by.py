"""Replay the parts of a log separately and in parallel, for example one part per campaign."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crossbandit.backends import open_pool
from crossbandit.errors import LogError, LogWarning
from crossbandit.logs import AuctionLog
from crossbandit.logs.faults import check_bad_lines
from crossbandit.logs.survey import survey_log
from crossbandit.modules import load_modules
from crossbandit.progress import progress
from crossbandit.replay.play import replay

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from crossbandit.backends import Pool
    from crossbandit.logs.faults import Fault
    from crossbandit.replay.results import Replay


@dataclass(frozen=True, eq=False)
class ReplaySet:
    """Replays of the parts of a log.

    Attributes:
        column: The column by which the log was split.
        replays: The replays by the levels of the column, the largest first.
        failed: The levels that could not be replayed, with the reasons.
        bad: The number of bad lines of the whole log.
        faults: The first of them.
        notes: How the log was read.
    """

    column: str
    replays: dict[str, Replay]
    failed: dict[str, str]
    bad: int = 0
    faults: tuple[Fault, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)

    def table(self) -> pd.DataFrame:
        """Return one row per level and strategy.

        Returns:
            A frame with the columns of `Replay.table`, and before them the level and the number of
            its auctions.
        """
        import pandas as pd

        frames = []
        for level, result in self.replays.items():
            frame = result.table()
            frame.insert(0, "auctions", result.auctions)
            frame.insert(0, "level", level)
            frames.append(frame)
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


@dataclass(frozen=True)
class _Task:
    level: str
    log: AuctionLog
    options: dict[str, Any]
    modules: tuple[str, ...]


def replay_by(
    log: AuctionLog | object,
    *,
    by: str | int | None = None,
    jobs: int | None = None,
    backend: str = "local",
    address: str | None = None,
    modules: Sequence[str] = (),
    show_progress: bool | None = None,
    **options: Any,
) -> ReplaySet:
    """Replay each part of a log separately. Nothing is learned from one part for another.

    Args:
        log: An `AuctionLog` that was made with `by`, or anything that stands for one.
        by: The column that separates the parts, if `log` is not an `AuctionLog`.
        jobs: The number of workers; None for one per core.
        backend: Where the parts are replayed: "local", "ray" or "dask". Workers on other machines
            must see the temporary folder of this one.
        address: The address of a Ray or Dask cluster; None to start one on this machine.
        modules: Python files or modules that workers load first, because they register algorithms.
        show_progress: Whether to show a progress bar; None shows it on a terminal.
        options: As for `replay`: rules, strategies, seeds and others.

    Returns:
        The replays. A part that cannot be replayed, for example because it has only one auction,
        is among the failed ones.

    Raises:
        LogError: The log is missing or unreadable, has too many bad lines, or none of its parts
            can be replayed.
        BackendError: The backend is not installed, or does not answer.
        InvalidParameterError: An argument is invalid.

    Warns:
        LogWarning: The numbers of a part are probably wrong.

    >>> import pandas as pd
    >>> log = pd.DataFrame({"value": 3.0, "market_price": [1.0, 2.0] * 4, "ad": list("aaaabbbb")})
    >>> results = replay_by(log, by="ad", jobs=1, strategies=["truthful", "shading 0.5"])
    >>> [one.outcome("shading 0.50").mean_surplus for one in results.replays.values()]
    [3.0, 3.0]
    """
    log = log if isinstance(log, AuctionLog) else AuctionLog(log, by=by)
    parts = log.split()
    whole = copy.copy(log)
    object.__setattr__(whole, "limit", None)  # the limit is for each part
    survey = survey_log(whole)
    check_bad_lines(log, survey)
    tasks = [
        _Task(level, part, copy.deepcopy(options), tuple(modules)) for level, part in parts.items()
    ]
    replays: dict[str, Replay] = {}
    failed: dict[str, str] = {}
    with (
        open_pool(backend, jobs, address, owner="replay_by", warning=LogWarning) as pool,
        progress("parts", len(tasks), show=show_progress) as tell,
    ):
        for level, result in _results(pool, tasks):
            if isinstance(result, str):
                failed[level] = result
            else:
                replays[level] = result
            tell(len(replays) + len(failed))
    if not replays:
        level, reason = min(failed.items())
        raise LogError(f"No part of {log.source.name} can be replayed. {level!r}: {reason}")
    for level, result in sorted(replays.items()):
        for doubt in result.warnings:
            warnings.warn(f"{level}: {doubt}", LogWarning, stacklevel=2)
    in_order = sorted(replays, key=lambda level: (-replays[level].auctions, level))
    column = log.source.columns.shown(log.order["by"])
    notes = [log.description, *log.remarks]
    if options.get("limits"):
        notes.append(
            f"The limits hold for each {column} by itself: each may spend its own budget, not a "
            "share of one."
        )
    return ReplaySet(
        column=column,
        replays={level: replays[level] for level in in_order},
        failed=dict(sorted(failed.items())),
        bad=survey.bad,
        faults=survey.faults,
        notes=tuple(notes),
    )


def _results(pool: Pool, tasks: Sequence[_Task]) -> Iterator[tuple[str, Replay | str]]:
    """Yield the result of each part. If a worker dies, the missing parts run in this process."""
    done = set()
    try:
        for level, result in pool.map(_run, tasks):
            done.add(level)
            yield level, result
    except pool.died:
        yield from map(_run, [task for task in tasks if task.level not in done])


def _run(task: _Task) -> tuple[str, Replay | str]:
    """Replay a part in one thread; return the reason if that is impossible."""
    load_modules(list(task.modules))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LogWarning)  # the replay keeps these warnings
        try:
            options = {"jobs": 1, "show_progress": False, **task.options}
            return task.level, replay(task.log, **options)
        except LogError as error:
            return task.level, str(error)
