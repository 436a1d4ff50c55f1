"""The operations of the service over HTTP, on a real node."""

from __future__ import annotations

import asyncio
import re
import socket
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from crossbandit.applications import FirstPriceBidder
from crossbandit.service import BidderSettings, BudgetSettings, HeldElsewhereError, Node, open_store
from crossbandit.service.causes import Refusal
from crossbandit.service.client.client import Transport
from crossbandit.service.http import Access, AccessToken, create_app
from crossbandit.service.http.app import Gate
from crossbandit.service.http.handlers import OPERATIONS
from tests.service.asgi import Answer, request
from tests.service.live import eventually, served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future

    from starlette.applications import Starlette

PLAIN = BidderSettings(value_range=(0.0, 10.0), bids=11)
LIMITED = BidderSettings(
    value_range=(0.0, 10.0), bids=11, budget=BudgetSettings(10.0, per=None, pacing="asap")
)
KEPT = BidderSettings(
    value_range=(0.0, 10.0),
    bids=11,
    classes=("site",),
    reserve=1.0,
    budget=BudgetSettings(1000.0, per=None, pacing="asap"),
)
CLASSES = BidderSettings(value_range=(0.0, 10.0), bids=11, classes=("site",))


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    made = Node(open_store(tmp_path_factory.mktemp("http") / "service.db"), publish=0.01, poll=0.05)
    made.start()
    for name, settings in (("plain", PLAIN), ("limited", LIMITED), ("sites", CLASSES)):
        made.create(name, settings)
    made.create("kept", KEPT)
    yield made
    made.close()


@pytest.fixture(scope="module")
def app(node: Node) -> Starlette:
    return create_app(node)


def post(app: Any, path: str, body: Any = None) -> Answer:
    return request(app, "POST", f"/v1/bidders/{path}", body)


def get(app: Any, path: str, **headers: str) -> Answer:
    return request(app, "GET", path, headers=headers)


def decided(app: Any, name: str, value: float = 6.0, **more: Any) -> dict[str, Any]:
    answer = post(app, f"{name}/decide", {"value": value, **more})
    assert answer.status == 200, answer
    found: dict[str, Any] = answer.json
    return found


# --- decisions and outcomes ----------------------------------------------------------------------


def test_decide_report_and_learn(app: Starlette, node: Node) -> None:
    before = node.figures("plain")
    made = decided(app, "plain")
    assert made["amount"] in set(range(7))
    lost = {"token": made["token"], "won": False, "highest_competing_bid": 8.0}
    assert post(app, "plain/outcome", lost).json == {"accepted": 1, "errors": []}
    eventually(lambda: node.figures("plain").lost == before.lost + 1)
    assert post(app, "plain/outcome", lost).status == 200  # the log takes it, the learner does not
    eventually(lambda: node.figures("plain").refused.get("learned-before") == 1)
    assert node.figures("plain").lost == before.lost + 1


def test_an_outcome_that_contradicts_an_earlier_one_is_a_conflict(app: Starlette) -> None:
    made = next(one for _ in range(200) if (one := decided(app, "plain", 9.0))["amount"] > 0)
    lost = {"token": made["token"], "won": False, "highest_competing_bid": 9.5}
    won = {"token": made["token"], "won": True}
    assert post(app, "plain/outcome", lost).status == 200
    answer = post(app, "plain/outcome", won)
    assert (answer.status, answer.json["code"]) == (409, "reported-otherwise")
    assert "'correction'" in answer.json["message"]
    answer = post(app, "plain/outcomes", {"outcomes": [lost, won]})
    assert (answer.status, answer.json["accepted"]) == (200, 1)
    assert [(one["index"], one["cause"]) for one in answer.json["errors"]] == [
        (1, "reported-otherwise")
    ]


