import errno
import gzip
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from crossbandit import simulate, studies
from crossbandit.algorithms import CrossGraph
from crossbandit.environments import paper_benchmark, stochastic
from crossbandit.errors import InvalidParameterError, ResultsError
from crossbandit.graphs import complete
from crossbandit.studies import (
    Cell,
    FailedCellsWarning,
    Study,
    StudyProgress,
    StudyWarning,
    display,
    execute,
    store,
)
from tests.studies.helpers import SMALL, content, crossbandit, mischief, small, start


def test_a_row_holds_the_run(tmp_path: Path) -> None:
    studies.run(small(), tmp_path, jobs=1)
    frame = studies.load(tmp_path)
    assert len(frame) == 12
    row = frame.iloc[0]
    run = simulate(CrossGraph(), paper_benchmark(60, radius=1, arms=5, contexts=7), seed=5)
    assert row["study"] == "small"
    assert row["part"] == "one"
    assert (row["environment_name"], row["algorithm_name"]) == ("paper-benchmark", "cross-graph")
    assert (row["seed"], row["horizon"], row["environment.radius"]) == (5, 60, 1)
    assert row["final_regret"] == run.final_regret == row["curve_regret"][-1]
    assert (row["loss"], row["comparator_loss"]) == (run.loss, run.comparator_loss)
    assert row["curve_rounds"] == list(range(1, 61))
    assert row["curve_regret"] == run.regret.tolist()
    assert row["seconds"] > 0
    assert frame["environment.contexts"].dtype == "int64"
    assert frame["algorithm.eta"].isna().all()
    assert studies.failures(tmp_path).empty
    lean = studies.load(tmp_path, curves=False)
    assert lean.equals(frame.drop(columns=["curve_rounds", "curve_regret"]))


NOISY = """
[study]
name = "noisy"
[[part]]
seeds = [1, 2]
horizon = 50
algorithms = ["ucb-n"]
environments = [{ name = "stochastic", graph = { name = "complete", arms = 3 }, contexts = 2 }]
"""


def test_the_pseudo_regret_is_kept_where_it_is_known(tmp_path: Path) -> None:
    studies.run(small(), tmp_path, jobs=1)
    assert studies.load(tmp_path)["pseudo_regret"].isna().all()
    studies.run(Study.from_toml(NOISY), tmp_path, jobs=1)
    frame = studies.load(tmp_path)
    own = frame[frame["study"] == "noisy"]
    environment = stochastic(complete(3), 50, contexts=2, table_seed=1)
    expected = simulate("ucb-n", environment, seed=1).pseudo_regret[-1]
    assert own["pseudo_regret"].iloc[0] == pytest.approx(expected)


def test_a_file_of_an_earlier_version_is_read_and_continued(tmp_path: Path) -> None:
    """It has no column for the pseudo-regret."""
    stored = Path(__file__).parents[1] / "golden/0.3.0/study.gz"
    path = tmp_path / store.FILE_NAME
    path.write_bytes(gzip.decompress(stored.read_bytes()))
    before = studies.load(tmp_path)
    assert before["pseudo_regret"].isna().all()
    studies.run(Study.from_toml(NOISY), tmp_path, jobs=1)
    after = studies.load(tmp_path)
    assert len(after) == len(before) + 2
    assert after["pseudo_regret"].notna().sum() == 2


@pytest.mark.parametrize("horizon", [1, 199, 200, 201, 999, 10_000, 300_000])
def test_curves_have_200_points_and_the_last_round(horizon: int) -> None:
    recorded = horizon if horizon <= 200_000 else 1000
    points = execute.curve_points(recorded)
    assert points.size == min(recorded, 200)
    assert points[-1] == recorded - 1
    assert (points[1:] > points[:-1]).all()
    assert points[0] >= 0


def test_running_again_computes_nothing(tmp_path: Path) -> None:
    first = studies.run(small(), tmp_path, jobs=1)
    before = studies.load(tmp_path)
    second = studies.run(small(), tmp_path, jobs=1)
    assert (first.computed, first.kept, first.failed) == (12, 0, 0)
    assert (second.computed, second.kept, second.failed) == (0, 12, 0)
    assert studies.load(tmp_path).equals(before)


