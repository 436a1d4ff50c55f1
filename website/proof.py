"""The page that shows what is proved: definitions beside their code, and a graph of the lemmas.

Everything is read from `proofs/` and `src/` when the site is built. A definition, a lemma or a
method that is not there any more is an error. Coq is not needed.
"""

from __future__ import annotations

import ast
import html
import re
from functools import cache
from typing import NamedTuple

from website.links import ROOT

PAGE = "explanation/the-proof-in-detail.md"
_PROOFS, _SOURCE = ROOT / "proofs", ROOT / "src/crossbandit"
_KINDS = "Theorem|Lemma|Corollary|Definition|Fixpoint|Inductive|Record"
_WIDE, _HIGH, _GAP = 148, 40, 34  # of a node of the graph


class Definition(NamedTuple):
    """A definition of Statement.v.

    Args:
        name: Its name there.
        paper: Where the paper has it, and what it says.
        python: What implements it: a file of the package, and a name in it.
    """

    name: str
    paper: str
    python: tuple[str, ...]


DEFINITIONS = (
    Definition(
        "strongly_observable",
        "Section 2: each arm has a self-loop, or every other arm has an edge to it.",
        ("graphs/graph.py FeedbackGraph.observability",),
    ),
    Definition(
        "alpha",
        "Section 2: the size of the largest set of arms without an edge between two of them.",
        ("graphs/graph.py FeedbackGraph.independence_number",),
    ),
    Definition(
        "see",
        "Section 2: a play shows the losses of its out-neighbours, in all contexts.",
        ("algorithms/learners/learner.py Learner.learn",),
    ),
    Definition(
        "play",
        "Section 2: in each round a context and an arm are drawn, and the learner learns.",
        ("environments/simulation/simulate.py simulate",),
    ),
    Definition(
        "Reg",
        "Section 2: expected loss minus that of a fixed policy, one arm for each context.",
        ("environments/simulation/simulate.py simulate",),
    ),
    Definition(
        "softmax",
        "Equation 2: the FTRL iterate with negative entropy.",
        ("core/arithmetic.py EstimateCore.weigh",),
    ),
    Definition(
        "mix",
        "Section 3: the iterate with probability 1 - rho, else a uniform arm.",
        ("core/arithmetic.py EstimateCore.weigh",),
    ),
    Definition(
        "special_arm",
        "Section 3: among the arms without self-loop, the one with the largest mass.",
        ("core/arithmetic.py EstimateCore.heaviest",),
    ),
    Definition(
        "u1",
        "Algorithm 1: the mean probability of seeing an arm, and gamma.",
        ("algorithms/exponential_core.py KnownCore.count",),
    ),
    Definition(
        "update1",
        "Algorithm 1: losses divided by that mean, and beta for the special arm.",
        ("algorithms/exponential_core.py KnownCore.count",),
    ),
    Definition(
        "q",
        "Algorithm 2: the iterate, or the snapshot wherever the iterate is below half of it.",
        ("algorithms/epoch_core.py EpochCore.set_policies",),
    ),
    Definition(
        "close",
        "Algorithm 2: sums of a pair; at the end of an epoch the new W, special arm and snapshot.",
        (
            "algorithms/epoch_core.py EpochCore.close_pair",
            "algorithms/epoch_core.py EpochCore.set_weights",
            "algorithms/epoch_core.py EpochCore.keep_snapshot",
        ),
    ),
    Definition(
        "estimate2",
        "Algorithm 2: twice the loss, divided by W, if the feedback was kept.",
        ("algorithms/epoch_core.py EpochCore.simulate_round",),
    ),
    Definition(
        "bonus2",
        "Algorithm 2: beta divided by W for the special arm.",
        ("algorithms/epoch_core.py EpochCore.correct",),
    ),
    Definition(
        "learn2",
        "Algorithm 2: which round of a pair is the loss side, and whether its feedback is kept.",
        ("algorithms/epoch_core.py EpochCore.choose",),
    ),
    Definition(
        "bound2",
        "Appendix L, with all constants: what the regret is at most.",
        ("algorithms/tuning.py bound2",),
    ),
    Definition(
        "Theorem1_explicit",
        "Theorem 1, for all parameters that meet its conditions.",
        ("algorithms/tuning.py proved_bound",),
    ),
    Definition(
        "Theorem1",
        "Theorem 1, for one choice of the parameters. The paper has another epoch length.",
        ("algorithms/tuning.py proved",),
    ),
    Definition(
        "Theorem1_paper",
        "Theorem 1, for the epoch length of the paper.",
        ("algorithms/tuning.py theorem",),
    ),
)


