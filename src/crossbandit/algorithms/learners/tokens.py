"""Tokens: a decision as a few bytes that carry all that learning from it needs.

A token has a header of 34 bytes, a payload and a digest of 8 bytes:

    version (1), kind (1), learner (8), decider (8), counter (8), time (8), payload, digest (8)

Integers and the time, a double, are stored with low bytes first. The digest is the BLAKE2b hash of
everything before it. With a `key` it cannot be computed by anybody who does not have the key, so a
forged token is refused; without a key it only protects from damage. The highest bit of the kind
says whether there was a key, so that a missing key is not taken for damage.

The payload of an action has its fields, packed as plain values.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
from hashlib import blake2b
from hmac import compare_digest
from typing import Any, NamedTuple

from crossbandit.core.validation import reject, verbatim
from crossbandit.errors import DamagedTokenError

FORMAT = 2

GRAPH = 1  # the payload of a learner with a feedback graph
LAW = 2  # the fields of an action, and the payload of a learner of a law
ACTION = 3  # the fields of an action, and the token of its decision

_SIGNED = 0x80  # a bit of the kind; earlier tokens lack it
_HEADER = struct.Struct("<BB8s8sqd")
_DIGEST = 8
_LONGEST_KEY = 64

_KEYLESS = "A file does not hold the key: set 'token_key' again after 'load'."

OVERHEAD = _HEADER.size + _DIGEST


class Token(NamedTuple):
    """What a token says.

    The decider and the counter together name one decision. The decider is the learner itself or one
    of its snapshots. Each counts its own decisions, so no two decisions have the same name although
    they are not coordinated.

    >>> token = Token(GRAPH, "0" * 16, "1" * 16, counter=7, time=1.5, payload=b"weights")
    >>> Token.decode(token.encode()) == Token.decode(token.text()) == token
    True
    """

    kind: int  # what the payload is: `GRAPH` or `LAW`
    learner: str  # the id of the learner that may learn from it, 16 hexadecimal digits
    decider: str  # the id of what made the decision: the learner, or one of its snapshots
    counter: int  # the number of the decision, as its decider counts
    time: float  # when the decision was made, in seconds
    payload: bytes = b""  # the rest, as the learner wrote it

    def encode(self, key: bytes | None = None) -> bytes:
        """Return the token as bytes."""
        learner, decider = bytes.fromhex(self.learner), bytes.fromhex(self.decider)
        kind = self.kind if key is None else self.kind | _SIGNED
        header = _HEADER.pack(FORMAT, kind, learner, decider, self.counter, self.time)
        body = header + self.payload
        return body + _digest(body, key)

    def text(self, key: bytes | None = None) -> str:
        """Return the token as text that a URL can hold: base64 without padding."""
        return to_text(self.encode(key))

    @classmethod
    def decode(cls, token: bytes | str, key: bytes | None = None) -> Token:
        """Return what a token says."""
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
            if key is None and data[1] & _SIGNED:
                raise _damaged("a token that is signed, where no key is set", _KEYLESS)
            if key is not None and compare_digest(_digest(body, None), digest):
                raise _damaged("a token that was made without a key, where one is set now")
            other = "" if key is None else ", or that was made with another key"
            raise _damaged(f"a token whose digest is wrong{other}")
        _, kind, learner, decider, counter, time = _HEADER.unpack_from(body)
        if counter < 0 or not math.isfinite(time):
            raise _damaged(f"a token with the counter {counter} and the time {time}")
        payload = body[_HEADER.size :]
        return cls(kind & ~_SIGNED, learner.hex(), decider.hex(), counter, time, payload)


def to_text(token: bytes) -> str:
    """Return the bytes of a token as text that a URL can hold: base64 without padding."""
    return base64.urlsafe_b64encode(token).rstrip(b"=").decode("ascii")


def checked_key(owner: str, name: str, key: object) -> bytes | None:
    """Return a key, or raise if it cannot be one."""
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
    """Return the bytes of a token that may be text; what they say is not checked."""
    if isinstance(token, bytes | bytearray | memoryview):
        return bytes(token)
    if not isinstance(token, str):
        raise _damaged(f"a value of type {type(token).__name__}")
    try:
        padded = token.encode("ascii") + b"=" * (-len(token) % 4)
        return base64.b64decode(padded, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):  # a ValueError if it is not ASCII
        raise _damaged("text that is not base64") from None


def _damaged(got: str, remedy: str = "Drop it, or look for what changed it.") -> DamagedTokenError:
    return DamagedTokenError(
        "A token must be the bytes or the text that a decision gave, unchanged, and be read with "
        f"the key with which it was made. Got {got}. {remedy}"
    )


# ----------------------------------------------------------------------------------- packed values

_FLOAT, _INT, _LENGTH = struct.Struct("<d"), struct.Struct("<q"), struct.Struct("<H")
_SINGLE, _SINGLES = struct.Struct("<f"), 3e38  # floats of 32 bits, and a bound on them
# Marks from here on hold the length of a tuple, or of a text, if it is less than 64.
_SHORT = {b"(": 0x80, b"s": 0xC0}
_LARGE = 1 << 56  # for larger numbers, groups of 7 bits are not shorter
_CONSTANTS = {None: b"N", True: b"T", False: b"F"}
_MEANINGS = {tag[0]: value for value, tag in _CONSTANTS.items()}
_NUMBERS = {b"f"[0]: _FLOAT, b"e"[0]: _SINGLE, b"i"[0]: _INT}
_MARK_GROUPS, _MARK_HASH, _MARK_TEXT, _MARK_BYTES, _MARK_TUPLE = b"vhsb("
_HASH = re.compile("#[0-9a-f]{8}")  # a long label; see `crossbandit.laws.levels.short`
_DEEPEST = 4


def packed(value: Any) -> bytes:
    """Return a value as bytes: None, a boolean, a number, a text, bytes, or a tuple of such.

    >>> unpacked(packed((0.5, None, "site", True, -3)))
    (0.5, None, 'site', True, -3)
    """
    if value is None or isinstance(value, bool):
        return _CONSTANTS[value]
    if isinstance(value, int):
        return b"v" + _groups(value) if 0 <= value < _LARGE else b"i" + _INT.pack(value)
    if isinstance(value, float):
        fits = abs(value) < _SINGLES and _SINGLE.unpack(_SINGLE.pack(value))[0] == value
        return b"e" + _SINGLE.pack(value) if fits else b"f" + _FLOAT.pack(value)
    if isinstance(value, str | bytes):
        if isinstance(value, str) and _HASH.fullmatch(value):
            return b"h" + bytes.fromhex(value[1:])
        tag, content = (b"s", value.encode()) if isinstance(value, str) else (b"b", value)
        return _begin(tag, len(content)) + content
    if isinstance(value, tuple):
        return _begin(b"(", len(value)) + b"".join(map(packed, value))
    raise TypeError(f"cannot pack a {type(value).__name__}")


def _begin(mark: bytes, length: int) -> bytes:
    """Return the mark and the length of something."""
    if length < 64 and mark in _SHORT:
        return bytes([_SHORT[mark] + length])
    return mark + _LENGTH.pack(length)


def _groups(value: int) -> bytes:
    """Return a number in groups of 7 bits, low ones first; the highest bit says that more come."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_groups(data: bytes, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        group = data[at]
        value |= (group & 127) << shift
        at, shift = at + 1, shift + 7
        if group < 128:
            break
        if shift > 49:
            raise ValueError("a number that is too large")
    return value, at


