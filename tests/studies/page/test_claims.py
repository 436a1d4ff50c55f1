import pytest

from crossbandit.studies import paper
from crossbandit.studies.claims import Claim, Status
from crossbandit.studies.page import compose
from tests.studies.page.frames import Change, as_published, changed, unchanged

NAMES = (
    "Every table entry agrees with the paper's",
    "Ours has the lowest regret at every point",
    "Ours: log-log slope in T",
    "Ours: log-log slope in α",
    "SZ-Context: log-log slope in T",
    "SZ-Context is flat across α",
    "Ours grows from α = 1 to α = 8",
    "The gap to SZ-Context narrows as graphs get sparser",
)


def claims(change: Change = unchanged, *, seeds: int = 10) -> dict[str, Claim]:
    frame = as_published(change, seeds=seeds)
    return {claim.name: claim for claim in compose(frame, command="").claims}


def failed(change: Change) -> list[str]:
    return [name for name, claim in claims(change).items() if claim.status is Status.NOT_MET]


def test_the_papers_own_numbers_meet_every_claim() -> None:
    found = claims()
    assert tuple(found) == NAMES
    assert {claim.status for claim in found.values()} == {Status.MET}
    assert found[NAMES[0]].measured.startswith("40 of 40 entries")
    assert found[NAMES[6]].measured == "by 2.59 (267.61 to 694.40)"
    assert compose(as_published(), command="").met


@pytest.mark.parametrize(
    ("method", "allowed"),
    [
        (paper.EXP3, 0.04 * 2590.00),  # 4 % of the paper's entry is more than both half-widths
        (paper.OURS, 0.04 * 267.61),
    ],
)
def test_an_entry_may_differ_by_four_percent(method: str, allowed: float) -> None:
    published = paper.ALPHA.entries[1][method].regret
    for sign in (-1, 1):
        inside = changed("graph", 1, method, published + sign * allowed * 0.999)
        outside = changed("graph", 1, method, published + sign * allowed * 1.001)
        assert NAMES[0] not in failed(inside)
        assert NAMES[0] in failed(outside)


def test_an_entry_may_differ_by_both_half_widths_where_that_is_more() -> None:
    # At T = 2000 the paper's half-width of ours is 6.36, and ours is made large: 4 % are 8.11.
    frame = as_published()
    chosen = (
        (frame["part"] == "horizon")
        & (frame["horizon"] == 2000)
        & (frame["algorithm_name"] == paper.OURS)
    )
    spread = frame.loc[chosen, "final_regret"] - 202.87
    for shift, status in ((17.5, Status.MET), (20.0, Status.NOT_MET)):
        frame.loc[chosen, "final_regret"] = 202.87 + 8 * spread + shift  # half-width 11.9 + 6.36
        claim = compose(frame, command="").claims[0]
        assert claim.status is status, claim


def test_the_worst_entry_is_named() -> None:
    claim = claims(changed("graph", 3, paper.GRAPH, 2500.0))[NAMES[0]]
    assert claim.measured == "39 of 40 entries; furthest: OBPC-Graph at α = 3, +8.4 %"


@pytest.mark.parametrize(
    ("change", "claims"),
    [
        # Only one method, only the far end: not the lowest, and the slope is too steep.
        (changed("horizon", 10_000, paper.OURS, 800.0), {0, 1, 2}),
        (changed("horizon", 2_000, paper.CONTEXT, 205.0), {0, 4}),
        (changed("graph", 3, paper.CONTEXT, 725.0), {5}),
        (changed("graph", 8, paper.OURS, 600.0), {0, 3, 6}),
        (changed("graph", 4, paper.OURS, 415.0), {0, 7}),
    ],
)
def test_a_wrong_entry_fails_the_right_claims(change: Change, claims: set[int]) -> None:
    assert set(failed(change)) == {NAMES[i] for i in claims}


@pytest.mark.parametrize("sign", [-1, 1])
def test_growth_may_differ_by_eight_percent(sign: int) -> None:
    for share, is_failed in ((0.079, False), (0.081, True)):
        change = changed("graph", 8, paper.OURS, 694.40 * (1 + sign * share))
        assert (NAMES[6] in failed(change)) == is_failed


def test_lowest_means_lower_than_all_others() -> None:
    equal = claims(changed("horizon", 4_000, paper.CONTEXT, 299.76))[NAMES[1]]
    assert equal.status is Status.NOT_MET
    assert equal.measured == "lowest at 9 of 10 points; not at T = 4,000"
    higher = claims(changed("horizon", 4_000, paper.CONTEXT, 299.77))[NAMES[1]]
    assert higher.status is Status.MET


def test_flat_means_the_same_up_to_rounding() -> None:
    for share, is_failed in ((5e-7, False), (2e-6, True)):
        change = changed("graph", 3, paper.CONTEXT, 723.53 * (1 + share))
        assert (NAMES[5] in failed(change)) == is_failed


@pytest.mark.parametrize(
    ("seeds", "claims"),
    [
        (3, set(NAMES)),  # two of the paper's seeds are left: too few for any claim
        (4, {NAMES[0]}),
        (10, {NAMES[0]}),  # nine are left, and an entry needs all
    ],
)
def test_seeds_that_the_paper_did_not_use_do_not_count(seeds: int, claims: set[str]) -> None:
    frame = as_published(seeds=seeds)
    last = [sweep.seeds[seeds - 1] for sweep in paper.SWEEPS]
    frame.loc[frame["seed"].isin(last), "seed"] += 1000
    found = compose(frame, command="").claims
    assert {one.name for one in found if one.status is Status.NOT_JUDGED} == claims


def test_what_cannot_be_judged_says_so() -> None:
    few = claims(seeds=3)
    assert few[NAMES[0]].status is Status.NOT_JUDGED
    assert few[NAMES[2]].status is Status.MET
    assert few[NAMES[2]].measured.endswith(", 3 seeds")
    fewer = claims(seeds=2)
    assert {claim.status for claim in fewer.values()} == {Status.NOT_JUDGED}


def test_a_missing_point_is_not_judged_and_not_hidden() -> None:
    frame = as_published()
    frame = frame[(frame["part"] != "graph") | (frame["environment.alpha"] != 8)]
    report = compose(frame, command="")
    status = {claim.name: claim.status for claim in report.claims}
    assert status[NAMES[0]] is Status.MET
    assert status[NAMES[3]] is status[NAMES[5]] is status[NAMES[6]] is Status.NOT_JUDGED
    assert "36 of 36 entries (of 40 in the paper)" in report.claims[0].measured
    assert "9 of 9 points (of 10 in the paper)" in report.claims[1].measured
    assert report.met


def test_a_method_with_parameters_by_hand_is_not_the_papers() -> None:
    frame = as_published()
    ours = frame["algorithm_name"] == paper.OURS
    frame.loc[ours, "algorithm"] = frame.loc[ours, "algorithm"].str.replace("null", "0.5")
    report = compose(frame, command="")
    assert report.claims[2].status is Status.NOT_JUDGED
    assert report.sweeps[0].column("cross-graph")[0].published is None


def test_runs_that_two_studies_share_count_once() -> None:
    frame = as_published()
    twice = compose(type(frame)([*frame.to_dict("records")] * 2), command="")
    assert twice.sweeps[0].row(twice.sweeps[0].settings[0])[0].summary.seeds == tuple(
        range(200, 210)
    )
