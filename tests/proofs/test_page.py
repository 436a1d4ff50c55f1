"""The page about the proof shows what is there: every definition, method, lemma and use."""

import re
from bisect import bisect_right

import pytest

from tests.proofs.extraction import PROOFS
from website import proof


def test_the_page_shows_definitions_beside_their_code_and_all_lemmas() -> None:
    page = proof.page()
    for one in proof.DEFINITIONS:
        assert proof.coq_text(one.name) in page
        assert all(f"line {proof.python_line(place)}" in page for place in one.python)
    for lemma in proof.lemmas():
        text = (PROOFS / f"{lemma.file}.v").read_text(encoding="utf-8").splitlines()
        assert re.search(rf"\b{lemma.name}\b", text[lemma.line - 1])
        assert page.count(f'href="#{lemma.name}"') == page.count(f'id="{lemma.name}"') == 1
    assert {"theorem1", "proposition2", "lemma16_ftrl_shift"} <= {x.name for x in proof.lemmas()}


def test_a_definition_or_method_that_is_gone_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LookupError, match="no definition of gone"):
        proof.coq_text("gone")
    with pytest.raises(LookupError, match=r"has no FeedbackGraph\.gone"):
        proof.python_line("graphs/graph.py FeedbackGraph.gone")
    known = {key: one for key, one in proof.declarations().items() if key[1] != "P_F"}
    monkeypatch.setattr(proof, "declarations", lambda: known)
    with pytest.raises(LookupError, match=r"GoodEvents\.v has no P_F"):
        proof.lemmas()


def uses_by_coq() -> dict[tuple[str, str], set[tuple[str, str]]]:
    """Return what each declaration uses, as Coq has noted it in its glob files."""
    known = proof.declarations()
    found: dict[tuple[str, str], set[tuple[str, str]]] = {key: set() for key in known}
    for file in {file for file, _ in known}:
        text = (PROOFS / f"{file}.glob").read_text(encoding="utf-8")
        starts = sorted(
            (int(at), name)
            for at, name in re.findall(r"^(?!R)\w+ (\d+):\d+ \S+ (\S+)$", text, re.MULTILINE)
            if (file, name) in known
        )
        places = [at for at, _ in starts]
        for at, other, name in re.findall(
            r"^R(\d+):\d+ Crossbandit\.(\w+) \S+ (\S+) \w+$", text, re.MULTILINE
        ):
            i = bisect_right(places, int(at)) - 1
            if i >= 0 and (other, name) in known and (other, name) != (file, starts[i][1]):
                found[file, starts[i][1]].add((other, name))
    return found


def test_the_graph_is_the_one_that_coq_has_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {file for file, _ in proof.declarations()}
    globs = [PROOFS / f"{file}.glob" for file in files]
    if not all(
        one.exists() and one.stat().st_mtime > one.with_suffix(".v").stat().st_mtime
        for one in globs
    ):
        pytest.skip("The proof is not compiled: make proofs")
    shown, by_coq = proof.graph(), uses_by_coq()
    monkeypatch.setattr(proof, "uses", lambda: by_coq)
    assert proof.graph() == shown
    assert sum(map(len, shown.values())) > 30
