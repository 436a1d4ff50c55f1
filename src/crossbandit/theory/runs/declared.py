"""The regret of FTRL on declared estimates, split into its terms.

With the distribution p of FTRL, the policy q, losses l, what a round adds lhat, its declared
expectation E[lhat], and the best arm e of a context, each round has

    <q - e, l>  =  <q - p, l>                  exploration
                 + <p - e, l - E[lhat]>        bias
                 + <p - e, E[lhat] - lhat>     noise, zero in expectation
                 + <p - e, lhat>,              the regret on the estimates.

With the rate eta of the round and Z = sum_a p(a) exp(-eta lhat(a)), the last is the sum of

    <p, lhat> + log(Z) / eta,                  stability: at most eta / 2 <p, lhat^2> if lhat >= 0
    -log(Z) / eta - <e, lhat>,                 penalty: adds up to at most log(K) / (last eta), if
                                               no rate is above the one before it.

The penalty telescopes: with F(L, eta) = -log(mean_a exp(-eta L(a))) / eta, -log(Z) / eta is
F(L + lhat, eta) - F(L, eta); F falls in eta, F(0, eta) = 0 and F(L, eta) <= L(e) + log(K) / eta.

For an algorithm that learns from pairs of rounds, a pair takes the place of a round, and l is the
sum of its losses.

With cross-learning, each term is averaged over all contexts with their probabilities. Without it,
only the context of a round counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.checks.enumeration import declared_on
from crossbandit.checks.estimator import Route
from crossbandit.errors import CheckFailedError
from crossbandit.streams import stream
from crossbandit.theory.runs.intervals import mean_interval
from crossbandit.validation import reject

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from crossbandit.algorithms import Algorithm, Estimator, Learner
    from crossbandit.environments import Environment
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.streams import Seed
    from crossbandit.theory.runs.environments import EnvironmentView
    from crossbandit.types import Floats

TERMS = {
    "exploration": "playing q in place of the distribution p of FTRL",
    "bias": "estimates that are too small or too large in expectation",
    "noise": "the difference between estimates and their expectation; zero in expectation",
    "stability": "the effect of one round; at most eta / 2 times the second moment of estimates",
    "penalty": "the start from equal weights; at most log(K) / (last eta) if rates fall",
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

        rows = [(name, *mean_interval(self.terms[name]), TERMS[name]) for name in TERMS]
        rows.append(("total", *mean_interval(self.pseudo_regret), "regret: the sum of the rows"))
        columns = ["part", "mean", "half_width", "meaning"]
        return pd.DataFrame(rows, columns=columns).set_index("part")


def decompose_declared(
    algorithm: Algorithm, view: EnvironmentView, seeds: list[Seed]
) -> DeclaredDecomposition:
    """Play an algorithm once for each seed, and split its regret into the terms above.

    Args:
        algorithm: An algorithm of the FTRL kind that declares its estimator.
        view: The environment.
        seeds: The seeds of the runs.

    Returns:
        The terms for every seed.

    Raises:
        CheckFailedError: Its policies are not those of FTRL that it declares.
        InvalidParameterError: It declares no estimator, or none for graphs of this kind.
    """
    problem = view.environment.problem
    if algorithm.needs_context_distribution:
        problem = problem.with_distribution(view.nu)
    learners = [algorithm.start(problem, seed=seed) for seed in seeds]
    declared = declared_on(algorithm, learners[0], problem.graph)
    if declared is None or problem.graph_kind == "unknown" or problem.graph_by_context:
        expected = "a CrossGraph, or an algorithm that declares its estimator for such graphs"
        reject("decompose", "algorithm", expected, algorithm)
    runs = [
        _run(algorithm, learner, view, seed) for learner, seed in zip(learners, seeds, strict=True)
    ]
    sums = np.array(runs).T
    return DeclaredDecomposition(
        algorithm=algorithm,
        environment=view.environment,
        terms=dict(zip(TERMS, sums[:-1], strict=True)),
        pseudo_regret=sums[-1],
    )


def _run(algorithm: Algorithm, learner: Learner, view: EnvironmentView, seed: Seed) -> Floats:
    """Return the sums of the terms and of the regret over all rounds."""
    contexts = view.environment.context_distribution.draw(stream(seed, "contexts"), view.horizon)
    total = np.zeros(len(TERMS) + 1)
    first = 0
    while first < view.horizon:
        graphs = _graphs(learner, view, first)
        declared = [_declared(algorithm, learner, graph) for graph in graphs]
        before = FtrlState.of(learner, declared[0])
        before.require_policies(learner)
        rounds = range(first, min(first + declared[0].rounds, view.horizon))
        losses = [view.losses(t) for t in rounds]
        for t, graph, own in zip(rounds, graphs, losses, strict=False):
            route = Route("", graph, kind=learner.problem.graph_kind)
            route.learn(learner, route.act(learner, int(contexts[t])), own.rows)
        crosses = declared[0].cross_learning
        counts = view.nu if crosses else np.eye(len(view.nu))[int(contexts[first])]
        tables = np.array([own.table for own in losses])
        mean = np.zeros_like(tables[0])
        if len(rounds) == declared[0].rounds:  # nothing is learned from a last round without a pair
            mean = expected_input(declared, before.policies, counts, tables)
        best = np.eye(tables.shape[2])[view.comparator]
        total += before.terms(best, tables, mean, declared[0].estimates(learner)) @ counts
        first = rounds[-1] + 1
    return total


def _graphs(learner: Learner, view: EnvironmentView, first: int) -> list[FeedbackGraph]:
    """Return the graphs of a round and of the one after it."""
    if learner.problem.graph_kind == "fixed":
        return [learner.graph] * 2
    environment: Any = view.environment
    return [environment.graph(t) for t in (first, min(first + 1, view.horizon - 1))]


def _declared(algorithm: Algorithm, learner: Learner, graph: FeedbackGraph) -> Estimator:
    declared = declared_on(algorithm, learner, graph)
    if declared is None:
        raise CheckFailedError(f"{type(algorithm).__name__} declares no estimator for {graph}.")
    return declared.of_round(learner)


def expected_input(
    declared: Sequence[Estimator], policies: Floats, counts: Floats, losses: Floats
) -> Floats:
    """Return the declared expectation of what is added, also over contexts.

    Args:
        declared: The declared estimator of each round of a pair, or of one round.
        policies: The policy of each context (contexts, arms).
        counts: The probability of each context (contexts,).
        losses: The losses of each round (rounds, contexts, arms).

    Returns:
        What is added in each context to each arm, in expectation (contexts, arms).
    """
    mean = [
        share * one.mean(policies, int(c), table)
        for one, table in zip(declared, losses, strict=False)
        for c, share in enumerate(counts)
        if share > 0
    ]
    return np.asarray(np.sum(mean, axis=0) / len(losses))


@dataclass(frozen=True, eq=False)
class FtrlState:
    """The state before a round, or a pair: FTRL, the policies, and the sums of estimates.

    Attributes:
        declared: The declared estimator of the round.
        estimates: The sums of estimates (contexts, arms).
        rates: The learning rate of each context (contexts,).
        weights: The distributions p of FTRL (contexts, arms).
        policies: The policies q (contexts, arms).
    """

    declared: Estimator
    estimates: Floats
    rates: Floats
    weights: Floats
    policies: Floats

    @classmethod
    def of(cls, learner: Learner, declared: Estimator) -> FtrlState:
        """Return the state before the next round of a learner.

        Args:
            learner: The learner.
            declared: The declared estimator of the round.
        """
        estimates = declared.estimates(learner)
        contexts = range(len(estimates))
        return cls(
            declared,
            estimates,
            np.broadcast_to(declared.rate(learner), len(estimates)),
            declared.ftrl(learner),
            np.array([learner.policy(c) for c in contexts]),
        )

    def expected_policies(self, learner: Learner) -> Floats:
        """Return the policies that follow from FTRL and the declaration (contexts, arms).

        If the declaration has no policy, the policies must mix FTRL with one distribution. Its
        weight and the distribution are those that fit the first context best.

        Args:
            learner: The learner.
        """
        if self.declared.policy is not None:
            return self.declared.policy(learner, self.weights)
        differences = self.weights - self.weights[0]
        scale = float((differences**2).sum())
        if scale > _TOLERANCE**2:
            kept = float(((self.policies - self.policies[0]) * differences).sum()) / scale
        else:  # FTRL is the same in all contexts: take the largest possible weight
            kept = float((self.policies[0] / self.weights[0]).min())
        mixed = np.clip(self.policies[0] - kept * self.weights[0], 0.0, None)
        expected: Floats = kept * self.weights + mixed
        return expected

    def require_policies(self, learner: Learner) -> None:
        """Raise CheckFailedError unless the policies are those that are declared.

        Args:
            learner: The learner.
        """
        gap = np.abs(self.policies - self.expected_policies(learner)).max()
        if not gap <= _TOLERANCE:
            raise CheckFailedError(
                f"The policies of {type(learner.algorithm).__name__} in round {learner.round} are "
                "not FTRL with the rate, the estimates and the exploration that it declares. So "
                "their regret cannot be split into these terms."
            )

    def terms(self, best: Floats, losses: Floats, mean: Floats, after: Floats) -> Floats:
        """Return each term, and the regret, in each context (terms + 1, contexts).

        Args:
            best: 1 for the best arm of each context, else 0 (contexts, arms).
            losses: The losses of each round (rounds, contexts, arms).
            mean: The declared expectation of what is added (contexts, arms).
            after: The sums of estimates after the rounds (contexts, arms).
        """
        p, q = self.weights, self.policies
        summed, added = losses.sum(axis=0), after - self.estimates
        gap, normaliser = p - best, self._normaliser(added)
        return np.array(
            [
                ((q - p) * summed).sum(axis=1),
                (gap * (summed - mean)).sum(axis=1),
                (gap * (mean - added)).sum(axis=1),
                (p * added).sum(axis=1) + normaliser,
                -normaliser - (best * added).sum(axis=1),
                ((q - best) * summed).sum(axis=1),
            ]
        )

    def _normaliser(self, added: Floats) -> Floats:
        """Return log(Z) / eta; its limit where eta is 0."""
        least = added.min(axis=1, keepdims=True)
        rates = self.rates[:, None]
        z = (self.weights * np.exp(-rates * (added - least))).sum(axis=1)
        limit = -(self.weights * added).sum(axis=1)
        safe = np.where(self.rates > 0, self.rates, 1.0)
        normaliser: Floats = np.where(self.rates > 0, np.log(z) / safe - least[:, 0], limit)
        return normaliser
