"""Checks of the two samples of an epoch: equalities over all branches of tiny instances.

Denominators come from the frequency contexts, the special arm from the loss-side contexts. Neither
is read from the learner. Both are inferred from the inputs of FTRL.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.theory.exact.differences import Differences, weighted_sum
from crossbandit.theory.exact.driving import cumulative
from crossbandit.theory.exact.enumeration import Node, Tree, play_retained
from crossbandit.theory.exact.laws import trees
from crossbandit.theory.statements import CheckResult, Effort, Subject, statement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.types import Floats


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
