"""Lemmas 7 and 8: how far a policy moves from its snapshot; and the graph sum.

`StableEpoch` is an epoch on which the stability condition of Lemma 8 holds, from a point of a cube.

The constants C are not given in the paper. Those used here follow from its proofs. With
s/2 <= p <= 2 s and (1 - rho) s <= r:

- Lemma 7: 1 - pbar(j) <= 2 (1 - sbar(j)) <= 2 (1 - m(j)) / (1 - rho) = 4 w(j) / (1 - rho).
- The graph sum: pbar <= 2 sbar <= 2 m / (1 - rho), then Lemma 4 with epsilon = rho / K for the arms
  with self-loop; u >= w >= 1/4 - epsilon/2 by Lemma 6 for the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from crossbandit.graphs import FeedbackGraph, loopless_clique, paper_ring, threshold
from crossbandit.theory.definition import heaviest, mixed
from crossbandit.theory.lemmas.search import Case, Point, Sides, bounded, distribution, geometric
from crossbandit.theory.statements import CheckResult, Effort, Subject, statement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from crossbandit.types import Booleans, Floats

ODDS = 4.0  # the C of Lemma 7, times 1 - rho
LOG_2 = math.log(2)
C_0 = 0.25
CONTEXTS = 2


@dataclass(frozen=True, eq=False)
class StableEpoch:
    """An epoch on which the stability condition holds; arm 0 is the special arm j.

    Inputs are given times eta. The ideal trajectory has met `before` since the snapshot, and
    `within` in the current epoch; the real one (1 - phi) <= 2 times the latter. Both sums stay
    within [0, log 2], as the condition demands, and `within` stays below c_0 = 1/4.
    """

    nu: Floats  # (M,)
    snapshot: Floats  # (M, K)
    before: Floats  # (M, K)
    within: Floats  # (M, K)
    phi: Floats  # (K,), from -1 to 1/2
    rho: float
    gamma: float

    @property
    def ideal(self) -> Floats:
        """The ideal iterate ptilde: (M, K)."""
        return _reweighted(self.snapshot, self.before + self.within)

    @property
    def real(self) -> Floats:
        """The real iterate p: (M, K)."""
        return _reweighted(self.snapshot, self.before + (1 - self.phi) * self.within)

    @property
    def m(self) -> Floats:
        """The population masses m_e of the snapshot: (K,)."""
        masses: Floats = self.nu @ mixed(self.snapshot, self.rho)
        return masses

    @property
    def u(self) -> float:
        """u_e(j) = w_e(j) + gamma; an arm without self-loop has w_e(j) = (1 - m_e(j)) / 2."""
        return float(self.m[1:].sum()) / 2 + self.gamma

    @property
    def drift(self) -> float:
        """The smallest eta B for which |z| <= eta B |phi|."""
        return float(self.within.max())


def _reweighted(p: Floats, inputs: Floats) -> Floats:
    weights = p * np.exp(-inputs)
    normalised: Floats = weights / weights.sum(axis=-1, keepdims=True)
    return normalised


def away(p: Floats) -> Floats:
    """Return 1 - p(j) of every context, exact also where p(j) is almost 1: (M,)."""
    rest: Floats = p[:, 1:].sum(axis=1)
    return rest


def epoch_at(arms: int, point: Point) -> StableEpoch:
    """Turn a point of the unit cube into an epoch."""
    shape = (CONTEXTS, arms)
    return StableEpoch(
        nu=distribution(point.many(CONTEXTS) / 5),
        rho=geometric(1e-6, 0.5, point.one()),
        gamma=geometric(1e-6, 0.5, point.one()),
        snapshot=distribution(point.many(*shape)),
        before=(LOG_2 - 2 * C_0) * point.many(*shape),
        within=C_0 * point.many(*shape),
        phi=1.5 * point.many(arms) - 1,
    )


def coordinates(arms: int) -> int:
    """Return how many coordinates an epoch takes."""
    return CONTEXTS + 2 + (3 * CONTEXTS + 1) * arms


def epoch_cases(
    sides_of: Callable[[StableEpoch], Sides], sizes: Sequence[int] = (2, 3, 5)
) -> list[Case]:
    """Return the searches of an inequality over epochs of several sizes."""

    def at(arms: int, values: Floats) -> Sides:
        return sides_of(epoch_at(arms, Point(values)))

    return [Case(coordinates(arms), partial(at, arms)) for arms in sizes]


# ------------------------------------------------------------------------------- the two sides


def special_odds(epoch: StableEpoch, p: Floats) -> Sides:
    """Lemma 7: 1 - pbar(j) <= C u_e(j) / (1 - rho)."""
    return Sides(float(epoch.nu @ away(p)), epoch.u / (1 - epoch.rho))


def snapshot_factor(epoch: StableEpoch, p: Floats) -> Sides:
    """Lemma 8: s/2 <= p <= 2 s, as the largest factor between them."""
    factors = p / epoch.snapshot
    return Sides(max(float(factors.max()), float(1 / factors.min())), 2.0)


def retention(epoch: StableEpoch, p: Floats) -> Sides:
    """Lemma 8's conclusion: r_e <= 2 r^p, so that q = r^p."""
    ratios = mixed(epoch.snapshot, epoch.rho) / mixed(p, epoch.rho)
    return Sides(float(ratios.max()), 2.0)


