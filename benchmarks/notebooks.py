"""Execute the notebooks in docs/notebooks, in place.

`python -m benchmarks.notebooks` does so in some seconds. A notebook is its own source: edit it in
Jupyter, then run this.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
NAMES = ("bid-from-a-log", "embed-a-learner", "run-a-study")
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
# ipykernel warns that it talks over TCP, which on one machine is all right.
QUIET: dict[str, Any] = {"extra_arguments": ["--log-level=40"]}


def main() -> None:
    """Execute all notebooks, and write them."""
    for name in NAMES:
        nbformat.write(executed(name), path_of(name))
        print(name)


def path_of(name: str) -> Path:
    """Return where a notebook is."""
    return FOLDER / f"{name}.ipynb"


def executed(name: str) -> Any:
    """Return a notebook with new outputs, without times and other marks of this machine."""
    notebook = nbformat.read(path_of(name), as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        client = NotebookClient(
            notebook, timeout=300, kernel_name="python3", resources=resources, **QUIET
        )
        # The kernel has a Matplotlib backend of its own, which puts figures into the notebook.
        environment = {name: one for name, one in os.environ.items() if name != "MPLBACKEND"}
        client.execute(env=environment)
    notebook.metadata = nbformat.from_dict(METADATA)
    for i, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{i + 1}", nbformat.from_dict({})
        cell.update({"outputs": _kept(cell.outputs)} if cell.cell_type == "code" else {})
    return notebook


def _kept(outputs: list[Any]) -> list[Any]:
    """Return outputs without progress bars, which write over themselves and depend on the time."""
    for one in outputs:
        if one.output_type == "stream":
            one.text = re.sub(r"[^\n\r]*\r", "", one.text)
    return [one for one in outputs if one.get("text") != ""]


if __name__ == "__main__":
    main()
