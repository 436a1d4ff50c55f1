"""Files of one's own: what they may import, and what happens when they change."""

import importlib
import random
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from crossbandit import studies
from crossbandit.algorithms import registered
from crossbandit.algorithms.learners import algorithm
from crossbandit.core import modules
from crossbandit.errors import StudyError, StudyFileError
from crossbandit.studies import ChangedModulesWarning, Study
from tests.studies.conftest import forget

OWN = '''
"""An algorithm that plays like per-context-exp3."""

from dataclasses import dataclass
from typing import ClassVar

from crossbandit.algorithms import Algorithm, PerContextExp3, register
from {helper} import ETA


@register
@dataclass(frozen=True, kw_only=True)
class Own(Algorithm):
    """Plays with the rate of its helper."""

    id: ClassVar[str] = "own"
    rate: ClassVar[float] = ETA

    def start(self, problem, *, seed):
        return PerContextExp3(eta=ETA).start(problem, seed=seed)
'''

STUDY = """
[study]
name = "own"
modules = [{modules}]
[[part]]
seeds = [1, 2, 3]
horizon = 60
algorithms = ["own", "per-context-exp3"]
environments = [{{ name = "paper-benchmark", radius = 1, arms = 5, contexts = 7 }}]
"""


def write(folder: Path, *, eta: str = "0.1", names: str = '"own.py"') -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "own.py").write_text(OWN.format(helper="helper"))
    (folder / "helper.py").write_text(f"ETA = {eta}\n")
    (folder / "own.toml").write_text(STUDY.format(modules=names))
    return folder / "own.toml"


def rate() -> float:
    return float(getattr(registered()["own"], "rate"))  # noqa: B009 - for mypy it has none


# --------------------------------------------------------------------------------------- loading


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_module_may_import_the_file_beside_it(jobs: int, tmp_path: Path) -> None:
    before = list(sys.path)
    summary = studies.run(Study.from_toml(write(tmp_path)), tmp_path / "out", jobs=jobs)
    assert sys.path == before
    assert (summary.computed, summary.failed) == (6, 0)


def test_a_module_may_import_the_package_beside_it(tmp_path: Path) -> None:
    path = write(tmp_path)
    (tmp_path / "rates").mkdir()
    (tmp_path / "rates" / "__init__.py").touch()
    (tmp_path / "rates" / "slow.py").write_text("ETA = 0.25\n")
    (tmp_path / "own.py").write_text(OWN.format(helper="rates.slow"))
    study = Study.from_toml(path)
    assert rate() == 0.25
    assert set(modules.source_hashes(study.modules)) == {
        "own.py",
        "rates/__init__.py",
        "rates/slow.py",
    }


def test_an_edited_file_needs_a_new_process(tmp_path: Path) -> None:
    Study.from_toml(write(tmp_path))
    before = registered()["own"]
    Study.from_toml(tmp_path / "own.toml")
    assert registered()["own"] is before
    write(tmp_path, eta="0.125")
    with pytest.raises(StudyError, match=r"helper\.py' has changed since it was loaded\. Start a"):
        Study.from_toml(tmp_path / "own.toml")
    forget()
    Study.from_toml(tmp_path / "own.toml")
    assert rate() == 0.125


def test_files_of_one_name_in_two_folders(tmp_path: Path) -> None:
    first = write(tmp_path / "one")
    second = write(tmp_path / "two", eta="0.125")
    Study.from_toml(first)
    with pytest.raises(StudyError, match=r"one/own\.py' and .*two/own\.py' have the same name\."):
        Study.from_toml(second)
    (tmp_path / "two" / "own.py").rename(tmp_path / "two" / "other.py")
    second.write_text(STUDY.format(modules='"other.py"'))
    with pytest.raises(StudyError, match=r"one/helper\.py' and .*two/helper\.py' have the same"):
        Study.from_toml(second)
    forget()
    algorithm._ALGORITHMS._builders.pop("own")
    Study.from_toml(second)
    assert rate() == 0.125


@pytest.mark.parametrize("names", ['"own.py", "more.py"', '"more.py", "own.py"'])
def test_a_module_may_be_named_and_imported(names: str, tmp_path: Path) -> None:
    path = write(tmp_path, names=names)
    (tmp_path / "more.py").write_text("from own import Own\n")
    assert len(Study.from_toml(path).cells) == 6


def test_a_file_does_not_take_the_place_of_an_installed_module(tmp_path: Path) -> None:
    path = write(tmp_path, names='"random.py"')
    (tmp_path / "own.py").rename(tmp_path / "random.py")
    assert len(Study.from_toml(path).cells) == 6
    assert importlib.import_module("random") is random


def test_modules_of_other_names(tmp_path: Path) -> None:
    path = write(tmp_path, names='"my-own.v2.py"')
    (tmp_path / "own.py").rename(tmp_path / "my-own.v2.py")
    assert len(Study.from_toml(path).cells) == 6


def test_a_module_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    path, before = write(tmp_path), list(sys.path)
    (tmp_path / "helper.py").unlink()
    with pytest.raises(StudyFileError, match=r"own\.py' cannot be loaded: ModuleNotFoundError"):
        Study.from_toml(path)
    assert "own" not in sys.modules
    assert sys.path == before
    with pytest.raises(StudyError, match="There is no Python file"):
        studies.load_modules([tmp_path / "nowhere.py"])


def test_a_second_file_leaves_the_first_loaded(tmp_path: Path) -> None:
    Study.from_toml(write(tmp_path / "one"))
    own, helper = sys.modules["own"], sys.modules["helper"]
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "more.py").write_text("X = 1\n")
    modules.load_modules([tmp_path / "one" / "own.py", tmp_path / "two" / "more.py"])
    assert sys.modules["own"] is own
    assert sys.modules["helper"] is helper
    assert sys.modules["more"].X == 1


