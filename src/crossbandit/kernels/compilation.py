"""Decorators that compile kernels, and ways to call machine code with little overhead.

When Python calls a kernel, Numba first finds the types of the arguments, and unpacks the address,
the shape and the strides of each array. For one round of a learner, that takes longer than the
round. `MachineCode` finds the types only once. A law has about 40 arrays; `Bound` unpacks them only
once, and passes one address.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba import config, typeof
from numba.core import cgutils, types
from numba.core.options import DefaultOptions
from numba.core.types.containers import BaseTuple
from numba.extending import NativeValue, intrinsic, models, register_model, typeof_impl, unbox
from numba.np.arrayobj import make_array, populate_array

_OPTIONS: dict[str, Any] = {"cache": True, "error_model": "numpy"}
# Kernels allocate nothing, so references to arrays need not be counted. Counting them would double
# the time of a round. A kernel that allocates does not compile.
if hasattr(DefaultOptions, "_nrt"):
    _OPTIONS["_nrt"] = False
_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])


def compiled(kernel: _Kernel) -> _Kernel:
    """Compile `kernel` on first use and keep the machine code on disk for the next process.

    It runs without holding Python's global lock, so other threads run at the same time. `fastmath`
    stays off: it reorders sums, and with them which arm is drawn. Without it, compiled and
    interpreted kernels agree to the last bit wherever the platform's `exp` does.

    Args:
        kernel: A function of numbers, arrays and NamedTuples of them, which allocates nothing.

    Returns:
        The compiled function.
    """
    return _jit(kernel, {"nogil": True, **_OPTIONS})


def inlined(kernel: _Kernel) -> _Kernel:
    """Compile a step that other kernels call once or more per round.

    It becomes part of its callers: passing a state of a dozen arrays would take longer than many
    steps do. Called from Python it holds the global lock, so a step of a learner is never
    interleaved with another step of it.

    Args:
        kernel: A function of numbers, arrays and NamedTuples of them, which allocates nothing.

    Returns:
        The compiled function.
    """
    return _jit(kernel, {"forceinline": True, **_OPTIONS})


def reordered(kernel: _Kernel) -> _Kernel:
    """Compile a step, as `inlined` does, in which sums may be taken in any order.

    A sum over an array then adds several columns at a time. Its order is the same in every call,
    but differs from that of interpreted code, and so do the last bits of the sum. So nothing that
    chooses an action may depend on it.

    Args:
        kernel: A function of numbers, arrays and NamedTuples of them, which allocates nothing.

    Returns:
        The compiled function.
    """
    return _jit(kernel, {"forceinline": True, "fastmath": {"reassoc", "nsz"}, **_OPTIONS})


def compiled_with(loop: Callable[..., Any], **kernels: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a copy of a loop in which global names stand for given kernels.

    A closure over the kernels would do the same, but Numba cannot keep its machine code on disk.
    The machine code of the copy is kept beside the file of the first kernel.

    Args:
        loop: A function that calls kernels by global names. It is not compiled itself.
        **kernels: The kernels by these names.

    Returns:
        The compiled function.
    """
    python = [getattr(kernel, "py_func", kernel) for kernel in kernels.values()]
    code, home = loop.__code__, python[0]
    own, others = code.co_filename, {one.__code__.co_filename for one in python}
    if hasattr(next(iter(kernels.values())), "py_func"):  # it is compiled
        code = code.replace(co_filename=home.__code__.co_filename)
    copy = FunctionType(code, {**loop.__globals__, **kernels}, loop.__name__)
    # Module and name are those of the file of machine code. Numba compiles again if the first
    # kernel's file changes; the checksum is for the others, and for kernels of equal names.
    total = zlib.crc32("".join(f"{one.__module__}.{one.__qualname__} " for one in python).encode())
    for file in sorted({own, *others} - {home.__code__.co_filename}):
        total = zlib.crc32(Path(file).read_bytes() if Path(file).is_file() else b"", total)
    copy.__module__ = home.__module__
    copy.__qualname__ = f"{loop.__name__}_{home.__qualname__}_{total:08x}"
    return compiled(copy)


def _jit(kernel: _Kernel, options: Mapping[str, Any]) -> _Kernel:
    try:
        return cast("_Kernel", numba.njit(**options)(kernel))
    except RuntimeError:  # no folder for machine code can be written: compile for this process
        return cast("_Kernel", numba.njit(**{**options, "cache": False})(kernel))


def resolved(kernel: _Kernel, *arguments: object) -> _Kernel:
    """Return the machine code of `kernel` for arguments of these types.

    Calling it skips finding the types of the arguments, which takes longer than a round for a
    state of a dozen arrays. It must be called with arguments of the same types.

    Args:
        kernel: A compiled or inlined kernel.
        *arguments: Arguments as the kernel will be called with.

    Returns:
        A callable that takes arguments of exactly these types.
    """
    if not hasattr(kernel, "get_overload"):  # interpreted: there is no machine code
        return kernel
    kinds = tuple(typeof(argument) for argument in arguments)
    kernel.compile(kinds)  # type: ignore[attr-defined]
    return cast("_Kernel", kernel.get_overload(kinds))


class MachineCode(dict[Callable[..., Any], Callable[..., Any]]):
    """The machine code of kernels, found when each is called for the first time.

    All calls of one kernel must have arguments of the same types. So an object that calls kernels
    with its own arrays keeps one of these.

    >>> code = MachineCode()
    >>> add = compiled(lambda a, b: a + b)
    >>> code[add](1, 2), code[add](3, 4)
    (3, 7)
    """

    def __call__(self, kernel: Callable[..., Any], *arguments: Any) -> Any:
        """Call a kernel, as `code[kernel](*arguments)` does.

        Args:
            kernel: A compiled or inlined kernel.
            *arguments: Its arguments, of the same types in every call.
        """
        return self[kernel](*arguments)

    def __missing__(self, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that calls a kernel and keeps its machine code.

        Args:
            kernel: A compiled or inlined kernel.
        """

        def first(*arguments: Any) -> Any:
            self[kernel] = resolved(kernel, *arguments)
            return self[kernel](*arguments)

        return first

    def __reduce__(self) -> tuple[type[MachineCode], tuple[()]]:
        """Let copies find the machine code again: it belongs to this process."""
        return MachineCode, ()


class Bound:
    """NamedTuples of arrays and numbers as one argument of a kernel. The kernel calls `opened`.

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
    """Return the entries of the table for a value: for an array, its address and its shape."""
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
