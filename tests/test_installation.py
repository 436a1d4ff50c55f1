"""The wheel and the sdist: what an index accepts, and what pages do with them in new environments.

One environment has the wheel and NumPy; another has the wheel and all other packages. A third has
what is built without a C compiler, and NumPy. One process builds them for all tests.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path
from typing import Any

import pytest

import crossbandit
from crossbandit.core.building import CORES, INTERPRETED
from tests.pages import ROOT, SHELL, blocks

pytestmark = pytest.mark.xdist_group("built")

OURS = {"PYTHONPATH", INTERPRETED, "CROSSBANDIT_CHECKED"}
ENVIRONMENT = {name: text for name, text in os.environ.items() if name not in OURS}

SCRIPT = """
import importlib
import sys

import numpy as np

import crossbandit as cb
from crossbandit import algorithms, applications, graphs, laws, limits
from crossbandit.service import client
from crossbandit.core.building import CORES

assert cb.compiled
for core in CORES:
    assert not importlib.import_module(f"crossbandit.{core}").__file__.endswith(".py")

FORBIDDEN = "cython duckdb jinja2 joblib matplotlib msgspec networkx pandas rich scipy typer"

def missing(call):
    try:
        call()
    except cb.errors.MissingPackageError as error:
        assert isinstance(error, ImportError)
        print(error)
    else:
        raise AssertionError("nothing was missing")

# A bidder with a budget: it learns, is saved and loaded.
bidder = applications.FirstPriceBidder(
    bids=11, value_range=(0, 10), budget=limits.Budget(50, per=500), seed=1
)
rng = np.random.default_rng(0)
for value, price in rng.uniform(0, [10, 6], size=(60, 2)):
    bid = bidder.bid(value)
    if bid.amount is not None:
        won = bid.amount >= price
        bidder.settle(bid.token, won=won, highest_competing_bid=None if won else price)
bidder.save("bidder.cross")
loaded = applications.FirstPriceBidder.load("bidder.cross")
assert loaded.rounds == bidder.rounds > 20
assert [bidder.bid(5.0).amount for _ in range(3)] == [loaded.bid(5.0).amount for _ in range(3)]
assert "<svg" in bidder._repr_html_()

# Each application decides, and so does its snapshot.
items, segments = {"tent": [1, 0], "stove": [0, 1]}, {"thrifty": [3, 1], "picky": [0, 1]}
mailboxes = {"orders": (1, 20), "info": (5, 2)}
for one, act in (
    (applications.FirstPriceBidder(bids=5, value_range=(0, 10), seed=1), lambda a: a.bid(8.0)),
    (
        applications.Newsvendor(orders=range(5), price_range=(2, 4), cost_range=(1, 2), seed=1),
        lambda a: a.order(price=3, cost=1),
    ),
    (
        applications.PostedPriceSeller(prices=range(1, 5), cost_range=(0, 2), seed=1),
        lambda a: a.price(cost=1),
    ),
    (
        applications.Recommender(items=items, segments=segments, similarity=0.9, seed=1),
        lambda a: a.show("picky"),
    ),
    (applications.SpamFilter(mailboxes=mailboxes, seed=1), lambda a: a.decide("info")),
    (applications.SleepingArms(arms=["van", "bike"], seed=1), lambda a: a.choose(["van"])),
):
    act(one)
    act(one.snapshot())
    assert "<b>" in one._repr_html_()

# Every algorithm starts; those that explore look for a covering of the graph.
weak = graphs.loopless_ring(7, radius=3)
contexts = np.full(3, 1 / 3)
for graph in (weak, graphs.ring(7, radius=1)):
    problem = cb.Problem(graph, contexts=3, horizon=100, context_distribution=contexts)
    for name, algorithm in algorithms.registered().items():
        if graph is weak and algorithm.needs_observability == "strong":
            continue
        algorithm().start(problem, seed=1).act(0)

environment = cb.environments.paper_benchmark(horizon=40, alpha=4)
run = cb.simulate(cb.CrossGraph(), environment, seed=200)
assert "<svg" in run._repr_html_() and "<svg" in weak._repr_html_()

missing(run.plot)
missing(run.to_frame)
missing(weak.draw)
missing(weak.to_networkx)
missing(lambda: cb.graphs.loopless_ring(300, radius=7).weak_domination_number)
for name in ("logs", "studies", "theory"):
    missing(lambda: getattr(cb, name))
missing(lambda: importlib.import_module("crossbandit.core.report"))
missing(lambda: cb.service.Node)
for name in ("coba", "gymnasium", "river"):
    missing(lambda: importlib.import_module(f"crossbandit.adapters.{name}"))
assert not set(FORBIDDEN.split()) & set(sys.modules)
"""


WITHOUT_COMPILER = """
import crossbandit as cb
from crossbandit import applications

bidder = applications.FirstPriceBidder(bids=6, value_range=(0, 10), seed=1)
for _ in range(5):
    bidder.settle(bidder.bid(8.0), won=False, highest_competing_bid=9.0)
