"""Locations in a study file: their lines and values, and errors that name the line and the key.

The standard parser of TOML does not give lines. So the text, which it has found valid, is scanned
once more for its structure. Before the parser runs, `first_excess` finds what is too deep or too
long for it.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn

from crossbandit.errors import StudyFileError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

KeyPath = tuple[str | int, ...]

_SHOWN_CHARACTERS = 200
_BLANK = re.compile(r"(?:[ \t\r\n,]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?!")'
    r"|'''.*?'''(?!')"
    r'|"(?:\\.|[^"\\])*"'
    r"|'[^']*'",
    re.DOTALL,
)
_OTHER_VALUE = re.compile(r"[^,\]}#\n]+")

# Python's own limits are about 500 levels and 4,300 digits.
_MOST_LEVELS = 50
_MOST_DIGITS = 400
_TOKEN = re.compile(
    rf"(?:#[^\n]*|{_STRING.pattern})|(?P<open>[\[{{])|(?P<close>[\]}}])"
    rf"|(?P<digits>[0-9_]{{{_MOST_DIGITS + 1},}})",
    re.DOTALL,
)


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


def line_numbers(text: str) -> dict[KeyPath, int]:
    r"""Return the line, from 1, of every key, table and list item, by its path.

    >>> line_numbers("[a]\nb = [1,\n 2]\n[[c]]\nd.e = 0")[("c", 0, "d", "e")]
    5
    """
    return _Scanner(text).document()


def first_excess(text: str) -> tuple[int, str] | None:
    r"""Return the line and the description of what is nested too deeply or has too many digits.

    >>> first_excess("a = 1\nb = " + 60 * "[" + 60 * "]")
    (2, 'nested more than 50 levels deep')
    """
    level, problem = 0, ""
    for token in _TOKEN.finditer(text):
        level += {"open": 1, "close": -1}.get(token.lastgroup or "", 0)
        if level > _MOST_LEVELS:
            problem = f"nested more than {_MOST_LEVELS} levels deep"
        elif token.lastgroup == "digits":
            problem = f"a number of more than {_MOST_DIGITS} digits"
        if problem:
            return text.count("\n", 0, token.start()) + 1, problem
    return None


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._newlines = [match.start() for match in re.finditer("\n", text)]
        self._lines: dict[KeyPath, int] = {(): 1}
        self._last: dict[KeyPath, int] = {}  # the last index of each array of tables

    def document(self) -> dict[KeyPath, int]:
        table: KeyPath = ()
        while self._more():
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)
        return self._lines

    def _more(self) -> bool:
        self._skip(_BLANK)
        return self._at < len(self._text)

    def _skip(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        if found is None:
            return ""
        self._at = found.end()
        return found[0]

    def _line(self) -> int:
        return bisect_right(self._newlines, self._at - 1) + 1

    def _note(self, path: KeyPath, line: int) -> None:
        for length in range(1, len(path) + 1):
            self._lines.setdefault(path[:length], line)

    def _header(self) -> KeyPath:
        line = self._line()
        array = self._text.startswith("[[", self._at)
        self._at += 1 + array
        *parents, last = self._key()
        self._at += 1 + array
        path: KeyPath = ()
        for key in parents:
            path = self._newest((*path, key))
        path = (*path, last)
        if array:
            self._last[path] = self._last.get(path, -1) + 1
        path = self._newest(path)
        self._note(path, line)
        return path

    def _newest(self, path: KeyPath) -> KeyPath:
        return (*path, self._last[path]) if path in self._last else path

    def _key(self) -> list[str]:
        keys = []
        while True:
            self._skip(_SPACE)
            bare = self._skip(_BARE_KEY)
            keys.append(bare or tomllib.loads(f"key = {self._skip(_STRING)}")["key"])
            self._skip(_SPACE)
            if len(keys) > _MOST_LEVELS:
                raise RecursionError
            if not self._text.startswith(".", self._at):
                return keys
            self._at += 1

    def _pair(self, table: KeyPath) -> None:
        line = self._line()
        path = (*table, *self._key())
        self._note(path, line)
        self._at += 1  # the equals sign
        self._skip(_SPACE)
        self._value(path)

    def _value(self, path: KeyPath) -> None:
        first = self._text[self._at]
        if first == "[":
            self._list(path)
        elif first == "{":
            self._inline_table(path)
        elif first in "\"'":
            self._skip(_STRING)
        else:
            self._skip(_OTHER_VALUE)

    def _list(self, path: KeyPath) -> None:
        self._at += 1
        index = 0
        while self._more() and self._text[self._at] != "]":
            self._note((*path, index), self._line())
            self._value((*path, index))
            index += 1
        self._at += 1

    def _inline_table(self, path: KeyPath) -> None:
        self._at += 1
        while self._more() and self._text[self._at] != "}":
            self._pair(path)
        self._at += 1