@pytest.mark.parametrize(
    ("old", "new", "added"),
    [
        ("5..7", "5..8", 4),
        ("[60, 100]", "[60, 80, 100]", 6),
        ('"per-context-exp3"', '"per-context-exp3", "schneider-zimmert"', 6),
        ("radius = 1", "radius = [1, 2]", 12),
    ],
)
def test_a_longer_study_extends_a_shorter_one(
    old: str, new: str, added: int, tmp_path: Path
) -> None:
    studies.run(small(), tmp_path, jobs=1)
    before = studies.load(tmp_path).set_index("cell")
    summary = studies.run(Study.from_toml(SMALL.replace(old, new)), tmp_path, jobs=1)
    assert (summary.computed, summary.kept) == (added, 12)
    after = studies.load(tmp_path).set_index("cell")
    assert len(after) == 12 + added
    assert after.loc[before.index].equals(before)  # the seconds too: nothing was run again


def test_a_label_may_change_and_a_cell_may_be_in_two_parts(tmp_path: Path) -> None:
    studies.run(small(), tmp_path, jobs=1)
    labelled = SMALL.replace('"per-context-exp3"', '{ id = "per-context-exp3", label = "Exp3" }')
    assert studies.run(Study.from_toml(labelled), tmp_path, jobs=1).computed == 0
    assert set(studies.load(tmp_path)["algorithm_name"]) == {"cross-graph", "Exp3"}
    assert len(studies.load(tmp_path)) == 12
    twice = SMALL + SMALL.partition("[[part]]")[2].join(["[[part]]", ""]).replace('"one"', '"two"')
    summary = studies.run(Study.from_toml(twice), tmp_path, jobs=1)
    assert (summary.computed, summary.kept) == (0, 12)
    frame = studies.load(tmp_path)
    assert frame.groupby("part").size().to_dict() == {"one": 12, "two": 12}


def test_processes_give_the_same_bits_as_one(tmp_path: Path) -> None:
    studies.run(small(), tmp_path / "one", jobs=1)
    studies.run(small(), tmp_path / "two", jobs=2)
    assert content(tmp_path / "one") == content(tmp_path / "two")


def test_a_results_file_can_be_carried_away(tmp_path: Path) -> None:
    studies.run(small(), tmp_path / "here", jobs=1)
    copy = tmp_path / "elsewhere.duckdb"
    shutil.copy(tmp_path / "here" / store.FILE_NAME, copy)
    assert studies.load(copy).equals(studies.load(tmp_path / "here"))


def test_parts_of_different_kinds_load_into_one_frame(tmp_path: Path) -> None:
    text = """
[study]
name = "mixed"
[[part]]
seeds = 1
horizon = 50
algorithms = [{ id = "cross-graph", eta = 0.1 }, "schneider-zimmert"]
[[part.environments]]
name = "paper-benchmark"
radius = 1
[[part.environments]]
name = "switching"
graph = { name = "ring", arms = 5, radius = 2 }
"""
    studies.run(Study.from_toml(text), tmp_path, jobs=1)
    frame = studies.load(tmp_path)
    assert frame["environment.radius"].tolist()[:2] == [1, 1]
    assert frame["environment.radius"].isna().tolist() == [False, False, True, True]
    assert frame["environment.graph"].tolist() == [None, None, "ring", "ring"]
    assert frame["environment.graph.radius"].dropna().tolist() == [2, 2]
    assert frame["algorithm.eta"].fillna(0).tolist() == [0.1, 0, 0.1, 0]
    assert studies.export(tmp_path, to="parquet").is_file()
    assert studies.export(tmp_path, to="csv").is_file()


# ------------------------------------------------------------------------------------- failures


