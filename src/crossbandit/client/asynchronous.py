"""A client of the service, for asyncio."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self

from crossbandit.client.client import Client, ClientStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from crossbandit.applications.bidding.bids import Bid, Bids
    from crossbandit.applications.money import Flag, Money
    from crossbandit.laws.levels import Label


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

    async def decide(
        self, value: Money, *, reserve: Money | None = None, at: Any = None, **classes: Label
    ) -> Bid:
        """Choose a bid; see `Client.decide`.

        Args:
            value: What winning is worth.
            reserve: The reserve price of this auction, if it is known.
            at: The time of the auction, for budgets; by default now.
            **classes: A level of each of the bidder's classes.

        Returns:
            The bid; pass it to `outcome` when the outcome is known.
        """
        made: Bid = await self._call(self._client.decide, value, reserve=reserve, at=at, **classes)
        return made

    async def decide_many(
        self,
        values: npt.ArrayLike,
        *,
        reserve: npt.ArrayLike | None = None,
        at: Any = None,
        **classes: Any,
    ) -> Bids:
        """Choose many bids at once; see `Client.decide_many`.

        Args:
            values: What winning is worth, in each auction.
            reserve: The reserve price of all auctions, or of each; NaN where it is not known.
            at: The time of all auctions.
            **classes: For each class, one level for all auctions, or a column of levels.

        Returns:
            The bids, in the order of the values.
        """
        method = self._client.decide_many
        made: Bids = await self._call(method, values, reserve=reserve, at=at, **classes)
        return made

    async def outcome(
        self,
        bid: Bid | str | bytes,
        *,
        won: Flag,
        highest_competing_bid: Money | None = None,
        reserve: Money | None = None,
        correction: bool = False,
    ) -> None:
        """Report the outcome of an auction, in the background; see `Client.outcome`.

        Args:
            bid: The bid, or its token as text or bytes.
            won: Whether it won.
            highest_competing_bid: As for `FirstPriceBidder.settle`.
            reserve: As for `FirstPriceBidder.settle`.
            correction: As for `FirstPriceBidder.settle`.
        """
        self._client.outcome(
            bid,
            won=won,
            highest_competing_bid=highest_competing_bid,
            reserve=reserve,
            correction=correction,
        )

    async def outcomes(
        self,
        bids: Bids | Sequence[Bid | str | bytes],
        *,
        won: npt.ArrayLike,
        highest_competing_bid: npt.ArrayLike | None = None,
        reserve: npt.ArrayLike | None = None,
    ) -> None:
        """Report the outcomes of many auctions, in the background; see `Client.outcomes`.

        Args:
            bids: The bids, or their tokens.
            won: Whether each bid won.
            highest_competing_bid: As for `Client.outcomes`.
            reserve: As for `Client.outcomes`.
        """
        self._client.outcomes(
            bids, won=won, highest_competing_bid=highest_competing_bid, reserve=reserve
        )

    async def flush(self, timeout: float = 30.0) -> None:
        """Wait until the service has acknowledged all outcomes; see `Client.flush`.

        Args:
            timeout: How many seconds to wait at most.
        """
        await asyncio.to_thread(self._client.flush, timeout)

    async def close(self, timeout: float = 30.0) -> None:
        """Send all waiting outcomes, and close the client; see `Client.close`.

        Args:
            timeout: How many seconds to wait at most.
        """
        await asyncio.to_thread(self._client.close, timeout)

    async def _call(self, method: Any, *given: Any, **named: Any) -> Any:
        """Call a method here if it decides from a snapshot, and in a thread otherwise."""
        if self._client.local:
            return method(*given, **named)
        return await asyncio.to_thread(method, *given, **named)
