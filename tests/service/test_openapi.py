"""The OpenAPI document, and what Schemathesis finds when it tries all of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
import schemathesis.specs.openapi.checks
from hypothesis import HealthCheck, settings

from crossbandit.service import BidderSettings, BudgetSettings, Node, open_store
from crossbandit.service.http import Access, AccessToken, create_app
from crossbandit.service.http.handlers import OPERATIONS, document
from tests.service.live import served

if TYPE_CHECKING:
    from collections.abc import Iterator


DOCUMENT = json.loads(document())
TOKEN = AccessToken("tests", ["admin"], secret="0123456789abcdef")  # noqa: S106 - for this test
HEADERS = {"Authorization": f"Bearer {TOKEN.secret}"}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    node = Node(open_store(tmp_path_factory.mktemp("openapi") / "service.db"), poll=0.1)
    node.start()
    budget = BudgetSettings(10.0, per=None, pacing="asap")
    node.create("plain", BidderSettings(value_range=(0.0, 10.0), bids=11))
    node.create("limited", BidderSettings(value_range=(0.0, 10.0), bids=11, budget=budget))
    with served(create_app(node, access=Access([TOKEN]))) as address:
        yield address
    node.close()


def test_every_struct_and_operation_is_described() -> None:
    assert DOCUMENT["openapi"] == "3.1.0"
    schemas = DOCUMENT["components"]["schemas"]
    assert {"Auction", "Decided", "Outcome", "Reported", "BidderSettings", "ErrorBody"} <= set(
        schemas
    )
    for name, schema in schemas.items():
        assert schema["description"], name
        for field, inner in schema.get("properties", {}).items():
            described = inner.get("description") or "$ref" in inner or "const" in str(inner)
            assert described or field == "kind", (name, field)
    ids = [one["operationId"] for path in DOCUMENT["paths"].values() for one in path.values()]
    assert len(set(ids)) == len(ids) == len(OPERATIONS)
    text = json.dumps(DOCUMENT)
    for reference in set(text.split('"#/components/schemas/')[1:]):
        assert reference.partition('"')[0] in schemas


# A schema cannot say all that is asked for: a token is one that the service has made.
EXCLUDED = [schemathesis.specs.openapi.checks.positive_data_acceptance]
SCHEMA: Any = schemathesis.openapi.from_dict(DOCUMENT)


@SCHEMA.include(path_regex="^/v1/bidders/.name").parametrize()  # type: ignore[untyped-decorator]
@settings(
    max_examples=15,
    derandomize=True,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
def test_bidders_answer_as_documented(case: Any, url: str) -> None:
    """Names are real ones half of the time; the bidders themselves are left alone."""
    names = {"DELETE": "none", "PUT": "plain"}
    known = ("plain", "limited")[len(case.path_parameters["name"]) % 2]
    if len(repr(case.body)) % 3:
        case.path_parameters["name"] = names.get(case.method, known)
    case.call_and_validate(base_url=url, headers=HEADERS, excluded_checks=EXCLUDED)


@SCHEMA.exclude(path_regex="^/v1/bidders/.name").parametrize()  # type: ignore[untyped-decorator]
@settings(
    max_examples=5,
    derandomize=True,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
def test_the_service_answers_as_documented(case: Any, url: str) -> None:
    case.call_and_validate(base_url=url, headers=HEADERS, excluded_checks=EXCLUDED)
