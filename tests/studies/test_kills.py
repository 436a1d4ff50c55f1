"""A study that is killed at random moments loses, doubles and changes nothing."""

import os
import random
import signal
import sys
import time
from pathlib import Path

import pytest

from crossbandit import studies
from crossbandit.studies import Study, StudyProgress
from tests.studies.helpers import SMALL, content

KILLS = 30
STUDY = SMALL.replace("5..7", "0..249")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="kills forked processes")


def test_a_study_survives_thirty_kills(tmp_path: Path) -> None:
    """A forked child runs the study and reports its progress; it is killed with SIGKILL.

    Whatever it had reported as computed is in the results file afterwards, and stays there.
    """
    study = Study.from_toml(STUDY)
    studies.run(study, tmp_path / "whole", jobs=1)
    whole = content(tmp_path / "whole")
    moments = random.Random(7)  # noqa: S311 - not for secrets
    kept: dict[tuple[str, str], object] = {}
    folder = 0
    for _ in range(KILLS):
        if len(kept) == len(whole):  # it has finished before it was killed: begin another one
            folder, kept = folder + 1, {}
        out = tmp_path / str(folder)
        reported = _run_and_kill(study, out, moments.expovariate(8.0))
        # Killed before it has reported anything, a new file may not have its tables yet.
        now = content(out) if kept or reported >= 0 else {}
        assert len(now) >= reported
        assert kept.items() <= now.items()
        assert now.items() <= whole.items()
        kept = dict(now)
    studies.run(study, tmp_path / str(folder), jobs=1)
    assert content(tmp_path / str(folder)) == whole


def _run_and_kill(study: Study, out: Path, seconds: float) -> int:
    """Kill a study after some time; return how many cells it had reported, -1 if none."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:

        def tell(progress: StudyProgress) -> None:
            os.write(write, f"{progress.kept + progress.computed}\n".encode())

        try:
            studies.run(study, out, jobs=1, progress=tell)
        finally:
            os._exit(0)
    os.close(write)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(read) as pipe:
        lines = pipe.read().split("\n")[:-1]
    return int(lines[-1]) if lines else -1
