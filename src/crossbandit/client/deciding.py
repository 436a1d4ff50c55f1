"""How a client decides: from a snapshot that is renewed in the background, or by the service."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.applications.bidding.bids import Bid
from crossbandit.client.transport import bidder_path
from crossbandit.errors import (
    CheckpointError,
    ClientError,
    DecisionError,
    RefusedError,
    ServiceAwayError,
)
from crossbandit.forks import know
from crossbandit.learners.tokens import token_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from crossbandit.applications import FirstPriceBidder
    from crossbandit.client.transport import Response, Transport

    Ask = Callable[[str, dict[str, Any]], Any]

LIMITED = "limited"  # the code of the service for a bidder with limits, which has no snapshots
_FIRST_WAIT = 0.05  # seconds until the next attempt, before the first answer
_AT_ONCE = 1_000  # the most decisions in one request


class PolicyPoller:
    """Asks the service for newer snapshots, in a thread.

    Args:
        transport: Sends requests.
        bidder: The name of the bidder.
        key: The key of the tokens of decisions, or None.
        every: How many seconds to wait between two requests.
    """

    def __init__(
        self, transport: Transport, bidder: str, *, key: bytes | None, every: float
    ) -> None:
        self._transport, self._path = transport, bidder_path(bidder, "/snapshot")
        self._key, self._every = key, every
        self.decider: FirstPriceBidder | None = None
        self.local: bool | None = None
        self.version: int | None = None
        self.error: ClientError | None = None
        self._refusal: RefusedError | None = None
        self._snapshot: FirstPriceBidder | None = None
        self._tag = ""
        self._confirmed: float | None = None
        self._known = threading.Event()
        self._stop = threading.Event()
        self._begin()
        know(self)

    def _begin(self) -> None:
        self._thread = threading.Thread(target=self._work, name="crossbandit-policy", daemon=True)
        self._thread.start()

    def fork_locks(self) -> tuple[Any, ...]:
        """Return its locks, for `crossbandit.forks`: it has none."""
        return ()

    def after_fork(self) -> None:
        """Continue to ask for snapshots in a forked process."""
        known, stop = self._known.is_set(), self._stop.is_set()
        self._known, self._stop = threading.Event(), threading.Event()
        if known:
            self._known.set()
        if stop:
            self._stop.set()
        self._begin()

    @property
    def age(self) -> float | None:
        """The seconds since the service last confirmed the snapshot, or None."""
        return None if self._confirmed is None else time.monotonic() - self._confirmed

    def ready(self, timeout: float) -> FirstPriceBidder | None:
        """Wait until it is known whether the client or the service decides.

        Args:
            timeout: How many seconds to wait at most.

        Returns:
            The snapshot that decides; None if the service decides.

        Raises:
            ServiceAwayError: It is not known in that time.
            RefusedError: The service refuses, for instance because the bidder is paused.
        """
        if not self._known.wait(timeout):
            raise ServiceAwayError(
                f"There is no snapshot yet, after {timeout:g} seconds. "
                + (str(self.error) if self.error else "The service does not answer.")
            )
        if self._refusal is not None:
            raise RefusedError(
                str(self._refusal), code=self._refusal.code, status=self._refusal.status
            )
        return self.decider

    def close(self) -> None:
        """End the thread."""
        self._stop.set()
        self._thread.join(1.0)

    def _work(self) -> None:
        while not self._stop.is_set():
            try:
                self._ask()
                self.error = None
            except RefusedError as error:
                self.error = error
                self._take_refusal(error)
            except CheckpointError as error:
                self.error = ServiceAwayError(f"The snapshot cannot be read: {error}")
            except ClientError as error:  # the present snapshot stays in use
                self.error = error
            self._stop.wait(self._every if self._known.is_set() else min(self._every, _FIRST_WAIT))

    def _ask(self) -> None:
        headers = {"If-None-Match": self._tag} if self._tag else None
        response = self._transport.request("GET", self._path, headers=headers)
        if response.status != 304:
            response.check()
            self._take(response)
        self._refusal = None
        self.decider = self._snapshot
        self._confirmed = time.monotonic()
        self._known.set()

    def _take(self, response: Response) -> None:
        """Use a snapshot, unless its tokens must be signed and the client has no key."""
        from crossbandit.applications import FirstPriceBidder

        if response.headers.get("crossbandit-signed") == "1" and self._key is None:
            self._decide_there()
            return
        fresh = FirstPriceBidder.from_bytes(response.content, key=self._key)
        kept = self._snapshot
        same = kept is not None and kept.learner.learner == fresh.learner.learner
        if kept is not None and same and kept.settings() == fresh.settings():
            kept.learner.follow(fresh.learner)  # so that the client remains one decider
        else:
            self._snapshot = fresh
        self._tag = response.headers.get("etag", "")
        self.local = True
        digits = self._tag.strip('"').partition("-")[0]
        self.version = int(digits) if digits.isdigit() else None

    def _take_refusal(self, error: RefusedError) -> None:
        if error.code == LIMITED:
            self._decide_there()
            self._refusal = self.decider = None
        elif error.status >= 500 or error.code == "too-many-requests":
            return  # a temporary problem
        else:
            self._refusal, self.decider = error, None
        self._known.set()

    def _decide_there(self) -> None:
        self._snapshot, self._tag, self.local, self.version = None, "", False, None


@dataclass(frozen=True)
class ServedBid(Bid):
    """A bid for which the service decided. It has a token, and no decision of its own.

    Attributes:
        decision: None.
        amount: As for `Bid`.
        value: As for `Bid`.
        reserve: As for `Bid`.
        classes: As for `Bid`.
        reason: As for `Bid`.
        served: The token as text; None if no bid was made.
    """

    served: str | None = None

    @property
    def text(self) -> str:
        """The token as text that a URL can hold.

        Raises:
            DecisionError: No bid was made.
        """
        if self.served is None:
            raise DecisionError("There is nothing to report: no bid was made.")
        return self.served

    @property
    def token(self) -> bytes:
        """The token as bytes.

        Raises:
            DecisionError: No bid was made.
        """
        return token_bytes(self.text)


def remote_bid(ask: Ask, value: Any, reserve: Any, at: Any, classes: dict[str, Any]) -> ServedBid:
    """Ask the service for a bid.

    Args:
        ask: Sends a request.
        value: What winning is worth.
        reserve: The reserve price, or None.
        at: The time of the auction, or None.
        classes: The levels of the classes.
    """
    floor = None if reserve is None else float(reserve)
    body = {"value": float(value), "reserve": floor, "at": _seconds(at), "classes": classes}
    return _served(ask("/decide", body), float(value), floor, classes)


def remote_bids(
    ask: Ask, values: Any, reserve: Any, at: Any, classes: dict[str, Any]
) -> list[ServedBid]:
    """Ask the service for bids, with up to 1,000 in a request.

    Args:
        ask: Sends a request.
        values: What winning is worth, in each auction.
        reserve: The reserve price of all auctions, or of each; NaN where it is not known.
        at: The time of all auctions, or None.
        classes: For each class, one level for all auctions, or a column of levels.
    """
    worths = np.asarray(values, dtype=float).ravel().tolist()
    floors = [np.nan] * len(worths)
    if reserve is not None:
        floors = np.broadcast_to(np.asarray(reserve, dtype=float), len(worths)).tolist()
    known = [None if np.isnan(one) else one for one in floors]
    columns = {
        name: [one] * len(worths) if isinstance(one, str | int) else np.asarray(one).tolist()
        for name, one in classes.items()
    }
    found: list[ServedBid] = []
    for start in range(0, len(worths), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        levels = {name: column[part] for name, column in columns.items()}
        body = {"values": worths[part], "reserve": known[part], "at": _seconds(at)}
        answers = ask("/decide-many", {**body, "classes": levels})["decisions"]
        for i, answer in enumerate(answers):
            own = {name: column[i] for name, column in levels.items()}
            found.append(_served(answer, worths[start + i], known[start + i], own))
    return found


def _served(
    answer: dict[str, Any], value: float, reserve: float | None, classes: dict[str, Any]
) -> ServedBid:
    amount, token, reason = answer["amount"], answer["token"], answer.get("reason")
    return ServedBid(None, amount, value, reserve, tuple(classes.values()), reason, served=token)


def _seconds(at: Any) -> float | None:
    if at is None:
        return None
    return float(at.timestamp() if hasattr(at, "timestamp") else at)
