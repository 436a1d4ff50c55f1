"""Kernels compile wherever the package is installed."""

from collections.abc import Callable
from typing import Any

import numba
import pytest

from crossbandit.kernels.compilation import compiled, inlined


def double(x: float) -> float:
    return 2.0 * x


@pytest.mark.parametrize("decorator", [compiled, inlined])
def test_where_no_folder_can_be_written_machine_code_is_not_kept(
    decorator: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    original, asked = numba.njit, []

    def read_only(**options: Any) -> Any:
        asked.append(options["cache"])
        if options["cache"]:
            raise RuntimeError("cannot cache function 'double': no locator available")
        return original(**options)

    monkeypatch.setattr(numba, "njit", read_only)
    assert decorator(double)(21.0) == 42.0
    assert asked == [True, False]