def test_decide_many_and_report_many(app: Starlette, node: Node) -> None:
    count = 450  # more than are worked on at once
    values = [10.0 * i / count for i in range(count)]
    answer = post(app, "plain/decide-many", {"values": values, "reserve": [None] * count})
    made = [one for one in answer.json["decisions"] if one["amount"] is not None]
    silent = [one for one in answer.json["decisions"] if one["amount"] is None]
    assert [one["token"] for one in silent] == [None] * len(silent)
    assert silent[1]["reason"] == (
        f"The lowest bid above 0, 1, is above the value, {values[1]:.6g}."
    )
    assert len(silent) > 30
    count = len(made)
    assert all(0 < one["amount"] <= value for one, value in zip(made, values[-count:], strict=True))
    assert len({one["token"] for one in made}) == count
    rows: list[dict[str, Any]] = [
        {"token": one["token"], "won": True, "highest_competing_bid": 0.0} for one in made
    ]
    for wrong in (7, 199, 200, count - 1):
        token = rows[wrong]["token"]
        rows[wrong]["token"] = token[:-5] + ("a" if token[-5] == "b" else "b") + token[-4:]
    before = node.figures("plain")
    answer = post(app, "plain/outcomes", {"outcomes": rows})
    assert answer.status == 200
    assert answer.json["accepted"] == count - 4
    assert [one["index"] for one in answer.json["errors"]] == [7, 199, 200, count - 1]
    assert {one["cause"] for one in answer.json["errors"]} == {"damaged-token"}
    eventually(lambda: node.figures("plain").learned == before.last + count - 4)
    after = node.figures("plain")
    assert after.won + after.lost == before.won + before.lost + count - 4


def test_a_reserve_price_may_leave_no_bid(app: Starlette) -> None:
    assert decided(app, "plain", 3.0, reserve=4.0) == {
        "amount": None,
        "token": None,
        "reason": "No bid lies between the reserve price, 4, and the value, 3.",
    }
    answer = post(app, "plain/decide-many", {"values": [3.0, 5.0], "reserve": 4.0})
    assert [one["amount"] is None for one in answer.json["decisions"]] == [True, False]


def test_a_bidder_with_limits_spends_no_more(app: Starlette, node: Node) -> None:
    eventually(lambda: post(app, "limited/decide", {"value": 0.0}).status == 200)
    answer = post(app, "limited/decide-many", {"values": [10.0] * 30})
    bids = [one["amount"] for one in answer.json["decisions"]]
    assert sum(one or 0.0 for one in bids) <= 10.0
    assert any("leaves" in (one["reason"] or "") for one in answer.json["decisions"])
    changed = request(
        app,
        "PATCH",
        "/v1/bidders/limited",
        {"budget": {"amount": 500, "per": None, "pacing": "asap"}},
    )
    assert changed.json["settings"]["budget"]["amount"] == 500.0
    eventually(lambda: node.figures("limited").limits[0].amount == 500.0)
    eventually(lambda: decided(app, "limited", 10.0)["amount"] is not None)
    refused = request(app, "PATCH", "/v1/bidders/plain", {"budget": {"amount": 500}})
    assert (refused.status, refused.json["code"]) == (400, "invalid")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"values": [1.0, 10.5]}, "amounts from 0 to 10. Got 10.5 in row 1"),
        ({"values": [1.0, -0.5]}, "Got -0.5 in row 1"),
        ({"values": [9.0] * 11, "reserve": [None] * 10 + [-1.0]}, "Expected `float` >= 0"),
        ({"values": [9.0] * 11, "reserve": [None] * 10 + [0.5]}, "Got 0.5 in row 10"),
        ({"values": [9.0] * 11, "reserve": [1.0]}, "'reserve'"),
        ({"classes": {"site": ["a"] * 10 + [2**63]}}, "'site[10]'"),
        ({"classes": {"site": ["a"] * 10 + [2**64]}}, "'site[10]'"),
        ({"classes": {"site": [1] * 10 + [2**64]}}, "'site[10]'"),
        ({"classes": {"site": 2**63}}, "an integer of 64 bits"),
        ({"classes": {"site": ["a"] * 10}}, "'site' parameter of decide_many"),
        ({"at": 9e10}, "at most a day from now"),
    ],
)
def test_if_a_row_is_wrong_nothing_is_decided(
    app: Starlette, node: Node, body: dict[str, Any], message: str
) -> None:
    given = {"values": [9.0] * 11, "classes": {"site": "a"}, **body}
    answer = post(app, "kept/decide-many", given)
    assert answer.status == 400
    assert message in answer.json["message"]
    assert node.figures("kept").limits[0].reserved == 0.0


