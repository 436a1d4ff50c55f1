"""A learner that measures a bound of its own regret, and sets its rate by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit.algorithms.certified_core import CertifiedCore, CertifiedParameters
from crossbandit.algorithms.learners.algorithm import register
from crossbandit.algorithms.learners.learner import CoreLearner
from crossbandit.algorithms.tuning import CheckedAlgorithm, core_problem, exploring_arms
from crossbandit.core.forms import zeros
from crossbandit.core.streams import Seed, fixed, stream
from crossbandit.core.validation import integer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crossbandit.algorithms.learners.problem import Problem

_LONGEST = 512  # rounds of a block, however large alpha is
_MEMORY = 8 * _LONGEST  # rounds whose weights are kept for late feedback
_PARTS = 8  # of a block
_SAMPLED = 4.0  # blocks whose chains go on only to measure what the others cut off


class CertifiedLearner(CoreLearner["CrossGraphCertified"]):
    """A running certified learner."""

    listed = "certificate learning_rate"
    needs_all_feedback = False  # losses are measured against their mean: a missing one is average

    def __init__(self, algorithm: CrossGraphCertified, problem: Problem, seed: Seed) -> None:
        algorithm.require_playable(problem)
        alpha = float(problem.graph.independence_bounds.upper)
        fixed_graph = problem.graph_kind == "fixed"
        by_round = not fixed_graph and not problem.graph_by_context
        block = min(max(algorithm.block, int(alpha)), _PARTS if by_round else _LONGEST)
        slots = algorithm.slots
        self.parameters = CertifiedParameters(
            alpha, block, slots, _PARTS, _SAMPLED, _MEMORY, by_round
        )
        form = problem.form
        copies = 1 + slots * (1 + (_PARTS if by_round else 1)) + _PARTS
        estimates = zeros("CrossGraphCertified", (copies, problem.arms, form.columns), form.dtype)
        explored = exploring_arms(problem.graph) if fixed_graph else []
        core = CertifiedCore(
            estimates, core_problem(problem), self.parameters, np.array(explored, dtype=np.int64)
        )
        root = fixed(seed) if isinstance(seed, np.random.Generator) else seed  # used twice
        super().__init__(algorithm, problem, core, seed=root)
        core.state()["key"][0] = stream(root, "lots").integers(2**31)

    def certificate(self) -> float:
        """Return a bound of the regret so far that the learner has measured while it ran.

        The mean of the certificate over runs is at least the mean regret against any policy:

            E[regret after t rounds] <= E[certificate after t rounds].

        This holds for every graph, any number of contexts, and losses that do not depend on what
        was drawn, if contexts are drawn independently from one distribution, which nobody needs to
        know. Graphs may change with the context, or with the round. It is a statement about means:
        the regret of a single run may be larger. What a round costs is measured in the rounds after
        it, while its chains go on: the statement counts losses after round t as 0.

        It is infinite if feedback came only after the next block of rounds had begun, or belonged
        to a decision of an older snapshot: such feedback is learned from, but its cost is not
        measured. Feedback that is missing altogether is not noticed, and voids the certificate.
        """
        with self._lock:
            return float(self.core.certificate())

    @property
    def learning_rate(self) -> float:
        """The learning rate of the present block; 0 before any two losses have differed."""
        return float(self.core.learning_rate())

    def as_decider(self) -> None:
        self.core.frozen = True

    def tuned(self) -> Mapping[str, Any]:
        return {}  # all parameters are given: no rule sets any

    def check_state(self) -> None:
        super().check_state()
        state, slots = self.state(), self.parameters.slots
        new, old, filled, late, played = state["counts"].tolist()
        slot, home = state["slot"], state["home"]
        kinds, firsts, sizes = slot[:, 0], slot[:, 1], slot[:, 2]
        longest = 4 * _LONGEST
        ranges = {
            "key": 0 <= state["key"][0] < 2**31,
            "counts": (min(new, old) >= -1 and max(new, old) < slots and late in {0, 1}),
            "kinds of slots": ((kinds >= 0) & (kinds <= 3)).all(),
            "sizes of slots": ((sizes >= 0) & (sizes <= longest)).all(),
            "rounds of slots": ((firsts >= 0) & (firsts <= played)).all(),
            "home": ((home[:, 1] >= -1) & (home[:, 1] < slots)).all()
            and ((home[:, 2] >= 0) & (home[:, 2] < _PARTS)).all(),
        }
        for name, right in ranges.items():
            self.require_state(name, right, "in their ranges", state["counts"].tolist())
        right = new < 0 if played == 0 else new >= 0 and 0 < filled <= sizes[new]
        self.require_state("filled", right, "at most the size of the block", filled)
        self.require_state("played", played == self.round, str(self.round), played)


@register
@dataclass(frozen=True, kw_only=True)
class CrossGraphCertified(CheckedAlgorithm):
    """Exponential weights with a measured rate and a measured bound of the regret.

    It needs no horizon, no distribution of contexts and no tuning, and it is not misled. Every
    round is learned from, in all contexts. After n rounds `learner.certificate()` bounds its
    expected regret so far.

    Rounds are grouped into blocks; block e has the same policy p_e in all its rounds. An arm's loss
    is to be divided by w_e(a) = E_c p_{e,c}(N_in(a)), the probability of observing it, which is not
    known. Contexts of other rounds replace it. Let x_1, x_2, ... be 1 - p_{e,c}(N_in(a)) in the
    contexts of the block's other rounds, and then in those of later rounds. Then

        P_k = x_1 ... x_k,   Z = P_0 + ... + P_{tau - 1},   w_e(a) E[Z] + E[P_tau] = 1   (identity)

    for every stopping time tau: here, at most N_t = sqrt(alpha t) steps, and earlier if the later
    contexts' product falls below 1 / N_t^2. The estimate in every context c is

        lhat_{t,c}(a) = (l_{t,c}(a) - m_e) 1{a revealed} Z - m_e P_tau,                (estimate)

    with a baseline m_e that is known before the block. Its mean is l_{t,c}(a) (1 - E P_tau) - m_e:
    an arm that is not observed looks better, never worse. The terms of Z are added as soon as
    their contexts have occurred. The policy of a block that begins now is

        p_c(a)  ~  exp(-eta * (what was added so far in context c)),
        eta = log K / (range + Kmax).                                               (learning rate)

    Kmax is the largest value so far of a running sum K of *measured costs*: in the contexts of each
    block, the mixability gap of what was added at the end of the block before, and the price of its
    delay, sum_e <p_e - p, what was added for block e>. The contexts are fresh, so K has the right
    mean whatever the policies do.

    Arms without self-loop are explored while the measured sum of their P_tau is large. On a
    strongly observable graph they are limited to a probability of 1 - 1 / N_t while it exceeds
    0.1 sqrt(alpha t). On a weakly observable one, a smallest set of delta arms that reveals all
    such arms is played with probability x_t = (delta log(K) / t)^(1/3), at most 1/2, while the sum
    exceeds 0.1 t x_t. Their chains may be log(t) max(N_t, delta / x_t) long.

    If the graph is a function of the context (`Problem.graph_by_context`), x_k uses the graph of
    the context in which it is computed. If graphs depend on the round, each round of a block has
    chains of its own, with its graph. Each of them must be strongly observable. A block then has at
    most 8 rounds, and the memory is that of 153 tables of estimates and 128 graphs.

    Bound: E Reg_T <= E[certificate], with certificate = 2 + Kmax + K + Cut + Explored, all
    computed while it runs; Cut is what the ends of chains leave out, Explored the probability moved
    by exploration. Contexts must be i.i.d., losses and graphs must not depend on what was drawn,
    and feedback must be prompt. The order of the certificate, O~(sqrt(alpha T)), or
    O~(delta^(1/3) T^(2/3)) on weakly observable graphs, is argued only in outline:
    docs/contributors/the-certified-learner.md.

    Late feedback is learned from with the same weights for 4,096 rounds, and after that with
    the observation probability of its own context. So are decisions of a snapshot, unless they have
    the policy of the block in which they come back.

    Args:
        block: The least number of rounds in a block, after the first ones. A block has at least
            alpha rounds, too, and as many as are needed for chains to fit into the slots.
        slots: For how many blocks a policy is kept. If many are needed, blocks get longer. For a
            fixed graph, the memory is that of twice as many tables of estimates, however long it
            runs.

    >>> from crossbandit import Problem, graphs
    >>> problem = Problem(graphs.threshold(4), contexts=3)
    >>> learner = CrossGraphCertified().start(problem, seed=7)
    >>> for t in range(300):
    ...     decision = learner.act(t % 3)
    ...     losses = [[abs(b - context) / 4 for context in range(3)] for b in decision.revealed]
    ...     learner.learn(decision, losses)
    >>> learner.policy(2).round(2)
    array([0., 0., 1., 0.])
    >>> 0 < learner.certificate() < 30
    True
    """

    id: ClassVar[str] = "cross-graph-certified"
    needs_observability: ClassVar[str] = "weak"
    graph_kinds: ClassVar[tuple[str, ...]] = ("fixed", "informed")
    needs_memory: ClassVar[bool] = False

    block: int = 8
    slots: int = 16

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("block", 1), ("slots", 4)):
            value = integer("CrossGraphCertified", name, getattr(self, name), at_least=least)
            object.__setattr__(self, name, value)

    def least_observability(self, kind: str) -> str:
        # A weakly dominating set of each round's graph would have to be found in each round.
        return "weak" if kind == "fixed" else "strong"

    def start(self, problem: Problem, *, seed: Seed) -> CertifiedLearner:
        return CertifiedLearner(self, problem, seed)
