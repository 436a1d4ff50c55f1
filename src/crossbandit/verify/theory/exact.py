"""Everything that Algorithms 1 and 2 can do on tiny instances, against the paper's definition.

A node is the moment before a pair of rounds: a learner in that state, and the same state by the
definition. Copies of the learner play every possible pair (two contexts, two arms, split,
retention). The uniform number that decides about retention is just below or just above the
definition's threshold. Nothing is read from the learner but policies and what it feeds to FTRL.
Histories that lead to the same state of the definition continue as one node, and only some nodes
continue: all checks are about one pair, given such a node.

If policies and inputs are those of the definition in every branch, then so are all distributions.
What the paper says about them (Equation 3, Appendix A, the pair reduction, the means in the proofs
of Lemmas 11 and 12) follows from the definition, and is proved.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.algorithms import CrossGraphKnown
from crossbandit.algorithms.epoch_core import EpochParameters
from crossbandit.algorithms.learners.estimator import Estimator, Pairs, no_share
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
    from collections.abc import Iterator

    from crossbandit.algorithms import Learner
    from crossbandit.core.types import Floats
    from crossbandit.verify.checks.enumeration import Course

NU = np.array([0.25, 0.75])
TWO_LOOPLESS = FeedbackGraph([[0, 1, 0], [1, 0, 0], [1, 1, 1]])
_PARAMETERS = EpochParameters(0.8, 0.05, 0.2, 0.1, 2)  # a rate for which the fallback occurs
_EDGE = 1e-12


# Each is played for some epochs. Denominators and special arm are random from epoch 4 on: before,
# every snapshot is uniform. Epochs of two pairs show mistakes in what is summed over an epoch.
_INSTANCES = (
    (loopless_clique(2), 2),
    (TWO_LOOPLESS, 2),
    (threshold(3), 2),
    (loopless_clique(2), 4),
)
_EPOCHS = {Effort.QUICK: 4, Effort.FULL: 5}
_WIDTH = {
    Effort.QUICK: 16,
    Effort.FULL: 100,
}  # how many nodes after a number of pairs are continued


@dataclass(eq=False)
class PairNode:
    """A moment before a pair of rounds: by the definition, and a learner in that state."""

    moment: Moment
    learner: Learner
    losses: Floats  # (2, M, K): those of the pair

    def __post_init__(self) -> None:
        self.policies = policies_of(self.learner, NU.size)
        sums = self.policies.sum(axis=1)
        if not (np.all(self.policies >= 0) and np.all(np.abs(sums - 1) <= _EDGE)):
            raise CheckFailedError(
                f"The policies that the learner reports in epoch {self.moment.epoch}, pair "
                f"{self.moment.pair}, are not distributions: {self.policies.tolist()}."
            )

    def enumeration(self, contexts: tuple[int, ...]) -> Enumeration:
        """Return everything that can happen in these contexts: those of one round, or of both."""
        moment = self.moment

        def kept(_: Floats, context: int) -> Floats:
            shares: Floats = moment.r[context] / (2 * moment.q[context])
            return shares * (moment.epoch > 1)  # the warm-up epoch learns nothing

        pairs = Pairs(kept, moment.definition.parameters.epoch_length, 0.0)
        declared = Estimator(moment.definition.graph, no_share, pairs=pairs)
        route, losses = Route("", self.learner.graph), self.losses[: len(contexts)]
        return Enumeration(self.learner, declared, route, contexts, losses)

    @cached_property
    def courses(self) -> list[tuple[Course, PairDraws]]:
        """Everything that the learner can do in the pair, and what is drawn for it."""
        found = []
        for c, d in product(range(NU.size), repeat=2):
            for one in self.enumeration((c, d)).courses:
                a, b = one.arms
                found.append((one, PairDraws((c, d), (a, b), one.side, one.kept)))
        return found


def nodes(subject: Subject, effort: Effort) -> Iterator[PairNode]:
    """Yield the nodes that are played, of all instances."""
    for graph, length in _INSTANCES:
        parameters, pairs = _PARAMETERS._replace(epoch_length=length), length // 2 * _EPOCHS[effort]
        losses = np.random.default_rng(0).uniform(0.2, 1, (2 * pairs, NU.size, graph.arms))
        losses[:, 1] = 1.2 - losses[:, 0]  # the contexts disagree about the best arm
        learner = replace(subject, **parameters._asdict()).start(
            Problem(graph, contexts=NU.size), seed=0
        )
        level: dict[bytes, tuple[Moment, Learner]] = {
            b"": (Definition(graph, NU, parameters).first(), learner)
        }
        for pair in range(pairs):
            reached, level = spread(list(level.values()), _WIDTH[effort]), {}
            for moment, state in reached:
                node = PairNode(moment, state, losses[2 * pair : 2 * pair + 2])
                yield node
                for one, draws in node.courses:
                    after = moment.after(draws, node.losses)
                    level.setdefault(after.key, (after, one.learner))


def learner_is_algorithm_2(subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """Every policy is q_{t,c} of the definition, and every input of FTRL is lhat + b."""
    policies, drawn, retained, fed = (Differences() for _ in range(4))
    fallbacks: list[bool] = []
    for node in nodes(subject, effort):
        moment = node.moment
        policies.compare(node.policies, moment.q)
        fallbacks += moment.fallback.tolist()
        for context, arm in product(range(NU.size), range(len(moment.u))):  # after the first round
            first = node.enumeration((context,)).play([inside(node.policies[context], arm)])
            policies.compare(policies_of(first.learner, NU.size), moment.q)
        for arm, wanted in drawn_at_edges(node.learner, node.policies, _EDGE):
            drawn.compare(arm, wanted)
        for one, draws in node.courses:
            # Unlike corrections, losses vary by context: the instances have no equal losses.
            retained.compare(np.ptp(one.added, axis=0).max() > _EDGE, one.kept)
            learns = moment.epoch > 1
            expected = moment.estimate(draws, node.losses) + moment.correction
            fed.compare(one.added, expected * learns)
    yield policies.result(
        "Equation 2 (FTRL) and the played q",
        "the policy of every context before every round of every branch, against the definition",
        f"At {sum(fallbacks):,} of {len(fallbacks):,} nodes and contexts, the fallback is played. "
        "p_{eL} is read as the state after all updates of epoch e: the literal sum over s < eL "
        "would drop an update of round eL.",
    )
    yield drawn.result(
        "Algorithm 2 (A ~ q)", "which arm a uniform number draws, at both ends of its interval"
    )
    yield retained.result(
        "Equation 3, Appendix A (retention)",
        "whether feedback is kept, just below and above the threshold r_e / (2 q)",
        "With policies that are those of the definition, P(B = a | c) = r_{e,c}(a) / 2 follows.",
    )
    yield fed.result(
        "Section 3.3 (what FTRL is fed: lhat + b)",
        "what every branch adds in every context, against 2 l I / W_e, with b on the arm j_e",
        "W_e is the mean over the frequency contexts + 3/2 gamma; j_e is the heaviest loopless arm "
        "on the loss-side contexts, the smallest of equal ones.",
    )


# --- Algorithm 1, for a known context distribution -----------------------------------------------


def learner_is_algorithm_1(_subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """Policies and inputs of FTRL of Algorithm 1, over all arms and contexts of a few rounds."""
    policies, fed = Differences(), Differences()
    eta, gamma, rho, beta, _ = _PARAMETERS
    algorithm = CrossGraphKnown(eta=eta, gamma=gamma, rho=rho, beta=beta)
    graphs = (loopless_clique(2), TWO_LOOPLESS, threshold(3))
    for graph, seed in product(graphs, range(20 if effort is Effort.QUICK else 200)):
        problem = Problem(graph, contexts=NU.size, context_distribution=NU)
        learner: Learner = algorithm.start(problem, seed=0)
        declared, route = Estimator(graph, no_share), Route("", graph)
        rng, sums = np.random.default_rng(seed), np.zeros((NU.size, graph.arms))
        for _ in range(6):
            losses = rng.random((1, NU.size, graph.arms))
            r = mixed(softmax(-eta * sums), rho)
            m, w = NU @ r, NU @ r @ graph.adjacency
            correction, special = np.zeros(graph.arms), heaviest(m, graph.arms_without_self_loop)
            if special is not None:
                correction[special] = beta / (w[special] + gamma)
            every: list[tuple[Course, Floats]] = []
            for context in range(NU.size):
                found = Enumeration(learner, declared, route, (context,), losses)
                policies.compare(found.policies, r)
                for one in found.courses:
                    seen = graph.adjacency[one.arms[0]]
                    added = losses[0] * seen / (w + gamma) + correction
                    fed.compare(one.added, added)
                    every.append((one, added))
            course, added = every[rng.integers(len(every))]
            learner, sums = course.learner, sums + added
    yield policies.result(
        "Algorithm 1 (FTRL, r = (1 - rho) p + rho / K)",
        "the policy of every context, against the definition",
    )
    yield fed.result(
        "Algorithm 1 (lhat + b)",
        "what each context and arm feeds to FTRL, against l I / (w + gamma), with b on the arm j",
        "So its mean is l w / (w + gamma) + b.",
    )
