"""Every shipped algorithm plays what it has always played, on every shipped environment.

`fingerprint.json` was recorded by `python -m tests.environments.simulation.fingerprint`. A change
of it is a change of every published number: record it anew only on purpose.
"""

import json
from pathlib import Path

from tests.environments.simulation import fingerprint


def test_arms_and_regrets_are_those_that_were_recorded() -> None:
    path = Path(__file__).with_name("fingerprint.json")
    recorded = json.loads(path.read_text(encoding="utf-8"))
    found = json.loads(json.dumps(fingerprint.small()))
    assert found.keys() == recorded.keys()
    assert {key: found[key] for key in found if found[key] != recorded[key]} == {}
