"""Studies may register algorithms; other tests should not see them."""

import pytest

from crossbandit.algorithms import algorithm
from crossbandit.studies import build


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(algorithm._ALGORITHMS, "_builders", algorithm.registered())
    monkeypatch.setattr(build, "_LOADED", {})
