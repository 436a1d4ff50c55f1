"""Make many decisions in one call, and learn from the feedback of many decisions in one call."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from crossbandit.algorithms.learners.decisions import Decision, learned_before
from crossbandit.algorithms.learners.feedback import checked_rows, joined_rows
from crossbandit.core.blocks import LossBlock, read_only
from crossbandit.core.steps import at_once
from crossbandit.core.validation import because_of, reject, verbatim
from crossbandit.errors import DecisionError, InvalidContextError, InvalidLossesError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crossbandit.algorithms.learners.learner import Learner
    from crossbandit.core.blocks import ContextBlock, Readout
    from crossbandit.core.forms import Context
    from crossbandit.core.types import Booleans, Floats, Integers


class Plays(NamedTuple):
    """Decisions to be made: arrays for the results."""

    baselines: Floats  # (n,): NaN where there is none
    arms: Integers  # (n,)
    probabilities: Floats  # (n,)
    weights: Floats  # (n, K)


class Answers(NamedTuple):
    """The feedback of n decisions. Decision i revealed `revealed[starts[i] : starts[i + 1]]`."""

    rounds: Integers  # (n,)
    arms: Integers  # (n,): the arms that were played
    new: Booleans  # (n,): whether a round was played by a snapshot, and is to be counted
    baselines: Floats  # (n,): NaN where there is none
    weights: Floats  # (n, K)
    starts: Integers  # (n + 1,)
    revealed: Integers  # the arms revealed by all decisions
    places: Integers  # 0, 1, 2, ...: as many as `revealed`
    losses: LossBlock  # one round: a row for each revealed arm


@runtime_checkable
class BatchLearner(Protocol):
    """A learner that has compiled code for many decisions."""

    weighted: ClassVar[bool]  # Whether its decisions carry weights. If not, it decides one by one.

    def play_many(self, contexts: ContextBlock, numbers: Integers, plays: Plays) -> None:
        """Play rounds from the present one on, and fill in what was done."""

    def update_many_step(
        self, contexts: ContextBlock, numbers: Integers, last: int, answers: Answers
    ) -> Callable[[], Any]:
        """Return the step that learns from the feedback of decisions, in their order."""


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
    read = [learner._read(context, mask) for context, mask in zip(given, masks, strict=True)]
    with learner._lock:
        compiled = _compiled(learner)
        if not read or compiled is None:
            return [learner.act(plain, mask) for (plain, _), mask in zip(read, masks, strict=True)]
        count = len(read)
        plays = Plays(
            baselines=np.full(count, math.nan),
            arms=np.empty(count, dtype=np.int64),
            probabilities=np.empty(count),
            weights=np.zeros((count, learner.problem.arms)),
        )
        compiled.play_many(*_block(learner, read), plays)
        return learner.record_many(read, plays)


def learn_many(
    learner: Learner,
    decisions: Any,
    losses: Any,
    also: Callable[..., Sequence[Callable[[], Any]]] = lambda *_: (),
) -> None:
    """Learn from decisions, as `Learner.learn_many` says.

    also: returns other changes that are made in the same step. Without compiled code for many, it
    is called with the number of each decision, and returns what is changed with that.
    """
    with learner._lock:
        learner._recover()
        pending = _expected(learner, decisions)
        if learner.graph_kind in {"uninformed", "unknown"}:
            expected = "those of a problem that says in advance what a play reveals; call learn"
            got = verbatim(f"those of {learner.graph_kind} graphs")
            reject("learn_many", "decisions", expected, got)
        revealed = [learner.revealed(one) for one in pending]
        rows = _rows(learner, pending, revealed, losses)
        carried = all(one.weights is not None for one in pending)
        compiled = _compiled(learner)
        if not pending or not carried or compiled is None:
            for i, (one, own) in enumerate(zip(pending, rows, strict=True)):
                learner._learn_one(one, own, also(i))
            return
        last = learner.round - 1
        read = [(one.context, one.readout) for one in pending]
        marked, changed, marks = learner._marking(pending)
        new = np.array([one is not mark for one, mark in zip(pending, marked, strict=True)])
        rounds = np.array([one.round for one in marked])
        counts = np.array([len(own) for own in revealed])
        arms = np.concatenate([learner.revealed_arms(one.arm) for one in pending])
        base = np.concatenate(rows)[None]
        none = np.empty((1, len(arms), 0)), np.empty((0, base.shape[2]))
        answers = Answers(
            rounds,
            np.array([one.arm for one in pending]),
            new,
            np.array([math.nan if one.baseline is None else one.baseline for one in pending]),
            np.array([one.weights for one in pending]),
            np.concatenate([[0], np.cumsum(counts)]),
            arms,
            np.arange(len(arms)),
            read_only(LossBlock(base, *none, clip=False)),
        )
        step = compiled.update_many_step(*_block(learner, read), last, answers)
        at_once(partial(learner.set_counts, *changed), step, *marks, *also())


def _compiled(learner: Learner) -> BatchLearner | None:
    """Return the learner if it has compiled code for batches on this problem; else None."""
    if learner.graph_kind != "fixed" or learner.algorithm.needs_memory:
        return None
    return learner if isinstance(learner, BatchLearner) and learner.weighted else None


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


def _block(
    learner: Learner, read: Sequence[tuple[Context, Readout]]
) -> tuple[ContextBlock, Integers]:
    """Return how contexts read rows, and the numbers of the contexts if they have numbers."""
    form, arms = learner.problem.form, learner.problem.arms
    contexts = np.array([context for context, _ in read])
    masks = None
    if any(readout.available.size for _, readout in read):
        masks = np.array([readout.may_play(arms) for _, readout in read])
    numbers = np.empty(0, dtype=np.int64) if form.contexts is None else contexts
    return form.block(contexts, masks), numbers
