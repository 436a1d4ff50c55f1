from pathlib import Path

import pytest

from crossbandit.errors import ResultsError
from crossbandit.report.folders import check_folder


def test_a_new_folder_is_made(tmp_path: Path) -> None:
    check_folder(tmp_path / "a" / "b", {"index.html"}, "a replay")
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_an_earlier_report_may_be_replaced_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "index.html").touch()
    check_folder(tmp_path, {"index.html"}, "a replay")
    (tmp_path / "notes.txt").touch()
    with pytest.raises(ResultsError, match=r"holds something else than a replay: 'notes.txt'"):
        check_folder(tmp_path, {"index.html"}, "a replay")


def test_what_cannot_be_written_is_told_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ResultsError, match=r"file is not a folder. Choose another one with --out"):
        check_folder(tmp_path / "file", set(), "a replay")
    with pytest.raises(ResultsError, match=r"cannot be written: Not a directory. Choose another"):
        check_folder(tmp_path / "file" / "below", set(), "a replay")
