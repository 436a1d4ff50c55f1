import csv
import io
import json
import re

import pandas as pd
import pytest

from crossbandit.core.report import latex as to_latex
from crossbandit.core.report import markdown as to_markdown
from crossbandit.studies import page as tables
from crossbandit.studies import paper
from crossbandit.studies.page import compose
from crossbandit.studies.sweeps import Sweep
from tests.studies.page.frames import HALF_WIDTH, as_published, changed, row


def markdown(*sweeps: Sweep) -> str:
    return "\n".join(to_markdown(tables.sweep_table(sweep)) for sweep in sweeps)


def latex(sweep: Sweep) -> str:
    return to_latex(tables.sweep_table(sweep, where="in parentheses"))


def generic(*rows: tuple[str, int, int, float]) -> tuple[Sweep, ...]:
    frame = pd.DataFrame(
        [row("mine", {"horizon": t}, a, seed, regret) for a, t, seed, regret in rows]
    )
    return compose(frame, command="").sweeps


def test_markdown_of_the_papers_tables() -> None:
    report = compose(as_published(changed("horizon", 2000, paper.OURS, 200.0)), command="")
    lines = markdown(*report.sweeps).splitlines()
    assert lines[4] == "| T |  | Ours | SZ-Context | OBPC-Graph | OBPC-Exp3 |"
    assert lines[6].startswith(f"| 2,000 | here | **200.00 ± {HALF_WIDTH:.2f}** | 300.10 ± ")
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
    # Mean 2, standard error 1, and 12.71 is Student's quantile for two seeds. What was not run is a
    # dash, and a single seed has no half-width. There is no paper, and no column to tell it apart.
    title, _, caption, *lines = markdown(*sweeps).splitlines()
    assert title == "## mine: final regret by horizon"
    assert caption == (
        "Mean over 1 to 2 seeds (a: seed 0), ± the half-width of its 95 % confidence interval by "
        "Student's t. Of 8 cells, 4 are missing: failed, or not run. The lowest mean is in bold."
    )
    assert lines == [
        "",
        "| horizon | b | a |",
        "| --: | --: | --: |",
        "| 50 | **−1.00** | \N{EN DASH} |",
        "| 100 | **2.00 ± 12.71** | 2,000.50 |",
    ]


def labelled(label: str, *, setting: str | None = None, part: str = "mine") -> Sweep:
    rows = [row(part, {"horizon": 5, "alpha": a}, label, 0, 1.0) for a in (1, 2)]
    frame = pd.DataFrame(rows)
    if setting is not None:
        frame["environment_name"] = [setting, "another"]
        frame["environment"] = ['{"name": "one", "horizon": 5}', '{"name": "two", "horizon": 5}']
    return compose(frame, command="").sweeps[0]


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("a|b", r"a\|b"),
        ("*a* `b` <c>", r"\*a\* \`b\` \<c\>"),
        ("_a_ table_seed", r"\_a\_ table_seed"),
        (r"$\eta$ [x]", r"\$\\eta\$ \[x\]"),
        ("two\nlines", "two lines"),
    ],
)
def test_markdown_prints_labels_as_they_are(label: str, shown: str) -> None:
    lines = markdown(labelled(label)).splitlines()
    assert f"| alpha | {shown} |" in lines
    rows = markdown(labelled("a", setting=label)).splitlines()
    assert f"| {shown} | **1.00** |" in rows


@pytest.mark.parametrize(
    ("seeds", "said"),
    [
        ({"a": (0, 1, 2), "b": (0, 1, 2)}, "seeds 0 to 2"),
        ({"a": (3,), "b": (3,)}, "seed 3"),
        ({"a": (0, 2), "b": (0, 2)}, "2 seeds"),
        ({"a": (0, 1, 2), "b": (0, 1)}, "seeds 0 to 2 (b: seeds 0 to 1)"),
        (
            {"a": (0, 1, 2), "b": (0, 1), "c": (0, 1), "d": (4,)},
            "seeds 0 to 1 (a: seeds 0 to 2; d: seed 4)",
        ),
    ],
)
def test_a_caption_says_the_seeds_of_every_column(
    seeds: dict[str, tuple[int, ...]], said: str
) -> None:
    (sweep,) = generic(*((a, t, seed, 1.0) for t in (5, 9) for a in seeds for seed in seeds[a]))
    assert tables.seeds_text(sweep) == said
    total = 2 * len(seeds) * len({seed for column in seeds.values() for seed in column})
    missing = total - 2 * sum(map(len, seeds.values()))
    sentence = f"Of {total} cells, {missing} are missing: failed, or not run."
    assert tables.missing_text(sweep) == (sentence if missing else "")
    for text in (markdown(sweep), latex(sweep)):
        assert said in text
        assert (sentence in text) == bool(missing)