def test_classes(app: Starlette) -> None:
    assert decided(app, "sites", classes={"site": "a"})["token"]
    columns = {"values": [1.0, 2.0], "classes": {"site": ["a", 3]}}
    assert len(post(app, "sites/decide-many", columns).json["decisions"]) == 2
    for classes in ({}, {"site": "a", "x": 1}, {"value": 1}, {"self": 1}):
        answer = post(app, "sites/decide", {"value": 1.0, "classes": classes})
        assert answer.status == 400
        assert "must hold 'site'" in answer.json["message"]
    answer = post(app, "sites/decide-many", {"values": [1.0, 2.0], "classes": {"site": ["a"]}})
    assert "2 labels" in answer.json["message"]
    path = "/v1/bidders/sites/policy?value=5&classes=%7B%22site%22%3A%22a%22%7D"
    assert abs(sum(get(app, path).json["probabilities"]) - 1.0) < 1e-9


def test_a_request_for_another_node_is_forwarded_once(
    app: Starlette, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    def elsewhere(*_: Any, **__: Any) -> Future[Any]:
        raise HeldElsewhereError("Another node decides.", "http://127.0.0.1:1")

    monkeypatch.setattr(node, "decide", elsewhere)
    monkeypatch.setattr(node, "decide_many", elsewhere)
    path, many = "limited/decide", {"values": [5.0]}
    for answer in (post(app, path, {"value": 5.0}), post(app, f"{path}-many", many)):
        assert (answer.status, answer.json["code"]) == (503, "not-ready")
        assert "does not answer" in answer.json["message"]
    headers = {"crossbandit-forwarded": "1"}
    answer = request(app, "POST", f"/v1/bidders/{path}", {"value": 5.0}, headers=headers)
    assert answer.json["message"] == "Another node decides."


def test_the_answer_of_another_node_is_passed_on(
    app: Starlette, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    decide = node.decide
    with served(app) as url:

        def elsewhere(name: str, *given: Any, **named: Any) -> Any:
            if elsewhere.calls:  # type: ignore[attr-defined]
                return decide(name, *given, **named)
            elsewhere.calls += 1  # type: ignore[attr-defined]
            raise HeldElsewhereError("Another node decides.", url)

        elsewhere.calls = 0  # type: ignore[attr-defined]
        monkeypatch.setattr(node, "decide", elsewhere)
        with served(create_app(node)) as first, closing(Transport(first)) as transport:
            answer = transport.request("POST", "/v1/bidders/limited/decide", {"value": 0.5})
        assert answer.status == 200
        assert set(answer.json()) == {"amount", "token", "reason"}


# --- what was learned ------------------------------------------------------------------------


def test_policy_price_law_and_figures(app: Starlette) -> None:
    policy = get(app, "/v1/bidders/plain/policy?value=6&reserve=2").json
    assert policy["bids"] == [float(one) for one in range(11)]
    assert abs(sum(policy["probabilities"][2:7]) - 1.0) < 1e-9
    law = get(app, "/v1/bidders/plain/price-law?value=6").json
    assert law["chances"] == sorted(law["chances"])
    assert len(law["errors"]) == 11
    figures = get(app, "/v1/bidders/plain/figures").json
    assert figures["name"] == "plain"
    assert {"won", "lost", "refused", "surplus", "lag", "alerts"} <= set(figures)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "missing required field `value`"),
        ("value=x", "Expected `float`"),
        ("value=nan", "must be a finite number"),
        ("value=11", "at most 10"),
        ("value=1&value=2", "given twice"),
        ("value=1&classes={", "The query is not valid"),
        ("value=1&classes=3", "Expected `object`"),
        ('value=1&classes={"a":1,"a":2}', "it gives the key 'a' twice"),
        ("value=1&nothing=3", "unknown field `nothing`"),
        ("value=%FF", "cannot be read"),
        ("=&&", "cannot be read"),
    ],
)
def test_a_wrong_query_is_explained(app: Starlette, query: str, message: str) -> None:
    answer = get(app, f"/v1/bidders/plain/policy?{query}")
    assert (answer.status, answer.json["code"]) == (400, "invalid")
    assert message in answer.json["message"]


