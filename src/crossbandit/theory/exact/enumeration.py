"""All branches of Algorithm 2 on a tiny instance, played by the real learner.

A node is the moment before a pair of rounds: a learner in that state, and the same state by the
definition. From there, copies of the learner play every possible pair (two contexts, two arms,
split, retention), with uniform numbers inside that branch. The probability of a branch is read from
the learner: from the policy that it reports, and from the uniform number above which it does not
retain. Histories that lead to the same state of the definition continue as one node.

If an epoch has several pairs, only some of the nodes that begin an epoch are continued. All checks
are about probabilities given such a node, so no check is weaker for it.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, fields
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from crossbandit.errors import CheckFailedError
from crossbandit.problem import Problem
from crossbandit.simulation import simulate
from crossbandit.theory.definition import Definition, Moment, PairDraws

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from crossbandit.algorithms import CrossGraph, Decision, Learner
    from crossbandit.environments import Environment
    from crossbandit.simulation import Run
    from crossbandit.theory.statements import Subject
    from crossbandit.types import Floats

_MARGIN = 1e-12  # how close to the expected threshold the retention is probed
_BISECTIONS = 60
_SPLITS = (0.25, 0.75)  # a uniform number for each loss side
_HALF = Fraction(1, 2)


class Branch(NamedTuple):
    """One possible pair of rounds, as the learner played it."""

    mass: Fraction  # its probability, given the node
    draws: PairDraws
    fed: Floats  # (M, K): what FTRL was fed
    between: Floats  # (M, K): the policies before the second round, after feedback of the first
    child: Node


@dataclass(eq=False)
class Node:
    """A moment before a pair of rounds: by the definition, and a learner in that state."""

    moment: Moment
    learner: Learner
    branches: list[Branch] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.policies = policies(self.learner, self.moment.definition.nu.size)
        _require_distributions(self.policies, f"epoch {self.moment.epoch}, pair {self.moment.pair}")

    @property
    def opens_epoch(self) -> bool:
        """Whether an epoch after the warm-up begins here."""
        return self.moment.pair == 0 and self.moment.epoch > 1


class Tree(NamedTuple):
    """All nodes of an instance, by the number of pairs played before."""

    name: str
    definition: Definition
    losses: Floats  # (rounds, M, K)
    levels: list[list[Node]]

    @property
    def inner(self) -> Iterator[Node]:
        """The nodes whose pair was played."""
        return (node for node in self.all if node.branches)

    @property
    def all(self) -> Iterator[Node]:
        """Every node."""
        return (node for level in self.levels for node in level)

    def pair_losses(self, node: Node) -> Floats:
        """Return the losses of the two rounds that follow a node: (2, M, K)."""
        length = self.definition.parameters.epoch_length
        start = (node.moment.epoch - 1) * length + 2 * node.moment.pair
        return self.losses[start : start + 2]


def enumerate_branches(
    subject: Subject, name: str, definition: Definition, losses: Floats, width: int | None
) -> Tree:
    """Play every branch of len(losses) rounds; `losses` (rounds, M, K).

    Of the nodes that begin an epoch, at most `width` are continued: those that are evenly spread
    over the list of them. None means all.
    """
    problem = Problem(definition.graph, contexts=definition.nu.size)
    levels = [[Node(definition.first(), subject.start(problem, seed=0))]]
    tree = Tree(name, definition, losses, levels)
    for _ in range(len(losses) // 2):
        children: dict[bytes, Node] = {}
        nodes = levels[-1]
        if width is not None and nodes[0].moment.pair == 0:
            step = -(-len(nodes) // width)
            nodes = nodes[step // 2 :: step]
        for node in nodes:
            node.branches.extend(_branches(node, tree.pair_losses(node), children))
        levels.append(list(children.values()))
    return tree


def inside(policy: Floats, arm: int) -> float:
    """Return a uniform number that draws `arm` from `policy`, well away from its neighbours."""
    return float(policy[:arm].sum() + policy[arm] / 2)


class RetainedPair(NamedTuple):
    """What follows a pair whose first round is retained, in context 0."""

    policies: Floats  # (M, K): after the pair
    fed: Floats  # (K,): what FTRL was fed for context 0


def play_retained(node: Node, arm: int, losses: Floats) -> RetainedPair:
    """Let a copy play `arm` twice, learn from the first play and retain it; `losses` (M, K)."""
    learner, uniform = fork(node.learner), inside(node.policies[0], arm)
    decision = act(learner, 0, uniform)
    learner.learn(decision, losses.T[list(decision.revealed)])
    act(learner, 0, uniform, _SPLITS[0], 0.0)
    fed: Floats = (cumulative(learner) - cumulative(node.learner))[0]
    return RetainedPair(policies(learner, node.policies.shape[0]), fed)


def _require_distributions(policies: Floats, when: str) -> None:
    """Raise unless each row is a distribution: probabilities of branches are read from it."""
    if not (np.all(policies >= 0) and np.all(np.abs(policies.sum(axis=1) - 1) <= _MARGIN)):
        raise CheckFailedError(
            f"The policies that the learner reports in {when}, are not distributions: "
            f"{policies.tolist()}."
        )


def _branches(node: Node, losses: Floats, children: dict[bytes, Node]) -> Iterator[Branch]:
    nu, q = node.moment.definition.nu, node.policies
    contexts, arms = q.shape
    for c, a in product(range(contexts), range(arms)):
        opened = fork(node.learner)
        decision = act(opened, c, inside(q[c], a))
        opened.learn(decision, losses[0].T[list(decision.revealed)])
        between = policies(opened, contexts)
        _require_distributions(between, f"epoch {node.moment.epoch}, within a pair")
        first = Fraction(float(nu[c])) * Fraction(float(q[c, a]))
        for d, b, side in product(range(contexts), range(arms), (0, 1)):
            second = Fraction(float(nu[d])) * Fraction(float(between[d, b]))
            played = PairDraws((c, d), (a, b), side, retained=False)
            for mass, learner, fed in _retentions(node, opened, played, between, losses):
                draws = played._replace(retained=uses_losses(fed))
                after = node.moment.after(draws, losses)
                child = children.get(after.key)
                if child is None:
                    child = children[after.key] = Node(after, learner)
                yield Branch(first * second * _HALF * mass, draws, fed, between, child)


def _retentions(
    node: Node, opened: Learner, draws: PairDraws, between: Floats, losses: Floats
) -> Iterator[tuple[Fraction, Learner, Floats]]:
    """Yield what follows if feedback is retained and if it is not, with probabilities."""
    before = cumulative(node.learner)

    def close(retain: float) -> tuple[Learner, Floats]:
        learner = fork(opened)
        (_, c), (_, a) = draws.contexts, draws.arms
        decision = act(learner, c, inside(between[c], a), _SPLITS[draws.loss_side], retain)
        learner.learn(decision, losses[1].T[list(decision.revealed)])
        return learner, cumulative(learner) - before

    kept = _expected_retention(node.moment, draws)
    below, above = close(kept * (1 - _MARGIN)), close(kept * (1 + _MARGIN))
    if uses_losses(below[1]) != (kept > 0) or uses_losses(above[1]):
        kept = _retention_threshold(lambda retain: uses_losses(close(retain)[1]))
        below, above = close(kept / 2), close((1 + kept) / 2)
    if kept > 0:
        yield Fraction(kept), *below
    if kept < 1:
        yield 1 - Fraction(kept), *above


def uses_losses(fed: Floats) -> bool:
    """Return whether the inputs of FTRL include losses: unlike corrections, they vary by context.

    The instances have no two equal losses.
    """
    return bool(np.ptp(fed, axis=0).max() > 1e-9)


def _expected_retention(moment: Moment, draws: PairDraws) -> float:
    if moment.epoch == 1:
        return 0.0  # the warm-up epoch learns nothing
    return moment.retention(draws.contexts[draws.loss_side], draws.arms[draws.loss_side])


def _retention_threshold(keeps: Callable[[float], bool]) -> float:
    """Return the uniform number below which the learner retains feedback, by bisection."""
    low, high = 0.0, 1.0
    if not keeps(low):
        return low
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return high


# --- a learner that plays with chosen random numbers -------------------------------------------
# Nothing else in `theory` knows how a learner draws and where it keeps its sums.


class _Script:
    """A generator that returns chosen numbers."""

    def __init__(self, numbers: Iterator[float]) -> None:
        self._numbers = numbers

    def random(self, size: int | None = None) -> Any:
        if size is None:
            return next(self._numbers)
        return np.array([next(self._numbers) for _ in range(size)])


def act(learner: Learner, context: int, *numbers: float) -> Decision:
    """Let `learner` act with exactly these uniform numbers: arm, and then split, retention."""
    cast("Any", learner).generator = _Script(iter(numbers))
    return learner.act(context)


def fork(learner: Learner) -> Learner:
    """Return an independent copy; immutable parts are shared."""
    shared = (learner.problem, learner.problem.graph, learner.algorithm)
    return copy.deepcopy(learner, {id(thing): thing for thing in shared})


def policies(learner: Learner, contexts: int) -> Floats:
    """Return the policies that the learner reports for the round to come: (M, K)."""
    return np.array([learner.policy(c) for c in range(contexts)])


def cumulative(learner: Learner) -> Floats:
    """Return the sums of all inputs that FTRL was fed: (M, K), for dense losses."""
    state = learner.state()
    summed: Floats = (state["estimates"][0] + state["bias"][0][:, None]).T
    return summed


def simulate_and_keep(
    algorithm: CrossGraph, environment: Environment, seed: int
) -> tuple[Run, Learner]:
    """Simulate, and return the learner as well, in its last state."""
    kept: list[Learner] = []

    def start(self: Any, *arguments: Any, **options: Any) -> Learner:
        kept.append(type(algorithm).start(self, *arguments, **options))
        return kept[-1]

    keeping = type(type(algorithm).__name__, (type(algorithm),), {"start": start})
    same = keeping(**{field.name: getattr(algorithm, field.name) for field in fields(algorithm)})
    run = simulate(same, environment, seed=seed, show_progress=False)
    return run, kept[0]


def weighted_sum(terms: Iterable[tuple[Fraction, Floats]], shape: tuple[int, ...]) -> Floats:
    """Return sum(weight * array), summed without rounding."""
    total = np.full(shape, Fraction(0), dtype=object)
    for weight, array in terms:
        total += weight * np.array([Fraction(x) for x in array.ravel()]).reshape(shape)
    return total.astype(np.float64)
