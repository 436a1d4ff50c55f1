"""The bounds of the paper's lemmas on each term, with 1 in place of every absolute constant."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from crossbandit.algorithms.tuned import required_alpha, required_horizon

if TYPE_CHECKING:
    from crossbandit.kernels.epochs import EpochParameters
    from crossbandit.problem import Problem


class Orders(NamedTuple):
    """One order for each bound of the appendix, for given parameters."""

    graph_sum: float  # A_G = alpha log(K^2 / (alpha rho)) + 1
    bias_1: float  # rho T
    bias_2_regular: float  # gamma A_G T
    bias_3_regular: float  # A_G (gamma + 1 / L) T
    bias_4_regular: float  # the same
    bias_4_special: float  # eta A_G (1 + L gamma) T
    special: float  # of Bias 2, 3 and 4 on the special arm less Bias 5
    regular_norm: float  # A_G T
    away_norm: float  # T
    ftrl: float  # log K / eta + eta A_G T + eta T
    total: float  # the assembly: Theorem 1 before the parameters are chosen


def orders(problem: Problem, parameters: EpochParameters) -> Orders:
    """Return the orders for `problem` when Algorithm 2 runs with `parameters`.

    >>> from crossbandit import CrossGraph, Problem, graphs
    >>> problem = Problem(graphs.complete(2), contexts=1, horizon=10_000)
    >>> round(orders(problem, CrossGraph().parameters(problem)).total)
    3965
    """
    alpha = required_alpha("orders", problem)
    horizon = required_horizon("orders", problem)
    arms = problem.arms
    eta, gamma, rho, beta, length = parameters
    graph_sum = alpha * math.log(arms**2 / (alpha * rho)) + 1.0
    random_denominator = graph_sum * (gamma + 1.0 / length) * horizon
    trajectory = eta * graph_sum * (1.0 + length * gamma) * horizon
    special = (beta + gamma) * horizon + trajectory
    ftrl = math.log(arms) / eta + eta * graph_sum * horizon + eta * horizon
    return Orders(
        graph_sum=graph_sum,
        bias_1=rho * horizon,
        bias_2_regular=gamma * graph_sum * horizon,
        bias_3_regular=random_denominator,
        bias_4_regular=random_denominator,
        bias_4_special=trajectory,
        special=special,
        regular_norm=graph_sum * horizon,
        away_norm=horizon,
        ftrl=ftrl,
        total=length
        + rho * horizon
        + math.log(arms) / eta
        + eta * graph_sum * horizon
        + random_denominator
        + special,
    )