def test_a_caption_says_where_a_column_is_ragged() -> None:
    (sweep,) = generic(("a", 5, 0, 1.0), ("a", 5, 1, 1.0), ("a", 9, 1, 1.0))
    assert tables.seeds_text(sweep) == "1 to 2 seeds"
    assert tables.missing_text(sweep) == "Of 4 cells, 1 is missing: failed, or not run."
    (sweep,) = generic(("a", 5, 0, 1.0), ("a", 9, 1, 1.0))
    assert tables.seeds_text(sweep) == "1 seed, not the same everywhere"


def test_csv_is_exact_and_complete() -> None:
    report = compose(as_published(), command="")
    rows = list(csv.DictReader(io.StringIO(tables.csv_files(report.sweeps)["tables.csv"])))
    assert len(rows) == 40
    assert tuple(rows[0]) == tables.COLUMNS
    by_key = {(r["table"], r["setting"], r["method"]): r for r in rows}
    entry = by_key["graph", "8", "SZ-Context"]
    assert float(entry["regret"]) == pytest.approx(723.53, abs=1e-12)
    assert float(entry["half_width"]) == pytest.approx(HALF_WIDTH)
    assert (entry["paper_regret"], entry["paper_half_width"]) == ("723.53", "9.65")
    assert float(entry["relative_difference"]) == pytest.approx(0, abs=1e-12)
    assert (entry["seeds"], entry["interval"]) == ("10", "1.96 standard errors")


def test_csv_of_any_study_leaves_the_paper_out() -> None:
    (line,) = list(
        csv.DictReader(io.StringIO(tables.csv_files(generic(("a", 5, 0, 1.0)))["tables.csv"]))
    )
    assert (line["setting"], line["regret"], line["half_width"]) == ("paper-benchmark", "1.0", "")
    assert line["paper_regret"] == line["relative_difference"] == ""
    assert line["interval"] == "Student"


def test_latex() -> None:
    report = compose(as_published(changed("graph", 1, paper.OURS, 260.0)), command="")
    text = latex(report.sweeps[1])
    assert text.count(r"\begin{") == text.count(r"\end{") == 2
    assert r"\(\alpha\) &  & Ours & SZ-Context & OBPC-Graph & OBPC-Exp3 \\" in text
    assert rf"1 & here & \textbf{{260.00 ({HALF_WIDTH:.2f})}} & " in text
    assert r" & paper & 267.61 (4.63) & 723.53 (9.65) & 1796.83 (14.25) & 2590.00 (9.91) \\" in text
    assert r" & difference & \(-\)2.8 \% & 0.0 \%" in text
    assert "1.96 standard errors, as in the paper" in text
    assert text.isascii()
    assert text.count(r"\label{tab:graph}") == 1
    assert text.index(r"\caption{") < text.index(r"\label{") < text.index(r"\begin{tabular}")
    assert text.count(r"\textbf{") == 5  # one per setting


def test_latex_says_what_it_needs_and_needs_no_more() -> None:
    published = compose(as_published(), command="").sweeps[0]
    for sweep in (published, labelled("a"), labelled("a", setting="b")):
        text = latex(sweep)
        assert text.startswith("% Needs \\usepackage{booktabs}.\n")
        commands = set(re.findall(r"\\[a-z]+", text)) - {r"\usepackage"}
        assert commands <= {
            *(
                r"\begin",
                r"\end",
                r"\caption",
                r"\label",
                r"\textbf",
                r"\centering",
                r"\footnotesize",
                r"\alpha",
            ),
            *(r"\toprule", r"\midrule", r"\bottomrule", r"\addlinespace"),
        }


