"""What all learners share: decisions, late feedback, validation at the door."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.errors import CheckFailedError, DecisionError, InvalidLossesError
from crossbandit.kernels.rounds import add_revealed
from crossbandit.streams import Seed, stream
from crossbandit.types import Floats
from crossbandit.validation import integer, reject

if TYPE_CHECKING:
    import os

    import numpy.typing as npt

    from crossbandit.algorithms.algorithm import Algorithm
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.losses import Readout
    from crossbandit.losses.readout import Context
    from crossbandit.problem import Problem


_FLOAT = np.dtype(np.float64)  # made once: this is looked at in every round


class Decision(NamedTuple):
    """One play: keep it until its feedback is in, then hand both to `learn`.

    `revealed` names the arms whose losses `learn` expects, in this order. It is a `range` or a
    tuple; both are sequences of ints.
    """

    round: int
    context: Context
    arm: int
    probability: float
    revealed: Sequence[int]
    learner: str

    def to_json(self) -> dict[str, Any]:
        """Return a form that `json` can write, to keep a decision until its feedback is in."""
        return {**self._asdict(), "revealed": list(self.revealed)}

    @classmethod
    def from_json(cls, data: Any) -> Decision:
        """Return the decision that `to_json` wrote; the learner that made it will know it."""
        if not isinstance(data, Mapping) or set(data) != set(cls._fields):
            expected = f"what to_json wrote, a dict with the keys {', '.join(cls._fields)}"
            reject("Decision.from_json", "data", expected, data)
        context, revealed = data["context"], data["revealed"]
        return cls(
            **{
                **data,
                "context": tuple(context) if isinstance(context, list) else context,
                "revealed": _compact(revealed) if isinstance(revealed, list) else revealed,
            }
        )


@dataclass(slots=True)
class Ticket:
    """What a learner remembers of a decision whose feedback is out.

    `weights` (K,), a float for each arm, are the factors with which losses will count, those of the
    arms that are revealed; None means that the feedback of this round is not used. `baseline` is
    what is taken off each of them first, if anything. `rows` is feedback that is in but may not
    count yet.
    """

    round: int
    readout: Readout
    arm: int
    learner: str
    weights: Floats | None = None
    baseline: float | None = None
    rows: Floats | None = None


class Learner(ABC):
    """A running algorithm: `act` on a context, then `learn` from what was revealed.

    Feedback may come late and out of order. The weight of a round's feedback is fixed when the
    round is played, so lateness changes when a loss counts, never how much. Feedback may also never
    come, as long as whether it comes does not depend on what it would have been: a learner that
    hears of good outcomes only believes that there are no others. The latest `max_pending`
    decisions whose feedback is out are remembered; older ones expire.
    """

    _max_pending: int = 100_000

    def __init__(
        self, algorithm: Algorithm, problem: Problem, graph: FeedbackGraph, seed: Seed
    ) -> None:
        self.algorithm = algorithm
        self.problem = problem
        self.id = secrets.token_hex(8)
        self._former_ids: list[str] = []  # under which it was saved
        self._graph = graph
        self._generator = stream(seed, "learner")
        self._pending: dict[int, Ticket] = {}
        self._revealed: dict[int, Sequence[int]] = {}

    # --- the interface -----------------------------------------------------------------------

    @property
    @abstractmethod
    def round(self) -> int:
        """The number of the round to come, which is the number of rounds played."""

    @property
    def pending(self) -> int:
        """How many decisions wait for their feedback."""
        return len(self._pending)

    @property
    def max_pending(self) -> int:
        """How many decisions are remembered while their feedback is out; may be set."""
        return self._max_pending

    @max_pending.setter
    def max_pending(self, decisions: int) -> None:
        self._max_pending = integer("Learner", "max_pending", decisions, at_least=0)

    def act(self, context: Any, available: Any = None) -> Decision:
        """Choose an arm for `context`.

        `available`, a boolean for each arm, says which arms may be chosen: no other is ever
        played. It is a part of the context, and None stands for all arms.
        """
        ticket = Ticket(self.round, self._readout(context, available), -1, self.id)
        probability = self._play(ticket)
        self._pending[ticket.round] = ticket
        while len(self._pending) > self._max_pending:
            del self._pending[next(iter(self._pending))]
        return Decision(
            ticket.round,
            ticket.readout.context,
            ticket.arm,
            probability,
            self.reveals(ticket.arm),
            self.id,
        )

    def learn(self, decision: Decision, losses: Any) -> None:
        """Learn from the losses that a decision revealed.

        `losses` has one row per arm of `decision.revealed`, in that order: a number per context
        (dense losses) or a coefficient per feature (linear losses). A mapping from each revealed
        arm to its row will do as well. Whatever is wrong with either raises, and changes nothing.
        """
        ticket = self._ticket(decision)
        rows = self._rows(ticket, decision.revealed, losses)
        del self._pending[ticket.round]
        self._absorb(ticket, rows)

    def expects(self, decision: Decision) -> None:
        """Raise DecisionError unless `learn` would take this decision now. Changes nothing."""
        self._ticket(decision)

    @abstractmethod
    def policy(self, context: Any, available: Any = None) -> Floats:
        """Return the distribution from which `act` would draw now. Changes nothing."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file; `crossbandit.load` goes on from there, arm for arm."""
        from crossbandit.algorithms.checkpoints import save

        save(self, path)

    def reveals(self, arm: int) -> Sequence[int]:
        """Return the arms whose losses playing `arm` reveals to this learner."""
        revealed = self._revealed.get(arm)
        if revealed is None:
            revealed = _compact(self._graph.out_neighbors(arm).tolist())
            self._revealed[arm] = revealed
        return revealed

    # --- what an algorithm fills in ----------------------------------------------------------

    @abstractmethod
    def _play(self, ticket: Ticket) -> float:
        """Play a round: set `ticket.arm` and `ticket.weights`, return the arm's probability."""

    @abstractmethod
    def _absorb(self, ticket: Ticket, rows: Floats) -> None:
        """Count the rows of a ticket's revealed arms."""

    @abstractmethod
    def _state(self) -> Mapping[str, npt.NDArray[Any]]:
        """Return the arrays that hold everything learned, by name; `load` fills them in place."""

    def check_state(self) -> None:  # noqa: B027 - a state without indices needs no check
        """Raise ValueError if loaded state holds an index that is out of range."""

    def _parameters(self) -> Mapping[str, Any]:
        """Return the parameters that a tuning rule has set, by name; for a checkpoint."""
        return {}

    def _tickets(self) -> dict[str, list[Ticket]]:
        """Return the tickets that are out, by the role that they have; for a checkpoint."""
        return {"pending": list(self._pending.values())}

    def _restore_tickets(self, roles: Mapping[str, list[Ticket]]) -> None:
        """Take back what `_tickets` returned."""
        self._pending = {ticket.round: ticket for ticket in roles["pending"]}

    # --- shared steps ------------------------------------------------------------------------

    def _readout(self, context: Any, available: Any) -> Readout:
        readout = self.problem.form.readout(context)
        if available is None:
            return readout
        self.algorithm.require_availability()
        return readout.restricted(available, self.problem.arms)

    def _add(self, estimates: Floats, ticket: Ticket, rows: Floats) -> None:
        """Add a ticket's weighted rows to `estimates` (K, columns), in place.

        rows: (revealed, columns), a row for each arm that was revealed.
        """
        if ticket.weights is None:
            return
        self._check_sizes(estimates, ticket, rows)
        runs = self._graph.out_ranges
        own = slice(runs.starts[ticket.arm], runs.starts[ticket.arm + 1])
        add_revealed(estimates, runs.first[own], runs.last[own], ticket.weights, rows)

    def _check_sizes(self, estimates: Any, ticket: Ticket, rows: Any) -> None:
        """Raise if compiled code, which trusts its input, would read or write past an end."""
        arms = self._graph.arms
        weights: Any = ticket.weights
        if (
            not isinstance(weights, np.ndarray)
            or weights.shape != (arms,)
            or weights.dtype != _FLOAT
        ):
            raise CheckFailedError(
                f"The weights that {type(self).__name__} puts on a ticket must be a float for each "
                f"of the {arms} arms, revealed or not: an array of shape {(arms,)}. Got "
                f"{_described(weights)}. Set ticket.weights in _play."
            )
        if not isinstance(estimates, np.ndarray) or estimates.ndim != 2 or len(estimates) != arms:
            raise CheckFailedError(
                f"The estimates to which {type(self).__name__} adds must be an array with a row "
                f"for each of the {arms} arms. Got {_described(estimates)}."
            )
        expected = (len(self.reveals(ticket.arm)), estimates.shape[1])
        if not isinstance(rows, np.ndarray) or rows.shape != expected:
            raise CheckFailedError(
                f"The rows that {type(self).__name__} adds must be an array of shape {expected}: a "
                f"row for each arm that arm {ticket.arm} reveals, as wide as its estimates. Got "
                f"{_described(rows)}."
            )

    def _ticket(self, decision: Decision) -> Ticket:
        if not isinstance(decision, Decision):
            raise DecisionError(f"learn takes the Decision that act returned. Got {decision!r}.")
        try:
            ticket = self._pending.get(decision.round)
        except TypeError:  # a round that cannot be one
            ticket = None
        makers = (self.id, *self._former_ids) if ticket is None else (ticket.learner,)
        if decision.learner not in makers:
            raise DecisionError(
                f"The decision of round {decision.round} was made by another learner, or by this "
                f"one after the checkpoint from which it was restored ({decision.learner}). Hand "
                "it to the learner that made it, or drop it."
            )
        if ticket is None:
            raise DecisionError(
                f"The decision of round {decision.round} has been learned from before, or is older "
                f"than the {self.max_pending} decisions that are remembered. Each counts once."
            )
        revealed = self.reveals(ticket.arm)
        if not (
            _same(ticket.arm, decision.arm)
            and _same(ticket.readout.context, decision.context)
            and _same(revealed, decision.revealed)
        ):
            raise DecisionError(
                f"In round {decision.round} this learner played arm {ticket.arm} in context "
                f"{ticket.readout.context}, which reveals {list(revealed)}. Got a decision that "
                f"says arm {decision.arm} in context {decision.context}, which reveals "
                f"{decision.revealed}."
            )
        return ticket

    def _rows(self, ticket: Ticket, revealed: Sequence[int], losses: Any) -> Floats:
        if isinstance(losses, Mapping):
            losses = _in_order(losses, revealed, ticket.arm)
        expected = (len(revealed), self.problem.form.columns)
        rows = _numbers(losses)
        if rows is None:
            raise InvalidLossesError(
                f"The 'losses' parameter of learn must be an array of numbers of shape {expected}. "
                f"Got {losses!r}."
            )
        if not revealed and rows.size == 0:
            return np.empty(expected)  # nothing was revealed, so [] and {} say it all
        if rows.shape != expected:
            raise InvalidLossesError(
                f"The 'losses' parameter of learn must have shape {expected}: a row for each arm "
                f"that arm {ticket.arm} reveals, a column for each "
                f"{self.problem.form.column_name}. Got shape {rows.shape}."
            )
        self.problem.form.check(rows, revealed, ticket.readout)
        return rows


