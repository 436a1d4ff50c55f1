"""Pack plain values into a few bytes, for the token of an action."""

from __future__ import annotations

import re
import struct
from typing import Any

_FLOAT, _INT, _LENGTH = struct.Struct("<d"), struct.Struct("<q"), struct.Struct("<H")
# Marks from here on hold the length of a tuple, or of a text, if it is less than 64.
_SHORT = {b"(": 0x80, b"s": 0xC0}
_LARGE = 1 << 56  # for larger numbers, groups of 7 bits are not shorter
_CONSTANTS = {None: b"N", True: b"T", False: b"F"}
_MEANINGS = {tag[0]: value for value, tag in _CONSTANTS.items()}
_NUMBERS = {b"f"[0]: _FLOAT, b"i"[0]: _INT}
_MARK_GROUPS, _MARK_HASH, _MARK_TEXT, _MARK_BYTES, _MARK_TUPLE = b"vhsb("
_HASH = re.compile("#[0-9a-f]{16}")  # a long label; see `crossbandit.laws.levels.short`
_DEEPEST = 4


def packed(value: Any) -> bytes:
    """Return a value as bytes: None, a boolean, a number, a text, bytes, or a tuple of such.

    Args:
        value: The value. An integer has at most 64 bits; texts, bytes and tuples have a length of
            at most 65,535.

    >>> unpacked(packed((0.5, None, "site", True, -3)))
    (0.5, None, 'site', True, -3)
    """
    if value is None or isinstance(value, bool):
        return _CONSTANTS[value]
    if isinstance(value, int):
        return b"v" + _groups(value) if 0 <= value < _LARGE else b"i" + _INT.pack(value)
    if isinstance(value, float):
        return b"f" + _FLOAT.pack(value)
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
    """Return the value that `packed` turned into bytes.

    Args:
        data: The bytes.

    Raises:
        ValueError: They are not such bytes.
    """
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
        return _NUMBERS[mark].unpack_from(data, at)[0], at + 8
    if mark in _MEANINGS:
        return _MEANINGS[mark], at
    if mark == _MARK_GROUPS:
        return _read_groups(data, at)
    if mark == _MARK_HASH:
        return "#" + _part(data, at, 8).hex(), at + 8
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