def test_a_snapshot_decides_as_the_service_does(app: Starlette, node: Node) -> None:
    answer = get(app, "/v1/bidders/plain/snapshot")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["crossbandit-signed"] == "1"
    tag = answer.headers["etag"]
    assert tag.startswith(f'"{node.policy_bytes("plain")[0]}-')
    local = FirstPriceBidder.from_bytes(answer.content)
    here = get(app, "/v1/bidders/plain/policy?value=6").json["probabilities"]
    assert local.policy(6.0).tolist() == here
    again = get(app, "/v1/bidders/plain/snapshot", **{"if-none-match": tag})
    assert (again.status, again.content) == (304, b"")
    assert "content-length" not in again.headers
    assert get(app, "/v1/bidders/limited/snapshot").json["code"] == "limited"


# --- bidders -------------------------------------------------------------------------------------


def test_a_bidder_is_created_paused_resumed_and_deleted(app: Starlette) -> None:
    path = "/v1/bidders/new"
    made = request(app, "PUT", path, {"value_range": [0, 5], "bids": 6})
    assert made.status == 201
    assert (made.json["name"], made.json["paused"]) == ("new", False)
    assert made.json["settings"]["value_range"] == [0.0, 5.0]
    assert request(app, "PUT", path, {"value_range": [0, 5]}).json["code"] == "exists"
    assert "new" in get(app, "/v1/bidders").json["bidders"]
    token = decided(app, "new", 3.0)["token"]
    assert post(app, "new/pause").json["paused"]
    assert post(app, "new/decide", {"value": 3.0}).json["code"] == "paused"
    assert get(app, f"{path}/snapshot").json["code"] == "paused"
    assert post(app, "new/outcome", {"token": token, "won": True}).status == 200
    assert not post(app, "new/resume").json["paused"]
    assert decided(app, "new", 3.0)["token"]
    assert post(app, "plain/outcome", {"token": token, "won": True}).json["code"] == "foreign-token"
    gone = request(app, "DELETE", path)
    assert (gone.status, gone.content) == (204, b"")
    for method, rest in (("GET", ""), ("DELETE", ""), ("GET", "/figures"), ("POST", "/pause")):
        assert request(app, method, path + rest).json["code"] == "unknown-bidder"


def test_a_bidder_with_a_budget_decides_as_soon_as_it_is_created(app: Starlette) -> None:
    for i in range(5):
        path = f"/v1/bidders/paid{i}"
        body = {"value_range": [0, 5], "bids": 6, "budget": {"amount": 10}}
        assert request(app, "PUT", path, body).status == 201
        assert decided(app, f"paid{i}", 3.0)["token"]
        assert request(app, "DELETE", path).status == 204


def test_campaigns_are_created_changed_paused_and_measured(app: Starlette) -> None:
    path = "/v1/bidders/shop"
    shoes = {"budget": {"amount": 50, "pacing": "asap"}}
    body = {"value_range": [0, 10], "bids": 11, "campaigns": {"shoes": shoes, "free": {}}}
    made = request(app, "PUT", path, body)
    assert made.status == 201
    assert made.json["settings"]["classes"] == ["campaign"]
    token = decided(app, "shop", classes={"campaign": "shoes"})["token"]
    assert token
    hats = {"value": 6.0, "classes": {"campaign": "hats"}}
    many = {"values": [6.0], "classes": hats["classes"]}
    for rest, asked in (("decide", hats), ("decide-many", many)):
        refused = post(app, f"shop/{rest}", asked)
        assert (refused.status, refused.json["code"]) == (404, "unknown-campaign")
        assert "Existing campaigns: free, shoes" in refused.json["message"]
    refused = post(app, "shop/decide", {"value": 6.0})
    assert (refused.status, refused.json["code"]) == (400, "invalid")
    assert "'campaign'" in refused.json["message"]
    assert get(app, f"{path}/snapshot").json["code"] == "limited"
    policy = f'{path}/policy?value=6&classes={{"campaign":"shoes"}}'
    assert sum(get(app, policy).json["probabilities"]) == pytest.approx(1.0)
    unknown = get(app, policy.replace("shoes", "hats"))
    assert (unknown.status, unknown.json["code"]) == (400, "invalid")
    assert "('shoes', 'free')" in unknown.json["message"]
    changed = request(app, "PATCH", path, {"campaigns": {"hats": {"budget": {"amount": 9}}}})
    assert changed.json["settings"]["campaigns"].keys() == {"shoes", "free", "hats"}
    eventually(lambda: post(app, "shop/decide", hats).status == 200)
    paused = post(app, "shop/pause?campaign=hats").json["settings"]["campaigns"]
    assert [name for name, one in paused.items() if one["paused"]] == ["hats"]
    assert "'hats' is paused" in post(app, "shop/decide", hats).json["reason"]
    refused = post(app, "shop/pause?campaign=socks")
    assert (refused.status, refused.json["code"]) == (404, "unknown-campaign")
    assert post(app, "shop/outcome", {"token": token, "won": True}).status == 200
    won = 'crossbandit_campaign_won{bidder="shop",campaign="shoes"} 1'
    eventually(lambda: won in get(app, "/metrics").content.decode().splitlines())
    lines = get(app, "/metrics").content.decode().splitlines()
    assert 'crossbandit_campaign_paused{bidder="shop",campaign="hats"} 1' in lines
    limit = 'bidder="shop",campaign="hats",limit="budget",number="0"'
    assert f"crossbandit_limit_amount{{{limit}}} 9" in lines
    resumed = post(app, "shop/resume?campaign=hats").json["settings"]["campaigns"]
    assert not resumed["hats"]["paused"]
    assert request(app, "DELETE", path).status == 204


