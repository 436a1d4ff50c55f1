"""Whether cores are compiled, and from which source: what is said if not."""

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import crossbandit
from crossbandit.core.building import CORES, INTERPRETED, checksum, require_current

PACKAGE = Path(crossbandit.__file__).parent
IMPORT = "import crossbandit; print(crossbandit.compiled)"


def python(code: str, folder: Path, *options: str, **variables: str) -> tuple[str, str]:
    """Run code with the package in a folder; return what it prints, and what it says of errors."""
    settings = {key: value for key, value in os.environ.items() if key != INTERPRETED}
    done = subprocess.run(
        [sys.executable, *options, "-c", code],
        env={**settings, "PYTHONPATH": str(folder), **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return done.stdout.strip(), done.stderr


@pytest.fixture(scope="module")
def uncompiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the package as it is installed without a C compiler."""
    folder = tmp_path_factory.mktemp("uncompiled")
    ignored = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__", "page", "service")
    shutil.copytree(PACKAGE, folder / "crossbandit", ignore=ignored)
    return folder


def test_without_compiled_code_one_warning_says_how_slow_and_what_to_install(
    uncompiled: Path,
) -> None:
    out, said = python(IMPORT + "; import crossbandit.core.building", uncompiled)
    assert out == "False"
    assert said.count("Warning") == 1
    assert "RuntimeWarning: Crossbandit has no compiled code" in said
    assert "about 500 times slower" in said
    assert "Install a C compiler (on Debian and Ubuntu: apt install gcc python3-dev)" in said
    assert said.splitlines()[0].startswith("<string>:1:")  # where the user imports it


def test_sources_run_on_request_without_a_warning(uncompiled: Path) -> None:
    code = IMPORT + "; from crossbandit.core import arithmetic as core; print(core.__file__)"
    for folder in (uncompiled, PACKAGE.parent):
        out, said = python(code, folder, "-W", "error", **{INTERPRETED: "1"})
        assert said == ""
        assert out.split() == ["False", str(folder / "crossbandit" / "core" / "arithmetic.py")]


@pytest.mark.skipif(not crossbandit.compiled, reason="there is no compiled core")
def test_a_core_refuses_to_run_beside_another_source(tmp_path: Path) -> None:
    folder = tmp_path / "crossbandit"
    for path in (
        PACKAGE / "__init__.py",
        PACKAGE / "errors.py",
        *sorted((PACKAGE / "core").iterdir()),
    ):
        if path.is_file():
            target = folder / path.relative_to(PACKAGE)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    code = "import warnings; warnings.simplefilter('ignore'); import crossbandit.core.arithmetic"
    assert python(code, tmp_path) == ("", "")
    source = folder / "core" / "arithmetic.py"
    source.write_text(source.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
    _, said = python(code, tmp_path)
    assert "OutdatedCoreError: crossbandit.core.arithmetic was compiled from another" in said
    assert "Build it again: make build, or in an installed package: pip install" in said


def test_declarations_count_for_every_core_that_is_compiled_with_them(tmp_path: Path) -> None:
    """Also for one that uses them only by the declarations of another."""
    shutil.copytree(PACKAGE, tmp_path / "crossbandit", ignore=shutil.ignore_patterns("*.so"))
    building = runpy.run_path(str(tmp_path / "crossbandit" / "core" / "building.py"))

    def sums() -> dict[str, int]:
        folder = tmp_path / "crossbandit"
        return {
            core: building["checksum"](str(folder.joinpath(*core.split("."))) + ".py")
            for core in CORES
        }

    for changed, users in (
        ("laws/price_core.pxd", {"laws.price_core", "limits.pace_core"}),
        ("laws/test_core.pxd", {"laws.test_core", "laws.law_core", "laws.guard_core"}),
        ("core/rounds.pxd", {"core.rounds", "algorithms.means_core"}),
    ):
        before = sums()
        with (tmp_path / "crossbandit" / changed).open("a", encoding="utf-8") as declarations:
            declarations.write("# changed\n")
        found = {core for core, one in sums().items() if one != before[core]}
        assert users <= found
        assert "core.uniforms" not in found


def test_all_cores_are_listed_and_line_ends_do_not_matter(tmp_path: Path) -> None:
    assert {path.relative_to(PACKAGE) for path in PACKAGE.rglob("*_core.py")} <= {
        Path(*core.split(".")).with_suffix(".py") for core in CORES
    }
    (tmp_path / "unix.py").write_bytes(b"a = 1\nb = 2\n")
    (tmp_path / "windows.py").write_bytes(b"a = 1\r\nb = 2\r\n")
    assert checksum(str(tmp_path / "unix.py")) == checksum(str(tmp_path / "windows.py"))
    for core in CORES:  # a source that is there and is another one
        with pytest.raises(ImportError, match=f"crossbandit.{core} was compiled from another"):
            require_current(f"crossbandit.{core}", -1)


@pytest.mark.skipif(bool(os.environ.get(INTERPRETED)), reason="sources were asked for")
def test_tests_run_machine_code() -> None:
    loaded = [sys.modules[f"crossbandit.{core}"].__file__ for core in CORES]
    assert [file for file in loaded if str(file).endswith(".py")] == []


def test_importing_the_package_loads_nothing_slow() -> None:
    new = (
        "import sys; before = set(sys.modules); import crossbandit; new = set(sys.modules) - before"
    )
    out, said = python(f"{new}; print(new & {{'hashlib', 'numpy', 'pathlib'}})", PACKAGE.parent)
    assert (out, said) == ("set()", "")
