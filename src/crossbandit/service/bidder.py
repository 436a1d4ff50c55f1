"""A bidder of the service: what a node knows of it, and its state, which is a function of its log.

Learning, deciding and saving are in one place, because reading the log again must repeat all three
exactly: the same log gives the same state, bit for bit.
"""

from __future__ import annotations

import io
import time
from collections import deque
from functools import lru_cache, partial
from hashlib import blake2b
from math import isfinite
from threading import Lock, RLock
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from crossbandit.algorithms.learners.law_learner import KNOWN
from crossbandit.algorithms.learners.tokens import Token
from crossbandit.applications import Bid, FirstPriceBidder
from crossbandit.applications.action import required_action
from crossbandit.applications.bidding.batches import as_bids
from crossbandit.applications.bidding.campaigns import CAMPAIGN
from crossbandit.errors import (
    IMPOSSIBLE_CONTENT,
    CheckpointError,
    CrossbanditError,
    DamagedTokenError,
    DecisionError,
    LearnedBeforeError,
    MissingOutcomesError,
)
from crossbandit.service.causes import (
    NotReadyError,
    ReportedOtherwiseError,
    StoreError,
    UnknownBidderError,
    cause_of,
)
from crossbandit.service.contents import (
    Lost,
    as_logged,
    change_of,
    contradicts,
    decision_of,
    encode,
    rows_of,
)
from crossbandit.service.figures import (
    MINUTES,
    BidderFigures,
    CampaignFigures,
    LearnedFigures,
    LimitFigures,
    Minute,
    Tally,
    Totals,
    learned_figures,
    under_delivery,
)
from crossbandit.service.settings import limits_of, settings_from
from crossbandit.service.store import CHANGE, Checkpoint, DecisionRow, Entries, PolicyRow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from crossbandit.applications.bidding.spending import Spending
    from crossbandit.core.types import Booleans
    from crossbandit.service.contents import Request, Row
    from crossbandit.service.settings import BidderSettings
    from crossbandit.service.store import BidderRow, Session


_PATIENCE = 0.2  # seconds between two reads of the store for an unknown name
_settings_of = lru_cache(10_000)(settings_from)
_figures = msgspec.msgpack.Decoder(LearnedFigures)
_VERSION = 1
# Outcomes in one call of compiled code, which keeps other threads waiting. The last bits of what is
# learned depend on this number: if you change it, increase `_VERSION`.
_AT_ONCE = 500
PIECE = 5_000  # entries that are read at once
BLOCK = 256  # the most decisions that are answered before they are in the log ...
SHARE = 0.02  # ... and the most that they may cost, as a share of what the limits leave


class _State(msgspec.Struct):
    """A checkpoint: a saved bidder, and what `save` leaves out because copies must not have it."""

    version: int
    bidder: bytes
    id: str
    own: list[str]
    total: int
    tally: Tally
    granted: int | dict[str, int] = 0  # by campaign; a number without campaigns

    def load(self, **changes: Any) -> FirstPriceBidder:
        """Return the bidder with its old id, so that the decisions in the log are its own."""
        bidder = FirstPriceBidder.load(io.BytesIO(self.bidder), **changes)
        learner = bidder.learner
        learner.id, learner.own, learner.total = self.id, set(self.own), self.total
        return bidder


_state = msgspec.msgpack.Decoder(_State)


class _Block(NamedTuple):
    """Decisions of a campaign that may be answered before they are in the log."""

    after: int  # the decision that must be in the log before
    until: int  # the number of the first decision after them
    period: bytes


_NO_BLOCK = _Block(0, 0, b"")


class _Blocks(NamedTuple):
    """The two latest blocks of a campaign: one that was asked for, and one that can be used."""

    asked: _Block = _NO_BLOCK
    usable: _Block = _NO_BLOCK
    ask: int = 0  # from which decision on another one is asked for


_NO_BLOCKS = _Blocks()