class Lemma(NamedTuple):
    """A lemma that has a number in the paper.

    Args:
        paper: Its number there.
        text: What is proved.
        file: The file of its proof.
        name: Its name in the file.
        line: The number of its line.
    """

    paper: str
    text: str
    file: str
    name: str
    line: int


def coq_text(name: str) -> str:
    """Return a definition of Statement.v, as it stands there.

    Args:
        name: Its name.

    Raises:
        LookupError: There is none.
    """
    text = (_PROOFS / "Statement.v").read_text(encoding="utf-8")
    found = re.search(rf"^(?:{_KINDS}) {name}\b.*?\.$", text, re.DOTALL | re.MULTILINE)
    if found is None:
        raise LookupError(f"Statement.v has no definition of {name}. Correct website/proof.py.")
    return found[0]


def python_line(place: str) -> int:
    """Return the line of a function or a method.

    Args:
        place: A file of the package, a space, and a name such as `FeedbackGraph.arms`.

    Raises:
        LookupError: There is none.
    """
    file, name = place.split()
    body: list[ast.stmt] = ast.parse((_SOURCE / file).read_text(encoding="utf-8")).body
    line = 0
    for part in name.split("."):
        kinds = (ast.FunctionDef, ast.ClassDef)
        found = next((one for one in body if isinstance(one, kinds) and one.name == part), None)
        if found is None:
            raise LookupError(f"{file} has no {name}. Correct website/proof.py.")
        body, line = found.body, found.lineno
    return line


@cache
def declarations() -> dict[tuple[str, str], tuple[int, str]]:
    """Return all declarations by file and name, in order: the line, and the text of each."""
    found: dict[tuple[str, str], tuple[int, str]] = {}
    project = (_PROOFS / "_CoqProject").read_text(encoding="utf-8")
    for file in re.findall(r"^(\w+)\.v$", project, re.MULTILINE):
        text = (_PROOFS / f"{file}.v").read_text(encoding="utf-8")
        starts = list(re.finditer(rf"^(?:Local )?(?:{_KINDS}) (\w+)\b", text, re.MULTILINE))
        ends = [*(one.start() for one in starts[1:]), len(text)]
        for one, end in zip(starts, ends, strict=True):
            body = re.sub(r"\(\*.*?\*\)", " ", text[one.end() : end], flags=re.DOTALL)
            found[file, one[1]] = text.count("\n", 0, one.start()) + 1, body
    return found


def lemmas() -> list[Lemma]:
    """Return the lemmas of the table in proofs/README.md.

    Raises:
        LookupError: One of them is not in its file.
    """
    text = (_PROOFS / "README.md").read_text(encoding="utf-8")
    table = text.split("## The lemmas of the paper")[1].split("\n## ")[0]
    found = []
    for row in re.findall(r"^\| (.*) \|$", table, re.MULTILINE)[1:]:
        paper, what, files, *_ = (cell.strip() for cell in row.split(" | "))
        file = ""
        for link, name in re.findall(r"\]\((\w+)\.v\)|`(\w+)`", files):
            file = link or file
            if name and (file, name) not in declarations():
                raise LookupError(f"{file}.v has no {name}. Correct proofs/README.md.")
            if name:
                line, _ = declarations()[file, name]
                found.append(Lemma(paper, what, file, name, line))
    return found


@cache
def uses() -> dict[tuple[str, str], set[tuple[str, str]]]:
    """Return what each declaration names: others of its file, or of earlier files."""
    found: dict[tuple[str, str], set[tuple[str, str]]] = {}
    latest: dict[str, tuple[str, str]] = {}
    for key, (_, body) in declarations().items():
        words = set(re.findall(r"[A-Za-z_]\w*", body))
        found[key] = {latest[word] for word in words if word in latest}
        latest[key[1]] = key
    return found


