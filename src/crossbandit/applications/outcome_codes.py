"""An outcome as a number of 16 bits, which is remembered of every decision that was settled."""

from __future__ import annotations

HELD = 1  # it came, and was not learned from because outcomes were missing with a bias
FORGOTTEN = 2  # it was learned, on other amounts
NOTHING = 3  # it was learned, and said nothing about any amount
KNOWN = 3  # from here on, a code says what was learned
_FIRST = 4


def code_of(kind: int, index: int) -> int:
    """Return the code of an outcome.

    Args:
        kind: What is known of the number: 0 its cell, 1 that an amount reaches it, 2 that an
            amount does not; below 0 for nothing.
        index: The cell or amount, at most 15,000.
    """
    return NOTHING if kind < 0 else _FIRST + 4 * index + kind


def outcome_of(code: int) -> tuple[int, int]:
    """Return the kind and the index of a code; the kind is below 0 if it says nothing.

    Args:
        code: At least `KNOWN`.

    >>> outcome_of(code_of(2, 99))
    (2, 99)
    """
    return (-1, 0) if code == NOTHING else ((code - _FIRST) % 4, (code - _FIRST) // 4)
