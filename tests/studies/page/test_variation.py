"""How entries vary over other loss tables."""

import pandas as pd
import pytest

from crossbandit.studies import paper
from crossbandit.studies.page import compose
from crossbandit.studies.sweeps import Spread
from tests.studies.page.frames import as_published, row


def first_spread(frame: pd.DataFrame) -> Spread:
    """Return the spread of our entry at T = 2000."""
    spread = compose(frame, command="").spreads[0]
    assert spread.entry.published == paper.HORIZON.entries[2000][paper.OURS]
    return spread


def test_other_tables_are_listed_with_their_means() -> None:
    spread = first_spread(as_published(tables=(2, 1)))
    assert [table for table, _ in spread.others] == [1, 2]
    assert [regret for _, regret in spread.others] == pytest.approx([202.87 * 1.01, 202.87 * 1.02])
    assert (spread.lowest, spread.highest) == (spread.others[0][1], spread.others[1][1])
    assert spread.entry.against_paper(spread.highest) == pytest.approx(0.02)
    assert len(compose(as_published(), command="").spreads) == 40


def test_the_fixed_table_is_not_another() -> None:
    spread = first_spread(as_published(tables=(0, 1)))
    assert [table for table, _ in spread.others] == [1]
    assert compose(as_published(tables=(0,)), command="").spreads == ()


def test_the_number_of_seeds_is_the_fewest_of_any_table() -> None:
    setting = {**paper.HORIZON.fixed, "horizon": 2000, "table_seed": 2}
    more = [row("tables-horizon", setting, paper.OURS, seed, 210.0) for seed in (201, 202)]
    spread = first_spread(pd.concat([as_published(), pd.DataFrame(more)], ignore_index=True))
    assert [table for table, _ in spread.others] == [1, 2]
    assert spread.seeds == 1
    assert spread.others[1][1] == pytest.approx((202.87 * 1.02 + 210 + 210) / 3)
