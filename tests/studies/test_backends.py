"""Real clusters on this machine: two workers each."""

import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from crossbandit import studies
from crossbandit.core import backends
from crossbandit.core.backends import BackendName
from crossbandit.errors import BackendError, MissingPackageError
from crossbandit.studies import Study
from tests.studies.helpers import SMALL, content, crossbandit, mischief, small

SCHEDULER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@pytest.mark.parametrize("backend", ["dask", "ray"])
def test_a_cluster_gives_the_same_bits_though_a_worker_dies(backend: str, tmp_path: Path) -> None:
    deaths = tmp_path / "deaths"
    deaths.mkdir()
    rules = f'{{ id = "deadly", folder = "{deaths}" }}, "cross-graph", "exp3-ix", "elp"'
    path = mischief(tmp_path, rules)
    result = crossbandit(
        "run", path, "--out", tmp_path / "there", "--backend", backend, "--jobs", 2
    )
    assert result.returncode == 0, result.stderr
    assert "40 cells computed" in result.stdout
    assert len(list(deaths.iterdir())) == 1
    studies.run(Study.from_toml(path), tmp_path / "here", jobs=1)
    assert content(tmp_path / "there") == content(tmp_path / "here")


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[str]:
    script = tmp_path / "scheduler.py"
    script.write_text(SCHEDULER)
    process = subprocess.Popen(
        [sys.executable, str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    yield process.stdout.readline().strip()
    process.communicate("")


def test_an_existing_cluster_is_used_by_its_address(scheduler: str, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    study, out = tmp_path / "small.toml", tmp_path / "there"
    where = ("--backend", "dask", "--address", scheduler)
    result = crossbandit("run", study, "--out", out, *where)
    assert result.returncode == 0, result.stderr
    studies.run(small(), tmp_path / "here", jobs=1)
    assert content(out) == content(tmp_path / "here")


@pytest.mark.parametrize(
    ("backend", "address"),
    [("dask", "tcp://127.0.0.1:9"), ("ray", "127.0.0.1:9"), ("ray", "ray://127.0.0.1:9")],
)
def test_a_cluster_that_does_not_answer(
    backend: BackendName, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "_CONNECT_SECONDS", 1)
    message = f"No .* answers at '{address}'"
    with pytest.raises(BackendError, match=message):
        studies.run(small(), tmp_path, backend=backend, address=address)


@pytest.mark.parametrize(("backend", "module"), [("ray", "ray"), ("dask", "distributed")])
def test_a_missing_extra_is_named(
    backend: BackendName, module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingPackageError, match=rf'pip install "crossbandit\[{backend}\]"'):
        studies.run(small(), tmp_path, backend=backend)


def test_results_that_nobody_waits_for_are_no_reason_for_a_warning() -> None:
    with backends.open_pool("local", 2, None) as pool, warnings.catch_warnings():
        warnings.simplefilter("error")
        results = pool.map(time.sleep, [0.0, *[0.2] * 20])
        next(results)
        results.close()


def test_an_interrupt_while_a_result_is_stored_is_no_reason_for_a_warning(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    def interrupted(progress: studies.StudyProgress) -> None:
        if progress.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        studies.run(small(), tmp_path, jobs=2, progress=interrupted)
    assert [str(one.message) for one in recwarn] == []
    assert 0 < studies.run(small(), tmp_path, jobs=2).kept < len(small().cells)