print(cb.compiled, bidder.rounds)
"""


def run(*command: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist, and from it the wheel; the tools are those of this environment.

    The compiler leaves out -O3, which takes most of its time and which no test here looks at.
    """
    folder = tmp_path_factory.mktemp("dist")
    compiler = folder.with_name("cc")
    usual = sysconfig.get_config_var("CC")
    compiler.write_text(f"#!/bin/sh\nexec {usual} $(echo \" $* \" | sed 's/ -O3 / -O0 /g')\n")
    compiler.chmod(0o755)
    copy = folder.with_name("checkout")  # others build in this one at the same time
    for name in run("git", "ls-files", cwd=ROOT).stdout.splitlines():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name)
    build(folder, copy, "--sdist")
    build(folder, unpacked(folder, folder.with_name("source")), "--wheel", CC=str(compiler))
    return folder


def build(folder: Path, source: Path, kind: str, **variables: str) -> None:
    command = (sys.executable, "-m", "build", "--no-isolation", kind, "--outdir", folder, source)
    result = run(*command, env={**ENVIRONMENT, **variables})
    assert result.returncode == 0, result.stdout + result.stderr


def unpacked(built: Path, folder: Path) -> Path:
    """Unpack the sdist, beside what Cython has made of the same sources here; return where."""
    [sdist] = built.glob("*.tar.gz")
    with tarfile.open(sdist) as opened:
        opened.extractall(folder, filter="data")
    [source] = folder.iterdir()
    for translated in ("cores", "c"):
        shutil.copytree(ROOT / "build" / translated, source / "build" / translated)
    return source


def environment(folder: Path, built: Path) -> tuple[Path, Path]:
    """Return the Python and the packages of a new environment that has the wheel and nothing else.

    Args:
        folder: Where to make it.
        built: The folder of the wheel.
    """
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    [wheel] = built.glob("*.whl")
    install = ("install", "--quiet", "--no-deps", "--no-index", "--no-compile", wheel)
    result = run(sys.executable, "-m", "pip", "--python", python, *install, env=ENVIRONMENT)
    assert result.returncode == 0, result.stderr
    found = run(
        python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", env=ENVIRONMENT
    )
    return python, Path(found.stdout.strip())


@pytest.fixture(scope="module")
def bare(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a Python that has the wheel and NumPy, linked from here, and nothing else."""
    python, packages = environment(tmp_path_factory.mktemp("bare"), built)
    link_numpy(packages)
    return python


def link_numpy(packages: Path) -> None:
    found_here = importlib.util.find_spec("numpy")
    assert found_here is not None
    assert found_here.origin is not None
    home = Path(found_here.origin).parent
    for part in (home, home.with_name("numpy.libs")):
        if part.exists():
            (packages / part.name).symlink_to(part)


@pytest.fixture(scope="module")
def complete(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a Python that has the wheel, and all other packages from here."""
    python, packages = environment(tmp_path_factory.mktemp("complete"), built)
    here = sysconfig.get_path("purelib")
    (packages / "here.pth").write_text(f"{here}\n")  # searched after the wheel
    return python


def test_wheel_and_sdist_are_what_an_index_accepts(built: Path) -> None:
    files = sorted(built.iterdir())
    version = re.escape(crossbandit.__version__)
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    assert re.fullmatch(rf"crossbandit-{version}-cp3\d+-cp3\d+t?-{platform}\.whl", files[0].name)
    assert [file.name for file in files[1:]] == [f"crossbandit-{crossbandit.__version__}.tar.gz"]
    result = run(sys.executable, "-m", "twine", "check", "--strict", *files)
    assert result.returncode == 0, result.stdout + result.stderr
    with tarfile.open(files[1]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"CITATION.cff", "LICENSE", "README.md", "pyproject.toml", "setup.py"} <= names
    listed = run("git", "ls-files", "src", cwd=ROOT)
    assert names >= set(listed.stdout.splitlines()) != set()
    assert not {name for name in names if name.startswith((".venv", "results/", "build/"))}
    assert not {name for name in names if name.endswith((".so", ".pyd"))}


def test_the_wheel_holds_each_core_compiled_and_its_source(built: Path) -> None:
    names = names_in(built)
    for core in CORES:
        stem = f"crossbandit/{core.replace('.', '/')}"
        assert f"{stem}.py" in names
        assert any(name.startswith(f"{stem}.") and name.endswith((".so", ".pyd")) for name in names)
    assert "crossbandit/py.typed" in names
    assert not {name for name in names if name.endswith((".c", ".cpp"))}


def names_in(folder: Path) -> set[str]:
    """Return the names of the files in the wheel of a folder."""
    [wheel] = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        return set(opened.namelist())


def test_without_a_compiler_it_installs_and_runs_and_warns_once(
    built: Path, tmp_path: Path
) -> None:
    dist = tmp_path / "dist"
    build(dist, unpacked(built, tmp_path / "source"), "--wheel", CC="/bin/false")
    assert not {name for name in names_in(dist) if name.endswith((".so", ".pyd"))}
    python, packages = environment(tmp_path / "environment", dist)
    link_numpy(packages)
    result = run(python, "-c", WITHOUT_COMPILER, cwd=tmp_path, env=ENVIRONMENT)
    assert result.stdout == "False 5\n", result.stderr
    assert result.stderr.count("Warning") == 1
    assert "RuntimeWarning: Crossbandit has no compiled code" in result.stderr


def test_a_learner_needs_numpy_only(bare: Path, tmp_path: Path) -> None:
    result = run(bare, "-W", "error", "-c", SCRIPT, cwd=tmp_path, env=ENVIRONMENT)
    assert result.returncode == 0, result.stderr
    said = re.findall(
        r"^(.+) needs .+, which (?:is|are) not installed\. .*: "
        r'pip install "crossbandit\[(\w+)\]", or in a checkout: pip install "\.\[\2\]"$',
        result.stdout,
        re.MULTILINE,
    )
    assert dict(said) == {
        "Run.plot": "notebook",
        "Run.to_frame": "notebook",
        "FeedbackGraph.draw": "notebook",
        "FeedbackGraph.to_networkx": "graphs",
        "A program of 300 arms": "graphs",
        "crossbandit.adapters.gymnasium": "gymnasium",
        "crossbandit.logs": "replay",
        "crossbandit.core.report": "replay",
        "crossbandit.service": "serve",
        "crossbandit.studies": "studies",
        "crossbandit.verify.theory": "studies",
        "crossbandit.adapters.coba": "coba",
        "crossbandit.adapters.river": "river",
    }
    assert len(said) == len(result.stdout.splitlines())


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        ("crossbandit --help", "cli"),
        ("python -m crossbandit", "cli"),
        ("crossbandit serve --demo", "serve"),
    ],
)
def test_the_command_names_its_extra(bare: Path, command: str, extra: str) -> None:
    program, *rest = command.split()
    result = run(bare.with_name(program), *rest, env=ENVIRONMENT)
    assert result.returncode == 2
    assert result.stderr == (
        "Error: The command crossbandit needs typer, rich, which are not installed. "
        f'Install them with: pip install "crossbandit[{extra}]", '
        f'or in a checkout: pip install ".[{extra}]"\n'
    )


