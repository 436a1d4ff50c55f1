"""Whether every arm can be observed, and which arms decide it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, cast

import numpy as np

from crossbandit.errors import InvalidGraphError
from crossbandit.graphs.neighborhoods import self_loops, sizes
from crossbandit.validation import choice, reject, verbatim

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crossbandit.graphs.graph import FeedbackGraph

_NAMED_ARMS = 3  # how many arms a message lists
_EXPECTED = {
    "strong": "strongly observable: each arm has a self-loop or is revealed by every other arm",
    "weak": "observable: each arm is revealed by some arm",
}
_ENOUGH = {"strong": "every other arm", "weak": "some arm"}

Grade = Literal["strong", "weak", "none"]


class _Arms(NamedTuple):
    """The arms that are not strongly observable, and those without a self-loop that are."""

    hidden: list[int]
    weak: list[int]
    seen_by_all_others: list[int]


def grade(graph: FeedbackGraph) -> Grade:
    """Return the observability of the worst arm."""
    hidden, weak, _ = _sorted_arms(graph)
    if hidden:
        return "none"
    return "weak" if weak else "strong"


def reason(graph: FeedbackGraph) -> str:
    """Return a sentence that names the arms which decide the grade."""
    hidden, weak, loopless = _sorted_arms(graph)
    if hidden:
        return f"no arm reveals {_named(hidden)}"
    if weak:
        verb, them = ("has", "it") if len(weak) == 1 else ("have", "them")
        return f"{_named(weak)} {verb} no self-loop, and not every other arm reveals {them}"
    if not loopless:
        return "every arm has a self-loop"
    verb = "is" if len(loopless) == 1 else "are"
    return (
        f"every arm has a self-loop, except {_named(loopless)}, which {verb} revealed by all others"
    )


def of_arms(graph: FeedbackGraph) -> tuple[Grade, ...]:
    """Return the observability of each arm."""
    hidden, weak, _ = _sorted_arms(graph)
    grades: list[Grade] = ["strong"] * graph.arms
    for arms, grade_ in ((hidden, "none"), (weak, "weak")):
        for arm in arms:
            grades[arm] = cast("Grade", grade_)
    return tuple(grades)


def weak_arms(graph: FeedbackGraph) -> list[int]:
    """Return the arms that are weakly observable, ascending."""
    return _sorted_arms(graph).weak


def require(graph: FeedbackGraph, owner: str, least: str) -> None:
    """Raise unless every arm is at least "weak"ly or "strong"ly observable."""
    choice("require_observable", "least", least, ("weak", "strong"))
    hidden, weak, _ = _sorted_arms(graph)
    if not hidden and (least == "weak" or not weak):
        return
    arm = (hidden or weak)[0]
    others = np.delete(np.arange(graph.arms), arm)
    missing = np.setdiff1d(others, graph.in_neighbors(arm)).tolist()
    lack = f"arm {arm} has no self-loop"
    cure = f"add the self-loop ({arm}, {arm})"
    if missing:
        lack += f" and is not revealed by {_named(missing)}"
        cure += f", or an edge to arm {arm} from {_ENOUGH[least]}"
    reject(
        owner,
        "graph",
        _EXPECTED[least],
        verbatim(f"a graph in which {lack}; {cure}"),
        error=InvalidGraphError,
    )


def _sorted_arms(graph: FeedbackGraph) -> _Arms:
    revealers = sizes(graph.in_ranges)
    loopless = ~self_loops(graph.out_ranges)
    # A single arm without self-loop is hidden, although all of its zero other arms reveal it.
    hidden = revealers == 0
    by_all_others = loopless & ~hidden & (revealers == graph.arms - 1)
    weak = loopless & ~hidden & ~by_all_others
    return _Arms(*(np.flatnonzero(kind).tolist() for kind in (hidden, weak, by_all_others)))


def _named(arms: Sequence[int]) -> str:
    """Return "arm 3", "arms 3 and 5" or "arms 3, 5, 6 and 12 more"."""
    if len(arms) == 1:
        return f"arm {arms[0]}"
    rest = len(arms) - _NAMED_ARMS
    shown = [str(arm) for arm in arms[:_NAMED_ARMS]]
    if rest > 0:
        shown.append(f"{rest} more")
    return f"arms {', '.join(shown[:-1])} and {shown[-1]}"