def test_two_files_of_one_name_in_one_study(tmp_path: Path) -> None:
    write(tmp_path / "one")
    write(tmp_path / "two")
    with pytest.raises(StudyError, match="have the same name"):
        modules.load_modules([tmp_path / "one" / "own.py", tmp_path / "two" / "own.py"])


@pytest.mark.parametrize("status", ["0", "1", "'bye'"])
def test_a_module_that_exits_is_an_error(status: str, tmp_path: Path) -> None:
    path = write(tmp_path)
    (tmp_path / "own.py").write_text(f"import sys\nsys.exit({status})\n")
    message = rf"line 4, key 'study\.modules'.*cannot be loaded: it called sys\.exit\({status}\)"
    with pytest.raises(StudyFileError, match=message):
        Study.from_toml(path)


def test_modules_are_announced_before_they_run(tmp_path: Path) -> None:
    told: list[str] = []
    path = write(tmp_path)
    (tmp_path / "own.py").write_text("raise OSError")
    with pytest.raises(StudyFileError):
        Study.from_toml(path, announce=told.append)
    assert told == [str(tmp_path / "own.py")]


def test_loading_modules_does_not_load_studies() -> None:
    script = "import sys, crossbandit.core.modules; print('crossbandit.studies' in sys.modules)"
    command = [sys.executable, "-c", script]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout == "False\n"


NOTEBOOK = """
import sys
from dataclasses import dataclass
from typing import ClassVar
from crossbandit import studies
from crossbandit.algorithms import PerContextExp3, register
from crossbandit.errors import StudyError

@register
@dataclass(frozen=True, kw_only=True)
class Own(PerContextExp3):
    id: ClassVar[str] = "own"

study = studies.Study.from_toml(sys.argv[1])
print(studies.run(study, sys.argv[2], jobs=1).computed)
try:
    studies.run(study, sys.argv[3], jobs=2)
except StudyError as error:
    print(error)
"""


def test_a_class_of_a_notebook_cannot_reach_workers_and_that_is_said(tmp_path: Path) -> None:
    path = write(tmp_path, names="")
    folders = [str(tmp_path / "a"), str(tmp_path / "b")]
    command = [sys.executable, "-c", NOTEBOOK, str(path), *folders]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    computed, said = result.stdout.splitlines()
    assert computed == "6"
    assert said.startswith("Own ('own') is defined in a notebook or in the script that runs.")
    assert "jobs=1" in said


# --------------------------------------------------------------------------------------- changes


def anew(path: Path) -> Study:
    """Read a study as a new process would."""
    forget()
    return Study.from_toml(path)


def quietly(path: Path) -> int:
    """Run without a warning, and return how many cells were computed."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return studies.run(anew(path), path.parent / "out", jobs=1).computed


def test_a_changed_module_is_said(tmp_path: Path) -> None:
    path = write(tmp_path)
    assert quietly(path) == 6
    assert quietly(path) == 0
    with (tmp_path / "own.py").open("a") as file:
        file.write("\n# another rule\n")
    # Only the cells with an algorithm of one's own: the others are what they were.
    message = r"^own\.py has changed since 3 of these cells were computed\. .* kept .*--out"
    for _ in range(2):  # as long as it is so
        with pytest.warns(ChangedModulesWarning, match=message):
            summary = studies.run(anew(path), tmp_path / "out", jobs=1)
        assert (summary.computed, summary.kept) == (0, 6)
    write(tmp_path)
    assert quietly(path) == 0


def test_a_changed_file_that_is_imported_is_said(tmp_path: Path) -> None:
    path = write(tmp_path)
    assert quietly(path) == 6
    write(tmp_path, eta="0.125")
    with pytest.warns(ChangedModulesWarning, match=r"^helper\.py has changed since 3 of"):
        studies.run(anew(path), tmp_path / "out", jobs=1)
    (tmp_path / "own.py").write_text(OWN.format(helper="helper") + "\n")
    with pytest.warns(ChangedModulesWarning, match=r"^helper\.py and own\.py have changed since"):
        studies.run(anew(path), tmp_path / "out", jobs=1)


def test_what_is_new_is_computed_with_the_file_as_it_is(tmp_path: Path) -> None:
    path = write(tmp_path)
    assert quietly(path) == 6
    write(tmp_path, eta="0.125")
    path.write_text(path.read_text().replace("[1, 2, 3]", "[1, 4]"))
    with pytest.warns(ChangedModulesWarning, match="since 1 of these cells"):
        studies.run(anew(path), tmp_path / "out", jobs=1)
    path.write_text(path.read_text().replace("[1, 4]", "[4]"))
    assert quietly(path) == 0


def test_another_id_is_a_way_out(tmp_path: Path) -> None:
    path = write(tmp_path)
    assert quietly(path) == 6
    text = (tmp_path / "own.py").read_text().replace('"own"', '"own-2"').replace("rate of", "rate")
    (tmp_path / "own.py").write_text(text)
    path.write_text(path.read_text().replace('"own",', '"own-2",'))
    assert quietly(path) == 3


def test_a_renamed_module_has_not_changed(tmp_path: Path) -> None:
    path = write(tmp_path)
    assert quietly(path) == 6
    (tmp_path / "own.py").rename(tmp_path / "mine.py")
    algorithm._ALGORITHMS._builders.pop("own")  # as in another process
    path.write_text(path.read_text().replace("own.py", "mine.py"))
    assert quietly(path) == 0


def test_an_importable_module_is_looked_at_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    path = write(tmp_path, names='"own"')
    study = Study.from_toml(path)
    assert set(modules.source_hashes(study.modules)) == {"own.py"}
    for name in ("own", "helper"):
        monkeypatch.delitem(sys.modules, name)
