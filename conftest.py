"""Settings for all tests: compiled cores, reproducible Hypothesis, no window system, interrupts."""

import os
import signal
from typing import IO, Any

import pytest
from hypothesis import settings

from crossbandit.core.building import fingerprint, load_all

load_all()  # or pytest, looking for doctests, would import their sources instead
os.environ.setdefault("MPLBACKEND", "Agg")
settings.register_profile("project", deadline=None, derandomize=True)
settings.load_profile("project")
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in the background


def pytest_report_header() -> str:
    """Say which cores are tested."""
    return f"cores: {fingerprint()}"


@pytest.fixture
def empty_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the files of figures without their content, which takes long and is not looked at."""

    def savefig(figure: object, file: IO[bytes], **options: Any) -> None:
        del figure, options
        file.write(b"a figure")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", savefig)
