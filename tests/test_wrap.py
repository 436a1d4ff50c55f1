"""The lines of pages are wrapped, and nothing else on them changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from website.wrap import pages, wrapped

LONG = "word " * 30
WRAPPED = "word " * 19 + "word\n" + "word " * 9 + "word"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one\ntwo\n\nthree", "one two\n\nthree"),
        (LONG, WRAPPED),
        ("- one\n  two\n- three\n\n1. four\n   five", "- one two\n- three\n\n1. four five"),
        ("- one\ntwo", "- one\ntwo"),  # not a line of the item
        ("text:\n- item", "text:\n- item"),
        (f"# {LONG}\n| {LONG}|\n![{LONG}](x)\n<b>{LONG}</b>",) * 2,
        (f"```sh\n{LONG}\n```\n    {LONG}\n---",) * 2,
        (f"---\ntitle: {LONG}\n---\none\ntwo", f"---\ntitle: {LONG}\n---\none two"),
        # A comment has no width, and stays whole.
        ("a <!-- measured core: a run -->" + "b" * 95 + "<!-- end --> cc",) * 2,
        # It does not begin a line, so the word before it goes with it.
        (
            "a" * 90 + " is <!-- measured core: a run -->12345678<!-- end -->",
            "a" * 90 + "\nis <!-- measured core: a run -->12345678<!-- end -->",
        ),
    ],
)
def test_paragraphs_and_items_are_wrapped(text: str, expected: str) -> None:
    assert wrapped(text) == expected
    assert wrapped(expected) == expected


@given(st.lists(st.text("ab ", min_size=1).filter(str.strip), min_size=1))
def test_words_stay_in_their_order(lines: list[str]) -> None:
    text = "\n".join(line.strip() for line in lines)
    assert wrapped(text).split() == text.split()
    assert all(len(line) <= 100 or " " not in line for line in wrapped(text).splitlines())


def test_what_is_made_from_something_else_is_left_alone() -> None:
    names = {page.name for page in pages()}
    assert "CONTRIBUTING.md" in names
    assert names.isdisjoint({"benchmarks.md", "many_contexts.md"})
