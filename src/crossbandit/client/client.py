"""A client of the service, for threads."""

from __future__ import annotations

import atexit
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from crossbandit.applications.bidding.bids import Bid, Bids
from crossbandit.client.deciding import PolicyPoller, remote_bid, remote_bids
from crossbandit.client.outbox import Outbox, row_of
from crossbandit.client.transport import Transport, bidder_path
from crossbandit.errors import InvalidLossesError
from crossbandit.learners.tokens import checked_key
from crossbandit.validation import integer, number, reject, verbatim

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    import numpy.typing as npt

    from crossbandit.applications.money import Flag, Money
    from crossbandit.client.outbox import Refused
    from crossbandit.errors import ClientError
    from crossbandit.laws.levels import Label

_AT_EXIT = 5.0  # seconds to send waiting outcomes when the process ends


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
        key: The key that signs the tokens of decisions, or None.
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
        return remote_bid(self._ask, value, reserve, at, classes)

    def decide_many(
        self,
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
        return Bids.of(remote_bids(self._ask, values, reserve, at, classes))

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
        self._outbox.put([row_of(bid, won, highest_competing_bid, reserve, correction=correction)])

    def outcomes(
        self,
        bids: Bids | Sequence[Bid | str | bytes],
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
        flags = _column("won", won, count)
        prices = _column("highest_competing_bid", highest_competing_bid, count)
        floors = _column("reserve", reserve, count)
        rows = [
            row_of(bid, flags[i], prices[i], floors[i], correction=False)
            for i, bid in enumerate(bids)
            if not isinstance(bid, Bid) or bid.amount is not None
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


def _column(name: str, given: Any, count: int) -> list[Any]:
    """Return a value for each row; NaN becomes None."""
    if given is None or np.ndim(given) == 0:
        return [given] * count
    values = given.tolist() if isinstance(given, np.ndarray) else list(given)
    if len(values) != count:
        expected = f"one value for all bids, or one for each of {count} bids"
        got = verbatim(f"{len(values)} values")
        reject("outcomes", name, expected, got, error=InvalidLossesError)
    return [None if isinstance(one, float) and one != one else one for one in values]  # noqa: PLR0124
