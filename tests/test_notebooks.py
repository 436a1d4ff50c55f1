"""Every notebook runs, and its outputs are the latest."""

import re
from typing import Any

import nbformat
import pytest

from benchmarks.notebooks import FOLDER, METADATA, NAMES, executed, path_of

every_name = pytest.mark.parametrize("name", NAMES)


def outputs(notebook: Any) -> list[list[list[str]]]:
    """Return the kinds and the words of all outputs; numbers differ by rounding."""
    return [
        [
            [*sorted(one.get("data", {})), re.sub(r"[\d.,\s−-]+", " ", text_of(one))]
            for one in cell.get("outputs", [])
        ]
        for cell in notebook.cells
    ]


def text_of(output: Any) -> str:
    return str(output.get("text") or output.get("data", {}).get("text/plain", ""))


@every_name
def test_a_notebook_runs_and_shows_its_latest_outputs(name: str) -> None:
    committed = nbformat.read(path_of(name), as_version=4)
    made = executed(name)
    assert outputs(committed) == outputs(made), "Run: python -m benchmarks.notebooks"
    assert all(one.output_type != "error" for cell in made.cells for one in cell.get("outputs", []))


@every_name
def test_a_notebook_is_in_order_for_jupyter(name: str) -> None:
    notebook = nbformat.read(path_of(name), as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata == METADATA
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert all(cell.outputs for cell in code)
    assert any("image/png" in one.get("data", {}) for cell in code for one in cell.outputs)


def test_no_other_files_are_there() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(f"{one}.ipynb" for one in NAMES)