def test_latex_of_any_study() -> None:
    text = latex(labelled("mine, too", setting="paper, alpha 4, T 2,000"))
    rows = text[text.index(r"\begin{tabular}") :].splitlines()
    assert rows == [
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"environment & mine, too \\",
        r"\midrule",
        r"paper, alpha 4, T 2,000 & \textbf{1.00} \\",
        r"another & \textbf{1.00} \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    said = "Mean over seed 0. The lowest mean is in bold."
    assert rf"\caption{{mine: final regret by environment. {said}}}" in text
    numbers = latex(generic(("a", 2000, 0, -1.0), ("a", 1_000_000, 0, 1.0))[0])
    assert r"\begin{tabular}{rr}" in numbers
    assert r"2\,000 & \textbf{\(-\)1.00} \\" in numbers
    assert r"1\,000\,000 & \textbf{1.00} \\" in numbers


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("a_b&c", r"a\_b\&c"),
        ("50 % of $1 #2", r"50 \% of \$1 \#2"),
        (r"{x} \hard", r"\{x\} \textbackslash{}hard"),
        ("CG^2, ~ours", r"CG\textasciicircum{}2, \textasciitilde{}ours"),
        ("a<b>c|d", r"a\textless{}b\textgreater{}c\textbar{}d"),
        ("[1] *", "{[}1{]} {*}"),
        ("η × 2", r"\(\eta\) \(\times\) 2"),
        ("two\n\nlines", "two lines"),
    ],
)
def test_latex_prints_labels_as_they_are(label: str, shown: str) -> None:
    assert f"alpha & {shown} \\\\" in latex(labelled(label))
    assert f"\n{shown} & \\textbf{{1.00}} \\\\" in latex(labelled("a", setting=label))
    assert rf"\caption{{{shown}: final regret" in latex(labelled("a", part=label))


def test_an_added_algorithm_has_a_column_without_a_paper() -> None:
    frame = as_published()
    known = frame[frame["algorithm_name"] == paper.OURS].copy()
    known["algorithm_name"] = known["algorithm.id"] = "cross-graph-known"
    known["algorithm"] = '{"id": "cross-graph-known"}'
    known["cell"] += " known"
    report = compose(pd.concat([frame, known], ignore_index=True), command="")
    assert report.methods[-1] == "cross-graph-known"
    assert [claim.status for claim in report.claims] == ["met"] * 8
    assert markdown(*report.sweeps).splitlines()[7].endswith("| 546.86 ± 8.89 | \N{EN DASH} |")


def test_the_caption_names_who_is_shown_more_than_the_graph_reveals() -> None:
    (sweep, *_) = compose(as_published(), command="").sweeps
    names = "SZ-Context and OBPC-Exp3"
    said = f"{names} are given the loss of the arm played, also if it has no self-loop."
    assert said in tables.caption(sweep)
    (own,) = generic(("a", 50, 0, 1.0), ("a", 100, 0, 2.0))
    assert "self-loop" not in tables.caption(own)
    (one,) = generic(("schneider-zimmert", 50, 0, 1.0), ("schneider-zimmert", 100, 0, 2.0))
    assert "schneider-zimmert is given the loss of the arm played" in tables.caption(one)
    rows = [row("p", {"horizon": t}, "schneider-zimmert", 0, 1.0) for t in (50, 100)]
    for one_row, t in zip(rows, (50, 100), strict=True):
        complete = {"name": "stochastic", "graph": {"name": "complete", "arms": 3}, "horizon": t}
        one_row["environment"] = json.dumps({**complete, "contexts": 2, "gap": 0.1})
    (looped,) = compose(pd.DataFrame(rows), command="").sweeps
    assert "self-loop" not in tables.caption(looped)


def test_tables_have_quantiles_and_pseudo_regret() -> None:
    frame = pd.DataFrame([row("p", {"horizon": 50}, "a", seed, float(seed)) for seed in range(11)])
    (sweep,) = compose(frame, command="").sweeps
    (line,) = csv.DictReader(io.StringIO(tables.csv_files([sweep])["tables.csv"]))
    assert [line[f"{name}"] for name in ("quantile_10", "median", "quantile_90")] == [
        *("1.0", "5.0", "9.0")
    ]
    assert line["pseudo_regret"] == line["pseudo_half_width"] == ""
    assert tables.entry_table(sweep).head[-1] == "10 % to 90 %"
    (sweep,) = compose(frame.assign(pseudo_regret=frame["seed"] + 2.0), command="").sweeps
    table = tables.entry_table(sweep)
    assert table.head[-2:] == ("10 % to 90 %", "pseudo-regret")
    assert [str(cell) for cell in table.cells[0][-2:]] == ["1.00 to 9.00", "7.00 ± 2.23"]