def rests_on(one: tuple[str, str], nodes: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the nodes that a declaration uses, itself or by way of others that are no nodes."""
    found, seen, todo = set(), {one}, [*uses()[one]]
    while todo:
        key = todo.pop()
        if key in seen:
            continue
        seen.add(key)
        if key in nodes:
            found.add(key)
        else:
            todo += uses()[key]
    return found


def graph() -> dict[Lemma, list[Lemma]]:
    """Return the lemmas with those on which each rests."""
    by_key = {(one.file, one.name): one for one in lemmas()}
    return {
        one: sorted(by_key[found] for found in rests_on(key, {*by_key}))
        for key, one in by_key.items()
    }


def picture(edges: dict[Lemma, list[Lemma]]) -> str:
    """Return the graph as SVG: each lemma is above those on which it rests.

    Args:
        edges: What `graph` returned.
    """
    users = {one: [user for user, below in edges.items() if one in below] for one in edges}
    rank: dict[Lemma, int] = {}

    def depth(one: Lemma) -> int:
        if one not in rank:
            rank[one] = 1 + max((depth(user) for user in users[one]), default=-1)
        return rank[one]

    last = 1 + max(depth(one) for one in edges)
    for one, below in edges.items():
        if not below and not users[one]:
            rank[one] = last
    rows = [[one for one in edges if rank[one] == i] for i in range(last + 1)]
    rows = [row[i : i + 7] for row in rows for i in range(0, len(row), 7)]
    wide = max(map(len, rows)) * _WIDE
    place: dict[Lemma, tuple[float, float]] = {}
    for i, row in enumerate(rows):
        left = (wide - len(row) * _WIDE) / 2
        for j, one in enumerate(row):
            place[one] = (left + (j + 0.5) * _WIDE, 4 + i * (_HIGH + _GAP))
    lines = [
        f'<line x1="{place[one][0]:.0f}" y1="{place[one][1] + _HIGH:.0f}" '
        f'x2="{place[below][0]:.0f}" y2="{place[below][1]:.0f}" stroke="currentColor" '
        'stroke-opacity="0.25"/>'
        for one, found in edges.items()
        for below in found
    ]
    for one, (x, y) in place.items():
        about = html.escape(f"{one.file}.v, line {one.line}: {one.text}")
        lines.append(
            f'<a href="#{one.name}"><title>{about}</title>'
            f'<rect x="{x - _WIDE / 2 + 4:.0f}" y="{y:.0f}" width="{_WIDE - 8}" height="{_HIGH}" '
            'rx="4" fill="var(--md-default-bg-color)" stroke="currentColor"/>'
            f'<text x="{x:.0f}" y="{y + 16:.0f}" text-anchor="middle" font-size="11" '
            f'fill="currentColor">{html.escape(one.paper.split(",")[0])}</text>'
            f'<text x="{x:.0f}" y="{y + 31:.0f}" text-anchor="middle" font-size="9" '
            f'fill="currentColor">{one.name}</text></a>'
        )
    high = len(rows) * (_HIGH + _GAP)
    label = "The lemmas of the paper, each above those on which its proof rests"
    return (
        f'<svg viewBox="0 0 {wide} {high}" role="img" aria-label="{label}">{"".join(lines)}</svg>'
    )


def page() -> str:
    """Return the page, in Markdown."""
    parts = [_HEAD]
    for one in DEFINITIONS:
        places = [
            f"`{place.split()[1]}` in `{place.split()[0]}`, line {python_line(place)}"
            for place in one.python
        ]
        parts += [f"### {one.name}", one.paper, f"```coq\n{coq_text(one.name)}\n```"]
        parts.append(f"In Python: {'; '.join(places)}.")
    edges = graph()
    parts += [_GRAPH, picture(edges)]
    rows = [
        "| in the paper | name | what is proved | file, line | rests on |",
        "|---|---|---|---|---|",
    ]
    for lemma, below in edges.items():
        names = ", ".join(f"`{other.name}`" for other in below)
        rows.append(
            f'| {lemma.paper} | <span id="{lemma.name}">`{lemma.name}`</span> | {lemma.text} '
            f"| {lemma.file}.v, {lemma.line} | {names} |"
        )
    return "\n\n".join([*parts, "\n".join(rows), _FOOT]) + "\n"


_HEAD = """# The proof in detail

This page has each definition on which the theorems rest, beside what the paper says and the Python
code that does it, and a graph of the lemmas. You need not know Coq to read it: `forall` is "for
all", `\\rsum_a` is a sum over all `a`, and `f x y` is f(x, y). It is made from the files of the
proof when the site is built. [The proof](the-proof.md) says for which parameters the theorems hold,
what the model assumes, what was found wrong in the paper, and what has to be trusted.

## Definitions and theorems

These are all definitions of `proofs/Statement.v` that have a counterpart in the code."""

_GRAPH = """## The lemmas

Each box is a lemma that has a number in the paper. A line goes down to a lemma that its proof uses,
itself or by way of lemmas without a number. Where nothing rests on a lemma of the paper, the proof
does without it: these boxes stand at the top or at the end."""

_FOOT = """## How it is tied to the code

Coq extracts both algorithms to a program, which the tests run beside the learners on random graphs:
same arms, and policies that agree to 1e-12. Mistakes that the tests put into the definitions are
noticed. `bound2` and `tuning.bound2` are compared as formulas. [How the proof is compared with the
code](the-proof.md#how-the-proof-is-compared-with-the-code) has more."""