def test_impossible_settings_are_refused(app: Starlette) -> None:
    answer = request(app, "PUT", "/v1/bidders/bad", {"value_range": [5, 0]})
    assert (answer.status, answer.json["code"]) == (400, "invalid")
    assert "'value_range' parameter of FirstPriceBidder" in answer.json["message"]
    for seconds in (-1e17, 0.0):
        budget = {"amount": 5, "per": {"seconds": seconds}}
        answer = request(app, "PUT", "/v1/bidders/bad", {"value_range": [0, 5], "budget": budget})
        assert (answer.status, answer.json["code"]) == (400, "invalid")
        assert "'per'" in answer.json["message"]


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:3000"},
        {"origin": "http://localhost:8000"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "http://127.0.0.1:8000", "sec-fetch-site": "cross-site"},
    ],
)
def test_a_page_of_another_origin_changes_nothing(
    app: Starlette, node: Node, headers: dict[str, str]
) -> None:
    for method, path in (
        ("POST", "/v1/bidders/plain/pause"),
        ("DELETE", "/v1/bidders/plain"),
        ("PUT", "/v1/bidders/other"),
        ("PATCH", "/v1/bidders/limited"),
        ("POST", "/v1/bidders/plain/decide"),
    ):
        answer = request(app, method, path, headers=headers)
        assert (answer.status, answer.json["code"]) == (403, "forbidden")
        assert "another origin" in answer.json["message"]
    assert not node.figures("plain").paused
    assert get(app, "/v1/bidders/plain", **headers).status == 200  # reading changes nothing


@pytest.mark.parametrize(
    ("host", "origin", "site"),
    [
        ("127.0.0.1:8000", "http://127.0.0.1:8000", "same-origin"),
        ("127.0.0.1:8000", None, "none"),
        ("localhost", "http://localhost:80", None),
        ("localhost:80", "http://localhost", None),
        ("LOCALHOST:8000", "http://localhost:8000", None),
        ("localhost", "https://localhost", None),  # behind a proxy with HTTPS
    ],
)
def test_a_page_of_the_service_itself_may_change_a_bidder(
    app: Starlette, host: str, origin: str | None, site: str | None
) -> None:
    given = {"host": host, "origin": origin, "sec-fetch-site": site}
    headers = {name: text for name, text in given.items() if text is not None}
    answer = request(app, "POST", "/v1/bidders/plain/resume", headers=headers)
    assert answer.status == 200


