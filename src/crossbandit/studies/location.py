"""Locations in a study file: their values, and errors that name the line and the key."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn

from crossbandit.errors import StudyFileError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from crossbandit.studies.line_numbers import KeyPath

_SHOWN_CHARACTERS = 200


@dataclass(frozen=True)
class Location:
    """A key of a study file, given by its path from the top."""

    source: str
    lines: Mapping[KeyPath, int]
    path: KeyPath

    def at(self, *keys: str | int) -> Location:
        """Return the location of a key below this one."""
        return Location(self.source, self.lines, (*self.path, *keys))

    def fail(self, problem: str) -> NoReturn:
        """Raise an error that names the file, the line, the key and the problem."""
        known = self.path
        while known not in self.lines:  # a key that is missing: name the line of its table
            known = known[:-1]
        key = ".".join(str(key) for key in self.path if isinstance(key, str))
        key = f", key '{key}'" if key else ""
        raise StudyFileError(f"{self.source}, line {self.lines[known]}{key}: {problem}")

    def unknown(self, what: str, name: str, names: Collection[str]) -> NoReturn:
        """Fail for an unknown name; suggest the nearest known one."""
        near = get_close_matches(name, names, n=1, cutoff=0.5)
        listed = f"Known: {', '.join(names)}." if names else "There are none."
        self.fail(f"no such {what}. " + (f"Did you mean '{near[0]}'? " if near else "") + listed)

    def check_keys(self, table: Mapping[str, Any], known: Collection[str]) -> None:
        """Fail for the first key that is not a known one."""
        for key in table:
            if key not in known:
                self.at(key).unknown("key", key, known)

    def table(self, parent: Mapping[str, Any], key: str) -> dict[str, Any]:
        """Return the table that `parent` has under `key`."""
        if key not in parent:
            self.at(key).fail(f"missing: a study file needs a table [{key}].")
        value = parent[key]
        if not isinstance(value, dict):
            self.at(key).fail(f"must be a table, [{key}]. Got {shown(value)}.")
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
            self.at(key).fail(f"must be a text. Got {shown(value)}.")
        return value


def shown(value: Any) -> str:
    """Return a value for a message, shortened if it is long."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."
