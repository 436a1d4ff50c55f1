import inspect
import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from crossbandit import algorithms, environments, graphs, simulate, studies
from crossbandit.algorithms import from_json
from crossbandit.environments import registered
from crossbandit.environments.environment import has_random_losses
from crossbandit.errors import StudyFileError
from crossbandit.studies import Study, shipped, shipped_names, template
from tests.studies.helpers import SMALL, mischief, small

PART = """[study]
name = "s"
[[part]]
seeds = [1]
horizon = 50
"""


def described(study: Study, side: str, *keys: str) -> list[tuple[Any, ...]]:
    texts = dict.fromkeys(getattr(cell, side) for cell in study.cells)
    return [tuple(json.loads(text)[key] for key in keys) for text in texts]


def test_lists_expand_into_a_grid() -> None:
    study = Study.from_toml(
        PART
        + """
[[part.environments]]
name = "paper-benchmark"
alpha = [1, 4]
table_seed = [0, 1, 2]
[[part.algorithms]]
id = "cross-graph"
eta = [0.1, 1]
tuning = ["experiment", "theorem"]
"""
    )
    assert len(study.cells) == 2 * 3 * 2 * 2
    assert described(study, "environment", "alpha", "table_seed") == [
        (alpha, seed) for alpha in (1, 4) for seed in (0, 1, 2)
    ]
    assert described(study, "algorithm", "eta", "tuning") == [
        (eta, rule) for eta in (0.1, 1.0) for rule in ("experiment", "theorem")
    ]


def test_graphs_and_laws_are_tables_that_expand_too() -> None:
    study = Study.from_toml(
        PART
        + """
algorithms = ["schneider-zimmert"]
[[part.environments]]
name = "switching"
graph = [{ name = "ring", arms = 5, radius = [1, 2] }, { name = "threshold", arms = 4 }]
context_distribution = { name = "zipf", contexts = 100 }
"""
    )
    assert described(study, "environment", "graph", "context_distribution") == [
        (graph, {"name": "zipf", "contexts": 100, "exponent": 1.0})
        for graph in (
            {"name": "ring", "arms": 5, "radius": 1},
            {"name": "ring", "arms": 5, "radius": 2},
            {"name": "threshold", "arms": 4, "reveals": "higher"},
        )
    ]


def test_a_parameter_that_is_a_list_stays_one() -> None:
    study = Study.from_toml(
        PART
        + """
algorithms = ["schneider-zimmert"]
[[part.environments]]
name = "switching"
graph = { name = "similarity", points = [0.0, 1.0, 5.0], distance = [1, 4] }
"""
    )
    found = [graph for (graph,) in described(study, "environment", "graph")]
    assert [(graph["points"], graph["distance"]) for graph in found] == [
        ([0.0, 1.0, 5.0], 1.0),
        ([0.0, 1.0, 5.0], 4.0),
    ]


def test_labels_name_what_they_label() -> None:
    study = Study.from_toml(
        PART
        + """
environments = [{ name = "paper-benchmark", label = "ring {alpha}", alpha = [1, 4] }]
[[part.algorithms]]
id = "cross-graph"
label = "eta={eta}"
eta = [0.1, 0.2]
"""
    )
    assert {cell.environment_name for cell in study.cells} == {"ring 1", "ring 4"}
    assert {cell.algorithm_name for cell in study.cells} == {"eta=0.1", "eta=0.2"}


@pytest.mark.parametrize(
    ("seeds", "expected"),
    [
        ("3", [3]),
        ("[3, 1]", [3, 1]),
        ('"8..10"', [8, 9, 10]),
        ('["0..1", 7]', [0, 1, 7]),
    ],
)
def test_seeds(seeds: str, expected: list[int]) -> None:
    text = SMALL.replace('seeds = "5..7"', f"seeds = {seeds}")
    found = dict.fromkeys(cell.seed for cell in Study.from_toml(text).cells)
    assert list(found) == expected


# ------------------------------------------------------------------------------------- content


