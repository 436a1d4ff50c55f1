"""Run tasks in this process, in worker processes, or on a Ray or Dask cluster.

All but the first use joblib. A `Pool` yields results in the order in which tasks finish, and raises
one of its `died` errors if a worker was lost. The three backends are in one file, because each only
opens and closes its pool.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import multiprocessing
import os
import signal
import socket
import threading
import time
import warnings
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from crossbandit.core.extras import require
from crossbandit.core.validation import choice, integer
from crossbandit.errors import BackendError, InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator


_WATCH_SECONDS = 0.25

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # options of glibc's `mallopt`


def end_with_parent(parent: int) -> None:
    """Prepare a worker process: it ignores Ctrl-C, and ends when its parent process has ended."""
    ignore_interrupts()

    def end_after_parent() -> None:
        while os.getppid() == parent:
            time.sleep(_WATCH_SECONDS)
        os._exit(1)

    threading.Thread(target=end_after_parent, daemon=True).start()
    # By default, glibc returns the arrays of a batch of rounds to the system after every batch.
    # Getting them back costs a third of a long run, and more if several workers ask at once.
    with contextlib.suppress(AttributeError, OSError, TypeError):  # another C library
        tune = ctypes.CDLL(None).mallopt
        for option in (_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD):
            tune(option, 2**30)


def ignore_interrupts() -> None:
    """Ignore Ctrl-C, which a terminal sends to every process; the parent reacts to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Block Ctrl-C in this thread, and in the processes that it starts meanwhile.

    A process that is still loading its modules would print a traceback otherwise. The signal is
    not lost: it arrives when the block ends.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

BackendName = Literal["local", "ray", "dask"]
BACKENDS: tuple[BackendName, ...] = get_args(BackendName)

_CONNECT_SECONDS = 20


@dataclass(frozen=True)
class Pool:
    """A number of workers and how to reach them. One worker means this process itself."""

    workers: int
    settings: dict[str, Any] = field(default_factory=dict)
    died: tuple[type[BaseException], ...] = ()

    def map(
        self, work: Callable[[_Task], _Result], tasks: Iterable[_Task], *, ahead: int | None = None
    ) -> Generator[_Result]:
        """Yield the result of each task as it is done; at most `ahead` are sent in advance.

        Whoever leaves the generator early stops the workers. joblib takes a generator of its own
        that is closed early for a mistake and warns; an error that meets it is none.
        """
        if self.workers == 1:
            yield from map(work, tasks)
            return
        from joblib import Parallel, delayed, parallel_config

        with parallel_config(**self.settings):
            parallel = Parallel(
                n_jobs=self.workers,
                return_as="generator_unordered",
                batch_size=1,  # a task is large
                pre_dispatch=ahead or 2 * self.workers,
                max_nbytes=None,
            )
        if self.settings.get("backend") == "loky":
            _start_resource_trackers()
        results: Generator[_Result] | None = None
        try:
            with interrupts_blocked():  # workers start here
                results = parallel(delayed(work)(task) for task in tasks)
            for result in results:  # noqa: UP028 - it would be closed, and not be told why
                yield result
        except BaseException:
            if results is not None:
                with contextlib.suppress(_Left):
                    results.throw(_Left)
            raise


class _Left(BaseException):
    """Nobody waits for the other results."""


@contextmanager
def open_pool(
    backend: str,
    jobs: int | None,
    address: str | None,
    *,
    owner: str = "run",
    warning: type[Warning] = UserWarning,
) -> Iterator[Pool]:
    """Yield a pool, and close everything that was opened for it."""
    choice(owner, "backend", backend, BACKENDS)
    if jobs is not None:
        integer(owner, "jobs", jobs, at_least=1)
    if backend == "local":
        if address is not None:
            raise InvalidParameterError(
                f"The 'address' parameter of {owner} must be None with the local backend: it is "
                f"the address of a Ray or Dask cluster. Got {address!r}."
            )
        yield _local(jobs, warning)
        return
    with (_ray if backend == "ray" else _dask)(jobs, address) as pool:
        yield pool


def _local(jobs: int | None, warning: type[Warning]) -> Pool:
    if jobs != 1 and not _has_semaphores():
        warnings.warn(
            "This system does not allow worker processes to share memory (is /dev/shm writable?). "
            "Everything runs in one process.",
            warning,
            stacklevel=5,
        )
        jobs = 1
    if jobs == 1:
        return Pool(1)
    require("joblib", extra="studies", owner="More than one worker")
    from joblib import cpu_count

    # A task uses one thread. There are as many processes as cores, so more would not help.
    settings = {
        "backend": "loky",
        "inner_max_num_threads": 1,
        "initializer": end_with_parent,
        "initargs": (os.getpid(),),
    }
    return Pool(jobs or cpu_count(), settings, (BrokenProcessPool,))


def _start_resource_trackers() -> None:
    """Start the helper processes of workers early, because that unblocks a thread's signals."""
    from multiprocessing import resource_tracker

    from joblib.externals.loky.backend import resource_tracker as loky_tracker

    resource_tracker.ensure_running()
    loky_tracker.ensure_running()


