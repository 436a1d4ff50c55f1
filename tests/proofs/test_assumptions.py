"""The check of the proofs, run as it is on a proof of one line, refuses every trick."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.proofs.extraction import PROOFS, require_coq

STATEMENT = "Definition Theorem1 : Prop := forall n : nat, n + 0 = n.\n"
FALSE = "Definition Theorem1 : Prop := 0 = 1.\n"
IMPORT = "Require Import Crossbandit.Statement.\n"
ASSUMPTIONS = """Require Crossbandit.Statement Crossbandit.Main.
Definition checked : Crossbandit.Statement.Theorem1 := Crossbandit.Main.theorem1.
"""
HONEST = "Theorem theorem1 : Theorem1. Proof. intro n. induction n; simpl; congruence. Qed.\n"

REFUSED = ("The proofs rest on", "coqchk finds", 'has type "True"')

TRICKS = {
    "an axiom after a word, with the name of an answer": """
Time Axiom Closed : False.
Theorem theorem1 : Theorem1. Proof. destruct Closed. Qed.""",
    "a local parameter in a module": """
Module Inner. Local Parameter absurd : False. End Inner.
Theorem theorem1 : Theorem1. Proof. destruct Inner.absurd. Qed.""",
    "an axiom with the name of an accepted one": """
Module Classical_Prop. (* *) Axiom classic : False. End Classical_Prop.
Theorem theorem1 : Theorem1. Proof. destruct Classical_Prop.classic. Qed.""",
    "a proof left out in a section": """
Section Hidden. Variable n : nat.
Lemma step : n = S n. Proof. (* Qed. *) Fail Qed. Admitted. End Hidden.
Theorem theorem1 : Theorem1. Proof. exact (step 0). Qed.""",
    "a fixpoint that does not end": """
Unset  Guard Checking. Fixpoint absurd (n : nat) : False := absurd n. Set Guard Checking.
Theorem theorem1 : Theorem1. Proof. destruct (absurd 0). Qed.""",
    "a type that is not positive": """
#[bypass_check(positivity)] Inductive loop := Loop (f : loop -> False).
Definition apply (x : loop) : False := match x with Loop f => f x end.
Theorem theorem1 : Theorem1. Proof. destruct (apply (Loop apply)). Qed.""",
    "a module that is declared and not given": """
Module Type Absurd. Parameter absurd : False. End Absurd.
Declare Module Given : Absurd.
Theorem theorem1 : Theorem1. Proof. destruct Given.absurd. Qed.""",
    "an obligation that is admitted": """
From Coq Require Import Program.Tactics.
Program Definition step : {n : nat | n = S n} := 0. Admit Obligations.
Theorem theorem1 : Theorem1. Proof. destruct step as [n H]. exfalso.
induction n; [discriminate H | injection H; exact IHn]. Qed.""",
    "a type that contains itself": """
Unset Universe Checking. Definition own : Type := (Type : Type). Set Universe Checking.
Axiom absurd : own -> False.
Theorem theorem1 : Theorem1. Proof. destruct (absurd nat). Qed.""",
    "a notation in place of the statement": """
Notation Theorem1 := True.
Theorem theorem1 : Theorem1. Proof. exact I. Qed.""",
}


def check(folder: Path, statement: str, main: str) -> subprocess.CompletedProcess[str]:
    """Run `make check` of the proofs on a development of two files."""
    require_coq()
    for name in ("Makefile", "check-assumptions"):
        shutil.copy(PROOFS / name, folder / name)
    texts = {
        "_CoqProject": "-Q . Crossbandit\nStatement.v\nMain.v\n",
        "Statement.v": statement,
        "Main.v": IMPORT + main,
        "Assumptions.v": ASSUMPTIONS,
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    command = ["make", "-s", "-C", str(folder), "check"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_an_honest_proof_is_accepted(tmp_path: Path) -> None:
    done = check(tmp_path, STATEMENT, HONEST)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("trick", TRICKS)
def test_a_trick_is_refused(trick: str, tmp_path: Path) -> None:
    done = check(tmp_path, FALSE, TRICKS[trick])
    assert list(tmp_path.glob("Main.vo")), f"The trick must compile:\n{done.stderr}"
    assert done.returncode != 0, f"The check accepts a proof of 0 = 1:\n{done.stdout}"
    assert any(words in done.stderr for words in REFUSED), done.stderr


def test_an_axiom_that_no_theorem_uses_is_refused(tmp_path: Path) -> None:
    done = check(tmp_path, STATEMENT, f"{HONEST}Axiom unused : 0 = 1.\n")
    assert done.returncode != 0
    assert "Main.unused" in done.stderr


def test_a_file_that_is_not_compiled_is_refused(tmp_path: Path) -> None:
    (tmp_path / "Forgotten.v").write_text(HONEST, encoding="utf-8")
    done = check(tmp_path, STATEMENT, HONEST)
    assert done.returncode != 0
    assert "must list every file" in done.stderr
