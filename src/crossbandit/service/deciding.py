"""How a node decides: from a snapshot; or, for a bidder with limits, through the log."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from crossbandit.errors import InvalidContextError, InvalidParameterError
from crossbandit.service.causes import HeldElsewhereError, NotReadyError, PausedError
from crossbandit.service.contents import Request
from crossbandit.service.settings import Decided
from crossbandit.validation import reject

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from crossbandit.applications import Bid, FirstPriceBidder
    from crossbandit.service.known import KnownBidder
    from crossbandit.service.learner import LearnerThread
    from crossbandit.service.writer import HeldBidder, Writer

_AHEAD = 86_400.0  # seconds by which the time of an auction may be ahead of the clock


class DecisionMethods:
    """The methods of a node that decide.

    Attributes:
        clock: Returns the time in seconds since 1970.
        learner: The thread that learns.
        writer: The thread that writes.
    """

    clock: Callable[[], float]
    learner: LearnerThread
    writer: Writer
    _known: Callable[[str], KnownBidder]

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
            The decision. For a bidder with limits, a future that is done when the decision is in
            the log, so that its budget also holds after a crash.

        Raises:
            InvalidContextError: An argument is not valid.
            PausedError: The bidder is paused.
            NotReadyError: It is not loaded yet, or another node is taking it over.
            HeldElsewhereError: It has limits, and another node decides for it.
        """
        known = self._known(name)
        if known.row.paused:
            raise PausedError(f"The bidder {name!r} is paused. Resume it first.")
        labels: dict[str, Any] = dict(classes or {})
        if known.settings.limited:
            return self._decide_held(known, value, reserve, at, labels)
        known.decisions += 1
        return _decided(self._decider(known).bid(value, reserve=reserve, **labels))

    def _decide_held(
        self,
        known: KnownBidder,
        value: float,
        reserve: float | None,
        at: float | None,
        labels: dict[str, Any],
    ) -> Future[Decided]:
        held = self._held(known)
        live = held.live
        if live is None or held.lost:
            raise NotReadyError("The bidder is being restored from its log. Try again soon.")
        now = self.clock()
        if at is not None and not at <= now + _AHEAD:  # a later period would begin, for good
            expected = "a time of at most a day from now, in seconds since 1970"
            reject("decide", "at", expected, at, error=InvalidContextError)
        request = Request(value, reserve, now if at is None else at, labels, now)
        with live.lock:  # decisions are logged in the order in which they are made
            bid, row = live.decide(request)
            logged = self.writer.decide(held, row)
        known.decisions += 1
        made: Future[Decided] = Future()
        logged.add_done_callback(lambda done: answer_with(done, made, _decided(bid)))
        return made

    def _held(self, known: KnownBidder) -> HeldBidder:
        held = self.learner.held.get(known.row.id)
        if held is not None:
            return held
        if known.row.holder and known.row.holder != self.learner.holder:
            raise HeldElsewhereError(
                f"The bidder {known.row.name!r} has limits, and another node decides for it. Send "
                f"the request to {known.row.url or known.row.holder}.",
                known.row.url,
            )
        raise NotReadyError(
            f"No node decides for the bidder {known.row.name!r} now. Try again in a few seconds."
        )

    def bidder(self, name: str) -> FirstPriceBidder:
        """Return what decides for a bidder now, for methods such as `price_law`. Do not change it.

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
            InvalidParameterError: The bidder has limits. Only the service decides for it.
        """
        known = self._known(name)
        if known.settings.limited:
            raise InvalidParameterError(
                f"The bidder {name!r} has limits. It has no snapshots, because only the service "
                "knows what it has spent. Ask the service to decide."
            )
        if known.policy is None:
            raise NotReadyError(f"The bidder {name!r} is not loaded yet. Try again.")
        return known.policy.entry, known.policy.content

    def _decider(self, known: KnownBidder) -> FirstPriceBidder:
        if known.decider is None:
            raise NotReadyError(f"The bidder {known.row.name!r} is not loaded yet. Try again.")
        return known.decider


def answer_with(done: Future[None], waiting: Future[Any], answer: Any) -> None:
    """Complete a future with an answer or an error, after a write.

    Args:
        done: The future of the write.
        waiting: The future to complete.
        answer: The answer, if the write succeeded.
    """
    if not waiting.set_running_or_notify_cancel():
        return
    error = done.exception()
    if error is not None:
        waiting.set_exception(error)
    else:
        waiting.set_result(answer)


def _decided(bid: Bid) -> Decided:
    token = None if bid.decision is None else bid.text
    return Decided(bid.amount, token, bid.reason)
