"""Every Python example in the README and in docs/ runs, each page from top to bottom."""

import re
from pathlib import Path
from typing import Any

import mypy.api
import pytest

from crossbandit.algorithms import registered

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = [page for page in PAGES if "```python\n" in page.read_text(encoding="utf-8")]
LINK = re.compile(r"\]\(([^)#]+)[^)]*\)")


@pytest.mark.parametrize("page", EXAMPLES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # What a page registers goes with it.
    monkeypatch.setattr(
        "crossbandit.algorithms.algorithm._ALGORITHMS._builders", dict(registered())
    )
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    namespace: dict[str, Any] = {"__name__": page.stem}
    for number, block in enumerate(blocks):
        exec(compile(block, f"{page.name}, example {number + 1}", "exec"), namespace)  # noqa: S102
    assert len(namespace) > 2


def test_the_algorithms_on_the_page_are_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "docs/how-to/add-an-algorithm.md").read_text(encoding="utf-8")
    module = tmp_path / "example.py"
    module.write_text("\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)))
    monkeypatch.chdir(ROOT)
    report, errors, status = mypy.api.run(["--strict", str(module)])
    assert status == 0, report + errors


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{target} is linked but does not exist"


def test_every_algorithm_has_its_row_in_the_table() -> None:
    text = (ROOT / "docs/how-to/choose-an-algorithm.md").read_text(encoding="utf-8")
    table = text.partition("## What each needs")[2]
    named = set(
        re.findall(r"`([^`]+)`", "\n".join(re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)))
    )
    own = {name for name, one in registered().items() if one.__module__.startswith("crossbandit.")}
    assert named == own


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 3
