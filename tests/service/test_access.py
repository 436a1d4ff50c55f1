"""Access tokens, roles and rates."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from crossbandit.errors import InvalidParameterError
from crossbandit.service.causes import Refusal
from crossbandit.service.http.access import Access, AccessToken, TokenHolder, read_tokens
from crossbandit.service.serving import read_key

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "a-secret-of-some-length"  # noqa: S105 - for these tests
OTHER = "another-secret-of-a-length"
FILE = f"""
[[token]]
name = "web"
roles = ["decide", "report"]
secret = "{SECRET}"

[[token]]
name = "boss"
roles = ["admin"]
sha256 = "{hashlib.sha256(OTHER.encode()).hexdigest()}"
rate = 5
"""


def bearer(secret: str) -> bytes:
    return f"Bearer {secret}".encode()


def refusal(access: Access, authorization: bytes | None, role: str) -> str:
    with pytest.raises(Refusal) as caught:
        access.check(authorization, role)
    assert SECRET not in str(caught.value)
    return caught.value.code


def test_roles() -> None:
    access = Access(read_tokens(None, {"CROSSBANDIT_TOKENS": FILE}))
    web, boss = bearer(SECRET), bearer(OTHER)
    assert access.check(web, "decide").name == "web"
    assert access.check(web, "report").name == "web"
    assert access.check(web, "read").name == "web"
    assert refusal(access, web, "admin") == "forbidden"
    for role in ("decide", "report", "admin", "read"):
        assert access.check(boss, role).name == "boss"


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        b"",
        b"Bearer",
        b"Bearer ",
        bearer(SECRET[:-1]),
        bearer(SECRET + "x"),
        bearer(SECRET.upper()),
        f"Basic {SECRET}".encode(),
        SECRET.encode(),
        bearer(hashlib.sha256(OTHER.encode()).hexdigest()),  # the hash is not the token
        b"Bearer \xff\xfe",
    ],
)
def test_a_wrong_token_is_refused(authorization: bytes | None) -> None:
    access = Access(read_tokens(None, {"CROSSBANDIT_TOKENS": FILE}))
    assert refusal(access, authorization, "read") == "unauthorized"


def test_without_tokens_everybody_may_do_everything() -> None:
    assert Access().check(None, "admin").name == "anybody"
    assert Access().open
    assert not Access([AccessToken("web", ["decide"], secret=SECRET)]).open


def test_a_rate_is_kept() -> None:
    now = [100.0]
    bucket = TokenHolder(AccessToken("web", ["decide"]), 4.0, clock=lambda: now[0])
    assert [bucket.take() for _ in range(9)] == [0.0] * 8 + [0.25]
    now[0] += 0.25
    assert [bucket.take(), bucket.take()] == [0.0, 0.25]
    now[0] += 1_000.0
    assert [bucket.take() for _ in range(9)] == [0.0] * 8 + [0.25]


def test_each_token_has_a_rate_of_its_own() -> None:
    now = [0.0]
    tokens = read_tokens(None, {"CROSSBANDIT_TOKENS": FILE})
    access = Access(tokens, rate=1.0, clock=lambda: now[0])
    for _ in range(2):
        access.check(bearer(SECRET), "decide")
    assert refusal(access, bearer(SECRET), "decide") == "too-many-requests"
    for _ in range(10):
        access.check(bearer(OTHER), "decide")
    assert refusal(access, bearer(OTHER), "decide") == "too-many-requests"
    now[0] += 1.0
    access.check(bearer(SECRET), "decide")


def test_guesses_are_limited_too() -> None:
    access = Access([AccessToken("web", ["decide"], secret=SECRET)], rate=1.0, clock=lambda: 0.0)
    codes = [refusal(access, bearer("wrong"), "decide") for _ in range(3)]
    assert codes == ["unauthorized", "unauthorized", "too-many-requests"]
    access.check(bearer(SECRET), "decide")  # who has a token is not kept out by that


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("token = 1", "has a mistake: Expected `array`, got `int` - at `$.token`"),
        ("", "has a mistake: Object missing required field `token`"),
        (f'secret = "{SECRET}', "is not valid TOML"),
        ('[[token]]\nname = "a"\nroles = ["root"]', "Invalid enum value 'root'"),
        ('[[token]]\nname = "a"\nroles = []', "length >= 1"),
        ('[[token]]\nname = "a"\nroles = ["admin"]', "must have either 'secret' or 'sha256'"),
        (FILE + 'secret = "x"', "must have either 'secret' or 'sha256'"),
        ('[[token]]\nname = "a"\nroles = ["admin"]\nsecret = "short"', "at least 16 ASCII"),
        ('[[token]]\nname = "a"\nroles = ["admin"]\nsha256 = "12"', "64 hexadecimal digits"),
        ('[[token]]\nname = "a"\nroles = ["admin"]\nkey = "12"', "unknown field `key`"),
        (FILE + FILE, "two tokens with the same name"),
    ],
)
def test_a_wrong_file_is_explained(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "tokens.toml"
    file.write_text(text)
    with pytest.raises(InvalidParameterError) as caught:
        read_tokens(file, {})
    assert message in str(caught.value)
    assert str(file) in str(caught.value)
    assert SECRET not in str(caught.value)


def test_a_missing_file_is_explained(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match="cannot be read: No such file"):
        read_tokens(tmp_path / "none", {})


def test_no_file_means_no_tokens() -> None:
    assert read_tokens(None, {}) == []


def test_a_token_does_not_show_its_secret() -> None:
    assert SECRET not in repr(AccessToken("web", ["decide"], secret=SECRET))


@pytest.mark.parametrize(("mode", "count"), [(0o644, 1), (0o604, 1), (0o640, 0), (0o600, 0)])
def test_secrets_that_everybody_can_read_are_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int, count: int
) -> None:
    tokens, key = tmp_path / "tokens.toml", tmp_path / "key"
    tokens.write_text('[[token]]\nname = "web"\nroles = ["decide"]\nsecret = "0123456789abcdef"')
    key.write_text("a key")
    for path in (tokens, key):
        path.chmod(mode)
    assert read_tokens(tokens, {})[0].name == "web"
    assert read_key(key, {}) == b"a key"
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2 * count
    for path, text in zip((tokens, key), said, strict=False):
        assert f"chmod o-rwx {path}" in text
