"""The six-term decomposition of regret, measured on runs of the real learner.

    Reg = Bias 1 + Bias 2 + Bias 3 + Bias 4 + FTRL - Bias 5

over the loss-estimation rounds after the warm-up, with doubled losses, averaged over all contexts
with their true probabilities. Each term is a sum over arms; the special arm of the epoch is kept
apart from the regular ones, as in the paper's lemmas.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, overload

import numpy as np

from crossbandit.algorithms import Algorithm, CrossGraph
from crossbandit.streams import fixed
from crossbandit.theory.runs.declared import DeclaredDecomposition, decompose_declared
from crossbandit.theory.runs.environments import view_environment
from crossbandit.theory.runs.following import follow_all
from crossbandit.theory.runs.intervals import mean_interval
from crossbandit.theory.runs.parts import Orders, Parts, RunParts, fields_of, orders
from crossbandit.validation import reject

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd

    from crossbandit.environments import Environment
    from crossbandit.kernels.epochs import EpochParameters
    from crossbandit.streams import Seed
    from crossbandit.types import Floats, Integers

TERMS = ("bias_1", "bias_2", "bias_3", "bias_4", "bias_5", "ftrl")
SIGNS = {"bias_5": -1.0}

_SUMMANDS = {
    "warm_up": "epoch 1: uniform play, nothing is learned",
    "bias_1": "uniform exploration, and the fallback to the snapshot",
    "bias_2": "implicit exploration: estimates divide by w + gamma, not by w",
    "bias_3": "estimated denominators W_e in place of w + gamma, on the ideal trajectory",
    "bias_4": "how far estimated denominators move the learner off the ideal trajectory",
    "ftrl": "the regret of FTRL on its own inputs",
    "-bias_5": "what the pessimistic correction of the special arm takes away",
}
_TOTAL = "regret: the sum of the rows above"
_DETAILS = {
    "bias_2_regular": "bias_2 on all arms but the special one",
    "bias_2_special": "bias_2 on the special arm",
    "bias_3_regular": "bias_3 on all arms but the special one",
    "bias_3_special": "bias_3 on the special arm",
    "bias_4_regular": "bias_4 on all arms but the special one",
    "bias_4_special": "bias_4 on the special arm",
    "special": "bias_2 + bias_3 + bias_4 on the special arm, less bias_5",
    "selected_regret": "the total of table(): warm-up, and twice the loss-estimation rounds",
    "pseudo_regret": "the regret of all rounds, averaged over contexts and arms; the same mean",
    "realised_regret": "the regret that the run had, as `simulate` reports it; the same mean",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Decomposition:
    """The terms of one algorithm on one environment, for every seed.

    Attributes:
        algorithm: The algorithm that was run.
        environment: The environment that it was run on.
        parameters: The parameters that the algorithm chose for it.
        orders: What the paper bounds each term by, with 1 in place of every constant.
        rounds: The number of rounds at the end of each epoch after the warm-up.
        curves: Shape (seeds, epochs, parts), in the order of `Parts`: each part, summed from epoch
            2 to the end of each epoch.
        warm_up: Shape (seeds,): the regret of epoch 1, averaged over contexts and arms.
        pseudo_regret: Shape (seeds,): the same for all rounds.
        realised_regret: Shape (seeds,): the regret of the arms that were played.
    """

    algorithm: CrossGraph
    environment: Environment
    parameters: EpochParameters
    orders: Orders
    rounds: Integers
    curves: Floats
    warm_up: Floats
    pseudo_regret: Floats
    realised_regret: Floats

    def values(self, name: str) -> Floats:
        """Return a part of the regret at the horizon, for each seed.

        Args:
            name: A field of `Parts`; one of the six terms, such as "bias_2", on all arms;
                "-bias_5"; "special", which is Bias 2 to 4 on the special arm less Bias 5;
                "warm_up", "selected_regret", "pseudo_regret" or "realised_regret"; or "total",
                which is "pseudo_regret".

        Returns:
            One number for each seed.

        Raises:
            InvalidParameterError: If there is no such part.
        """
        if name in {"warm_up", "selected_regret", "pseudo_regret", "realised_regret"}:
            values: Floats = getattr(self, name)
            return values
        return self.pseudo_regret if name == "total" else self.curve(name)[:, -1]

    def curve(self, name: str) -> Floats:
        """Return a part of the regret after each epoch.

        Args:
            name: As for `values`, but nothing that includes the warm-up.

        Returns:
            An array (seeds, epochs).

        Raises:
            InvalidParameterError: If there is no such part.
        """
        if name == "-bias_5":
            return -self.curve("bias_5")
        if name == "special":
            parts = [f"bias_{i}_special" for i in (2, 3, 4)]
            rest: Floats = np.sum([self.curve(part) for part in parts], axis=0)
            return rest - self.curve("bias_5")
        indices = [Parts._fields.index(part) for part in fields_of(name)]
        result: Floats = self.curves[:, :, indices].sum(axis=2)
        return result

    def order(self, name: str) -> float:
        """Return what the paper bounds the mean of `values(name)` by, with every constant 1.

        Args:
            name: As for `values`.

        Returns:
            The order, or NaN if the paper has no bound for this part alone.
        """
        eta, gamma, _, _, length = self.parameters
        horizon = float(self.rounds[-1])
        if name == "warm_up":
            return float(length)
        if name.endswith("regret"):
            return self.orders.total
        if name == "bias_3_special":
            return gamma * (float(self.values("ideal_excess").mean()) + horizon)
        if name == "ideal_excess":
            return float(self.values("excess").mean()) + eta * length * horizon
        return float(getattr(self.orders, name, math.nan))

    @cached_property
    def residual(self) -> float:
        """The largest gap between regret and the sum of its terms, relative to all of them."""
        terms = np.array([SIGNS.get(name, 1.0) * self.values(name) for name in TERMS])
        gap = np.abs(terms.sum(axis=0) - self.values("regret"))
        return float((gap / np.maximum(np.abs(terms).sum(axis=0), 1.0)).max())

    @property
    def selected_regret(self) -> Floats:
        """Warm-up and doubled loss-estimation rounds: regret after the pair reduction."""
        return self.warm_up + self.values("regret")

    def table(self) -> pd.DataFrame:
        """Return the summands of the regret and their total.

        Returns:
            One row for each summand, and the row "total". Columns: `mean` over the seeds;
            `half_width` of its 95 % interval; `order`, as `order` returns it; `meaning`, in words.
            The means of the summands add up to that of the total.
        """
        rows = self._rows(_SUMMANDS)
        rows.append(("total", *mean_interval(self.selected_regret), self.orders.total, _TOTAL))
        return _frame(rows)

    def details(self) -> pd.DataFrame:
        """Return the parts of Bias 2 to 5 by kind of arm, and three ways to measure the regret.

        Returns:
            A table with the columns of `table`. Its rows do not add up.
        """
        return _frame(self._rows(_DETAILS))

    def _rows(self, meanings: Mapping[str, str]) -> list[tuple[str, float, float, float, str]]:
        return [
            (name, *mean_interval(self.values(name)), self.order(name), meaning)
            for name, meaning in meanings.items()
        ]


def _frame(rows: list[tuple[str, float, float, float, str]]) -> pd.DataFrame:
    import pandas as pd

    columns = ["part", "mean", "half_width", "order", "meaning"]
    return pd.DataFrame(rows, columns=columns).set_index("part")


@overload
def decompose(
    algorithm: CrossGraph, environment: Environment, seeds: Iterable[Seed]
) -> Decomposition: ...


@overload
def decompose(
    algorithm: Algorithm, environment: Environment, seeds: Iterable[Seed]
) -> Decomposition | DeclaredDecomposition: ...


def decompose(
    algorithm: Algorithm, environment: Environment, seeds: Iterable[Seed]
) -> Decomposition | DeclaredDecomposition:
    """Play an algorithm once for each seed, and split its regret into terms.

    The terms of Algorithm 2 are those of the paper. Any other algorithm of the FTRL kind that
    declares its estimator (`Algorithm.estimator`) has the terms exploration, bias, noise, stability
    and penalty: see `DeclaredDecomposition`.

    Args:
        algorithm: A `CrossGraph`, or an algorithm derived from it; or one that declares its
            estimator.
        environment: An environment with a list of contexts and a horizon.
        seeds: The seeds of the runs; at least one.

    Returns:
        The terms for every seed.

    Raises:
        CheckFailedError: The learner's policies are not those of Algorithm 2, or not FTRL on
            declared estimates.
        InvalidParameterError: An argument is not valid.

    >>> from crossbandit import CrossGraph, environments
    >>> environment = environments.paper_benchmark(1_000, alpha=4, contexts=20)
    >>> parts = decompose(CrossGraph(), environment, range(2))
    >>> parts.residual < 1e-12
    True
    >>> means = parts.table()["mean"]
    >>> bool(abs(means[:-1].sum() - means["total"]) < 1e-9)
    True
    """
    if not isinstance(algorithm, Algorithm):
        expected = "a CrossGraph, or an algorithm that declares its estimator"
        reject("decompose", "algorithm", expected, algorithm)
    try:
        roots = [fixed(seed) for seed in seeds]
    except TypeError:
        roots = []
    if not roots:
        reject("decompose", "seeds", "a list of at least one seed", seeds)
    view = view_environment("decompose", environment)
    if not isinstance(algorithm, CrossGraph):
        return decompose_declared(algorithm, view, list(roots))
    parameters = algorithm.parameters(environment.problem)
    runs = [RunParts(view, parameters) for _ in roots]
    for pairs in follow_all(algorithm, view, roots):
        for run, pair in zip(runs, pairs, strict=True):
            run.add(pair)
    length = parameters.epoch_length
    ends = np.minimum(np.arange(2 * length, view.horizon + length, length), view.horizon)
    return Decomposition(
        algorithm=algorithm,
        environment=environment,
        parameters=parameters,
        orders=orders(environment.problem, parameters),
        rounds=ends,
        curves=np.cumsum([run.parts for run in runs], axis=1),
        warm_up=np.array([run.warm_up for run in runs]),
        pseudo_regret=np.array([run.pseudo_regret for run in runs]),
        realised_regret=np.array([run.realised_regret for run in runs]),
    )
