"""Packages that come with extras: what is said where one is missing, and that nothing slips by."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from crossbandit import graphs
from crossbandit.core.extras import installed, pip_line, require
from crossbandit.errors import CrossbanditError, MissingPackageError

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "crossbandit"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Where Cython is not installed, `crossbandit.core.shim` stands in for it.
ALWAYS = {"crossbandit", "cython", "numpy", *sys.stdlib_module_names}

# What these functions require for their callers.
GUARDS = {"new_axes": {"matplotlib"}, "set_rows": {"scipy"}}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def names(requirements: list[str]) -> set[str]:
    """Return the packages that a list in pyproject.toml asks for, with those of named extras."""
    found: set[str] = set()
    for one in requirements:
        name, _, extras = re.split(r"[<>=]", one)[0].partition("[")
        if name == "crossbandit":
            for extra in extras.rstrip("]").split(","):
                found |= names(PROJECT["optional-dependencies"][extra])
        else:
            found.add(name)
    return found


def calls(tree: ast.AST) -> Iterator[tuple[str, list[str], str]]:
    """Yield the function, the packages and the extra of each call that requires a package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            listed = [part for one in node.args for part in ast.walk(one)]
            texts = [one.value for one in listed if isinstance(one, ast.Constant)]
            extra = [one.value for one in node.keywords if one.arg == "extra"]
            value = extra[0].value if extra and isinstance(extra[0], ast.Constant) else ""
            yield (
                ast.unparse(node.func).removeprefix("extras."),
                [str(text) for text in texts],
                str(value),
            )


def guarded(path: Path) -> set[str]:
    """Return the packages that a file requires before it uses them."""
    found = set()
    for name, packages, _ in calls(parsed(path)):
        if name in {"require", "installed"}:
            found |= set(packages)
        found |= GUARDS.get(name, set())
    return found


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the packages that a file imports when it runs."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for other in node.orelse:
                yield from imported(other)
        elif isinstance(node, ast.Import):
            yield from (one.name.partition(".")[0] for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]
        else:
            yield from imported(node)


def test_no_package_of_an_extra_is_imported_unasked() -> None:
    """Each is required in the same file, or by a package that the file belongs to."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        optional = set(imported(parsed(path))) - ALWAYS
        if optional:
            found |= optional
            known = guarded(path)
            for folder in path.relative_to(SOURCE).parents[:-1]:  # their __init__.py runs first
                known |= guarded(SOURCE / folder / "__init__.py")
            assert optional <= known, path
    assert {"duckdb", "matplotlib", "scipy", "typer"} <= found


def test_each_extra_has_what_is_required_of_it() -> None:
    required = [
        (packages, extra)
        for path in SOURCE.rglob("*.py")
        for name, packages, extra in calls(parsed(path))
        if name == "require" and extra
    ]
    assert len(required) > 10
    for packages, extra in required:
        assert set(packages) <= names(PROJECT["optional-dependencies"][extra]), extra


def test_numpy_is_all_that_is_always_needed() -> None:
    assert names(PROJECT["dependencies"]) == {"numpy"}
    extras = PROJECT["optional-dependencies"]
    assert names(extras["all"]) <= names(extras["dev"])
    for extra in ("cli", "graphs", "gymnasium", "notebook", "replay", "studies"):
        assert names(extras[extra]) <= names(extras["all"])


def test_a_missing_package_is_an_error_of_both_trees() -> None:
    with pytest.raises(MissingPackageError) as caught:
        require("numpy", "no_such_one", "nor_this", extra="graphs", owner="A test")
    assert str(caught.value) == (
        "A test needs no_such_one, nor_this, which are not installed. Install them with: "
        'pip install "crossbandit[graphs]", or in a checkout: pip install ".[graphs]"'
    )
    assert isinstance(caught.value, CrossbanditError)
    assert isinstance(caught.value, ModuleNotFoundError)
    assert caught.value.name == "no_such_one"
    assert pip_line("cli").startswith('pip install "crossbandit[cli]", or in a checkout: ')


def test_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert installed("numpy")
    assert installed("scipy")
    assert not installed("no_such_package")
    monkeypatch.setitem(sys.modules, "scipy", None)
    assert not installed("scipy")


# ------------------------------------------------------------------------------- without SciPy


def test_the_independence_number_needs_no_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    def sparse() -> graphs.FeedbackGraph:
        return graphs.random_graph(40, density=0.06, seed=5)

    with_scipy = sparse().independent_set
    assert sparse().independence_bounds.lower < sparse().independence_bounds.upper  # is searched
    monkeypatch.setitem(sys.modules, "scipy", None)
    assert sparse().independent_set == with_scipy


def test_large_programs_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(MissingPackageError, match=r'of 120 arms needs scipy, .*bandit\[graphs\]"'):
        _ = graphs.loopless_ring(120, radius=7).weak_domination_number
    assert graphs.ring(9, radius=4).maximum_acyclic_bounds == (5, 7)
