"""Studies may register algorithms; other tests should not see them."""

import pytest

from crossbandit import modules
from crossbandit.learners import algorithm


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(algorithm._ALGORITHMS, "_builders", algorithm.registered())
    monkeypatch.setattr(modules, "_LOADED", {})
