from typing import Any

TestCore: Any

class TestParts:
    core: Any
    ring: list[Any]