def _has_semaphores() -> bool:
    """Return whether this system has what processes need to wait for each other."""
    methods = multiprocessing.get_all_start_methods()
    try:  # with "fork", it needs no process to remove it later
        multiprocessing.get_context("fork" if "fork" in methods else None).Semaphore()
    except (ImportError, OSError):
        return False
    return True


# ------------------------------------------------------------------------------------------ Ray


@contextmanager
def _ray(jobs: int | None, address: str | None) -> Iterator[Pool]:
    require("joblib", "ray", extra="ray", owner="The ray backend")
    import ray
    from joblib import register_parallel_backend
    from ray.util.joblib.ray_backend import RayBackend

    class StreamingRay(RayBackend):  # type: ignore[misc]
        """The backend of Ray, which can return results as they arrive; joblib assumes it cannot."""

        supports_return_generator = True

    register_parallel_backend("crossbandit-ray", StreamingRay)
    ours = not ray.is_initialized()
    if ours:
        host, _, port = (address or "").removeprefix("ray://").rpartition(":")
        if port.isdecimal():  # otherwise there is no address, or "auto": Ray finds the cluster
            try:  # whether something answers: Ray itself would try for many minutes
                socket.create_connection((host, int(port)), timeout=_CONNECT_SECONDS).close()
            except OSError as error:
                raise BackendError(f"No Ray cluster answers at {address!r}: {error}") from error
        where: dict[str, Any] = (
            # "local": do not join a cluster that happens to run on this machine.
            {
                "address": "local",
                "num_cpus": max(jobs, 2) if jobs else None,
                "include_dashboard": False,
            }
            if address is None
            else {"address": address}
        )
        try:
            ray.init(log_to_driver=False, logging_level=logging.ERROR, **where)
        except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
            raise BackendError(
                f"The Ray cluster at {address or 'this machine'} refuses the connection: {error}. "
                "If it needs an authentication token, does this machine have it?"
            ) from error
    try:
        cores = int(ray.cluster_resources().get("CPU", 0))
        died = (ray.exceptions.RayActorError, ray.exceptions.WorkerCrashedError)
        yield Pool(_workers("Ray", jobs, cores), {"backend": "crossbandit-ray"}, died)
    finally:
        if ours:
            ray.shutdown()


# ----------------------------------------------------------------------------------------- Dask


@contextmanager
def _dask(jobs: int | None, address: str | None) -> Iterator[Pool]:
    require("joblib", "distributed", extra="dask", owner="The dask backend")
    import distributed
    from joblib import cpu_count

    with _quiet("distributed"):
        if address is None:
            cluster = distributed.LocalCluster(
                n_workers=max(jobs or cpu_count(), 2),
                threads_per_worker=1,
                dashboard_address=":0",  # any free port
                silence_logs=logging.CRITICAL,
            )
            with cluster, distributed.Client(cluster, set_as_default=False) as client:
                client.run(ignore_interrupts)
                yield _dask_pool(client, jobs)
            return
        try:
            client = distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise BackendError(f"No Dask scheduler answers at {address!r}: {error}") from error
        with client:
            yield _dask_pool(client, jobs)


def _dask_pool(client: Any, jobs: int | None) -> Pool:
    from distributed import KilledWorker
    from joblib import register_parallel_backend
    from joblib._dask import DaskDistributedBackend

    class ReportingDask(DaskDistributedBackend):  # type: ignore[misc]
        """The backend of Dask, which also reports a batch whose workers died.

        The backend of joblib would wait for such a batch forever.
        """

        def submit(self, func: Any, callback: Any = None) -> Any:
            future = super().submit(func, callback)

            def report(done: Any) -> None:
                if not done.cancelled() and done.exception() is not None and callback is not None:
                    callback(_Lost(done.exception()))

            future.add_done_callback(report)
            return future

        def retrieve_result_callback(self, out: Any) -> Any:
            if isinstance(out, _Lost):
                raise out.error
            return super().retrieve_result_callback(out)

        def effective_n_jobs(self, n_jobs: int) -> int:
            # While there is only one worker, joblib would run batches in this process.
            return max(2, int(super().effective_n_jobs(n_jobs)))

    register_parallel_backend("crossbandit-dask", ReportingDask)
    client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
    cores = sum(client.ncores().values())
    settings = {"backend": "crossbandit-dask", "client": client}
    return Pool(_workers("Dask", jobs, max(cores, 2)), settings, (KilledWorker,))


@dataclass(frozen=True)
class _Lost:
    """The reason why there is no result; it is returned instead of one."""

    error: BaseException


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    """Keep the log messages of a library out of the progress display."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


# --------------------------------------------------------------------------------------- shared


def _workers(engine: str, jobs: int | None, cores: int) -> int:
    if cores < 2:
        raise BackendError(
            f"The {engine} cluster has {cores} cores. With fewer than 2, use the local backend."
        )
    return cores if jobs is None else min(max(jobs, 2), cores)
