"""When a reader is told something about a replay, and when not."""

import numpy as np
import pandas as pd
import pytest

from crossbandit.applications.bidding.auctions import AuctionRules
from crossbandit.logs.log import ClassTable
from crossbandit.logs.replay import AuctionLog, Replay, StrategyResult
from crossbandit.logs.replay.results import find_notes
from crossbandit.logs.replay.strategies import BandPolicy, band_edges, collect_hindsight
from crossbandit.logs.survey import survey_log


def outcome(strategy: str, kind: str, *surplus: float) -> StrategyResult:
    nothing = np.zeros(len(surplus))
    curve = np.array(surplus)[:, None]
    return StrategyResult(strategy, kind, "", np.array(surplus), nothing, nothing, curve, nothing)


def notes(
    playing: StrategyResult, *, bids: int = 11, values: tuple[float, ...] = (6.0, 10.0)
) -> str:
    """Return what is said if the best policy per band earned 10 and perfect knowledge 20."""
    prices = np.linspace(1, 3, len(values))
    frame = pd.DataFrame({"value": values, "market_price": prices})
    log = AuctionLog(frame)
    survey = survey_log(log)
    rules = AuctionRules(bids=bids, highest_value=survey.highest_value)
    oracles = (
        outcome(BandPolicy.name, "oracle", 10.0),
        outcome("perfect knowledge", "oracle", 20.0),
    )
    hindsight = collect_hindsight(log.chunks(64), rules, band_edges(survey))
    outcomes = (playing, *oracles)
    result = Replay(
        auctions=survey.auctions,
        bad=0,
        faults=(),
        notes=(),
        rules=rules,
        feedback="after-loss",
        seeds=(0,),
        points=np.array([survey.auctions]),
        values=np.zeros(1),
        outcomes=outcomes,
        comparator=BandPolicy.name,
    )
    return " ".join(find_notes(result, log, survey, hindsight, ClassTable([])))


@pytest.mark.parametrize(
    ("kind", "surplus", "told"),
    [
        ("learner", (10.9, 11.0, 11.1), True),  # 11 ± 0.25
        ("learner", (10.0, 11.0, 12.0), False),  # 11 ± 2.48: that may be chance
        ("learner", (9.0, 10.0, 11.0), False),
        ("fitted", (10.5,), True),  # it draws nothing
        ("fitted", (10.0,), False),
    ],
)
def test_more_than_the_comparator_is_told_unless_it_may_be_chance(
    kind: str, surplus: tuple[float, ...], told: bool
) -> None:
    said = notes(outcome("somebody", kind, *surplus))
    assert ("somebody earned more than the best policy per band." in said) == told


@pytest.mark.parametrize(
    ("bids", "median", "told"),
    [
        # Bids are 0, 1, 2 and so on, up to the highest value.
        (21, 0.5, True),  # 1 of 21 bids is below
        (21, 1.5, True),
        (21, 2.5, False),  # 3 of 21: more than a tenth of the bids
        (201, 8.5, True),  # 9 of 201
        (201, 9.5, False),  # ten bids are enough
    ],
)
def test_a_coarse_grid_has_few_bids_of_many_below_the_median(
    bids: int, median: float, told: bool
) -> None:
    said = notes(
        outcome("somebody", "fitted", 1.0), bids=bids, values=(median,) * 9 + (bids - 1.0,)
    )
    assert (f"The highest value is {bids - 1}; half of the values are below" in said) == told
