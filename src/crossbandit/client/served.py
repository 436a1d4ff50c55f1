"""Bids for which the service decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.applications.bidding.bids import Bid
from crossbandit.errors import DecisionError
from crossbandit.learners.tokens import token_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    Ask = Callable[[str, dict[str, Any]], Any]

_AT_ONCE = 1_000  # decisions in one request


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
