import tomllib
from typing import Any

import pytest

from crossbandit.studies.plan import KeyPath, _text, line_of

NASTY = """
# [not.a.table]
top = "x # no comment ] } ="
'quoted key'.inner = 1
"a.b" = { c = 1, d.e = [ { f = 2 }, 3 ] }

[table]
text = \"\"\"
[[not.a.table]]
key = 1 \\\"\"\" still "quoted\"\"\"\"
other = '''
x = 'y'
'''
list = [
  1, # one
  "two, ]",
  [3,
   4],
]
date = 1979-05-27 07:32:00

[[array]]
x = 1
[[array.inner]]
y = 1
[[array.inner]]
y = 2
[array.inner.deep]
z = 3
[[array]]
  [[array.inner]]
  y.z = 4
"""


def paths(value: Any, path: KeyPath = ()) -> set[KeyPath]:
    found = {path}
    if isinstance(value, dict):
        for key, inner in value.items():
            found |= paths(inner, (*path, key))
    if isinstance(value, list):
        for index, inner in enumerate(value):
            found |= paths(inner, (*path, index))
    return found


@pytest.mark.parametrize(
    "text",
    [NASTY, NASTY.replace("\n", "\r\n"), _text("template.toml"), _text("shipped", "paper.toml")],
    ids=["nasty", "crlf", "template", "paper"],
)
def test_every_key_has_a_line(text: str) -> None:
    known = paths(tomllib.loads(text))
    lines = {path: line_of(text, path) for path in known}
    assert all(lines[path[:-1]] <= line for path, line in lines.items())
    for path, line in lines.items():
        key = path[-1] if path else ""
        assert isinstance(key, int) or key in text.splitlines()[line - 1]
    assert all(line_of(text, (*path, "missing")) == line for path, line in lines.items())


@pytest.mark.parametrize(
    ("path", "beginning"),
    [
        (("top",), "top"),
        (("quoted key", "inner"), "'quoted key'"),
        (("a.b", "d", "e", 0, "f"), '"a.b"'),
        (("table", "other"), "other"),
        (("table", "list", 1), '  "two'),
        (("table", "list", 2, 1), "   4]"),
        (("table", "date"), "date"),
        (("array", 0, "inner", 1, "y"), "y = 2"),
        (("array", 0, "inner", 1, "deep", "z"), "z = 3"),
        (("array", 1, "inner", 0, "y", "z"), "  y.z"),
        (("array", 1), "[[array]]"),
    ],
)
def test_the_line_is_right(path: KeyPath, beginning: str) -> None:
    line = line_of(NASTY, path)
    assert NASTY.splitlines()[line - 1].startswith(beginning)
