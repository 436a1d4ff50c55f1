"""Claims in study files, the studies of other papers, and the frozen benchmark."""

import re
from hashlib import sha256

import pandas as pd
import pytest

from crossbandit.algorithms import from_json, registered
from crossbandit.algorithms.papers import is_ours, papers
from crossbandit.core.report.text import MISSING
from crossbandit.errors import StudyError, StudyFileError
from crossbandit.studies import Study, shipped, shipped_names
from crossbandit.studies.claims import Claim, Status
from crossbandit.studies.page import compose, leaderboard
from tests.cases import REFERENCES
from tests.cases import shipped as algorithms
from tests.studies.page.frames import row

CLAIMS = """
[study]
name = "s"
paper = "Somebody (2020)"

[[part]]
name = "p"
seeds = "0..4"
horizon = [2500, 10000]
algorithms = ["exp3-ix", "per-context-exp3"]
environments = [{ name = "stochastic", graph = { name = "singletons", arms = 4 } }]

[[claim]]
says = "it is so"
part = "p"
algorithm = "exp3-ix"
"""


def claim(bar: str, regrets: dict[str, tuple[float, float]], *, seeds: int = 5) -> Claim:
    """Return a claim judged on regrets at T = 2,500 and T = 10,000 that vary a little by seed."""
    study = Study.from_toml(CLAIMS + bar)
    rows = [
        row("p", {"horizon": horizon}, name, seed, regret * (1 + 0.01 * (seed - 2)))
        for name, pair in regrets.items()
        for horizon, regret in zip((2500, 10000), pair, strict=True)
        for seed in range(seeds)
    ]
    frame = pd.DataFrame(rows)
    frame["study"] = "s"
    (found,) = compose(frame, command="", study=study).claims
    return found


@pytest.mark.parametrize(("last", "status"), [(200.0, Status.MET), (310.0, Status.NOT_MET)])
def test_a_slope_is_the_exponent_of_the_mean(last: float, status: Status) -> None:
    found = claim("slope = [0.4, 0.6]", {"exp3-ix": (100.0, last)})
    assert found.status is status, found
    assert found.measured == {200.0: "0.500", 310.0: "0.816"}[last]
    assert (found.name, found.expected) == ("it is so", "a slope of 0.4 to 0.6")


@pytest.mark.parametrize(("last", "status"), [(125.0, Status.MET), (126.0, Status.NOT_MET)])
def test_growth_is_the_last_regret_divided_by_the_first(last: float, status: Status) -> None:
    found = claim("growth = [0, 1.25]", {"exp3-ix": (100.0, last)})
    assert found.status is status, found


def test_below_means_below_all_others_at_every_point() -> None:
    regrets = {"exp3-ix": (100.0, 200.0), "per-context-exp3": (101.0, 200.0)}
    found = claim('below = ["per-context-exp3"]', regrets)
    assert found.status is Status.NOT_MET
    assert found.measured == "lowest at 1 of 2 points; not at horizon = 10,000"
    regrets["per-context-exp3"] = (101.0, 201.0)
    assert claim('below = ["per-context-exp3"]', regrets).status is Status.MET
    # Regrets are 98 % to 102 % of these: the deviation of the first is smaller here, and larger
    # in the mean.
    wide = {"exp3-ix": (100.0, 200.0), "per-context-exp3": (99.0, 199.0)}
    assert claim('below = ["per-context-exp3"]\nof = "deviation"', wide).status is Status.NOT_MET


def test_a_statistic_other_than_the_mean() -> None:
    found = claim('slope = [0.4, 0.6]\nof = "quantile 0.9"', {"exp3-ix": (100.0, 200.0)})
    assert found.status is Status.MET
    assert found.expected == "a slope of the quantile 0.9 of 0.4 to 0.6"


def test_what_lacks_runs_or_is_not_positive_is_not_judged() -> None:
    few = claim("slope = [0.4, 0.6]", {"exp3-ix": (100.0, 200.0)}, seeds=2)
    assert few.status is Status.NOT_JUDGED
    assert few.measured == "2 of 2 points lack runs"
    negative = claim("slope = [0.4, 0.6]", {"exp3-ix": (-1.0, 200.0)})
    assert negative.status is Status.NOT_JUDGED
    assert negative.measured.endswith("1.00 is not above 0")
    other = claim('below = ["per-context-exp3"]', {"exp3-ix": (100.0, 200.0)})
    assert other.status is Status.NOT_JUDGED


