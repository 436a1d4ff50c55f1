"""The algorithms of the paper: cross-learning with graph feedback.

Algorithm 2 does not know the context distribution; Algorithm 1, at the end, does. `EpochLearner` is
the learner of all algorithms with the epochs of Algorithm 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from crossbandit.algorithms import tuning
from crossbandit.algorithms.epoch_core import EpochCore, EpochParameters, PairShell, VaryingCore
from crossbandit.algorithms.exponential_core import KnownCore, KnownParameters
from crossbandit.algorithms.learners.algorithm import register
from crossbandit.algorithms.learners.decisions import Decision
from crossbandit.algorithms.learners.estimator import (
    Estimator,
    Pairs,
    acyclic_bound,
    estimates_of,
    exponential_weights,
    no_share,
)
from crossbandit.algorithms.learners.feedback import neighbors
from crossbandit.algorithms.learners.learner import AlgorithmT, CoreLearner, Learner
from crossbandit.algorithms.learners.problem import GRAPH_KINDS
from crossbandit.algorithms.tuning import (
    Rule,
    TunedAlgorithm,
    core_problem,
    epoch_length,
    experiment_rate,
    exploring_arms,
    required_horizon,
    with_rate,
)
from crossbandit.core.blocks import ContextBlock
from crossbandit.core.forms import reading_of, zeros
from crossbandit.core.steps import at_once
from crossbandit.core.validation import reject, share
from crossbandit.errors import InvalidParameterError
from crossbandit.graphs import FeedbackGraph, singletons

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from crossbandit.algorithms.learners.problem import Problem
    from crossbandit.core.blocks import Rounds
    from crossbandit.core.forms import Context, Readout
    from crossbandit.core.rounds import CoreProblem
    from crossbandit.core.streams import Seed
    from crossbandit.core.types import Booleans, Floats


@dataclass(frozen=True, kw_only=True)
class EpochAlgorithm(TunedAlgorithm[EpochParameters]):
    """The parameters of Algorithm 2, on strongly observable graphs."""

    parameters_type: ClassVar[type[EpochParameters]] = EpochParameters
    needs_observability: ClassVar[str] = "strong"

    eta: float | None = None
    gamma: float | None = None
    rho: float | None = None
    beta: float | None = None
    epoch_length: int | None = None

    def estimator(self, problem: Problem) -> Estimator | None:
        if problem.graph_kind != "fixed":
            return None
        return epoch_estimator(problem.graph, self.parameters(problem))


@register
@dataclass(frozen=True, kw_only=True)
class CrossGraph(EpochAlgorithm):
    r"""FTRL with delayed snapshots, for any strongly observable graph (Algorithm 2).

    Every context keeps exponential weights over estimated losses,

        p_{t,c}(a)  ~  exp(-eta * sum_{s<t} (lhat_{s,c}(a) + b_s(a))),        (FTRL update)

    and plays q = r^p = (1 - rho) p + rho / K. If 2 r^p >= r_e fails for some arm, q is r_e instead,
    a snapshot of two epochs ago. Feedback is kept with probability r_e(A) / (2 q(A)), as if the arm
    A had been drawn from r_e / 2. So the probability of observing an arm is constant in an epoch,
    although the policy changes. A fair coin gives one round of each pair to estimating

        w_e(a) = E_c[ r_{e,c}(N_in(a)) ] / 2                         (observation probability)

    for the next epoch, and one to learning,

        lhat_{t,c}(a) = 2 l_{t,c}(a) 1{a revealed and kept} / W_e(a),    W_e = what_e + 3/2 gamma,

    in every context c at once. Among the arms without self-loop, the one that snapshots play most
    (j_e, ties to the smallest arm) is given the pessimistic correction b_t = beta / W_e(j_e).

    Bound: expected regret O~(sqrt(alpha T)) against every fixed policy, for i.i.d. contexts and
    oblivious losses, with alpha the independence number of the graph and no polynomial factor of
    the number of contexts; proved for the `theorem` tuning.

    If the epoch length does not divide the horizon, the last epoch is shorter. If the horizon is
    odd, nothing is learned from its last round. Playing past the horizon is allowed.

    Parameters have the names of the paper. Those that are None are set by the rule `tuning`.

    Args:
        eta: The learning rate.
        gamma: The implicit exploration, added to estimated observation probabilities.
        rho: The probability of uniform exploration.
        beta: The pessimistic correction of an arm without self-loop.
        epoch_length: The number of rounds in an epoch, L in the paper; even.
        tuning: The rule: "experiment" (the paper's evaluation), "theorem" (the paper's theorem)
            or "proved" (the least machine-checked bound).

    >>> from crossbandit import Problem, graphs
    >>> problem = Problem(graphs.threshold(4), contexts=3, horizon=1_000)
    >>> learner = CrossGraph().start(problem, seed=7)
    >>> for t in range(1_000):
    ...     decision = learner.act(t % 3)
    ...     losses = [[abs(b - context) / 4 for context in range(3)] for b in decision.revealed]
    ...     learner.learn(decision, losses)
    >>> learner.policy(2).round(2)
    array([0.01, 0.01, 0.97, 0.01])
    """

    id: ClassVar[str] = "cross-graph"

    tuning: Rule = "experiment"

    def start(self, problem: Problem, *, seed: Seed) -> EpochLearner:
        self.require_playable(problem)
        parameters = self.parameters(problem)
        return EpochLearner(self, problem, problem.graph, parameters, seed)

    def tuning_rule(self, problem: Problem) -> Mapping[str, float]:
        return tuning.tuned(self.tuning, problem)._asdict()


class EpochLearner(PairShell, Learner[AlgorithmT]):
    """The learner of algorithms with epochs."""

    kept: ClassVar[tuple[str, ...]] = (*Learner.kept, "_open", "_held")
    usual = True
    _open: Decision | None
    _held: list[Decision]

    def __init__(
        self,
        algorithm: AlgorithmT,
        problem: Problem,
        graph: FeedbackGraph,
        parameters: Any,
        seed: Seed,
    ) -> None:
        owner, warm_up = type(algorithm).__name__, parameters.epoch_length
        if problem.horizon is not None and problem.horizon < 2 * warm_up:
            expected = (
                f"at least {2 * warm_up} for {owner}: a warm-up epoch, in which nothing is "
                f"learned, and one more, of {warm_up} rounds each"
            )
            reject("Problem", "horizon", expected, problem.horizon)
        super().__init__(algorithm, problem, seed=seed, graph=graph)
        self.parameters = parameters
        form = problem.form
        estimates = zeros(owner, (3, problem.arms, form.columns), form.dtype)
        self.core = self._core(estimates, core_problem(problem, graph))
        self._weights: Floats | None = None  # of the epoch that `_weights_of` names
        self._weights_of = -1
        self._open, self._held = None, []

    def _core(self, estimates: Floats, known: CoreProblem) -> EpochCore:
        return EpochCore(estimates, known, self.parameters, np.zeros(0))

    @property
    def special_arm(self) -> int | None:
        """The arm without self-loop that this epoch corrects, or None."""
        arm = int(self.core.state()["special"][0])
        return None if arm < 0 else arm

    def distribution(self, context: Context, readout: Readout) -> Floats:
        del context
        policy: Floats = self.core.policy(self.round, 0, reading_of(readout))
        return policy

    def play(self, pending: Decision) -> float:
        first = self._open
        random = (self.generator.random(), 0.0, 0.0) if first is None else self.generator.random(3)
        reading = reading_of(pending.readout)
        pending.arm, probability, _ = self.core.play(
            pending.round, 0, reading, pending.graph, random
        )
        if first is None:
            self._open = pending
        else:
            self.close_pair(first, pending)  # type: ignore[no-untyped-call]
        return float(probability)

    def _epoch_weights(self, round_: int) -> Floats:
        """Return the weights of the epoch of a round. All decisions of the epoch share one copy."""
        epoch = round_ // self.parameters.epoch_length
        if self._weights is None or self._weights_of != epoch:
            self._weights = self.core.state()["weights"].copy()
            self._weights_of = epoch
        return self._weights

    def update(self, pending: Decision, rows: Floats) -> None:
        at_once(*self._steps(pending, rows))

    def update_steps(
        self, pending: Decision, rows: Floats, last: int
    ) -> Sequence[Callable[[], Any]]:
        del last
        return self._steps(pending, rows)

    def _steps(self, pending: Decision, rows: Floats) -> Sequence[Callable[[], Any]]:
        if self._open is None:
            return self._learning(pending, rows)
        if pending.weights is None and pending is not self._open:
            return ()
        pending.rows = rows
        return (partial(self._held.append, pending),)

    def _learning(self, pending: Decision, rows: Floats) -> Sequence[Callable[[], Any]]:
        if pending.weights is None:
            return ()
        return (partial(self.core.learn, pending.weights, self.arms_of(pending), rows),)

    def state(self) -> Mapping[str, npt.NDArray[Any]]:
        arrays: dict[str, npt.NDArray[Any]] = self.core.state()
        return arrays

    def check_state(self) -> None:
        super().check_state()
        state, length, arms = self.state(), self.parameters.epoch_length, self.problem.arms
        epoch, special = int(state["epoch"][0]), int(state["special"][0])
        right = epoch >= 0 and epoch * length <= self.round <= (epoch + 1) * length
        self.require_state("epoch", right, f"that of round {self.round}", epoch)
        right = -1 <= special < arms
        self.require_state("special", right, f"an arm from 0 to {arms - 1}, or -1", special)
        offset = int(state["pair_offset"][0])
        last = self.problem.form.columns - state["pair_coefficients"].shape[1]
        self.require_state("pair_offset", 0 <= offset <= last, f"from 0 to {last}", offset)
        restricted = int(state["pair_restricted"][0])
        self.require_state("pair_restricted", restricted in {0, arms}, f"0 or {arms}", restricted)
        denominators = state["denominators"]
        right = epoch == 0 or bool((denominators > 0).all())
        self.require_state("denominators", right, "positive", denominators)
        opened = (self._open is not None) == (self.round % 2 == 1)
        self.require_state("open", opened, "the first of a pair, in odd rounds only", self._open)

    def remembered(self) -> dict[str, list[Decision]]:
        opened = [] if self._open is None else [self._open]
        return {**super().remembered(), "held": self._held, "open": opened}

    def restore(self, roles: Mapping[str, list[Decision]]) -> None:
        super().restore(roles)
        self._held = roles["held"]
        self._open = roles["open"][0] if roles["open"] else None

    def simulate(self, rounds: Rounds) -> None:
        """Play a batch of rounds, compiled."""
        if self._open is not None and rounds.arms.size > 0:
            self._play_alone(rounds)
            rounds = rounds.part(1, rounds.arms.size)
        if rounds.arms.size > 0:
            self._play_pairs(rounds)

    def _play_pairs(self, rounds: Rounds) -> None:
        """Play rounds; the first begins a pair. If the last has no partner, its pair stays open."""
        pairs, alone = divmod(rounds.arms.size, 2)
        drawn = self.generator.random(4 * pairs + alone)
        random = np.zeros((rounds.arms.size, 3))
        random[0::2, 0], random[1::2] = drawn[0::4], drawn[: 4 * pairs].reshape(-1, 4)[:, 1:]
        self.core.simulate(rounds, self.round, random, rounds.settling())
        self.round += rounds.arms.size
        if alone:
            i = rounds.arms.size - 1
            self._open = self._decision_in(rounds, i, self.round - 1)
            self.update(self._open, self._rows_of(rounds, i, self._open))

    def _decision_in(self, rounds: Rounds, i: int, number: int) -> Decision:
        """Return the decision of round i of a batch; its arm may still have to be drawn."""
        context = int(rounds.numbers[i]) if rounds.numbers.size else -1
        reading, arm = rounds.readout(i), int(rounds.arms[i])
        made = Decision(number, context, arm, learner=self.id, reading=reading)
        if self.graph_kind != "fixed":
            entry = int(rounds.graphs.entry[i])
            made.graph = FeedbackGraph.from_block(rounds.graphs, entry, self.problem.arms)
        return made

    def _play_alone(self, rounds: Rounds) -> None:
        """Play the first of `rounds`, which ends a pair, as `act` and `learn` would."""
        pending = self._decision_in(rounds, 0, self.round)
        self.play(pending)
        self.round += 1
        rounds.arms[0] = pending.arm
        settle = rounds.settling()
        if settle is not None:
            settle(0, pending.arm)
        self.update(pending, self._rows_of(rounds, 0, pending))

    def _rows_of(self, rounds: Rounds, i: int, pending: Decision) -> Floats:
        if pending.graph is not None:
            pending.known = neighbors(pending.graph, pending.arm)
        return rounds.rows(i)[list(self.revealed(pending))]


@register
@dataclass(frozen=True, kw_only=True)
class SchneiderZimmert(TunedAlgorithm[EpochParameters]):
    """Algorithm 2 on the singleton graph, without uniform exploration and without correction.

    It uses cross-learning and ignores the graph: from each play it learns the loss of the arm
    played, in every context. As in the paper's evaluation, this also holds for an arm without
    self-loop, so `decision.revealed` is always the arm itself.

    Bound: expected regret O~(sqrt(K T)). Tuning (the paper's evaluation): L near
    sqrt(K T / log K), eta = gamma = 1 / sqrt(K T), which is the experiment's rule on the singleton
    graph, whose independence number is K.

    Args:
        eta: The learning rate; set by the rule if None.
        gamma: The implicit exploration; set by the rule if None.
        epoch_length: The number of rounds in an epoch, even; set by the rule if None.

    >>> from crossbandit import Problem, graphs
    >>> problem = Problem(graphs.complete(3), contexts=2, horizon=100)
    >>> decision = SchneiderZimmert().start(problem, seed=1).act(0)
    >>> list(decision.revealed) == [decision.arm]
    True
    """

    id: ClassVar[str] = "schneider-zimmert"
    parameters_type: ClassVar[type[EpochParameters]] = EpochParameters
    needs_own_loss: ClassVar[bool] = True
    graph_kinds: ClassVar[tuple[str, ...]] = tuple(GRAPH_KINDS)  # any: it ignores the graph

    eta: float | None = None
    gamma: float | None = None
    epoch_length: int | None = None

    def start(self, problem: Problem, *, seed: Seed) -> EpochLearner:
        self.require_playable(problem)
        graph = singletons(problem.arms)
        return EpochLearner(self, problem, graph, self.parameters(problem), seed)

    def estimator(self, problem: Problem) -> Estimator:
        return epoch_estimator(singletons(problem.arms), self.parameters(problem))

    def tuning_rule(self, problem: Problem) -> Mapping[str, float]:
        return tuning.experiment(problem.with_graph(singletons(problem.arms)))._asdict()


# --- what the algorithms with epochs declare about their estimates --------------------------------
# Policies, snapshots and weights are computed from the formulas of `CrossGraph`, with NumPy and not
# by the core. Only sums are read from a learner: those of estimates and of snapshot policies.


def epoch_estimator(
    graph: FeedbackGraph, parameters: EpochParameters, explore: Floats | None = None
) -> Estimator:
    """Return the declaration of an algorithm with the epochs of `CrossGraph`.

    A pair of rounds with contexts c_0, c_1 learns from round i with probability 1/2, and keeps the
    feedback of arm a with probability r_{e,c}(a) / (2 q_c(a)), c = c_i. The weight of a revealed
    arm is 2 / W_e, so

        share(b) = r_{e,c}(N_in(b)) / W_e(b),    correction(j_e) = beta / W_e(j_e).
    """
    rule = _Epochs(graph, parameters, np.zeros(graph.arms) if explore is None else explore)
    pairs = Pairs(lambda policies, _: np.zeros(policies.shape[1]), *rule.constants)
    return Estimator(
        graph, no_share, rate=lambda _: parameters.eta, policy=rule.policy, pairs=pairs, at=rule.at
    )


class _Weights(NamedTuple):
    """W_e, infinite in the warm-up epoch, and the special arm, or -1."""

    denominators: Floats
    special: int


@dataclass(frozen=True)
class _Epochs:
    """The formulas of the algorithms with epochs."""

    graph: FeedbackGraph
    parameters: EpochParameters
    explore: Floats

    @property
    def constants(self) -> tuple[int, float]:
        return self.parameters.epoch_length, 1.5 * self.parameters.gamma

    def mixed(self, p: Floats, available: Booleans | None) -> Floats:
        """Return (1 - x) ((1 - rho) p + rho / K) + x u, on the available arms."""
        may = np.ones(self.graph.arms) if available is None else available.astype(np.float64)
        extra, rho = self.explore * may, self.parameters.rho
        uniform = (1.0 - rho) * p + rho * may / may.sum()
        return np.asarray((1.0 - extra.sum()) * uniform + extra)

    def snapshot(self, learner: Learner, available: Booleans | None) -> Floats:
        """Return r_e of every context, for the next round: (contexts, arms)."""
        epoch = learner.round // self.parameters.epoch_length
        estimates = estimates_of(learner, 1 + epoch % 2)
        rates = np.full(len(estimates), self.parameters.eta)
        return self.mixed(exponential_weights(estimates, rates, available), available)

    def policy(self, learner: Learner, p: Floats) -> Floats:
        """Return the policies that are played: p with exploration, or the snapshot."""
        own, snapshot = self.mixed(p, None), self.snapshot(learner, None)
        falls_back = np.any(2.0 * own < snapshot, axis=1, keepdims=True)
        return np.where(falls_back, snapshot, own)

    def weights(self, learner: Learner) -> _Weights:
        """Return W_e and j_e of the next pair, from sums over the rounds counted for them."""
        state: Any = learner.state()
        length, shift = self.constants
        epoch = learner.round // length
        if epoch == 0:
            return _Weights(np.full(self.graph.arms, np.inf), -1)
        entering = epoch != state["epoch"][0]
        if not entering and "observing" not in state:  # one graph: kept for the whole epoch
            return _Weights(state["denominators"].copy(), int(state["special"][0]))
        counted = state["frequency"] if entering else state["observing"]
        mass = state["mass"] if entering else state["heaviest"]
        denominators = self.graph.observation_mass(counted) / length + shift
        loopless = list(self.graph.arms_without_self_loop)
        special = loopless[int(np.argmax(mass[loopless]))] if loopless else -1
        return _Weights(denominators, special)

    def at(self, learner: Learner, available: Booleans | None) -> Estimator:
        """Return the declaration for the next pair of a learner."""
        snapshot = self.snapshot(learner, available)
        denominators, special = self.weights(learner)
        added = np.zeros(self.graph.arms)
        if special >= 0:
            added[special] = self.parameters.beta / denominators[special]

        def share(policies: Floats, context: int) -> Floats:
            del policies
            return np.asarray(self.graph.observation_mass(snapshot[context]) / denominators)

        def kept(policies: Floats, context: int) -> Floats:
            doubled, mass = 2.0 * policies[context], snapshot[context]
            probability: Floats = np.divide(
                mass, doubled, out=np.zeros_like(mass), where=doubled > 0
            )
            return probability

        declared = epoch_estimator(self.graph, self.parameters, self.explore)
        return replace(
            declared, share=share, correction=lambda *_: added, pairs=Pairs(kept, *self.constants)
        )


@register
@dataclass(frozen=True, kw_only=True)
class CrossGraphVarying(EpochAlgorithm):
    r"""Algorithm 2 with the observation probabilities of each round's own graph.

    Policies, snapshots, epochs, pairs, fallback and retention are those of `CrossGraph`. Only the
    denominators change. In Algorithm 2, half the probability of observing arm a,
    w_e(a) = E_c[ r_{e,c}(N_in(a)) ] / 2, is estimated for one graph. It is linear in the mean
    policy m_e = E_c[ r_{e,c} ]:

        w_{e,t}(a) = m_e(N_in_t(a)) / 2        for the graph G_t of round t.

    So the frequency rounds of an epoch estimate m_e, which needs no graph, and a loss round t of
    the next epoch applies its own graph to the estimate:

        W_t(a) = mhat_e(N_in_t(a)) / 2 + 3/2 gamma,
        lhat_{t,c}(a) = 2 l_{t,c}(a) 1{a revealed and kept} / W_t(a).

    The special arm j_t, given b_t = beta / W_t(j_t), is the one that snapshots play most among the
    arms without self-loop in G_t.

    If the graph is the same in all rounds, all numbers are those of `CrossGraph`.

    The graph may depend on the round, but not on the context: otherwise the contexts that reveal an
    arm are not those over which mhat_e is averaged. If each context has a graph of its own and the
    problem says so (`Problem.graph_by_context`), the mean of r_{e,c}(N_in_c(a)) / 2 over the
    frequency rounds takes the place of mhat_e(N_in_t(a)) / 2, and the special arm is the one that
    snapshots play most in contexts in which it has no self-loop. The argument for the bound then
    gives O~(sqrt(alpha T)) with alpha of the edges that all contexts share, if each arm has a
    self-loop in every context. Otherwise no bound is known.

    Bound: expected regret O~(sqrt(sum_t alpha_t)), alpha_t the independence number of G_t, with no
    polynomial factor of the number of contexts. It follows from the paper's proof if each arm has a
    self-loop in every round (see docs/contributors/every-graph.md for the steps; they are not
    machine-checked). If the self-loops of an arm change, it is a conjecture: the paper shows the
    cancellation on the special arm for one arm per epoch.

    Each round's graph must be strongly observable; `act` is given it. Tuning: eta = gamma = rho =
    beta = 1 / sqrt(alpha T) and L near sqrt(alpha T / log K), the paper's experiment rule, where
    alpha is the mean of the alpha_t. Give `alpha` if it is known. Otherwise it is that of the
    problem's graph, which has the edges that every round has: an upper bound.

    Args:
        eta: The learning rate.
        gamma: The implicit exploration, added to estimated observation probabilities.
        rho: The probability of uniform exploration.
        beta: The pessimistic correction of an arm without self-loop.
        epoch_length: The number of rounds in an epoch, even.
        alpha: The mean independence number of the rounds' graphs, for the rule.

    >>> from crossbandit import Problem, graphs
    >>> problem = Problem(graphs.singletons(3), contexts=2, horizon=200, graph_kind="informed")
    >>> learner = CrossGraphVarying(alpha=1.5).start(problem, seed=1)
    >>> for t in range(200):
    ...     graph = graphs.complete(3) if t % 2 else graphs.ring(3, radius=1)
    ...     decision = learner.act(t % 2, graph=graph)
    ...     losses = [[abs(b - context) / 3 for context in range(2)] for b in decision.revealed]
    ...     learner.learn(decision, losses)
    >>> int(learner.policy(1).argmax())
    1
    """

    id: ClassVar[str] = "cross-graph-varying"
    graph_kinds: ClassVar[tuple[str, ...]] = ("fixed", "informed")

    alpha: float | None = None

    def start(self, problem: Problem, *, seed: Seed) -> VaryingLearner:
        self.require_playable(problem)
        return VaryingLearner(self, problem, problem.graph, self.parameters(problem), seed)

    def tuning_rule(self, problem: Problem) -> Mapping[str, float]:
        horizon = required_horizon("experiment", problem)
        alpha = self.alpha if self.alpha is not None else problem.graph.independence_number
        return with_rate(problem, 1.0 / math.sqrt(alpha * horizon))._asdict()


class VaryingLearner(EpochLearner[CrossGraphVarying]):
    """A running `CrossGraphVarying`."""

    def _core(self, estimates: Floats, known: CoreProblem) -> VaryingCore:
        return VaryingCore(estimates, known, self.parameters, self.problem.graph_by_context)

    def play(self, pending: Decision) -> float:
        if self._open is not None:
            self.core.set_first(self._open.graph or self.graph)
        return super().play(pending)

    def _epoch_weights(self, round_: int) -> Floats:
        del round_
        weights: Floats = self.core.state()["weights"].copy()  # each pair has its own
        return weights


_MOST = 0.5  # the largest probability of exploration


class WeakParameters(NamedTuple):
    """The parameters of `CrossGraphWeak`."""

    eta: float
    gamma: float
    rho: float
    exploration: float
    epoch_length: int

    def of_epochs(self) -> EpochParameters:
        """Return the parameters that Algorithm 2 has too. No arm is corrected: beta is 0."""
        return EpochParameters(self.eta, self.gamma, self.rho, 0.0, self.epoch_length)


@register
@dataclass(frozen=True, kw_only=True)
class CrossGraphWeak(TunedAlgorithm[WeakParameters]):
    r"""The epochs of Algorithm 2, with exploration on a weakly dominating set.

    Let D be a smallest set of arms that reveals every weakly observable arm, delta its size (the
    weak domination number) and u_D the uniform distribution on D. If D is one arm without
    self-loop, the first other arm, which reveals it, is added. Every context plays

        r^p_{t,c} = (1 - x) ((1 - rho) p_{t,c} + rho / K) + x u_D,

    where x is `exploration`, and p is FTRL as in `CrossGraph`. Snapshots are mixed in the same way.
    Epochs, pairs, fallback, retention, W_e and lhat are those of `CrossGraph`. No arm is corrected
    (beta = 0): exploration observes every arm without self-loop. If no arm is weakly observable, D
    is empty and u_D is uniform on all arms.

    An arm without self-loop is observed with probability at least x / max(delta, 2). So the graph
    sum of a round, sum_a p(a) / w(a), is at most O~(alpha + delta / x), and the paper's
    decomposition gives

        regret  <~  L + log(K) / eta + (x + rho) T + (eta + gamma) (alpha + delta / x) T

    as long as eta (L + iota / gamma) <= c and gamma >= C iota / L, iota = log(M K T). With eta and
    gamma of the order 1 / L (up to iota), the best x is (delta iota / T)^(1/3), and L = x T.

    Bound: expected regret O~(delta^(1/3) T^(2/3)) if T is large compared with alpha^3 / delta^2,
    with no polynomial factor of the number of contexts. That is the best rate on weakly observable
    graphs (Alon et al. 2015). docs/contributors/every-graph.md says which steps are the paper's and
    which are new. The new steps are not machine-checked.

    Tuning, with d = max(delta, 1): x = (d log(K) / T)^(1/3), at most 1/2; eta = gamma = x^2 / d,
    as in Exp3.G (Alon et al. 2015), theorem 2; L near 1 / (eta sqrt(log K)), as in the paper's
    experiment rule; rho = eta.

    Args:
        eta: The learning rate.
        gamma: The implicit exploration, added to estimated observation probabilities.
        rho: The probability of uniform exploration.
        exploration: The probability x of exploration on the weakly dominating set.
        epoch_length: The number of rounds in an epoch, even.

    >>> from crossbandit import Problem, graphs
    >>> problem = Problem(graphs.revealing_action(4), contexts=3, horizon=2_000)
    >>> learner = CrossGraphWeak().start(problem, seed=7)
    >>> for t in range(2_000):
    ...     decision = learner.act(t % 3)
    ...     losses = [[abs(b - 1 - context) / 4 for context in range(3)] for b in decision.revealed]
    ...     learner.learn(decision, losses)
    >>> learner.policy(2).round(1)
    array([0.1, 0. , 0. , 0.9])
    """

    id: ClassVar[str] = "cross-graph-weak"
    parameters_type: ClassVar[type[WeakParameters]] = WeakParameters
    needs_observability: ClassVar[str] = "weak"
    checks: ClassVar = {"exploration": share}

    eta: float | None = None
    gamma: float | None = None
    rho: float | None = None
    exploration: float | None = None
    epoch_length: int | None = None

    def start(self, problem: Problem, *, seed: Seed) -> WeakLearner:
        self.require_playable(problem)
        return WeakLearner(self, problem, problem.graph, self.parameters(problem), seed)

    def estimator(self, problem: Problem) -> Estimator | None:
        parameters = self.parameters(problem)
        explore = _explored(problem, parameters.exploration)
        return epoch_estimator(problem.graph, parameters.of_epochs(), explore)

    def tuning_rule(self, problem: Problem) -> Mapping[str, float]:
        horizon = required_horizon("experiment", problem)
        delta, log = max(1, len(problem.graph.weakly_dominating_set)), math.log(problem.arms)
        exploration = min(_MOST, (delta * log / horizon) ** (1 / 3))
        eta = exploration**2 / delta
        length = epoch_length(horizon, 1.0 / (eta * math.sqrt(log)))
        return WeakParameters(eta, eta, eta, exploration, length)._asdict()


class WeakLearner(EpochLearner[CrossGraphWeak]):
    """A running `CrossGraphWeak`."""

    def _core(self, estimates: Floats, known: CoreProblem) -> EpochCore:
        explore = _explored(self.problem, self.parameters.exploration)
        return EpochCore(estimates, known, self.parameters.of_epochs(), explore)


def _explored(problem: Problem, exploration: float) -> Floats:
    """Return the probability with which exploration plays each arm."""
    chosen = exploring_arms(problem.graph) or list(range(problem.arms))
    explore = np.zeros(problem.arms)
    explore[chosen] = exploration / len(chosen)
    return explore


# --- Algorithm 1 ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class KnownAlgorithm(TunedAlgorithm[KnownParameters]):
    """Exponential weights whose observation probabilities average over the known contexts."""

    parameters_type: ClassVar[type[KnownParameters]] = KnownParameters
    needs_memory: ClassVar[bool] = False
    needs_context_distribution: ClassVar[bool] = True
    takes_availability: ClassVar[bool] = False  # the distribution does not include it

    def seen_graph(self, problem: Problem) -> FeedbackGraph:
        """Return the graph that the algorithm learns with: the problem's, or the singleton graph.

        Args:
            problem: The problem.
        """
        return singletons(problem.arms) if self.needs_own_loss else problem.graph

    def start(self, problem: Problem, *, seed: Seed) -> KnownLearner:
        self.require_playable(problem)
        if problem.context_distribution is None and problem.context_sample is None:
            raise InvalidParameterError(
                f"{type(self).__name__} needs the context distribution. Give Problem(..., "
                "context_distribution=...), or context_sample=... if contexts are feature "
                "vectors. Or use CrossGraph, which does not need it."
            )
        return KnownLearner(self, problem, seed)

    def estimator(self, problem: Problem) -> Estimator | None:
        if problem.context_distribution is None:
            return None
        parameters, graph = self.parameters(problem), self.seen_graph(problem)
        law = np.asarray(problem.context_distribution)
        loopless = list(graph.arms_without_self_loop)

        def denominators(policies: Floats) -> Floats:
            return graph.observation_mass(law @ policies) + parameters.gamma

        def shares(policies: Floats, context: int) -> Floats:
            return graph.observation_mass(policies[context]) / denominators(policies)

        def correction(policies: Floats, context: int) -> Floats:
            del context
            added = np.zeros(problem.arms)
            if loopless:
                special = loopless[int(np.argmax((law @ policies)[loopless]))]
                added[special] = parameters.beta / denominators(policies)[special]
            return added

        def policy(learner: Learner[Any], p: Floats) -> Floats:
            del learner
            return (1.0 - parameters.rho) * p + parameters.rho / problem.arms

        # On average over contexts, p / w is at most 1 / (1 - rho) times the graph sum of r.
        bound = acyclic_bound(graph, parameters.rho)
        return Estimator(graph, shares, correction, policy=policy, second_moment=bound)


@register
@dataclass(frozen=True, kw_only=True)
class CrossGraphKnown(KnownAlgorithm):
    """FTRL with exact observation probabilities (Algorithm 1).

    Every context keeps exponential weights p_{t,c} and plays r_{t,c} = (1 - rho) p_{t,c} + rho / K.
    The context distribution is known, so the probability of observing an arm is known too, and
    every round is used for learning:

        w_t(a) = E_c[ r_{t,c}(N_in(a)) ],    u_t = w_t + gamma,        (observation probability)
        lhat_{t,c}(a) = l_{t,c}(a) 1{a revealed} / u_t(a).

    Among the arms without self-loop, the one played most, j_t in argmax E_c[ r_{t,c}(a) ] (ties to
    the smallest arm), is given the pessimistic correction b_t = beta / u_t(j_t).

    A round costs K times the number of contexts that have positive probability.

    Bound (Proposition 2): expected regret O~(sqrt(alpha T)) for eta, gamma, rho, beta of the order
    1 / sqrt(alpha T); that value replaces parameters that are None.

    The problem must have the distribution: Problem(..., context_distribution=...), or a sample of
    feature vectors, context_sample=.... A simulation passes on that of the environment.

    Args:
        eta: The learning rate.
        gamma: The implicit exploration, added to observation probabilities.
        rho: The probability of uniform exploration.
        beta: The pessimistic correction of an arm without self-loop.

    >>> from crossbandit import Problem, graphs
    >>> problem = Problem(
    ...     graphs.complete(2), contexts=2, horizon=100, context_distribution=[0.9, 0.1]
    ... )
    >>> CrossGraphKnown().start(problem, seed=1).policy(0)
    array([0.5, 0.5])
    """

    id: ClassVar[str] = "cross-graph-known"
    needs_observability: ClassVar[str] = "strong"

    eta: float | None = None
    gamma: float | None = None
    rho: float | None = None
    beta: float | None = None

    def tuning_rule(self, problem: Problem) -> Mapping[str, float]:
        rate = experiment_rate(problem)
        return KnownParameters(rate, rate, min(rate, 0.5), rate)._asdict()


@register
@dataclass(frozen=True, kw_only=True)
class Exp3Cl(KnownAlgorithm):
    """EXP3.CL (Balseiro, Golrezaei, Mahdian, Mirrokni and Schneider 2019, Algorithm 1), for losses.

    The founding algorithm of cross-learning. It knows the context distribution and ignores the
    graph: with r_{t,c} = (1 - rho) p_{t,c} + rho / K played, as Algorithm 1 of this package,

        lhat_{t,c}(a) = l_{t,c}(a) 1{a played} / E_c[ r_{t,c}(a) ]

    is added in every context. It learns the loss of the arm played, also of an arm without
    self-loop. A round costs K times the number of contexts that have positive probability.

    Rates: eta = sqrt(log(K) / (K T)) and rho = min(K eta, 1/2); the paper's beta is eta, and its
    alpha is rho / K. Bound, for contexts drawn independently and oblivious losses:

        rho T + log(K) / eta + eta K T / (2 (1 - rho))  <=  3 sqrt(K T log K),

    for any number of contexts. The paper has rewards and the order; this form for losses and its
    constant are ours.

    Args:
        eta: The learning rate; set by the rule if None.
        rho: The probability of uniform exploration; set by the rule if None.

    >>> from crossbandit import Problem, graphs
    >>> problem = Problem(
    ...     graphs.singletons(2), contexts=2, horizon=100, context_distribution=[0.9, 0.1]
    ... )
    >>> learner = Exp3Cl(eta=1.0, rho=0.5).start(problem, seed=1)
    >>> decision = learner.act(0)
    >>> learner.learn(decision, [[0.0, 1.0]])  # the estimate of context 1 is 2
    >>> [round(float(learner.policy(c)[decision.arm]), 3) for c in range(2)]
    [0.5, 0.31]
    """

    id: ClassVar[str] = "exp3-cl"
    needs_own_loss: ClassVar[bool] = True
    graph_kinds: ClassVar[tuple[str, ...]] = tuple(GRAPH_KINDS)  # any: it ignores the graph

    eta: float | None = None
    rho: float | None = None

    def tuning_rule(self, problem: Problem) -> Mapping[str, float]:
        rounds, arms = required_horizon(self.id, problem), problem.arms
        eta = math.sqrt(math.log(arms) / (arms * rounds)) if self.eta is None else self.eta
        return {"eta": eta, "rho": min(arms * eta, 0.5)}


class KnownLearner(CoreLearner[KnownAlgorithm]):
    """A running Algorithm 1, or EXP3.CL."""

    changed_by_play = ("bias",)
    additive_state = ("estimates", "bias")

    def __init__(self, algorithm: KnownAlgorithm, problem: Problem, seed: Seed) -> None:
        self.parameters = algorithm.parameters(problem)
        form, graph = problem.form, algorithm.seen_graph(problem)
        estimates = zeros(type(algorithm).__name__, (1, problem.arms, form.columns), form.dtype)
        known = core_problem(problem, graph)
        core = KnownCore(estimates, known, self.parameters, *_support(problem))
        super().__init__(algorithm, problem, core, seed=seed, graph=graph)


def _support(problem: Problem) -> tuple[ContextBlock, Floats]:
    """Return the contexts that can occur, and their probabilities."""
    if problem.context_sample is not None:
        sample = np.asarray(problem.context_sample)
        return problem.form.block(sample), np.full(len(sample), 1.0 / len(sample))
    probabilities = np.asarray(problem.context_distribution)
    possible = np.flatnonzero(probabilities)
    offset, entry, table, available = problem.form.support()
    support = ContextBlock(offset[possible], entry[possible], table, available[possible])
    return support, probabilities[possible]