def test_a_failing_cell_does_not_stop_the_others(tmp_path: Path) -> None:
    flag = tmp_path / "mended"
    path = mischief(tmp_path, f'{{ id = "raising", mended = "{flag}" }}, "per-context-exp3"')
    study = Study.from_toml(path)
    with pytest.warns(FailedCellsWarning, match=r"1 of 20 cells failed\. The first: RuntimeError"):
        summary = studies.run(study, tmp_path / "out", jobs=1)
    assert (summary.computed, summary.failed) == (19, 1)
    failures = studies.failures(tmp_path / "out")
    assert failures[["algorithm_name", "seed", "error"]].values.tolist() == [
        ["raising", 6, "RuntimeError: boom"]
    ]
    with pytest.warns(FailedCellsWarning, match="1 of 1 cells failed"):
        again = studies.run(study, tmp_path / "out", jobs=1)
    assert (again.computed, again.kept, again.failed) == (0, 19, 1)
    assert len(studies.failures(tmp_path / "out")) == 1
    flag.touch()
    mended = studies.run(study, tmp_path / "out", jobs=1)
    assert (mended.computed, mended.kept, mended.failed) == (1, 19, 0)
    assert studies.failures(tmp_path / "out").empty
    assert len(studies.load(tmp_path / "out")) == 20


def test_a_worker_that_dies_costs_only_a_repetition(tmp_path: Path) -> None:
    (tmp_path / "deaths").mkdir()
    rules = f'{{ id = "deadly", folder = "{tmp_path / "deaths"}" }}, "per-context-exp3"'
    summary = studies.run(Study.from_toml(mischief(tmp_path, rules)), tmp_path / "out", jobs=2)
    assert (summary.computed, summary.failed) == (20, 0)
    assert len(list((tmp_path / "deaths").iterdir())) == 1


def test_a_cell_that_kills_its_worker_is_given_up(tmp_path: Path) -> None:
    (tmp_path / "deaths").mkdir()
    rules = f'{{ id = "deadly", folder = "{tmp_path / "deaths"}", times = 99 }}, "per-context-exp3"'
    study = Study.from_toml(mischief(tmp_path, rules))
    with pytest.warns(FailedCellsWarning, match="died 3 times"):
        summary = studies.run(study, tmp_path / "out", jobs=2)
    assert (summary.computed, summary.failed) == (19, 1)
    failures = studies.failures(tmp_path / "out")
    assert failures["seed"].tolist() == [6]
    assert "died 3 times" in failures["error"].iloc[0]
    assert len(list((tmp_path / "deaths").iterdir())) == 3


# ----------------------------------------------------------------------------- sudden ends


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir()) if folder.exists() else 0


def test_a_study_with_workers_survives_kill_9(tmp_path: Path) -> None:
    """With workers, and from the command line; `test_kills` has many more kills."""
    jobs = 2
    path = mischief(tmp_path, '{ id = "slow", seconds = 0.02 }, "per-context-exp3"', seeds="0..149")
    out = tmp_path / "out"
    moments = random.Random(jobs)  # noqa: S311 - not for secrets
    kept: dict[tuple[str, str], object] = {}
    for attempt in range(3):
        process = start("run", path, "--out", out, "--jobs", jobs)
        before = size(out)
        while attempt > 0 and size(out) <= before:  # the first dies before it has begun
            time.sleep(0.001)
        time.sleep(moments.uniform(0, 0.3))
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=30)  # its workers end too, and let go of the pipe
        now = content(out)
        assert kept.items() <= now.items()
        kept = dict(now)
    assert 0 < len(kept) < 300
    result = crossbandit("run", path, "--out", out, "--jobs", jobs)
    assert result.returncode == 0, result.stderr
    assert f"{len(kept)} kept from before" in result.stdout
    studies.run(Study.from_toml(path), tmp_path / "whole", jobs=1)
    assert content(out) == content(tmp_path / "whole")


def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(tmp_path: Path) -> None:
    path = mischief(tmp_path, '{ id = "slow", seconds = 0.1 }', seeds="0..199")
    process = start("run", path, "--out", tmp_path / "out", "--jobs", 2)
    before = size(tmp_path / "out")
    while size(tmp_path / "out") <= before:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers as well
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "run the same command again" in errors
    assert "Traceback" not in errors
    assert 0 < len(studies.load(tmp_path / "out")) < 200