def _numbers(losses: Any) -> Floats | None:
    """Return losses as an array of floats; None if they are text, complex, masked or ragged."""
    if type(losses) is np.ndarray and losses.dtype == _FLOAT:
        return np.ascontiguousarray(losses)
    try:
        given = np.asarray(losses)
    except ValueError:
        return None
    masked = isinstance(losses, np.ma.MaskedArray) and bool(np.ma.is_masked(losses))
    if masked or (given.dtype.kind not in "biuf" and losses is not None):
        return None
    return np.asarray(given, dtype=np.float64, order="C")


def _in_order(losses: Mapping[int, Any], revealed: Sequence[int], arm: int) -> list[Any]:
    for b in losses:
        if b not in revealed:
            raise InvalidLossesError(
                f"Playing arm {arm} does not reveal arm {b!r}. Got losses for it; expected the "
                f"arms {list(revealed)}."
            )
    for b in revealed:
        if b not in losses:
            raise InvalidLossesError(
                f"Playing arm {arm} reveals arm {b}. Got no losses for it; expected the arms "
                f"{list(revealed)}."
            )
    return [losses[b] for b in revealed]


def _described(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and type {value.dtype}"
    return f"a {type(value).__name__}"


def _same(ours: int | Sequence[float], theirs: object) -> bool:
    """Return whether a decision still says what it said; a list may stand for a tuple or range."""
    if theirs is ours:
        return True
    if isinstance(ours, Sequence):
        return isinstance(theirs, Sequence) and list(theirs) == list(ours)
    return isinstance(theirs, int | np.integer) and theirs == ours


def _compact(arms: list[int]) -> Sequence[int]:
    # Most neighbourhoods are one run; a range says so in constant memory, for any number of arms.
    if arms and isinstance(arms[0], int):
        run = range(arms[0], arms[0] + len(arms))
        if list(run) == arms:
            return run
    return tuple(arms)
