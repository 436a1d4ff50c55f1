"""Everything that Algorithms 1 and 2 can do on tiny instances, against the paper's definition.

A node is the moment before a pair of rounds: a learner in that state, and the same state by the
definition. Copies of the learner play every possible pair (two contexts, two arms, split,
retention). The uniform number that decides about retention is just below or just above the
definition's threshold; whether feedback was retained is read from what the learner adds. Histories
that lead to the same state of the definition continue as one node.

If an epoch has several pairs, only some of the nodes that begin an epoch are continued. All checks
are about probabilities given such a node, so no check is weaker for it.

All checks are equalities. Denominators come from the frequency contexts, the special arm from the
loss-side contexts. Neither is read from the learner. Both are inferred from the inputs of FTRL.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.algorithms import CrossGraphKnown
from crossbandit.algorithms.epoch_core import EpochParameters
from crossbandit.algorithms.learners.estimator import Estimator, Pairs, estimates_of, no_share
from crossbandit.algorithms.learners.problem import Problem
from crossbandit.errors import CheckFailedError
from crossbandit.graphs import FeedbackGraph, loopless_clique, threshold
from crossbandit.verify.checks.enumeration import (
    Enumeration,
    Route,
    drawn_at_edges,
    inside,
    policies_of,
    spread,
)
from crossbandit.verify.theory.definition import (
    Definition,
    Moment,
    PairDraws,
    heaviest,
    mixed,
    softmax,
)
from crossbandit.verify.theory.statements import CheckResult, Differences, Effort, Subject

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crossbandit.algorithms import Learner
    from crossbandit.core.types import Floats, Integers
    from crossbandit.verify.checks.enumeration import Course

NU = np.array([0.25, 0.75])
TWO_LOOPLESS = FeedbackGraph([[0, 1, 0], [1, 0, 0], [1, 1, 1]])
_ETA = 0.8  # so large that the fallback occurs
_EDGE = 1e-12
_LEARN_FROM_THE_FIRST = (0.25, 0.0)  # uniform numbers for the split and for retention


class _Instance(NamedTuple):
    graph: FeedbackGraph
    epoch_length: int
    rounds: dict[Effort, int]
    width: dict[Effort, int]  # how many of the nodes that begin an epoch are continued


_ALL = dict.fromkeys(Effort, 10**9)

# Denominators and special arm are random from epoch 4 on: before, every snapshot is uniform. Epochs
# of two pairs show mistakes in what is summed over the pairs of an epoch.
_INSTANCES = (
    _Instance(loopless_clique(2), 2, {Effort.QUICK: 8, Effort.FULL: 10}, _ALL),
    _Instance(TWO_LOOPLESS, 2, {Effort.QUICK: 6, Effort.FULL: 8}, _ALL),
    _Instance(threshold(3), 2, {Effort.QUICK: 6, Effort.FULL: 8}, _ALL),
    _Instance(
        loopless_clique(2),
        4,
        {Effort.QUICK: 12, Effort.FULL: 12},
        {Effort.QUICK: 4, Effort.FULL: 25},
    ),
)


class Branch(NamedTuple):
    """One possible pair of rounds, as the learner played it."""

    mass: float  # its probability, given the node
    draws: PairDraws
    fed: Floats  # (M, K): what FTRL was fed
    child: PairNode


@dataclass(eq=False)
class PairNode:
    """A moment before a pair of rounds: by the definition, and a learner in that state."""

    moment: Moment
    learner: Learner
    losses: Floats  # (2, M, K): those of the pair
    branches: list[Branch] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.policies = policies_of(self.learner, NU.size)
        sums = self.policies.sum(axis=1)
        if not (np.all(self.policies >= 0) and np.all(np.abs(sums - 1) <= _EDGE)):
            raise CheckFailedError(
                f"The policies that the learner reports in epoch {self.moment.epoch}, pair "
                f"{self.moment.pair}, are not distributions: {self.policies.tolist()}."
            )

    @property
    def opens_epoch(self) -> bool:
        """Whether an epoch after the warm-up begins here."""
        return self.moment.pair == 0 and self.moment.epoch > 1

    def enumeration(self, contexts: Sequence[int], losses: Floats) -> Enumeration:
        """Return everything that can happen in these contexts; `losses` (rounds, M, K)."""
        moment = self.moment

        def kept(_: Floats, context: int) -> Floats:
            shares: Floats = moment.r[context] / (2 * moment.q[context])
            return shares * (moment.epoch > 1)  # the warm-up epoch learns nothing

        pairs = Pairs(kept, moment.definition.parameters.epoch_length, 0.0)
        declared = Estimator(moment.definition.graph, no_share, pairs=pairs)
        route = Route("", self.learner.graph)
        return Enumeration(self.learner, declared, route, tuple(contexts), losses)

    def courses(self) -> Iterator[tuple[float, Course]]:
        """Yield everything that the learner can do in the pair, with its probability."""
        for contexts in product(range(NU.size), repeat=2):
            for one in self.enumeration(contexts, self.losses).courses:
                yield float(NU[list(contexts)].prod()) * one.chance, one

    def play(self, contexts: Sequence[int], arms: Sequence[int], losses: Floats) -> Course:
        """Let a copy play arms; after two it learns from the first."""
        numbers = [inside(self.policies[c], a) for c, a in zip(contexts, arms, strict=True)]
        return self.enumeration(contexts, losses).play([*numbers, *_LEARN_FROM_THE_FIRST])

    @cached_property
    def between(self) -> dict[tuple[int, int], Floats]:
        """The policies between the two rounds, by context and arm of the first: (M, K)."""
        found = {}
        for c, a in product(range(NU.size), range(self.policies.shape[1])):
            found[c, a] = policies_of(self.play([c], [a], self.losses[:1]).learner, NU.size)
        return found


@lru_cache(maxsize=1)
def nodes(subject: Subject, effort: Effort) -> list[PairNode]:
    """Return the nodes of all instances."""
    return [node for instance in _INSTANCES for node in _enumerate(subject, instance, effort)]


def played(subject: Subject, effort: Effort) -> Iterator[PairNode]:
    """Yield the nodes whose pair was played."""
    return (node for node in nodes(subject, effort) if node.branches)


def _enumerate(subject: Subject, instance: _Instance, effort: Effort) -> Iterator[PairNode]:
    """Yield the nodes of an instance, by the number of pairs played before."""
    graph, length, rounds, width = instance
    parameters = EpochParameters(_ETA, 0.05, 0.2, 0.1, length)
    # One more pair has losses, which is not played.
    losses = np.random.default_rng(0).uniform(0.2, 1, (rounds[effort] + 2, NU.size, graph.arms))
    losses[:, 1] = 1.2 - losses[:, 0]  # the contexts disagree about the best arm
    definition = Definition(graph, NU, parameters)
    under_test = replace(subject, **parameters._asdict())
    learner = under_test.start(Problem(graph, contexts=NU.size), seed=0)
    level = [PairNode(definition.first(), learner, losses[:2])]
    for first in range(2, rounds[effort] + 2, 2):
        children: dict[bytes, PairNode] = {}
        for node in spread(level, width[effort]) if level[0].moment.pair == 0 else level:
            for mass, one in node.courses():
                # Unlike corrections, losses vary by context: the instances have no equal losses.
                retained = bool(np.ptp(one.added, axis=0).max() > 1e-9)
                (c, d), (a, b) = one.contexts, one.arms
                draws = PairDraws((c, d), (a, b), one.side, retained)
                after = node.moment.after(draws, node.losses)
                key = after.key
                if key not in children:
                    children[key] = PairNode(after, one.learner, losses[first : first + 2])
                node.branches.append(Branch(mass, draws, one.added, children[key]))
        yield from level
        level = list(children.values())
    yield from level


# --- what is played and retained, and the two samples of an epoch --------------------------------


def policies_are_those_of_the_definition(subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """Every policy of every branch is q_{t,c} of the definition, and arms are drawn from it."""
    reported, drawn = Differences(), Differences()
    tests: list[bool] = []
    for node in nodes(subject, effort):
        reported.compare(node.policies, node.moment.q)
        tests += node.moment.fallback.tolist()
    for node in played(subject, effort):
        for between in node.between.values():
            reported.compare(between, node.moment.q)
        for arm, expected in drawn_at_edges(node.learner, node.policies, _EDGE):
            drawn.compare(arm, expected)
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


def retained_output_has_its_law(subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """P(B = a | c) = r_{e,c}(a) / 2 whatever the proposal, and so P(a is observed) = w_e(a)."""
    law, fallback, observed = Differences(), Differences(), Differences()
    for node in played(subject, effort):
        retained, moment = retained_law(node), node.moment
        if moment.epoch == 1:
            continue
        law.compare(retained, moment.r / 2)
        if moment.fallback.any():
            fallback.compare(retained[moment.fallback], moment.r[moment.fallback] / 2)
        observed.compare(NU @ retained @ moment.definition.into, moment.w)
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


def retained_law(node: PairNode) -> Floats:
    """Return P(B = a | loss-side context c) as the learner has it: (M, K)."""
    law, of_context = np.zeros(node.policies.shape), np.zeros((NU.size, 1))
    for branch in node.branches:
        side = branch.draws.loss_side
        c, a = branch.draws.contexts[side], branch.draws.arms[side]
        of_context[c] += branch.mass
        law[c, a] += branch.mass * branch.draws.retained
    given: Floats = law / of_context
    return given


class _EpochValues(NamedTuple):
    """The values of an epoch, inferred from the inputs of FTRL."""

    denominators: Floats  # (K,)
    special: int | None


def _seen(node: PairNode) -> _EpochValues:
    """Let copies of the learner retain losses of 1 and of 0. Inputs then differ by 2 / W_e."""
    shape = node.policies.shape
    denominators, correction = np.full(shape[1], np.nan), np.zeros(shape[1])
    for arm in range(shape[1]):
        ones, correction = (
            node.play([0, 0], [arm, arm], np.full((2, *shape), loss)).added[0]
            for loss in (1.0, 0.0)
        )
        revealed = ones > correction
        denominators[revealed] = 2 / (ones - correction)[revealed]
    corrected = np.flatnonzero(correction)
    return _EpochValues(denominators, int(corrected[0]) if corrected.size else None)


def samples_are_fresh_and_apart(subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """W_e and j_e are those of their samples, E[what_e] = w_e, and the two are independent."""
    sample, mean, chosen, joint = (Differences() for _ in range(4))
    both_random = 0
    seen = {node: _seen(node) for node in nodes(subject, effort) if node.opens_epoch}
    for node, values in seen.items():
        sample.compare(values.denominators, node.moment.denominators)
        if node.moment.special is not None:
            chosen.compare(values.special, node.moment.special)
    for node in played(subject, effort):
        ends = _ends(node) if node.moment.pair == 0 else {}
        if ends:
            found = sum(mass * seen[end].denominators for end, mass in ends.items())
            shift = 1.5 * node.moment.definition.parameters.gamma
            mean.compare(found - shift, next(iter(ends)).moment.w)
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


def _ends(node: PairNode) -> dict[PairNode, float]:
    """Return where an epoch that begins at `node` may end, with probabilities given `node`."""
    reached = {node: 1.0}
    for _ in range(node.moment.definition.parameters.epoch_length // 2):
        following: defaultdict[PairNode, float] = defaultdict(float)
        for start, mass in reached.items():
            for branch in start.branches:
                following[branch.child] += mass * branch.mass
        reached = following
    return reached


def _see_joint_law(
    ends: dict[PairNode, float], seen: dict[PairNode, _EpochValues], joint: Differences
) -> bool:
    """Compare a joint distribution with the product; return whether j_e and W_e are both random."""
    together: defaultdict[tuple[object, object], float] = defaultdict(float)
    learned: defaultdict[object, float] = defaultdict(float)
    counted: defaultdict[object, float] = defaultdict(float)
    for end, mass in ends.items():
        inputs = (seen[end].special, estimates_of(end.learner).round(9).tobytes())
        denominators = seen[end].denominators.round(9).tobytes()
        together[inputs, denominators] += mass
        learned[inputs] += mass
        counted[denominators] += mass
    for pair in product(learned, counted):
        joint.compare(together[pair], learned[pair[0]] * counted[pair[1]])
    return len(counted) > 1 and len({seen[end].special for end in ends}) > 1


# --- means, the pair reduction and translations --------------------------------------------------


def estimates_have_their_means(subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """E[lhat + b] = 2 l w_e / W_e + b of a selected round; E[ltilde] = w_e / u_e times 2 l."""
    fed, ideal, identity = Differences(), Differences(), Differences()
    for node in played(subject, effort):
        moment, losses = node.moment, node.losses
        if moment.epoch == 1:
            fed.compare(sum(np.abs(b.fed) for b in node.branches), np.zeros(losses[0].shape))
            continue
        ideally = moment.ideal().estimate
        doubled = losses.sum(axis=0)  # 2 l of a round that is selected with probability 1/2
        expected = doubled * moment.w / moment.denominators + moment.correction
        fed.compare(sum(b.mass * b.fed for b in node.branches), expected)
        population = sum(b.mass * ideally(b.draws, losses) for b in node.branches)
        ideal.compare(population, doubled * moment.w / moment.u)
        theta = moment.u / moment.denominators
        for b in node.branches[:: max(1, len(node.branches) // 16)]:
            identity.compare(b.fed - moment.correction, theta * ideally(b.draws, losses))
    yield fed.result(
        "Section 3 (loss estimate lhat, correction b)",
        "mean over all branches of what FTRL is fed, against 2 l w_e / W_e + b; nothing in epoch 1",
    )
    yield ideal.result(
        "Lemma 11, proof (population estimate)",
        "mean over all branches of ltilde, against (w_e / u_e) l with the doubled loss l",
    )
    yield identity.result(
        "Lemma 12, proof (ltilde - lhat = phi I l / u)",
        "what FTRL is fed without the correction, against (1 - phi) ltilde, phi = 1 - u_e / W_e",
    )


def pairs_reduce_to_their_loss_round(subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """E[R_t + R_{t+1}] = 2 E[R_{t_l}], and E[R_t] = E[sum_c nu(c) <q_c - pi_c, l_c>]."""
    reduction, marginal = Differences(), Differences()
    for node in played(subject, effort):
        every = np.array([*product(range(node.policies.shape[1]), repeat=NU.size)]).T
        both = selected = np.zeros(every.shape[1])
        for branch in node.branches:
            (c, d), (a, _) = branch.draws.contexts, branch.draws.arms
            pair = (
                _regrets(node.policies[c], node.losses[0, c], every[c]),
                _regrets(node.between[c, a][d], node.losses[1, d], every[d]),
            )
            both = both + branch.mass * (pair[0] + pair[1])
            selected = selected + branch.mass * pair[branch.draws.loss_side]
        reduction.compare(both, 2 * selected)
        by_definition = [
            NU[c] * _regrets(node.moment.q[c], table[c], every[c])
            for table, c in product(node.losses, range(NU.size))
        ]
        marginal.compare(both, np.sum(by_definition, axis=0))
    yield reduction.result(
        "Section 4 (pair reduction)",
        "E[R_t + R_(t+1)] against 2 E[R_loss], every branch, against every policy",
    )
    yield marginal.result(
        "Section 4 (counterfactual contexts)",
        "E[R_t + R_(t+1)] against the sum over c of nu(c) <q_c - pi_c, l_c>",
    )


def _regrets(policy: Floats, losses: Floats, best: Integers) -> Floats:
    """Return the regret of a policy in a round, against each of the arms `best`."""
    regrets: Floats = policy @ losses - losses[best]
    return regrets


def policies_do_not_see_translations(subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """Adding the same number to every arm's input of FTRL changes no policy."""
    same, shift = Differences(), 0.3
    for node in nodes(subject, effort):
        sees_all = np.flatnonzero(node.moment.definition.into.all(axis=1)).tolist()
        if not node.opens_epoch or not sees_all:
            continue
        base = np.full((2, *node.policies.shape), 0.3)
        base[:, :, 0] = 0.5
        moved = base + shift * node.moment.denominators / 2
        plain, translated = (
            node.play([0, 0], [sees_all[0]] * 2, tables) for tables in (base, moved)
        )
        same.compare(translated.added[0] - plain.added[0], np.full(base.shape[2], shift))
        same.compare(*(policies_of(one.learner, NU.size) for one in (translated, plain)))
    yield same.result(
        "Section 4 (translation invariance)",
        f"policies after inputs, against policies after the same inputs + {shift} on every arm",
    )