# --- bodies --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "truncated"),
        (b"[]", "Expected `object`, got `array`"),
        (b"{", "truncated"),
        (b"{}", "missing required field `value`"),
        (b'{"value": "5"}', "Expected `float`, got `str` - at `$.value`"),
        (b'{"value": NaN}', "malformed"),
        (b'{"value": 1e999}', "out of range"),
        (b'{"value": 5, "vaule": 5}', "unknown field `vaule`"),
        (b'{"value": 5, "reserve": -1}', "Expected `float` >= 0"),
        (b'{"value": 5, "classes": {"a": []}}', "got `array`"),
        (b"\xff\xfe", "The body must be UTF-8. Byte 0 is not"),
        (b'{"value": 5, "classes": {"a": "\xff\xfe"}}', "must be UTF-8. Byte 31 is not"),
        (b'{"value": 5, "value": 6}', "it gives the key 'value' twice"),
        (b'{"value": 5, "v\\u0061lue": 6}', "it gives the key 'value' twice"),
        (b'{"value": 5, "classes": {"a": 1, "b": 2, "a": 1}}', "it gives the key 'a' twice"),
        (b"[" * 100_000, "Expected `object`"),
    ],
)
def test_a_wrong_body_is_explained(app: Starlette, content: bytes, message: str) -> None:
    answer = request(app, "POST", "/v1/bidders/plain/decide", parts=[content])
    assert (answer.status, answer.json["code"]) == (400, "invalid")
    assert message in answer.json["message"]


def test_a_body_must_be_json(app: Starlette) -> None:
    headers = {"content-type": "text/plain"}  # what a web page may send without being asked for
    path = "/v1/bidders/plain/decide"
    answer = request(app, "POST", path, {"value": 5}, headers=headers)
    assert (answer.status, answer.json["code"]) == (415, "not-json")
    headers = {"content-type": "Application/JSON; charset=utf-8"}
    assert request(app, "POST", path, {"value": 5}, headers=headers).status == 200


def test_a_large_body_is_refused(node: Node) -> None:
    app = create_app(node, most_bytes=100)
    path = "/v1/bidders/plain/decide"
    fits = b'{"value": 5}'.ljust(100)
    assert request(app, "POST", path, parts=[fits]).status == 200
    assert request(app, "POST", path, parts=[fits[:50], fits[50:]]).status == 200
    headers = {"content-length": "101"}
    for answer in (
        request(app, "POST", path, parts=[fits], headers=headers),
        request(app, "POST", path, parts=[fits + b" "]),
        request(app, "POST", path, parts=[fits, b" "]),
        request(app, "POST", path, parts=[b"x" * 60] * 9),
    ):
        assert (answer.status, answer.json["code"]) == (413, "too-large")


def test_a_body_that_does_not_come_at_all_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crossbandit.service.http.app._BODY_SECONDS", 0.01)

    async def ask() -> None:
        gate = Gate(Access())
        await gate.body({b"content-type": b"application/json"}, asyncio.Event().wait)

    with pytest.raises(Refusal, match="did not arrive"):
        asyncio.run(asyncio.wait_for(ask(), 5.0))


def test_a_large_body_with_a_key_given_twice_is_refused(app: Starlette) -> None:
    rows = [b'{"token": "a", "won": true}'] * 4000 + [b'{"token": "a", "won": true, "won": false}']
    content = b'{"outcomes": [' + b",".join(rows) + b"]}"
    answer = request(app, "POST", "/v1/bidders/plain/outcomes", parts=[content])
    assert (answer.status, answer.json["code"]) == (400, "invalid")
    assert "it gives the key 'won' twice" in answer.json["message"]


def test_what_is_nested_deeply_is_refused(app: Starlette) -> None:
    target = b'{"value_range": [0, 1], "target": {"a": ' + b"[" * 5_000
    answer = request(app, "PUT", "/v1/bidders/deep", parts=[target])
    assert (answer.status, answer.json["code"]) == (400, "invalid")
    answer = get(app, "/v1/bidders/plain/policy?value=5&classes={%22a%22:" + "[" * 20_000)
    assert (answer.status, answer.json["code"]) == (400, "invalid")


