"""The learner behind Algorithm 2 and its singleton ancestor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.algorithms.coordinates import play_in_coordinates
from crossbandit.algorithms.learner import Learner, Ticket
from crossbandit.kernels import epochs
from crossbandit.kernels.compilation import resolved
from crossbandit.kernels.epochs import LIVE, ROUND, EpochParameters, EpochState
from crossbandit.losses.memory import zeros
from crossbandit.validation import reject

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from crossbandit.algorithms.algorithm import Algorithm
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.kernels.rounds import Rounds
    from crossbandit.losses import LossForm
    from crossbandit.problem import Problem
    from crossbandit.streams import Seed
    from crossbandit.types import Floats


class EpochLearner(Learner):
    """Epochs of pairs: both rounds of a pair are played from one policy.

    So whatever feedback comes in while a pair is open is held until the pair is closed.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        problem: Problem,
        graph: FeedbackGraph,
        parameters: EpochParameters,
        seed: Seed,
    ) -> None:
        _check_horizon(type(algorithm).__name__, problem.horizon, parameters.epoch_length)
        super().__init__(algorithm, problem, graph, seed)
        self.parameters = parameters
        self._loopless = np.asarray(graph.arms_without_self_loop, dtype=np.int64)
        self._epoch = empty_state(type(algorithm).__name__, problem.arms, problem.form)
        self._weights: Floats | None = None  # 2 / W_e of the epoch that `_weights_of` names
        self._weights_of = -1
        self._machine_code: Callable[..., tuple[int, float, int, bool]] | None = None
        self._open: Ticket | None = None
        self._held: list[Ticket] = []

    @property
    def round(self) -> int:
        return int(self._epoch.counters[ROUND])

    @property
    def special_arm(self) -> int | None:
        """The arm without self-loop that this epoch corrects, or None."""
        arm = int(self._epoch.counters[epochs.SPECIAL_ARM])
        return None if arm < 0 else arm

    def policy(self, context: Any, available: Any = None) -> Floats:
        _, first, values, available = self._readout(context, available)
        snapshot, out = np.empty((2, self.problem.arms))
        epochs.policy(self._epoch, self.parameters, first, values, available, snapshot, out)
        return out

    def _play(self, ticket: Ticket) -> float:
        opens = self._open is None
        uniform = self._generator.random()
        split, retain = (0.0, 0.0) if opens else self._generator.random(2).tolist()
        arguments = (
            self._epoch,
            self.parameters,
            self._graph.in_ranges,
            self._loopless,
            ticket.readout.first,
            ticket.readout.values,
            ticket.readout.available,
            uniform,
            split,
            retain,
        )
        if self._machine_code is None:
            self._machine_code = resolved(epochs.play, *arguments)
        ticket.arm, probability, loss_side, retained = self._machine_code(*arguments)
        if opens:
            self._open = ticket
        else:
            self._close_pair(ticket, loss_side, retained=retained)
        return probability

    def _close_pair(self, second: Ticket, loss_side: int, *, retained: bool) -> None:
        first, self._open = self._open, None
        if retained and first is not None:
            (first, second)[loss_side].weights = self._epoch_weights(second.round)
        held, self._held = self._held, []
        for ticket in held:
            if ticket.rows is not None:
                self._add(self._epoch.estimates[LIVE], ticket, ticket.rows)

    def _epoch_weights(self, round_: int) -> Floats:
        epoch = round_ // self.parameters.epoch_length
        if self._weights is None or self._weights_of != epoch:
            self._weights = 2.0 / self._epoch.denominators
            self._weights_of = epoch
        return self._weights

    def _absorb(self, ticket: Ticket, rows: Floats) -> None:
        if self._open is None:
            self._add(self._epoch.estimates[LIVE], ticket, rows)
        elif ticket.weights is not None or ticket is self._open:
            ticket.rows = rows.copy()
            self._held.append(ticket)

    def _state(self) -> Mapping[str, npt.NDArray[Any]]:
        return self._epoch._asdict()

    def _parameters(self) -> Mapping[str, Any]:
        return self.parameters._asdict()

    def _tickets(self) -> dict[str, list[Ticket]]:
        opened = [] if self._open is None else [self._open]
        return {**super()._tickets(), "held": self._held, "open": opened}

    def _restore_tickets(self, roles: Mapping[str, list[Ticket]]) -> None:
        super()._restore_tickets(roles)
        self._held = roles["held"]
        self._open = roles["open"][0] if roles["open"] else None

    def simulate(self, rounds: Rounds) -> None:
        """Play a batch of rounds, compiled; it begins with the first round of a pair."""
        pairs, alone = divmod(rounds.arms.size, 2)
        uniforms = self._generator.random(epochs.UNIFORMS_PER_PAIR * pairs + alone)

        def play(estimates: Floats, rounds: Rounds) -> None:
            values = np.empty(rounds.contexts.table.shape[1:])
            epochs.simulate(
                self._epoch._replace(estimates=estimates, pair_values=values),
                self.parameters,
                self._graph.in_ranges,
                self._graph.out_ranges,
                self._loopless,
                rounds,
                uniforms,
            )

        play_in_coordinates(self._epoch.estimates, rounds, play)


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
        frequency=np.zeros(arms),
        mass=np.zeros(arms),
        retention=np.zeros(2),
        counters=np.array([0, 0, -1, 0, 0]),
        pair_values=np.zeros(form.shape),
        pair_available=np.ones(arms, dtype=np.bool_),
        snapshot=np.zeros(arms),
        chosen=np.zeros(arms),
        sums=np.zeros((2, arms + 1)),
    )
