import csv
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from crossbandit import studies
from crossbandit.algorithms.learners import algorithm
from crossbandit.cli.app import app
from crossbandit.errors import CrossbanditError
from crossbandit.studies import paper
from tests.studies.conftest import forget

pytestmark = pytest.mark.xdist_group("reproduced")  # its fixture takes long

WRITTEN = {
    "results.duckdb",
    "runs.csv",
    "index.html",
    "comparisons.csv",
    "exponents.csv",
    *(f"tables.{kind}" for kind in ("md", "csv", "tex")),
    *(f"{name}.{kind}" for name in ("regret", "loss-tables") for kind in ("png", "pdf", "svg")),
}


SMALL = """
[study]
name = "small"
[[part]]
name = "horizon"
seeds = "200..201"
horizon = 2000
algorithms = ["cross-graph", "schneider-zimmert", "per-context-graph", "per-context-exp3"]
environments = [{ name = "paper-benchmark", alpha = 4, table_seed = 0 }]
"""


def reproduce(*options: object) -> Result:
    arguments = ["reproduce", "--quick", "--jobs", "1", *map(str, options)]
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, arguments)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    folder = tmp_path_factory.mktemp("reproduce") / "quick"
    return folder, reproduce("--out", folder)


@pytest.fixture
def folder(first: tuple[Path, Result], tmp_path: Path) -> Path:
    """Return a copy of a finished quick reproduction: nothing in it has to be computed again."""
    shutil.copytree(first[0], tmp_path / "quick")
    return tmp_path / "quick"


def test_quick_from_nothing_to_the_page(first: tuple[Path, Result]) -> None:
    folder, result = first
    assert result.exit_code == 0, result.output
    assert {path.name for path in folder.iterdir()} >= WRITTEN
    assert f"Open {folder / 'index.html'}" in result.output
    for line in ("Ours: log-log slope in T", "SZ-Context is flat across α"):
        assert line in result.output
    assert result.output.count("│ met ") == 7
    assert result.output.count("│ not judged ") == 1  # entries need all seeds


