"""Results files from strangers, and with damaged rows."""

import json
import shutil
from pathlib import Path

import duckdb
import pytest

from crossbandit import studies
from crossbandit.errors import ResultsError
from crossbandit.studies import MixedProvenanceWarning, store
from tests.studies.helpers import SMALL, crossbandit, small


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("original")
    studies.run(small(), folder, jobs=1)
    return folder / store.FILE_NAME


@pytest.fixture
def results(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(original, tmp_path / store.FILE_NAME))


def change(path: Path, *commands: str) -> None:
    with duckdb.connect(path) as connection:
        for command in commands:
            connection.execute(command)


VIEW = """
ALTER TABLE cells RENAME TO real;
CREATE VIEW cells AS
SELECT * REPLACE ((SELECT content FROM read_text('{secret}')) AS version) FROM real;
"""


def test_a_view_that_reads_a_file_is_not_run(results: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    change(results, VIEW.format(secret=secret))
    for command in (
        ["export", results, "--to", "csv"],
        ["report", results, "--out", tmp_path / "r"],
    ):
        result = crossbandit(*command)
        assert result.returncode == 2
        assert "contains the view or macro 'cells', which could run code" in result.stderr
    for file in tmp_path.rglob("*"):
        if file.is_file() and file not in (secret, results):
            assert b"the secret" not in file.read_bytes()
    with pytest.raises(ResultsError, match="view or macro"):
        studies.run(small(), tmp_path, jobs=1)


def test_a_macro_is_refused(results: Path) -> None:
    change(results, "CREATE MACRO row_number() AS 1")
    with pytest.raises(ResultsError, match="view or macro 'row_number'"):
        studies.failures(results)


def test_an_open_file_has_no_access_to_others(results: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("the secret")
    commands = (
        f"SELECT * FROM read_text('{tmp_path / 'secret.txt'}')",
        f"ATTACH '{tmp_path / 'other.duckdb'}'",
        "INSTALL httpfs",
        "SET enable_external_access = true",
    )
    with store.opened(results, read_only=True) as file:
        for command in commands:
            with pytest.raises(duckdb.Error):
                file.connection.execute(command)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("UPDATE cells SET environment = '{\"name\"'", "environment of a cell is not valid JSON"),
        ("UPDATE cells SET algorithm = '[1]'", "algorithm of a cell is not a JSON object"),
        ("UPDATE cells SET algorithm = '{\"id\":NaN}'", "NaN is not a finite number"),
        (
            f"UPDATE cells SET environment = '{'[' * 100_000}'",
            "environment of a cell is not valid JSON",
        ),
        ("UPDATE cells SET parameters = '3'", "parameters of a cell is not a JSON object"),
        ("UPDATE cells SET final_regret = 'inf'", "a cell has the final_regret inf"),
        ("UPDATE cells SET loss = 'nan'", "a cell has no loss"),
        ("UPDATE cells SET curve_regret = []", "a curve has 60 rounds and 0 values"),
        ("UPDATE cells SET curve_rounds = [], curve_regret = []", "a curve has 0 rounds"),
        (
            "UPDATE cells SET curve_rounds = [1, 2], curve_regret = [1.0, NULL]",
            "a curve has a value that is not a finite number",
        ),
        (
            "UPDATE cells SET curve_rounds = [1], curve_regret = ['-inf'::DOUBLE]",
            "a curve has a value that is not a finite number",
        ),
        ("UPDATE cells SET horizon = 0", "no rounds"),
    ],
)
def test_damaged_rows_are_named(command: str, message: str, results: Path) -> None:
    change(results, command)
    with pytest.raises(ResultsError, match=f"results.duckdb is damaged: .*{message}"):
        studies.load(results)


@pytest.mark.parametrize(
    ("commands", "message"),
    [
        (
            ["ALTER TABLE cells ALTER seed TYPE VARCHAR"],
            "the column 'seed' of its table 'cells' must be of type BIGINT. Got VARCHAR",
        ),
        (["ALTER TABLE cells DROP COLUMN loss"], "its table 'cells' has no column 'loss'"),
        (
            ["ALTER TABLE failures DROP COLUMN location"],
            "its table 'failures' has no column 'location'",
        ),
        (
            ["ALTER TABLE members ALTER position TYPE DOUBLE"],
            "the column 'position' of its table 'members' must be of type BIGINT. Got DOUBLE",
        ),
    ],
)
def test_other_types_are_refused(commands: list[str], message: str, results: Path) -> None:
    change(results, *commands)
    with pytest.raises(ResultsError, match=message):
        studies.load(results)


