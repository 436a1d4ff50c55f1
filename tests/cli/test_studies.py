import csv
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

from crossbandit import algorithms, environments, graphs, studies
from crossbandit.cli.app import app
from crossbandit.errors import StudyFileError
from tests.studies.helpers import SMALL, crossbandit, mischief


def call(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_new_study_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "new" / "my.toml"
    assert "crossbandit run" in call("new-study", path)
    assert path.read_text() == studies.template()
    assert len(studies.Study.from_toml(path).cells) == 120
    path.write_text("precious")
    result = crossbandit("new-study", path)
    assert result.returncode == 2
    assert "already exists" in result.stderr
    assert path.read_text() == "precious"


@pytest.mark.parametrize(
    ("kind", "registered"),
    [
        ("algorithms", algorithms.registered),
        ("environments", environments.registered),
        ("graphs", graphs.registered),
    ],
)
def test_list_has_a_line_for_each(kind: str, registered: Callable[[], dict[str, object]]) -> None:
    lines = call("list", kind).splitlines()
    assert [line.partition("(")[0] for line in lines] == sorted(registered())
    assert all(line.endswith(".") for line in lines)


def test_list_shows_parameters_and_defaults() -> None:
    assert "schneider-zimmert(eta=None, gamma=None, epoch_length=None)" in call(
        "list", "algorithms"
    )
    assert "paper-benchmark(horizon, alpha=None," in call("list", "environments")
    assert "threshold(arms, reveals='higher')  " in call("list", "graphs")


OWN = """
from dataclasses import dataclass
from typing import ClassVar
from crossbandit.algorithms import PerContextExp3, register

@register
@dataclass(frozen=True, kw_only=True)
class Own(PerContextExp3):
    \"\"\"Plays like per-context-exp3.\"\"\"

    id: ClassVar[str] = "own"
"""


def test_list_knows_what_a_module_registers(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    assert "\nown(" not in crossbandit("list", "algorithms").stdout
    result = crossbandit("list", "algorithms", "--module", tmp_path / "own.py")
    assert "\nown(eta=None)  " in result.stdout
    result = crossbandit("list", "algorithms", "--module", tmp_path / "nowhere.py")
    assert result.returncode == 2
    assert "There is no Python file" in result.stderr


def test_a_changed_module_is_a_sentence_also_when_quiet(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(
        SMALL.replace('"small"', '"small"\nmodules = ["own.py"]').replace("per-context-exp3", "own")
    )
    (tmp_path / "own.py").write_text(OWN)
    command = ("run", path, "--out", tmp_path / "out", "--jobs", 1, "--quiet")
    assert crossbandit(*command).stderr == ""
    (tmp_path / "own.py").write_text(OWN + "# changed\n")
    result = crossbandit(*command)
    assert result.returncode == 0
    assert result.stdout == ""
    assert result.stderr.startswith("Warning: own.py has changed since 6 of these cells were ")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["run", "reproduce", "export", "report"])
def test_help_shows_what_is_taken_if_nothing_is_said(command: str) -> None:
    assert "[default: " in CliRunner(env={"COLUMNS": "200"}).invoke(app, [command, "--help"]).output


def test_run_says_what_comes_next(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    folder = tmp_path / "my results"
    out = call("run", tmp_path / "small.toml", "--jobs", 1, "--out", folder)
    assert out.splitlines()[-1] == f"Next: crossbandit report '{folder}'"


def test_run_load_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(SMALL)
    assert "12 cells computed" in call("run", "small.toml", "--jobs", 1)
    assert "0 cells computed" in call("run", "small.toml", "--jobs", 1)
    frame = studies.load("results/small")
    assert "results/small/results.parquet" in call("export", "results/small", "--to", "parquet")
    table = duckdb.from_parquet("results/small/results.parquet")
    assert table.columns == list(frame.columns)
    row = dict(zip(table.columns, table.fetchall()[3], strict=True))
    for name in ("cell", "algorithm", "seed", "final_regret", "provenance", "parameters.eta"):
        assert row[name] == frame[name][3]
    assert row["curve_regret"] == frame["curve_regret"][3]
    call("export", "results/small/results.duckdb", "--to", "csv", "--out", "here.csv")
    with Path("here.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["final_regret"]) for row in rows] == frame["final_regret"].tolist()
    assert [row["environment.radius"] for row in rows] == ["1"] * 12
    assert not list(Path("results/small").glob("tmp*"))


def test_a_shipped_study_runs_by_its_name(tmp_path: Path) -> None:
    out = call("run", "quick", "--out", tmp_path, "--jobs", 1, "--quiet")
    assert out == ""
    assert set(studies.load(tmp_path)["part"]) == {
        "horizon",
        "graph",
        "tables-horizon",
        "tables-graph",
    }


def test_output_of_a_process(tmp_path: Path) -> None:
    path = mischief(tmp_path, '"raising"')
    result = crossbandit("run", path, "--out", tmp_path / "out", "--jobs", 1)
    assert result.returncode == 1
    assert result.stdout.startswith("9 cells computed in ")
    assert "1 failed" in result.stdout
    assert "Failed: raising on paper-benchmark, seed 6" in result.stderr
    source = tmp_path / "mischief.py"
    assert f"This study runs the code of {source}\n" in result.stderr
    line = 1 + source.read_text().splitlines().index('            raise RuntimeError("boom")')
    assert f"RuntimeError: boom ({source}, line {line}, in start)\n" in result.stderr
    assert "10 of 10 cells, 1 failed" in result.stderr
    quiet = crossbandit("run", path, "--out", tmp_path / "out", "--jobs", 1, "--quiet")
    assert quiet.returncode == 1
    assert quiet.stdout == ""
    assert quiet.stderr.startswith("Failed: raising")


def test_a_wrong_name_of_a_study_is_explained() -> None:
    result = CliRunner().invoke(app, ["run", "papr"])
    assert isinstance(result.exception, StudyFileError)
    for words in ("'papr'", "Did you mean the shipped study 'paper'?", "graphs", "new-study"):
        assert words in str(result.exception)
    result = CliRunner().invoke(app, ["run", "nowhere.toml"])
    assert "Did you mean" not in str(result.exception)


def test_a_mistake_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text("[study]\nname = 's'\n[prat]\n")
    result = crossbandit("run", path)
    assert result.returncode == 2
    assert result.stderr == (
        "Error: bad.toml, line 3, key 'prat': no such key. Did you mean 'part'? "
        "Known: study, part, claim.\n"
    )
    result = crossbandit("export", tmp_path, "--to", "csv")
    assert result.returncode == 2
    assert "There are no results in" in result.stderr