def test_a_second_process_is_told_to_wait(tmp_path: Path) -> None:
    path = mischief(tmp_path, '{ id = "slow", seconds = 0.1 }', seeds="0..199")
    process = start("run", path, "--out", tmp_path / "out", "--jobs", 1)
    try:
        message = f"in use by process {process.pid}.*Wait until it has finished"
        with pytest.raises(ResultsError, match=message):
            studies.run(small(), tmp_path / "out", jobs=1)
        with pytest.raises(ResultsError, match=message):
            studies.load(tmp_path / "out")
    finally:
        process.kill()
        process.communicate()
    assert studies.run(small(), tmp_path / "out", jobs=1).computed == 12


FULL_DISK = """
import resource, sys
from crossbandit import studies
from crossbandit.errors import ResultsError
study = studies.Study.from_toml(sys.argv[1])
studies.run(small := studies.Study(study.name, study.cells[:3], study.modules), sys.argv[2], jobs=1)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), int(sys.argv[3])))
try:
    studies.run(study, sys.argv[2], jobs=1)
except ResultsError as error:
    print(error)
    sys.exit(7)
"""


@pytest.mark.parametrize("limit", [700_000, 1_100_000])
def test_a_full_disk_is_said_and_the_file_stays_intact(limit: int, tmp_path: Path) -> None:
    text = SMALL.replace("5..7", "0..299").replace("[60, 100]", "300")
    (tmp_path / "study.toml").write_text(text)
    command = [sys.executable, "-c", FULL_DISK, "study.toml", "out", str(limit)]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 7, result.stderr
    assert "cannot be written" in result.stdout
    assert "intact. Free some space, and run the same command again" in result.stdout
    assert "damaged" not in result.stdout
    summary = studies.run(Study.from_toml(text), tmp_path / "out", jobs=1)
    assert summary.kept >= 3
    assert summary.kept + summary.computed == 600
    studies.run(Study.from_toml(text), tmp_path / "whole", jobs=1)
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_a_folder_that_cannot_be_made_or_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ResultsError, match="cannot be created: Not a directory"):
        studies.run(small(), tmp_path / "file" / "out", jobs=1)
    with pytest.raises(ResultsError, match="cannot be opened"):
        studies.run(small(), "/proc/self", jobs=1)
    (tmp_path / "out" / store.FILE_NAME).mkdir(parents=True)
    with pytest.raises(ResultsError, match="cannot be opened"):
        studies.run(small(), tmp_path / "out", jobs=1)


def test_what_is_no_results_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / store.FILE_NAME
    path.write_text("dear diary")
    with pytest.raises(ResultsError, match="not a valid DuckDB database"):
        studies.run(small(), tmp_path, jobs=1)
    with pytest.raises(ResultsError, match="not a valid DuckDB database"):
        studies.load(tmp_path)
    assert path.read_text() == "dear diary"
    with pytest.raises(ResultsError, match="There are no results in"):
        studies.load(tmp_path / "nowhere")