def test_the_same_content_has_the_same_key() -> None:
    written_otherwise = """
study.name = "otherwise"
[[part]]
algorithms = [{ name = "per-context-exp3", label = "Exp3" },
  { tuning = "experiment", id = "cross-graph" }]
name = "renamed"
seeds = [7, 6, 5]
[[part.environments]]
contexts = 7
horizon = [100, 60]
arms = 5
table_seed = 0
radius = 1
name = "paper-benchmark"
"""
    other = Study.from_toml(written_otherwise)
    assert {cell.key for cell in other.cells} == {cell.key for cell in small().cells}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("5..7", "8..10"),
        ("[60, 100]", "[61, 101]"),
        ("radius = 1", "radius = 2"),
        ("radius = 1", "radius = 1\ntable_seed = 1"),
        (
            '"cross-graph", "per-context-exp3"',
            '{id = "cross-graph", eta = 0.1}, "schneider-zimmert"',
        ),
    ],
)
def test_other_content_has_other_keys(old: str, new: str) -> None:
    other = Study.from_toml(SMALL.replace(old, new))
    assert not {cell.key for cell in other.cells} & {cell.key for cell in small().cells}


def test_keys_do_not_change_from_version_to_version() -> None:
    """If this fails, results that people have will be computed again: raise FORMAT, and say so."""
    assert small().cells[0].key == (
        "23ebc77c4a4f6e643dbf291ef35415b04c2171dda8b8f829378f3e7f24bf0e3a"
    )


def test_with_algorithms_adds_to_every_part() -> None:
    study = small()
    more = study.with_algorithms("cross-graph-known", "per-context-exp3")
    added = more.cells[len(study.cells) :]
    assert {cell.algorithm_name for cell in added} == {"cross-graph-known"}
    assert len(added) == 6
    assert more.cells[: len(study.cells)] == study.cells


# --------------------------------------------------------------------------------------- errors

GOOD = """[study]
name = "s"

[[part]]
name = "p"
seeds = [1, 2]
horizon = [50, 60]

[[part.environments]]
name = "paper-benchmark"
alpha = 4

[[part.environments]]
name = "switching"
graph = { name = "ring", arms = 5, radius = 1 }
gap = 0.1

[[part.algorithms]]
id = "cross-graph"
eta = [0.1,
       0.2]
"""

MANY = [i / 1000 for i in range(1, 1000)]

