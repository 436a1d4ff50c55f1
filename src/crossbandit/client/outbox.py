"""Outcomes that the service has not acknowledged yet."""

from __future__ import annotations

import random
import threading
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from crossbandit.applications.bidding.bids import Bid
from crossbandit.applications.money import amount_of, flag_of
from crossbandit.client.transport import bidder_path
from crossbandit.errors import (
    ClientError,
    DecisionError,
    InvalidLossesError,
    OutboxFullError,
    RefusedError,
    ServiceAwayError,
    UnsentOutcomesError,
)
from crossbandit.forks import know
from crossbandit.learners.tokens import to_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crossbandit.applications.money import Flag, Money
    from crossbandit.client.transport import Transport

_KEPT = 1_000  # the number of refusals that are kept
_SHOWN = 200  # the number of characters of an unexpected answer in a message
_FIRST_WAIT, _LONGEST_WAIT = 0.05, 5.0  # seconds between two attempts
_WRONG = {400, 413, 422}  # the request is not valid, or too large
_HOPELESS = {"unauthorized", "forbidden", "unknown-bidder", "not-found"}  # do not try again


class Row(NamedTuple):
    """An outcome that waits."""

    token: str  # the token of the bid, as text
    won: bool  # whether it won
    highest_competing_bid: float | None = None  # as for `FirstPriceBidder.settle`
    reserve: float | None = None  # as for `FirstPriceBidder.settle`
    correction: bool = False  # whether it replaces an outcome that was reported before

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as the service takes it."""
        found: dict[str, Any] = {"token": self.token, "won": self.won}
        for name in ("highest_competing_bid", "reserve"):
            if getattr(self, name) is not None:
                found[name] = getattr(self, name)
        return {**found, "correction": True} if self.correction else found


class Refused(NamedTuple):
    """An outcome that the service did not accept. It is not sent again.

    Attributes:
        outcome: The outcome, as it was sent.
        code: The code of the error.
        message: The error in words.
    """

    outcome: dict[str, Any]
    code: str
    message: str


class Outbox:
    """Keeps outcomes until the service has acknowledged them, and sends them in the background.

    Outcomes are sent in order, one batch after the other. A batch that is not acknowledged is sent
    again; the service counts each outcome once. Only outcomes that the service refuses as not valid
    are removed without being stored. They are kept in `refusals`.
    """

    def __init__(self, transport: Transport, bidder: str, *, room: int, batch: int) -> None:
        self._transport, self._path = transport, bidder_path(bidder, "/outcomes")
        self._room, self._batch = room, batch
        self._stop = False
        self._begin()
        know(self)

    def _begin(self) -> None:
        self._rows: deque[Row] = deque()
        self._changed = threading.Condition()
        self._error: ClientError | None = None
        self.accepted = self.refused = 0
        self.refusals: deque[Refused] = deque(maxlen=_KEPT)
        self._thread = threading.Thread(target=self._work, name="crossbandit-outbox", daemon=True)
        self._thread.start()

    def fork_locks(self) -> tuple[Any, ...]:
        """Return its locks, for `crossbandit.forks`."""
        return (self._changed,)

    def after_fork(self) -> None:
        """Start empty in a forked process, because its parent sends the waiting outcomes."""
        self._begin()

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def error(self) -> ClientError | None:
        """The error of the last attempt; None if it succeeded."""
        return self._error

    def put(self, rows: Sequence[Row]) -> None:
        """Add outcomes, all or none."""
        with self._changed:
            if self._stop:
                raise UnsentOutcomesError("The client is closed. It takes no more outcomes.", [])
            if len(self._rows) + len(rows) > self._room:
                raise OutboxFullError(
                    f"{len(self._rows):,} outcomes are waiting to be acknowledged, and there is "
                    f"room for {self._room:,}. Keep the outcome and try again, or create a Client "
                    f"with more room.{self._last_error()}"
                )
            self._rows.extend(rows)
            self._changed.notify_all()

    def flush(self, timeout: float) -> None:
        """Wait until the service has acknowledged all outcomes that are there now."""
        until = time.monotonic() + timeout
        with self._changed:
            goal = self.accepted + self.refused + len(self._rows)
            while self.accepted + self.refused < goal:
                left = until - time.monotonic()
                hopeless = isinstance(self._error, RefusedError) and self._error.code in _HOPELESS
                if left <= 0 or hopeless or not self._thread.is_alive():
                    raise self._unsent()
                self._changed.wait(left)

    def close(self, timeout: float) -> None:
        """Wait as `flush` does, then end the thread."""
        with suppress(UnsentOutcomesError):
            self.flush(timeout)
        with self._changed:
            self._stop = True
            self._changed.notify_all()
        self._thread.join(timeout)
        if self._rows:
            raise self._unsent()

    def _unsent(self) -> UnsentOutcomesError:
        return UnsentOutcomesError(
            f"The service has not acknowledged {len(self._rows):,} outcomes.{self._last_error()}",
            [row.to_json() for row in self._rows],
        )

    def _last_error(self) -> str:
        return f" The last attempt failed: {self._error}" if self._error else ""

    def _work(self) -> None:
        wait = _FIRST_WAIT
        while True:
            with self._changed:
                while not self._rows and not self._stop:
                    self._changed.wait()
                if self._stop:
                    return
                rows = [self._rows[i] for i in range(min(self._batch, len(self._rows)))]
            try:
                self._send(rows)
                wait = _FIRST_WAIT
            except ClientError as error:
                self._error = error
                with self._changed:
                    self._changed.notify_all()
                    if not self._stop:
                        self._changed.wait_for(lambda: self._stop, wait * random.uniform(0.5, 1.0))  # noqa: S311
                wait = min(2 * wait, _LONGEST_WAIT)

    def _send(self, rows: list[Row]) -> None:
        """Send rows, and remove those that the service has accepted or refused."""
        sent = [row.to_json() for row in rows]
        response = self._transport.request("POST", self._path, {"outcomes": sent})
        if response.status in _WRONG and len(rows) > 1:
            half = len(rows) // 2
            self._send(rows[:half])
            self._send(rows[half:])
            return
        try:
            answer = response.json()
        except RefusedError as error:
            if response.status not in _WRONG:
                raise
            self._settle(1, [Refused(sent[0], error.code, str(error))])
            return
        self._settle(len(sent), _refused(sent, answer))

    def _settle(self, count: int, refused: list[Refused]) -> None:
        with self._changed:
            self._error = None
            for _ in range(count):
                self._rows.popleft()
            self.refusals.extend(refused)
            self.refused += len(refused)
            self.accepted += count - len(refused)
            self._changed.notify_all()


def _refused(sent: list[dict[str, Any]], answer: Any) -> list[Refused]:
    """Return the refused outcomes; raise unless the answer accounts for all outcomes."""
    found: list[Refused] = []
    try:
        found = [
            Refused(sent[one["index"]], one["cause"], one["message"]) for one in answer["errors"]
        ]
        complete = answer["accepted"] + len(found) == len(sent)
    except (LookupError, TypeError):
        complete = False
    if not complete:
        shown = repr(answer)[:_SHOWN]
        raise ServiceAwayError(f"The service gave an unexpected answer: {shown}.")
    return found


def row_of(
    bid: Bid | str | bytes,
    won: Flag,
    highest_competing_bid: Money | None,
    reserve: Money | None,
    *,
    correction: bool,
) -> Row:
    """Return an outcome, checked."""
    if isinstance(bid, Bid):
        if bid.amount is None:
            raise DecisionError("There is nothing to report: no bid was made.")
        bid = bid.text
    elif isinstance(bid, bytes):
        bid = to_text(bid)
    elif not isinstance(bid, str):
        raise DecisionError(f"outcome takes a bid or its token. Got {bid!r}.")
    return Row(
        bid,
        flag_of("outcome", "won", won),
        _amount("highest_competing_bid", highest_competing_bid),
        _amount("reserve", reserve),
        correction,
    )


def _amount(name: str, value: object) -> float | None:
    return None if value is None else amount_of("outcome", name, value, error=InvalidLossesError)
