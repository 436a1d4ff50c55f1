"""UCB-N: optimism for stochastic losses with graph feedback."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from crossbandit.algorithms.means import MeansAlgorithm
from crossbandit.kernels.stochastic import OPTIMISM
from crossbandit.learners.algorithm import register
from crossbandit.validation import positive

if TYPE_CHECKING:
    from crossbandit.problem import Problem


@register
@dataclass(frozen=True, kw_only=True)
class UcbN(MeansAlgorithm):
    """UCB-N (Caron, Kveton, Lelarge and Bhagat 2012), for losses.

    In round t, counted from 1, an arm b that was observed n(b) times, with a mean loss of m(b) in
    the context of the round, has the bounds

        m(b) -+ sqrt(exploration * log(t) / n(b)).

    The arm with the least lower bound is played; ties go to the smallest arm, and arms that were
    never observed come first. Every revealed arm counts as observed, also those not played.

    An arm without self-loop is played only if its upper bound is at most the lower bounds of all
    others. Until then, of the arms that reveal it, the one with the least lower bound is played.
    This rule is ours. With it, the algorithm also works on weakly observable graphs.

    If graphs change, only edges that every round has count as self-loops or as revealing. An arm
    without any is played itself: if that never reveals it, the regret is linear. Use TsN or
    Exp3Edges for such graphs.

    Bound: if every arm has a self-loop, the expected regret is at most of order
    sum over a clique cover of max Delta / min Delta^2 * log T (Caron et al. 2012), and
    O~(sqrt(alpha T)) for any gaps (Lykouris, Tardos and Wali 2020). With cross-learning a
    revealed row counts in every context, because each context has the means of its own column. The
    probability that some confidence bound fails is then M times as large for M contexts, so the
    number of contexts enters the regret only through a logarithm. Losses must be drawn
    independently in each round, and independently of the contexts.

    Args:
        exploration: The factor in the width of the bounds; 2 is that of UCB1.
        cross_learning: Whether a revealed row counts in every context. If not, its loss counts in
            the context of the round only.

    >>> from crossbandit import graphs, simulate
    >>> from crossbandit.environments import stochastic
    >>> environment = stochastic(graphs.threshold(4), 2_000, contexts=3, gap=0.2)
    >>> both = [UcbN(), UcbN(cross_learning=False)]
    >>> cross, own = (simulate(one, environment, seed=1).pseudo_regret[-1] for one in both)
    >>> bool(cross < own)
    True
    """

    id: ClassVar[str] = "ucb-n"
    needs_observability: ClassVar[str] = "weak"
    rule: ClassVar[int] = OPTIMISM

    exploration: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_parameters(positive, "exploration")

    def scale(self, problem: Problem) -> float:
        del problem
        return self.exploration
