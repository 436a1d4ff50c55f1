"""Merge two learners whose state is sums."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.errors import InvalidParameterError
from crossbandit.learners.missing import FeedbackWatch
from crossbandit.validation import reject, verbatim

if TYPE_CHECKING:
    from crossbandit.learners.learner import Learner


def merge(learner: Learner, other: Learner) -> None:
    """Add what `other` has learned to `learner`, as `Learner.merge` says.

    Args:
        learner: The learner that changes.
        other: The learner whose sums are added.

    Raises:
        InvalidParameterError: The two cannot be merged.
    """
    _check_kind(learner, other)
    first, second = sorted((learner, other), key=id)
    with first._lock, second._lock:  # in one order, so that two merges never wait for each other
        ours = {learner.id, *learner._former_ids}
        theirs = {**other._former_ids, other.id: other.round}
        if ours & set(theirs):
            got = verbatim("one that comes from the same learner, or was merged before")
            reject("merge", "other", "a learner with decisions of its own", got)
        state, added = learner.state(), other.state()
        for name in learner.additive_state:
            state[name][...] += added[name]
        learner.round += other.round
        learner._waiting += other._waiting
        learner._former_ids |= theirs
        learner.learned_from.merge(other.learned_from)
        if learner._watch is not None:  # earlier rounds of the two have the same numbers
            learner._watch = FeedbackWatch(learner.problem.arms, start=learner.round)


def _check_kind(learner: Learner, other: Learner) -> None:
    name = type(learner.algorithm).__name__
    if not learner.additive_state:
        raise InvalidParameterError(
            f"Learners of {name} cannot be merged: their state is more than sums. Give all tokens "
            "to one learner, and decide with its snapshots."
        )
    if type(other) is not type(learner):
        reject("merge", "other", f"a learner of {name}", other)
    same = other.problem == learner.problem and dict(other.tuned()) == dict(learner.tuned())
    if not same or other.algorithm != learner.algorithm:
        expected = f"a learner of {learner.algorithm} on the same problem"
        reject(
            "merge", "other", expected, verbatim(f"one of {other.algorithm}, or another problem")
        )
