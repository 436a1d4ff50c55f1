"""Every example and every command in the README and in docs/ runs, a page from top to bottom."""

import re
import tomllib
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import mypy.api
import pytest

from crossbandit.algorithms import registered
from crossbandit.core.lazy import load_all
from tests import shell
from tests.page_files import FILES
from tests.pages import ALL, PAGES, ROOT, SHELL, Block, blocks, name, prose
from website.wrap import WIDTH

EXAMPLES = [page for page in PAGES if {"python", "sh"} & {block.kind for block in blocks(page)}]
PAGES_OF_RESULTS = (
    "crossbandit.logs.replay.page.write",
    "crossbandit.logs.replay.page.write_by",
    "crossbandit.logs.evaluate.page.write",
)
REGISTRIES = (
    "crossbandit.algorithms.learners.algorithm._ALGORITHMS._builders",
    "crossbandit.environments.environment._ENVIRONMENTS._builders",
    "crossbandit.graphs.builders._GRAPHS._builders",
)
LINK = re.compile(r"\]\(([^)#]+)[^)]*\)")


@pytest.mark.parametrize("page", EXAMPLES, ids=name)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for package in ("crossbandit.algorithms", "crossbandit.environments"):
        load_all(package)  # what is registered while a page runs would go with it
    for place in REGISTRIES:  # what a page registers goes with it
        monkeypatch.setattr(place, dict(resolve_name(place.replace("._", ":_", 1))))
    for place in PAGES_OF_RESULTS:  # they have tests of their own, and drawing takes long
        monkeypatch.setattr(place, lambda *_args, **_options: [Path("results/index.html")])
    FILES.get(name(page), lambda: None)()
    namespace: dict[str, Any] = {"__name__": page.stem}
    for number, block in enumerate(blocks(page)):
        if block.kind == "python":
            code = compile(block.text, f"{page.name}, block {number + 1}", "exec")
            exec(code, namespace)  # noqa: S102
        elif block.kind == "sh" and name(page) not in shell.RUN_BY:
            shell.run(block, tmp_path)


def test_every_block_of_commands_is_run_or_listed() -> None:
    """A page whose commands other tests run names the test, which exists."""
    assert len(SHELL) > 50
    for block in SHELL:
        if block.page in shell.RUN_BY:
            path, _, function = shell.RUN_BY[block.page].partition("::")
            assert f"def {function}(" in (ROOT / path).read_text(encoding="utf-8"), block.page
        else:
            for words in [] if shell.is_script(block) else block.commands:
                shell.handler(words)


def test_nothing_is_listed_that_no_page_has() -> None:
    lines = [" ".join(words) for block in SHELL for words in block.commands]
    begins = [*shell.NOT_RUN, *(f"crossbandit {one}" for one in shell.PARSED)]
    for begin in begins:
        assert any(line.startswith(begin) for line in lines), begin
    for path in (*shell.PARSED.values(), *shell.MODULES.values()):
        assert (ROOT / path).exists(), path


def test_a_command_of_another_kind_is_noticed() -> None:
    with pytest.raises(LookupError, match="neither run nor listed"):
        shell.handler(["rm", "-rf", "everything"])
    block = Block(
        "a.md", "sh", "crossbandit list algorithms   # all\ncrossbandit replay \\\n  a.csv\n"
    )
    assert block.commands == [
        ["crossbandit", "list", "algorithms"],
        ["crossbandit", "replay", "a.csv"],
    ]


def test_lines_for_pip_name_extras_that_exist() -> None:
    """tests/test_installation.py asks pip, with the wheel."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    found = [
        words[-1] for block in SHELL for words in block.commands if Path(words[0]).name == "pip"
    ]
    assert len(found) > 5
    for one in found:
        package, _, named = one.partition("[")
        assert package in {"crossbandit", "jupyterlab", "/path/to/this/folder"}, one
        assert set(named.rstrip("]").split(",")) <= {"", *extras}, one


def test_every_block_says_what_it_is() -> None:
    kinds = {"python", "py", "sh", "text", "toml", "yaml", "ini", "dockerfile", "bibtex"}
    for block in ALL:
        assert block.kind in kinds, f"{block.page}: {block.text[:60]}"


def test_the_algorithms_on_the_page_are_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = blocks(ROOT / "docs/how-to/add-an-algorithm.md")
    module = tmp_path / "example.py"
    module.write_text("\n".join(block.text for block in found if block.kind == "python"))
    monkeypatch.chdir(ROOT)
    report, errors, status = mypy.api.run(["--strict", str(module)])
    assert status == 0, report + errors


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{target} is linked but does not exist"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_lines_end_at_one_width(page: Path) -> None:
    """Notebooks are left out: their lines are those of their cells."""
    if page.parent.name != "notebooks":
        long = [line for line in prose(page) if len(line) > WIDTH]
        assert long == [], "Run `python -m website.wrap`."


def test_every_algorithm_has_its_row_in_the_table() -> None:
    text = (ROOT / "docs/how-to/choose-an-algorithm.md").read_text(encoding="utf-8")
    table = text.partition("## What each needs")[2]
    named = set(
        re.findall(r"`([^`]+)`", "\n".join(re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)))
    )
    own = {name for name, one in registered().items() if one.__module__.startswith("crossbandit.")}
    assert named == own
