"""Build the strategies of a replay: those given by name, the log's own bids, and the oracles."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from crossbandit.algorithms import Algorithm, CrossGraph, from_json, registered
from crossbandit.applications.application import anchored_as, usual_algorithm
from crossbandit.errors import InvalidInputError, InvalidParameterError
from crossbandit.replay.learning import (
    GUARDED,
    LAW,
    BestResponse,
    LawStrategy,
    LearnerStrategy,
)
from crossbandit.replay.limited_strategies import ThrottledStrategy, limited_oracles
from crossbandit.replay.oracles import BandPolicy, BestPolicy, ClassPolicy, PerfectKnowledge
from crossbandit.replay.strategies import KINDS, OwnBids, Shading, Strategy
from crossbandit.validation import choice, reject

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crossbandit.replay.oracles import Hindsight
    from crossbandit.replay.strategies import Setting

LEARNERS, BEST_RESPONSES, FRACTIONS = "learners", "best responses", "fractions"
USUAL = (LEARNERS, BEST_RESPONSES, FRACTIONS)
TOLD, ALL_TOLD, TRUTHFUL = "best response", "best response, all told", "truthful"
USUAL_FRACTIONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_SHADING = "shading "
_LAWS = {"law": LAW, LAW: LAW, "guarded law": GUARDED, GUARDED: GUARDED}
_GROUPS = {
    BEST_RESPONSES: (TOLD, ALL_TOLD),
    FRACTIONS: (*(f"{_SHADING}{fraction}" for fraction in USUAL_FRACTIONS), TRUTHFUL),
}


def build_strategies(
    wanted: Sequence[str | Algorithm | Strategy], setting: Setting, seeds: Sequence[int]
) -> tuple[list[Strategy], list[str]]:
    """Return the strategies, one per seed for a learner, and notes on learners left out.

    If a learner that was asked for cannot play the log, this raises; one of the usual learners is
    left out. The adaptive learner plays like a `FirstPriceBidder`, unless it is given with
    parameters.
    """
    found: dict[str, list[Strategy]] = {}
    notes = []
    usual = usual_algorithm(setting.feedback)
    for one in _expand(wanted):
        if one == LEARNERS:
            found.setdefault(LAW, _laws(LAW, setting, seeds))
            for algorithm in (usual, CrossGraph()):
                name = name_of(algorithm, usual)
                try:
                    found.setdefault(name, _learners(name, algorithm, setting, seeds))
                except InvalidInputError as error:
                    notes.append(f"{name} cannot play this log and is left out. {error}")
            continue
        strategies = _build(one, usual, setting, seeds)
        name = strategies[0].name
        if name in found and isinstance(one, Strategy) and not isinstance(one, Shading):
            reject("replay", "strategies", "strategies with different names", name)
        found.setdefault(name, strategies)
    players = [strategy for group in found.values() for strategy in group]
    return [_kept_to_limits(strategy, setting) for strategy in players], notes


def always_present(
    setting: Setting, hindsight: Hindsight, *, has_own_bids: bool
) -> Iterator[Strategy]:
    """Yield the strategies that always take part: the log's own bids and the oracles."""
    rules = setting.rules
    if has_own_bids:
        yield _kept_to_limits(OwnBids(), setting)
    if setting.limits is not None:
        yield from limited_oracles(rules, hindsight, setting.limits)
        return
    yield BestPolicy(rules, hindsight)
    yield BandPolicy(rules, hindsight)
    if hindsight.class_wins is not None:
        yield ClassPolicy(rules, hindsight.class_wins)
    yield PerfectKnowledge(rules)


def _kept_to_limits(strategy: Strategy, setting: Setting) -> Strategy:
    """Return the strategy, or one that keeps the limits of the replay if there are limits."""
    paces_itself = isinstance(strategy, LearnerStrategy | LawStrategy | BestResponse)
    if setting.limits is None or paces_itself:
        return strategy
    return ThrottledStrategy(strategy, setting)


