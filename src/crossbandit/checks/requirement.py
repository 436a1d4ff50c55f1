"""What a check does when it fails."""

from __future__ import annotations

from crossbandit.errors import CheckFailedError


def require(condition: object, found: str, hint: str) -> None:
    """Raise CheckFailedError with what was found and the likely mistake, unless `condition`."""
    if not condition:
        raise CheckFailedError(f"{found} {hint}")
