"""The status of a client, for threads and for asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crossbandit.client.outbox import Outbox, Refused
    from crossbandit.client.policy import PolicyPoller
    from crossbandit.errors import ClientError


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
