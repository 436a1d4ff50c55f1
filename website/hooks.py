"""What MkDocs calls while it builds the site."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

from website import commands, proof, reference
from website.links import PROJECT, ROOT, mentioned, relinked
from website.navigation import expanded

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

# What a browser would load without being asked: not links, which a reader follows.
_LOADED = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc=[\"']?((?:https?:)?//[^\"'\s>]+)"
    r"|<link\b[^>]*\bhref=[\"']?((?:https?:)?//[^\"'\s>]+)"
    r"|url\([\"']?((?:https?:)?//[^\"')]+)"
    r"|@import\s+[\"']((?:https?:)?//[^\"']+)"
)


# What is for contributors is left out of the search.
_NOT_SEARCHED = ("benchmarks.md", "contributors/", "decisions/", "project/")


def generated() -> dict[str, str]:
    """Return the pages that are not files in docs/.

    Returns:
        The name of each page, with its text in Markdown.
    """
    pages = {page: (ROOT / path).read_text(encoding="utf-8") for page, path in PROJECT.items()}
    made = {"reference/commands.md": commands.page(), proof.PAGE: proof.page()}
    return {**made, **reference.files(), **pages}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, and complete the navigation.

    Args:
        files: The files in docs/.
        config: The settings of the site.

    Returns:
        All files of the site.
    """
    for name, text in generated().items():
        files.append(File.generated(config, name, content=text))
    config.nav = expanded(config.nav or [], [one.src_uri for one in files.documentation_pages()])
    return files


def on_page_markdown(markdown: str, page: Any, **_kwargs: Any) -> str:
    """Link files of the repository and public names; keep pages for contributors out of the search.

    Args:
        markdown: The text of a page.
        page: The page.

    Returns:
        The text with its links.
    """
    name = page.file.src_uri
    if name.startswith(_NOT_SEARCHED):
        page.meta["search"] = {"exclude": True}
    elif name.startswith(reference.FOLDER):
        page.meta["search"] = {"boost": 0.5}  # pages for readers come first
    text = relinked(markdown, name)
    return text if name.startswith(reference.FOLDER) else mentioned(text, reference.paths())


def on_post_build(config: MkDocsConfig) -> None:
    """Refuse a site that loads anything from elsewhere.

    Args:
        config: The settings of the site.

    Raises:
        PluginError: A page or a style sheet loads something from another host.
    """
    for path in sorted(Path(config.site_dir).rglob("*")):
        if path.suffix in {".html", ".css"}:
            for address in foreign(path.read_text(encoding="utf-8")):
                raise PluginError(f"{path} loads {address}. The site must work without a network.")


def foreign(text: str) -> list[str]:
    """Return what a page or a style sheet loads from other hosts.

    Args:
        text: The page or the style sheet.

    Returns:
        The addresses.
    """
    return [next(filter(None, found)) for found in _LOADED.findall(text)]
