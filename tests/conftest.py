"""Settings for all tests: reproducible Hypothesis, no window system, and their order."""

import os
from typing import IO, Any

import pytest
from hypothesis import settings

os.environ.setdefault("MPLBACKEND", "Agg")
settings.register_profile("project", deadline=None, derandomize=True)
settings.load_profile("project")

# Tests that compile few kernels, or none that other tests need.
NOTHING_TO_COMPILE = (
    "tests/graphs/",
    "tests/logs/",
    "tests/reference/",
    "tests/report/",
    "tests/studies/page/",
    "tests/test_docstrings.py",
    "tests/test_extras.py",
    "tests/test_files.py",
    "tests/test_installation.py",
    "tests/test_mutants.py",
    "tests/test_website.py",
    "tests/test_wrap.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the second of two workers begin with tests that compile nothing.

    In a new checkout, both would compile the same kernels at the same time. Meanwhile the first one
    compiles them, and keeps the machine code on disk. `--dist worksteal` gives each worker one half
    of the list.
    """
    first = [one for one in items if one.nodeid.startswith(NOTHING_TO_COMPILE)]
    others = [one for one in items if not one.nodeid.startswith(NOTHING_TO_COMPILE)]
    half = len(items) // 2
    items[:] = others[:half] + first + others[half:]


@pytest.fixture
def empty_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the files of figures without their content, which takes long and is not looked at."""

    def savefig(figure: object, file: IO[bytes], **options: Any) -> None:
        del figure, options
        file.write(b"a figure")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", savefig)
