"""What one simulation recorded: all of its rounds, or a thinned regret curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from crossbandit.core.blocks import read_only
from crossbandit.core.extras import require
from crossbandit.core.losses import add_totals, best_arms, losses_of
from crossbandit.core.notebook import Line, card, chart, counted, new_axes
from crossbandit.core.types import Floats, Integers
from crossbandit.environments.environment import availability, batches, is_adaptive
from crossbandit.environments.simulation.players import BatchRecord, policy_regret
from crossbandit.errors import CrossbanditError

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd
    from matplotlib.axes import Axes

    from crossbandit.algorithms import Algorithm
    from crossbandit.environments import Environment

RecordKind = Literal["full", "thin"]
THIN_POINTS = 1000


@dataclass(frozen=True, eq=False)
class Run:
    """One algorithm on one environment with one seed.

    In each context, the comparator plays the arm with the least total loss over the horizon. Its
    loss, too, is that in the contexts that occurred.

    Attributes:
        algorithm: The algorithm.
        environment: The environment.
        seed: The seed from which contexts and the learner's random numbers were derived.
        rounds: The numbers of rounds after which the regret is known.
        regret: The regret after each of `rounds`.
        loss: The total loss.
        comparator_loss: The total loss of the comparator.
        log: Every round, if the run was recorded in full. The properties `contexts`,
            `arms`, `losses`, `comparator_arms` and `comparator_losses` read it.
        certificates: Numbers of rounds, and the certificate of the learner after each of them; None
            if it has none.

    >>> from crossbandit import CrossGraph, environments, simulate
    >>> environment = environments.paper_benchmark(1_000, alpha=4, contexts=10)
    >>> run = simulate(CrossGraph(), environment, seed=1)
    >>> len(run.regret), run.arms.shape
    (1000, (1000,))
    >>> bool(abs(run.final_regret - (run.loss - run.comparator_loss)) < 1e-9)
    True
    """

    algorithm: Algorithm
    environment: Environment
    seed: np.random.SeedSequence
    rounds: Integers
    regret: Floats
    loss: float
    comparator_loss: float
    log: BatchRecord | None = None
    certificates: tuple[Integers, Floats] | None = None

    @property
    def certificate(self) -> float | None:
        """What the learner measured as a bound of its expected regret; None if it measures none.

        See `certificate` of the learner of `CrossGraphCertified`.
        """
        return None if self.certificates is None else float(self.certificates[1][-1])

    @property
    def final_regret(self) -> float:
        """The regret after the last round."""
        return float(self.regret[-1])

    @property
    def granted(self) -> str:
        """What the algorithm was shown beyond the graph: "own loss", or "" for nothing.

        "own loss" is the loss of the arm played, also if that arm has no self-loop. The problem
        grants it to algorithms that ignore the graph (`Problem.grants_own_loss`).
        """
        return "own loss" if self.algorithm.uses_grant(self.environment.problem) else ""

    @property
    def contexts(self) -> npt.NDArray[Any]:
        """The context of each round."""
        return self._log().contexts

    @property
    def arms(self) -> Integers:
        """The arm played in each round."""
        return self._log().arms

    @property
    def losses(self) -> Floats:
        """The loss incurred in each round."""
        return self._log().losses

    @property
    def comparator_arms(self) -> Integers:
        """The comparator's arm in each round."""
        return self._log().comparator_arms

    @property
    def comparator_losses(self) -> Floats:
        """The comparator's loss in each round."""
        return self._log().comparator_losses

    @property
    def pseudo_regret(self) -> Floats:
        """The pseudo-regret after each round, if the distribution of the losses is known.

        This is the expected loss of the arms played, less that of the policy which is best in
        expectation over the horizon. Unlike `regret`, it does not include the noise of the losses.
        The environment must have a method `expected_block(start, stop)`, which returns the expected
        losses as `block` returns the losses; `stochastic` has it.
        """
        expected_block = getattr(self.environment, "expected_block", None)
        if expected_block is None:
            raise CrossbanditError(
                f"The expected losses of {type(self.environment).__name__} are not known, so there "
                "is no pseudo-regret. Give it a method expected_block(start, stop), or use regret."
            )
        log, form = self._log(), self.environment.problem.form
        pieces = [
            (slice(start, stop), read_only(expected_block(start, stop)))
            for start, stop in batches(self.environment)
        ]
        totals = np.zeros((self.environment.problem.arms, form.columns))
        for now, block in pieces:
            add_totals(block, now.stop - now.start, totals)
        totals.flags.writeable = False
        excess = np.empty(log.arms.size)
        for now, block in pieces:
            contexts = form.block(
                log.contexts[now], availability(self.environment, log.contexts[now])
            )
            best, ours, theirs = np.empty_like(log.arms[now]), *np.empty((2, len(log.arms[now])))
            best_arms(totals, contexts, best)
            losses_of(log.arms[now], block, contexts, ours)
            losses_of(best, block, contexts, theirs)
            excess[now] = ours - theirs
        return np.cumsum(excess)

    @property
    def policy_regret(self) -> Floats:
        """The policy regret after each round.

        This is the loss less what the best fixed policy would have lost if it had been played from
        the first round on. If the environment is adaptive, that policy would have met other losses
        than the learner did, and they are computed for it. All policies are tried, so there must be
        few contexts and arms. If losses do not depend on the arms played, this is the regret.
        """
        if not is_adaptive(self.environment):
            return self.regret
        log = self._log()
        return policy_regret(self.environment, log.contexts, log.losses)

    def to_frame(self) -> pd.DataFrame:
        """Return the run as a data frame of pandas.

        Returns:
            The columns "rounds" and "regret", a row for each of `rounds`. If the run was recorded
            in full, also "context" (or "context_0", "context_1", ... for feature vectors), "arm",
            "loss", "comparator_arm" and "comparator_loss".

        Raises:
            MissingPackageError: pandas is not installed.
        """
        require("pandas", extra="notebook", owner="Run.to_frame")
        import pandas as pd

        columns: dict[str, Any] = {"rounds": self.rounds, "regret": self.regret}
        if self.log is not None:
            contexts = self.log.contexts
            if contexts.ndim == 1:
                columns["context"] = contexts
            else:
                columns |= {f"context_{i}": contexts[:, i] for i in range(contexts.shape[1])}
            columns |= {
                "arm": self.log.arms,
                "loss": self.log.losses,
                "comparator_arm": self.log.comparator_arms,
                "comparator_loss": self.log.comparator_losses,
            }
        return pd.DataFrame(columns)

    def plot(self, ax: Axes | None = None, label: str | None = None) -> Axes:
        """Draw the regret after each round with Matplotlib.

        The certificate of the learner, if it has one, is dashed.

        Args:
            ax: The axes to draw on; by default those of a new figure. Give the same axes to
                several runs to compare them.
            label: The name of the line; by default that of the algorithm.

        Returns:
            The axes.

        Raises:
            MissingPackageError: Matplotlib is not installed.
        """
        if ax is None:
            ax = new_axes("Run.plot")
        name = self.algorithm.id if label is None else label
        (line,) = ax.plot(self.rounds, self.regret, label=name)
        if self.certificates is not None:
            (bound,) = ax.plot(*self.certificates, "--", label=f"{name}, certificate")
            bound.set_color(line.get_color())
        ax.set_xlabel("round")
        ax.set_ylabel("regret")
        ax.legend(frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
        return ax

    def _log(self) -> BatchRecord:
        if self.log is None:
            raise CrossbanditError(
                "This run has a thinned regret curve, and not every round. Simulate with "
                "record='full' to keep all rounds."
            )
        return self.log

    def __repr__(self) -> str:
        return (
            f"Run({self.algorithm.id} for {self.rounds[-1]} rounds, "
            f"final regret {self.final_regret:.2f}"
            f"{', granted the loss of the arm played' if self.granted else ''})"
        )

    def _repr_html_(self) -> str:
        rounds = int(self.rounds[-1])
        facts = [
            (self.algorithm.id, repr(self.algorithm)),
            (type(self.environment).__name__, repr(self.environment.problem)),
            (counted(rounds, "round"), repr(self.seed)),
            (f"regret {self.final_regret:,.1f}", "after the last round"),
            (f"loss {self.loss / rounds:.3f} a round", "the mean of all rounds"),
            (f"comparator {self.comparator_loss / rounds:.3f}", "the best fixed policy, a round"),
        ]
        lines = [Line("regret", self.rounds, self.regret)]
        if self.certificates is not None:
            facts.append((f"certificate {self.certificate:,.1f}", "bounds the expected regret"))
            lines.append(Line("certificate", *self.certificates, dashed=True))
        if self.granted:
            facts.append(("granted its own loss", "also of arms without a self-loop"))
        return card("Run", facts, chart(lines, x="round", y="regret"))


# What a recorder knows in the end: rounds, regret, loss, comparator_loss and log of a `Run`.
_Recorded = tuple[Integers, Floats, float, float, BatchRecord | None]


class FullRecorder:
    """Keeps every round."""

    def __init__(self) -> None:
        self._batches: list[BatchRecord] = []

    def take(self, batch: BatchRecord) -> None:
        """Record the next rounds."""
        self._batches.append(batch)

    def recorded(self) -> _Recorded:
        log = BatchRecord(*(np.concatenate(parts) for parts in zip(*self._batches, strict=True)))
        ours, theirs = log.losses, log.comparator_losses
        rounds = np.arange(1, log.arms.size + 1)
        return rounds, np.cumsum(ours - theirs), float(ours.sum()), float(theirs.sum()), log


class ThinRecorder:
    """Keeps the regret after `THIN_POINTS` evenly spread rounds, in constant memory."""

    def __init__(self, horizon: int) -> None:
        points = np.linspace(1, horizon, min(THIN_POINTS, horizon))
        self._rounds = np.unique(points.round().astype(np.int64))
        self._regret: list[Floats] = []
        self._played = 0
        self._last = self._loss = self._comparator_loss = 0.0

    def take(self, batch: BatchRecord) -> None:
        stop = self._played + batch.arms.size
        first, last = np.searchsorted(self._rounds, [self._played, stop], side="right")
        curve = _cumulative(self._last, batch.losses - batch.comparator_losses)
        self._regret.append(curve[self._rounds[first:last] - self._played])
        self._last = float(curve[-1])
        self._loss = float(_cumulative(self._loss, batch.losses)[-1])
        theirs = _cumulative(self._comparator_loss, batch.comparator_losses)
        self._comparator_loss = float(theirs[-1])
        self._played = stop

    def recorded(self) -> _Recorded:
        regret = np.concatenate(self._regret)
        return self._rounds, regret, self._loss, self._comparator_loss, None


def _cumulative(sum_: float, numbers: Floats) -> Floats:
    """Return cumulative sums that start at `sum_`; they do not depend on the length of batches."""
    sums: Floats = np.cumsum(np.append(sum_, numbers))
    return sums
