"""Errors of the service, and a short code for every error that it may answer with."""

from __future__ import annotations

from typing import ClassVar

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
        code: A short name that does not change, for programs.
    """

    code: ClassVar[str] = "error"


class UnknownBidderError(ServiceError):
    """There is no bidder of that name."""

    code = "unknown-bidder"


class BidderExistsError(ServiceError):
    """There is a bidder of that name already."""

    code = "exists"


class PausedError(ServiceError):
    """The bidder is paused: it does not decide."""

    code = "paused"


class NotReadyError(ServiceError):
    """The bidder cannot decide yet: it is being loaded, or another node takes it over."""

    code = "not-ready"


class HeldElsewhereError(NotReadyError):
    """Another node decides for this bidder, as it has limits.

    Args:
        message: What to do.
        url: The address of that node, or None if it has none.
    """

    def __init__(self, message: str, url: str | None) -> None:
        super().__init__(message)
        self.url = url


class StoreError(ServiceError):
    """The store cannot be reached, or cannot be written. Nothing is acknowledged."""

    code = "store-unavailable"


class OverloadedError(ServiceError):
    """More is waiting to be stored than there is room for."""

    code = "too-many-requests"


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
