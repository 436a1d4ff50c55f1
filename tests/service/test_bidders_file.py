"""The file that describes bidders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from crossbandit.errors import InvalidParameterError
from crossbandit.service import BidderSettings, BudgetSettings, CostPerSettings
from crossbandit.service.settings import read_bidders

if TYPE_CHECKING:
    from pathlib import Path


def test_all_that_a_bidder_has_can_be_written(tmp_path: Path) -> None:
    file = tmp_path / "bidders.toml"
    file.write_text(
        """
        [bidders.plain]
        value_range = [0, 10]

        [bidders."with all"]
        value_range = [0, 2.5]
        bids = [0.0, 0.5, 1.0]
        classes = ["site", "device"]
        budget = { amount = 500, per = "day", timezone = "Europe/Berlin" }
        target = { kind = "cost-per", amount = 2.0 }
        """
    )
    assert read_bidders(file) == {
        "plain": BidderSettings(value_range=(0.0, 10.0)),
        "with all": BidderSettings(
            value_range=(0.0, 2.5),
            bids=[0.0, 0.5, 1.0],
            classes=("site", "device"),
            budget=BudgetSettings(500.0, "day", timezone="Europe/Berlin"),
            target=CostPerSettings(2.0),
        ),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no bidders. A bidder is a table such as: [bidders.example]"),
        ("bidders = 3", "has no bidders"),
        ("[bidders]", "has no bidders"),
        ("[bidder.a]\nvalue_range = [0, 1]", "has an unknown key 'bidder'"),
        ("[bidders.a", "is not valid TOML"),
        ('[bidders."a/b"]\nvalue_range = [0, 1]', "[bidders.a/b]: The 'name' parameter of bidders"),
        ("[bidders.a]\nbids = 5", "'value_range' parameter of FirstPriceBidder"),
        ("[bidders.a]\nvalue_range = 3", "[bidders.a], key 'value_range': Expected `array | null`"),
        ("[bidders.a]\nvalue_range = [0, 1]\nbid = 3", "[bidders.a]: Object contains unknown"),
        ("[bidders.a]\nvalue_range = [1, 0]", "[bidders.a]: The 'value_range' parameter"),
        (
            "[bidders.a]\nvalue_range = [0, 1]\nbudget = { amount = 'x' }",
            "[bidders.a], key 'budget.amount': Expected `float`, got `str`",
        ),
        (
            "[bidders.a]\nvalue_range = [0, 1]\nbudget={amount=1}\n[bidders.a.campaigns.x]",
            "[bidders.a]: The 'budget' parameter of FirstPriceBidder must be left out with",
        ),
        (
            "[bidders.a]\nvalue_range = [0, 1]\n[bidders.a.campaigns.'']",
            "[bidders.a]: The 'name' parameter of campaign must be a text that is not empty",
        ),
        (
            "[bidders.a]\nvalue_range = [0, 1]\n[bidders.b]\nvalue_range=[0,1]\nfeedback='x'",
            "[bidders.b]: The 'feedback' parameter of FirstPriceBidder must be",
        ),
    ],
)
def test_a_mistake_is_named_with_file_table_and_key(
    tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "bidders.toml"
    file.write_text(text)
    with pytest.raises(InvalidParameterError) as caught:
        read_bidders(file)
    assert str(caught.value).startswith(str(file))
    assert message in str(caught.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match="cannot be read: No such file"):
        read_bidders(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidParameterError, match="is not UTF-8 text"):
        read_bidders(tmp_path / "bytes.toml")