def test_raw_runs_are_all_there(first: tuple[Path, Result]) -> None:
    folder, _ = first
    frame = studies.load(folder)
    with (folder / "runs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(frame) == 168
    assert [float(row["final_regret"]) for row in rows] == list(frame["final_regret"])
    assert "curve_regret" not in rows[0]


@pytest.mark.usefixtures("empty_figures")
def test_a_claim_that_is_not_met_is_the_exit_status(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paper, "SLOPE_IN_ALPHA", paper.Slope(0.9, 0.85, 0.95))
    result = reproduce("--out", folder, "--quiet")
    assert result.exit_code == 1
    assert "0.85 to 0.95 (paper 0.90)" in result.output  # also when quiet
    assert "not met" in result.output
    assert "6 of 7 claims met, 1 not met" in (folder / "index.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("empty_figures")
def test_quiet_says_nothing_of_success(folder: Path) -> None:
    result = reproduce("--out", folder, "--quiet")
    assert result.exit_code == 0
    assert result.output == ""


@pytest.mark.usefixtures("empty_figures")
def test_another_algorithm_is_added_to_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = studies.Study.from_toml(SMALL)
    monkeypatch.setattr(studies, "shipped", lambda _: small)
    assert reproduce("--out", tmp_path, "--quiet").exit_code == 0
    assert reproduce("--out", tmp_path, "--quiet", "--add", "cross-graph-known").exit_code == 0
    frame = studies.load(tmp_path)
    assert list(frame["algorithm_name"]).count("cross-graph-known") == 2
    assert len(frame) == 10
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "crossbandit reproduce --quick --add cross-graph-known" in page
    assert "cross-graph-known" in (tmp_path / "tables.md").read_text(encoding="utf-8")


OWN = """
from dataclasses import dataclass
from typing import ClassVar
from crossbandit.algorithms import PerContextExp3, register

@register
@dataclass(frozen=True, kw_only=True)
class Own(PerContextExp3):
    id: ClassVar[str] = "own"
"""


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.usefixtures("empty_figures")
def test_an_algorithm_of_ones_own_is_added(
    jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(algorithm._ALGORITHMS, "_builders", algorithm.registered())
    small = studies.Study.from_toml(SMALL)
    monkeypatch.setattr(studies, "shipped", lambda _: small)
    (tmp_path / "own.py").write_text(OWN)
    given = ("--module", tmp_path / "own.py", "--add", "own")
    result = reproduce("--out", tmp_path, "--quiet", "--jobs", jobs, *given)
    assert result.exit_code == 0, result.output
    assert list(studies.load(tmp_path)["algorithm_name"]).count("own") == 2
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "crossbandit reproduce --quick --module own.py --add own" in page
    forget()


def test_an_algorithm_that_does_not_exist(tmp_path: Path) -> None:
    result = reproduce("--out", tmp_path / "new", "--add", "cross-grap")
    assert isinstance(result.exception, CrossbanditError)
    assert "Did you mean 'cross-graph'?" in str(result.exception)
    assert not (tmp_path / "new").exists()


CLAIMING = """
[study]
name = "mine"
paper = "Somebody (2020)"
[[part]]
name = "strong"
seeds = "0..3"
horizon = [200, 800]
algorithms = ["per-context-exp3", "exp3-ix"]
environments = [{ name = "lower-bound", graph = { name = "singletons", arms = 4 } }]
[[part]]
name = "weak"
seeds = "0..3"
horizon = [200, 800]
algorithms = ["exp3-g", "ucb-n"]
environments = [{ name = "lower-bound", graph = { name = "revealing-action", arms = 4 } }]
[[claim]]
says = "it grows"
part = "strong"
algorithm = "per-context-exp3"
growth = LIMITS
"""


def invoke(*arguments: object) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, [*map(str, arguments), "--jobs", "1"])


@pytest.mark.usefixtures("empty_figures")
@pytest.mark.parametrize(
    ("limits", "status", "words"),
    [("[1, 4]", 0, "1 of 1 claims met"), ("[9, 10]", 1, "0 of 1 claims met, 1 not met")],
)
def test_the_claims_of_a_study_file_are_judged(
    tmp_path: Path, limits: str, status: int, words: str
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(CLAIMING.replace("LIMITS", limits))
    result = invoke("reproduce", file, "--quick", "--out", tmp_path / "out")
    assert result.exit_code == status, result.output
    assert "it grows" in result.output
    frame = studies.load(tmp_path / "out")
    assert set(frame["seed"]) == {0, 1, 2}
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert words in page
    assert "What is claimed in <cite>Somebody (2020)</cite>" in page


@pytest.mark.usefixtures("empty_figures")
def test_a_file_with_an_algorithm_enters_a_benchmark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(algorithm._ALGORITHMS, "_builders", algorithm.registered())
    file = tmp_path / "mine.toml"
    file.write_text(CLAIMING.partition("[[claim]]")[0])
    (tmp_path / "entrant.py").write_text(OWN.replace("Own", "Entrant").replace('"own"', '"enters"'))
    given = ("--add", tmp_path / "entrant.py", "--add", "cross-graph", "--out", tmp_path / "out")
    result = invoke("benchmark", file, *given)
    assert result.exit_code == 0, result.output
    assert "Leaderboard" in result.output
    assert "enters" in result.output
    runs = studies.load(tmp_path / "out").groupby("algorithm_name")["part"].unique()
    assert list(runs["cross-graph"]) == ["strong"]  # it cannot play the other part
    assert list(runs["enters"]) == ["strong", "weak"]  # it ignores graphs
    with (tmp_path / "out" / "leaderboard.csv").open(newline="") as scores:
        rows = {(row["method"], row["part"]): row for row in csv.DictReader(scores)}
    frame = studies.load(tmp_path / "out")
    mine = frame[(frame["algorithm_name"] == "enters") & (frame["horizon"] == 800)]
    regret = mine[mine["part"] == "strong"]["final_regret"].mean()
    assert float(rows["enters", "strong"]["mean"]) == pytest.approx(regret / (4 * 800) ** 0.5)
    forget()


def test_a_file_without_an_algorithm(tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text("")
    result = invoke("benchmark", "--add", tmp_path / "empty.py", "--out", tmp_path / "out")
    assert isinstance(result.exception, CrossbanditError)
    assert "registers no algorithm" in str(result.exception)
    forget()


@pytest.mark.parametrize(
    ("command", "name", "hint"),
    [
        ("reproduce", "neu-2014", "no paper 'neu-2014', and no study file of this name. Did you"),
        ("benchmark", "graphs-v0", "Did you mean 'graphs-v1'? Known: graphs-v1."),
    ],
)
def test_a_paper_or_a_benchmark_that_does_not_exist(command: str, name: str, hint: str) -> None:
    result = invoke(command, name)
    assert isinstance(result.exception, CrossbanditError)
    assert hint in str(result.exception)
