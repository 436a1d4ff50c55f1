"""The log of the service: one line for each request, as text or as JSON, without secrets."""

from __future__ import annotations

import io
import json
import logging
import threading
from typing import TYPE_CHECKING, Any

import pytest

from crossbandit.service import BidderSettings, Node, open_store
from crossbandit.service.http import Access, AccessToken, create_app
from tests.service.asgi import request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from starlette.applications import Starlette

SECRET = "0123456789abcdef-a-secret"  # noqa: S105 - of a test
HEADERS = {"authorization": f"Bearer {SECRET}", "host": "shop.example.org"}


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Starlette]:
    node = Node(open_store(tmp_path / "service.db"))
    node.start()
    node.create("shop", BidderSettings(value_range=(0, 10), bids=11))
    yield create_app(node, access=Access([AccessToken("boss", ["admin"], SECRET)]))
    node.close()


@pytest.fixture
def written() -> Iterator[Callable[[str], io.StringIO]]:
    """A function that makes the service write its log, in a format, to a stream."""
    from crossbandit.service.log_lines import LineFormatter

    logger = logging.getLogger("crossbandit")
    before, added = logger.level, []

    def begin(form: str) -> io.StringIO:
        stream = io.StringIO()
        added.append(logging.StreamHandler(stream))
        added[-1].setFormatter(LineFormatter(form))
        logger.addHandler(added[-1])
        logger.setLevel(logging.INFO)
        return stream

    yield begin
    logger.setLevel(before)
    for handler in added:
        logger.removeHandler(handler)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_each_request_is_a_line_with_its_facts(
    app: Starlette, written: Callable[[str], io.StringIO]
) -> None:
    stream = written("json")
    named = {**HEADERS, "x-request-id": "from-the-client"}
    answer = request(app, "POST", "/v1/bidders/shop/decide", {"value": 8.0}, headers=named)
    assert answer.headers["x-request-id"] == "from-the-client"
    asked = "/v1/bidders/shop/policy?value=7.125"
    assert request(app, "GET", asked, headers=HEADERS).status == 200
    assert request(app, "GET", "/v1/bidders/none", headers=HEADERS).status == 404
    assert request(app, "GET", "/nowhere", headers=HEADERS).status == 404
    assert request(app, "GET", "/v1/bidders").status == 401
    made, policy, unknown, nowhere, stranger = found = lines(stream)
    assert made["method"] == "POST"
    assert made["path"] == "/v1/bidders/shop/decide"
    assert made["status"] == 200
    assert made["bidder"] == "shop"
    assert made["request"] == "from-the-client"
    assert made["level"] == "info"
    assert 0 < made["milliseconds"] < 60_000
    assert [one["status"] for one in found] == [200, 200, 404, 404, 401]
    assert policy["path"] == "/v1/bidders/shop/policy"
    assert unknown["bidder"] == "none"
    assert "bidder" not in nowhere
    assert stranger["path"] == "/v1/bidders"
    assert len({one["request"] for one in found}) == 5
    whole = stream.getvalue()
    assert SECRET not in whole
    assert "7.125" not in whole  # a query may say what a value is
    assert answer.json["token"] not in whole


def test_an_error_has_the_id_of_its_request_and_one_line(
    app: Starlette, written: Callable[[str], io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(Node, "settings", fails)
    stream = written("json")
    named = {**HEADERS, "x-request-id": "no. 7"}
    answer = request(app, "GET", "/v1/bidders/shop", headers=named)
    assert answer.status == 500
    fault, line = lines(stream)
    assert fault["level"] == "error"
    assert fault["request"] == line["request"] == "no. 7"
    assert "RuntimeError: two\nlines" in fault["traceback"]
    assert line["level"] == "warning"
    assert line["status"] == 500


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_client_cannot_write_lines_of_its_own(
    app: Starlette, written: Callable[[str], io.StringIO], form: str
) -> None:
    stream = written(form)
    forged = "x\n2026-01-01 INFO forged"
    for path, headers in (
        (f"/v1/bidders/{forged}", HEADERS),
        ("/v1/bidders/shop", {**HEADERS, "x-request-id": forged}),
        ("/v1/bidders/shop", {**HEADERS, "x-request-id": "x" * 5_000}),
    ):
        answer = request(app, "GET", path, headers=headers)
        assert len(answer.headers["x-request-id"]) < 100
    assert len(stream.getvalue().splitlines()) == 3
    assert len(stream.getvalue()) < 2_000


def test_text_can_be_read(app: Starlette, written: Callable[[str], io.StringIO]) -> None:
    stream = written("text")
    request(app, "GET", "/v1/bidders/shop", headers={**HEADERS, "x-request-id": "abc"})
    time, level, rest = stream.getvalue().split(" ", 2)
    assert time.endswith("Z")
    assert level == "INFO"
    assert rest.startswith('request method="GET" path="/v1/bidders/shop" status=200 milliseconds=')
    assert rest.endswith(' bidder="shop" request="abc"\n')


def test_an_error_that_ends_a_thread_is_one_line(
    written: Callable[[str], io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    from crossbandit.service import log_lines

    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    for name in ("basicConfig", "captureWarnings"):
        monkeypatch.setattr(logging, name, lambda **_: None)
    level = logging.getLogger("uvicorn").level
    log_lines.begin_log("info", "json")
    logging.getLogger("uvicorn").setLevel(level)
    stream = written("json")
    thread = threading.Thread(target=[].pop, name="learning")
    thread.start()
    thread.join()
    (line,) = lines(stream)
    assert line["message"] == "The thread learning ended."
    assert line["traceback"].endswith("IndexError: pop from empty list")
