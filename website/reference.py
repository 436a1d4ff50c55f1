"""The reference of all public names, made from the packages: a page per subject and per class."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
from collections import Counter
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

import crossbandit
from website.subjects import PAGES, Page

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = "reference/api"


@dataclass(frozen=True)
class Entry:
    """A public name.

    Args:
        path: Where it is imported from.
        thing: What it is.
    """

    path: str
    thing: Any

    @property
    def name(self) -> str:
        """The name itself."""
        return self.path.rpartition(".")[2]

    @property
    def summary(self) -> str:
        """The first paragraph of its docstring, on one line."""
        text = (inspect.getdoc(self.thing) or "").split("\n\n")[0]
        return " ".join(text.split())


def packages() -> list[str]:
    """Return all modules of the package that declare public names.

    Returns:
        The names of the modules that have an `__all__`, the package itself first.
    """
    names = [f"crossbandit.{one.name}" for one in pkgutil.iter_modules(crossbandit.__path__)]
    names = [name for name in names if not name.endswith("__main__")]
    return ["crossbandit", *(name for name in names if hasattr(_module(name), "__all__"))]


@cache
def entries() -> dict[Page, tuple[Entry, ...]]:
    """Return the names of each page. Every public object is on one page.

    Returns:
        The pages in their order, each with its names.
    """
    pages = list(PAGES)
    known = {source for page in pages for source in page.sources}
    for package in packages():
        if package not in known:
            stem = package.rpartition(".")[2]
            text = (inspect.getdoc(_module(package)) or "").split("\n\n")[0]
            pages.append(Page(stem, stem.capitalize(), text, (package,)))
    single = {id(resolve(source)) for source in known if not _is_module(source)}
    shown: set[int] = set()
    result = {}
    for page in pages:
        found = []
        for entry in _sources(page):
            identity = id(entry.thing)
            if identity not in shown and (entry.path in page.sources or identity not in single):
                shown.add(identity)
                found.append(entry)
        if found:
            result[page] = tuple(found)
    return result


@cache
def paths() -> dict[str, str]:
    """Return where each entry is, by what pages and docstrings call it.

    Returns:
        The path of each class, by its name if no other has it, and of each entry, by its path.
    """
    found = [entry for page in entries().values() for entry in page]
    count = Counter(entry.name for entry in found)
    names = {
        entry.name: entry.path
        for entry in found
        if count[entry.name] == 1 and entry.name[0].isupper()
    }
    return {**names, **{entry.path: entry.path for entry in found}}


def files() -> dict[str, str]:
    """Return all pages of the reference, in Markdown: one per subject, and one per class.

    Returns:
        The name of each page, relative to docs/, with its text.
    """
    shown = {id(entry.thing) for found in entries().values() for entry in found}
    pages = {f"{FOLDER}/names.md": _index()}
    for page, found in entries().items():
        blocks = [f"# {page.title}", page.text, _summary(found, "")]
        for one in found:
            if inspect.isclass(one.thing):
                text = f"---\ntitle: {one.name}\n---\n\n{_block(one, shown, heading_level=1)}\n"
                pages[f"{FOLDER}/{page.stem}/{one.name}.md"] = text
            else:
                blocks.append(_block(one, shown))
        pages[f"{FOLDER}/{page.stem}/index.md"] = "\n\n".join(blocks) + "\n"
    return pages


def _module(name: str) -> ModuleType:
    return importlib.import_module(name)


def _is_module(path: str) -> bool:
    return isinstance(resolve(path), ModuleType)


def resolve(path: str) -> Any:
    """Return what a dotted name stands for.

    Args:
        path: The name of a module, or of something in a module.

    Returns:
        The module, class, function or value.
    """
    home, _, name = path.rpartition(".")
    parent = _module(home) if home else None
    return getattr(parent, name, None) or _module(path)


def _sources(page: Page) -> Iterator[Entry]:
    for source in page.sources:
        thing = resolve(source)
        if not isinstance(thing, ModuleType):
            yield Entry(source, thing)
        elif hasattr(thing, "__all__"):
            for name in thing.__all__:
                inner = getattr(thing, name)
                if source != "crossbandit" or not isinstance(inner, ModuleType):
                    yield Entry(f"{source}.{name}", inner)
        else:
            for name, inner in vars(thing).items():
                if inspect.isfunction(inner) and inner.__module__ == source and name[0] != "_":
                    yield Entry(f"{source}.{name}", inner)


def _index() -> str:
    count = sum(map(len, entries().values()))
    text = (
        f"This page lists the {count} public names of Crossbandit by subject. Each leads to what it"
        " takes, returns and raises. Everything else is internal, and may change."
    )
    parts = ["# All public names", text]
    for page, found in entries().items():
        parts += [f"## [{page.title}]({page.stem}/index.md)", page.text]
        parts += [_summary(found, f"{page.stem}/")]
    return "\n\n".join(parts) + "\n"


def _summary(found: tuple[Entry, ...], folder: str) -> str:
    rows = ["| name | what it is |", "|---|---|"]
    for one in found:
        page = f"{one.name}.md" if inspect.isclass(one.thing) else f"index.md#{one.path}"
        rows.append(
            f"| [`{one.name}`]({folder}{page}) | {one.summary.replace('|', chr(92) + '|')} |"
        )
    return "\n".join(rows)


def _block(entry: Entry, shown: set[int], **options: int) -> str:
    """Return the directive that shows one name, with what it inherits from internal classes."""
    given: dict[str, object] = {**options}
    if inspect.isclass(entry.thing) and (inherited := inherited_members(entry.thing, shown)):
        given["inherited_members"] = sorted(inherited)
    lines = [f"      {name}: {json.dumps(value)}" for name, value in given.items()]
    return "\n".join([f"::: {entry.path}", *(["    options:", *lines] if lines else [])])


def inherited_members(owner: type, shown: set[int]) -> set[str]:
    """Return the public members that a class has from base classes without an entry.

    Args:
        owner: The class.
        shown: The identities of all objects that have an entry.

    Returns:
        The names of the members that have a docstring.
    """
    found: set[str] = set()
    for base in owner.__mro__[1:]:
        if id(base) in shown or not base.__module__.startswith("crossbandit"):
            continue
        found |= {
            name
            for name, member in vars(base).items()
            if not name.startswith("_")
            and getattr(member, "__doc__", None)
            and (inspect.isroutine(member) or isinstance(member, (property, classmethod)))
        }
    return found
