"""The pages of the site and of the repository, and the blocks of code on them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "ARCHITECTURE.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "proofs" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
FENCE = re.compile(r"^( *)```([^\n]*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A block of code on a page: the page, the kind after the fence, and the text."""

    page: str
    kind: str
    text: str

    @property
    def lines(self) -> list[str]:
        """The commands of a shell block, as they stand; those that go on are joined."""
        lines = self.text.replace("\\\n", " ").splitlines()
        return [line for line in lines if shlex.split(line, comments=True)]

    @property
    def commands(self) -> list[list[str]]:
        """The commands of a shell block, without comments, each as a list of words."""
        return [shlex.split(line, comments=True) for line in self.lines]


def name(page: Path) -> str:
    """Return the path of a page in the repository."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    """Return the blocks of code of a page."""
    text = page.read_text(encoding="utf-8")
    found = []
    for indent, kind, code in FENCE.findall(text):
        lines = [line.removeprefix(indent) for line in code.splitlines()]
        found.append(Block(name(page), kind.split()[0] if kind else "", "\n".join(lines) + "\n"))
    return found


def without_code(text: str) -> str:
    """Return a page without its blocks of code and its code spans."""
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))


def prose(page: Path) -> list[str]:
    """Return the lines of a page without code, comments, tables, titles, pictures and HTML."""
    text = re.sub(r"<!--.*?-->", "", FENCE.sub("", page.read_text(encoding="utf-8")))
    return [
        line for line in text.splitlines() if not line.lstrip().startswith(("|", "#", "![", "<"))
    ]


ALL = [block for page in PAGES for block in blocks(page)]
SHELL = [block for block in ALL if block.kind == "sh"]
