"""Files are replaced as a whole, durably, and with the access rights they had."""

import fcntl
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from crossbandit.core.files import _create, replacing, write_file


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def left_over(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.name.startswith(".crossbandit-")]


def test_text_and_bytes_are_written_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_file(path, "a\r\nb\nµ")
    assert path.read_bytes() == b"a\r\nb\n\xc2\xb5"
    write_file(str(path), b"\0\1")
    assert path.read_bytes() == b"\0\1"
    assert list(tmp_path.iterdir()) == [path]


def test_the_old_file_stays_until_the_new_one_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old")
    with replacing(path) as temporary:
        assert temporary.parent == tmp_path
        assert temporary.suffix == ".csv"
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_block_that_fails_changes_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def fail() -> None:
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("kept", [0o600, 0o640, 0o444, 0o664])
def test_a_file_keeps_its_permissions(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(kept)
    with replacing(path) as temporary:
        assert mode(temporary) == 0o600  # nobody else may read it meanwhile
        temporary.write_text("new")
    assert mode(path) == kept
    assert path.read_text() == "new"


def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_file(tmp_path / "file", "new")
    finally:
        os.umask(before)
    assert mode(tmp_path / "file") == 0o640


def test_the_owner_and_the_group_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    real = os.stat_result((0o100600, 0, 0, 1, 4711, 4712, 3, 0, 0, 0))
    monkeypatch.setattr("crossbandit.core.files._regular", lambda _: real)
    given: list[tuple[int, int]] = []
    monkeypatch.setattr("os.fchown", lambda _, *owner: given.append(owner))
    write_file(path, "new")
    assert given == [(4711, 4712)]

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr("os.fchown", refuse)  # as for anybody but the administrator
    write_file(path, "newer")
    assert (path.read_text(), mode(path)) == ("newer", 0o600)


def write_through(link: Path, content: str) -> None:
    with replacing(link, follow_links=True) as temporary:
        temporary.write_text(content)


def test_a_link_is_followed_or_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    target, link = folder / "target", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o600)
    link.symlink_to("folder/target")
    write_through(link, "followed")
    assert link.is_symlink()
    assert (target.read_text(), mode(target)) == ("followed", 0o600)
    write_file(link, "replaced")
    assert not link.is_symlink()
    assert (link.read_text(), target.read_text()) == ("replaced", "followed")
    assert not left_over(folder)
    assert not left_over(tmp_path)


def test_a_link_to_nothing_makes_the_file_it_names(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    write_through(tmp_path / "link", "new")
    assert (tmp_path / "target").read_text() == "new"
    assert (tmp_path / "link").is_symlink()


def test_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("link")
    with pytest.raises(OSError, match="symbolic links"):
        write_through(tmp_path / "link", "new")


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="Not a regular file"):
        write_file(tmp_path / "pipe", "new")
    (tmp_path / "link").symlink_to("/dev/null")
    with pytest.raises(OSError, match="Not a regular file"):
        write_through(tmp_path / "link", "new")
    with pytest.raises(IsADirectoryError):
        write_file(tmp_path, "new")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    assert not left_over(tmp_path)


def test_a_name_may_have_the_greatest_length(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 250 + ".json")
    write_file(path, "new")
    write_file(path, "newer")
    assert path.read_text() == "newer"


def test_the_file_and_its_folder_are_flushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First the content, then the name: a power cut after the call cannot undo it."""
    path = tmp_path / "file"
    flushed: list[tuple[str, bool]] = []

    def record(descriptor: int) -> None:
        kind = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        flushed.append((kind, path.exists()))

    monkeypatch.setattr("os.fsync", record)
    write_file(path, "new")
    assert flushed == [("file", False), ("folder", True)]


def test_a_file_system_that_cannot_flush_folders_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flush(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(22, "Invalid argument")

    monkeypatch.setattr("os.fsync", flush)
    write_file(tmp_path / "file", "new")
    assert (tmp_path / "file").read_text() == "new"


# ------------------------------------------------------------------------ what a kill leaves behind


def abandoned(path: Path) -> Path:
    """Return a temporary file for `path`, as a killed process leaves it behind."""
    temporary, lock = _create(path, private=False)
    temporary.write_text("half")
    os.close(lock)  # as the system does when it ends a process
    return temporary


def test_the_next_write_deletes_what_a_killed_one_left(tmp_path: Path) -> None:
    path = tmp_path / "file"
    left = abandoned(path)
    assert left.read_text() == "half"
    write_file(tmp_path / "other", "of another file")
    assert left_over(tmp_path) == [left]
    write_file(path, "new")
    assert left_over(tmp_path) == []


def test_a_file_that_is_being_written_is_not_deleted(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with replacing(path) as temporary:
        temporary.write_text("slow")
        write_file(path, "quick")  # as another process would, meanwhile
        assert temporary.read_text() == "slow"
        assert path.read_text() == "quick"
    assert path.read_text() == "slow"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_deleted_before_it_was_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may come between the creation of a temporary file and its lock."""
    real, calls = fcntl.flock, []

    def delayed(descriptor: int, how: int) -> None:
        calls.append(how)
        if len(calls) == 1:
            (early,) = left_over(tmp_path)
            early.unlink()
        real(descriptor, how)

    monkeypatch.setattr("fcntl.flock", delayed)
    write_file(tmp_path / "file", "new")
    assert len(calls) == 2
    assert (tmp_path / "file").read_text() == "new"
    assert left_over(tmp_path) == []


def test_without_locks_nothing_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*_: Any) -> None:
        raise OSError(95, "Operation not supported")

    path = tmp_path / "file"
    left = abandoned(path)
    monkeypatch.setattr("fcntl.flock", unsupported)
    write_file(path, "new")
    assert path.read_text() == "new"
    assert left_over(tmp_path) == [left]


def test_a_strangers_file_or_link_is_left_alone(tmp_path: Path) -> None:
    """A link with the name of a temporary file is not followed."""
    path, victim = tmp_path / "file", tmp_path / "victim"
    left = abandoned(path)
    victim.write_text("mine")
    link = left.with_name(left.name + "x")
    link.symlink_to(victim)
    write_file(path, "new")
    assert victim.read_text() == "mine"
    assert link.is_symlink()
    assert not left.exists()
