"""A node of the service: decides, reports, and learns for the bidders whose leases it holds."""

from __future__ import annotations

import time
from concurrent.futures import Future
from threading import Lock
from typing import TYPE_CHECKING, Any

from crossbandit.algorithms.tokens import Token, checked_key, token_bytes
from crossbandit.applications.money import amount_of, flag_of
from crossbandit.client.transport import address_parts
from crossbandit.errors import (
    DecisionError,
    ForeignDecisionError,
    InvalidContextError,
    InvalidLossesError,
    InvalidParameterError,
)
from crossbandit.service.administration import Administration
from crossbandit.service.causes import (
    HeldElsewhereError,
    NotReadyError,
    PausedError,
    cause_of,
)
from crossbandit.service.contents import Request, Row
from crossbandit.service.known import Directory
from crossbandit.service.learner import LearnerThread
from crossbandit.service.settings import (
    Decided,
    Reported,
    RowError,
)
from crossbandit.service.writer import Held, Writer
from crossbandit.validation import reject

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from crossbandit.applications import Bid, FirstPriceBidder
    from crossbandit.service.figures import BidderFigures
    from crossbandit.service.known import Known
    from crossbandit.service.settings import Outcome
    from crossbandit.service.store.rows import Store

_ROOM = 500_000
_WEEK = 7 * 86_400.0
_AHEAD = 86_400.0  # seconds by which the time of an auction may be ahead of the clock


