"""What a bidder that has learned nothing costs: memory, and room in the store."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

COUNT = 24
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "classes": {"classes": ["site", "device"]},
    "limited": {"classes": ["site"], "guarded": True, "budget": {"amount": 100.0}},
}
# It runs in a process of its own, whose memory nothing else uses.
PROGRAM = """
import json, os, sys, time
from crossbandit.service import Node, open_store
from crossbandit.service.settings import settings_from

path, settings, count = sys.argv[1], settings_from(sys.argv[2]), int(sys.argv[3])

def memory():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def made(name):
    node.create(name, settings)
    while node.directory.find(name).state is None:
        time.sleep(0.01)

node = Node(open_store(path))
node.start()
made("first")
made("second")
before = memory()
for i in range(count):
    made(f"bidder {i}")
after = memory()
node.close()
print(json.dumps([(after - before) / count, os.path.getsize(path) / (count + 2)]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
@pytest.mark.parametrize("kind", KINDS)
def test_a_new_bidder_takes_little_memory_and_little_room_in_the_store(
    kind: str, tmp_path: Path
) -> None:
    settings = json.dumps({"value_range": [0, 10], **KINDS[kind]})
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "service.db"), settings, str(COUNT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    memory, store = json.loads(done.stdout)
    assert memory <= 2.2e6
    assert store <= 200e3