def test_results_of_another_kind_or_format_are_refused(tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / store.FILE_NAME
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE diary (entry VARCHAR)")
    with pytest.raises(ResultsError, match="contains no results of Crossbandit"):
        studies.run(small(), tmp_path, jobs=1)
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE about (format INTEGER); INSERT INTO about VALUES (99)")
    with pytest.raises(ResultsError, match="another format"):
        studies.load(tmp_path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What a results file of the tiny study holds."""
    folder = tmp_path_factory.mktemp("whole")
    studies.run(small(), folder, jobs=1)
    return (folder / store.FILE_NAME).read_bytes()


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
def test_a_results_file_cut_short_is_called_damaged(
    share: float, whole: bytes, tmp_path: Path
) -> None:
    part = whole[: int(share * len(whole))]
    (tmp_path / store.FILE_NAME).write_bytes(part)
    message = r"Could not read enough bytes .* The file may be damaged: restore it from a copy"
    for use in (
        lambda: studies.load(tmp_path),
        lambda: studies.failures(tmp_path),
        lambda: studies.export(tmp_path, to="csv"),
        lambda: studies.run(small(), tmp_path, jobs=1),
    ):
        with pytest.raises(ResultsError, match=message) as raised:
            use()
        assert "intact" not in str(raised.value)
    assert (tmp_path / store.FILE_NAME).read_bytes() == part


@pytest.mark.parametrize("table", ["cells", "members", "failures"])
def test_a_results_file_that_lacks_a_table_is_called_damaged(
    table: str, whole: bytes, tmp_path: Path
) -> None:
    import duckdb

    (tmp_path / store.FILE_NAME).write_bytes(whole)
    with duckdb.connect(tmp_path / store.FILE_NAME) as connection:
        connection.execute(f"DROP TABLE {table}")
    message = f"Table with name {table} does not exist! The file may be damaged"
    read = studies.failures if table == "failures" else studies.load
    with pytest.raises(ResultsError, match=f"cannot be read: .*{message}"):
        read(tmp_path)


def test_a_failing_read_of_the_format_is_no_other_kind_of_file(tmp_path: Path) -> None:
    import duckdb

    class Failing:
        def execute(self, _: str) -> None:
            raise duckdb.IOException("IO Error: Input/output error")

    with pytest.raises(ResultsError, match=r"Input/output error\. The file may be damaged"):
        store._check(tmp_path, Failing())


# ------------------------------------------------------------------------------------ progress


def test_progress_counts_up(tmp_path: Path) -> None:
    told: list[StudyProgress] = []
    studies.run(small(), tmp_path, jobs=1, progress=told.append)
    assert told[0] == StudyProgress(kept=0, total=12, total_rounds=960)
    last = told[-1]
    assert (last.kept, last.total, last.computed, last.failed) == (0, 12, 12, 0)
    assert (last.rounds, last.total_rounds) == (960, 960)
    assert [state.done for state in told] == sorted(state.done for state in told)


def test_the_clock_starts_with_the_first_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers take 1,000 s to start; then a round takes 10 s."""
    now = 0.0
    monkeypatch.setattr(execute, "time", SimpleNamespace(monotonic=lambda: now))
    count = execute.Count(0, 100, 100)
    told = []
    for seconds in (1000, 10, 10):
        now += seconds
        cell = Cell("", "", "{}", "{}", "", "", seed=0, horizon=1)
        count.add([execute.failure(cell, "")], 1)
        told.append(count.progress.seconds_left)
    assert told == [None, 10 * 98, 10 * 97]


def test_progress_in_words() -> None:
    state = StudyProgress(3, 10, 4, 1, 50, 100, rate=2.5, seconds_left=7200.0)
    assert display_summary(state) == (
        "5 of 10 cells, 3 kept from before, 1 failed, 2.5 cells a second, 2.0 h left"
    )
    assert display_summary(StudyProgress(0, 10)) == "0 of 10 cells"


def display_summary(state: StudyProgress) -> str:
    from crossbandit.studies.execute import summary

    return summary(state)


def test_quiet_is_quiet() -> None:
    with display(quiet=True) as progress:
        assert progress is None


# ------------------------------------------------------------------------------------ arguments


def test_a_system_without_shared_memory_runs_in_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("multiprocessing.synchronize.SemLock.__init__", read_only)
    with pytest.warns(StudyWarning, match=r"is /dev/shm writable\?.* one process"):
        summary = studies.run(small(), tmp_path, jobs=2)
    assert summary.computed == 12
    assert studies.run(small(), tmp_path / "one", jobs=1).computed == 12  # without a warning


def test_bad_arguments_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match="'backend' parameter"):
        studies.run(small(), tmp_path, backend="cloud")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="'jobs' parameter"):
        studies.run(small(), tmp_path, jobs=0)
    with pytest.raises(InvalidParameterError, match="must be None with the local backend"):
        studies.run(small(), tmp_path, address="tcp://x:1")
