"""Plain values as a few bytes: what the token of an action holds."""

from __future__ import annotations

import struct
from typing import Any

_FLOAT, _INT, _LENGTH = struct.Struct("<d"), struct.Struct("<q"), struct.Struct("<H")
_CONSTANTS = {None: b"N", True: b"T", False: b"F"}
_MEANINGS = {tag: value for value, tag in _CONSTANTS.items()}
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
        return b"i" + _INT.pack(value)
    if isinstance(value, float):
        return b"f" + _FLOAT.pack(value)
    if isinstance(value, str | bytes):
        tag, content = (b"s", value.encode()) if isinstance(value, str) else (b"b", value)
        return tag + _LENGTH.pack(len(content)) + content
    if isinstance(value, tuple):
        return b"(" + _LENGTH.pack(len(value)) + b"".join(map(packed, value))
    raise TypeError(f"cannot pack a {type(value).__name__}")


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
    tag, at = data[at : at + 1], at + 1
    if tag in _MEANINGS:
        return _MEANINGS[tag], at
    if tag in (b"f", b"i"):
        form = _FLOAT if tag == b"f" else _INT
        return form.unpack_from(data, at)[0], at + 8
    length, at = _LENGTH.unpack_from(data, at)[0], at + 2
    if tag in (b"s", b"b"):
        content = data[at : at + length]
        if len(content) < length:
            raise IndexError("a text is cut off")
        return (content.decode() if tag == b"s" else content), at + length
    if tag != b"(" or depth >= _DEEPEST:
        raise ValueError(f"an unknown mark, {tag!r}")
    values = []
    for _ in range(length):
        value, at = _read(data, at, depth + 1)
        values.append(value)
    return tuple(values), at
