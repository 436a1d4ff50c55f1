"""The pages of a memory of decisions: the codes of consecutive decisions of one decider."""

from __future__ import annotations

import itertools
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from crossbandit.types import Integers

SHIFT = 10
PAGE = 1 << SHIFT  # decisions on a page

Key = tuple[str, int]  # the decider of a page, and the number of the page
_ARRAYS = ("deciders", "numbers", "newest", "codes", "dropped")


@dataclass(slots=True)
class Page:
    """The outcomes of `PAGE` consecutive decisions of one decider."""

    codes: array[int]  # 0 where a decision was not learned from
    newest: float  # the latest time of its decisions
    generation: int  # when it was made: pages of earlier generations are never changed

    def copied(self, generation: int) -> Page:
        return Page(self.codes[:], self.newest, generation)


def empty_codes() -> array[int]:
    """Return the codes of a new page: all 0."""
    return array("H", bytes(2 * PAGE))


def codes_of(page: Page) -> npt.NDArray[np.uint16]:
    """Return the codes of a page as an array that shares its memory."""
    return np.frombuffer(page.codes, dtype=np.uint16)


def pages_of(first: int, count: int) -> Iterator[tuple[int, int, int]]:
    """Yield the pages of consecutive decisions: the number of each, and the range of its codes."""
    end = first + count
    for page in range(first >> SHIFT, (end - 1 >> SHIFT) + 1):
        begin = page << SHIFT
        yield page, max(first - begin, 0), min(end - begin, PAGE)


def ascending(counters: Integers) -> bool:
    """Return whether each number is higher than the one before.

    Args:
        counters: Numbers of decisions.
    """
    return bool((counters[1:] > counters[:-1]).all())


def by_page(counters: Integers) -> list[tuple[int, slice | npt.NDArray[np.intp]]]:
    """Return the number of each page, and the positions of its decisions in `counters`."""
    if counters.size == 0:
        return []
    numbers = counters >> SHIFT
    if ascending(counters):  # the decisions of a page are neighbours
        edges = [0, *(np.flatnonzero(numbers[1:] != numbers[:-1]) + 1).tolist(), counters.size]
        return [
            (int(numbers[start]), slice(start, stop)) for start, stop in itertools.pairwise(edges)
        ]
    order = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    parts = np.split(order, starts[1:])
    return [(int(numbers[part[0]]), part) for part in parts]


def to_arrays(pages: Mapping[Key, Page], dropped: float) -> dict[str, npt.NDArray[Any]]:
    """Return a memory of decisions as arrays, for a file.

    Args:
        pages: The pages, by decider and number.
        dropped: The latest time of a decision on a dropped page; minus infinity if there is none.
    """
    codes = np.zeros((len(pages), PAGE), dtype=np.uint16)
    for i, page in enumerate(pages.values()):
        codes[i] = codes_of(page)
    return {
        "deciders": np.array([int(key[0], 16) for key in pages], dtype=np.uint64),
        "numbers": np.array([key[1] for key in pages], dtype=np.int64),
        "newest": np.array([page.newest for page in pages.values()], dtype=np.float64),
        "codes": codes,
        "dropped": np.array([dropped] if np.isfinite(dropped) else [], dtype=np.float64),
    }


def from_arrays(
    arrays: Mapping[str, npt.NDArray[Any]], generation: int
) -> tuple[dict[Key, Page], float]:
    """Return the pages, and the latest time of a dropped decision, that `to_arrays` was given.

    Args:
        arrays: The arrays by name.
        generation: The generation of the pages.

    Raises:
        ValueError: `to_arrays` cannot have returned them.
    """
    deciders, numbers, newest, codes, dropped = _checked(arrays)
    pages: dict[Key, Page] = {}
    for i, (decider, number) in enumerate(zip(deciders, numbers, strict=True)):
        content = array("H")
        content.frombytes(codes[i].tobytes())
        page = Page(content, float(newest[i]), generation)
        pages[f"{int(decider):016x}", int(number)] = page
    if len(pages) != len(deciders):
        raise ValueError("its memory of decisions has a page twice")
    return pages, float(dropped[0]) if dropped.size else -np.inf


def _checked(arrays: Mapping[str, npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
    """Return the arrays in the order of `_ARRAYS`; raise ValueError unless they are possible."""
    if set(arrays) != set(_ARRAYS):
        raise ValueError(f"its memory of decisions has the arrays {sorted(arrays)[:20]}")
    pages = len(arrays["codes"]) if arrays["codes"].ndim == 2 else -1
    expected: dict[str, tuple[Any, tuple[int, ...]]] = {
        "deciders": (np.uint64, (pages,)),
        "numbers": (np.int64, (pages,)),
        "newest": (np.float64, (pages,)),
        "codes": (np.uint16, (pages, PAGE)),
        "dropped": (np.float64, (min(arrays["dropped"].size, 1),)),
    }
    for name, (dtype, shape) in expected.items():
        if arrays[name].dtype != dtype or arrays[name].shape != shape:
            found = f"{arrays[name].dtype} of shape {arrays[name].shape}"
            raise ValueError(f"the array {name!r} of its memory of decisions is {found}")
    if not (np.isfinite(arrays["newest"]).all() and np.isfinite(arrays["dropped"]).all()):
        raise ValueError("its memory of decisions has times that are not finite")
    if (arrays["numbers"] < 0).any():
        raise ValueError("its memory of decisions has a page with a negative number")
    return [arrays[name] for name in _ARRAYS]
