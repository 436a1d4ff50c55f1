"""A node of the service: it decides, takes outcomes, and learns for bidders whose leases it has."""

from __future__ import annotations

import time
from concurrent.futures import Future
from contextlib import closing
from functools import partial
from itertools import compress
from operator import not_
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from crossbandit.algorithms.learners.tokens import Token, checked_key, token_bytes
from crossbandit.applications.bidding.campaigns import CAMPAIGN
from crossbandit.applications.money import amount_of, flag_of
from crossbandit.core.validation import reject
from crossbandit.errors import (
    DecisionError,
    ForeignDecisionError,
    InvalidContextError,
    InvalidLossesError,
    InvalidParameterError,
)
from crossbandit.service.bidder import Directory, LiveBidder
from crossbandit.service.causes import (
    BidderExistsError,
    HeldElsewhereError,
    NotReadyError,
    PausedError,
    ReportedOtherwiseError,
    ServiceError,
    cause_of,
)
from crossbandit.service.client.client import address_parts, column_of
from crossbandit.service.contents import (
    Change,
    Decided,
    LatestOutcomes,
    Reported,
    Request,
    Row,
    RowError,
    contradicts,
    encode,
)
from crossbandit.service.settings import (
    CampaignChanges,
    campaign_of,
    changed,
    checked_name,
    settings_from,
)
from crossbandit.service.store import CHANGE, Append, NewBidder
from crossbandit.service.threads import LearnerThread, Leases, NodeOptions, Writer, new_holder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from crossbandit.applications import Bid, FirstPriceBidder
    from crossbandit.service.bidder import KnownBidder
    from crossbandit.service.contents import Outcome
    from crossbandit.service.figures import BidderFigures
    from crossbandit.service.settings import BidderSettings, Budgets, Targets
    from crossbandit.service.store import Session, Store

_Found = TypeVar("_Found")

_LOCKED = 0.05  # the part of a lease for which all writes wait for a row that is locked
_PATIENCE = 20.0  # seconds to wait for a node that decides for a new bidder
_WAIT = 0.02  # seconds between two looks at it
_AHEAD = 86_400.0  # seconds by which the time of an auction may be ahead of the clock


