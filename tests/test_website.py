"""The site: its navigation has every page, its reference every public name, its links lead on."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from mkdocs.utils.yaml import yaml_load

from website import reference
from website.commands import page as commands_page
from website.docstrings import fenced, linked, with_returns
from website.hooks import foreign, generated
from website.links import PROJECT, mentioned, relinked
from website.navigation import Entry, expanded, listed

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def navigation() -> list[Any]:
    with (ROOT / "mkdocs.yml").open(encoding="utf-8") as file:
        entries: list[Any] = yaml_load(file)["nav"]
    return entries


@pytest.fixture(scope="module")
def pages() -> list[str]:
    written = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
    return [*written, *generated()]


def test_every_page_is_in_the_navigation_once(navigation: list[Any], pages: list[str]) -> None:
    assert sorted(listed(expanded(navigation, pages))) == sorted(pages)


def test_patterns_take_what_is_not_listed() -> None:
    entries: list[Entry] = [
        "index.md",
        {"A": ["a/2.md", "a/*.md"]},
        {"B": "b/*.md"},
        {"C": "c/*.md"},
    ]
    found = ["a/1.md", "a/2.md", "a/index.md", "b/1.md", "index.md"]
    assert expanded(entries, found) == [
        "index.md",
        {"A": ["a/2.md", "a/index.md", "a/1.md"]},
        {"B": ["b/1.md"]},
    ]


def test_every_public_name_is_in_the_reference_once() -> None:
    shown = [entry for found in reference.entries().values() for entry in found]
    identities = [id(entry.thing) for entry in shown]
    assert len(set(identities)) == len(identities)
    for package in reference.packages():
        module = reference.resolve(package)
        for name in module.__all__:
            thing = getattr(module, name)
            if package != "crossbandit" or not isinstance(thing, type(reference)):
                assert id(thing) in identities, f"{package}.{name}"


def test_packages_are_found() -> None:
    assert {"crossbandit", "crossbandit.graphs", "crossbandit.limits"} <= {*reference.packages()}


def test_members_of_internal_bases_are_shown() -> None:
    from crossbandit.applications import Application, FirstPriceBidder

    shown = {id(FirstPriceBidder), id(Application)}
    inherited = reference.inherited_members(FirstPriceBidder, shown)
    assert {"diagnosis", "merge"} <= inherited
    assert "save" not in inherited  # it is an entry of Application
    assert "settle" not in reference.inherited_members(Application, shown)


def test_commands_have_their_options() -> None:
    text = commands_page()
    assert "## make-log" in text
    assert "| `--feedback` |" in text
    assert "One of `after-loss`, `after-win`, `always`, `won-lost`." in text


def test_links_between_files_become_links_between_pages() -> None:
    assert relinked("[a](docs/how-to/x.md#y)", "project/contributing.md") == (
        "[a](../how-to/x.md#y)"
    )
    assert relinked("[a](../../CONTRIBUTING.md)", "how-to/x.md") == (
        "[a](../project/contributing.md)"
    )
    assert relinked("[S](Statement.v)", "project/proofs.md") == "S"
    assert relinked("[a](missing.v)", "project/proofs.md") == "[a](missing.v)"
    assert relinked("[a](https://b.c/d.md)", "index.md") == "[a](https://b.c/d.md)"
    assert all((ROOT / path).exists() for path in PROJECT.values())


def test_first_mentions_are_links() -> None:
    paths = {"Run": "a.Run"}
    text = "# `Run`\n\n```python\n`Run`\n```\n\n[a `Run`](b.md) and `Run`, `Run`, `Other`.\n"
    assert mentioned(text, paths) == text.replace("and `Run`", "and [`Run`][a.Run]")


def test_what_is_loaded_from_elsewhere_is_noticed() -> None:
    text = '<script src="https://a.b/c.js"></script> <a href="https://d.e">d</a>'
    assert foreign(text) == ["https://a.b/c.js"]
    assert foreign('<link rel="stylesheet" href="//a.b/c.css">') == ["//a.b/c.css"]
    assert foreign("p { background: url(https://a.b/c.png) }") == ["https://a.b/c.png"]
    assert foreign('<img src="a.png"> <link href="a.css">') == []


def test_examples_in_docstrings_are_code() -> None:
    text = "Text.\n\n>>> 1\n1\n\n>>> 2\n2\n\nMore."
    assert fenced(text) == "Text.\n\n```pycon\n>>> 1\n1\n\n>>> 2\n2\n```\n\nMore."
    assert fenced("No example.") == "No example."


def test_what_is_returned_has_a_section() -> None:
    text = "Return the sum of\ntwo numbers. Exact.\n\nArgs:\n    a: One.\n\n```pycon\n>>> 1\n```"
    assert with_returns(text, "int") == (
        "Return the sum of\ntwo numbers. Exact.\n\nArgs:\n    a: One.\n\n"
        "Returns:\n    The sum of two numbers.\n\n```pycon\n>>> 1\n```"
    )
    told = "Return one.\n\nReturns:\n    One."
    assert with_returns(told, "int") == told
    assert with_returns("Return early.", "None") == "Return early."


def test_names_in_docstrings_are_links() -> None:
    assert linked("See `Budget`.", "x") == "See [`Budget`][crossbandit.limits.Budget]."
    assert linked("See `Budget`.", "Budget") == "See `Budget`."
    assert linked("`load` and `eta`", "x") == "`load` and `eta`"  # two functions; no name


HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
ANCHOR = re.compile(r"\]\(([^)#\s:]*)#([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
FILES = [*sorted(ROOT.glob("[ACR]*.md")), *sorted(DOCS.rglob("*.md"))]


def anchors(path: Path) -> set[str]:
    """Return the anchors of a page, by the rule that both GitHub and the site follow."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    titles = [re.sub(r"\]\([^)]*\)|[`*\[\]]", "", title) for title in HEADING.findall(text)]
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", FILES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_sections_lead_somewhere(page: Path) -> None:
    for target, anchor in ANCHOR.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if anchor not in {"only-light", "only-dark"}:
            home = page.parent / target if target else page
            assert anchor in anchors(home), f"{target}#{anchor}"


@pytest.mark.parametrize("page", sorted(DOCS.glob("[deht]*/*.md")), ids=lambda page: page.name)
def test_a_page_begins_with_what_it_is_for(page: Path) -> None:
    """After the title comes a paragraph: no code, table, list, picture or other heading."""
    title, _, body = page.read_text(encoding="utf-8").partition("\n")
    assert title.startswith("# ")
    assert re.match(r"[\w*`\[(]", body.strip()), body.strip()[:40]
    assert not body.strip().startswith(("```", "- ", "* "))


@pytest.mark.parametrize("page", sorted(DOCS.glob("decisions/*.md")), ids=lambda page: page.name)
def test_a_decision_is_short(page: Path) -> None:
    """Ten lines: what was decided, why, and what else was tried."""
    text = page.read_text(encoding="utf-8")
    assert len([line for line in text.splitlines() if line.strip()]) <= 10
    assert "\n*What.* " in text
    assert "\n*Why.* " in text
