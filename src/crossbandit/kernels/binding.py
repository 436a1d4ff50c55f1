"""Arguments that a kernel always takes, passed as one address.

A law is about 40 arrays. Each call of a kernel from Python takes them apart again: for each array,
its memory, its shape and its strides. That takes half as long as learning from an outcome. `Bound`
takes them apart once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import config, typeof
from numba.core import cgutils, types
from numba.core.types.containers import BaseTuple
from numba.extending import NativeValue, intrinsic, models, register_model, typeof_impl, unbox
from numba.np.arrayobj import make_array, populate_array


class Bound:
    """NamedTuples of arrays and numbers, as one argument of a kernel, which calls `opened`.

    Arrays are not copied: kernels change those that were given.

    Args:
        *parts: The NamedTuples. Their arrays must be contiguous, with items of 8 bytes.

    Attributes:
        parts: The NamedTuples.
        address: Where the table of their addresses, shapes and numbers is.
    """

    __slots__ = ("_table", "address", "parts")

    def __init__(self, *parts: Any) -> None:
        self.parts = parts
        self._table = np.array([entry for part in parts for entry in _entries(part)], np.int64)
        self.address = self._table.ctypes.data

    def __reduce__(self) -> tuple[type[Bound], tuple[Any, ...]]:
        return Bound, self.parts  # a copy has other addresses


def _entries(value: Any) -> list[int]:
    """Return what the table holds of a value: for an array, its address and its shape."""
    if isinstance(value, tuple):
        return [entry for one in value for entry in _entries(one)]
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous or value.itemsize != _ITEM:
            raise TypeError(f"an array must be contiguous, with items of 8 bytes; got {value!r}")
        return [value.ctypes.data, *value.shape]
    if isinstance(value, float):
        return [int(np.float64(value).view(np.int64))]
    return [int(value)]


_ITEM = 8  # bytes


class _BoundType(types.Opaque):
    """The type of a `Bound`; parts: the type of the tuple of its parts."""

    def __init__(self, parts: types.Type) -> None:
        self.parts = parts
        super().__init__(f"Bound({parts})")


register_model(_BoundType)(models.OpaqueModel)


@typeof_impl.register(Bound)  # type: ignore[untyped-decorator]
def _typeof(value: Bound, context: Any) -> types.Type:
    return _BoundType(typeof(value.parts))


@unbox(_BoundType)  # type: ignore[untyped-decorator]
def _unbox(_: types.Type, value: Any, api: Any) -> NativeValue:
    found = api.pyapi.object_getattr_string(value, "address")
    address = api.pyapi.long_as_voidptr(found)
    api.pyapi.decref(found)
    return NativeValue(address)


def _opened(typing: Any, bound: Any) -> Any:
    """Return the parts of a `Bound`, in a kernel."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words = cgutils.intp_t.as_pointer()
        table, at = builder.bitcast(arguments[0], words), iter(range(1 << 30))

        def word() -> Any:
            return builder.load(builder.gep(table, [cgutils.intp_t(next(at))]))

        def value(kind: Any) -> Any:
            if isinstance(kind, BaseTuple):
                return context.make_tuple(builder, kind, [value(one) for one in kind])
            if isinstance(kind, types.Array):
                return array(kind)
            if isinstance(kind, types.Boolean):
                return builder.icmp_signed("!=", word(), cgutils.intp_t(0))
            found = context.get_value_type(kind)
            return word() if isinstance(kind, types.Integer) else builder.bitcast(word(), found)

        def array(kind: Any) -> Any:
            made = make_array(kind)(context, builder)
            memory = builder.inttoptr(word(), made.data.type)
            shape = [word() for _ in range(kind.ndim)]
            strides = [cgutils.intp_t(_ITEM)]
            for extent in shape[:0:-1]:
                strides.insert(0, builder.mul(strides[0], extent))
            given = {"data": memory, "shape": shape, "strides": strides}
            populate_array(made, **given, itemsize=cgutils.intp_t(_ITEM), meminfo=None)
            return made._getvalue()  # noqa: SLF001 - numba has no other way

        return value(signature.return_type)

    return bound.parts(bound), code


def _parts(bound: Bound) -> Any:
    """Return the parts of a `Bound`."""
    return bound.parts


opened = _parts if config.DISABLE_JIT else intrinsic(_opened)