class Node:
    """Decides for the bidders of a store, takes their outcomes, and learns.

    Any number of nodes may share a store. Each node decides and takes outcomes for all bidders. For
    each bidder, only the node that has its lease learns. An outcome is acknowledged when it is
    stored durably in the log of its bidder. The same log always gives the same state, so nothing is
    lost when a process ends at any moment.

    Any thread may call all methods. Methods that take a name raise `UnknownBidderError`, and
    methods that need the store raise `StoreError`.

    Attributes:
        key: The key that signs tokens; None if the store was made by a version without keys.
        gives_key: Whether clients are given the key, because the store keeps it.

    Args:
        store: The store; see `open_store`.
        key: A secret of 1 to 64 bytes that signs tokens. It is not stored. If None, the key is one
            that the store keeps, and clients that may decide are given it.
        url: The address at which other nodes reach this one, or None.
        name: A name for this node; None for a new one.
        learn: Whether to learn for bidders, and to decide for those with limits.
        **options: Fields of `NodeOptions`: times, and how much may wait.

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
        **options: Any,
    ) -> None:
        given = NodeOptions(**options)
        lease, self.clock = given.lease, given.clock
        self.key = checked_key("Node", "key", key)
        if url is not None:
            address_parts("Node", url)
        # Each change has a connection: with one for all, a locked row would delay every change.
        self._connect = partial(store.session, lease)
        self.gives_key = self.key is None
        if self.gives_key:
            with closing(self._connect()) as session:
                self.key = session.key()
        self.directory = Directory(store.session(lease), self.key, self.clock)
        self._leases = Leases(store.session(lease), name or new_holder(), url, lease)
        leases = self._leases if learn else None
        self.learner = LearnerThread(store.session(lease), self.directory, leases, given)
        session = store.session(lease, _LOCKED * lease)
        self.writer = Writer(session, given, self.learner.has_grown)
        self.learner.writer = self.writer
        self._latest = LatestOutcomes()
        self._closed = False

    @property
    def name(self) -> str:
        """The name of this node."""
        return self._leases.holder

    def start(self) -> None:
        """Start to write, to learn, and to read what other nodes have stored."""
        self.directory.refresh()
        self.writer.start()
        self.learner.start()

    def close(self) -> None:
        """Write what is waiting, save what was learned, and end the leases and all threads."""
        if self._closed:
            return
        self._closed = True
        self.learner.close()
        self.writer.close()
        self._leases.end(self.directory.all())  # other nodes take over at once
        self.directory.close()

    # --- bidders -------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """Return the names of all bidders."""
        return sorted(self.directory.bidders)

    def settings(self, name: str) -> BidderSettings:
        """Return the settings of a bidder.

        Args:
            name: The bidder.
        """
        return self.directory.find(name).settings

    def create(self, name: str, settings: BidderSettings) -> None:
        """Add a bidder. If it has limits, wait until a node can decide for it.

        Args:
            name: Its name.
            settings: Its settings.

        Raises:
            BidderExistsError: A bidder of that name exists.
            InvalidParameterError: The settings or the name are not valid.
            NotReadyError: The bidder was created, but no node decides for it yet.
        """
        checked_name("create", name)
        live = LiveBidder(settings.build())
        now = self.clock()
        text = msgspec.json.encode(settings).decode()
        bidder = NewBidder(name, text, live.bidder.learner.learner, now)
        with closing(self._connect()) as store:
            made = store.create(bidder, live.policy(now), live.checkpoint())
        if not made:
            raise BidderExistsError(
                f"There is already a bidder {name!r}. Delete it first, or choose another name."
            )
        self.learner.look()
        until = time.monotonic() + _PATIENCE
        while settings.limited and not self._can_decide(name, now):
            if time.monotonic() > until:
                raise NotReadyError(
                    f"The bidder {name!r} was created, but no node decides for it yet. Do not "
                    "create it again. Wait until one does, or start a node."
                )
            time.sleep(_WAIT)

    def _can_decide(self, name: str, created: float) -> bool:
        """Return whether a node can decide for a new bidder with limits.

        Another node that has its lease publishes a policy when it has restored the bidder.
        """
        known = self.directory.find(name)
        if known.live is not None:
            return known.live.ready and not known.live.lost
        if known.row.holder and known.row.published != created:
            return True
        self.directory.refresh()
        return False

    def delete(self, name: str) -> None:
        """Delete a bidder, its log and what it has learned.

        Args:
            name: The bidder.
        """
        self._write(name, lambda store, bidder: store.delete(bidder))

    def pause(self, name: str, campaign: str | None = None) -> None:
        """Stop the decisions of a bidder. It still learns. Other nodes follow within a second.

        Args:
            name: The bidder.
            campaign: One of its campaigns, for which nothing is bid from now on; None for all.

        Raises:
            UnknownCampaignError: The bidder has no such campaign.
        """
        self._pause(name, campaign, paused=True)

    def resume(self, name: str, campaign: str | None = None) -> None:
        """Let a bidder decide again.

        Args:
            name: The bidder.
            campaign: As for `pause`.

        Raises:
            UnknownCampaignError: The bidder has no such campaign.
        """
        self._pause(name, campaign, paused=False)

    def _pause(self, name: str, campaign: str | None, *, paused: bool) -> None:
        if campaign is None:
            self._write(name, lambda store, bidder: store.pause(bidder, paused=paused))
            return
        self.directory.refresh()  # another node may have added it
        campaign_of(name, self.settings(name), campaign)
        self.change(name, campaigns={campaign: CampaignChanges(paused=paused)})

    def _write(self, name: str, write: Callable[[Session, int], bool]) -> None:
        """Write to the row of a bidder; `write` returns whether there is one of this number."""
        with closing(self._connect()) as store:
            while not write(store, self.directory.find(name, changing=True).row.id):
                self.directory.refresh()  # it was created again, at another node
        self.learner.look()

    def change(
        self,
        name: str,
        *,
        budget: Budgets | UnsetType = UNSET,
        target: Targets | UnsetType = UNSET,
        campaigns: Mapping[str, CampaignChanges] | None = None,
    ) -> None:
        """Change the amounts of a bidder's limits, or add campaigns. What was spent is kept.

        Limits that are not given do not change. If another node changes them at the same time,
        its change is kept. The change is in the log when this returns, and takes effect when it is
        learned.

        Args:
            name: The bidder.
            budget: The new budgets, with the same periods and in the same order.
            target: The new targets, with the same kinds and periods and in the same order.
            campaigns: New settings of campaigns, by name. Those that are new are added.

        Raises:
            InvalidParameterError: There are no limits, or limits of other kinds or periods.
        """
        new = dict(campaigns or {})
        own = CampaignChanges(budget, target)
        if own.given or not new:
            new[""] = own

        while True:
            row = self.directory.find(name, changing=True).row
            before = settings_from(row.settings)
            after = changed(name, before, new)
            after.build().restore(before.build().state())  # raises if the bidder cannot continue
            text = msgspec.json.encode(after).decode()
            logged = encode(Change(after.budget, after.target, after.campaigns))
            append = Append(row.id, 1, CHANGE, logged, text, row.settings)
            with closing(self._connect()) as store:
                if store.write([append], self.clock())[0]:
                    break
            self.directory.refresh()  # another change came first: apply this one to its result
        self.learner.has_grown([row.id])
        self.learner.look()

    # --- decisions -----------------------------------------------------------------------------

    def decide(
        self,
        name: str,
        value: float,
        *,
        reserve: float | None = None,
        at: float | None = None,
        classes: Mapping[str, str | int | float | None] | None = None,
    ) -> Decided | Future[Decided]:
        """Decide what to bid.

        Args:
            name: The bidder.
            value: What winning is worth.
            reserve: The reserve price of this auction, if it is known.
            at: The time of the auction in seconds since 1970, for limits; by default now.
            classes: A level of each of the bidder's classes.

        Returns:
            The decision. For a bidder with limits, sometimes a future that is done when the
            decision is in the log. The log always says how many decisions may have been answered
            that it does not have, so that budgets also hold after a crash.

        Raises:
            InvalidContextError: An argument is not valid.
            PausedError: The bidder is paused.
            NotReadyError: It is not loaded yet, or another node is taking it over.
            HeldElsewhereError: It has limits, and another node decides for it.
        """
        known = self._deciding(name)
        labels: dict[str, Any] = dict(classes or {})
        if not known.settings.limited:
            known.decisions += 1
            return _decided(known.loaded().bid(value, reserve=reserve, **labels))
        live, now = self._held(known), self.clock()
        campaign = live.campaign(labels)
        if paused := _paused(known, live, labels):
            return paused
        with live.lock:  # decisions are logged in the order in which they are made
            ahead = live.ahead(campaign)
            bid, row = live.decide(Request(value, reserve, self._time(now, at), labels, now, ahead))
            live.unlogged.append(row)
            known.decisions += 1
            # Whether the decision may be answered before it is in the log.
            early = not live.lost and time.monotonic() < live.until and live.covered(campaign)
            answer = _decided(bid)
            if early and not ahead:
                return answer
            logged = self.writer.decide(live, answer)
        return answer if early else logged

    def at_once(self, name: str) -> bool:
        """Return whether a bidder can decide now; False if it is learning or being saved.

        Args:
            name: The bidder.
        """
        live = self.directory.find(name).state
        if live is None:
            return True
        free = live.lock.acquire(blocking=False)
        if free:
            live.lock.release()
        return free

    def decide_many(
        self,
        name: str,
        values: Sequence[float],
        *,
        reserve: Any = None,
        at: float | None = None,
        classes: Mapping[str, Any] | None = None,
    ) -> list[Decided] | Future[list[Decided]]:
        """Decide what to bid in many auctions. If one of them is not valid, nothing is decided.

        Args:
            name: The bidder.
            values: What winning is worth, in each auction.
            reserve: The reserve price of all auctions, or of each; None where it is not known.
            at: The time of all auctions, as for `decide`.
            classes: For each class, one level for all auctions, or a level for each.

        Returns:
            The decisions, in the order of the values. For a bidder with limits, a future, as for
            `decide`.

        Raises:
            InvalidContextError: As for `decide`; the message names the row.
            NotReadyError: As for `decide`.
            HeldElsewhereError: As for `decide`.
            PausedError: As for `decide`.
        """
        known = self._deciding(name)
        labels: dict[str, Any] = dict(classes or {})
        if not known.settings.limited:
            bids = known.loaded().bid_many(values, reserve=reserve, **labels)
            known.decisions += len(bids)
            return list(map(_decided, bids))
        live, now = self._held(known), self.clock()
        when, count = self._time(now, at), len(values)
        reserves = column_of("decide_many", "reserve", reserve, count)
        columns = {
            key: column_of("decide_many", key, column, count) for key, column in labels.items()
        }
        requests = [
            Request(value, reserves[i], when, {key: columns[key][i] for key in columns}, now)
            for i, value in enumerate(values)
        ]
        paused = [_paused(known, live, one.classes) for one in requests]
        with live.lock:
            asked, rows = live.decide_many([*compress(requests, map(not_, paused))])
            made = map(_decided, asked)
            answers = [one or next(made) for one in paused]
            live.unlogged += rows
            decided = self.writer.decide(live, answers) if rows else _done(answers)
        known.decisions += len(rows)
        return decided

    def _deciding(self, name: str) -> KnownBidder:
        """Return a bidder that may decide."""
        known = self.directory.find(name)
        if known.row.paused:
            raise PausedError(f"The bidder {name!r} is paused. Resume it first.")
        return known

    @staticmethod
    def _time(now: float, at: float | None) -> float:
        """Return the time of an auction. A time far ahead would end the present period."""
        if at is not None and not at <= now + _AHEAD:
            expected = "a time of at most a day from now, in seconds since 1970"
            reject("decide", "at", expected, at, error=InvalidContextError)
        return now if at is None else at

    def _held(self, known: KnownBidder) -> LiveBidder:
        """Return the state of a bidder with limits that learns here; raise if there is none."""
        row, live = known.row, known.live
        if live is None and row.holder and row.holder != self.name:
            raise HeldElsewhereError(
                f"The bidder {row.name!r} has limits, and another node decides for it. Send the "
                f"request to {row.url or row.holder}.",
                row.url,
            )
        if known.failure is not None:
            raise NotReadyError(f"The bidder {row.name!r} cannot decide. {known.failure.problem}")
        if live is None:
            raise NotReadyError(
                f"No node decides for the bidder {row.name!r} now. Try again in a few seconds."
            )
        if not live.ready or live.lost:
            raise NotReadyError("The bidder is being restored from its log. Try again soon.")
        return live

    def bidder(self, name: str) -> FirstPriceBidder:
        """Return what decides for a bidder now, for methods such as `price_law`. Do not change it.

        Args:
            name: The bidder.
        """
        known = self.directory.find(name)
        live = known.state if known.settings.limited else None
        return known.loaded() if live is None else live.bidder

    def policy_bytes(self, name: str) -> tuple[int, bytes]:
        """Return the newest snapshot of a bidder, for clients that decide themselves.

        Args:
            name: The bidder.

        Returns:
            The number of the last entry that it has learned, and the bytes for
            `FirstPriceBidder.from_bytes`.

        Raises:
            InvalidParameterError: The bidder has limits. Only the service decides for it.
        """
        known = self.directory.find(name)
        if known.settings.limited:
            raise InvalidParameterError(
                f"The bidder {name!r} has limits. It has no snapshots, because only the service "
                "knows what it has spent. Ask the service to decide."
            )
        if known.policy is None:
            raise NotReadyError(f"The bidder {name!r} is not loaded yet. Try again.")
        return known.policy.entry, known.policy.content

    # --- outcomes ------------------------------------------------------------------------------

    def report(self, name: str, outcomes: Sequence[Outcome]) -> Future[Reported]:
        """Take outcomes and store them.

        Tokens and the form of outcomes are checked at once. So is whether another outcome of the
        same bid was reported before, as far as this node knows: it has learned it, or has taken it
        lately. All others that were reported before, have expired or contradict themselves are
        found when they are learned; `figures` counts them by cause.

        Args:
            name: The bidder.
            outcomes: The outcomes, in any order. It does no harm to report one again.

        Returns:
            A future that is done when the outcomes are durable.

        Raises:
            OverloadedError: Too many outcomes are waiting.
        """
        known = self.directory.find(name)
        rows, keys, errors = [], [], []
        for i, one in enumerate(outcomes):
            try:
                row, key = self._row(known, one)
                self._check_again(known, row, key)
            except (DecisionError, InvalidLossesError, ReportedOtherwiseError) as error:
                errors.append(RowError(i, cause_of(error), str(error)))
            else:
                rows.append(row)
                keys.append(key)
                self._latest.add(key, row)
        answer, forget = Reported(len(rows), tuple(errors)), partial(self._latest.remove, keys)
        if not rows:
            return _done(answer)
        try:
            return self.writer.report(known.row.id, rows, answer, forget)
        except ServiceError:
            forget()
            raise

    def _check_again(self, known: KnownBidder, row: Row, key: tuple[str, int]) -> None:
        """Raise if another outcome of the same bid is known. The same outcome may come again."""
        live = known.state
        code = 0 if live is None else live.bidder.learner.seen.code(*key)
        before = self._latest.find(key, row)
        if row.correction or (before is None and code == 0):
            return
        bidder = known.loaded() if live is None else live.bidder
        if contradicts(bidder, self.key, row, before, code):
            raise ReportedOtherwiseError(
                "Another outcome of this bid was reported before, and counts. If that one was "
                "wrong, report this one with 'correction'; otherwise drop it."
            )

    def _row(self, known: KnownBidder, one: Outcome) -> tuple[Row, tuple[str, int]]:
        """Return an outcome for the log, and the decider and the number of its decision."""
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
        return Row(content, won, price, reserve, correction), (token.decider, token.counter)

    # --- figures -------------------------------------------------------------------------------

    def figures(self, name: str) -> BidderFigures:
        """Return the figures of a bidder.

        Args:
            name: The bidder.
        """
        return self.directory.find(name).figures(self.clock())

    def all_figures(self) -> dict[str, BidderFigures]:
        """Return the figures of all bidders, by name."""
        bidders = sorted(self.directory.bidders.items())
        return {name: one.figures(self.clock()) for name, one in bidders}

    def health(self) -> dict[str, Any]:
        """Return the state of this node. `GET /readyz` shows only whether it is ready."""
        return {
            "node": self.name,
            "ready": self.directory.ready and not self._closed,
            "store": self.learner.problem or "",
            "bidders": len(self.directory.bidders),
            "learning": sorted(
                one.row.name for one in self.directory.all() if one.live is not None
            ),
            "waiting": self.writer.waiting,
            "commits": self.writer.commits,
        }


def _done(result: _Found) -> Future[_Found]:
    future: Future[_Found] = Future()
    future.set_result(result)
    return future


def _paused(known: KnownBidder, live: LiveBidder, classes: Mapping[str, Any]) -> Decided | None:
    """Return the answer if the campaign of an auction is paused; raise if there is no such."""
    campaigns = known.settings.campaigns
    if campaigns is None or CAMPAIGN not in classes:
        return None
    campaign = classes[CAMPAIGN]
    if campaign_of(known.row.name, known.settings, campaign).paused:
        return Decided(None, None, f"The campaign {campaign!r} is paused. Resume it to bid again.")
    if campaign not in live.bidder.accounts.sets:
        raise NotReadyError(f"The campaign {campaign!r} is being added. Try again.")
    return None


def _decided(bid: Bid) -> Decided:
    token = None if bid.amount is None else bid.text
    return Decided(bid.amount, token, bid.reason)
