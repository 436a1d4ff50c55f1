from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from benchmarks.postgresql_server import PostgresqlServer, programs
from crossbandit.service import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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
