from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from crossbandit.core.report.print import spread_out, style


@given(st.lists(st.floats(0, 1), max_size=12), st.floats(0.01, 0.08))
def test_labels_do_not_touch(places: list[float], apart: float) -> None:
    moved = spread_out(sorted(places), apart)
    assert len(moved) == len(places)
    assert all(b - a >= apart * 0.999 for a, b in pairwise(moved))
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in moved)


def test_no_two_of_many_methods_look_alike() -> None:
    assert len({style(i) for i in range(49)}) == 49
