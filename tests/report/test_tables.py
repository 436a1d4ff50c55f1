import csv
import io

import pandas as pd
import pytest

from crossbandit.report import compose, paper, tables
from crossbandit.report.sweeps import Sweep
from tests.report.frames import HALF_WIDTH, as_published, changed, row


def generic(*rows: tuple[str, int, int, float]) -> tuple[Sweep, ...]:
    frame = pd.DataFrame(
        [row("mine", {"horizon": t}, a, seed, regret) for a, t, seed, regret in rows]
    )
    return compose(frame, command="").sweeps


def test_markdown_of_the_papers_tables() -> None:
    report = compose(as_published(changed("horizon", 2000, paper.OURS, 200.0)), command="")
    lines = tables.markdown(report.sweeps).splitlines()
    assert lines[4] == "| T |  | CrossGraph | SZ-Context | OBPC-Graph | OBPC-Exp3 |"
    assert lines[6].startswith(f"| 2,000 | here | 200.00 ± {HALF_WIDTH:.2f} | 300.10 ± ")
    assert lines[7] == (
        "|  | paper | 202.87 ± 6.36 | 300.10 ± 5.12 | 531.41 ± 7.73 | 546.86 ± 8.89 |"
    )
    # 200 / 202.87 - 1 = -1.41 %
    assert lines[8] == "|  | difference | −1.4 % | 0.0 % | 0.0 % | 0.0 % |"
    assert len(lines) == 2 * (6 + 15) + 1


def test_markdown_of_any_study() -> None:
    sweeps = generic(
        ("b", 100, 0, 1.0), ("b", 100, 1, 3.0), ("a", 100, 0, 2000.5), ("b", 50, 0, -1)
    )
    # Mean 2, standard error 1; what was not run is a dash, and a single seed has no half-width.
    assert tables.markdown(sweeps).splitlines()[4:] == [
        "| horizon |  | b | a |",
        "| --: | :-- | --: | --: |",
        "| 50 | here | −1.00 | \N{EN DASH} |",
        "| 100 | here | 2.00 ± 1.96 | 2,000.50 |",
    ]


def test_csv_is_exact_and_complete() -> None:
    report = compose(as_published(), command="")
    rows = list(csv.DictReader(io.StringIO(tables.to_csv(report.sweeps))))
    assert len(rows) == 40
    assert tuple(rows[0]) == tables.COLUMNS
    by_key = {(r["table"], r["setting"], r["method"]): r for r in rows}
    entry = by_key["graph", "8", "SZ-Context"]
    assert float(entry["regret"]) == pytest.approx(723.53, abs=1e-12)
    assert float(entry["half_width"]) == pytest.approx(HALF_WIDTH)
    assert (entry["paper_regret"], entry["paper_half_width"]) == ("723.53", "9.65")
    assert float(entry["relative_difference"]) == pytest.approx(0, abs=1e-12)
    assert entry["seeds"] == "10"


def test_csv_of_any_study_leaves_the_paper_out() -> None:
    (line,) = list(csv.DictReader(io.StringIO(tables.to_csv(generic(("a", 5, 0, 1.0))))))
    assert (line["setting"], line["regret"], line["half_width"]) == ("paper-benchmark", "1.0", "")
    assert line["paper_regret"] == line["relative_difference"] == ""


def test_latex() -> None:
    report = compose(as_published(changed("graph", 1, paper.OURS, 260.0)), command="")
    text = tables.latex(report.sweeps[1])
    assert text.count(r"\begin{") == text.count(r"\end{") == 2
    assert r"\(\alpha\) &  & CrossGraph & SZ-Context & OBPC-Graph & OBPC-Exp3 \\" in text
    assert rf"1 & here & 260.00 ({HALF_WIDTH:.2f}) & " in text
    assert r" & paper & 267.61 (4.63) & 723.53 (9.65) & 1796.83 (14.25) & 2590.00 (9.91) \\" in text
    assert r" & difference & \(-\)2.8 \% & 0.0 \%" in text
    assert text.isascii()


def test_latex_escapes_what_a_study_may_contain() -> None:
    text = tables.latex(generic(("a_b&c", 5, 0, 1.0), ("a_b&c", 6, 0, 1.0))[0])
    assert r"a\_b\&c" in text


def test_an_added_algorithm_has_a_column_without_a_paper() -> None:
    frame = as_published()
    known = frame[frame["algorithm_name"] == paper.OURS].copy()
    known["algorithm_name"] = known["algorithm.id"] = "cross-graph-known"
    known["algorithm"] = '{"id": "cross-graph-known"}'
    known["cell"] += " known"
    report = compose(pd.concat([frame, known], ignore_index=True), command="")
    assert report.methods[-1] == "cross-graph-known"
    assert [verdict.status for verdict in report.verdicts] == ["met"] * 8
    assert (
        tables.markdown(report.sweeps).splitlines()[7].endswith("| 546.86 ± 8.89 | \N{EN DASH} |")
    )
