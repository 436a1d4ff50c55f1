"""Who takes part in a replay: learners by algorithm and seed, and what to compare them with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.algorithms import Algorithm, from_json
from crossbandit.errors import InvalidInputError
from crossbandit.replay.oracles import BandPolicy, BestPolicy, PerfectKnowledge
from crossbandit.replay.strategies import BestResponse, Playing, Shading, Strategy
from crossbandit.validation import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crossbandit.environments.auctions import AuctionRules
    from crossbandit.problem import Problem
    from crossbandit.replay.oracles import Hindsight

DEFAULT_ALGORITHMS = ("cross-graph-adaptive", "cross-graph")
FRACTIONS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)


def learners(
    wanted: Sequence[str | Algorithm] | None,
    problem: Problem,
    rules: AuctionRules,
    seeds: Sequence[int],
) -> tuple[list[Strategy], list[str]]:
    """Return a learner per algorithm and seed, and what to say of algorithms that are left out.

    An algorithm that was asked for by name and cannot play this log raises.
    """
    found: list[Strategy] = []
    notes = []
    named = DEFAULT_ALGORITHMS if wanted is None else wanted
    made = [one if isinstance(one, Algorithm) else from_json({"id": one}) for one in named]
    for algorithm in dict.fromkeys(made):
        try:
            found += [Playing(algorithm, problem, rules, seed) for seed in seeds]
        except InvalidInputError as error:
            if wanted is not None:
                raise type(error)(f"{algorithm.id} cannot play this log. {error}") from error
            notes.append(f"{algorithm.id} cannot play this log and is left out. {error}")
    return found, notes


def others(
    rules: AuctionRules, feedback: str, fractions: Sequence[float], hindsight: Hindsight
) -> list[Strategy]:
    """Return the strategies that draw nothing."""
    for fraction in fractions:
        number("replay", "fractions", fraction, above=0, below=1)
    told = BestResponse(rules, feedback, "best response", "to past prices, as far as told")
    full = BestResponse(rules, "always", "best response, all told", "to all past prices")
    return [
        *([full] if feedback == "always" else [told, full]),
        *(Shading(fraction) for fraction in sorted(fractions)),
        Shading(1.0),
        BestPolicy(rules, hindsight),
        BandPolicy(rules, hindsight),
        PerfectKnowledge(rules),
    ]
