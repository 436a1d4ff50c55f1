"""A client of the service, for threads and for asyncio, and its requests."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import random
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from http.client import HTTPConnection, HTTPException, HTTPSConnection, RemoteDisconnected
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, Self, TypeVar
from urllib.parse import SplitResult, quote, urlsplit

import numpy as np

from crossbandit.algorithms.learners.tokens import checked_key, to_text, token_bytes
from crossbandit.applications.bidding.bids import Bid, Bids
from crossbandit.applications.money import Flag, Money, amount_of, flag_of
from crossbandit.core.forks import know
from crossbandit.core.validation import integer, number, reject, verbatim
from crossbandit.errors import (
    CheckpointError,
    ClientError,
    DecisionError,
    InvalidContextError,
    InvalidLossesError,
    InvalidParameterError,
    OutboxFullError,
    RefusedError,
    ServiceAwayError,
    UnsentOutcomesError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from datetime import datetime

    import numpy.typing as npt

    from crossbandit.applications import FirstPriceBidder
    from crossbandit.laws.levels import Label

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")

LIMITED = "limited"  # the code of the service for a bidder with limits, which has no snapshots
_KEPT = 1_000  # the number of refusals that are kept
_FIRST_WAIT, _LONGEST_WAIT = 0.05, 5.0  # seconds between two attempts
_WRONG = {400, 413, 422}  # the request is not valid, or too large
_HOPELESS = {"unauthorized", "forbidden", "unknown-bidder", "not-found"}  # do not try again
_AT_ONCE = 1_000  # the most decisions in one request
_AT_EXIT = 5.0  # seconds to send waiting outcomes when the process ends
_SHOWN = 200  # the number of characters of an unexpected answer in a message


class Response(NamedTuple):
    """What the service answered."""

    status: int
    headers: dict[str, str]  # the headers, by names in lower case
    content: bytes

    def json(self) -> Any:
        """Return the body."""
        self.check()
        try:
            return json.loads(self.content)
        except ValueError:
            raise self._stranger() from None

    def check(self) -> None:
        """Raise if the status is an error."""
        if self.status < 400:
            return
        try:
            problem = json.loads(self.content)
            code, message = str(problem["code"]), str(problem["message"])
        except (ValueError, LookupError, TypeError):
            raise self._stranger() from None
        raise RefusedError(message, code=code, status=self.status)

    def _stranger(self) -> ServiceAwayError:
        shown = self.content[:_SHOWN].decode("utf-8", "replace")
        return ServiceAwayError(
            f"Something that is not the service answered, with the status {self.status}: {shown!r}."
        )


class Transport:
    """Sends requests. Any number of threads may use it."""

    def __init__(self, url: str, token: str | None = None, *, timeout: float = 10.0) -> None:
        parts = address_parts("Client", url)
        usable = isinstance(token, str) and token.isascii() and token.isprintable() and token
        if token is not None and not usable:
            raise InvalidParameterError(
                "The 'token' parameter of Client must be an access token as ASCII text, or None."
            )
        self.url = url.rstrip("/")
        self._timeout = number("Client", "timeout", timeout, above=0)
        self._kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._where = (parts.hostname or "", parts.port)
        self._prefix = parts.path.rstrip("/")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._idle: deque[HTTPConnection] = deque()  # its methods are atomic
        self._closed = False
        self._process = os.getpid()

    def __repr__(self) -> str:
        return f"Transport({self.url!r})"  # without the token

    def request(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Response:
        """Send a request and return the answer, with any status.

        If an open connection of an earlier request has been closed in the meantime, the request is
        sent again on a new one.
        """
        given = {**self._headers, **(headers or {})}
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        if content is not None:
            given["Content-Type"] = "application/json"
        request = method, self._prefix + path, content, given
        try:
            reused = self._taken()
            if reused is not None:
                with suppress(RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                    return self._send(reused, *request)
            return self._send(self._kind(*self._where, timeout=self._timeout), *request)
        except (OSError, HTTPException) as error:
            reason = str(error) or type(error).__name__
            raise ServiceAwayError(
                f"The service at {self.url} does not answer: {reason}."
            ) from None

    def _taken(self) -> HTTPConnection | None:
        if self._process != os.getpid():  # a forked process must not use its parent's connections
            self._idle = deque()
            self._process = os.getpid()
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _send(self, connection: HTTPConnection, *request: Any) -> Response:
        try:
            connection.request(*request)
            answer = connection.getresponse()
            found = answer.read()
        except BaseException:
            connection.close()
            raise
        if answer.will_close or self._closed:
            connection.close()
        else:
            self._idle.append(connection)
        names = {name.lower(): value for name, value in answer.getheaders()}
        return Response(answer.status, names, found)

    def close(self) -> None:
        """Close the connections. Each later request opens a new connection."""
        self._closed = True
        while (connection := self._taken()) is not None:
            connection.close()


def address_parts(owner: str, url: str) -> SplitResult:
    """Return the parts of the address of a service.

    >>> address_parts("Client", "http://127.0.0.1:8000").port
    8000
    """
    expected = "an address such as 'http://127.0.0.1:8000'"
    try:
        parts = urlsplit(url)
        possible = parts.port is None or parts.port > 0
    except (ValueError, TypeError, AttributeError):
        reject(owner, "url", expected, url)
    extra = parts.query or parts.fragment
    if parts.scheme not in {"http", "https"} or not parts.hostname or extra or not possible:
        reject(owner, "url", expected, url)
    return parts


def bidder_path(bidder: str, rest: str = "") -> str:
    """Return the path of a bidder.

    >>> bidder_path("site a", "/decide")
    '/v1/bidders/site%20a/decide'
    """
    return f"/v1/bidders/{quote(bidder, safe='')}{rest}"


# --- outcomes that the service has not acknowledged ----------------------------------------------


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
        self.after_fork()
        know(self)

    def fork_locks(self) -> tuple[Any, ...]:
        """Return its locks, for `crossbandit.core.forks`."""
        return (self._changed,)

    def after_fork(self) -> None:
        """Start empty, also in a forked process, because its parent sends the waiting outcomes."""
        self._rows: deque[dict[str, Any]] = deque()
        self._changed = threading.Condition()
        self.error: ClientError | None = None  # of the last attempt; None if it succeeded
        self.accepted = self.refused = 0
        self.refusals: deque[Refused] = deque(maxlen=_KEPT)
        self._thread = threading.Thread(target=self._work, name="crossbandit-outbox", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, rows: Sequence[dict[str, Any]]) -> None:
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
                hopeless = isinstance(self.error, RefusedError) and self.error.code in _HOPELESS
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
            list(self._rows),
        )

    def _last_error(self) -> str:
        return f" The last attempt failed: {self.error}" if self.error else ""

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
                self.error = error
                with self._changed:
                    self._changed.notify_all()
                    if not self._stop:
                        self._changed.wait_for(lambda: self._stop, wait * random.uniform(0.5, 1.0))  # noqa: S311
                wait = min(2 * wait, _LONGEST_WAIT)

    def _send(self, rows: list[dict[str, Any]]) -> None:
        """Send rows, and remove those that the service has accepted or refused."""
        response = self._transport.request("POST", self._path, {"outcomes": rows})
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
            self._settle(1, [Refused(rows[0], error.code, str(error))])
            return
        self._settle(len(rows), _refused(rows, answer))

    def _settle(self, count: int, refused: list[Refused]) -> None:
        with self._changed:
            self.error = None
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


def outcome_of(
    bid: Bid | str | bytes, won: Flag, *, correction: bool, **prices: Any
) -> dict[str, Any]:
    """Return an outcome as the service takes it, checked. Prices that are None are left out."""
    if isinstance(bid, Bid):
        if bid.amount is None:
            raise DecisionError("There is nothing to report: no bid was made.")
        bid = bid.text
    elif isinstance(bid, bytes):
        bid = to_text(bid)
    elif not isinstance(bid, str):
        raise DecisionError(f"outcome takes a bid or its token. Got {bid!r}.")
    found: dict[str, Any] = {"token": bid, "won": flag_of("outcome", "won", won)}
    for name, given in prices.items():
        if given is not None:
            found[name] = amount_of("outcome", name, given, error=InvalidLossesError)
    return {**found, "correction": True} if correction else found


# --- decisions -----------------------------------------------------------------------------------


class PolicyPoller:
    """Asks the service for newer snapshots, in a thread."""

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
        self._known, self._stop = threading.Event(), threading.Event()
        self.after_fork()
        know(self)

    def fork_locks(self) -> tuple[Any, ...]:
        """Return its locks, for `crossbandit.core.forks`: it has none."""
        return ()

    def after_fork(self) -> None:
        """Begin to ask for snapshots, also in a forked process."""
        before = self._known, self._stop
        self._known, self._stop = after = threading.Event(), threading.Event()
        for old, new in zip(before, after, strict=True):
            if old.is_set():
                new.set()
        self._thread = threading.Thread(target=self._work, name="crossbandit-policy", daemon=True)
        self._thread.start()

    @property
    def age(self) -> float | None:
        """The seconds since the service last confirmed the snapshot, or None."""
        return None if self._confirmed is None else time.monotonic() - self._confirmed

    def ready(self, timeout: float) -> FirstPriceBidder | None:
        """Wait until it is known whether the client or the service decides."""
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
                if error.code == LIMITED:
                    self._decide_there()
                    self._refusal = self.decider = None
                    self._known.set()
                elif error.status < 500 and error.code != "too-many-requests":  # it lasts
                    self._refusal, self.decider = error, None
                    self._known.set()
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

        key = self._key
        if key is None and "crossbandit-key" in response.headers:
            key = bytes.fromhex(response.headers["crossbandit-key"])
        if response.headers.get("crossbandit-signed") == "1" and key is None:
            self._decide_there()
            return
        fresh = FirstPriceBidder.from_bytes(response.content, key=key)
        kept = self._snapshot
        same = kept is not None and kept.learner.learner == fresh.learner.learner
        if kept is not None and same and kept.settings() == fresh.settings():
            kept.learner.follow(fresh.learner)  # so that the client remains one decider
            kept.token_key = key
        else:
            self._snapshot = fresh
        self._tag = response.headers.get("etag", "")
        self.local = True
        digits = self._tag.strip('"').partition("-")[0]
        self.version = int(digits) if digits.isdigit() else None

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


def _served(
    answer: dict[str, Any], value: float, reserve: float | None, classes: dict[str, Any]
) -> ServedBid:
    amount, token, reason = answer["amount"], answer["token"], answer.get("reason")
    return ServedBid(None, amount, value, reserve, tuple(classes.values()), reason, served=token)


def _seconds(at: Any) -> float | None:
    if at is None:
        return None
    return float(at.timestamp() if hasattr(at, "timestamp") else at)


# --- the clients ---------------------------------------------------------------------------------


class ClientStatus:
    """What `Client` and `AsyncClient` report about their snapshot and their outcomes.

    Args:
        bidder: The name of the bidder.
        outbox: Sends outcomes.
        policy: Gets snapshots.

    Attributes:
        bidder: The name of the bidder.
    """

    def __init__(self, bidder: str, outbox: Outbox, policy: PolicyPoller) -> None:
        self.bidder, self._outbox, self._policy = bidder, outbox, policy

    @property
    def local(self) -> bool | None:
        """Whether the client decides by itself; None before the first answer of the service."""
        return self._policy.local

    @property
    def version(self) -> int | None:
        """The number of outcomes that the snapshot has learned from; None without a snapshot."""
        return self._policy.version

    @property
    def age(self) -> float | None:
        """The seconds since the service confirmed that there is no newer snapshot, or None."""
        return self._policy.age

    @property
    def waiting(self) -> int:
        """The number of outcomes that the service has not acknowledged yet."""
        return len(self._outbox)

    @property
    def accepted(self) -> int:
        """The number of outcomes that the service has stored."""
        return self._outbox.accepted

    @property
    def refused(self) -> int:
        """The number of outcomes that the service has refused as not valid."""
        return self._outbox.refused

    @property
    def refusals(self) -> list[Refused]:
        """The latest outcomes that the service has refused, up to 1,000."""
        return list(self._outbox.refusals)

    @property
    def error(self) -> ClientError | None:
        """The error of the last attempt to send outcomes or to get a snapshot; None if none."""
        return self._outbox.error or self._policy.error


class Client(ClientStatus):
    """Decides with what a bidder of the service has learned, and reports outcomes to the service.

    The client decides by itself, from a snapshot that it renews in the background. A decision takes
    microseconds, and works while the service does not answer. For a bidder with limits, the service
    decides, and each decision is a request. The same holds if tokens are signed and the client does
    not have the key.

    Outcomes are sent in batches in the background. They are sent again until they are acknowledged;
    the service counts each once. If too many are waiting, `outcome` raises, and nothing is dropped.
    Close the client, or use it in a `with` statement. If outcomes could not be sent, `close` raises
    an error that has them. Any number of threads may use a client.

    Args:
        url: The address of the service, such as "http://127.0.0.1:8000".
        bidder: The name of the bidder.
        token: The access token, with the roles "decide" and "report"; None if none is needed.
        key: The key that signs the tokens of decisions, if the service was given one; None for the
            one that its store keeps.
        poll: How many seconds to wait before asking for a newer snapshot.
        room: How many outcomes may wait to be acknowledged.
        batch: How many outcomes are sent at once.
        timeout: How many seconds to wait for an answer of the service.

    Raises:
        InvalidParameterError: An argument is not valid.
    """

    def __init__(
        self,
        url: str,
        *,
        bidder: str,
        token: str | None = None,
        key: bytes | None = None,
        poll: float = 1.0,
        room: int = 100_000,
        batch: int = 1_000,
        timeout: float = 10.0,
    ) -> None:
        if not bidder or not isinstance(bidder, str):
            reject("Client", "bidder", "the name of a bidder", bidder)
        room = integer("Client", "room", room, at_least=1)
        batch = integer("Client", "batch", batch, at_least=1, at_most=10_000)
        poll = number("Client", "poll", poll, above=0)
        key = checked_key("Client", "key", key)
        self._transport = Transport(url, token, timeout=timeout)
        self._timeout = float(timeout)
        super().__init__(
            bidder,
            Outbox(self._transport, bidder, room=room, batch=batch),
            PolicyPoller(self._transport, bidder, key=key, every=poll),
        )
        atexit.register(self._end)

    def __repr__(self) -> str:
        return f"Client({self._transport.url!r}, bidder={self.bidder!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def decide(
        self,
        /,
        value: Money,
        *,
        reserve: Money | None = None,
        at: datetime | float | None = None,
        **classes: Label,
    ) -> Bid:
        """Choose a bid, as `FirstPriceBidder.bid` does.

        Args:
            value: What winning is worth.
            reserve: The reserve price of this auction, if it is known.
            at: The time of the auction, for budgets; by default now.
            **classes: A level of each of the bidder's classes.

        Returns:
            The bid; pass it to `outcome` when the outcome is known.

        Raises:
            InvalidContextError: As for `FirstPriceBidder.bid`.
            ServiceAwayError: The service does not answer, and there is no snapshot yet, or only the
                service can decide.
            RefusedError: The service refused. The code "paused" means that the bidder is paused.
        """
        decider = self._policy.decider or self._policy.ready(self._timeout)
        if decider is not None:
            return decider.bid(value, reserve=reserve, at=at, **classes)
        floor = None if reserve is None else float(reserve)
        body = {"value": float(value), "reserve": floor, "at": _seconds(at), "classes": classes}
        return _served(self._ask("/decide", body), float(value), floor, classes)

    def decide_many(
        self,
        /,
        values: npt.ArrayLike,
        *,
        reserve: npt.ArrayLike | None = None,
        at: datetime | float | None = None,
        **classes: Any,
    ) -> Bids:
        """Choose many bids at once, as `FirstPriceBidder.bid_many` does.

        Args:
            values: What winning is worth, in each auction.
            reserve: The reserve price of all auctions, or of each; NaN where it is not known.
            at: The time of all auctions, as for `decide`.
            **classes: For each class, one level for all auctions, or a column of levels.

        Returns:
            The bids, in the order of the values.

        Raises:
            InvalidContextError: As for `FirstPriceBidder.bid_many`.
            ServiceAwayError: As for `decide`.
            RefusedError: As for `decide`.
        """
        decider = self._policy.decider or self._policy.ready(self._timeout)
        if decider is not None:
            return decider.bid_many(values, reserve=reserve, at=at, **classes)
        return Bids.of(self._ask_for_many(values, reserve, _seconds(at), classes))

    def _ask_for_many(
        self, values: Any, reserve: Any, at: float | None, classes: dict[str, Any]
    ) -> list[ServedBid]:
        """Ask the service for bids, with up to 1,000 in a request."""
        worths = np.asarray(values, dtype=float).ravel().tolist()
        floors = None if reserve is None else np.asarray(reserve, dtype=float)
        known = _known("decide_many", "reserve", floors, len(worths))
        columns = {
            name: column_of("decide_many", name, one, len(worths)) for name, one in classes.items()
        }
        found: list[ServedBid] = []
        for start in range(0, len(worths), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            levels = {name: column[part] for name, column in columns.items()}
            body = {"values": worths[part], "reserve": known[part], "at": at, "classes": levels}
            for i, answer in enumerate(self._ask("/decide-many", body)["decisions"]):
                own = {name: column[i] for name, column in levels.items()}
                found.append(_served(answer, worths[start + i], known[start + i], own))
        return found

    def outcome(
        self,
        bid: Bid | str | bytes,
        *,
        won: Flag,
        highest_competing_bid: Money | None = None,
        reserve: Money | None = None,
        correction: bool = False,
    ) -> None:
        """Report the outcome of an auction. It is sent in the background.

        Args:
            bid: The bid, or its token as text or bytes.
            won: Whether it won.
            highest_competing_bid: As for `FirstPriceBidder.settle`.
            reserve: As for `FirstPriceBidder.settle`.
            correction: As for `FirstPriceBidder.settle`.

        Raises:
            DecisionError: No bid was made, or it has no token.
            InvalidLossesError: An argument is not valid.
            OutboxFullError: Too many outcomes are waiting. This one was not added.
        """
        prices = {"highest_competing_bid": highest_competing_bid, "reserve": reserve}
        self._outbox.put([outcome_of(bid, won, correction=correction, **prices)])

    def outcomes(
        self,
        bids: Bids | Sequence[Bid | str | bytes | None],
        *,
        won: npt.ArrayLike,
        highest_competing_bid: npt.ArrayLike | None = None,
        reserve: npt.ArrayLike | None = None,
    ) -> None:
        """Report the outcomes of many auctions. Either all are added, or none.

        Args:
            bids: The bids, or their tokens. Auctions in which no bid was made are left out.
            won: Whether each bid won.
            highest_competing_bid: As for `outcome`, for all or for each; NaN where it is not known.
            reserve: As for `outcome`, for all or for each; NaN where it is not given.

        Raises:
            DecisionError: As for `outcome`.
            InvalidLossesError: As for `outcome`, or a column has another length.
            OutboxFullError: Too many outcomes are waiting. None was added.
        """
        count = len(bids)
        flags = column_of("outcomes", "won", won, count)
        prices = _known("outcomes", "highest_competing_bid", highest_competing_bid, count)
        floors = _known("outcomes", "reserve", reserve, count)
        rows = [
            outcome_of(bid, won, correction=False, highest_competing_bid=price, reserve=floor)
            for bid, won, price, floor in zip(bids, flags, prices, floors, strict=True)
            if bid is not None and (not isinstance(bid, Bid) or bid.amount is not None)
        ]
        self._outbox.put(rows)

    def flush(self, timeout: float = 30.0) -> None:
        """Wait until the service has acknowledged all outcomes that were reported so far.

        Args:
            timeout: How many seconds to wait at most.

        Raises:
            UnsentOutcomesError: It has not acknowledged all. The others are kept and sent again.
        """
        self._outbox.flush(timeout)

    def close(self, timeout: float = 30.0) -> None:
        """Send all waiting outcomes, and close the client. It then takes no more outcomes.

        Args:
            timeout: How many seconds to wait at most.

        Raises:
            UnsentOutcomesError: The service has not acknowledged all outcomes. The error has the
                others.
        """
        atexit.unregister(self._end)
        self._policy.close()
        try:
            self._outbox.close(timeout)
        finally:
            self._transport.close()

    def _end(self) -> None:
        self.close(_AT_EXIT)

    def _ask(self, what: str, body: dict[str, Any]) -> Any:
        return self._transport.request("POST", bidder_path(self.bidder, what), body).json()


def column_of(owner: str, name: str, given: Any, count: int) -> list[Any]:
    """Return a value for each row."""
    plain = given.tolist() if isinstance(given, np.ndarray) else given
    single = isinstance(plain, str | bytes | dict) or not hasattr(plain, "__len__")
    values = [plain] * count if single else list(plain)
    if len(values) != count:
        expected = f"one value for all bids, or one for each of {count} bids"
        bad = InvalidLossesError if owner == "outcomes" else InvalidContextError
        reject(owner, name, expected, verbatim(f"{len(values)} values"), error=bad)
    return values


def _known(owner: str, name: str, given: Any, count: int) -> list[Any]:
    """Return a price for each row; None instead of NaN."""
    column = column_of(owner, name, given, count)
    return [None if isinstance(one, float) and one != one else one for one in column]  # noqa: PLR0124


def _awaited(
    method: Callable[Concatenate[Client, _Given], _Found], *, waits: bool | None = None
) -> Callable[Concatenate[AsyncClient, _Given], Coroutine[Any, Any, _Found]]:
    """Return a method of `Client` for asyncio. If it waits for the service, it runs in a thread.

    By default, it waits unless the client decides by itself.
    """

    @wraps(method)
    async def call(self: AsyncClient, /, *given: _Given.args, **named: _Given.kwargs) -> _Found:
        client = self._client
        if waits or (waits is None and not client.local):
            return await asyncio.to_thread(method, client, *given, **named)
        return method(client, *given, **named)

    return call


class AsyncClient(ClientStatus):
    """The `Client` for asyncio: the same methods, which do not block the event loop.

    Decisions from a snapshot take microseconds and are made at once. Calls that need an answer of
    the service wait in a thread.

    Args:
        url: As for `Client`.
        bidder: As for `Client`.
        **settings: The other arguments of `Client`.

    Raises:
        InvalidParameterError: An argument is not valid.
    """

    def __init__(self, url: str, *, bidder: str, **settings: Any) -> None:
        client = self._client = Client(url, bidder=bidder, **settings)
        super().__init__(bidder, client._outbox, client._policy)  # noqa: SLF001 - its own client

    def __repr__(self) -> str:
        return f"Async{self._client!r}"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    decide = _awaited(Client.decide)
    """Choose a bid; see `Client.decide`."""
    decide_many = _awaited(Client.decide_many)
    """Choose many bids at once; see `Client.decide_many`."""
    outcome = _awaited(Client.outcome, waits=False)
    """Report the outcome of an auction, in the background; see `Client.outcome`."""
    outcomes = _awaited(Client.outcomes, waits=False)
    """Report the outcomes of many auctions, in the background; see `Client.outcomes`."""
    flush = _awaited(Client.flush, waits=True)
    """Wait until the service has acknowledged all outcomes; see `Client.flush`."""
    close = _awaited(Client.close, waits=True)
    """Send all waiting outcomes, and close the client; see `Client.close`."""
