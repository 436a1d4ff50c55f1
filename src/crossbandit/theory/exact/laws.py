"""Checks of what is played and retained, and of the two samples of an epoch.

All are equalities over all branches of tiny instances. Denominators come from the frequency
contexts, the special arm from the loss-side contexts. Neither is read from the learner. Both are
inferred from the inputs of FTRL.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.graphs import FeedbackGraph, loopless_clique, threshold
from crossbandit.kernels.epochs import EpochParameters
from crossbandit.theory.definition import Definition
from crossbandit.theory.exact.enumeration import (
    Node,
    Tree,
    act,
    cumulative,
    enumerate_branches,
    fork,
    play_retained,
    weighted_sum,
)
from crossbandit.theory.statements import (
    CheckResult,
    Differences,
    Effort,
    Subject,
    statement,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.types import Floats

NU = np.array([0.25, 0.75])
_ETA = 0.8  # so large that the fallback occurs
TWO_LOOPLESS = FeedbackGraph([[0, 1, 0], [1, 0, 0], [1, 1, 1]])
_EDGE = 1e-12


class _Instance(NamedTuple):
    name: str
    graph: FeedbackGraph
    epoch_length: int
    rounds: dict[Effort, int]
    width: dict[Effort, int | None]  # as for `enumerate_branches`


_ALL: dict[Effort, int | None] = dict.fromkeys(Effort, None)

# Denominators and special arm are random from epoch 4 on: before, every snapshot is uniform. Epochs
# of two pairs show mistakes in what is summed over the pairs of an epoch.
_INSTANCES = (
    _Instance("two arms", loopless_clique(2), 2, {Effort.QUICK: 8, Effort.FULL: 10}, _ALL),
    _Instance("three arms", TWO_LOOPLESS, 2, {Effort.QUICK: 6, Effort.FULL: 8}, _ALL),
    _Instance("self-loops", threshold(3), 2, {Effort.QUICK: 6, Effort.FULL: 8}, _ALL),
    _Instance(
        "two pairs",
        loopless_clique(2),
        4,
        {Effort.QUICK: 12, Effort.FULL: 12},
        {Effort.QUICK: 4, Effort.FULL: 25},
    ),
)


@lru_cache(maxsize=1)
def trees(subject: Subject, effort: Effort) -> tuple[Tree, ...]:
    """Return every instance, enumerated."""
    grown = []
    for instance in _INSTANCES:
        parameters = EpochParameters(_ETA, 0.05, 0.2, 0.1, instance.epoch_length)
        shape = (instance.rounds[effort], NU.size, instance.graph.arms)
        losses = np.random.default_rng(0).uniform(0.2, 1, shape)
        losses[:, 1] = 1.2 - losses[:, 0]  # the contexts disagree about the best arm
        definition = Definition(instance.graph, NU, parameters)
        under_test = replace(subject, **parameters._asdict())
        width = instance.width[effort]
        grown.append(enumerate_branches(under_test, instance.name, definition, losses, width))
    return tuple(grown)


@statement(22, "Equation 2", "Algorithm 2", "Section 3.3: q, the fallback, s_{e+2} = p_{eL}")
def policies_are_those_of_the_definition(subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """Every policy of every branch is q_{t,c} of the definition, and arms are drawn from it."""
    reported, drawn = Differences(), Differences()
    tests: list[bool] = []
    for tree in trees(subject, effort):
        for node in tree.all:
            reported.compare(node.policies, node.moment.q)
            tests += node.moment.fallback.tolist()
        for node in tree.inner:
            for branch in node.branches:
                reported.compare(branch.between, node.moment.q)
            _see_draws(node, drawn)
    yield reported.result(
        "Equation 2 (FTRL) and the played q",
        "the policy of every context before every round of every branch, against the definition",
        f"At {sum(tests):,} of {len(tests):,} nodes and contexts, the fallback is played. p_{{eL}} "
        "is read as the state after all updates of epoch e: the literal sum over s < eL would drop "
        "an update of round eL.",
    )
    yield drawn.result(
        "Algorithm 2 (A ~ q)", "which arm a uniform number draws, at both ends of its interval"
    )


def _see_draws(node: Node, drawn: Differences) -> None:
    for c, q in enumerate(node.policies):
        edges = np.cumsum(q)
        for a, edge in enumerate(edges):
            low = (edges[a - 1] if a else 0.0) + _EDGE
            played = [act(fork(node.learner), c, u).arm for u in (low, edge - _EDGE)]
            drawn.compare(played, [a, a])


@statement(23, "Appendix A: law of the retained output", "Equation 3")
def retained_output_has_its_law(subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """P(B = a | c) = r_{e,c}(a) / 2 whatever the proposal, and so P(a is observed) = w_e(a)."""
    law, fallback, observed = Differences(), Differences(), Differences()
    for tree in trees(subject, effort):
        for node in tree.inner:
            if node.moment.epoch == 1:
                continue
            retained = _retained(node)
            law.compare(retained, node.moment.r / 2)
            for c, falls_back in enumerate(node.moment.fallback):
                if falls_back:
                    fallback.compare(retained[c], node.moment.r[c] / 2)
            observed.compare(NU @ retained @ tree.definition.into, node.moment.w)
    yield law.result(
        "Appendix A (retained output)",
        "P(B = a | context) over all branches, against r_e(a) / 2, for every proposal",
        f"Under the fallback: {fallback.instances:,} of them, "
        f"largest difference {fallback.worst:.1e}.",
    )
    yield observed.result(
        "Equation 3 (observation probability)",
        "P(B in N_in(a)) over all branches, against w_e(a)",
    )


def _retained(node: Node) -> Floats:
    """Return P(B = a | loss-side context c) as the learner has it: (M, K)."""
    law = np.full(node.policies.shape, Fraction(0), dtype=object)
    of_context = [Fraction(0)] * NU.size
    for branch in node.branches:
        draws = branch.draws
        c = draws.contexts[draws.loss_side]
        of_context[c] += branch.mass
        if draws.retained:
            law[c, draws.arms[draws.loss_side]] += branch.mass
    given: Floats = (law / np.array(of_context)[:, None]).astype(np.float64)
    return given


class _EpochValues(NamedTuple):
    """The values of an epoch, inferred from the inputs of FTRL."""

    denominators: Floats  # (K,)
    special: int | None


def _seen(node: Node) -> _EpochValues:
    """Let copies of the learner retain losses of 1 and of 0. Inputs then differ by 2 / W_e."""
    arms = node.policies.shape[1]
    denominators, correction = np.full(arms, np.nan), np.zeros(arms)
    for arm in range(arms):
        ones, correction = (
            play_retained(node, arm, np.full(node.policies.shape, loss)).fed for loss in (1.0, 0.0)
        )
        revealed = ones > correction
        denominators[revealed] = 2 / (ones - correction)[revealed]
    corrected = np.flatnonzero(correction)
    return _EpochValues(denominators, int(corrected[0]) if corrected.size else None)


@statement(
    24,
    "Section 3.3: what_e is unbiased",
    "Section 3.3: W_e and j_e",
    "Appendix A: D_e is independent of G_e",
)
def samples_are_fresh_and_apart(subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """W_e and j_e are those of their samples, E[what_e] = w_e, and the two are independent."""
    sample, mean, chosen, joint = (Differences() for _ in range(4))
    both_random = 0
    for tree in trees(subject, effort):
        seen = {node: _seen(node) for node in tree.all if node.opens_epoch}
        for node, values in seen.items():
            sample.compare(values.denominators, node.moment.denominators)
            if node.moment.special is not None:
                chosen.compare(values.special, node.moment.special)
        shift = 1.5 * tree.definition.parameters.gamma
        for node in tree.inner:
            ends = _ends(node, tree) if node.moment.pair == 0 else []
            if not ends:
                continue
            terms = ((mass, seen[end].denominators) for mass, end in ends)
            mean.compare(
                weighted_sum(terms, (tree.definition.graph.arms,)) - shift, ends[0][1].moment.w
            )
            both_random += _see_joint_law(ends, seen, joint)
    yield sample.result(
        "Section 3 (denominators W_e)",
        "2 l / (what FTRL was fed), against the mean over the frequency contexts + 3/2 gamma",
    )
    yield mean.result(
        "Section 3 (E[what_e] = w_e)",
        "mean of the observed denominators over all branches of an epoch, against w_e + 3/2 gamma",
    )
    yield chosen.result(
        "Section 3 (special arm j_e)",
        "the arm that is corrected, against the heaviest loopless arm on the loss-side contexts",
        "Ties go to the smallest arm.",
    )
    yield joint.result(
        "Appendix A (independent samples)",
        "P(j_e, inputs of the epoch, W_e) against P(j_e, inputs) P(W_e), over all branches",
        f"In {both_random:,} epochs, j_e and W_e are both random.",
    )


def _ends(node: Node, tree: Tree) -> list[tuple[Fraction, Node]]:
    """Return where an epoch that begins at `node` may end, with probabilities given `node`."""
    reached = {node: Fraction(1)}
    for _ in range(tree.definition.parameters.epoch_length // 2):
        following: defaultdict[Node, Fraction] = defaultdict(Fraction)
        for start, mass in reached.items():
            for branch in start.branches:
                following[branch.child] += mass * branch.mass
        reached = following
    return [(mass, end) for end, mass in reached.items()]


def _see_joint_law(
    ends: list[tuple[Fraction, Node]], seen: dict[Node, _EpochValues], joint: Differences
) -> bool:
    """Compare a joint distribution with the product; return whether j_e and W_e are both random."""
    together: defaultdict[tuple[object, object], Fraction] = defaultdict(Fraction)
    learned: defaultdict[object, Fraction] = defaultdict(Fraction)
    counted: defaultdict[object, Fraction] = defaultdict(Fraction)
    total = sum((mass for mass, _ in ends), Fraction(0))
    for mass, end in ends:
        inputs = (seen[end].special, cumulative(end.learner).round(9).tobytes())
        denominators = seen[end].denominators.round(9).tobytes()
        together[inputs, denominators] += mass / total
        learned[inputs] += mass / total
        counted[denominators] += mass / total
    for pair in product(learned, counted):
        joint.compare(float(together[pair]), float(learned[pair[0]] * counted[pair[1]]))
    return len(counted) > 1 and len({seen[end].special for _, end in ends}) > 1
