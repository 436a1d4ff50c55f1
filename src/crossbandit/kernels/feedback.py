"""The kinds of feedback: after which outcomes the hidden number is told."""

from __future__ import annotations

from crossbandit.kernels.compilation import inlined

# It is told if the amount did not reach it, if the amount reached it, always, never.
AFTER_LOSS, AFTER_WIN, ALWAYS, WON_LOST = range(4)
FEEDBACK_CODES = {
    "after-loss": AFTER_LOSS,
    "after-win": AFTER_WIN,
    "always": ALWAYS,
    "won-lost": WON_LOST,
}


def _tells(feedback: int, reached: bool) -> bool:  # noqa: FBT001
    """Return whether the number is told. reached: whether the amount has reached it."""
    return feedback == ALWAYS or (feedback != WON_LOST and reached == (feedback == AFTER_WIN))


tells = inlined(_tells)
# By name, the outcomes after which the number is told: True if the amount has reached it.
TOLD_AFTER = {
    name: tuple(reached for reached in (False, True) if _tells(code, reached))
    for name, code in FEEDBACK_CODES.items()
}
