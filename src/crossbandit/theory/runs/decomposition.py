"""The six-term decomposition of regret, measured on runs of the real learner.

    Reg = Bias 1 + Bias 2 + Bias 3 + Bias 4 + FTRL - Bias 5

over the loss-estimation rounds after the warm-up, with doubled losses, averaged over all contexts
with their true law. Each term is a sum over arms; the special arm of the epoch is kept apart from
the regular ones, as in the paper's lemmas.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.algorithms import CrossGraph
from crossbandit.streams import fixed
from crossbandit.theory.runs.intervals import mean_interval
from crossbandit.theory.runs.orders import Orders, orders
from crossbandit.theory.runs.parts import SPLIT, Book, Parts, parts_of
from crossbandit.theory.runs.trajectories import replays
from crossbandit.theory.runs.worlds import world_of
from crossbandit.validation import reject

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from crossbandit.environments import Environment
    from crossbandit.kernels.epochs import EpochParameters
    from crossbandit.streams import Seed
    from crossbandit.types import Floats, Integers

TERMS = ("bias_1", "bias_2", "bias_3", "bias_4", "bias_5", "ftrl")
SIGNS = {"bias_5": -1.0}


@dataclass(frozen=True, eq=False, kw_only=True)
class Decomposition:
    """The terms of one algorithm on one environment, for every seed.

    `curves[s, e]` are the parts of seed s, in the order of `Parts`, summed to the end of epoch
    e + 2, after `rounds[e]` rounds in all. Beside them: the pseudo-regret of the warm-up, that of
    all rounds (both averaged over the law of contexts), and the regret that was realised.
    """

    algorithm: CrossGraph
    environment: Environment
    parameters: EpochParameters
    orders: Orders
    rounds: Integers
    curves: Floats  # (seeds, epochs, parts)
    warm_up: Floats  # (seeds,)
    pseudo_regret: Floats  # (seeds,)
    realised_regret: Floats  # (seeds,)

    def values(self, name: str) -> Floats:
        """Return something at the horizon, for each seed.

        `name` is a field of `Parts`; one of the six terms, on regular and special arms together;
        "special", what Bias 2 to 4 leave on the special arm after Bias 5; or "total", the regret
        of all rounds, averaged over contexts and arms.
        """
        if name == "total":
            return self.pseudo_regret
        return self.curve(name)[:, -1]

    def curve(self, name: str) -> Floats:
        """Return the same after each epoch, (seeds, epochs); there is none for "total"."""
        if name == "special":
            parts = [f"bias_{i}_special" for i in (2, 3, 4)]
            rest: Floats = np.sum([self.curve(part) for part in parts], axis=0)
            return rest - self.curve("bias_5")
        indices = [Parts._fields.index(part) for part in parts_of(name)]
        result: Floats = self.curves[:, :, indices].sum(axis=2)
        return result

    def order(self, name: str) -> float:
        """Return what the paper bounds the mean of `values(name)` by, with every constant 1.

        Not a number where the paper has no bound for this alone.
        """
        eta, gamma, _, _, length = self.parameters
        horizon = float(self.rounds[-1])
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
        """Warm-up and doubled loss-estimation rounds: what the pair reduction makes of regret."""
        return self.warm_up + self.values("regret")

    def table(self) -> pd.DataFrame:
        """Return a row per part: its mean, the half-width of its 95 % interval, its order.

        The order is what the paper's lemma bounds the part by, with 1 in place of the constants.
        """
        import pandas as pd

        measured = {name: (self.values(name), self.order(name)) for name in _SHOWN}
        for name in ("selected_regret", "pseudo_regret", "realised_regret"):
            measured[name] = (getattr(self, name), self.orders.total)
        rows = [(name, *mean_interval(values), order) for name, (values, order) in measured.items()]
        return pd.DataFrame(rows, columns=["part", "mean", "half_width", "order"]).set_index("part")


_SHOWN = (*TERMS, *SPLIT, "special")


def decompose(
    algorithm: CrossGraph, environment: Environment, seeds: Iterable[Seed]
) -> Decomposition:
    """Play `algorithm` once for each seed, and take its regret apart.

    Raises CheckFailedError if the learner's policies are not those of Algorithm 2.

    >>> from crossbandit import CrossGraph, environments
    >>> environment = environments.paper_benchmark(1_000, alpha=4, contexts=20)
    >>> parts = decompose(CrossGraph(), environment, range(2))
    >>> parts.residual < 1e-12
    True
    """
    if not isinstance(algorithm, CrossGraph):
        reject(
            "decompose", "algorithm", "a CrossGraph: only Algorithm 2 has these terms", algorithm
        )
    try:
        roots = [fixed(seed) for seed in seeds]
    except TypeError:
        roots = []
    if not roots:
        reject("decompose", "seeds", "a list of at least one seed", seeds)
    world = world_of("decompose", environment)
    parameters = algorithm.parameters(environment.problem)
    books = [Book(world, parameters) for _ in roots]
    for pairs in replays(algorithm, world, roots):
        for book, pair in zip(books, pairs, strict=True):
            book.enter(pair)
    length = parameters.epoch_length
    ends = np.minimum(np.arange(2 * length, world.horizon + length, length), world.horizon)
    return Decomposition(
        algorithm=algorithm,
        environment=environment,
        parameters=parameters,
        orders=orders(environment.problem, parameters),
        rounds=ends,
        curves=np.cumsum([book.parts for book in books], axis=1),
        warm_up=np.array([book.warm_up for book in books]),
        pseudo_regret=np.array([book.pseudo_regret for book in books]),
        realised_regret=np.array([book.realised_regret for book in books]),
    )