def exchanged(url: str, *parts: bytes) -> bytes:
    """Send parts of a request, and return all that the server sends before it ends."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        try:
            for part in parts:
                connection.sendall(part)
                time.sleep(0.02)  # so that each part arrives by itself
            return b"".join(iter(lambda: connection.recv(65_536), b""))
        except ConnectionError:
            return b""


def test_headers_that_do_not_come_are_refused(
    app: Starlette, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crossbandit.service.serving._HEADER_SECONDS", 0.2)
    whole = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with served(app) as url:
        for parts in ([], [b"GET /healthz HTTP/1.1\r\nHost: "]):
            assert exchanged(url, *parts).startswith(b"HTTP/1.1 408 ")
        # A connection that was used before is watched again.
        answers = exchanged(url, whole, whole[:-2])
        assert re.findall(rb"HTTP/1.1 (\d+)", answers) == [b"200", b"408"]


def test_headers_that_are_too_large_are_refused(
    app: Starlette, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crossbandit.service.serving._HEADER_SECONDS", 2.0)
    monkeypatch.setattr("crossbandit.service.serving._HEADER_BYTES", 1000)
    with served(app) as url:
        parts = [b"GET /healthz HTTP/1.1\r\n", *[b"X: y\r\n" * 60] * 3]
        assert exchanged(url, *parts).startswith(b"HTTP/1.1 431 ")


def test_headers_are_asked_for_without_a_body(app: Starlette) -> None:
    with served(app) as url, closing(Transport(url)) as transport:
        answer = transport.request("HEAD", "/healthz")
        assert (answer.status, answer.content) == (200, b"")
        assert answer.headers["content-length"] == str(len(b'{"status":"ok"}'))
        assert transport.request("HEAD", "/v1/bidders/nobody").status == 404
        assert transport.request("HEAD", "/v1/bidders/plain/decide").status == 405


def test_a_slow_body_is_refused(app: Starlette, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crossbandit.service.http.app._BODY_SECONDS", 0.0)
    answer = request(app, "POST", "/v1/bidders/plain/decide", parts=[b'{"value"', b": 5}"])
    assert (answer.status, answer.json["code"]) == (408, "too-slow")


def test_too_many_rows_are_refused(app: Starlette) -> None:
    answer = post(app, "plain/decide-many", {"values": [1.0] * 2_001})
    assert "length <= 2000" in answer.json["message"]


# --- paths, hosts and access ---------------------------------------------------------------------


def test_paths_and_methods_that_there_are_not(app: Starlette) -> None:
    answer = get(app, "/v2/bidders")
    assert (answer.status, answer.json["code"]) == (404, "not-found")
    answer = request(app, "DELETE", "/v1/bidders/plain/decide")
    assert (answer.status, answer.json["code"]) == (405, "method-not-allowed")
    assert answer.headers["allow"] == "POST"
    assert request(app, "POST", "/healthz").headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8000", "", "[::2]"])
def test_an_open_service_answers_to_loopback_only(app: Starlette, host: str) -> None:
    answer = get(app, "/v1/bidders", host=host)
    assert (answer.status, answer.json["code"]) == (403, "forbidden")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:8000", "[::1]:8000"])
def test_names_of_loopback(app: Starlette, host: str) -> None:
    assert get(app, "/v1/bidders", host=host).status == 200


def roles_needed() -> dict[str, list[str]]:
    """What each role may do, written out."""
    return {
        "open": ["GET /healthz", "GET /readyz", "GET /openapi.json"],
        "read": ["GET /v1/bidders", "GET {}", "GET {}/figures", "GET /metrics"],
        "decide": [
            "POST {}/decide",
            "POST {}/decide-many",
            "GET {}/snapshot",
            "GET {}/policy",
            "GET {}/price-law",
        ],
        "report": ["POST {}/outcome", "POST {}/outcomes"],
        "admin": ["PUT {}", "PATCH {}", "DELETE {}", "POST {}/pause", "POST {}/resume"],
    }


def test_every_operation_needs_its_role(node: Node) -> None:
    secrets = {role: f"{role}-0123456789abcdef" for role in ("decide", "report", "admin")}
    tokens = [AccessToken(role, [role], secret=text) for role, text in secrets.items()]  # type: ignore[list-item]
    app = create_app(node, access=Access(tokens), page=False)
    needed = {
        what.format("/v1/bidders/{name}"): role
        for role, some in roles_needed().items()
        for what in some
    }
    assert set(needed) == {f"{one.method} {one.path}" for one in OPERATIONS}
    for what, role in needed.items():
        method, path = what.replace("{name}", "unknown").split()
        allowed = {None, *secrets} if role == "open" else {role, "admin"}
        allowed |= set(secrets) if role == "read" else set()
        for holder in (None, *secrets):
            headers = {"authorization": f"Bearer {secrets[holder]}"} if holder else {}
            answer = request(app, method, path, headers=headers)
            expected = set() if holder in allowed else {401 if holder is None else 403}
            assert ({answer.status} & {401, 403}) == expected, (what, holder)
            if answer.status == 401:
                assert answer.headers["www-authenticate"].startswith("Bearer")


def test_a_token_lets_any_name_be_used(node: Node) -> None:
    access = Access([AccessToken("web", ["decide"], secret="0123456789abcdef")])  # noqa: S106
    app = create_app(node, access=access)
    headers = {"authorization": "Bearer 0123456789abcdef"}
    assert get(app, "/v1/bidders", host="bids.example", **headers).status == 200
    app = create_app(node, access=access, hosts=["other.example"])
    assert get(app, "/v1/bidders", host="bids.example", **headers).status == 403


def test_too_many_requests(node: Node) -> None:
    app = create_app(node, access=Access(rate=1.0, clock=lambda: 0.0))
    found = [get(app, "/v1/bidders") for _ in range(3)]
    assert [one.status for one in found] == [200, 200, 429]
    assert found[2].headers["retry-after"] == "2"
    assert get(app, "/healthz").status == 200


# --- health and metrics --------------------------------------------------------------------------


def test_health(app: Starlette, node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    assert get(app, "/healthz").json == {"status": "ok"}
    assert get(app, "/readyz").json == {"ready": True}  # anybody may ask, so it says no more
    health = node.health()
    monkeypatch.setattr(node, "health", lambda: {**health, "store": "No answer from db-7."})
    answer = get(app, "/readyz")
    assert (answer.status, answer.json["code"]) == (503, "store-unavailable")
    assert "db-7" not in answer.json["message"]
    monkeypatch.setattr(node, "health", lambda: {**health, "ready": False})
    assert get(app, "/readyz").json["code"] == "not-ready"
    assert get(app, "/healthz").status == 200


def test_metrics_have_the_form_of_prometheus(app: Starlette, node: Node) -> None:
    made = next(one for _ in range(200) if (one := decided(app, "plain", 9.0))["amount"])
    lost = {"token": made["token"], "won": False, "highest_competing_bid": 9.5}
    for _ in range(2):
        assert post(app, "plain/outcome", lost).status == 200
    eventually(lambda: "learned-before" in node.figures("plain").refused)

    def shown(metric: str) -> bool:
        return metric in get(app, "/metrics").content.decode().splitlines()

    def won() -> bool:
        figures = node.figures("plain")
        return shown(f'crossbandit_outcomes_total{{bidder="plain",kind="won"}} {figures.won}')

    def learned() -> bool:
        figures = node.figures("plain")
        return shown(f'crossbandit_learned_entries{{bidder="plain"}} {figures.learned}')

    eventually(won)
    eventually(learned)
    answer = get(app, "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.content.decode().splitlines()
    sample = re.compile(r'crossbandit_\w+(\{(\w+="[^"]*",?)+\})? (-?[\d.e+-]+|NaN|[+-]Inf)')
    head = re.compile(
        r"# (HELP crossbandit_\w+ .+\.|TYPE crossbandit_\w+ (counter|gauge|histogram))"
    )
    assert all((head if line.startswith("#") else sample).fullmatch(line) for line in lines)
    amount = node.figures("limited").limits[0].amount
    limit = 'bidder="limited",limit="budget",number="0"'
    assert f"crossbandit_limit_amount{{{limit}}} {amount:g}" in lines
    names = {line.split("{")[0].split()[0] for line in lines if not line.startswith("#")}
    assert {
        "crossbandit_decisions_total",
        "crossbandit_refusals_total",
        "crossbandit_win_rate",
        "crossbandit_learning_lag_seconds",
        "crossbandit_policy_age_seconds",
        "crossbandit_dependence_log_evidence",
        "crossbandit_commit_seconds_bucket",
    } <= names


def test_a_mistake_of_the_service_is_not_shown(
    app: Starlette, node: Node, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("what only the log may say")

    monkeypatch.setattr(node, "decide", broken)
    answer = post(app, "plain/decide", {"value": 5.0})
    assert (answer.status, answer.json["code"]) == (500, "internal")
    assert "only the log" not in answer.json["message"]
    assert "what only the log may say" in caplog.text
