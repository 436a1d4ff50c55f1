import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from crossbandit import studies
from crossbandit.cli.app import app
from crossbandit.errors import CrossbanditError
from tests.studies.helpers import mischief

STUDY = """
[study]
name = "rings"
[[part]]
name = "alphas"
seeds = "0..1"
horizon = 200
algorithms = ["schneider-zimmert", { name = "cross-graph", eta = [0.01, 0.1] }]
environments = [{ name = "paper-benchmark", alpha = [1, 4], contexts = 20 }]
"""
KINDS = {
    "index.html",
    "tables.md",
    "tables.csv",
    "tables.tex",
    "comparisons.csv",
    "exponents.csv",
    "regret.png",
    "regret.pdf",
    "regret.svg",
    "curves.pdf",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "rings"
    studies.run(studies.Study.from_toml(STUDY), path, jobs=1)
    return path


def report(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["report", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.output


def test_any_study(folder: Path) -> None:
    assert "Open" in report(folder)
    assert {path.name for path in folder.iterdir()} >= KINDS
    page = (folder / "index.html").read_text(encoding="utf-8")
    for words in ("<h1>rings</h1>", "alpha = 4", "cross-graph (eta=0.01)", "cross-graph (eta=0.1)"):
        assert words in page
    assert "Claims of the paper" not in page
    assert str(folder) not in page


def test_a_results_file_by_itself_gives_the_same_page(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere" / "rings"
    copy.mkdir(parents=True)
    shutil.copy(folder / "results.duckdb", copy)
    report(folder, "--out", tmp_path / "one" / "two")
    report(copy)
    assert {path.name for path in (tmp_path / "one" / "two").iterdir()} == KINDS
    for name in KINDS:
        assert (copy / name).read_bytes() == (tmp_path / "one" / "two" / name).read_bytes()
    report(copy / "results.duckdb", "--out", tmp_path / "three")
    assert (tmp_path / "three" / "tables.csv").read_bytes() == (copy / "tables.csv").read_bytes()


@pytest.mark.usefixtures("empty_figures")
def test_cells_that_failed_are_named(tmp_path: Path) -> None:
    path = mischief(tmp_path, '"raising"')
    with pytest.warns(studies.FailedCellsWarning):
        studies.run(studies.Study.from_toml(path), tmp_path / "out", jobs=1)
    line = "paper-benchmark, raising, seed 6: RuntimeError: boom"
    result = CliRunner().invoke(app, ["report", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "1 cell has failed" in result.stderr
    assert line in result.stderr
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "1 cell has failed and is missing from everything below." in page
    assert f"<li>{line}" in page


@pytest.mark.usefixtures("empty_figures")
def test_every_part_has_its_curves(tmp_path: Path) -> None:
    study = STUDY + STUDY[STUDY.index("[[part]]") :].replace("alphas", "Over / time")
    study += STUDY[STUDY.index("[[part]]") :].replace("alphas", "over time")
    studies.run(studies.Study.from_toml(study), tmp_path, jobs=1)
    report(tmp_path)
    names = {path.name for path in tmp_path.glob("curves*")}
    assert names == {"curves-alphas.pdf", "curves-over-time.pdf", "curves-over-time-2.pdf"}


def test_where_there_is_nothing(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert isinstance(result.exception, CrossbanditError)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_somebody_elses_is_left_alone(folder: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text("mine", encoding="utf-8")
    (site / "notes.txt").touch()
    arguments = ["report", str(folder), "--out", str(site)]
    result = CliRunner().invoke(app, arguments)
    assert isinstance(result.exception, CrossbanditError)
    assert "holds files that are not part of a study's results: 'notes.txt'" in str(
        result.exception
    )
    assert (site / "index.html").read_text(encoding="utf-8") == "mine"


@pytest.mark.usefixtures("empty_figures")
def test_a_link_beside_the_results_is_not_followed(folder: Path, tmp_path: Path) -> None:
    study = tmp_path / "study"
    study.mkdir()
    shutil.copy(folder / "results.duckdb", study)
    for name in KINDS:
        (tmp_path / f"victim-{name}").write_text("precious")
        (study / name).symlink_to(tmp_path / f"victim-{name}")
    report(study)
    assert {(tmp_path / f"victim-{name}").read_text() for name in KINDS} == {"precious"}
    assert not any((study / name).is_symlink() for name in KINDS)
