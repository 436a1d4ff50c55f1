"""Studies may register algorithms and load files; other tests should not see them."""

import sys
from collections.abc import Iterator

import pytest
from joblib.externals.loky import get_reusable_executor

from crossbandit.algorithms.learners import algorithm
from crossbandit.core import modules


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(algorithm._ALGORITHMS, "_builders", algorithm.registered())
    yield
    forget()


def forget() -> None:
    """Unload all files, here and in workers, as if a new process had begun."""
    if modules._LOADED:
        get_reusable_executor().shutdown(wait=True, kill_workers=True)
    files = {file for known in modules._LOADED.values() for file in known}
    for name in [name for name, one in sys.modules.items() if getattr(one, "__file__", 0) in files]:
        del sys.modules[name]
    modules._LOADED.clear()
