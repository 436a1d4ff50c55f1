"""Make many decisions in one call, and learn from the feedback of many decisions in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.algorithms.learners.decisions import Decision, learned_before
from crossbandit.algorithms.learners.feedback import checked_rows, joined_rows
from crossbandit.core.validation import because_of, reject, verbatim
from crossbandit.errors import DecisionError, InvalidContextError, InvalidLossesError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crossbandit.algorithms.learners.learner import Learner
    from crossbandit.core.types import Floats


def read_many(contexts: Any, available: Any) -> tuple[list[Any], list[Any]]:
    """Return the contexts and the masks of `act_many`, as lists of the same length."""
    given = _listed("contexts", contexts)
    masks = [None] * len(given) if available is None else _listed("available", available)
    if len(masks) != len(given):
        expected = f"None, or as many masks as contexts, {len(given)}"
        reject("act_many", "available", expected, verbatim(str(len(masks))))
    return given, masks


def act_many(learner: Learner, contexts: Any, available: Any = None) -> Sequence[Decision]:
    """Make decisions, as `Learner.act_many` says."""
    given, masks = read_many(contexts, available)
    if learner.graph_kind == "informed":
        got = verbatim("a problem whose graph is given to act before each round; call act")
        reject("act_many", "contexts", "those of a problem with one graph", got)
    if available is None:
        decisions = learner.act_many_usual(given)
        if decisions is not None:
            return decisions
    read = [learner._read(context, mask) for context, mask in zip(given, masks, strict=True)]
    with learner._lock:
        return [learner.act(plain, mask) for (plain, _), mask in zip(read, masks, strict=True)]


def learn_many(
    learner: Learner,
    decisions: Any,
    losses: Any,
    also: Callable[[int | None], Sequence[Callable[[], Any]]] | None = None,
) -> None:
    """Learn from decisions, as `Learner.learn_many` says.

    also: see `Learner._learn_all`.
    """
    plain = type(decisions) is list and isinstance(losses, list | tuple | np.ndarray)
    alike = also is None and plain and len(decisions) == len(losses)
    if alike and learner.learn_many_usual(decisions, losses):
        return
    with learner._lock:
        learner._recover()
        pending = _expected(learner, decisions)
        if learner.graph_kind in {"uninformed", "unknown"}:
            expected = "those of a problem that says in advance what a play reveals; call learn"
            got = verbatim(f"those of {learner.graph_kind} graphs")
            reject("learn_many", "decisions", expected, got)
        revealed = [learner.revealed(one) for one in pending]
        rows = _rows(learner, pending, revealed, losses)
        learner._learn_all(pending, rows, also or (lambda _: ()))


def _listed(name: str, values: Any) -> list[Any]:
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        expected = "a sequence with an entry for each decision"
        reject("act_many", name, expected, values, error=InvalidContextError)
    return list(values)


def _expected(learner: Learner, decisions: Any) -> list[Decision]:
    """Return what learning from each decision needs; raise if `learn` would refuse one."""
    if isinstance(decisions, str | bytes) or not hasattr(decisions, "__len__"):
        raise DecisionError(
            f"learn_many takes what act_many returned, or a list of decisions and tokens. Got "
            f"{decisions!r}."
        )
    pending: list[Decision] = []
    failed: dict[int, DecisionError] = {}
    names = set()
    for i, decision in enumerate(decisions):
        try:
            one = learner._expected(decision)
            if (one.decider, one.counter) in names:
                raise learned_before(one.round)
        except DecisionError as error:
            failed[i] = error
            continue
        names.add((one.decider, one.counter))
        pending.append(one)
    if failed:
        raise because_of(failed, next(iter(failed.values())))
    return pending


def _rows(
    learner: Learner, pending: list[Decision], revealed: list[Sequence[int]], losses: Any
) -> list[Floats]:
    form = learner.problem.form
    total = sum(map(len, revealed))
    if isinstance(losses, np.ndarray) and losses.shape == (total, form.columns):
        return joined_rows(form, pending, revealed, losses)
    if not hasattr(losses, "__len__") or len(losses) != len(pending):
        expected = (
            f"an entry for each of the {len(pending)} decisions, or one array of shape "
            f"{(total, form.columns)} with all their rows"
        )
        reject("learn_many", "losses", expected, losses, error=InvalidLossesError)
    triples = zip(pending, revealed, losses, strict=True)
    return [checked_rows(form, one, own, given) for one, own, given in triples]
