"""What the package exports, and what importing it costs."""

import importlib
import inspect
import re
import subprocess
import sys
import types
from typing import Any

import pytest

import crossbandit
from crossbandit import errors

PACKAGES = [
    "crossbandit",
    "crossbandit.adapters",
    "crossbandit.algorithms",
    "crossbandit.applications",
    "crossbandit.checks",
    "crossbandit.client",
    "crossbandit.environments",
    "crossbandit.errors",
    "crossbandit.evaluate",
    "crossbandit.graphs",
    "crossbandit.kernels",
    "crossbandit.laws",
    "crossbandit.limits",
    "crossbandit.logs",
    "crossbandit.losses",
    "crossbandit.replay",
    "crossbandit.report",
    "crossbandit.service",
    "crossbandit.service.http",
    "crossbandit.simulation",
    "crossbandit.studies",
    "crossbandit.theory",
]


@pytest.mark.parametrize("name", PACKAGES)
def test_all_is_sorted_and_exists(name: str) -> None:
    package = importlib.import_module(name)
    assert sorted(package.__all__) == package.__all__
    assert len(set(package.__all__)) == len(package.__all__)
    for exported in package.__all__:
        assert getattr(package, exported) is not None


@pytest.mark.parametrize("name", PACKAGES)
def test_all_is_complete(name: str) -> None:
    """Every public class and function that a package shows is in its `__all__`."""
    package = importlib.import_module(name)
    shown = {
        key
        for key, value in vars(package).items()
        if not key.startswith("_")
        and not isinstance(value, types.ModuleType)
        and str(getattr(value, "__module__", "")).startswith("crossbandit")
    }
    assert shown - set(package.__all__) == set()


def test_the_names_of_the_interface() -> None:
    """A name that leaves is a breaking change; a name that comes is a promise."""
    assert crossbandit.__all__ == [
        "Algorithm",
        "CrossGraph",
        "CrossGraphAdaptive",
        "CrossGraphKnown",
        "CrossGraphVarying",
        "CrossGraphWeak",
        "CrossbanditError",
        "Decision",
        "Environment",
        "FeedbackGraph",
        "Learner",
        "PerContextExp3",
        "PerContextGraph",
        "Problem",
        "Run",
        "SchneiderZimmert",
        "environments",
        "errors",
        "graphs",
        "load",
        "simulate",
        "simulate_many",
        "tuning",
    ]


def test_every_exported_name_is_documented() -> None:
    for name in crossbandit.__all__:
        assert inspect.getdoc(getattr(crossbandit, name)), name


def test_import_loads_only_what_a_learner_needs() -> None:
    """Numba looks for SciPy by itself; the package loads none of these."""
    script = (
        "import sys, numpy, numba\n"
        "before = set(sys.modules)\n"
        "import crossbandit\n"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = set(result.stdout.split())
    assert "crossbandit" in loaded
    assert loaded.isdisjoint({"scipy", "networkx", "matplotlib", "rich", "typer", "pandas"})


def test_every_package_is_there_when_it_is_named() -> None:
    """Without an import of its own: `crossbandit.limits`, not only `crossbandit.graphs`."""
    names = [name for name in PACKAGES if name.count(".") == 1]
    result = subprocess.run(
        [sys.executable, "-c", f"import crossbandit\nprint({', '.join(names)}, sep='\\n')"],
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.findall(r"<module '(\S+)' from", result.stdout)
    assert found == names
    with pytest.raises(AttributeError, match="module 'crossbandit' has no attribute 'theories'"):
        crossbandit.theories  # type: ignore[attr-defined]  # noqa: B018


# --------------------------------------------------------------------------------------- errors


def error_classes() -> dict[str, type[Exception]]:
    return {
        name: value
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, Exception)
    }


def drawn_tree() -> dict[str, str]:
    """Return the parent of each error, as the module's docstring draws it."""
    parents: dict[str, str] = {}
    branch: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"^    ([│ ]*)(?:[├└]── )?(\w+(?:Error|Warning))\b", line)
        if found is None:
            continue
        depth = len(line[: found.start(2)]) // 4 - 1
        del branch[depth:]
        root = "UserWarning" if found[2].endswith("Warning") else "Exception"
        parents[found[2]] = branch[-1] if branch else root
        branch.append(found[2])
    return parents


def test_every_error_is_in_the_tree_that_is_drawn() -> None:
    real = {name: value.__bases__[0].__name__ for name, value in error_classes().items()}
    assert drawn_tree() == real
    assert sorted(real) == errors.__all__


@pytest.mark.parametrize("error", error_classes().values(), ids=error_classes().keys())
def test_every_error_is_documented_and_of_one_root(error: Any) -> None:
    assert issubclass(error, errors.CrossbanditError | errors.CrossbanditWarning)
    assert error.__doc__


def test_bad_input_is_a_value_error() -> None:
    assert issubclass(errors.InvalidInputError, ValueError)
    assert issubclass(errors.CheckFailedError, AssertionError)
