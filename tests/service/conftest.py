from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.postgresql_server import PostgresqlServer, programs
from crossbandit.service import Node, open_store
from crossbandit.service.store import Session

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def _ended(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """End what a test that has failed left open, so that no other test fails because of it."""
    made: list[Node | Session] = []
    for kind in (Node, Session):
        begin = kind.__init__

        def init(self: Any, *given: Any, _begin: Any = begin, **named: Any) -> None:
            made.append(self)
            _begin(self, *given, **named)

        monkeypatch.setattr(kind, "__init__", init)
    yield
    for one in sorted(made, key=lambda one: isinstance(one, Session)):  # nodes first
        with suppress(Exception):
            one.close()


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresqlServer]:
    """A PostgreSQL server, started once."""
    if programs() is None and not os.environ.get("CI"):
        pytest.skip("PostgreSQL is not installed")
    with PostgresqlServer() as made:
        yield made


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty store."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'service.db'}"
    found: PostgresqlServer = request.getfixturevalue("server")
    return new_database(found)


def new_database(server: PostgresqlServer, *, empty: bool = False) -> str:
    import psycopg

    with psycopg.connect(server.address, autocommit=True) as connection:
        number = connection.execute("SELECT count(*) FROM pg_database").fetchone()
        assert number is not None
        name = f"store{number[0]}"
        connection.execute(f"CREATE DATABASE {name}".encode())
    made = server.address.replace("/postgres?", f"/{name}?")
    if not empty:
        open_store(made)
    return made
