import os
from pathlib import Path

import pytest

from crossbandit.core.report import check_folder, write_files
from crossbandit.errors import ResultsError


def test_a_new_folder_is_made(tmp_path: Path) -> None:
    check_folder(tmp_path / "a" / "b", {"index.html"}, "a replay")
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_an_earlier_report_may_be_replaced_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "index.html").touch()
    check_folder(tmp_path, {"index.html"}, "a replay")
    (tmp_path / "notes.txt").touch()
    with pytest.raises(
        ResultsError, match=r"holds files that are not part of a replay: 'notes.txt'"
    ):
        check_folder(tmp_path, {"index.html"}, "a replay")


def test_what_cannot_be_written_is_told_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ResultsError, match=r"file is not a folder. Choose another one with --out"):
        check_folder(tmp_path / "file", set(), "a replay")
    with pytest.raises(ResultsError, match=r"cannot be written: Not a directory. Choose another"):
        check_folder(tmp_path / "file" / "below", set(), "a replay")


def test_a_link_is_replaced_and_what_it_points_to_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (folder / "index.html").symlink_to(victim)
    (path,) = write_files(folder, {"index.html": "page"})
    assert victim.read_text() == "precious"
    assert not path.is_symlink()
    assert path.read_text() == "page"


def test_a_file_is_replaced_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path, {"a.txt": "old", "b.bin": b"\x00"})

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(ResultsError, match="No space left on device"):
        write_files(tmp_path, {"a.txt": "new"})
    assert (tmp_path / "a.txt").read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"a.txt", "b.bin"}
