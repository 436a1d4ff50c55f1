"""The OpenAPI document, made from the table of operations and the types of their bodies."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import msgspec

import crossbandit
from crossbandit.service.http.access import OPEN
from crossbandit.service.http.answers import STATUS, ErrorBody

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
    for kind in _all_structs([*structs, ErrorBody]):
        schema, texts = schemas.get(kind.__name__, {}), _described(kind)
        schema["description"] = (kind.__doc__ or "").partition("\n")[0]
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
    texts, required = _described(one.query), schema.get("required", [])
    found = []
    for name, inner in schema["properties"].items():
        where: dict[str, Any] = {"name": name, "in": "query", "required": name in required}
        where["description"] = texts[name]
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


def _all_structs(kinds: Sequence[Any]) -> list[Any]:
    """Return structs, and all structs that are nested in them."""
    found: dict[str, Any] = {}

    def visit(info: Any) -> None:
        if isinstance(info, msgspec.inspect.StructType):
            if info.cls.__name__ not in found:
                found[info.cls.__name__] = info.cls
                for one in info.fields:
                    visit(one.type)
            return
        for name in ("item_type", "value_type", "types", "item_types"):
            inner = getattr(info, name, ())
            for one in inner if isinstance(inner, tuple) else (inner,):
                visit(one)

    for kind in kinds:
        visit(msgspec.inspect.type_info(kind))
    return list(found.values())


def _described(kind: Any) -> dict[str, str]:
    """Return the descriptions under `Attributes` in the docstring of a struct, by name.

    >>> _described(ErrorBody)["code"]
    'A short name of the error. It does not change between versions.'
    """
    lines = (inspect.getdoc(kind) or "").partition("Attributes:\n")[2].splitlines()
    found: dict[str, str] = {}
    name = ""
    for line in lines:
        text = line.strip()
        if line.startswith(" " * 4) and not line.startswith(" " * 5) and ":" in text:
            name, _, text = text.partition(":")
            found[name] = text.strip()
        elif name and text:
            found[name] += f" {text}"
        elif not text:
            break
    return found
