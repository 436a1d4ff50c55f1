"""Replace files as a whole: a reader finds the old content or the new one.

A file is written under a temporary name in its own folder, flushed to the disk, and renamed. The
temporary file is locked while it is written. A process that is killed leaves it behind unlocked,
and the next write to the same file deletes it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

try:
    import fcntl
except ImportError:  # not a POSIX system: nothing is locked, so nothing is cleaned up
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LONGEST_SUFFIX = 16


def write_file(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Replace the content of a file, atomically and durably.

    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp(), "note.txt")
    >>> write_file(path, "first")
    >>> write_file(path, "second")
    >>> path.read_text()
    'second'
    """
    data = content.encode() if isinstance(content, str) else content
    with replacing(path) as temporary:
        temporary.write_bytes(data)


@contextmanager
def replacing(path: str | os.PathLike[str], *, follow_links: bool = False) -> Iterator[Path]:
    """Give a temporary file to write, and move it to `path` when the block ends.

    The temporary file is empty, is in the same folder and has the same suffix. If the block raises,
    it is deleted and `path` is unchanged. An existing file keeps its permissions, and its owner and
    group where the process may set them.
    """
    from pathlib import Path

    target = _target(Path(path), follow_links=follow_links)
    before = _regular(target)
    _remove_stale(target)
    temporary, lock = _create(target, private=before is not None)
    try:
        yield temporary
        _finish(temporary, before)
        temporary.replace(target)
        _flush_folder(target.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        os.close(lock)


def _target(path: Path, *, follow_links: bool) -> Path:
    """Return the file to replace."""
    if not follow_links or not path.is_symlink():
        return path
    target = type(path)(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
    return target


def _regular(target: Path) -> os.stat_result | None:
    """Return the status of the file that is there, if any; refuse folders and devices."""
    try:
        status = target.lstat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(target))
    if stat.S_ISLNK(status.st_mode):
        return None
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "Not a regular file", os.fspath(target))
    return status


def _prefix(target: Path) -> str:
    # A hash, so that a long name does not become too long, and no name is the prefix of another.
    return f".crossbandit-{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]}-"


def _create(target: Path, *, private: bool) -> tuple[Path, int]:
    """Return a new temporary file for `target` and a descriptor that holds its lock."""
    suffix = target.suffix if len(target.suffix) <= _LONGEST_SUFFIX else ""
    while True:
        temporary = target.with_name(f"{_prefix(target)}{os.urandom(8).hex()}{suffix}")
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
        lock = os.open(temporary, flags, 0o600 if private else 0o666)
        _try_lock(lock, wait=True)
        # Another process may have found it before it was locked, and deleted it.
        if os.fstat(lock).st_nlink > 0:
            return temporary, lock
        os.close(lock)


def _try_lock(descriptor: int, *, wait: bool) -> bool:
    """Return whether the lock of a temporary file was taken."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:  # held by the process that writes it, or a file system without locks
        return False
    return True


def _remove_stale(target: Path) -> None:
    """Delete temporary files for `target` whose process has ended."""
    try:
        found = [path for path in target.parent.iterdir() if path.name.startswith(_prefix(target))]
    except OSError:  # a folder that may be written but not listed
        return
    for path in found:
        with contextlib.suppress(OSError):  # deleted by another process, or not ours to open
            descriptor = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
            try:
                if _try_lock(descriptor, wait=False):
                    path.unlink()
            finally:
                os.close(descriptor)


def _finish(temporary: Path, before: os.stat_result | None) -> None:
    """Give a new file the access rights of the one it replaces, and flush it to the disk."""
    descriptor = os.open(temporary, os.O_RDWR)
    try:
        if before is not None and fcntl is not None:
            now = os.fstat(descriptor)
            if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
                with contextlib.suppress(PermissionError):
                    os.fchown(descriptor, before.st_uid, before.st_gid)
            os.fchmod(descriptor, stat.S_IMODE(before.st_mode) & 0o777)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _flush_folder(folder: Path) -> None:
    """Make a rename durable, if the system can."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # a folder that may not be read, or a system that does not open folders
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)