def _expand(wanted: Sequence[object]) -> Iterator[object]:
    """Yield the wanted strategies, with the members of a group in place of its name."""
    if isinstance(wanted, str) or not wanted:
        reject("replay", "strategies", "a list of at least one strategy", wanted)
    for one in wanted:
        members = _GROUPS.get(one) if isinstance(one, str) else None
        yield from members or (one,)


def _build(one: object, usual: Algorithm, setting: Setting, seeds: Sequence[int]) -> list[Strategy]:
    """Return a strategy; for a learner, one per seed."""
    if isinstance(one, Strategy):
        choice(type(one).__name__, "kind", one.kind, KINDS)
        return [one]
    if one == TOLD and setting.feedback != "always":
        note = "to past prices, as far as told"
        return [BestResponse(setting.rules, setting.feedback, TOLD, note, setting.pacer())]
    if one in {TOLD, ALL_TOLD}:
        note = "to all past prices"
        return [BestResponse(setting.rules, "always", ALL_TOLD, note, setting.pacer())]
    if isinstance(one, str) and one in _LAWS:
        return _laws(_LAWS[one], setting, seeds)
    if isinstance(one, str) and (one == TRUTHFUL or one.startswith(_SHADING)):
        return [Shading(1.0 if one == TRUTHFUL else _fraction(one))]
    algorithm = one if isinstance(one, Algorithm) else _named(one)
    algorithm = anchored_as(usual, algorithm)
    name = name_of(algorithm, usual)
    try:
        return _learners(name, algorithm, setting, seeds)
    except InvalidInputError as error:
        able = ", ".join(_able(usual, setting)) or "none"
        raise type(error)(
            f"{name} cannot play this log. {error} Algorithms that can: {able}."
        ) from error


def _learners(
    name: str, algorithm: Algorithm, setting: Setting, seeds: Sequence[int]
) -> list[Strategy]:
    return [LearnerStrategy(name, algorithm, setting, seed) for seed in seeds]


def _laws(name: str, setting: Setting, seeds: Sequence[int]) -> list[Strategy]:
    """Return a law per seed; the first one tests whether prices depend on values."""
    return [
        LawStrategy(setting, seed, guarded=name == GUARDED, tested=seed == seeds[0])
        for seed in seeds
    ]


def _fraction(name: str) -> float:
    try:
        return float(name.removeprefix(_SHADING))
    except ValueError:
        raise InvalidParameterError(
            f"A fixed fraction is named like 'shading 0.5'. Got {name!r}."
        ) from None


def _named(name: object) -> Algorithm:
    ids = list(registered())
    if isinstance(name, str) and name in ids:
        return from_json({"id": name})
    names = ["law", "guarded law", *ids, *USUAL, TOLD, ALL_TOLD, TRUTHFUL]
    near = get_close_matches(str(name), names, n=2)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise InvalidParameterError(
        "The 'strategies' parameter of replay must list strategies, algorithms, or names among "
        f"{', '.join(map(repr, names))} and 'shading 0.5'. Got {name!r}.{hint}"
    )


def _able(usual: Algorithm, setting: Setting) -> Iterator[str]:
    """Yield the ids of the algorithms that can play."""
    for id_ in registered():
        try:
            _learners(id_, anchored_as(usual, from_json({"id": id_})), setting, [0])
        except Exception:  # noqa: BLE001, S112  # an algorithm of a user's own may fail in any way
            continue
        yield id_


def name_of(algorithm: Algorithm, usual: Algorithm) -> str:
    """Return the id of an algorithm, with the parameters that differ from the usual ones.

    >>> from crossbandit import CrossGraphAdaptive
    >>> name_of(CrossGraphAdaptive(half_life=1000), CrossGraphAdaptive())
    'cross-graph-adaptive (half_life=1000.0)'
    """
    same = usual.to_json() if usual.id == algorithm.id else type(algorithm)().to_json()
    own = [f"{name}={value}" for name, value in algorithm.to_json().items() if value != same[name]]
    return f"{algorithm.id} ({', '.join(own)})" if own else algorithm.id
