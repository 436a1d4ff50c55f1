"""Errors of the service, and the short code and the HTTP status of every error."""

from __future__ import annotations

from collections.abc import Sequence

from crossbandit.errors import (
    CrossbanditError,
    DamagedTokenError,
    DecisionError,
    ExpiredDecisionError,
    ForeignDecisionError,
    InvalidInputError,
    InvalidLossesError,
    LearnedBeforeError,
    MissingOutcomesError,
)


class ServiceError(CrossbanditError):
    """An error of the service.

    Attributes:
        code: A short name for programs. It does not change between versions.
    """

    code: str = "error"


class UnknownBidderError(ServiceError):
    """There is no bidder of that name."""

    code = "unknown-bidder"


class UnknownCampaignError(ServiceError):
    """A bidder has no campaign of that name."""

    code = "unknown-campaign"


class BidderExistsError(ServiceError):
    """A bidder of that name exists."""

    code = "exists"


class PausedError(ServiceError):
    """The bidder is paused: it does not decide."""

    code = "paused"


class ReportedOtherwiseError(ServiceError):
    """Another outcome of the same bid was reported before."""

    code = "reported-otherwise"


class NotReadyError(ServiceError):
    """The bidder cannot decide yet: it is being loaded, or another node is taking it over."""

    code = "not-ready"


class HeldElsewhereError(NotReadyError):
    """The bidder has limits, and another node decides for it.

    Args:
        message: The message.
        url: The address of that node, or None if it has none.
    """

    def __init__(self, message: str, url: str | None) -> None:
        super().__init__(message)
        self.url = url


class StoreError(ServiceError):
    """The store cannot be reached or written. Nothing is acknowledged."""

    code = "store-unavailable"


class LockedError(StoreError):
    """Another process has locked rows of the bidder. Other bidders can be written."""


class OverloadedError(ServiceError):
    """Too many outcomes are waiting to be stored."""

    code = "too-many-requests"


class Refusal(ServiceError):  # noqa: N818 - it becomes an answer
    """A request over HTTP is refused."""

    def __init__(
        self, code: str, message: str, headers: Sequence[tuple[bytes, bytes]] = ()
    ) -> None:
        super().__init__(message)
        self.code, self.headers = code, headers


_WITH_STATUS = {
    400: "invalid",
    401: "unauthorized",
    403: "forbidden",
    404: "not-found unknown-bidder unknown-campaign",
    405: "method-not-allowed",
    408: "too-slow",
    409: "exists paused learned-before reported-otherwise limited",
    413: "too-large",
    415: "not-json",
    422: "damaged-token foreign-token expired not-learned missing-outcomes contradiction",
    429: "too-many-requests",
    500: "error internal",
    503: "not-ready store-unavailable",
}
# The HTTP status of each code.
STATUS = {code: status for status, codes in _WITH_STATUS.items() for code in codes.split()}
_CODES: tuple[tuple[type[CrossbanditError], str], ...] = (
    (LearnedBeforeError, "learned-before"),
    (ExpiredDecisionError, "expired"),
    (ForeignDecisionError, "foreign-token"),
    (DamagedTokenError, "damaged-token"),
    (DecisionError, "not-learned"),
    (MissingOutcomesError, "missing-outcomes"),
    (InvalidLossesError, "contradiction"),
    (InvalidInputError, "invalid"),
)


def cause_of(error: Exception) -> str:
    """Return the code of an error.

    Args:
        error: The error.

    >>> cause_of(DamagedTokenError("A token must be ..."))
    'damaged-token'
    """
    if isinstance(error, ServiceError):
        return error.code
    return next((code for kind, code in _CODES if isinstance(error, kind)), "invalid")
