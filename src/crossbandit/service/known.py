"""The bidders that a node knows: their rows in the store, their policies and their states."""

from __future__ import annotations

import io
import time
from collections import deque
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from crossbandit.applications import FirstPriceBidder
from crossbandit.errors import IMPOSSIBLE_CONTENT, CrossbanditError
from crossbandit.service.causes import NotReadyError, StoreError, UnknownBidderError
from crossbandit.service.figures import (
    MINUTES,
    BidderFigures,
    LearnedFigures,
    Minute,
    Tally,
    learned_figures,
    with_deliveries,
)
from crossbandit.service.settings import settings_from

if TYPE_CHECKING:
    from collections.abc import Callable

    from crossbandit.service.live import LiveBidder
    from crossbandit.service.settings import BidderSettings
    from crossbandit.service.store import BidderRow, PolicyRow, Session

_PATIENCE = 0.2  # seconds between two reads of the store for an unknown name
_figures = msgspec.msgpack.Decoder(LearnedFigures)


class LearningFailure(NamedTuple):
    """Why a bidder could not be restored or learn, and when it is tried again."""

    problem: str
    rest: float
    until: float


class KnownBidder:
    """A bidder of the store: what this node knows of it, and its state if the node learns for it.

    It lives as long as the bidder is in the store. Its `live` state lasts as long as a lease.
    """

    def __init__(self, row: BidderRow) -> None:
        self._settings: BidderSettings | CrossbanditError
        self.live: LiveBidder | None = None
        self.failure: LearningFailure | None = None
        self.policy: PolicyRow | None = None
        self.decider: FirstPriceBidder | None = None
        self._shown: PolicyRow | None = None
        self.learned: LearnedFigures | None = None
        self.decisions = 0
        self.problem: str | None = None  # why its newest policy cannot be used
        self._seen: deque[tuple[int, float]] = deque(maxlen=600)  # last entries, with times
        self._minutes: dict[int, int] = {}  # decisions before the end of each minute
        self._use(row)

    def _use(self, row: BidderRow) -> None:
        self.row = row
        try:
            self._settings = settings_from(row.settings)
        except CrossbanditError as error:
            self._settings = error

    @property
    def settings(self) -> BidderSettings:
        """Its settings."""
        if isinstance(self._settings, CrossbanditError):
            raise NotReadyError(
                f"The bidder {self.row.name!r} cannot be used: {self._settings} Use the version of "
                "Crossbandit that has created it, or delete it."
            )
        return self._settings

    def update(self, row: BidderRow) -> None:
        """Use a newer row of the store."""
        if row.settings != self.row.settings:
            self._use(row)
        self.row = row

    @property
    def state(self) -> LiveBidder | None:
        """Its state; None if this node does not learn for it, or restores it."""
        live = self.live
        return live if live is not None and live.ready else None

    def loaded(self) -> FirstPriceBidder:
        """Return what decides; with limits, a copy for display, which must not decide."""
        policy = self.policy
        if self.settings.limited and policy is not None and self._shown is not policy:
            self.decider = FirstPriceBidder.load(io.BytesIO(policy.content))
            self._shown = policy
        if self.decider is None:
            raise NotReadyError(f"The bidder {self.row.name!r} is not loaded yet. Try again.")
        return self.decider

    def look(self, now: float) -> None:
        """Record the present length of the log and the number of decisions."""
        if not self._seen or self._seen[-1][0] < self.row.last:
            self._seen.append((self.row.last, now))
        self._minutes[int(now // 60) * 60] = self.decisions
        while len(self._minutes) > MINUTES:
            del self._minutes[next(iter(self._minutes))]

    def install(self, policy: PolicyRow, key: bytes | None) -> None:
        """Use a newer policy from now on."""
        learned = _figures.decode(policy.figures) if policy.figures else self.learned
        if not self.settings.limited:
            fresh = FirstPriceBidder.from_bytes(policy.content, key=key)
            if self.decider is None:
                self.decider = fresh
            else:
                self.decider.learner.follow(fresh.learner)
        self.learned, self.policy = learned, policy

    def figures(self, now: float) -> BidderFigures:
        """Return the figures."""
        learned = self.learned or LearnedFigures(0, self.row.created, Tally())
        live, failure = self.state, self.failure
        problems = (failure.problem if failure else None, self.problem)
        if live is not None:
            with live.lock:
                learned = learned_figures(live, now, learned)
                tally = learned.tally.copied()
        else:
            tally = learned.tally
        last, outcomes = max(self.row.last, learned.entry), tally.won + tally.lost
        waiting = [at for entry, at in list(self._seen) if entry > learned.entry]
        limits = learned.limits if self.row.paused else with_deliveries(learned.limits)
        behind = tuple(one.under_delivery for one in limits if one.under_delivery)
        return BidderFigures(
            name=self.row.name,
            paused=self.row.paused,
            limited=self._limited,
            holder=self.row.holder,
            decisions=self.decisions,
            won=tally.won,
            lost=tally.lost,
            refused=dict(tally.refused),
            win_rate=tally.won / outcomes if outcomes else None,
            value_won=tally.value,
            spend=tally.spend,
            surplus=tally.value - tally.spend,
            limits=limits,
            learned=learned.entry,
            last=last,
            lag=last - learned.entry,
            lag_seconds=max(now - waiting[0], 0.0) if waiting else 0.0,
            policy_age=0.0 if self.policy is None else max(now - self.policy.at, 0.0),
            diagnosis=learned.diagnosis,
            exploration=learned.exploration,
            alerts=learned.alerts + behind + tuple(one for one in problems if one),
            history=self._history(tally.minutes),
        )

    @property
    def _limited(self) -> bool:
        return not isinstance(self._settings, CrossbanditError) and self._settings.limited

    def _history(self, minutes: list[Minute]) -> tuple[Minute, ...]:
        """Return the minutes of the log. Without limits, add the decisions of this process."""
        if self._limited:
            return tuple(minutes)
        by_time = {one.time: one for one in minutes}
        before = 0
        for start, until in list(self._minutes.items()):
            if until > before:
                one = by_time.get(start, Minute(start))
                by_time[start] = msgspec.structs.replace(one, decisions=until - before)
            before = until
        return tuple(by_time[start] for start in sorted(by_time))


class Directory:
    """All bidders of a store, as a node knows them."""

    def __init__(self, session: Session, key: bytes | None, clock: Callable[[], float]) -> None:
        self._session, self.key, self.clock = session, key, clock
        self._lock = Lock()
        self._looked = 0.0
        self.bidders: dict[str, KnownBidder] = {}
        self.ready = False

    def all(self) -> list[KnownBidder]:
        """Return all bidders that are known now."""
        return list(self.bidders.values())

    def refresh(self) -> list[KnownBidder]:
        """Read the store, load new policies, and return all bidders."""
        with self._lock:
            found: dict[str, KnownBidder] = {}
            for row in self._session.bidders():
                bidder = self.bidders.get(row.name)
                if bidder is None or bidder.row.id != row.id:
                    bidder = KnownBidder(row)
                else:
                    bidder.update(row)
                bidder.look(self.clock())
                found[row.name] = bidder
            for bidder in found.values():
                if bidder.policy is None or bidder.policy.at != bidder.row.published:
                    self._load(bidder)
            for name, gone in self.bidders.items():
                if gone.live is not None and found.get(name) is not gone:
                    gone.live.lost = True
            self.bidders = found
            self.ready = True
            return self.all()

    def _load(self, bidder: KnownBidder) -> None:
        policy = self._session.policy(bidder.row.id)
        if policy is None:  # it was deleted just now
            return
        try:
            bidder.install(policy, self.key)
            bidder.problem = None
        except IMPOSSIBLE_CONTENT as error:
            bidder.problem = str(error)  # the policy that was in use stays in use

    def find(self, name: str, *, changing: bool = False) -> KnownBidder:
        """Return a bidder. If it is not known, another node may have created it: read the store.

        Whoever only uses a bidder has the store read a few times a second. Whoever changes one
        must not be told that it does not exist when it does.
        """
        found = self.bidders.get(name)
        if found is not None:
            return found
        now = time.monotonic()
        if changing or now - self._looked >= _PATIENCE:
            self._looked = now
            try:
                self.refresh()
            except StoreError:
                if not self.ready:
                    raise
        found = self.bidders.get(name)
        if found is None:
            raise UnknownBidderError(
                f"There is no bidder {name!r}. Create it first. Existing bidders: "
                f"{', '.join(sorted(self.bidders)[:20]) or 'none'}."
            )
        return found

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._session.close()
