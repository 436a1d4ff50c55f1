"""Losses that mislead learners which keep the means of all observed losses."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.environments.contexts import distribution_over
from crossbandit.environments.registry import register
from crossbandit.environments.stochastic import Stochastic
from crossbandit.problem import required_graph
from crossbandit.streams import stream
from crossbandit.validation import MAX_SIZE, integer, reject, verbatim

if TYPE_CHECKING:
    from crossbandit.environments.contexts import ContextDistribution
    from crossbandit.graphs import FeedbackGraph

# The share of the rounds after which means change, and the means before and after.
_CHANGE = 0.3
_BEST, _SHOWING, _HIDING, _OTHER = (0.9, 0.1), (0.4, 0.9), (0.5, 0.5), (0.75, 0.75)


@register("misleading", random_losses=True)
def misleading(
    graph: FeedbackGraph,
    horizon: int,
    *,
    contexts: int = 10,
    table_seed: int = 0,
    context_distribution: ContextDistribution | None = None,
) -> Stochastic:
    """Return Bernoulli losses whose best arm is bad while it is seen, and good while it is not.

    Three arms have roles, the same in all contexts. They are drawn among those with an edge
    showing -> best and without an edge hiding -> best. Means change once:

    | arm | first 3/10 of the rounds | later |
    |---|---:|---:|
    | best | 0.9 | 0.1 |
    | showing | 0.4 | 0.9 |
    | hiding | 0.5 | 0.5 |
    | others | 0.75 | 0.75 |

    A learner that plays what was good so far plays the showing arm first, and observes that the
    best arm is bad. Then it plays the hiding arm, which does not reveal that the best arm is now
    good. The learner trusts its mean of many losses and does not try the best arm again. Its regret
    grows like 0.16 T. A learner that explores at a constant rate, or divides losses by the
    probabilities of observing them, notices the change. From 0.6 T on, the best arm has the least
    total loss.

    If there are no three such arms, only the best and the hiding arm have roles. If every arm
    reveals every other one, nothing can be hidden, and the losses are not hard.

    Args:
        graph: The feedback graph, of at least 2 arms.
        horizon: The number of rounds.
        contexts: The number of contexts.
        table_seed: The seed of the roles and of everything random in the losses, at least 0.
        context_distribution: A distribution or a probability for each context; uniform if None.

    Raises:
        InvalidParameterError: A number is outside its range, or there is one arm only.

    >>> from crossbandit import graphs, simulate
    >>> from crossbandit.algorithms import SuccessiveElimination
    >>> environment = misleading(graphs.loopy_star(4), 20_000, contexts=1)
    >>> run = simulate(SuccessiveElimination(), environment, seed=1)
    >>> bool(run.final_regret > 0.1 * 20_000)
    True
    """
    arms = required_graph("misleading", graph).arms
    integer("misleading", "contexts", contexts, at_least=1, at_most=MAX_SIZE)
    integer("misleading", "table_seed", table_seed, at_least=0, at_most=None)
    if arms < 2:
        got = verbatim(f"{arms} arm")
        reject("misleading", "graph", "a FeedbackGraph of at least 2 arms", got)
    best, hiding, showing = _roles(graph, table_seed)
    phases = []
    for phase, share in enumerate((0.0, _CHANGE)):
        means = np.full((arms, contexts), _OTHER[phase])
        if showing is not None:
            means[showing] = _SHOWING[phase]
        means[best], means[hiding] = _BEST[phase], _HIDING[phase]
        phases.append((share, means))
    return Stochastic(
        graph=graph,
        horizon=horizon,
        phases=phases,
        table_seed=table_seed,
        context_distribution=distribution_over("misleading", context_distribution, contexts),
    )


def _roles(graph: FeedbackGraph, table_seed: int) -> tuple[int, int, int | None]:
    """Return the best arm, one that hides it, and one that shows it, if there is one."""
    edges = graph.adjacency
    pairs = list(permutations(range(graph.arms), 2))
    hidden = [(best, hiding) for best, hiding in pairs if not edges[hiding, best]]
    found: list[tuple[int, int, int | None]] = [
        (best, hiding, int(showing))
        for best, hiding in hidden
        for showing in np.flatnonzero(edges[:, best])
        if showing != best
    ]
    found = found or [(best, hiding, None) for best, hiding in hidden or pairs]
    return found[stream(table_seed, "roles of arms").integers(len(found))]
