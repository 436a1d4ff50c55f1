import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import crossbandit
from crossbandit.cli.app import app
from crossbandit.core.building import INTERPRETED, fingerprint
from crossbandit.errors import InvalidParameterError, ResultsError
from crossbandit.verify import theory
from crossbandit.verify.theory import CheckResult, Effort
from crossbandit.verify.theory.statements import PROVED_BOUND
from crossbandit.verify.theory.verify import STATEMENTS


def verify(*arguments: object, columns: int = 140) -> Result:
    runner = CliRunner(env={"COLUMNS": str(columns)})
    return runner.invoke(app, ["verify", *map(str, arguments)])


def test_statements_are_checked_and_written(tmp_path: Path) -> None:
    result = verify("--quick", "--only", "Proposition 2: bound", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "1 of 1 checks passed." in result.output
    assert f"Open {tmp_path / 'index.html'}" in result.output
    assert f"Cores: {fingerprint()}." in result.output
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "crossbandit verify --quick --only &#34;Proposition 2: bound&#34;" in page
    assert fingerprint() in page
    assert (tmp_path / "statements.csv").read_text(encoding="utf-8").count("\n") == 2


def test_machine_code_of_another_source_fails_even_if_no_statement_needs_it(
    tmp_path: Path,
) -> None:
    package = Path(crossbandit.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(package, tmp_path / "crossbandit", ignore=ignored)
    command = [
        sys.executable,
        "-m",
        "crossbandit",
        "verify",
        "--quick",
        "--only",
        "Proposition 2: bound",
    ]
    settings = {**os.environ, "PYTHONPATH": str(tmp_path), INTERPRETED: ""}
    core = tmp_path / "crossbandit" / "laws" / "price_core.py"
    core.write_text(core.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
    result = subprocess.run(
        [*command, "--out", str(tmp_path / "out")],
        env=settings,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert "laws.price_core was compiled from another version of price_core.py" in (
        " ".join(result.stderr.split())
    )
    assert not (tmp_path / "out").exists()


def test_a_fingerprint_stands_for_the_sources(tmp_path: Path) -> None:
    """Any core that changes changes it, and it says whether sources run."""
    shutil.copytree(Path(crossbandit.__file__).parent, tmp_path / "crossbandit")
    script = "from crossbandit.core.building import fingerprint; print(fingerprint())"

    def found(interpreted: str) -> str:
        settings = {**os.environ, "PYTHONPATH": str(tmp_path), INTERPRETED: interpreted}
        return subprocess.run(
            [sys.executable, "-c", script],
            env=settings,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()

    assert re.fullmatch("[0-9a-f]{8}", found(""))
    assert found("1") == f"{found('')}, interpreted"
    before, core = found(""), tmp_path / "crossbandit" / "limits" / "pace_core.py"
    core.write_text(core.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
    assert found("") != before


OUTCOMES = [
    CheckResult(statement="Lemma 1", checked="a", instances=1000, worst="w", passed=True),
    CheckResult(statement="Lemma 16", checked="e", instances=5, worst="v", passed=True),
    CheckResult(
        statement=PROVED_BOUND,
        checked="f",
        instances=6,
        worst="u",
        passed=True,
        note="The bound is 228,539.",
    ),
    CheckResult(
        statement="Lemma 2",
        checked="b",
        instances=2,
        worst="x",
        passed=True,
    ),
    CheckResult(
        statement="Lemma 3 (again)",
        checked="c",
        instances=3,
        worst="y",
        passed=False,
        note="ZeroDivisionError: in round 9",
    ),
    CheckResult(
        statement="Lemma 4",
        checked="d",
        instances=4,
        worst="z",
        passed=True,
        judged=False,
        note="Its condition is not met.",
    ),
]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """Put known results in the place of real checks; return what they were asked for."""
    arguments: list[dict[str, object]] = []

    def instead(**given: object) -> list[CheckResult]:
        arguments.append(given)
        return OUTCOMES

    monkeypatch.setattr(theory, "verify", instead)
    return arguments


@pytest.mark.parametrize("columns", [80, 140])
@pytest.mark.usefixtures("asked")
def test_a_failed_check_shows_and_ends_with_status_1(tmp_path: Path, columns: int) -> None:
    result = verify("--out", tmp_path, columns=columns)
    assert result.exit_code == 1
    for word in ("Lemma 1", "1,000", "failed", "measured"):
        assert word in result.output
    last = "4 of 5 checks passed, 1 failed."
    assert last in result.output.splitlines()
    assert "Machine-checked in proofs/: 3 of 6 lines." in result.output.splitlines()
    assert "ftrl_shift" in result.output
    assert "The bound is 228,539." in result.output
    assert "ZeroDivisionError: in round 9" in result.output
    assert "Lemma 4. Its condition is not met." in result.output
    shown, _, _ = result.output.partition("Wrote to")
    assert max(map(len, shown.splitlines())) <= columns


@pytest.mark.usefixtures("asked")
def test_quiet_says_what_failed_and_nothing_else(tmp_path: Path) -> None:
    result = verify("--quiet", "--out", tmp_path, columns=80)
    assert result.exit_code == 1
    assert "Lemma 3" in result.output
    assert "ZeroDivisionError: in round 9" in result.output
    assert "Lemma 1" not in result.output
    assert "Open" not in result.output
    assert (tmp_path / "index.html").exists()


def test_progress_is_told_where_there_is_no_terminal(tmp_path: Path) -> None:
    chosen = ("--quick", "--only", "Proposition 2", "--jobs", "1", "--out", tmp_path)
    result = verify(*chosen)
    told = [line for line in result.stderr.splitlines() if line.startswith("Checking")]
    assert told == ["Checking: 1 of 2 parts done.", "Checking: 2 of 2 parts done."]
    assert "Checking" not in verify(*chosen, "--quiet").stderr


def test_options_reach_the_checks(asked: list[dict[str, object]], tmp_path: Path) -> None:
    verify("--out", tmp_path)
    verify("--quick", "--only", "the rate in", "--jobs", 3, "--out", tmp_path)
    assert [one["effort"] for one in asked] == [Effort.FULL, Effort.QUICK]
    assert [one["jobs"] for one in asked] == [None, 3]
    assert asked[0]["only"] == ""
    rates = [s for s in STATEMENTS if str(asked[1]["only"]) in s.parts[0]]
    assert [s.check.__module__ for s in rates] == ["crossbandit.verify.theory.rates"]


def test_a_foreign_folder_is_left_alone(asked: list[dict[str, object]], tmp_path: Path) -> None:
    verify("--out", tmp_path)
    assert verify("--out", tmp_path).exit_code == 1  # a check fails; the folder is an earlier one
    (tmp_path / "thesis.tex").write_text("mine")
    refused = verify("--out", tmp_path)
    assert isinstance(refused.exception, ResultsError)
    assert "'thesis.tex'" in str(refused.exception)
    assert len(asked) == 2


def test_an_unknown_statement_is_a_sentence() -> None:
    result = verify("--only", "Lemma 99")
    assert isinstance(result.exception, InvalidParameterError)


def test_another_algorithm_is_checked_by_its_declaration(tmp_path: Path) -> None:
    given = '{"id": "exp3-ix", "gamma": 0.1}'
    result = verify("--quick", "--algorithm", given, "--only", "policies", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "Exp3IX(eta=None, gamma=0.1)" in result.output
    assert "1 of 1 checks passed." in result.output
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "compare what it does with what it declares" in page


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--algorithm", "exp9"], "There is no algorithm 'exp9'"),
        (["--algorithm", "{"], "--algorithm must be an id, such as exp3-ix, or a JSON object"),
        (["--algorithm", "ucb-n"], "an algorithm that declares its estimator. Got UcbN"),
    ],
)
def test_an_algorithm_that_cannot_be_checked_is_refused(
    arguments: list[str], words: str, tmp_path: Path
) -> None:
    result = verify(*arguments, "--out", tmp_path / "new")
    assert isinstance(result.exception, InvalidParameterError)
    assert words in str(result.exception)
    assert not (tmp_path / "new" / "index.html").exists()
