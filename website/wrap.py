"""Let the lines of all pages end at one width: `python -m website.wrap` rewrites them.

Only paragraphs and items of lists change. Code, tables, titles, pictures and HTML stay as they are,
and so do pages that are made from something else. Comments, such as the marks of measured numbers,
take no width.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
WIDTH = 100
# They are made by `benchmarks`.
MADE = ("docs/benchmarks.md", "docs/gallery.md")
_COMMENT = re.compile(r"<!--.*?-->")
_WORD = re.compile(r"(?:<!--.*?-->|\S)+")
_ITEM = re.compile(r" *(?:[-*]|\d+\.) ")
_KEPT = ("#", "|", "![", "<", "{", "    ")
_FENCE = "```"


def pages() -> list[Path]:
    """Return the pages whose lines are wrapped."""
    names = ("ARCHITECTURE.md", "CONTRIBUTING.md", "proofs/README.md")
    found = [*(ROOT / name for name in names), *(ROOT / "docs").rglob("*.md")]
    return sorted(page for page in found if not page.relative_to(ROOT).as_posix().startswith(MADE))


def wrapped(text: str) -> str:
    """Return a page with its paragraphs and items wrapped.

    Args:
        text: The page.
    """
    lines, result, i = text.split("\n"), [], 0
    if lines[0] == "---":  # settings of the page, up to the next such line
        i = lines.index("---", 1) + 1
        result = lines[:i]
    code = False
    while i < len(lines):
        line = lines[i]
        i += 1
        fence = line.lstrip().startswith(_FENCE)
        code ^= fence
        if code or fence or not _is_text(line):
            result.append(line)
            continue
        begins = _ITEM.match(line)
        first = begins[0] if begins else " " * (len(line) - len(line.lstrip()))
        indent = " " * len(first)
        paragraph = [line]
        while i < len(lines) and _continues(lines[i], indent):
            paragraph.append(lines[i])
            i += 1
        result += _filled(" ".join(paragraph)[len(first) :], first, indent)
    return "\n".join(result)


def _is_text(line: str) -> bool:
    """Return whether a line begins a paragraph or an item."""
    return bool(_ITEM.match(line)) or bool(line.strip() and not line.startswith(_KEPT))


def _continues(line: str, indent: str) -> bool:
    """Return whether a line belongs to the paragraph before it."""
    rest = line.lstrip()
    if not rest or _ITEM.match(line) or rest.startswith((_FENCE, *_KEPT)):
        return False
    return line[: -len(rest)] == indent


def _filled(text: str, first: str, indent: str) -> list[str]:
    """Return the lines of a paragraph. A comment never begins one: it would be a block of HTML."""
    rows: list[list[str]] = [[]]
    for word in _WORD.findall(text):
        row = rows[-1]
        if row and _width(indent, [*row, word]) > WIDTH:
            moved = [row.pop()] if word.startswith("<!--") and len(row) > 1 else []
            rows.append(moved)
        rows[-1].append(word)
    return [(indent if number else first) + " ".join(row) for number, row in enumerate(rows)]


def _width(indent: str, words: list[str]) -> int:
    return len(indent + _COMMENT.sub("", " ".join(words)))


def main() -> None:
    """Rewrite the pages whose lines change, and name them."""
    for page in pages():
        text = page.read_text(encoding="utf-8")
        if (renewed := wrapped(text)) != text:
            page.write_text(renewed, encoding="utf-8")
            sys.stdout.write(f"{page.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