def _part(data: bytes, at: int, length: int) -> bytes:
    content = data[at : at + length]
    if len(content) < length:
        raise IndexError("a text is cut off")
    return content


def unpacked(data: bytes) -> Any:
    """Return the value that `packed` turned into bytes."""
    try:
        value, end = _read(data, 0, 0)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ValueError(f"bytes that end too early or hold no text: {error}") from None
    if end != len(data):
        raise ValueError(f"{len(data) - end} bytes too many")
    return value


def _read(data: bytes, at: int, depth: int) -> tuple[Any, int]:
    mark, at = data[at], at + 1
    if mark in _NUMBERS:
        return _NUMBERS[mark].unpack_from(data, at)[0], at + _NUMBERS[mark].size
    if mark in _MEANINGS:
        return _MEANINGS[mark], at
    if mark == _MARK_GROUPS:
        return _read_groups(data, at)
    if mark == _MARK_HASH:
        return "#" + _part(data, at, 4).hex(), at + 4
    if mark >= 0x80:
        mark, length = _MARK_TEXT if mark >= 0xC0 else _MARK_TUPLE, mark & 63
    else:
        length, at = _LENGTH.unpack_from(data, at)[0], at + 2
    if mark in (_MARK_TEXT, _MARK_BYTES):
        content = _part(data, at, length)
        return (content.decode() if mark == _MARK_TEXT else content), at + length
    if mark != _MARK_TUPLE or depth >= _DEEPEST:
        raise ValueError(f"an unknown mark, {bytes([mark])!r}")
    values = []
    for _ in range(length):
        value, at = _read(data, at, depth + 1)
        values.append(value)
    return tuple(values), at
