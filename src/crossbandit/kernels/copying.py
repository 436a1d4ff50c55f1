"""Copies as plain loops.

In compiled code, `out[:] = source` includes the error message about different shapes. That takes
seconds to compile, and shapes never differ here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.kernels.compilation import inlined

if TYPE_CHECKING:
    from crossbandit.types import Floats


@inlined
def copy_vector(source: Floats, out: Floats) -> None:
    """Copy `source` (n,) to `out` (n,)."""
    for i in range(out.size):
        out[i] = source[i]


@inlined
def copy_matrix(source: Floats, out: Floats) -> None:
    """Copy `source` (m, n) to `out` (m, n)."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = source[i, j]
