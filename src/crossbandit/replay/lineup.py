"""Who takes part in a replay: learners by algorithm and seed, and what to compare them with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.algorithms import Algorithm, CrossGraph, from_json, registered
from crossbandit.applications.application import anchored_as
from crossbandit.applications.first_price import usual_algorithm
from crossbandit.errors import InvalidInputError
from crossbandit.replay.oracles import BandPolicy, BestPolicy, PerfectKnowledge
from crossbandit.replay.strategies import BestResponse, OwnBids, Playing, Shading, Strategy
from crossbandit.validation import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crossbandit.environments.auctions import AuctionRules
    from crossbandit.problem import Problem
    from crossbandit.replay.oracles import Hindsight

ALL_TOLD = "best response, all told"
FRACTIONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def learners(
    wanted: Sequence[str | Algorithm] | None,
    problem: Problem,
    rules: AuctionRules,
    feedback: str,
    seeds: Sequence[int],
) -> tuple[list[Strategy], list[str]]:
    """Return a learner per algorithm and seed, and what to say of algorithms that are left out.

    An algorithm that was asked for by name and cannot play this log raises. The adaptive learner
    plays as a `FirstPriceBidder` would have it, unless it is given with its parameters.
    """
    found: list[Strategy] = []
    notes = []
    usual = usual_algorithm(feedback)
    named = (usual, CrossGraph()) if wanted is None else wanted
    for algorithm in dict.fromkeys(_made(one, usual) for one in named):
        name = name_of(algorithm, usual)
        try:
            found += [Playing(name, algorithm, problem, rules, seed) for seed in seeds]
        except InvalidInputError as error:
            if wanted is not None:
                able = ", ".join(_able(usual, problem, rules)) or "none"
                raise type(error)(
                    f"{name} cannot play this log. {error} Algorithms that can: {able}."
                ) from error
            notes.append(f"{name} cannot play this log and is left out. {error}")
    return found, notes


def _able(usual: Algorithm, problem: Problem, rules: AuctionRules) -> Iterator[str]:
    """Yield the ids of the algorithms that can play."""
    for id_ in registered():
        try:
            Playing(id_, _made(id_, usual), problem, rules, 0)
        except InvalidInputError:
            continue
        yield id_


def _made(one: str | Algorithm, usual: Algorithm) -> Algorithm:
    return anchored_as(usual, one if isinstance(one, Algorithm) else from_json({"id": one}))


def name_of(algorithm: Algorithm, usual: Algorithm) -> str:
    """Return the id of an algorithm, with the parameters that are not as usual.

    >>> from crossbandit import CrossGraphAdaptive
    >>> name_of(CrossGraphAdaptive(half_life=1000), CrossGraphAdaptive())
    'cross-graph-adaptive (half_life=1000.0)'
    """
    same = usual.to_json() if usual.id == algorithm.id else type(algorithm)().to_json()
    own = [f"{name}={value}" for name, value in algorithm.to_json().items() if value != same[name]]
    return f"{algorithm.id} ({', '.join(own)})" if own else algorithm.id


def others(
    rules: AuctionRules,
    feedback: str,
    fractions: Sequence[float],
    hindsight: Hindsight,
    *,
    own: bool,
) -> list[Strategy]:
    """Return the strategies that draw nothing; the bids of the log among them if it has `own`."""
    for fraction in fractions:
        number("replay", "fractions", fraction, above=0, below=1)
    told = BestResponse(rules, feedback, "best response", "to past prices, as far as told")
    full = BestResponse(rules, "always", ALL_TOLD, "to all past prices")
    return [
        *([OwnBids()] if own else []),
        *([full] if feedback == "always" else [told, full]),
        *(Shading(fraction) for fraction in sorted(set(fractions))),
        Shading(1.0),
        BestPolicy(rules, hindsight),
        BandPolicy(rules, hindsight),
        PerfectKnowledge(rules),
    ]