def test_a_missing_number_is_named(results: Path) -> None:
    change(
        results,
        "CREATE TABLE loose AS SELECT * REPLACE (NULL::BIGINT AS seed) FROM cells",
        "DROP TABLE cells",
        "ALTER TABLE loose RENAME TO cells",
    )
    with pytest.raises(ResultsError, match="a cell has no seed"):
        studies.load(results)


def test_versions_that_are_mixed_are_said(results: Path) -> None:
    change(results, "UPDATE cells SET provenance = replace(provenance, '\"numpy\": \"', '&9.')")
    text = studies.load(results)["provenance"][0].replace("&9.", '"numpy": "9.')
    change(results, f"UPDATE cells SET provenance = '{text}' WHERE seed = 5")
    change(results, f"UPDATE cells SET provenance = '{text.replace('9.', '')}' WHERE seed != 5")
    with pytest.warns(MixedProvenanceWarning, match=r"\(numpy: [\d.]+, 9\.[\d.]+\)"):
        studies.run(small(), results.parent, jobs=1)


def test_parameters_that_an_algorithm_lacks_are_not_recorded() -> None:
    from crossbandit import SchneiderZimmert, environments
    from crossbandit.studies.execute import chosen_parameters

    environment = environments.paper_benchmark(1_000, alpha=4)
    chosen = chosen_parameters(SchneiderZimmert(), environment)
    assert set(chosen) == {"eta", "gamma", "epoch_length"}
    assert chosen_parameters(SchneiderZimmert(eta=0.5), environment)["eta"] == 0.5


def test_a_cell_has_its_provenance_and_its_parameters(original: Path) -> None:
    import numpy as np

    from crossbandit.core.building import fingerprint

    frame = studies.load(original)
    facts = json.loads(frame["provenance"][0])
    assert set(facts) == {"crossbandit", "commit", "python", "numpy", "cores", "processor"}
    assert (facts["numpy"], facts["cores"]) == (np.__version__, fingerprint())
    chosen = json.loads(frame["parameters"][0])
    assert chosen["epoch_length"] == frame["parameters.epoch_length"][0]
    # The experiment rule: eta = 1 / sqrt(alpha T), and here alpha is 2.
    assert frame["parameters.eta"][0] == pytest.approx((2 * 60) ** -0.5)
    assert frame["algorithm.eta"].isna().all()
    assert frame["parameters.eta"].notna().all()


def test_failures_are_exported_with_their_traceback(tmp_path: Path) -> None:
    from tests.studies.helpers import mischief

    path = mischief(tmp_path, '"raising"')
    with pytest.warns(studies.FailedCellsWarning, match=r"mischief\.py, line \d+, in start"):
        studies.run(studies.Study.from_toml(path), tmp_path / "out", jobs=1)
    row = studies.failures(tmp_path / "out").iloc[0]
    assert row["location"].startswith(str(tmp_path / "mischief.py"))
    assert row["traceback"].startswith("Traceback (most recent call last)")
    assert 'raise RuntimeError("boom")' in row["traceback"]
    studies.export(tmp_path / "out", to="csv")
    assert "Traceback" in (tmp_path / "out" / "failures.csv").read_text()
    studies.export(tmp_path / "out", to="parquet", out=tmp_path / "mine.parquet")
    assert (tmp_path / "mine-failures.parquet").is_file()


def test_a_label_that_looks_like_a_formula_is_escaped_in_csv(tmp_path: Path) -> None:
    label = "=HYPERLINK(1)"
    text = SMALL.replace('"per-context-exp3"', f'{{ id = "per-context-exp3", label = "{label}" }}')
    studies.run(studies.Study.from_toml(text), tmp_path, jobs=1)
    exported = studies.export(tmp_path, to="csv").read_text()
    assert f"'{label}" in exported
    assert f",{label}" not in exported
    assert label in set(studies.load(tmp_path)["algorithm_name"])
