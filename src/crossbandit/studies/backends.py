"""Where batches are run: in this process, in processes beside it, or on a Ray or Dask cluster.

All but the first go through joblib. A `Pool` maps batches to results in whatever order they are
done, and raises one of its `died` errors when a worker was lost.
"""

from __future__ import annotations

import logging
import os
import socket
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crossbandit.errors import BackendError, InvalidParameterError
from crossbandit.studies.worker import Batch, Failed, Finished, follow, ignore_interrupts, run_batch
from crossbandit.validation import choice, integer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BACKENDS = ("local", "ray", "dask")

_CONNECT_SECONDS = 20


@dataclass(frozen=True)
class Pool:
    """An engine with its workers. `workers` is 1 only for the planner's own process."""

    workers: int
    settings: dict[str, Any] = field(default_factory=dict)
    died: tuple[type[BaseException], ...] = ()

    def map(
        self, batches: Iterable[Batch], *, ahead: int | None = None
    ) -> Iterator[list[Finished | Failed]]:
        """Yield the results of each batch as it is done; `ahead` batches are out at most."""
        if self.workers == 1:
            return map(run_batch, batches)
        from joblib import Parallel, delayed, parallel_config

        with parallel_config(**self.settings):
            parallel = Parallel(
                n_jobs=self.workers,
                return_as="generator_unordered",
                batch_size=1,  # the batches are ours
                pre_dispatch=ahead or 2 * self.workers,
                max_nbytes=None,
            )
        results: Iterator[list[Finished | Failed]] = parallel(
            delayed(run_batch)(batch) for batch in batches
        )
        return results


@contextmanager
def opened(backend: str, jobs: int | None, address: str | None) -> Iterator[Pool]:
    """Yield a pool, and close in the end what was opened for it."""
    choice("run", "backend", backend, BACKENDS)
    if jobs is not None:
        integer("run", "jobs", jobs, at_least=1)
    if backend == "local":
        if address is not None:
            raise InvalidParameterError(
                "The 'address' parameter of run goes with the backends ray and dask: it is where "
                f"a cluster answers. Got {address!r} for the local one."
            )
        yield _local(jobs)
        return
    with (_ray if backend == "ray" else _dask)(jobs, address) as pool:
        yield pool


def _local(jobs: int | None) -> Pool:
    from joblib import cpu_count

    # A cell is one thread's work: with as many processes as cores, more threads would only fight.
    settings = {
        "backend": "loky",
        "inner_max_num_threads": 1,
        "initializer": follow,
        "initargs": (os.getpid(),),
    }
    return Pool(jobs or cpu_count(), settings, (BrokenProcessPool,))


# ------------------------------------------------------------------------------------------ Ray


@contextmanager
def _ray(jobs: int | None, address: str | None) -> Iterator[Pool]:
    try:
        import ray
        from ray.util.joblib.ray_backend import RayBackend
    except ImportError as error:
        raise _missing("ray", error) from error
    from joblib import register_parallel_backend

    class StreamingRay(RayBackend):  # type: ignore[misc]
        """Ray's pool calls back as results come in; joblib only has to be told so."""

        supports_return_generator = True

    register_parallel_backend("crossbandit-ray", StreamingRay)
    ours = not ray.is_initialized()
    if ours:
        _knock(address)
        where: dict[str, Any] = (
            # "local": a cluster that happens to run on this machine is not ours to join.
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
                f"No Ray cluster lets us in at {address or 'this machine'}: {error}. Does this "
                "machine have the cluster's authentication token, if it asks for one?"
            ) from error
    try:
        cores = int(ray.cluster_resources().get("CPU", 0))
        died = (ray.exceptions.RayActorError, ray.exceptions.WorkerCrashedError)
        yield Pool(_workers("Ray", jobs, cores), {"backend": "crossbandit-ray"}, died)
    finally:
        if ours:
            ray.shutdown()


def _knock(address: str | None) -> None:
    """Find out quickly whether anybody is there: Ray itself would try for many minutes."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if not port.isdecimal():  # none, or "auto": Ray knows where
        return
    try:
        socket.create_connection((host, int(port)), timeout=_CONNECT_SECONDS).close()
    except OSError as error:
        raise BackendError(f"No Ray cluster answers at {address!r}: {error}") from error


# ----------------------------------------------------------------------------------------- Dask


@contextmanager
def _dask(jobs: int | None, address: str | None) -> Iterator[Pool]:
    try:
        import distributed
    except ImportError as error:
        raise _missing("dask", error) from error
    from joblib import cpu_count

    with _quiet("distributed"):
        if address is None:
            cluster = distributed.LocalCluster(
                n_workers=max(jobs or cpu_count(), 2),
                threads_per_worker=1,
                dashboard_address=None,
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
        """Dask's backend, made to report a batch whose workers died: joblib's waits for ever."""

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
            # While only one worker is up, joblib would run batches in the planner's process.
            return max(2, int(super().effective_n_jobs(n_jobs)))

    register_parallel_backend("crossbandit-dask", ReportingDask)
    client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
    cores = sum(client.ncores().values())
    settings = {"backend": "crossbandit-dask", "client": client}
    return Pool(_workers("Dask", jobs, max(cores, 2)), settings, (KilledWorker,))


@dataclass(frozen=True)
class _Lost:
    """In place of a result: why there will be none."""

    error: BaseException


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    """Keep a library's notes on workers that come and go out of the progress display."""
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


def _missing(extra: str, error: ImportError) -> BackendError:
    return BackendError(
        f"The {extra} backend needs what is not installed ({error.name}). "
        f"Install it with: pip install 'crossbandit[{extra}]'"
    )
