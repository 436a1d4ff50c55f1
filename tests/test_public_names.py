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
    "crossbandit.environments",
    "crossbandit.environments.simulation",
    "crossbandit.errors",
    "crossbandit.graphs",
    "crossbandit.laws",
    "crossbandit.limits",
    "crossbandit.logs",
    "crossbandit.logs.evaluate",
    "crossbandit.logs.replay",
    "crossbandit.core.report",
    "crossbandit.service",
    "crossbandit.service.client",
    "crossbandit.service.http",
    "crossbandit.studies",
    "crossbandit.verify.checks",
    "crossbandit.verify.theory",
]


@pytest.mark.parametrize("name", [*PACKAGES, "crossbandit.core.forms"])
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
        "AuctionLog",
        "Budget",
        "CostPer",
        "CrossGraph",
        "CrossGraphAdaptive",
        "CrossGraphCertified",
        "CrossGraphKnown",
        "CrossGraphVarying",
        "CrossGraphWeak",
        "CrossbanditError",
        "Decision",
        "Environment",
        "FeedbackGraph",
        "FirstPriceBidder",
        "Learner",
        "Newsvendor",
        "PerContextExp3",
        "PerContextGraph",
        "PostedPriceSeller",
        "Problem",
        "Recommender",
        "ReturnOnSpend",
        "Run",
        "SchneiderZimmert",
        "SleepingArms",
        "SpamFilter",
        "TenderBidder",
        "compiled",
        "environments",
        "errors",
        "evaluate",
        "graphs",
        "load",
        "make_log",
        "replay",
        "simulate",
        "simulate_many",
        "tuning",
    ]


def test_every_exported_name_is_documented() -> None:
    for name in crossbandit.__all__:
        assert inspect.getdoc(getattr(crossbandit, name)), name


def test_import_loads_only_what_a_learner_needs() -> None:
    script = (
        "import sys, numpy\n"
        "before = set(sys.modules)\n"
        "import crossbandit\n"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = set(result.stdout.split())
    assert "crossbandit" in loaded
    assert loaded <= {"crossbandit", *sys.stdlib_module_names}


def in_new_process(script: str) -> str:
    command = [sys.executable, "-c", script]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_first_bid_loads_only_what_it_needs() -> None:
    loaded = in_new_process(
        "import sys, numpy\n"
        "from crossbandit.applications import FirstPriceBidder\n"
        "bidder = FirstPriceBidder(bids=100, value_range=(0, 10), seed=7)\n"
        "bidder.settle(bidder.bid(5.0), won=False, highest_competing_bid=9.0)\n"
        "print(*sys.modules)\n"
    ).split()
    assert "crossbandit.applications.first_price" in loaded
    algorithms = [name for name in loaded if name.startswith("crossbandit.algorithms.")]
    assert [name for name in algorithms if ".learners" not in name] == []
    unneeded = {
        "crossbandit.applications.newsvendor",
        "crossbandit.environments.applied",
        "crossbandit.algorithms.learners.files",
        "crossbandit.limits.pacer",
        "difflib",
        "html",
        "json",
        "numpy.ma",
        "pathlib",
        "statistics",
        "zipfile",
        "zoneinfo",
    }
    assert unneeded & set(loaded) == set()


def test_a_module_does_not_hide_the_function_of_its_name() -> None:
    shown = in_new_process(
        "import crossbandit.environments.applied\n"
        "from crossbandit import environments\n"
        "print(callable(environments.newsvendor), 'sleeping' in dir(environments))\n"
    )
    assert shown == "True True\n"


@pytest.mark.parametrize("package", ["algorithms", "applications", "environments", "laws"])
def test_a_star_loads_all_names(package: str) -> None:
    names = importlib.import_module(f"crossbandit.{package}").__all__
    script = f"from crossbandit.{package} import *\nprint(*sorted(set(dir()) & set({names})))"
    assert in_new_process(script).split() == names


def test_registries_know_what_has_not_been_loaded() -> None:
    shown = in_new_process(
        "from crossbandit.environments.environment import registered_distributions\n"
        "from crossbandit.algorithms.learners.algorithm import from_json\n"
        "print(from_json({'id': 'elp'}), 'zipf' in registered_distributions())\n"
    )
    assert shown == "Elp(eta=None, rho=None, cross_learning=True) True\n"
    taken = in_new_process(
        "from crossbandit.errors import InvalidParameterError\n"
        "from crossbandit.algorithms.learners.algorithm import Algorithm, register\n"
        "class Mine(Algorithm):\n"
        "    id = 'elp'\n"
        "try:\n"
        "    register(Mine)\n"
        "except InvalidParameterError as error:\n"
        "    print(error)\n"
    )
    assert taken.startswith("The name 'elp' belongs to Elp.")


def test_every_package_is_there_when_it_is_named() -> None:
    """Without an import of its own: `crossbandit.limits`, not only `crossbandit.graphs`."""
    names = [name for name in PACKAGES if name not in {"crossbandit", "crossbandit.service.http"}]
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


@pytest.mark.parametrize(
    "name",
    [
        *("environments.simulation", "service.client"),
        *("verify.checks", "verify.theory"),
    ],
)
def test_packages_within_packages_can_be_named_without_them(name: str) -> None:
    found = getattr(crossbandit, name.rpartition(".")[2])
    assert found is importlib.import_module(f"crossbandit.{name}")


def test_replay_and_evaluate_are_functions_whatever_was_imported_first() -> None:
    shown = in_new_process(
        "import crossbandit.logs.replay, crossbandit.logs.evaluate, crossbandit as cb\n"
        "print(cb.replay is crossbandit.logs.replay.replay, cb.evaluate.__name__)\n"
    )
    assert shown == "True evaluate\n"


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        *(("FirstPriceBider", "FirstPriceBidder"), ("crossgraph", "CrossGraph")),
        *(("simulat", "simulate"), ("limit", "limits"), ("bidget", "Budget")),
    ],
)
def test_a_wrong_name_gets_a_suggestion(wrong: str, right: str) -> None:
    with pytest.raises(AttributeError, match=f"no attribute '{wrong}'. Did you mean '{right}'"):
        getattr(crossbandit, wrong)


def test_a_name_like_no_other_gets_no_suggestion() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'zzz'$"):
        crossbandit.zzz  # type: ignore[attr-defined]  # noqa: B018


def test_a_package_of_packages_shows_them() -> None:
    shown = {name for name in dir(importlib.import_module("crossbandit.verify")) if name[0] != "_"}
    assert {"checks", "theory"} <= shown


def test_dir_shows_what_is_public_and_nothing_else() -> None:
    shown = {name for name in dir(crossbandit) if not name.startswith("__")}
    assert set(crossbandit.__all__) <= shown
    packages = shown - set(crossbandit.__all__)
    assert {"applications", "limits", "laws"} <= packages
    assert all(isinstance(getattr(crossbandit, name), types.ModuleType) for name in packages)


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
