"""What cores use of `cython` where it is not installed: decorators do nothing, casts convert."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

compiled = False


def _same(part: Any) -> Any:
    return part


cclass = cfunc = ccall = inline = final = _same


def exceptval(*_: object, **__: object) -> Any:
    return _same


def cast(kind: Any, value: Any) -> Any:
    return kind(value)


def declare(_: object, value: Any = None, **__: object) -> Any:
    return value


class _Nogil(nullcontext[None]):
    def __call__(self, part: Any) -> Any:
        return part


nogil = _Nogil()
longlong = ulonglong = Py_ssize_t = int
double, bint, void = float, bool, None  # annotations are not evaluated
