"""The navigation of mkdocs.yml, with patterns in place of pages that are not listed one by one."""

from __future__ import annotations

from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection

Entry = str | dict[str, Any]


def expanded(entries: list[Entry], pages: Collection[str]) -> list[Entry]:
    """Return a navigation in which each pattern is replaced by its pages.

    A page that is listed by its name is left out of all patterns. Sections without pages are left
    out, too.

    Args:
        entries: The navigation: pages, titles of pages, sections, patterns such as "how-to/*.md".
        pages: The names of all pages, relative to docs/.

    Returns:
        The navigation, with names of pages only.

    >>> expanded(["index.md", {"How-to": ["how-to/*.md"]}], ["index.md", "how-to/a.md"])
    ['index.md', {'How-to': ['how-to/a.md']}]
    """
    known = set(listed(entries))
    return _expanded(entries, [page for page in pages if page not in known])


def listed(entries: list[Entry]) -> list[str]:
    """Return the pages of a navigation, in its order.

    Args:
        entries: The navigation.

    Returns:
        The names of its pages, and its patterns.
    """
    found: list[str] = []
    for entry in entries:
        target = next(iter(entry.values())) if isinstance(entry, dict) else entry
        found.extend(listed(target) if isinstance(target, list) else [target])
    return found


def _expanded(entries: list[Entry], pages: list[str]) -> list[Entry]:
    """Replace patterns, and take what they match out of `pages`."""
    result: list[Entry] = []
    for entry in entries:
        if isinstance(entry, str):
            result.extend(_matching(entry, pages) if "*" in entry else [entry])
            continue
        ((title, target),) = entry.items()
        if isinstance(target, str) and "*" in target:
            target = [target]
        if isinstance(target, str):
            result.append(entry)
        elif inside := _expanded(target, pages):
            result.append({title: inside})
    return result


def _matching(pattern: str, pages: list[str]) -> list[Entry]:
    """Return the pages of a pattern, an index first, and take them out of `pages`.

    Those in a folder below that of the pattern are a section, which has the name of the folder.
    """
    found = [page for page in pages if fnmatch(page, pattern)]
    found.sort(key=lambda page: not page.endswith("/index.md"))
    pages[:] = [page for page in pages if page not in found]
    depth = pattern.count("/")
    result: list[Entry] = []
    sections: dict[str, list[Entry]] = {}
    for page in found:
        if page.count("/") == depth:
            result.append(page)
        else:
            sections.setdefault(page.split("/")[depth].capitalize(), []).append(page)
    return [*result, *({title: inside} for title, inside in sections.items())]
