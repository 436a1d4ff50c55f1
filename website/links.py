"""Links in pages of the repository, as links in the site."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[1]

# Files outside docs/ that are pages of the site.
PROJECT = {
    "project/architecture.md": "ARCHITECTURE.md",
    "project/contributing.md": "CONTRIBUTING.md",
    "project/changelog.md": "CHANGELOG.md",
    "project/proofs.md": "proofs/README.md",
}
_PAGES = {path: page for page, path in PROJECT.items()}
_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s:#]+)(#[^)\s]*)?\)")

# A block of code, a title or a link, which are left alone; or a name in code.
_MENTION = re.compile(
    r"^```.*?^```|^(?: {4}|#).*?$|!?\[[^\]]*\]\([^)]*\)|`([A-Z]\w+)`", re.DOTALL | re.MULTILINE
)


def relinked(text: str, page: str) -> str:
    """Return a page with its links to files of the repository turned into links in the site.

    A file that is no page of the site, such as a source file, is named and not linked.

    Args:
        text: The page, in Markdown, with links relative to its place in the repository.
        page: Its name in the site.

    Returns:
        The page, with links relative to its place in the site.

    >>> relinked("[Words](../../CONTRIBUTING.md#the-words)", "tutorials/one.md")
    '[Words](../project/contributing.md#the-words)'
    """
    source = PROJECT.get(page, f"docs/{page}")

    def replaced(match: re.Match[str]) -> str:
        label, target, anchor = match[1], match[2], match[3] or ""
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if path.startswith("docs/"):
            found = path.removeprefix("docs/")
        elif path in _PAGES:
            found = _PAGES[path]
        else:
            return label if (ROOT / path).exists() else match[0]
        return f"[{label}]({posixpath.relpath(found, posixpath.dirname(page) or '.')}{anchor})"

    return _LINK.sub(replaced, text)


def mentioned(text: str, paths: Mapping[str, str]) -> str:
    """Return a page in which each public class is a link where it is first mentioned.

    Blocks of code, titles and links stay as they are.

    Args:
        text: The page, in Markdown.
        paths: The entries of the reference, by name.

    Returns:
        The page, with links that are resolved later.

    >>> mentioned("A `Run`. Another `Run`.", {"Run": "crossbandit.environments.simulation.Run"})
    'A [`Run`][crossbandit.environments.simulation.Run]. Another `Run`.'
    """
    seen: set[str] = set()

    def replaced(match: re.Match[str]) -> str:
        name = match[1]
        if name is None or name in seen or name not in paths:
            return match[0]
        seen.add(name)
        return f"[{match[0]}][{paths[name]}]"

    return _MENTION.sub(replaced, text)
