"""The regret of exponential weights on declared estimates, split into its terms.

With exponential weights p, the policy q, losses l, what a round adds lhat, its declared expectation
E[lhat], and the best arm e of a context, each round has

    <q - e, l>  =  <q - p, l>                  exploration
                 + <p - e, l - E[lhat]>        bias
                 + <p - e, E[lhat] - lhat>     noise, zero in expectation
                 + <p - e, lhat>,              the regret on the estimates.

With Z = sum_a p(a) exp(-eta lhat(a)), the last is the sum of

    <p, lhat> + log(Z) / eta,                  stability: at most eta / 2 <p, lhat^2>
    -log(Z) / eta - <e, lhat>,                 penalty: adds up to at most log(K) / eta.

With cross-learning, each term is averaged over all contexts with their probabilities. Without, only
the context of a round counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.errors import CheckFailedError
from crossbandit.streams import stream
from crossbandit.theory.runs.intervals import mean_interval
from crossbandit.validation import reject

if TYPE_CHECKING:
    import pandas as pd

    from crossbandit.algorithms import Algorithm, Estimator, Learner
    from crossbandit.environments import Environment
    from crossbandit.streams import Seed
    from crossbandit.theory.runs.environment_view import EnvironmentView
    from crossbandit.types import Floats

_TERMS = {
    "exploration": "playing q in place of the exponential weights p",
    "bias": "estimates that are too small or too large in expectation",
    "noise": "the difference of estimates to their expectation; zero in expectation",
    "stability": "what one round can change; at most eta / 2 times the second moment of estimates",
    "penalty": "the start from equal weights; at most log(K) / eta",
}
_TOLERANCE = 1e-8


@dataclass(frozen=True, eq=False, kw_only=True)
class DeclaredDecomposition:
    """The terms of an algorithm that declares its estimator, for every seed.

    Attributes:
        algorithm: The algorithm that was run.
        environment: The environment that it was run on.
        terms: The sum of each term over all rounds, by name: an array with a number for each seed.
        pseudo_regret: The regret of the policies, averaged as the terms are: (seeds,).
    """

    algorithm: Algorithm
    environment: Environment
    terms: dict[str, Floats]
    pseudo_regret: Floats

    @property
    def residual(self) -> float:
        """The largest gap between regret and the sum of its terms, relative to all of them."""
        every = np.array(list(self.terms.values()))
        gap = np.abs(every.sum(axis=0) - self.pseudo_regret)
        return float((gap / np.maximum(np.abs(every).sum(axis=0), 1.0)).max())

    def table(self) -> pd.DataFrame:
        """Return the terms and their total.

        Returns:
            One row for each term, and the row "total". Columns: `mean` over the seeds, `half_width`
            of its 95 % interval, and `meaning`.
        """
        import pandas as pd

        rows = [(name, *mean_interval(self.terms[name]), _TERMS[name]) for name in _TERMS]
        rows.append(("total", *mean_interval(self.pseudo_regret), "regret: the sum of the rows"))
        return pd.DataFrame(rows, columns=["part", "mean", "half_width", "meaning"]).set_index(
            "part"
        )


def decompose_declared(
    algorithm: Algorithm, view: EnvironmentView, seeds: list[Seed]
) -> DeclaredDecomposition:
    """Play an algorithm once for each seed, and split its regret into the terms above.

    Args:
        algorithm: An algorithm that plays exponential weights and declares its estimator.
        view: The environment.
        seeds: The seeds of the runs.

    Returns:
        The terms for every seed.

    Raises:
        CheckFailedError: Its policies are not exponential weights with a fixed rate.
        InvalidParameterError: It declares no estimator.
    """
    problem = view.environment.problem
    if algorithm.needs_context_distribution:
        problem = problem.with_distribution(view.nu)
    declared = algorithm.estimator(problem)
    learners = [algorithm.start(problem, seed=seed) for seed in seeds]
    if declared is None or "eta" not in learners[0].tuned():
        expected = "a CrossGraph, or an algorithm with a rate eta that declares its estimator"
        reject("decompose", "algorithm", expected, algorithm)
    runs = [
        _run(learner, declared, view, seed) for learner, seed in zip(learners, seeds, strict=True)
    ]
    sums = np.array(runs).T
    return DeclaredDecomposition(
        algorithm=algorithm,
        environment=view.environment,
        terms=dict(zip(_TERMS, sums[:-1], strict=True)),
        pseudo_regret=sums[-1],
    )


def _run(learner: Learner, declared: Estimator, view: EnvironmentView, seed: Seed) -> Floats:
    """Return the sums of the terms and of the regret over all rounds."""
    contexts = view.environment.context_distribution.draw(stream(seed, "contexts"), view.horizon)
    parameters: Any = learner.tuned()
    eta, rho = float(parameters["eta"]), float(parameters.get("rho", 0.0))
    total = np.zeros(len(_TERMS) + 1)
    before = declared.estimates(learner)
    for t in range(view.horizon):
        context, losses = int(contexts[t]), view.losses(t)
        policies = np.array([learner.policy(c) for c in range(len(view.nu))])
        weights = np.exp(-eta * (before - before.min(axis=1, keepdims=True)))
        weights /= weights.sum(axis=1, keepdims=True)
        _check_mixture(learner, policies, weights, rho)
        decision = learner.act(context)
        learner.learn(decision, losses.rows[list(decision.revealed)])
        after = declared.estimates(learner)
        counts = view.nu if declared.cross_learning else np.eye(len(view.nu))[context]
        mean = sum(
            share * declared.mean(policies, int(c), losses.table)
            for c, share in enumerate(counts)
            if share > 0
        )
        best = np.eye(losses.table.shape[1])[view.comparator]
        terms = _terms(policies, weights, best, losses.table, np.asarray(mean), after - before, eta)
        total += terms @ counts
        before = after
    return total


def _check_mixture(learner: Learner, policies: Floats, weights: Floats, rho: float) -> None:
    """Raise unless policies are (1 - rho) p + rho u, with the same u in all contexts."""
    rest = policies - (1.0 - rho) * weights
    if np.abs(rest - rest[0]).max() > _TOLERANCE or abs(rest[0].sum() - rho) > _TOLERANCE:
        raise CheckFailedError(
            f"The policies of {type(learner.algorithm).__name__} in round {learner.round} are not "
            "exponential weights with the fixed rates of tuned. Their regret has no such terms."
        )


def _terms(
    q: Floats, p: Floats, best: Floats, losses: Floats, mean: Floats, added: Floats, eta: float
) -> Floats:
    """Return each term, and the regret, in each context (terms + 1, contexts)."""
    gap = p - best
    normaliser = np.log((p * np.exp(-eta * added)).sum(axis=1)) / eta
    return np.array(
        [
            ((q - p) * losses).sum(axis=1),
            (gap * (losses - mean)).sum(axis=1),
            (gap * (mean - added)).sum(axis=1),
            (p * added).sum(axis=1) + normaliser,
            -normaliser - (best * added).sum(axis=1),
            ((q - best) * losses).sum(axis=1),
        ]
    )