def test_the_extras_of_the_pages_are_in_the_wheel(built: Path) -> None:
    lines = "\n".join(block.text for block in SHELL)
    named = {one for found in re.findall(r"\[([\w,]+)\]['\"]", lines) for one in found.split(",")}
    assert {"all", "cli", "serve"} <= named
    [wheel] = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        [path] = [name for name in opened.namelist() if name.endswith(".dist-info/METADATA")]
        written = message_from_bytes(opened.read(path))
    assert named <= set(written.get_all("Provides-Extra", []))


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_first_example_runs_where_the_wheel_is_installed(
    bare: Path, page: str, tmp_path: Path
) -> None:
    example = next(block.text for block in blocks(ROOT / page) if block.kind == "python")
    shorter = example.replace("range(5_000)", "range(60)")
    assert shorter != example
    result = run(bare, "-W", "error", "-c", shorter, cwd=tmp_path, env=ENVIRONMENT)
    assert result.returncode == 0, result.stderr
    assert re.fullmatch(r"\[[\d. ]+\]\n", result.stdout)


def test_the_first_commands_run_where_the_wheel_is_installed(
    complete: Path, tmp_path: Path
) -> None:
    """Those of the tutorial, on fewer auctions; the code is that of the wheel."""
    tutorial = "docs/tutorials/log.md"
    lines = [words for block in SHELL if block.page == tutorial for words in block.commands]
    assert [words[:2] for words in lines] == [
        ["crossbandit", "make-log"],
        ["crossbandit", "replay"],
    ]
    asked = "import crossbandit; print(crossbandit.__file__)"
    where = run(complete, "-c", asked, cwd=tmp_path, env=ENVIRONMENT).stdout
    assert Path(where).is_relative_to(complete.parents[1])
    said = []
    for program, *words in lines:
        fewer = ["20" if word == "100000" else word for word in words]
        result = run(complete.with_name(program), *fewer, cwd=tmp_path, env=ENVIRONMENT)
        assert result.returncode == 0, result.stderr
        said.append(result.stdout)
    assert "price distribution" in said[-1]
    assert (tmp_path / "results/replay/index.html").exists()


def test_the_version_is_the_same_everywhere() -> None:
    for path in ("CITATION.cff", "docs/how-to/reproduce-the-paper.md"):
        found = re.search(
            r"^ *version(?::| *= \{)\s*([\d.]+)", (ROOT / path).read_text(), re.MULTILINE
        )
        assert found is not None, path
        assert found[1] == crossbandit.__version__, path