class LiveBidder:
    """A bidder for which this process learns: its lease, and its state at an entry of the log.

    It uses the times in the log and no clock. So two live bidders that have read the same entries
    have the same bytes, however the entries were divided into reads. A new lease begins without a
    state, until `restore` has read it.
    """

    bidder: FirstPriceBidder

    def __init__(
        self,
        bidder: FirstPriceBidder | None = None,
        *,
        number: int = 0,
        fence: int = 0,
        key: bytes | None = None,
    ) -> None:
        self.number, self.fence, self._key = number, fence, key
        self.lost = False  # whether the lease, or a decision that was made under it, is lost
        self.until = 0.0  # until when the lease holds, by `time.monotonic`
        self.ready = bidder is not None  # whether it has a state
        self.entry = self.decisions = 0
        self.granted: dict[str, int] = {}  # which decisions may be answered early, by campaign
        self.unlogged: list[DecisionRow] = []
        self.logged = 0  # the number of decisions that are in the log
        self._ends = False  # whether no more decisions are answered early
        self.tally = Tally()
        self.lock = RLock()
        self._clock = SimpleNamespace(time=0.0)  # the time of the log
        # What the thread that learns has published and kept: entries and decisions, and times.
        self.published: tuple[int, int] | None = None
        self.kept = 0
        self.publish_at = self.kept_at = self.views_at = 0.0
        self.views: LearnedFigures | None = None
        if bidder is not None:
            self._use(bidder)

    def _use(self, bidder: FirstPriceBidder) -> None:
        self.bidder = bidder
        self._blocks: dict[str, _Blocks] = {}
        self._amounts = None if bidder.lays else frozenset(bidder.bids.tolist())
        learner = bidder.learner
        # It does not refer to this bidder, so that both are freed at once.
        learner.clock = partial(getattr, self._clock, "time")
        learner.seen.clock = learner.watch.clock = learner.clock
        learner.watch.warns = False  # the figures show it
        bidder.token_key = self._key

    @property
    def limited(self) -> bool:
        """Whether only this process may decide: see `BidderSettings.limited`."""
        return self.bidder.accounts.only is not None or self.bidder.accounts.place is not None

    @property
    def news(self) -> bool:
        """Whether it has learned or decided something that its policy does not show."""
        return self.ready and self.published != (self.entry, self.decisions)

    # --- learning ------------------------------------------------------------------------------

    def learn(self, entries: Entries) -> None:
        """Learn the next entries of the log."""
        with self.lock:
            if entries.first != self.entry + 1:
                raise CheckpointError(
                    f"The next entry of the log is {entries.first}. Entry {self.entry + 1} is "
                    "missing. Restore the store from a backup that has it."
                )
            self._clock.time = entries.at
            if entries.kind == CHANGE:
                try:
                    self._use(self._state().load(**limits_of(change_of(entries.content))))
                except IMPOSSIBLE_CONTENT as error:  # they do not fit: keep the old ones
                    self.tally.refuse(cause_of(error))
            else:
                rows = rows_of(entries.content)
                for start in range(0, len(rows), _AT_ONCE):
                    self._learn(rows[start : start + _AT_ONCE])
            self.entry = entries.last

    def _learn(self, rows: Sequence[Row]) -> None:
        if any(row.correction for row in rows) or not self._learn_all(rows):
            for row in rows:
                try:
                    self._learn_one(row)
                except LearnedBeforeError as error:
                    token = Token.decode(row.token, self._key)
                    code = self.bidder.learner.seen.code(token.decider, token.counter)
                    other = contradicts(self.bidder, self._key, row, None, code)
                    self.tally.refuse(ReportedOtherwiseError.code if other else cause_of(error))
                except IMPOSSIBLE_CONTENT as error:
                    self.tally.refuse(cause_of(error))

    def _learn_all(self, rows: Sequence[Row]) -> bool:
        """Learn all outcomes in one call. If one is wrong, learn nothing and return False."""
        bidder = self.bidder
        try:
            placed = [self._bid(row) for row in rows]
            bids = as_bids(placed, bidder.learner)
            won = np.array([row.won for row in rows], dtype=bool)
            prices = np.array([row.highest_competing_bid for row in rows], dtype=float)
            reserves = np.array([row.reserve for row in rows], dtype=float)  # None becomes NaN
            bidder.settle_many(bids, won=won, highest_competing_bid=prices, reserve=reserves)
        except MissingOutcomesError as error:
            self.tally.refuse(cause_of(error), len(rows))
            return True
        except IMPOSSIBLE_CONTENT:
            return False
        self._count(placed, won)
        return True

    def _bid(self, row: Row) -> Bid:
        """Return the bid of an outcome; raise if this bidder cannot have made it.

        Without a key, anyone can make a token. Impossible contents must not reach the state,
        because it could not be saved then. A store that was restored from a backup lacks the
        decisions under limits that were made after the backup.
        """
        bidder, learner = self.bidder, self.bidder.learner
        bid = required_action(row.token, Bid, learner)
        low, high = bidder.possible_values
        numbers = type(bid.value) is float and type(bid.amount) is float
        known = bid.amount in self._amounts if self._amounts else 0 < (bid.amount or 0) <= bid.value
        if not numbers or not low <= bid.value <= high or not known:
            raise DamagedTokenError("A token must hold a value and a bid of this bidder. Drop it.")
        for one in bid.classes:
            known = type(one) in (str, int, type(None)) or (
                isinstance(one, float) and isfinite(one)
            )
            if not known:
                raise DamagedTokenError("A token must hold this bidder's features. Drop it.")
        made: Any = bid.decision
        if made.guard is not None and made.guard.worth < 0:
            raise DamagedTokenError("A token must hold a possible decision. Drop it.")
        if made.decider in learner.own and made.round >= learner.round:
            raise DecisionError(
                f"Decision {made.round} is not in the log: it was made after the backup from which "
                "the store was restored. Drop it."
            )
        return bid

    def _learn_one(self, row: Row) -> None:
        bidder = self.bidder
        bid = self._bid(row)
        before = bidder.learner.code(bid.decision) if row.correction else 0
        bidder.settle(
            bid,
            won=row.won,
            highest_competing_bid=row.highest_competing_bid,
            reserve=row.reserve,
            correction=row.correction,
        )
        amount = bid.amount or 0.0
        if not row.correction:
            self._count([bid], np.array([row.won]))
        elif before >= KNOWN:
            was = bidder.learner.reached(before, amount)
            given = (bid.value, amount, bidder.accounts.name_of(bid))
            self.tally.correct(self._clock.time, *given, before=was, won=row.won)

    def _count(self, bids: Sequence[Bid], won: Booleans) -> None:
        self.tally.learn(self._clock.time, bids, won, map(self.bidder.accounts.name_of, bids))

    # --- deciding under limits -----------------------------------------------------------------

    def campaign(self, classes: Mapping[str, Any]) -> str:
        """Return the name of the campaign of an auction; empty without campaigns."""
        name = "" if self.bidder.accounts.place is None else classes.get(CAMPAIGN)
        return name if isinstance(name, str) else ""

    def decide(self, request: Request) -> tuple[Bid, DecisionRow]:
        """Decide under limits."""
        request, content = as_logged(request)  # before anything is reserved
        with self.lock:
            self._clock.time = request.made
            bid = self.bidder.bid(
                request.value, reserve=request.reserve, at=request.at, **request.classes
            )
            row = self._logged(request, content)
            if request.ahead:  # so many decisions may be answered before they are in the log
                name, until = self.campaign(request.classes), self.decisions + request.ahead
                self.granted[name] = max(self.granted.get(name, 0), until)
                block = _Block(self.decisions - 1, self.granted[name], self._period(name))
                # The next block is ready in time.
                ask, usable = self.decisions + request.ahead // 2, self._usable(name)
                self._blocks[name] = _Blocks(block, usable, ask)
            return bid, row

    def decide_many(self, requests: Sequence[Request]) -> tuple[list[Bid], list[DecisionRow]]:
        """Decide in auctions of one time, as separate calls of `decide` would.

        Those of a campaign are decided together, and logged in the order in which they are decided.
        """
        if not requests:
            return [], []
        rows = [as_logged(one, f"[{i}]") for i, one in enumerate(requests)]
        groups: dict[str, list[int]] = {}
        for i, (one, _) in enumerate(rows):
            groups.setdefault(self.campaign(one.classes), []).append(i)
        order = [i for group in groups.values() for i in group]
        asked = [rows[i][0] for i in order]
        first = asked[0]
        columns = {name: [one.classes[name] for one in asked] for name in first.classes}
        reserves: Any = [one.reserve for one in asked]
        with self.lock:
            self._clock.time = first.made
            bids = self.bidder.bid_many(
                [one.value for one in asked], reserve=reserves, at=first.at, **columns
            )
            placed = dict(zip(order, bids, strict=True))
            logged = [self._logged(*rows[i]) for i in order]
        return [placed[i] for i in range(len(rows))], logged

    def _logged(self, request: Request, content: bytes) -> DecisionRow:
        """Count a decision, and return its row."""
        row = DecisionRow(self.decisions, self.entry, content)
        self.decisions += 1
        self.tally.decide(request.made)
        return row

    def repeat(self, row: DecisionRow) -> Bid | None:
        """Make a decision that is in the log again, and return its bid; None if some were lost."""
        if row.number != self.decisions or row.after != self.entry:
            raise CheckpointError(
                f"The next decision in the log is {row.number}, made after entry {row.after}. "
                f"Decision {self.decisions} after entry {self.entry} is missing. Restore the store "
                "from a backup that has it."
            )
        found = decision_of(row.content)
        if isinstance(found, Lost):
            self._lose(found)
            return None
        return self.decide(found)[0]

    # --- decisions that are answered before they are in the log ----------------------------------

    def ahead(self, campaign: str) -> int:
        """Return how many decisions may be answered after the next one, before they are logged.

        Of these, those of the campaign may. When the next decision is in the log, so is this
        number. After a crash, the campaign has money reserved for as many bids of the highest
        amount. So a crash may only lead to less being spent.
        """
        if self._ends or self.decisions < self._blocks.get(campaign, _NO_BLOCKS).ask:
            return 0
        spending = self._spending(campaign)
        return BLOCK if spending is None else spending.spare(SHARE, BLOCK)

    def covered(self, campaign: str) -> bool:
        """Return whether the last decision, of a campaign, may be answered before it is logged."""
        usable = self._usable(campaign)
        return self.decisions <= usable.until and self._period(campaign) == usable.period

    def _usable(self, campaign: str) -> _Block:
        """Return the block that can be used: the latest one that is in the log."""
        blocks = self._blocks.get(campaign, _NO_BLOCKS)
        if blocks.usable is not blocks.asked and blocks.asked.after < self.logged:
            blocks = self._blocks[campaign] = blocks._replace(usable=blocks.asked)
        return blocks.usable

    def _spending(self, campaign: str) -> Spending | None:
        return self.bidder.accounts.sets.get(campaign or None)

    def _period(self, campaign: str) -> bytes:
        spending = self._spending(campaign)
        return b"" if spending is None else spending.period

    def recover(self, now: float) -> None:
        """Reserve money for decisions that may have been answered and are not in the log."""
        self._note(Lost(max(self._until() - self.decisions, 0), now))

    def finish(self, now: float) -> None:
        """Note that all decisions that were answered are in the log, and answer no more before."""
        with self.lock:
            self._note(Lost(0, now))
            self._ends = True

    def _until(self) -> int:
        """Return the number of the first decision that may not be answered early."""
        return max(self.granted.values(), default=0)

    def _note(self, lost: Lost) -> None:
        if self._until() > self.decisions:
            self.unlogged.append(DecisionRow(self.decisions, self.entry, encode(lost)))
            self._lose(lost)

    def _lose(self, lost: Lost) -> None:
        """Reserve money for bids that may have been made, and use none of their numbers again."""
        learner = self.bidder.learner
        if lost.count:
            for campaign, until in self.granted.items():
                spending, count = self._spending(campaign), until - self.decisions
                if spending is not None and count > 0:
                    spending.reserve_unknown(learner.id, learner.round, count, lost.made)
            learner.round += lost.count
            # The watch over missing outcomes needs all decisions of a decider.
            name = f"{learner.id} {self.decisions}".encode()
            learner.id = blake2b(name, digest_size=len(learner.id) // 2).hexdigest()
            learner.own = {*learner.own, learner.id}
        self.decisions += 1
        # What was allowed ends here: after another crash, nothing is reserved for it any more.
        self.granted, self._blocks = {}, {}

    # --- keeping -------------------------------------------------------------------------------

    def checkpoint(self) -> Checkpoint:
        """Return the whole state."""
        with self.lock:
            return Checkpoint(self.entry, self.decisions, encode(self._state()))

    def _state(self) -> _State:
        learner, own = self.bidder.learner, sorted(self.bidder.learner.own)
        content = _saved(self.bidder)
        ahead = {name: until for name, until in self.granted.items() if until > self.decisions}
        return _State(_VERSION, content, learner.id, own, learner.total, self.tally, ahead)

    def policy(self, at: float, figures: bytes = b"") -> PolicyRow:
        """Return the policy for all nodes. With limits, other nodes only display it."""
        with self.lock:
            if self.limited:
                return PolicyRow(self.entry, at, _saved(self.bidder), figures)
            entry, snapshot = self.entry, self.bidder.snapshot()
        return PolicyRow(entry, at, snapshot.to_bytes(), figures)

    def load(self, checkpoint: Checkpoint) -> LiveBidder:
        """Take the state of a checkpoint, and return the bidder."""
        try:
            state = _state.decode(checkpoint.content)
        except msgspec.MsgspecError as error:
            raise CheckpointError(f"A checkpoint in the store is damaged: {error}.") from None
        if state.version != _VERSION:
            raise CheckpointError(
                f"A checkpoint in the store has format {state.version}, and this version of "
                f"Crossbandit reads format {_VERSION}. Start the version that wrote it."
            )
        self._use(state.load())
        self.entry, self.decisions = checkpoint.entry, checkpoint.decisions
        granted = state.granted
        self.granted = granted if isinstance(granted, dict) else {"": granted}
        self.tally, self.unlogged = state.tally, []
        return self

    def restore(self, session: Session, now: float | None = None) -> LiveBidder:
        """Read the newest usable checkpoint, and the later entries and decisions of the log.

        With a time, money is reserved for decisions that may have been lost before.
        """
        self._key = session.key() if self._key is None else self._key
        problem = CheckpointError("The bidder has no checkpoint: it was deleted.")
        for checkpoint in session.checkpoints(self.number):
            try:
                self.load(checkpoint)
                self._read_log(session, now)
            except CheckpointError as error:
                problem = error
            else:
                self.ready = True
                return self
        raise problem

    def _read_log(self, session: Session, now: float | None) -> None:
        self.kept = self.entry + self.decisions
        decisions = deque(session.decisions(self.number, self.decisions))
        entries: deque[Entries] = deque()
        while True:
            while decisions and decisions[0].after == self.entry:
                self.repeat(decisions.popleft())
            if not decisions and now is not None:
                self.recover(now)  # outcomes of what was lost may follow in the log
            entries = entries or deque(session.entries(self.number, self.entry, PIECE))
            if not entries:
                break
            self.learn(entries.popleft())
        if decisions:
            raise CheckpointError(
                f"A checkpoint of the store lacks decision {decisions[0].number}, which was made "
                f"after entry {decisions[0].after}. Restore the store from a backup."
            )


def _saved(bidder: FirstPriceBidder) -> bytes:
    """Return what a bidder has learned and spent, as bytes."""
    buffer = io.BytesIO()
    bidder.save(buffer)
    return buffer.getvalue()


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
        self.row = row
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

    @property
    def settings(self) -> BidderSettings:
        """Its settings."""
        try:
            return _settings_of(self.row.settings)
        except CrossbanditError as error:
            raise NotReadyError(
                f"The bidder {self.row.name!r} cannot be used: {error} Use the version of "
                "Crossbandit that has created it, or delete it."
            ) from None

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
        """Use a newer policy from now on. If it cannot be used, the present one stays in use."""
        try:
            learned = _figures.decode(policy.figures) if policy.figures else self.learned
            if not self.settings.limited:
                fresh = FirstPriceBidder.from_bytes(policy.content, key=key)
                if self.decider is None:
                    self.decider = fresh
                else:
                    self.decider.learner.follow(fresh.learner)
            self.learned, self.policy, self.problem = learned, policy, None
        except IMPOSSIBLE_CONTENT as error:
            self.problem = str(error)

    def figures(self, now: float) -> BidderFigures:
        """Return the figures."""
        row, learned = self.row, self.learned or LearnedFigures(0, self.row.created, Tally())
        live, failure = self.state, self.failure
        problems = (failure.problem if failure else None, self.problem)
        if live is not None:
            with live.lock:
                learned = learned_figures(live, now, learned)
                tally = learned.tally.copied()
        else:
            tally = learned.tally
        last, outcomes = max(row.last, learned.entry), tally.won + tally.lost
        waiting = [at for entry, at in list(self._seen) if entry > learned.entry]
        limits, settings = learned.limits, self._readable
        campaigns = (settings and settings.campaigns) or {}
        apart: dict[str, list[LimitFigures]] = {}
        for one in limits:
            apart.setdefault(one.campaign, []).append(one)
        rest = {name for name, one in campaigns.items() if one.paused}
        behind = [
            ""
            if row.paused or one.campaign in rest
            else under_delivery(one, apart[one.campaign], tally.delay)
            for one in limits
        ]
        return BidderFigures(
            name=row.name,
            paused=row.paused,
            limited=settings is not None and settings.limited,
            holder=row.holder,
            decisions=self.decisions,
            won=tally.won,
            lost=tally.lost,
            refused=dict(tally.refused),
            win_rate=tally.won / outcomes if outcomes else None,
            value_won=tally.value,
            spend=tally.spend,
            surplus=tally.value - tally.spend,
            limits=tuple(
                msgspec.structs.replace(one, under_delivery=words)
                for one, words in zip(limits, behind, strict=True)
            ),
            learned=learned.entry,
            last=last,
            lag=last - learned.entry,
            lag_seconds=max(now - waiting[0], 0.0) if waiting else 0.0,
            policy_age=0.0 if self.policy is None else max(now - self.policy.at, 0.0),
            diagnosis=learned.diagnosis,
            exploration=learned.exploration,
            shading=learned.shading,
            delay=tally.delay,
            alerts=learned.alerts + tuple(one for one in (*behind, *problems) if one),
            history=self._history(tally.minutes),
            campaigns={
                name: CampaignFigures(one.paused, did.won, did.lost, did.value, did.spend)
                for name, one in campaigns.items()
                for did in [tally.campaigns.get(name) or Totals()]
            },
        )

    @property
    def _readable(self) -> BidderSettings | None:
        """Its settings; None if they are those of another version."""
        try:
            return self.settings
        except NotReadyError:
            return None

    def _history(self, minutes: list[Minute]) -> tuple[Minute, ...]:
        """Return the minutes of the log. Without limits, add the decisions of this process."""
        if self._readable is not None and self._readable.limited:
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
                    bidder.row = row
                bidder.look(self.clock())
                found[row.name] = bidder
            for bidder in found.values():
                if bidder.policy is None or bidder.policy.at != bidder.row.published:
                    policy = self._session.policy(bidder.row.id)
                    if policy is not None:  # otherwise it was deleted just now
                        bidder.install(policy, self.key)
            for name, gone in self.bidders.items():
                if gone.live is not None and found.get(name) is not gone:
                    gone.live.lost = True
            self.bidders = found
            self.ready = True
            return self.all()

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