MISTAKES = [
    ("[study]", "[stuby]", 1, "stuby", "Did you mean 'study'?"),
    ('name = "s"', 'nam = "s"', 2, "study.nam", "Did you mean 'name'?"),
    ('name = "s"', "name = 1", 2, "study.name", "must be a text"),
    ('name = "s"', 'name = "../s"', 2, "study.name", "without '/'"),
    ('name = "s"', "name = 'a\\s'", 2, "study.name", "without '\\\\'"),
    ('name = "s"', 'name = "a\\u0000"', 2, "study.name", "without '\\x00'"),
    ('name = "s"', 'name = ".."', 2, "study.name", "must be the name of a folder in results"),
    ('name = "s"', 'name = "."', 2, "study.name", "must be the name of a folder in results"),
    ('name = "s"', 'name = "s"\nmodules = 3', 3, "study.modules", "list of modules"),
    ('name = "s"', 'name = "s"\nmodules = ["no_such"]', 3, "study.modules", "no_such"),
    ("seeds =", "seed =", 6, "part.seed", "Did you mean 'seeds'?"),
    ("seeds = [1, 2]", "", 4, "part.seeds", "missing"),
    ("[1, 2]", "[1, 1]", 6, "part.seeds", "the seed 1 is given twice"),
    ("[1, 2]", "[1, -2]", 6, "part.seeds", "integer of at least 0"),
    ("[1, 2]", "[]", 6, "part.seeds", "must have at least one seed"),
    ("[1, 2]", '"1-2"', 6, "part.seeds", '"200..209"'),
    ("[1, 2]", '"5..2"', 6, "part.seeds", '"200..209"'),
    ("[1, 2]", "[1, 99999999999999999999]", 6, "part.seeds", "2^63"),
    ("[1, 2]", '"0..9223372036854775806"', 6, "part.seeds", "at most 10,000,000 seeds"),
    ("[1, 2]", f'"0..{10**30}"', 6, "part.seeds", "must be seeds, or a range"),
    ("[50, 60]", "[50, 0]", 7, "part.horizon", "integer of at least 1"),
    ("[50, 60]", f"[50, {2**62 + 1}]", 7, "part.horizon", "of at most 4611686018427387904"),
    ("[50, 60]", "50.5", 7, "part.horizon", "integer"),
    ("[50, 60]", "[]", 7, "part.horizon", "must not be an empty list"),
    ("horizon = [50, 60]", "", 9, "part.environments.horizon", "missing"),
    ('"paper-benchmark"', '"paper_bench"', 10, "part.environments.name", "'paper-benchmark'?"),
    ("alpha = 4", "alhpa = 4", 11, "part.environments.alhpa", "Did you mean 'alpha'?"),
    ("alpha = 4", "alpha = 5", 11, "part.environments.alpha", "independence number"),
    ("alpha = 4", "", 9, "part.environments", "either 'alpha'"),
    ("alpha = 4", "alpha = nan", 11, "part.environments.alpha", "finite number"),
    ("alpha = 4", "alpha = 1979-05-27", 11, "part.environments.alpha", "finite number"),
    ("alpha = 4", "alpha = {name = 4}", 11, "part.environments.alpha", "Got a table"),
    ("alpha = 4", "alpha = 4\nhorizon = 3", 12, "part.environments.horizon", "Leave one out"),
    ("alpha = 4", 'alpha = 4\nlabel = "{alhpa}"', 12, "part.environments.label", "'alpha'?"),
    (
        "alpha = 4",
        "alpha = 4\ncontexts = 1_000_000_000_000_000",
        12,
        "part.environments.contexts",
        "of at most 100000000",
    ),
    ("alpha = 4", f"alpha = 4\ncontexts = {2**62}", 12, "part.environments.contexts", "at most"),
    ("alpha = 4", f"alpha = 4\ncontexts = {2**63}", 12, "part.environments.contexts", "64 bits"),
    ("alpha = 4", f"alpha = 4\ncontexts = {10**30}", 12, "part.environments.contexts", "64 bits"),
    ("alpha = 4", "alpha = 4\ncontexts = 1" + 399 * "0", 12, "part.environments.contexts", "64"),
    ("gap = 0.1", "gap = 1" + 399 * "0", 16, "part.environments.gap", "64 bits"),
    ("gap = 0.1", f"contexts = {2**62}", 16, "part.environments.contexts", "at most"),
    (
        "gap = 0.1",
        "contexts = 1_000_000_000_000_000",
        16,
        "part.environments.contexts",
        "of at most 100000000",
    ),
    ('"ring"', '"rnig"', 15, "part.environments.graph.name", "Did you mean 'ring'?"),
    ("radius = 1", "raduis = 1", 15, "part.environments.graph.raduis", "Did you mean 'radius'?"),
    ("radius = 1", "radius = 1, x = 2", 15, "part.environments.graph.x", "parameter of ring"),
    ("gap = 0.1", "gap = 3", 16, "part.environments.gap", "at most 0.2"),
    ('"cross-graph"', '"crossgraph"', 19, "part.algorithms.id", "Did you mean 'cross-graph'?"),
    (
        'id = "cross-graph"',
        'name = "x"\nid = "cross-graph"',
        19,
        "part.algorithms.name",
        "Leave one out",
    ),
    ("eta =", "etta =", 20, "part.algorithms.etta", "Did you mean 'eta'?"),
    ("0.2]", "-0.2]", 20, "part.algorithms.eta", "above 0"),
    ("0.2]", "0.1]", 18, "part.algorithms", "the same as entry 1"),
    (
        'id = "cross-graph"',
        f'id = "cross-graph"\ngamma = {MANY}\nrho = {MANY}\nbeta = {list(range(1, 20))}',
        18,
        "part.algorithms",
        "more than 10,000,000 combinations",
    ),
    ("[1, 2]", '"0..1299999"', 4, "part", "are more than 10,000,000 cells"),
    ("0.2]", "0.2]\n[[part]]", 22, "part.seeds", "missing"),
]


def test_the_example_of_the_mistakes_is_good() -> None:
    assert len(Study.from_toml(GOOD).cells) == 16


