"""Estimate what another policy would have got, from logged decisions and their probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from crossbandit.algorithms import Decision
from crossbandit.core.report.statistics import student_quantile
from crossbandit.core.types import Booleans, Floats, Integers
from crossbandit.core.validation import array, reject
from crossbandit.graphs.graph import as_graph

if TYPE_CHECKING:
    from crossbandit.graphs import FeedbackGraph

_BLOCKS = 20  # blocks of time
_PARTS = 32  # the sums of blocks begin at this many points of each block


def long_run_variance(terms: Floats) -> float:
    """Return the variance of the sum of consecutive terms, by overlapping blocks of time.

    It is the variance that a block bootstrap has, without drawing. Terms that are near each other
    may depend on each other.
    """
    count = terms.size
    length = max(count // _BLOCKS, 1)
    blocks = count / length
    running = np.concatenate([[0.0], np.cumsum(terms)])
    sums = running[length:] - running[:-length]
    spread = float(((sums - terms.mean() * length) ** 2).mean())
    return spread * blocks * blocks / max(blocks - 1.0, 1.0)


def over_time(terms: Floats, positions: Integers, count: int) -> Floats:
    """Return sums of terms over short parts of the time of a log."""
    parts = min(_BLOCKS * _PARTS, count)
    return np.bincount(positions * parts // count, terms, parts).astype(np.float64)


def quantile_over_time(count: int) -> float:
    """Return how many standard errors by `long_run_variance` a 95 % interval has on either side."""
    return student_quantile(max(int(1.5 * (min(_BLOCKS, count) - 1)), 1))


_OWNER = "evaluate_policy"
_ROUNDING = 1e-6  # how far a sum of probabilities may be from 1


class MeanEstimate(NamedTuple):
    """A mean per round and its 95 % interval.

    Attributes:
        value: The estimate.
        low: Where the interval begins.
        high: Where it ends.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class PolicyValue:
    """What a policy would have got per round.

    Attributes:
        inverse: The estimate by inverse probabilities. It is unbiased.
        self_normalised: The same divided by the mean weight. It varies less, and is biased little.
        doubly_robust: The estimate that weights only the errors of a baseline. It is unbiased, and
            varies less where the baseline is good.
        weight: The mean weight of a round. It should be 1; a clear difference shows that the
            probabilities are wrong.
        weight_error: The half-width of the 95 % interval of the mean weight.
        size: How many rounds without weights would be as informative.
        largest: The largest weight of a round.
        uncovered: The probability that the policy gives to arms that the log could not have
            revealed. Nothing is known about them, and they count as 0.
        rounds: The number of rounds.
    """

    inverse: MeanEstimate
    self_normalised: MeanEstimate
    doubly_robust: MeanEstimate
    weight: float
    weight_error: float
    size: float
    largest: float
    uncovered: float
    rounds: int

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences that say what makes the estimates doubtful."""
        found = []
        if self.uncovered > 0:
            found.append(
                f"{100 * self.uncovered:.1f} % of the policy is on arms that the log could not "
                "have revealed. They count as 0."
            )
        if abs(self.weight - (1 - self.uncovered)) > 1.5 * self.weight_error + _ROUNDING:
            found.append(
                f"The mean weight is {self.weight:.3f} and not {1 - self.uncovered:.3f}. The "
                "logged probabilities are probably wrong."
            )
        if self.size < min(100.0, 0.5 * self.rounds):
            found.append(
                f"The {self.rounds:,} rounds tell as much as {self.size:.0f} rounds of the policy "
                "itself: the intervals are rough."
            )
        return tuple(found)


def evaluate_policy(
    policy: npt.ArrayLike,
    *,
    arms: npt.ArrayLike,
    probabilities: npt.ArrayLike,
    outcomes: npt.ArrayLike,
    graph: FeedbackGraph | npt.ArrayLike | None = None,
    baseline: npt.ArrayLike | None = None,
) -> PolicyValue:
    """Estimate what a policy would have got, from the decisions of another one.

    The weight of a revealed arm b is `policy(b) / Q(b)`, where `Q(b)` is the probability that the
    log's own policy played an arm that reveals b. If a round reveals several arms, the variance is
    lower than with the played arm alone. The estimate is unbiased if the probabilities are right
    and `Q(b) > 0` wherever the policy plays b.

    Args:
        policy: (n, K). The probability of each arm under the policy to be evaluated, in the
            context of each round.
        arms: (n,). The arm that was played.
        probabilities: (n, K). The probability of each arm when it was played. Without a graph also
            (n,): that of the arm played.
        outcomes: (n, K). What each arm earned or lost; what was not revealed is not read and may
            be NaN. Without a graph also (n,): that of the arm played.
        graph: Which arms an arm reveals; None if each reveals itself alone.
        baseline: (n, K). A guess of the outcomes that depends on no draw of this round or a later
            one. By default the mean of each arm in earlier rounds.

    Returns:
        The estimates with intervals, and what the weights say about them.

    Raises:
        InvalidParameterError: An argument has the wrong form, or a probability is impossible.

    >>> result = evaluate_policy(
    ...     np.tile([0.0, 1.0], (4, 1)),
    ...     arms=[0, 1, 0, 1],
    ...     probabilities=[0.5] * 4,
    ...     outcomes=[1.0, 3.0, 1.0, 5.0],
    ... )
    >>> result.inverse.value
    4.0
    """
    target = array(_OWNER, "policy", "an array (n, K) of probabilities", policy)
    if target.ndim != 2 or not target.size:
        reject(_OWNER, "policy", "an array (n, K) of probabilities", policy)
    _check_simplex("policy", target)
    count, size = target.shape
    played = _played(arms, count, size)
    adjacency = np.eye(size, dtype=bool)
    if graph is not None:
        adjacency = as_graph(_OWNER, graph, size).adjacency
    shown = adjacency[played]
    chances = _chances(probabilities, played, adjacency, shown, plain=graph is None)
    values = _outcomes(outcomes, played, shown, plain=graph is None)
    covered = chances > 0
    weights = np.divide(target, chances, out=np.zeros(target.shape), where=shown & covered)
    guess = _baseline(baseline, values, shown)
    terms = (weights * values).sum(axis=1)
    robust = (target * guess * covered).sum(axis=1) + (weights * (values - guess)).sum(axis=1)
    sums = weights.sum(axis=1)
    mean = float(sums.mean())
    ratio = float(terms.mean()) / mean if mean > 0 else math.nan
    normalised = (terms - ratio * sums) / mean if mean > 0 else np.full(count, math.nan)
    inverse = _mean(terms)
    half = _half(normalised)
    return PolicyValue(
        inverse=inverse,
        self_normalised=MeanEstimate(ratio, ratio - half, ratio + half),
        doubly_robust=_mean(robust),
        weight=mean,
        weight_error=_half(sums),
        size=float(sums.sum() ** 2 / (sums**2).sum()) if mean > 0 else 0.0,
        largest=float(sums.max()),
        uncovered=float((target * ~covered).sum() / count),
        rounds=count,
    )


def decision_arrays(
    decisions: Sequence[Decision], outcomes: Sequence[npt.ArrayLike], arms: int
) -> DecisionArrays:
    """Return the arrays that `evaluate_policy` takes, from decisions and their feedback.

    Args:
        decisions: What `Learner.act` returned, or `Action.decision` of an application.
        outcomes: What was given to `Learner.learn` for each: the outcomes of the revealed arms.
        arms: The number of arms.

    Raises:
        InvalidParameterError: A decision has no probability, or outcomes of other arms.

    >>> decision = Decision(0, 0, 1, 0.5, range(1, 3), "a")
    >>> found = decision_arrays([decision], [[0.25, 0.75]], arms=3)
    >>> found.outcomes.tolist()
    [[nan, 0.25, 0.75]]
    """
    table = np.full((len(decisions), arms), np.nan)
    if len(outcomes) != len(decisions):
        reject(
            "decision_arrays", "outcomes", f"{len(decisions)} rows, one per decision", len(outcomes)
        )
    for i, (decision, row) in enumerate(zip(decisions, outcomes, strict=True)):
        one: object = decision
        if not (isinstance(one, Decision) and 0 < one.probability <= 1):
            expected = "decisions with a probability above 0 and of at most 1"
            reject("decision_arrays", "decisions", expected, decision)
        shown = list(decision.revealed)
        values = np.asarray(row, dtype=float)
        if values.shape != (len(shown),) or max(shown, default=0) >= arms:
            reject("decision_arrays", "outcomes", f"{len(shown)} numbers for decision {i}", row)
        table[i, shown] = values
    return DecisionArrays(
        np.array([one.arm for one in decisions], dtype=np.int64),
        np.array([one.probability for one in decisions]),
        table,
    )


class DecisionArrays(NamedTuple):
    """Decisions as arrays.

    Attributes:
        arms: The arm of each round.
        probabilities: Its probability.
        outcomes: (n, K). The outcomes of the revealed arms; NaN elsewhere.
    """

    arms: Integers
    probabilities: Floats
    outcomes: Floats


def _mean(terms: Floats) -> MeanEstimate:
    value, half = float(terms.mean()), _half(terms)
    return MeanEstimate(value, value - half, value + half)


def _half(terms: Floats) -> float:
    if terms.size < 2:
        return math.inf  # one round says nothing about how much rounds differ
    variance = long_run_variance(terms)
    return quantile_over_time(terms.size) * math.sqrt(variance) / terms.size


def _check_simplex(name: str, chances: Floats) -> None:
    wrong = ~(np.isfinite(chances) & (chances >= 0)).all(axis=1)
    wrong |= np.abs(chances.sum(axis=1) - 1) > _ROUNDING
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        expected = "probabilities that add up to 1 in each round"
        reject(_OWNER, name, expected, f"{chances[i].tolist()} in round {i}")


def _played(arms: npt.ArrayLike, count: int, size: int) -> Integers:
    given = np.asarray(arms)
    expected = f"{count} integers from 0 to {size - 1}"
    if given.shape != (count,) or given.dtype.kind not in "iu":
        reject(_OWNER, "arms", expected, arms)
    if given.min() < 0 or given.max() >= size:
        reject(_OWNER, "arms", expected, arms)
    return given.astype(np.int64)


def _chances(
    given: npt.ArrayLike, played: Integers, adjacency: Booleans, shown: Booleans, *, plain: bool
) -> Floats:
    """Return for each arm the probability that it was revealed, (n, K)."""
    count, size = shown.shape
    expected = f"an array ({count}, {size})" + (f" or ({count},)" if plain else "")
    chances = array(_OWNER, "probabilities", expected, given)
    if chances.shape == (count, size):
        _check_simplex("probabilities", chances)
        own = chances[np.arange(count), played]
        revealed: Floats = chances @ adjacency
    elif plain and chances.shape == (count,):
        own = chances
        # The probabilities of other arms are neither known nor needed: they were not revealed.
        revealed = np.where(shown, chances[:, None], 1.0)
    else:
        reject(_OWNER, "probabilities", expected, given)
    if not ((own > 0) & (own <= 1)).all():
        i = int(np.flatnonzero(~((own > 0) & (own <= 1)))[0])
        got = f"{own[i]:.15g} for the arm played in round {i}"
        reject(_OWNER, "probabilities", "above 0 and at most 1 for the arms played", got)
    return revealed


def _outcomes(given: npt.ArrayLike, played: Integers, shown: Booleans, *, plain: bool) -> Floats:
    count, size = shown.shape
    expected = f"an array ({count}, {size})" + (f" or ({count},)" if plain else "")
    values = array(_OWNER, "outcomes", expected, given)
    if plain and values.shape == (count,):
        table = np.zeros((count, size))
        table[np.arange(count), played] = values
        values = table
    if values.shape != (count, size):
        reject(_OWNER, "outcomes", expected, given)
    if not np.isfinite(values[shown]).all():
        i = int(np.flatnonzero((shown & ~np.isfinite(values)).any(axis=1))[0])
        reject(_OWNER, "outcomes", "finite for all revealed arms", f"another number in round {i}")
    return np.where(shown, values, 0.0)


def _baseline(given: npt.ArrayLike | None, values: Floats, shown: Booleans) -> Floats:
    """Return the given guess, or the mean of each arm in earlier rounds."""
    if given is not None:
        guess = array(_OWNER, "baseline", f"an array {values.shape} of finite numbers", given)
        if guess.shape != values.shape or not np.isfinite(guess).all():
            reject(_OWNER, "baseline", f"an array {values.shape} of finite numbers", given)
        return guess
    seen: Integers = np.cumsum(shown, axis=0) - shown
    sums = np.cumsum(values, axis=0) - values
    return np.divide(sums, seen, out=np.zeros(values.shape), where=seen > 0)
