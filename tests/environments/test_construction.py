"""What all constructors of environments check alike."""

import pytest

from crossbandit import graphs
from crossbandit.environments import first_price, paper_benchmark, spam, switching
from crossbandit.errors import InvalidParameterError


@pytest.mark.parametrize("seed", [0, 2**70])
def test_a_seed_of_any_size_is_taken(seed: int) -> None:
    environment = switching(graphs.complete(3), 100, table_seed=seed)
    assert environment.losses(5).shape == (3, 100)


def test_a_bad_horizon_or_seed_names_the_environment() -> None:
    with pytest.raises(InvalidParameterError, match="'horizon' parameter of first_price"):
        first_price(0)
    with pytest.raises(InvalidParameterError, match="'table_seed' parameter of spam"):
        spam(10, table_seed=-1)
    with pytest.raises(InvalidParameterError, match="'horizon' parameter of paper_benchmark"):
        paper_benchmark(0, alpha=4)
