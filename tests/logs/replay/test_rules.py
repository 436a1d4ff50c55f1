"""The rules of a replay."""

import pytest

from crossbandit.errors import InvalidParameterError
from crossbandit.logs.replay import ReplayRules


def test_bids_are_a_number_a_list_or_auto() -> None:
    assert ReplayRules().bids == "auto"
    assert ReplayRules(bids=30).bids == 30
    with pytest.raises(InvalidParameterError, match="a number of bids, the bids, or 'auto'"):
        ReplayRules(bids="geometric")
