"""The names of lease holders. A name tells processes on the same machine if its owner has ended."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def new_holder() -> str:
    """Return a name for this process as a holder of leases: machine, process, random digits."""
    return f"{_machine()}/{os.getpid()}/{secrets.token_hex(4)}"


def _machine() -> str:
    """Return a name of this machine, and of its process numbers. It changes with a restart."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}-{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return secrets.token_hex(8)


def is_gone(holder: str) -> bool:
    """Return whether a holder was a process on this machine that has ended.

    Args:
        holder: A name from `new_holder`, or any other name.
    """
    machine, _, rest = holder.partition("/")
    process = rest.partition("/")[0]
    return machine == _machine() and process.isdigit() and not Path(f"/proc/{process}").exists()
