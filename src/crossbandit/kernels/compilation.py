"""Decorators that compile kernels."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import numba
from numba.core.options import DefaultOptions

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

    A sum over an array then takes several columns at a time. Its last bits are those of one order,
    the same in every call, but not the order of the interpreter. So nothing that chooses an action
    may depend on it.

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
    types = tuple(numba.typeof(argument) for argument in arguments)
    kernel.compile(types)  # type: ignore[attr-defined]
    return cast("_Kernel", kernel.get_overload(types))


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
        """Return what calls a kernel, and keeps its machine code.

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
