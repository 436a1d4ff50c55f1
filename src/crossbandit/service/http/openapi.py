"""The OpenAPI document, made from the table of operations and the types of their bodies."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

import msgspec

import crossbandit
from crossbandit.service.causes import STATUS
from crossbandit.service.http.access import OPEN
from crossbandit.service.http.handlers import ErrorBody

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crossbandit.service.http.handlers import Operation

_TEMPLATE = "#/components/schemas/{name}"
_NAME = {
    "name": "name",
    "in": "path",
    "required": True,
    "description": "The name of the bidder.",
    "schema": {"type": "string", "minLength": 1},
}
_WITH_ROLE = ("unauthorized", "forbidden", "too-many-requests")
_WITH_BODY = ("invalid", "too-slow", "too-large", "not-json")


def document(operations: Sequence[Operation]) -> bytes:
    """Return the OpenAPI document of some operations, as JSON."""
    kinds = [kind for one in operations for kind in (one.body, one.query, one.answer)]
    structs = [kind for kind in kinds if isinstance(kind, type)]
    _, schemas = msgspec.json.schema_components([*structs, ErrorBody], ref_template=_TEMPLATE)
    for schema in schemas.values():
        texts = _described(schema)
        for name, inner in schema.get("properties", {}).items():
            if name in texts and "$ref" not in inner:
                inner.setdefault("description", texts[name])
    paths: dict[str, dict[str, Any]] = {}
    for one in operations:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, schemas)
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "Crossbandit",
                "version": crossbandit.__version__,
                "description": "Bidders for first-price auctions that learn from outcomes.",
                "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            },
            "paths": paths,
            "components": {
                "schemas": schemas,
                "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            },
        }
    )


def _operation(one: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    done: dict[str, Any] = {"description": "Done."}
    if one.answer is not None:
        done["content"] = {one.answer: {}} if isinstance(one.answer, str) else _json(one.answer)
    found: dict[str, Any] = {
        "operationId": one.handler.__name__.replace("_", "-"),
        "summary": one.summary,
        "parameters": [
            *([_NAME] if "{name}" in one.path else []),
            *_query_parameters(one, schemas),
        ],
        "responses": {str(one.status): done, **_problems(one)},
    }
    if one.role != OPEN:
        found["security"] = [{"token": []}]
        found["description"] = f"Role: {one.role}."
    if one.body is not None:
        found["requestBody"] = {"required": True, "content": _json(one.body)}
    return found


def _json(kind: type) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _TEMPLATE.format(name=kind.__name__)}}}


def _query_parameters(one: Operation, schemas: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the parameters of the query, and remove its struct from the schemas."""
    if one.query is None:
        return []
    schema = schemas.pop(one.query.__name__)
    found = []
    for name, inner in schema["properties"].items():
        where: dict[str, Any] = {"name": name, "in": "query"}
        where["required"] = name in schema.get("required", [])
        where["description"] = inner["description"]
        if inner.get("type") == "object":
            where["content"] = {"application/json": {"schema": inner}}
        else:
            where["schema"] = {key: value for key, value in inner.items() if key != "default"}
        found.append(where)
    return found


def _problems(one: Operation) -> dict[str, Any]:
    """Return the answers for errors, by status."""
    codes = [*one.codes]
    if one.role != OPEN:
        codes += _WITH_ROLE
    if one.body is not None:
        codes += _WITH_BODY
    if one.query is not None:
        codes.append("invalid")
    if "{name}" in one.path:
        codes += ["unknown-bidder", "invalid"]
    by_status: dict[int, set[str]] = {}
    for code in codes:
        by_status.setdefault(STATUS[code], set()).add(code)
    return {
        str(status): {
            "description": f"Code: {', '.join(sorted(some))}.",
            "content": _json(ErrorBody),
        }
        for status, some in sorted(by_status.items())
    }


def _described(schema: dict[str, Any]) -> dict[str, str]:
    """Shorten the description of a schema, a docstring; return those of its attributes, by name."""
    text = inspect.cleandoc(schema["description"])
    schema["description"] = text.partition("\n")[0]
    described = inspect.cleandoc(text.partition("Attributes:\n")[2].partition("\n\n")[0])
    items = re.split(r"\n(?! )", described) if described else []
    pairs = (one.partition(": ") for one in items)
    return {name: " ".join(words.split()) for name, _, words in pairs}
