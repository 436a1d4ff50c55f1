"""Limits: their arguments, and their JSON form."""

from __future__ import annotations

import json
import math
from datetime import timedelta
from typing import Any

import pytest

from crossbandit.errors import InvalidParameterError
from crossbandit.limits import Budget, CostPer, Lease, Limit, ReturnOnSpend
from crossbandit.limits.settings import limit_from_json

LIMITS: list[Limit] = [
    Budget(500),
    Budget(0.1, per=timedelta(hours=3), pacing="even", timezone="Asia/Kolkata"),
    Budget(7, per=1000, pacing="asap"),
    Budget(7, per=None, pacing="asap"),
    ReturnOnSpend(3.0, keep="long-run", aim="surplus", per="hour"),
    CostPer(12.0, worth=60.0, per=10),
    CostPer(12),
    Lease("a", 5.0, 10.0, 20.5),
]


@pytest.mark.parametrize("limit", LIMITS, ids=str)
def test_a_limit_survives_json(limit: Limit) -> None:
    assert limit_from_json(json.loads(json.dumps(limit.to_json()))) == limit


def test_a_lease_survives_bytes() -> None:
    lease = Lease("a", 5.0, 10.0, 20.5, "asap")
    assert Lease.from_bytes(lease.to_bytes()) == lease


@pytest.mark.parametrize("data", [b"", b"\xff", b"{}", b"[1]", None, b'{"kind": "lease"}'])
def test_bytes_that_are_no_lease_are_refused(data: Any) -> None:
    with pytest.raises(InvalidParameterError, match="Lease"):
        Lease.from_bytes(data)


@pytest.mark.parametrize(
    "data", [None, {}, {"kind": "x"}, {"kind": "budget"}, {**LIMITS[0].to_json(), "more": 1}]
)
def test_json_that_is_no_limit_is_refused(data: Any) -> None:
    with pytest.raises(InvalidParameterError):
        limit_from_json(data)
    with pytest.raises(InvalidParameterError):
        Budget.from_json(data)


def test_the_json_form_of_another_kind_is_refused() -> None:
    form = {**Budget(5).to_json(), "kind": "cost-per"}
    with pytest.raises(InvalidParameterError, match=r"'kind' parameter of Budget\.from_json"):
        Budget.from_json(form)


@pytest.mark.parametrize("amount", [0, -1, math.nan, math.inf, "5", None, True, 1e300])
def test_a_budget_must_be_a_positive_amount(amount: Any) -> None:
    with pytest.raises(InvalidParameterError, match="'amount' parameter of Budget"):
        Budget(amount)
    with pytest.raises(InvalidParameterError, match="'amount' parameter of CostPer"):
        CostPer(amount)
    with pytest.raises(InvalidParameterError, match="'ratio' parameter of ReturnOnSpend"):
        ReturnOnSpend(amount)


@pytest.mark.parametrize(
    "per", ["year", 0, -3, 1.5, True, timedelta(0), timedelta(days=400), timedelta(seconds=-1), []]
)
def test_a_period_must_be_one(per: Any) -> None:
    for make in (Budget, ReturnOnSpend, CostPer):
        with pytest.raises(InvalidParameterError, match=f"'per' parameter of {make.__name__}"):
            make(1.0, per=per)


@pytest.mark.parametrize("zone", ["Nowhere/Land", "", 3, None, "../etc"])
def test_a_time_zone_must_be_known(zone: Any) -> None:
    with pytest.raises(InvalidParameterError, match="'timezone' parameter of Budget"):
        Budget(1, timezone=zone)


def test_choices_must_be_known() -> None:
    with pytest.raises(InvalidParameterError, match="'pacing' parameter of Budget"):
        Budget(1, pacing="slow")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="'keep' parameter of CostPer"):
        CostPer(1, keep="never")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="'aim' parameter of ReturnOnSpend"):
        ReturnOnSpend(1, aim="fame")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="'worth' parameter of CostPer"):
        CostPer(1, worth=0)
    with pytest.raises(InvalidParameterError, match="'ends' parameter of Lease"):
        Lease("a", 1.0, 5.0, 5.0)


def test_a_win_allows_to_spend_its_credit() -> None:
    assert ReturnOnSpend(4).credit() == (0.0, 0.25)
    assert CostPer(3).credit() == (3.0, 0.0)
    assert CostPer(3, worth=12).credit() == (0.0, 0.25)
