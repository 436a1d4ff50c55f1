"""Tokens: a decision as a few bytes that carry all that learning from it needs.

A token has a header of 34 bytes, a payload and a digest of 8 bytes:

    version (1), kind (1), learner (8), decider (8), counter (8), time (8), payload, digest (8)

Integers and the time, a double, are stored with low bytes first. The digest is the BLAKE2b hash of
everything before it. With a `key` it cannot be computed by anybody who does not have the key, so a
forged token is refused; without a key it only protects from damage.
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
from hashlib import blake2b
from hmac import compare_digest
from typing import NamedTuple

from crossbandit.errors import DamagedTokenError
from crossbandit.validation import reject, verbatim

FORMAT = 2

GRAPH = 1  # the payload of a learner with a feedback graph
LAW = 2  # the payload of a learner of a law

_HEADER = struct.Struct("<BB8s8sqd")
_DIGEST = 8
_LONGEST_KEY = 64

OVERHEAD = _HEADER.size + _DIGEST


class Token(NamedTuple):
    """What a token says.

    The decider and the counter together name one decision. The decider is the learner itself or one
    of its snapshots. Each counts its own decisions, so no two decisions have the same name although
    they are not coordinated.

    Attributes:
        kind: What the payload is: `GRAPH` or `LAW`.
        learner: The id of the learner that may learn from it, 16 hexadecimal digits.
        decider: The id of what made the decision: the learner, or one of its snapshots.
        counter: The number of the decision, as its decider counts.
        time: When the decision was made, in seconds.
        payload: The rest, as the learner wrote it.

    >>> token = Token(GRAPH, "0" * 16, "1" * 16, counter=7, time=1.5, payload=b"weights")
    >>> Token.decode(token.encode()) == Token.decode(token.text()) == token
    True
    """

    kind: int
    learner: str
    decider: str
    counter: int
    time: float
    payload: bytes = b""

    def encode(self, key: bytes | None = None) -> bytes:
        """Return the token as bytes.

        Args:
            key: A secret of 1 to 64 bytes, or None.

        Returns:
            `OVERHEAD` bytes more than the payload.
        """
        learner, decider = bytes.fromhex(self.learner), bytes.fromhex(self.decider)
        header = _HEADER.pack(FORMAT, self.kind, learner, decider, self.counter, self.time)
        body = header + self.payload
        return body + _digest(body, key)

    def text(self, key: bytes | None = None) -> str:
        """Return the token as text that a URL can hold: base64 without padding.

        Args:
            key: A secret of 1 to 64 bytes, or None.
        """
        return to_text(self.encode(key))

    @classmethod
    def decode(cls, token: bytes | str, key: bytes | None = None) -> Token:
        """Return what a token says.

        Args:
            token: What `encode` or `text` returned.
            key: The key with which it was encoded.

        Raises:
            DamagedTokenError: It is not a token, is damaged, has another version, or was made with
                another key.
        """
        data = token_bytes(token)
        if len(data) < OVERHEAD:
            raise _damaged(f"{len(data)} bytes, where a token has at least {OVERHEAD}")
        if data[0] != FORMAT:
            raise _damaged(
                f"a token of format {data[0]}, where this version of Crossbandit reads format "
                f"{FORMAT}; the version that made it can read it"
            )
        body, digest = data[:-_DIGEST], data[-_DIGEST:]
        if not compare_digest(_digest(body, key), digest):
            raise _damaged("a token whose digest is wrong")
        _, kind, learner, decider, counter, time = _HEADER.unpack_from(body)
        if counter < 0 or not math.isfinite(time):
            raise _damaged(f"a token with the counter {counter} and the time {time}")
        return cls(kind, learner.hex(), decider.hex(), counter, time, body[_HEADER.size :])


def to_text(token: bytes) -> str:
    """Return the bytes of a token as text that a URL can hold: base64 without padding."""
    return base64.urlsafe_b64encode(token).rstrip(b"=").decode("ascii")


def checked_key(owner: str, name: str, key: object) -> bytes | None:
    """Return a key, or raise if it cannot be one.

    Args:
        owner: The class that has the parameter, for messages.
        name: The parameter.
        key: A secret of 1 to 64 bytes, or None.

    Raises:
        InvalidParameterError: It is something else. The message does not show it.
    """
    if key is None:
        return None
    expected = f"None, or from 1 to {_LONGEST_KEY} bytes"
    if not isinstance(key, bytes):
        reject(owner, name, expected, verbatim(f"a value of type {type(key).__name__}"))
    if not 1 <= len(key) <= _LONGEST_KEY:
        reject(owner, name, expected, verbatim(f"{len(key)} bytes"))
    return key


def _digest(body: bytes, key: bytes | None) -> bytes:
    return blake2b(body, digest_size=_DIGEST, key=key or b"").digest()


def token_bytes(token: object) -> bytes:
    """Return the bytes of a token that may be text; what they say is not checked.

    Raises:
        DamagedTokenError: It is neither bytes nor base64.
    """
    if isinstance(token, bytes | bytearray | memoryview):
        return bytes(token)
    if not isinstance(token, str):
        raise _damaged(f"a value of type {type(token).__name__}")
    try:
        padded = token.encode("ascii") + b"=" * (-len(token) % 4)
        return base64.b64decode(padded, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):  # a ValueError if it is not ASCII
        raise _damaged("text that is not base64") from None


def _damaged(got: str) -> DamagedTokenError:
    return DamagedTokenError(
        "A token must be the bytes or the text that a decision gave, unchanged, and be read with "
        f"the key with which it was made. Got {got}. Drop it, or look for what changed it."
    )
