"""A bidder that learns from its log: the same log gives the same state, bit for bit.

Learning, deciding and saving are in one file, because reading the log again must repeat all three
exactly.
"""

from __future__ import annotations

import io
from threading import RLock
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from crossbandit.applications import Bid, FirstPriceBidder
from crossbandit.applications.action import required_action
from crossbandit.applications.bidding.outcomes import as_bids
from crossbandit.applications.law_learner.outcome_codes import KNOWN, reaches
from crossbandit.errors import (
    IMPOSSIBLE_CONTENT,
    CheckpointError,
    DamagedTokenError,
    DecisionError,
    MissingOutcomesError,
)
from crossbandit.service.causes import cause_of
from crossbandit.service.contents import change_of, encode, request_of, rows_of
from crossbandit.service.settings import limits_of
from crossbandit.service.store.rows import CHANGE, Checkpoint, DecisionRow, Entries, Policy
from crossbandit.service.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crossbandit.service.contents import Change, Request, Row
    from crossbandit.service.store import Session

_VERSION = 1
# Outcomes in one call of compiled code, which keeps other threads waiting. The last bits of what is
# learned depend on this number: if you change it, increase `_VERSION`.
_AT_ONCE = 500
PIECE = 5_000  # entries that are read at once


class _State(msgspec.Struct):
    """A checkpoint: a saved bidder, and what `save` leaves out because copies must not have it."""

    version: int
    bidder: bytes
    id: str
    own: list[str]
    total: int
    tally: Tally

    def load(self, **changes: Any) -> FirstPriceBidder:
        """Return the bidder with its old id, so that the decisions in the log are its own.

        Args:
            **changes: Settings that replace the saved ones.
        """
        bidder = FirstPriceBidder.load(io.BytesIO(self.bidder), **changes)
        learner = bidder.learner
        learner.id, learner.own, learner.total = self.id, set(self.own), self.total
        return bidder


_state = msgspec.msgpack.Decoder(_State)


class LiveBidder:
    """A bidder, and the last entry of the log that it has read.

    It uses the times in the log and no clock. So two live bidders that have read the same entries
    have the same bytes, however the entries were divided into reads.

    Args:
        bidder: The bidder.
        key: The key of its tokens, or None.
        entry: The number of the last entry that it has learned.
        decisions: The number of decisions that it has made under limits.
        tally: The counts of outcomes.

    Attributes:
        lock: Held while it learns or decides.
        time: The time of the log.
        began: The number of entries and decisions that it had read when it was created.
    """

    def __init__(
        self,
        bidder: FirstPriceBidder,
        *,
        key: bytes | None = None,
        entry: int = 0,
        decisions: int = 0,
        tally: Tally | None = None,
    ) -> None:
        self.entry, self.decisions = entry, decisions
        self.tally = Tally() if tally is None else tally
        self.lock = RLock()
        self.time, self.began = 0.0, entry + decisions
        self._key = key
        self._use(bidder)

    def _use(self, bidder: FirstPriceBidder) -> None:
        self.bidder = bidder
        self._amounts = frozenset(bidder.bids.tolist())
        learner = bidder.learner
        learner.clock = learner.seen.clock = learner.watch.clock = lambda: self.time
        learner.watch.warns = False  # the figures show it
        bidder.token_key = self._key

    # --- learning ------------------------------------------------------------------------------

    def learn(self, entries: Entries) -> None:
        """Learn the next entries of the log.

        Args:
            entries: The entries. The first must follow the last one that was learned.

        Raises:
            CheckpointError: Entries are missing.
        """
        with self.lock:
            if entries.first != self.entry + 1:
                raise CheckpointError(
                    f"The next entry of the log is {entries.first}. Entry {self.entry + 1} is "
                    "missing. Restore the store from a backup that has it."
                )
            self.time = entries.at
            if entries.kind == CHANGE:
                self._change(change_of(entries.content))
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
                except IMPOSSIBLE_CONTENT as error:
                    self.tally.refuse(cause_of(error))

    def _learn_all(self, rows: Sequence[Row]) -> bool:
        """Learn all outcomes in one call. If one is wrong, learn nothing and return False."""
        bidder = self.bidder
        try:
            bids = as_bids([self._bid(row) for row in rows], bidder.learner)
            won = np.array([row.won for row in rows], dtype=bool)
            prices = _column([row.highest_competing_bid for row in rows])
            reserves = _column([row.reserve for row in rows])
            bidder.settle_many(bids, won=won, highest_competing_bid=prices, reserve=reserves)
        except MissingOutcomesError as error:
            self.tally.refuse(cause_of(error), len(rows))
            return True
        except IMPOSSIBLE_CONTENT:
            return False
        self.tally.learn(self.time, won, bids.values, bids.amounts)
        return True

    def _bid(self, row: Row) -> Bid:
        """Return the bid of an outcome; raise if this bidder cannot have made it.

        Without a key, anyone can make a token. Impossible contents must not reach the state,
        because it could not be saved then. A store that was restored from a backup lacks the
        decisions under limits that were made after the backup.
        """
        bidder, learner = self.bidder, self.bidder.learner
        bid = required_action(row.token, Bid, learner)
        low, high = bidder.value_range
        numbers = type(bid.value) is float and type(bid.amount) is float
        if not numbers or not low <= bid.value <= high or bid.amount not in self._amounts:
            raise DamagedTokenError("A token must hold a value and a bid of this bidder. Drop it.")
        if any(type(one) not in (str, int) for one in bid.classes):
            raise DamagedTokenError("A token must hold levels of this bidder's classes. Drop it.")
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
            one = np.array([row.won])
            self.tally.learn(self.time, one, np.array([bid.value]), np.array([amount]))
        elif before >= KNOWN:
            cell = int(bidder.bids.searchsorted(amount))
            was = reaches(before, cell)
            self.tally.correct(self.time, bid.value, amount, before=was, won=row.won)

    def _change(self, change: Change) -> None:
        """Change the limits. If the new ones do not fit, keep the old ones."""
        try:
            limits = {"budget": limits_of(change.budget), "target": limits_of(change.target)}
            self._use(self._state().load(**limits))
        except IMPOSSIBLE_CONTENT as error:
            self.tally.refuse(cause_of(error))

    # --- deciding under limits -----------------------------------------------------------------

    def decide(self, request: Request) -> tuple[Bid, DecisionRow]:
        """Decide under limits.

        Args:
            request: The request.

        Returns:
            The bid, and the row to log before the bid is returned to the caller.

        Raises:
            InvalidContextError: The request is not valid. Nothing has changed.
        """
        with self.lock:
            self.time = request.made
            bid = self.bidder.bid(
                request.value, reserve=request.reserve, at=request.at, **request.classes
            )
            row = DecisionRow(self.decisions, self.entry, encode(request))
            self.decisions += 1
            self.tally.decide(request.made)
            return bid, row

    def repeat(self, row: DecisionRow) -> Bid:
        """Make a decision that is in the log again, and return its bid.

        Args:
            row: The decision.

        Raises:
            CheckpointError: It is not the next one.
        """
        if row.number != self.decisions or row.after != self.entry:
            raise CheckpointError(
                f"The next decision in the log is {row.number}, made after entry {row.after}. "
                f"Decision {self.decisions} after entry {self.entry} is missing. Restore the store "
                "from a backup that has it."
            )
        return self.decide(request_of(row.content))[0]

    # --- keeping -------------------------------------------------------------------------------

    def checkpoint(self) -> Checkpoint:
        """Return the whole state."""
        with self.lock:
            return Checkpoint(self.entry, self.decisions, encode(self._state()))

    def _state(self) -> _State:
        learner, own = self.bidder.learner, sorted(self.bidder.learner.own)
        content = _saved(self.bidder)
        return _State(_VERSION, content, learner.id, own, learner.total, self.tally)

    def policy(self, at: float, figures: bytes = b"") -> Policy:
        """Return the policy for all nodes. With limits, other nodes only display it.

        Args:
            at: The time.
            figures: The encoded figures.
        """
        with self.lock:
            if self.bidder.limits:
                return Policy(self.entry, at, _saved(self.bidder), figures)
            entry, snapshot = self.entry, self.bidder.snapshot()
        return Policy(entry, at, snapshot.to_bytes(), figures)