@pytest.mark.parametrize(("old", "new", "line", "key", "hint"), MISTAKES)
def test_a_mistake_is_named_by_line_and_key(
    old: str, new: str, line: int, key: str, hint: str
) -> None:
    assert GOOD.count(old) == 1
    with pytest.raises(StudyFileError) as raised:
        Study.from_toml(GOOD.replace(old, new))
    assert str(raised.value).startswith(f"study, line {line}, key '{key}': ")
    assert hint in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[study]\nname = s\n", "not valid TOML: .*line 2"),
        ("[study]\nname = 's'\n", "line 1, key 'part'.*at least one table"),
        ("study = 3\n[[part]]\n", r"line 1, key 'study'.*\[study\]"),
        ("[[part]]\n", r"key 'study': missing"),
        (GOOD.replace("[[part.environments]]", "[[part.algorithms]]"), "part.environments"),
        (
            GOOD + GOOD.partition("\n\n")[2],
            "line 23, key 'part.name': another part has the name 'p'",
        ),
    ],
)
def test_a_file_of_the_wrong_shape(text: str, message: str) -> None:
    with pytest.raises(StudyFileError, match=re.compile(message, re.DOTALL)):
        Study.from_toml(text)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("9" * 5000, "line 7: a number of more than 400 digits"),
        ("[" * 1000 + "]" * 1000, "line 7: nested more than 50 levels deep"),
        ("[" * 100_000, "line 7: nested more than 50 levels deep"),
        ("{a = " * 1000 + "1" + "}" * 1000, "line 7: nested more than 50 levels deep"),
        ("1\n" + ".".join("a" * 5000) + " = 1", "nested too deeply"),
    ],
)
def test_excess_is_named_by_its_line(value: str, message: str) -> None:
    with pytest.raises(StudyFileError, match=message):
        Study.from_toml(GOOD.replace("horizon = [50, 60]", f"horizon = {value}"))


def test_brackets_in_texts_and_comments_are_not_nesting() -> None:
    brackets = "[" * 100
    text = GOOD.replace('name = "p"', f'name = "p{brackets}"  # {brackets}')
    assert len(Study.from_toml(text).cells) == 16


# ------------------------------------------------------------------------------- tables of losses

PAPER_KEYS = "ebdd1f6e3dfdef0022b11c07be7cc24b5bd7cf89ffaaa19faf1c5af6eee71fb0"
ADAPTIVE_KEYS = "e7989e0d36a549d78add1c81d8c5db12bebf36c978d817f1ef3960a47b69f9f2"
STOCHASTIC = """
[study]
name = "s"
[[part]]
seeds = "0..3"
horizon = 200
algorithms = ["per-context-exp3", "cross-graph"]
environments = [{ name = "stochastic", graph = { name = "singletons", arms = 3 } }]
"""


def test_losses_that_are_random_by_nature_are_drawn_for_each_seed() -> None:
    needed = {
        "graph": '{ name = "singletons", arms = 3 }',
        "alpha": "4",
        "phases": "[[0.0, [0.5, 0.4, 0.3]]]",
    }
    for name, builder in registered().items():
        parameters = inspect.signature(builder).parameters
        if "table_seed" in parameters:
            given = "".join(f", {key} = {needed[key]}" for key in needed.keys() & parameters)
            entry = f'environments = [{{ name = "{name}"{given} }}]'
            study = Study.from_toml(PART + f'algorithms = ["schneider-zimmert"]\n{entry}')
            expected = "seed" if has_random_losses(name) else 0
            assert described(study, "environment", "table_seed") == [(expected,)]
    assert not has_random_losses("paper-benchmark")
    assert has_random_losses("stochastic")


def test_each_seed_has_the_table_of_its_own(tmp_path: Path) -> None:
    studies.run(Study.from_toml(STOCHASTIC), tmp_path, jobs=1)
    frame = studies.load(tmp_path)
    assert set(frame["environment.table_seed"]) == {"seed"}
    assert len(frame["environment"].unique()) == 1  # a report gathers them
    for row in frame.itertuples():
        graph = graphs.singletons(3)
        environment = environments.stochastic(graph, 200, table_seed=row.seed)
        run = simulate(from_json(json.loads(row.algorithm)), environment, seed=row.seed)
        assert row.final_regret == run.final_regret
    # All algorithms meet the same losses under a seed, and other losses under another.
    comparators = frame.groupby("seed")["comparator_loss"].nunique()
    assert set(comparators) == {1}
    assert frame["comparator_loss"].nunique() > 1


def test_a_whole_number_and_a_float_have_the_same_address() -> None:
    whole, decimal = (
        STOCHASTIC.replace('"stochastic",', f'"stochastic", late = {late},')
        for late in ("0", "0.0")
    )
    assert Study.from_toml(whole).cells == Study.from_toml(decimal).cells


