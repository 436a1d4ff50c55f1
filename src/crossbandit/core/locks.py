"""A lock that machine code takes in a few nanoseconds."""

from __future__ import annotations

try:
    import cython
except ImportError:
    from crossbandit.core import shim as cython  # type: ignore[no-redef]

if cython.compiled:
    from cython.cimports.cpython.pythread import (
        PyThread_acquire_lock,
        PyThread_allocate_lock,
        PyThread_free_lock,
        PyThread_get_thread_ident,
        PyThread_release_lock,
    )

from threading import RLock


@cython.final
@cython.cclass
class Lock:
    """A lock that the thread that holds it may take again, as `threading.RLock`.

    To take one of those from machine code takes ten times as long. Python runs one thread at a
    time, so `owner` alone tells whether the lock is free. Only a thread that has to wait needs the
    lock of the system: it first takes that on behalf of the owner, who releases it.
    """

    def __init__(self) -> None:
        self.owner, self.depth, self.waiting, self.taken = 0, 0, 0, False
        self.plain = None if cython.compiled else RLock()
        if cython.compiled:
            self.lock = PyThread_allocate_lock()
            if self.lock == cython.NULL:
                raise MemoryError

    def __reduce__(self):
        return Lock, ()  # objects that share a lock share that of their copies, too

    def __dealloc__(self):
        if cython.compiled and self.lock != cython.NULL:
            PyThread_free_lock(self.lock)

    def acquire(self):
        if not cython.compiled:
            self.plain.acquire()
            return
        own: cython.ulong = PyThread_get_thread_ident()
        if self.owner != own:
            if self.owner != 0 or self.waiting > 0:
                self.wait()
            self.owner = own
        self.depth += 1

    def wait(self):
        if not self.taken and self.waiting == 0:
            self.taken = True
            PyThread_acquire_lock(self.lock, 0)
        self.waiting += 1
        with cython.nogil:
            PyThread_acquire_lock(self.lock, 1)
        self.waiting -= 1
        self.taken = True

    def release(self):
        if not cython.compiled:
            self.plain.release()
            return
        if self.owner != PyThread_get_thread_ident():
            raise RuntimeError("A thread can release only a lock that it holds.")
        self.depth -= 1
        if self.depth == 0:
            self.owner = 0
            if self.taken:
                self.taken = False
                PyThread_release_lock(self.lock)

    def __enter__(self):
        self.acquire()
        return True

    def __exit__(self, *error):
        self.release()