def restored(checkpoint: Checkpoint, key: bytes | None) -> LiveBidder:
    """Return the bidder of a checkpoint.

    Args:
        checkpoint: What `LiveBidder.checkpoint` returned.
        key: The key of the bidder's tokens, or None.

    Raises:
        CheckpointError: It is damaged, or of another version.
    """
    try:
        state = _state.decode(checkpoint.content)
    except msgspec.MsgspecError as error:
        raise CheckpointError(f"A checkpoint in the store is damaged: {error}.") from None
    if state.version != _VERSION:
        raise CheckpointError(
            f"A checkpoint in the store has format {state.version}, and this version of "
            f"Crossbandit reads format {_VERSION}."
        )
    return LiveBidder(
        state.load(),
        key=key,
        entry=checkpoint.entry,
        decisions=checkpoint.decisions,
        tally=state.tally,
    )


def restore(session: Session, bidder: int, key: bytes | None) -> LiveBidder:
    """Return a bidder from its newest readable checkpoint and the later entries of its log.

    Args:
        session: A connection.
        bidder: The number of the bidder.
        key: The key of its tokens, or None.

    Raises:
        CheckpointError: No checkpoint can be read, or entries after it are missing.
    """
    live: LiveBidder | None = None
    problem: CheckpointError | None = None
    for checkpoint in session.checkpoints(bidder):
        try:
            live = restored(checkpoint, key)
            break
        except CheckpointError as error:
            problem = error
    if live is None:
        raise problem or CheckpointError("The bidder has no checkpoint: it was deleted.")
    decisions = session.decisions(bidder, live.decisions)
    at = _repeat(live, decisions, 0)
    while entries := session.entries(bidder, live.entry, PIECE):
        for one in entries:
            live.learn(one)
            at = _repeat(live, decisions, at)
    return live


def _repeat(live: LiveBidder, decisions: list[DecisionRow], at: int) -> int:
    """Repeat the decisions that followed the last learned entry; return the next index."""
    while at < len(decisions) and decisions[at].after == live.entry:
        live.repeat(decisions[at])
        at += 1
    return at


def _saved(bidder: FirstPriceBidder) -> bytes:
    """Return what a bidder has learned and spent, as bytes."""
    buffer = io.BytesIO()
    bidder.save(buffer)
    return buffer.getvalue()


def _column(values: list[float | None]) -> Any:
    return np.array([np.nan if one is None else one for one in values], dtype=float)