# --- Algorithm 1, for a known context distribution -----------------------------------------------


def learner_is_algorithm_1(_subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """Policies and means of Algorithm 1, over all arms and contexts of a few rounds."""
    policies, mean, observed = Differences(), Differences(), Differences()
    eta, gamma, rho, beta = 0.8, 0.05, 0.2, 0.1
    algorithm = CrossGraphKnown(eta=eta, gamma=gamma, rho=rho, beta=beta)
    graphs = (loopless_clique(2), TWO_LOOPLESS, threshold(3))
    for graph, seed in product(graphs, range(20 if effort is Effort.QUICK else 200)):
        problem = Problem(graph, contexts=NU.size, context_distribution=NU)
        learner: Learner = algorithm.start(problem, seed=0)
        rng, loopless = np.random.default_rng(seed), list(graph.arms_without_self_loop)
        fed = np.zeros((NU.size, graph.arms))
        for _ in range(6):
            losses = rng.random((1, NU.size, graph.arms))
            r = mixed(softmax(-eta * fed), rho)
            m, w = NU @ r, NU @ r @ graph.adjacency
            correction, special = np.zeros(graph.arms), heaviest(m, loopless)
            if special is not None:
                correction[special] = beta / (w[special] + gamma)
            declared, route = Estimator(graph, no_share), Route("", graph)
            found = [Enumeration(learner, declared, route, (c,), losses) for c in range(NU.size)]
            revealed = sum(
                share * one.chance * graph.adjacency[one.arms[0]]
                for share, every in zip(NU, found, strict=True)
                for one in every.courses
            )
            if loopless:
                observed.compare(np.asarray(revealed)[loopless], 1 - m[loopless])
            policies.compare(found[0].policies, r)
            total = sum(share * one.mean for share, one in zip(NU, found, strict=True))
            mean.compare(total, losses[0] * w / (w + gamma) + correction)
            after = found[rng.integers(NU.size)].play([rng.random()])
            learner = after.learner
            seen = graph.adjacency[after.arms[0]]
            fed = fed + losses[0] * seen / (w + gamma) + correction
    yield policies.result(
        "Algorithm 1 (FTRL, r = (1 - rho) p + rho / K)",
        "the policy of every context, against the definition",
    )
    yield mean.result(
        "Section 3.1 (mean of lhat + b)",
        "mean over all contexts and arms of what FTRL is fed, against l w / (w + gamma) + b",
    )
    yield observed.result(
        "Section 3.1 (w_t(a) = 1 - m_t(a) without self-loop)", "both sides of the identity"
    )