@pytest.mark.parametrize(
    ("bar", "message"),
    [
        ("", "line 13, key 'claim': must have one of slope, growth and below"),
        ("slope = [0.4, 0.6]\ngrowth = [1, 2]", "must have one of slope, growth and below"),
        ("slope = 0.5", "line 17, key 'claim.slope': must be two numbers"),
        ('below = ["exp3-g"]', "no such algorithm of this part as 'exp3-g'"),
        ('slope = [0, 1]\nof = "mode"', "no such statistic as 'mode'"),
        ("slop = [0, 1]", "key 'claim.slop': no such key. Did you mean 'slope'"),
    ],
)
def test_a_mistake_in_a_claim_names_the_line(bar: str, message: str) -> None:
    with pytest.raises(StudyFileError) as raised:
        Study.from_toml(CLAIMS + bar)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("was", "put", "message"),
    [
        ('part = "p"', 'part = "q"', "no such part as 'q'"),
        ('"exp3-ix"\nslope', '"exp3"\nslope', "no such algorithm of this part as 'exp3'"),
        ('says = "it is so"\n', "", "key 'claim.says': missing"),
    ],
)
def test_a_claim_names_a_part_and_an_algorithm(was: str, put: str, message: str) -> None:
    text = CLAIMS + "slope = [0, 1]"
    assert was in text
    with pytest.raises(StudyFileError, match=message):
        Study.from_toml(text.replace(was, put))


# --- shipped ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", shipped_names("papers"))
def test_the_study_of_a_paper_cites_it_and_states_claims(name: str) -> None:
    study = shipped(name)
    assert study.name == name
    author, _, year = name.rpartition("-")
    assert year in study.paper
    assert all(word.capitalize() in study.paper for word in author.split("-"))
    assert study.claims
    quick = study.with_seeds(3)
    assert {cell.seed for cell in quick.cells} == {0, 1, 2}
    assert {cell.key for cell in quick.cells} < {cell.key for cell in study.cells}


def test_the_benchmark_is_frozen() -> None:
    """Its environments and seeds never change: a change is another version. Algorithms may come."""
    study = shipped("graphs-v1")
    settings = sorted({f"{cell.part}|{cell.environment}|{cell.seed}" for cell in study.cells})
    assert len(settings) == 4 * (6 + 3) * 2 * 10
    digest = sha256("\n".join(settings).encode()).hexdigest()
    assert digest == "07e6f359e1b550a677e6874d3a475db235be6fbb85f3cdb3eeabb46176bdbcc9"


# --- adding algorithms --------------------------------------------------------------------------


def test_an_algorithm_is_added_where_it_can_play() -> None:
    study = Study.from_toml(
        """
        [study]
        name = "s"
        [[part]]
        seeds = 0
        horizon = 100
        algorithms = ["exp3-g"]
        [[part.environments]]
        name = "lower-bound"
        graph = [{ name = "singletons", arms = 3 }, { name = "revealing-action", arms = 3 }]
        """
    )
    added = study.with_algorithms("cross-graph").cells[2:]
    assert ['"singletons"' in cell.environment for cell in added] == [True]
    weak = study.with_seeds(1)
    only = type(study)("t", [c for c in weak.cells if "revealing" in c.environment])
    with pytest.raises(StudyError, match=r"cross-graph can play no environment of 't'.*self-loop"):
        only.with_algorithms("cross-graph")


# --- where algorithms are published ---------------------------------------------------------------


def test_every_algorithm_has_an_origin_and_a_literal_transcription() -> None:
    assert set(papers()) == set(algorithms()) == set(REFERENCES)
    for id_, origin in papers().items():
        assert origin.paper or origin.is_ours == "always", id_
        assert origin.ours or not origin.is_ours, id_
        if origin.is_ours not in {"", "always"}:
            assert origin.is_ours in from_json({"id": id_}).to_json()
        own = registered()[id_].__doc__
        assert own is not None
        if origin.place and "Huang" not in origin.paper + origin.place:
            years = re.findall(r"\((\d{4})\)", origin.paper)
            assert years, id_
            assert all(year in own for year in years), id_


def test_tables_say_what_is_ours() -> None:
    assert is_ours({"id": "cross-graph-certified"})
    assert is_ours({"id": "exp3-g"})
    assert is_ours({"id": "exp3-g", "cross_learning": True})
    assert not is_ours({"id": "exp3-g", "cross_learning": False})
    assert not is_ours({"id": "exp3-ix"})
    assert not is_ours({"id": "somebody-elses"})


# --- the leaderboard ----------------------------------------------------------------------------


def test_the_leaderboard_divides_by_the_least_possible_regret() -> None:
    # alpha is 4 on this ring: sqrt(alpha T) is 100 at T = 2,500 and 200 at T = 10,000.
    rows = [
        row(part, {"horizon": horizon, "alpha": 4, "table_seed": 0}, name, seed, factor * 200.0)
        for part in ("first", "second")
        for horizon in (2500, 10000)
        for name, factor in (("exp3-ix", 3.0), ("best-of-both-worlds", 1.0), ("ucb-n", 2.0))
        for seed in range(3)
        if (part, name) != ("second", "ucb-n")
    ]
    frame = pd.DataFrame(rows)
    frame["study"] = "s"
    table = leaderboard(compose(frame, command="").sweeps)
    assert table is not None
    assert table.head == ("algorithm", "mean", "first", "second")
    assert [[str(cell) for cell in cells] for cells in table.cells] == [
        ["best-of-both-worlds (ours)", "1.00", "1.00", "1.00"],
        ["exp3-ix", "3.00", "3.00", "3.00"],
        ["ucb-n (ours)", MISSING, "2.00", MISSING],
    ]
