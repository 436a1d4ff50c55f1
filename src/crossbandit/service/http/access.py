"""Access tokens, with their roles and the number of requests that each may send."""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import re
import stat
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from crossbandit.errors import InvalidParameterError
from crossbandit.service.causes import Refusal

Role = Literal["decide", "report", "admin"]  # the roles of access tokens

# What an operation needs: one of these roles, any token, or none.
DECIDE, REPORT, ADMIN, READ, OPEN = "decide", "report", "admin", "read", "open"

VARIABLE = "CROSSBANDIT_TOKENS"
_log = logging.getLogger("crossbandit.service")
_SHORTEST = 16  # the fewest characters of a secret
_BURST = 2.0  # the requests of this many seconds may come at once


class AccessToken(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table `[[token]]` of the file of access tokens.

    Attributes:
        name: The name of its holder. The service shows it in place of the secret.
        roles: "decide" for decisions, snapshots and policies, "report" for outcomes, "admin" for
            everything.
        secret: The token itself. Give this or `sha256`.
        sha256: The SHA-256 hash of the token, for a file without secrets.
        rate: The number of requests per second that it may send; None for the service's default.
    """

    name: str
    roles: Annotated[list[Role], msgspec.Meta(min_length=1)]
    secret: str | None = None
    sha256: str | None = None
    rate: Annotated[float, msgspec.Meta(gt=0)] | None = None

    def __repr__(self) -> str:
        return f"AccessToken({self.name!r}, roles={self.roles})"


class _Tokens(msgspec.Struct, forbid_unknown_fields=True):
    token: Annotated[list[AccessToken], msgspec.Meta(min_length=1)]


def read_tokens(path: str | Path | None, environment: Mapping[str, str]) -> list[AccessToken]:
    """Return the access tokens in a file, or else in the variable CROSSBANDIT_TOKENS."""
    if path is None and VARIABLE not in environment:
        return []
    source = f"The file of access tokens {str(path)!r}" if path else f"The variable {VARIABLE}"
    try:
        text = secret_bytes(path).decode() if path else environment[VARIABLE]
        tokens = msgspec.convert(tomllib.loads(text), _Tokens).token
    except OSError as error:
        raise InvalidParameterError(f"{source} cannot be read: {error.strerror}.") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):  # its message might show a secret
        raise InvalidParameterError(f"{source} is not valid TOML. {_EXAMPLE}") from None
    except msgspec.ValidationError as error:
        raise InvalidParameterError(f"{source} has a mistake: {error}. {_EXAMPLE}") from None
    for number, token in enumerate(tokens):
        where, secret = f"{source}: token {number + 1}, {token.name!r},", token.secret
        if (secret is None) == (token.sha256 is None):
            raise InvalidParameterError(f"{where} must have either 'secret' or 'sha256'.")
        if secret is not None and (len(secret) < _SHORTEST or not secret.isascii()):
            raise InvalidParameterError(
                f"{where} must have a secret of at least {_SHORTEST} ASCII characters."
            )
        if token.sha256 is not None and not re.fullmatch(r"[0-9a-fA-F]{64}", token.sha256):
            raise InvalidParameterError(f"{where} must have a 'sha256' of 64 hexadecimal digits.")
    if len({token.name for token in tokens}) < len(tokens):
        raise InvalidParameterError(
            f"{source} has two tokens with the same name. Give each its own name."
        )
    return tokens


def secret_bytes(path: str | Path) -> bytes:
    """Return the content of a file with secrets. Log a warning if everybody may read it."""
    with Path(path).open("rb") as file:
        if os.name == "posix" and os.fstat(file.fileno()).st_mode & stat.S_IROTH:
            _log.warning(
                "All users of this machine can read the secrets in %s. Run: chmod o-rwx %s",
                path,
                path,
            )
        return file.read()


_EXAMPLE = (
    'It must have tables such as: [[token]] name = "web-1" roles = ["decide", "report"] '
    f'secret = "at least {_SHORTEST} random characters".'
)


class TokenHolder:
    """The sender of a request, with a token bucket: bursts of two seconds of its rate are allowed.

    `rate` is the number of requests per second, on average.
    """

    def __init__(
        self, token: AccessToken, rate: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.name, self.roles, self.rate = token.name, frozenset(token.roles), rate
        secret = (token.secret or "").encode()
        self.digest = bytes.fromhex(token.sha256 or hashlib.sha256(secret).hexdigest())
        self._most = max(_BURST * rate, 1.0)
        self._left, self._at, self._clock = self._most, clock(), clock

    def may(self, role: str) -> bool:
        """Return whether it has a role."""
        return role == "read" or role in self.roles or "admin" in self.roles

    def take(self) -> float:
        """Count a request; return how many seconds it comes too early."""
        now = self._clock()
        self._left = min(self._left + (now - self._at) * self.rate, self._most)
        self._at = now
        if self._left >= 1.0:
            self._left -= 1.0
            return 0.0
        return (1.0 - self._left) / self.rate


class Access:
    """Finds the sender of a request, and whether the request is allowed.

    Without tokens, everybody may do everything. Use this on loopback only.
    """

    def __init__(
        self,
        tokens: Sequence[AccessToken] = (),
        *,
        rate: float = 20_000.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.open = not tokens
        self._holders = [TokenHolder(one, one.rate or rate, clock) for one in tokens]
        anybody = AccessToken("anybody", ["admin"] if self.open else [])
        self._anybody = TokenHolder(anybody, rate, clock)

    def check(self, authorization: bytes | None, role: str) -> TokenHolder:
        """Return the sender of a request; raise if the request is not allowed."""
        holder = self._anybody if self.open else self._find(authorization)
        counted = holder or self._anybody
        wait = counted.take()
        if wait:
            raise Refusal(
                "too-many-requests",
                f"This token may send {counted.rate:g} requests per second, and has sent more. "
                f"Try again in {wait:.2g} seconds, or send batches.",
                headers=[(b"retry-after", str(max(1, round(wait + 0.5))).encode())],
            )
        if holder is None:
            raise Refusal(
                "unauthorized",
                "The request needs a valid access token: 'Authorization: Bearer TOKEN'.",
                headers=[(b"www-authenticate", b'Bearer realm="Crossbandit"')],
            )
        if not holder.may(role):
            raise Refusal(
                "forbidden", f"The access token {holder.name!r} does not have the role {role!r}."
            )
        return holder

    def _find(self, authorization: bytes | None) -> TokenHolder | None:
        """Return the holder of a token, in a time that does not depend on which holder it is."""
        scheme, _, secret = (authorization or b"").partition(b" ")
        digest = hashlib.sha256(secret.strip()).digest()
        found = None
        for holder in self._holders:
            if hmac.compare_digest(holder.digest, digest):
                found = holder
        return found if scheme.lower() == b"bearer" else None
