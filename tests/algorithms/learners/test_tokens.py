"""Tokens come back as they were made, and nothing else is taken for one."""

import math
import struct
from hashlib import blake2b
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossbandit.algorithms.learners.seen import new_id
from crossbandit.algorithms.learners.tokens import GRAPH, LAW, OVERHEAD, Token, checked_key
from crossbandit.errors import DamagedTokenError, DecisionError, InvalidParameterError

LEARNER, DECIDER = "00112233445566ff", "a0b1c2d3e4f50617"

ids = st.binary(min_size=8, max_size=8).map(bytes.hex)
tokens = st.builds(
    Token,
    st.sampled_from([GRAPH, LAW, 127]),
    ids,
    ids,
    st.integers(0, 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.binary(max_size=60),
)
keys = st.none() | st.binary(min_size=1, max_size=64)


@given(tokens, keys)
def test_a_token_comes_back_from_bytes_and_from_text(token: Token, key: bytes | None) -> None:
    data, text = token.encode(key), token.text(key)
    assert Token.decode(data, key) == Token.decode(text, key) == token
    assert len(data) == len(token.payload) + OVERHEAD
    assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def test_the_overhead_leaves_room_for_a_short_payload() -> None:
    assert OVERHEAD == 42


def test_the_layout_of_a_token_is_fixed() -> None:
    """Tokens live longer than a version of the package: each byte has its place."""
    token = Token(LAW, LEARNER, DECIDER, 258, 1.5, b"xyz")
    body = bytes([2, 2]) + bytes.fromhex(LEARNER) + bytes.fromhex(DECIDER)
    body += struct.pack("<q", 258) + struct.pack("<d", 1.5) + b"xyz"
    assert token.encode() == body + blake2b(body, digest_size=8).digest()
    signed = bytes([2, 2 + 128]) + body[2:]
    assert token.encode(b"k") == signed + blake2b(signed, digest_size=8, key=b"k").digest()


@given(tokens, keys, st.data())
def test_every_flipped_bit_and_every_lost_byte_is_noticed(
    token: Token, key: bytes | None, data: st.DataObject
) -> None:
    whole = token.encode(key)
    bit = data.draw(st.integers(0, 8 * len(whole) - 1))
    flipped = bytearray(whole)
    flipped[bit // 8] ^= 1 << bit % 8
    cut = data.draw(st.integers(0, len(whole) - 1))
    for wrong in (bytes(flipped), whole[:cut], whole + b"\0"):
        with pytest.raises(DamagedTokenError, match="A token must be the bytes or the text"):
            Token.decode(wrong, key)


@given(tokens, keys, keys)
def test_a_token_of_another_key_is_refused(token: Token, one: Any, other: Any) -> None:
    if one == other:
        return
    with pytest.raises(DamagedTokenError, match="with the key with which it was made"):
        Token.decode(token.encode(one), other)


@pytest.mark.parametrize(
    ("made", "read", "found"),
    [
        (b"one", None, "that is signed, where no key is set.*set 'token_key' again after 'load'"),
        (None, b"one", "that was made without a key, where one is set now"),
        (b"one", b"two", "whose digest is wrong, or that was made with another key"),
    ],
)
def test_a_missing_key_is_not_taken_for_damage(made: Any, read: Any, found: str) -> None:
    with pytest.raises(DamagedTokenError, match=found):
        Token.decode(Token(GRAPH, LEARNER, DECIDER, 0, 0.0).encode(made), read)


def test_a_signed_token_that_does_not_say_so_is_still_read() -> None:
    """Tokens had no such bit at first."""
    plain = Token(GRAPH, LEARNER, DECIDER, 3, 1.0, b"weights")
    body = plain.encode()[:-8]
    old = body + blake2b(body, digest_size=8, key=b"one").digest()
    assert Token.decode(old, b"one") == Token.decode(plain.encode(b"one"), b"one") == plain


@pytest.mark.parametrize("wrong", [None, 7, "", b"", "not base64!", "ä" * 60, "A" * 57, object()])
def test_what_is_no_token_is_refused(wrong: Any) -> None:
    with pytest.raises(DecisionError, match="Got"):
        Token.decode(wrong)


@pytest.mark.parametrize(("counter", "time"), [(-1, 0.0), (0, math.nan), (0, math.inf)])
def test_impossible_numbers_are_refused(counter: int, time: float) -> None:
    token = Token(GRAPH, LEARNER, DECIDER, counter, time)
    with pytest.raises(DamagedTokenError, match="the counter"):
        Token.decode(token.encode())


def test_another_version_is_refused_by_name() -> None:
    data = b"\x01" + Token(GRAPH, LEARNER, DECIDER, 0, 0.0).encode()[1:]
    with pytest.raises(DamagedTokenError, match=r"of format 1, .* reads format 2; .* made it"):
        Token.decode(data)


@pytest.mark.parametrize("key", [b"", b"x" * 65, "secret", 7])
def test_a_key_that_cannot_be_one_is_refused_and_not_shown(key: Any) -> None:
    with pytest.raises(InvalidParameterError, match="'key' parameter of Learner") as caught:
        checked_key("Learner", "key", key)
    assert "secret" not in str(caught.value)


def test_ids_differ() -> None:
    assert len({new_id() for _ in range(100)}) == 100
