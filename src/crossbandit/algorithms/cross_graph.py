"""Algorithm 2 of the paper: cross-learning with graph feedback, unknown context distribution.

`EpochLearner` is the learner of all algorithms with the epochs of Algorithm 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit.algorithms import tuning
from crossbandit.algorithms.epoch_estimator import epoch_estimator
from crossbandit.algorithms.tuned import TunedAlgorithm
from crossbandit.graphs import FeedbackGraph
from crossbandit.kernels import epochs
from crossbandit.kernels.epochs import LIVE, EpochGraph, EpochParameters, EpochState
from crossbandit.kernels.rounds import record
from crossbandit.kernels.rows import add_revealed, write_rows
from crossbandit.learners.algorithm import register
from crossbandit.learners.decisions import PendingDecision
from crossbandit.learners.feedback import neighbors
from crossbandit.learners.learner import Learner
from crossbandit.learners.learner_base import AlgorithmT
from crossbandit.losses.forms import zeros
from crossbandit.validation import choice, reject

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.kernels.rounds import Rounds
    from crossbandit.learners.estimator import Estimator
    from crossbandit.losses import Context, LossForm, Readout
    from crossbandit.problem import Problem
    from crossbandit.streams import Seed
    from crossbandit.types import Floats


@register
@dataclass(frozen=True, kw_only=True)
class CrossGraph(TunedAlgorithm[EpochParameters]):
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
    parameters_type: ClassVar[type[EpochParameters]] = EpochParameters
    needs_observability: ClassVar[str] = "strong"

    eta: float | None = None
    gamma: float | None = None
    rho: float | None = None
    beta: float | None = None
    epoch_length: int | None = None
    tuning: str = "experiment"

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("CrossGraph", "tuning", self.tuning, tuning.RULES)

    def start(self, problem: Problem, *, seed: Seed) -> EpochLearner:
        self.require_playable(problem)
        parameters = self.parameters(problem)
        return EpochLearner(self, problem, problem.graph, parameters, seed)

    def estimator(self, problem: Problem) -> Estimator | None:
        if problem.graph_kind != "fixed":
            return None
        return epoch_estimator(problem.graph, self.parameters(problem))

    def tuning_rule(self, problem: Problem) -> Mapping[str, float]:
        return tuning.tuned(self.tuning, problem)._asdict()


class EpochLearner(Learner[AlgorithmT]):
    """The learner of algorithms with epochs. It plays both rounds of a pair from one policy.

    So it keeps feedback that arrives between the two rounds until the second round is played.
    """

    def __init__(
        self,
        algorithm: AlgorithmT,
        problem: Problem,
        graph: FeedbackGraph,
        parameters: EpochParameters,
        seed: Seed,
        explore: Floats | None = None,
    ) -> None:
        owner = type(algorithm).__name__
        _check_horizon(owner, problem.horizon, parameters.epoch_length)
        super().__init__(algorithm, problem, seed=seed, graph=graph)
        self.parameters: EpochParameters = parameters
        loopless = np.asarray(graph.arms_without_self_loop, dtype=np.int64)
        extra = np.zeros(0) if explore is None else explore
        self._epoch_graph = EpochGraph(graph.in_ranges, loopless, extra)
        self._epoch = empty_state(owner, problem.arms, problem.form)
        self._weights: Floats | None = None  # of the epoch that `_weights_of` names
        self._weights_of = -1
        self._open: PendingDecision | None = None
        self._held: list[PendingDecision] = []

    @property
    def special_arm(self) -> int | None:
        """The arm without self-loop that this epoch corrects, or None."""
        arm = int(self._epoch.special[0])
        return None if arm < 0 else arm

    def distribution(self, context: Context, readout: Readout) -> Floats:
        del context
        snapshot, out = np.empty((2, self.problem.arms))
        epoch = self.round // self.parameters.epoch_length
        explore = self._epoch_graph.explore
        epochs.policy(self._epoch, self.parameters, explore, readout, epoch, snapshot, out)
        return out

    def play(self, pending: PendingDecision) -> float:
        opens = self._open is None
        uniform = self.generator.random()
        split, retain = (0.0, 0.0) if opens else self.generator.random(2).tolist()
        pending.arm, probability, loss_side, retained = self._step(pending, uniform, split, retain)
        if opens:
            self._open = pending
        else:
            self._close_pair(pending, loss_side, retained=retained)
        return float(probability)

    def _step(
        self, pending: PendingDecision, uniform: float, split: float, retain: float
    ) -> tuple[int, float, int, bool]:
        """Play a round with these random numbers; return what `epochs.play` returns."""
        step: tuple[int, float, int, bool] = self.call(
            epochs.play,
            self._epoch,
            self.parameters,
            self._epoch_graph,
            pending.readout,
            pending.round,
            uniform,
            split,
            retain,
        )
        return step

    def _close_pair(self, second: PendingDecision, loss_side: int, *, retained: bool) -> None:
        first, self._open = self._open, None
        if retained and first is not None:
            (first, second)[loss_side].weights = self._epoch_weights(second.round)
        held, self._held = self._held, []
        for pending in held:
            if pending.rows is not None:
                self._learn(pending, pending.rows)

    def _epoch_weights(self, round_: int) -> Floats:
        """Return the weights of the epoch of a round. All decisions of the epoch share one copy."""
        epoch = round_ // self.parameters.epoch_length
        if self._weights is None or self._weights_of != epoch:
            self._weights = self._epoch.weights.copy()
            self._weights_of = epoch
        return self._weights

    def update(self, pending: PendingDecision, rows: Floats) -> None:
        if self._open is None:
            self._learn(pending, rows)
        elif pending.weights is not None or pending is self._open:
            pending.rows = rows
            self._held.append(pending)

    def _learn(self, pending: PendingDecision, rows: Floats) -> None:
        if pending.weights is not None:
            feedback = self.feedback(pending, rows)
            self.call(add_revealed, self._epoch.estimates, LIVE, pending.weights, feedback)

    def state(self) -> Mapping[str, npt.NDArray[Any]]:
        return self._epoch._asdict()

    def check_state(self) -> None:
        super().check_state()
        state, length, arms = self._epoch, self.parameters.epoch_length, self.problem.arms
        epoch, special = int(state.epoch[0]), int(state.special[0])
        right = epoch >= 0 and epoch * length <= self.round <= (epoch + 1) * length
        self.require_state("epoch", right, f"that of round {self.round}", epoch)
        right = -1 <= special < arms
        self.require_state("special", right, f"an arm from 0 to {arms - 1}, or -1", special)
        offset = int(state.pair_offset[0])
        last = self.problem.form.columns - state.pair_coefficients.shape[1]
        self.require_state("pair_offset", 0 <= offset <= last, f"from 0 to {last}", offset)
        restricted = int(state.pair_restricted[0])
        self.require_state("pair_restricted", restricted in {0, arms}, f"0 or {arms}", restricted)
        right = epoch == 0 or bool((state.denominators > 0).all())
        self.require_state("denominators", right, "positive", state.denominators)
        opened = (self._open is not None) == (self.round % 2 == 1)
        self.require_state("open", opened, "the first of a pair, in odd rounds only", self._open)

    def remembered(self) -> dict[str, list[PendingDecision]]:
        opened = [] if self._open is None else [self._open]
        return {**super().remembered(), "held": self._held, "open": opened}

    def restore(self, roles: Mapping[str, list[PendingDecision]]) -> None:
        super().restore(roles)
        self._held = roles["held"]
        self._open = roles["open"][0] if roles["open"] else None

    def simulate(self, rounds: Rounds) -> None:
        """Play a batch of rounds, compiled.

        Args:
            rounds: What happens in the rounds; what was done is filled in.
        """
        if self._open is not None and rounds.arms.size > 0:
            self._play_alone(rounds)
            rounds = rounds.part(1, rounds.arms.size)
        if rounds.arms.size > 0:
            self._play_pairs(rounds)

    def _play_pairs(self, rounds: Rounds) -> None:
        """Play rounds; the first begins a pair. If the last has no partner, its pair stays open."""
        pairs, alone = divmod(rounds.arms.size, 2)
        self._loop(rounds, self.generator.random(4 * pairs + alone))
        self.round += rounds.arms.size
        if alone:
            i = rounds.arms.size - 1
            readout = rounds.readout(i)
            self._open = PendingDecision(self.round - 1, -1, readout, int(rounds.arms[i]), self.id)
            self._open.graph = self._graph_in(rounds, i)
            self.update(self._open, self._rows_of(rounds, i, self._open))

    def _loop(self, rounds: Rounds, uniforms: Floats) -> None:
        """Play rounds with these random numbers, compiled."""
        step = (self._epoch, self.parameters, self._epoch_graph)
        epochs.simulate(*step, self.graph.out_ranges, rounds, self.round, uniforms)

    def _graph_in(self, rounds: Rounds, i: int) -> FeedbackGraph | None:
        """Return the graph of a round; None if graphs do not change."""
        if self.graph_kind == "fixed":
            return None
        number = int(rounds.graphs.entry[i])
        return FeedbackGraph.from_block(rounds.graphs, number, self.problem.arms)

    def _play_alone(self, rounds: Rounds) -> None:
        """Play the first of `rounds`, which ends a pair, as `act` and `learn` would."""
        readout = rounds.readout(0)
        number = int(rounds.numbers[0]) if rounds.numbers.size else -1
        pending = PendingDecision(self.round, number, readout, -1, self.id)
        pending.graph = self._graph_in(rounds, 0)
        self.play(pending)
        self.round += 1
        record(rounds, 0, pending.arm)
        self.update(pending, self._rows_of(rounds, 0, pending))

    def _rows_of(self, rounds: Rounds, i: int, pending: PendingDecision) -> Floats:
        if pending.graph is not None:
            pending.revealed = neighbors(pending.graph, pending.arm)
        rows = np.empty((self.problem.arms, self.problem.form.columns))
        write_rows(rounds.losses, i, rows)
        return rows[list(self.revealed(pending))]


def _check_horizon(owner: str, horizon: int | None, epoch_length: int) -> None:
    if horizon is not None and horizon < 2 * epoch_length:
        expected = (
            f"at least {2 * epoch_length} for {owner}: a warm-up epoch, in which nothing is "
            f"learned, and one more, of {epoch_length} rounds each"
        )
        reject("Problem", "horizon", expected, horizon)


def empty_state(owner: str, arms: int, form: LossForm) -> EpochState:
    """Return the state before the first round."""
    return EpochState(
        estimates=zeros(owner, (3, arms, form.columns), form.dtype),
        bias=np.zeros((3, arms)),
        denominators=np.zeros(arms),
        weights=np.zeros(arms),
        frequency=np.zeros(arms),
        mass=np.zeros(arms),
        retention=np.zeros(2),
        epoch=np.zeros(1, dtype=np.int64),
        special=np.full(1, -1),
        pair_offset=np.zeros(1, dtype=np.int64),
        pair_coefficients=np.zeros(form.shape),
        pair_available=np.ones(arms, dtype=np.bool_),
        pair_restricted=np.zeros(1, dtype=np.int64),
        snapshot=np.zeros(arms),
        chosen=np.zeros(arms),
        sums=np.zeros((2, arms + 1)),
        revealed=np.zeros(arms, dtype=np.int64),
    )