class Node(Administration):
    """Decides for the bidders of a store, takes their outcomes, and learns.

    Any number of nodes may share a store. Each decides and takes outcomes for all bidders; for each
    bidder, one of them learns, which holds its lease. An outcome is acknowledged once it is in the
    log of its bidder, durably. What was learned is a function of the log, so nothing is lost when a
    process ends at any moment.

    All methods may be called by any thread. Those that take a name raise `UnknownBidderError`, and
    those that need the store raise `StoreError`.

    Args:
        store: The store; see `open_store`.
        key: A secret of 1 to 64 bytes with which tokens are signed, or None. It is not stored.
        url: The address under which other nodes reach this one, or None.
        name: A name for this node; None for a new one.
        learn: Whether to learn for bidders, and to decide for those with limits.
        lease: For how many seconds a lease holds; after so long, another node takes over.
        poll: Seconds between two looks at what other nodes have done.
        publish: Seconds between two policies of a bidder, at least.
        checkpoint_entries: The entries after which a checkpoint is made.
        checkpoint_seconds: The seconds after which a checkpoint is made, if there is something new.
        retention: For how many seconds entries are kept that no recovery needs; None for ever.
        room: How many outcomes may wait to be stored.
        clock: Returns the time in seconds since 1970.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from crossbandit.service import BidderSettings, Node, Outcome, open_store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     node = Node(open_store(Path(folder) / "service.db"))
    ...     node.start()
    ...     node.create("shop", BidderSettings(value_range=(0, 10), bids=11))
    ...     made = node.decide("shop", 8.0)
    ...     done = node.report("shop", [Outcome(made.token, won=False, highest_competing_bid=9.0)])
    ...     accepted = done.result().accepted
    ...     node.close()
    >>> accepted
    1
    """

    def __init__(
        self,
        store: Store,
        *,
        key: bytes | None = None,
        url: str | None = None,
        name: str | None = None,
        learn: bool = True,
        lease: float = 5.0,
        poll: float = 1.0,
        publish: float = 1.0,
        checkpoint_entries: int = 100_000,
        checkpoint_seconds: float = 300.0,
        retention: float | None = _WEEK,
        room: int = _ROOM,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.key = checked_key("Node", "key", key)
        if url is not None:
            address_parts("Node", url)
        self.clock = clock
        self._store, self._store_lock = store.session(), Lock()
        self.directory = Directory(store.session(), self.key, clock)
        self.learner = LearnerThread(
            store,
            self.directory,
            name=name,
            url=url,
            learn=learn,
            lease=lease,
            poll=poll,
            publish=publish,
            checkpoint_entries=checkpoint_entries,
            checkpoint_seconds=checkpoint_seconds,
            retention=retention,
        )
        self.writer = Writer(store.session(), clock, room, self.learner.has_grown)
        self.learner.writer = self.writer
        self._closed = False

    @property
    def name(self) -> str:
        """The name of this node."""
        return self.learner.holder

    def start(self) -> None:
        """Begin to write, to learn and to follow what other nodes do."""
        self.directory.refresh()
        self.writer.start()
        self.learner.start()

    def close(self) -> None:
        """Write what waits, keep what was learned, end the leases and all threads."""
        if self._closed:
            return
        self._closed = True
        self.learner.close()
        self.writer.close()
        self.learner.end_leases()
        self.directory.close()
        self._store.close()

    # --- deciding ------------------------------------------------------------------------------

    def decide(
        self,
        name: str,
        value: float,
        *,
        reserve: float | None = None,
        at: float | None = None,
        classes: Mapping[str, str | int] | None = None,
    ) -> Decided | Future[Decided]:
        """Decide what to bid.

        Args:
            name: The bidder.
            value: What winning is worth.
            reserve: The reserve price of this auction, if it is known.
            at: The time of the auction in seconds since 1970, for limits; by default now.
            classes: A level of each of the bidder's classes.

        Returns:
            The decision. For a bidder with limits, a future: it is done once the decision is in the
            log, so that a budget holds whatever happens.

        Raises:
            InvalidContextError: What is asked is not valid.
            PausedError: The bidder is paused.
            NotReadyError: It is not loaded yet, or another node takes it over.
            HeldElsewhereError: It has limits, and another node decides for it.
        """
        known = self._known(name)
        if known.row.paused:
            raise PausedError(f"The bidder {name!r} is paused. Resume it first.")
        labels: dict[str, Any] = dict(classes or {})
        if known.settings.limited:
            return self._decide_held(known, value, reserve, at, labels)
        known.decisions += 1
        return decided(self._decider(known).bid(value, reserve=reserve, **labels))

    def _decide_held(
        self,
        known: Known,
        value: float,
        reserve: float | None,
        at: float | None,
        labels: dict[str, Any],
    ) -> Future[Decided]:
        held = self._held(known)
        live = held.live
        if live is None or held.lost:
            raise NotReadyError("The bidder is being restored from its log. Try again.")
        now = self.clock()
        if at is not None and not at <= now + _AHEAD:  # its periods would begin, and never go back
            expected = "a time of at most a day from now, in seconds since 1970"
            reject("decide", "at", expected, at, error=InvalidContextError)
        request = Request(value, reserve, now if at is None else at, labels, now)
        with live.lock:  # decisions are logged in the order in which they are made
            bid, row = live.decide(request)
            logged = self.writer.decide(held, row)
        known.decisions += 1
        made: Future[Decided] = Future()
        logged.add_done_callback(lambda done: _pass_on(done, made, bid))
        return made

    def _held(self, known: Known) -> Held:
        held = self.learner.held.get(known.row.id)
        if held is not None:
            return held
        if known.row.holder and known.row.holder != self.learner.holder:
            raise HeldElsewhereError(
                f"The bidder {known.row.name!r} has limits, and another node decides for it: "
                f"{known.row.url or known.row.holder}. Ask that one.",
                known.row.url,
            )
        raise NotReadyError(
            f"No node decides for the bidder {known.row.name!r} now. Try again in a few seconds."
        )

    def bidder(self, name: str) -> FirstPriceBidder:
        """Return what decides for a bidder now, to look at: `shading_curve`, `price_law`.

        Args:
            name: The bidder.
        """
        known = self._known(name)
        held = self.learner.held.get(known.row.id)
        if known.settings.limited and held is not None and held.live is not None:
            return held.live.bidder
        return self._decider(known)

    def policy_bytes(self, name: str) -> tuple[int, bytes]:
        """Return the newest snapshot of a bidder, for clients that decide themselves.

        Args:
            name: The bidder.

        Returns:
            The number of the last entry that it has learned, and the bytes for
            `FirstPriceBidder.from_bytes`.

        Raises:
            InvalidParameterError: The bidder has limits, so only the service decides for it.
        """
        known = self._known(name)
        if known.settings.limited:
            raise InvalidParameterError(
                f"The bidder {name!r} has limits. Only the service knows what it has spent, so it "
                "has no snapshots. Ask the service to decide."
            )
        if known.policy is None:
            raise NotReadyError(f"The bidder {name!r} is not loaded yet. Try again.")
        return known.policy.entry, known.policy.content

    def _decider(self, known: Known) -> FirstPriceBidder:
        if known.decider is None:
            raise NotReadyError(f"The bidder {known.row.name!r} is not loaded yet. Try again.")
        return known.decider

    # --- outcomes ------------------------------------------------------------------------------

    def report(self, name: str, outcomes: Sequence[Outcome]) -> Future[Reported]:
        """Take outcomes.

        A token and the form of its outcome are checked at once. Whether it was reported before, has
        expired or contradicts itself is found when it is learned; `figures` counts these by cause.

        Args:
            name: The bidder.
            outcomes: The outcomes, in any order. One may be reported again.

        Returns:
            It is done once they are durable.

        Raises:
            OverloadedError: Too many are waiting.
        """
        known = self._known(name)
        rows, errors = [], []
        for i, one in enumerate(outcomes):
            try:
                rows.append(self._row(known, one))
            except (DecisionError, InvalidLossesError) as error:
                errors.append(RowError(i, cause_of(error), str(error)))
        answer = Reported(len(rows), tuple(errors))
        reported: Future[Reported] = Future()
        if not rows:
            reported.set_result(answer)
            return reported
        logged = self.writer.report(known.row.id, rows)
        logged.add_done_callback(lambda done: _pass_on(done, reported, answer))
        return reported

    def _row(self, known: Known, one: Outcome) -> Row:
        content = token_bytes(one.token)
        token = Token.decode(content, self.key)
        if token.learner != known.row.owner:
            raise ForeignDecisionError(
                f"The token was made by another bidder ({token.learner}). Report it to the bidder "
                "that made it, or drop it."
            )
        won, correction = flag_of("report", "won", one.won), bool(one.correction)
        price, reserve = (
            None if given is None else amount_of("report", name, given, error=InvalidLossesError)
            for name, given in (
                ("highest_competing_bid", one.highest_competing_bid),
                ("reserve", one.reserve),
            )
        )
        return Row(content, won, price, reserve, correction)

    # --- figures -------------------------------------------------------------------------------

    def figures(self, name: str) -> BidderFigures:
        """Return what is shown of a bidder.

        Args:
            name: The bidder.
        """
        known = self._known(name)
        return known.figures(self.clock(), self.learner.held.get(known.row.id))

    def health(self) -> dict[str, Any]:
        """Return how this node does: whether all is well, and what is not."""
        return {
            "node": self.name,
            "ready": self.directory.ready and not self._closed,
            "store": self.learner.problem or "",
            "bidders": len(self.directory.bidders),
            "learning": sorted(
                one.row.name
                for one in list(self.directory.bidders.values())
                if one.row.id in self.learner.held
            ),
            "waiting": self.writer.waiting,
            "commits": self.writer.commits,
        }


def decided(bid: Bid) -> Decided:
    """Return a bid as it is answered.

    Args:
        bid: The bid.
    """
    token = None if bid.decision is None else bid.text
    return Decided(bid.amount, token, bid.reason)


def _pass_on(done: Future[None], waiting: Future[Any], answer: Any) -> None:
    """Answer whoever waits, once something is durable."""
    if not waiting.set_running_or_notify_cancel():
        return
    error = done.exception()
    if error is not None:
        waiting.set_exception(error)
    else:
        waiting.set_result(decided(answer) if not isinstance(answer, Reported) else answer)
