"""A bid that the service decided on."""

from __future__ import annotations

from dataclasses import dataclass

from crossbandit.algorithms.tokens import token_bytes
from crossbandit.applications.bids import Bid
from crossbandit.errors import DecisionError


@dataclass(frozen=True)
class ServedBid(Bid):
    """A bid that the service decided on: it has a token, and nothing else that could be learned by.

    Attributes:
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
            raise DecisionError("This bid has nothing to report: no bid was made.")
        return self.served

    @property
    def token(self) -> bytes:
        """The token as bytes.

        Raises:
            DecisionError: No bid was made.
        """
        return token_bytes(self.text)
