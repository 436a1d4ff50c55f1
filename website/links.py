"""Links in pages of the repository, as links in the site."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]

# Files outside docs/ that are pages of the site.
PROJECT = {
    "project/contributing.md": "CONTRIBUTING.md",
    "project/changelog.md": "CHANGELOG.md",
    "project/proofs.md": "proofs/README.md",
}
_PAGES = {path: page for page, path in PROJECT.items()}
_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s:#]+)(#[^)\s]*)?\)")


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