def cumulative_input(
    losses: Floats, theta: float, *, gamma: float, beta: float, iota: float, length: float
) -> Sides:
    """Equation 7: what FTRL is fed on Q between a snapshot and a round, over the two epochs.

    `losses` (2,) are shares of what the loss event allows in either epoch; theta <= 2 multiplies
    them, and each of at most L / 2 corrections is theta beta / u, with u >= gamma.
    """
    allowed = length + iota / gamma
    corrections = length * theta * beta / gamma  # two epochs of L / 2 rounds
    fed = theta * float(losses.sum()) * allowed + corrections
    return Sides(fed, allowed + length * beta / gamma)


def graph_sum(
    epoch: StableEpoch, graph: FeedbackGraph, reveals: Booleans, m_hat: Floats, p: Floats
) -> Sides:
    """The graph-sum bound over the regular arms, with the constants of Lemmas 4 and 6."""
    special = heaviest(m_hat, graph.arms_without_self_loop)
    ratios = (epoch.nu @ p) / (epoch.m @ reveals / 2 + epoch.gamma)
    regular = np.delete(ratios, [] if special is None else special)
    return Sides(
        float(regular.sum()), graph_bound(graph, epoch.rho, float(np.abs(m_hat - epoch.m).max()))
    )


def graph_bound(graph: FeedbackGraph, rho: float, epsilon: float) -> float:
    """Return the paper's A_G with explicit constants."""
    arms, alpha = graph.arms, graph.independence_number
    with_loop = 16 * alpha * math.log(4 * arms**2 / (alpha * rho)) / (1 - rho)
    return with_loop + (4 / (1 - 2 * epsilon) if graph.arms_without_self_loop else 0.0)


# ------------------------------------------------------------------------------- the searches

Iterate: TypeAlias = "Callable[[StableEpoch], Floats]"
_TRAJECTORIES: tuple[tuple[str, Iterate], ...] = (
    ("real trajectory", lambda epoch: epoch.real),
    ("ideal trajectory", lambda epoch: epoch.ideal),
)


def _on(sides_of: Callable[[StableEpoch, Floats], Sides], iterate: Iterate) -> list[Case]:
    return epoch_cases(lambda epoch: sides_of(epoch, iterate(epoch)))


@statement(70, "Lemma 7", "Section 4: 1 - pbar(j) <~ w + rho <~ u")
def special_odds_are_bounded(_subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """The mass away from the special arm is at most a constant times its denominator."""
    for name, iterate in _TRAJECTORIES:
        yield bounded(
            f"Lemma 7 (special-arm odds), {name}",
            "1 - pbar(j) <= C u_e(j) / (1 - rho); snapshots, contexts, inputs searched",
            _on(special_odds, iterate),
            effort,
            constant=ODDS,
            note="The proof cites p >= s/2. What it needs is p <= 2 s, which Lemma 8 gives too.",
        )


def _cumulative_input_at(values: Floats) -> Sides:
    point = Point(values)
    length, iota = geometric(1e2, 1e8, point.one()), geometric(1.0, 1e2, point.one())
    gamma = 4 * iota / length * geometric(1.0, 8.0, point.one())
    beta, theta = gamma * geometric(1e-3, 8.0, point.one()), 0.5 + 1.5 * point.one()
    losses = point.many(2)
    return cumulative_input(losses, theta, gamma=gamma, beta=beta, iota=iota, length=length)


@statement(80, "Lemma 8", "Equations 6 and 7")
def snapshots_are_stable(_subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """Inputs of at most log 2 / eta move no probability by more than a factor of two."""
    yield bounded(
        "Equation 7 (cumulative input)",
        "inputs on Q since the snapshot <= C (L + iota / gamma + L beta / gamma)",
        [Case(7, _cumulative_input_at)],
        effort,
        constant=4.0,
        note="The two-epoch delay leaves one whole epoch and a prefix of the next in between.",
    )
    for name, iterate in _TRAJECTORIES:
        yield bounded(
            f"Lemma 8 (snapshot stability), {name}",
            "s/2 <= p <= 2 s wherever inputs lie in [0, log 2 / eta]",
            _on(snapshot_factor, iterate),
            effort,
        )
    yield bounded(
        "Lemma 8 (the fallback is not played)",
        "r_e <= 2 r^p for every arm",
        _on(retention, lambda epoch: epoch.real),
        effort,
    )


def _graph_sum_case(graph: FeedbackGraph, iterate: Iterate) -> Case:
    adjacency = graph.adjacency

    def sides(values: Floats) -> Sides:
        point = Point(values)
        epoch = epoch_at(graph.arms, point)
        m_hat = epoch.m + 0.2 * point.one() * (2 * point.many(graph.arms) - 1)
        return graph_sum(epoch, graph, adjacency, m_hat, iterate(epoch))

    return Case(coordinates(graph.arms) + 1 + graph.arms, sides)


@statement(85, "Appendix E: graph-sum bound")
def graph_sum_is_bounded(_subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """The regular arms' sum of pbar / u is at most A_G."""
    one_each = FeedbackGraph([[0, 1, 1, 1], [1, 0, 1, 1], [1, 1, 1, 0], [1, 1, 0, 1]])
    graphs = [threshold(4), loopless_clique(3), paper_ring(5, radius=1), one_each]
    for name, iterate in _TRAJECTORIES:
        yield bounded(
            f"Appendix E (graph sum), {name}",
            f"sum of pbar / u over regular arms, against A_G, on {len(graphs)} graphs",
            [_graph_sum_case(graph, iterate) for graph in graphs],
            effort,
            note="A_G = 16 alpha log(4 K^2 / (alpha rho)) / (1 - rho) + 4 / (1 - 2 epsilon).",
        )
