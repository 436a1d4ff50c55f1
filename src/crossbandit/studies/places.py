"""Places in a study file: what they hold, and errors that name the line and the key."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn

from crossbandit.errors import StudyFileError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from crossbandit.studies import positions


@dataclass(frozen=True)
class Place:
    """Somewhere in a study file."""

    source: str
    lines: Mapping[positions.Path, int]
    path: positions.Path

    def at(self, *keys: str | int) -> Place:
        """Return the place of a key in this one, or of a key in that."""
        return Place(self.source, self.lines, (*self.path, *keys))

    def fail(self, problem: str) -> NoReturn:
        """Raise: file, line, key, problem."""
        known = self.path
        while known not in self.lines:  # a key that is missing: its table is the place
            known = known[:-1]
        key = ".".join(str(key) for key in self.path if isinstance(key, str))
        key = f", key '{key}'" if key else ""
        raise StudyFileError(f"{self.source}, line {self.lines[known]}{key}: {problem}")

    def unknown(self, what: str, name: str, names: Collection[str]) -> NoReturn:
        """Fail for a name that is none, with the nearest that is one."""
        near = get_close_matches(name, names, n=1, cutoff=0.5)
        listed = f"There is: {', '.join(names)}." if names else "There is none."
        self.fail(f"no such {what}. " + (f"Did you mean '{near[0]}'? " if near else "") + listed)

    def check_keys(self, table: Mapping[str, Any], known: Collection[str]) -> None:
        """Fail for the first key that is none of the known ones."""
        for key in table:
            if key not in known:
                self.at(key).unknown("key", key, known)

    def table(self, parent: Mapping[str, Any], key: str) -> dict[str, Any]:
        """Return the table that `parent` has under `key`."""
        if key not in parent:
            self.at(key).fail(f"missing: a study file needs a [{key}].")
        value = parent[key]
        if not isinstance(value, dict):
            self.at(key).fail(f"must be a table, [{key}]. Got {value!r}.")
        return value

    def tables(self, parent: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
        """Return the tables, at least one, that `parent` has under `key`."""
        value = parent.get(key, [])
        if not isinstance(value, list) or not value or not all(isinstance(v, dict) for v in value):
            self.at(key).fail(f"must be at least one table, [[{key}]].")
        return value

    def text(self, table: Mapping[str, Any], key: str, default: str | None = None) -> str:
        """Return the text under `key`, or the default if there is none."""
        if key not in table and default is not None:
            return default
        if key not in table:
            self.at(key).fail("missing.")
        value = table[key]
        if not isinstance(value, str) or not value.strip():
            self.at(key).fail(f"must be a text. Got {value!r}.")
        return value