def test_a_table_for_all_seeds_may_be_asked_for() -> None:
    fixed = STOCHASTIC.replace('"stochastic",', '"stochastic", table_seed = 0,')
    study, other = Study.from_toml(fixed), Study.from_toml(STOCHASTIC)
    assert described(study, "environment", "table_seed") == [(0,)]
    assert not {cell.key for cell in study.cells} & {cell.key for cell in other.cells}
    per_seed = GOOD.replace("alpha = 4", 'alpha = 4\ntable_seed = "seed"')
    assert ("seed",) in described(Study.from_toml(per_seed), "environment", "table_seed")
    with pytest.raises(StudyFileError, match=r"key 'part\.environments\.table_seed'.*integer"):
        Study.from_toml(GOOD.replace("alpha = 4", 'alpha = 4\ntable_seed = "sead"'))


def test_the_addresses_of_the_papers_cells_have_not_changed() -> None:
    """The hash of all keys, as they are since 0.3.0."""
    keys = "".join(sorted(cell.key for cell in shipped("paper").cells))
    assert sha256(keys.encode()).hexdigest() == PAPER_KEYS
    adaptive = "".join(sorted(cell.key for cell in shipped("adaptive").cells))
    assert sha256(adaptive.encode()).hexdigest() == ADAPTIVE_KEYS


def test_a_missing_file_and_one_that_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(StudyFileError, match=r"There is no study file 'nowhere\.toml'"):
        Study.from_toml("nowhere.toml")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StudyFileError, match="cannot be read"):
        Study.from_toml(tmp_path / "binary")


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    """Editors on Windows write one."""
    path = tmp_path / "study.toml"
    path.write_bytes(b"\xef\xbb\xbf" + SMALL.strip().encode())
    assert Study.from_toml(path) == small()
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("alpha =", "alhpa =").encode())
    with pytest.raises(
        StudyFileError, match=r"study\.toml, line 11, key 'part\.environments\.alhpa'"
    ):
        Study.from_toml(path)


def test_the_longest_horizon_there_is() -> None:
    study = Study.from_toml(GOOD.replace("[50, 60]", f"{2**62}"))
    assert {cell.horizon for cell in study.cells} == {2**62}


def test_an_entry_that_runs_out_of_memory_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(_: dict[str, Any]) -> None:
        raise MemoryError

    monkeypatch.setattr(algorithms, "from_json", build)
    with pytest.raises(StudyFileError) as raised:
        Study.from_toml(GOOD)
    assert str(raised.value) == (
        "study, line 18, key 'part.algorithms': needs too much memory. Use smaller numbers."
    )


def test_a_module_that_does_not_load_is_named(tmp_path: Path) -> None:
    path = mischief(tmp_path, '"raising"')
    (tmp_path / "mischief.py").write_text("raise OSError('not today')")
    with pytest.raises(StudyFileError, match=r"line 4, key 'study\.modules'.*not today"):
        Study.from_toml(path)


# -------------------------------------------------------------------------------------- shipped


def test_the_paper_is_the_papers_evaluation() -> None:
    study = shipped("paper")
    assert shipped_names("") == ["adaptive", "budgets", "graphs", "paper", "quick"]
    by_part: dict[str, list[Any]] = {}
    for cell in study.cells:
        by_part.setdefault(cell.part, []).append(cell)
    assert {part: len(cells) for part, cells in by_part.items()} == {
        "horizon": 200,
        "graph": 200,
        "tables-horizon": 1000,
        "tables-graph": 1000,
    }

    def values(part: str, key: str) -> set[Any]:
        return {json.loads(cell.environment)[key] for cell in by_part[part]}

    assert values("horizon", "horizon") == {2000, 4000, 6000, 8000, 10000}
    assert values("horizon", "alpha") == {4}
    assert values("graph", "horizon") == {10000}
    assert values("graph", "alpha") == {1, 2, 3, 4, 8}
    assert values("horizon", "table_seed") == values("graph", "table_seed") == {0}
    assert values("tables-graph", "table_seed") == values("tables-horizon", "table_seed")
    assert values("tables-graph", "table_seed") == {1, 2, 3, 4, 5}
    assert {cell.seed for cell in by_part["horizon"]} == set(range(200, 210))
    assert {cell.seed for cell in by_part["graph"]} == set(range(100, 110))
    assert len({cell.key for cell in study.cells}) == 2400


def test_quick_is_part_of_the_paper() -> None:
    paper = {(cell.part, cell.key) for cell in shipped("paper").cells}
    assert {(cell.part, cell.key) for cell in shipped("quick").cells} < paper


def test_the_template_is_a_good_study() -> None:
    assert len(Study.from_toml(template()).cells) == 120
