"""Create, pause, change and delete the bidders of the service."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec

from crossbandit.errors import InvalidParameterError
from crossbandit.service.causes import BidderExistsError, NotReadyError
from crossbandit.service.contents import Change, encode
from crossbandit.service.live import LiveBidder
from crossbandit.service.settings import checked_name, settings_from
from crossbandit.service.store import CHANGE, Append

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Lock

    from crossbandit.service.known import Directory, KnownBidder
    from crossbandit.service.learner import LearnerThread
    from crossbandit.service.settings import BidderSettings, Budgets, Targets
    from crossbandit.service.store import Session

_UNSET: Any = object()
_PATIENCE = 20.0  # seconds to wait for a node that decides for a new bidder
_WAIT = 0.02  # seconds between two looks at it


class Administration:
    """The part of a node that administers bidders.

    Attributes:
        clock: Returns the time in seconds since 1970.
        directory: The bidders that the node knows.
        learner: The threads that keep leases and learn.
    """

    clock: Callable[[], float]
    directory: Directory
    learner: LearnerThread
    _store: Session
    _store_lock: Lock

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
        owner = live.bidder.learner.learner
        with self._store_lock:
            made = self._store.create(name, text, owner, now, live.policy(now), live.checkpoint())
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
        row = self.directory.find(name).row
        held = self.learner.held.get(row.id)
        if held is not None:
            return held.live is not None and not held.lost
        if row.holder and row.published != created:
            return True
        self.directory.refresh()
        return False

    def delete(self, name: str) -> None:
        """Delete a bidder, its log and what it has learned.

        Args:
            name: The bidder.
        """
        known = self.directory.find(name)
        with self._store_lock:
            self._store.delete(known.row.id)
        self.learner.look()

    def pause(self, name: str) -> None:
        """Stop the decisions of a bidder. It still learns. Other nodes follow within a second.

        Args:
            name: The bidder.
        """
        self._pause(name, paused=True)

    def resume(self, name: str) -> None:
        """Let a bidder decide again.

        Args:
            name: The bidder.
        """
        self._pause(name, paused=False)

    def _pause(self, name: str, *, paused: bool) -> None:
        known = self.directory.find(name)
        with self._store_lock:
            self._store.pause(known.row.id, paused=paused)
        self.learner.look()

    def change(self, name: str, *, budget: Budgets = _UNSET, target: Targets = _UNSET) -> None:
        """Change the amounts of a bidder's limits. What was spent is kept.

        Limits that are not given do not change. If another node changes them at the same time,
        its change is kept. The change is in the log when this returns, and takes effect when it is
        learned.

        Args:
            name: The bidder.
            budget: The new budgets, with the same periods and in the same order.
            target: The new targets, with the same kinds and periods and in the same order.

        Raises:
            InvalidParameterError: The bidder has no limits, or limits of other kinds or periods.
        """
        known = self.directory.find(name)
        while not self._write(self._changed(known, budget, target)):
            self.directory.refresh()  # another change came first: apply this one to its result
            known = self.directory.find(name)
        self.learner.has_grown([known.row.id])
        self.learner.look()

    def _write(self, append: Append) -> bool:
        """Log a change. If another change came first, write nothing and return False."""
        with self._store_lock:
            return bool(self._store.write([append], self.clock())[0])

    def _changed(self, known: KnownBidder, budget: Budgets, target: Targets) -> Append:
        """Return the log entry that changes the limits of a bidder."""
        row = known.row
        before = settings_from(row.settings)
        if not before.limited:
            raise InvalidParameterError(
                f"The bidder {row.name!r} was created without limits, and limits cannot be added "
                "later. Create another bidder with a budget or a target."
            )
        change = Change(
            before.budget if budget is _UNSET else budget,
            before.target if target is _UNSET else target,
        )
        after = msgspec.structs.replace(before, budget=change.budget, target=change.target)
        if not after.limited:
            raise InvalidParameterError(
                f"The limits of the bidder {row.name!r} can be changed, but not removed. Give it a "
                "high budget instead, or create another bidder."
            )
        after.build().restore(before.build().state())  # raises if the bidder cannot continue
        text = msgspec.json.encode(after).decode()
        return Append(row.id, 1, CHANGE, encode(change), text, row.settings)
