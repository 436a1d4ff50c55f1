"""Docstrings as the reference shows them: examples as code, names as links, what is returned."""

from __future__ import annotations

import inspect
import re
import sys
from typing import TYPE_CHECKING, Any

from griffe import Docstring, Extension, Function

from website import reference

if TYPE_CHECKING:
    from griffe import Class, Object

_PROMPT = re.compile(r"^( *)>>> ")
_CODE = re.compile(r"(?<![`\[])`([A-Za-z_.]+)`(?![`\]])")
_RETURN = re.compile(r"(?:Return|Yield) (.+?\.)(?:\s|$)", re.DOTALL)


class Docstrings(Extension):
    """Changes docstrings between reading and showing them."""

    def on_object(self, *, obj: Object, **_kwargs: Any) -> None:
        """Change the docstring of an object that was read.

        Args:
            obj: The object.
        """
        if obj.docstring is None and obj.is_attribute:
            obj.docstring = _of_method(obj)
        if obj.docstring is None:
            return
        text = fenced(obj.docstring.value)
        if isinstance(obj, Function):
            text = with_returns(text, str(obj.returns or ""))
        obj.docstring.value = linked(text, obj.name)

    def on_class_members(self, *, cls: Class, **_kwargs: Any) -> None:
        """Let a class that is made by `__new__` have its parameters.

        Args:
            cls: The class.
        """
        if "__new__" in cls.members and "__init__" not in cls.members:
            cls.members["__init__"] = cls.members["__new__"]


def _of_method(obj: Object) -> Docstring | None:
    """Return the docstring of a method that a module offers as a function of its own."""
    module, _, name = obj.path.rpartition(".")
    value = getattr(sys.modules.get(module), name, None)
    return Docstring(inspect.getdoc(value) or "", parent=obj) if inspect.ismethod(value) else None


def fenced(text: str) -> str:
    """Return a docstring with its examples in blocks of code; Markdown takes them for quotations.

    An example ends at an empty line that is not followed by another prompt.

    Args:
        text: The docstring.

    Returns:
        The docstring, in Markdown.
    """
    lines = text.split("\n")
    result: list[str] = []
    inside: str | None = None  # the indent of the example
    for number, line in enumerate(lines):
        prompt = _PROMPT.match(line)
        if inside is None and prompt:
            inside = prompt[1]
            result.append(f"{inside}```pycon")
        elif inside is not None and not line.strip():
            following = lines[number + 1] if number + 1 < len(lines) else ""
            if not _PROMPT.match(following):
                result.append(f"{inside}```")
                inside = None
        result.append(line)
    if inside is not None:
        result.append(f"{inside}```")
    return "\n".join(result)


def with_returns(text: str, annotation: str) -> str:
    """Return the docstring of a function with a section on what is returned.

    Where a docstring says it in its first sentence only, that sentence is the section.

    Args:
        text: The docstring.
        annotation: What the function returns, as in its source.

    Returns:
        The docstring.

    >>> print(with_returns("Return the sum. It is exact.", "int"))
    Return the sum. It is exact.
    <BLANKLINE>
    Returns:
        The sum.
    """
    sentence = _RETURN.match(text)
    if (
        annotation in {"", "None"}
        or sentence is None
        or re.search(r"^(Return|Yield)s:", text, re.MULTILINE)
    ):
        return text
    words = " ".join(sentence[1].split())
    section = f"Returns:\n    {words[0].upper()}{words[1:]}"
    before, fence, example = text.partition("\n\n```pycon\n")
    return f"{before.rstrip()}\n\n{section}{fence}{example}"


def linked(text: str, own: str) -> str:
    """Return a docstring in which public names in code are links to their entries.

    Args:
        text: The docstring, in Markdown.
        own: The name of what it describes, which is not linked.

    Returns:
        The docstring.

    >>> linked("Start a `CrossGraph`.", "start")
    'Start a [`CrossGraph`][crossbandit.algorithms.CrossGraph].'
    """

    def replaced(match: re.Match[str]) -> str:
        path = reference.paths().get(match[1])
        return match[0] if path is None or match[1] == own else f"[{match[0]}][{path}]"

    return _CODE.sub(replaced, text)
