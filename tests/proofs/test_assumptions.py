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
    "a functor that brings its own axiom": """
Module Type Any. End Any.
Module Make (X : Any). Axiom absurd : False. End Make.
Module Empty. End Empty. Module Given := Make Empty.
Theorem theorem1 : Theorem1. Proof. destruct Given.absurd. Qed.""",
    "a proof left out within a proof": """
Set Nested Proofs Allowed.
Theorem theorem1 : Theorem1. Proof. Lemma inside : False. Admitted. destruct inside. Qed.""",
    "a local fact without a proof": """
Section Hidden. Let absurd : False. Admitted.
Theorem theorem1 : Theorem1. Proof. destruct absurd. Qed. End Hidden.""",
    "a paradox without universes, and no axiom": """
From Coq Require Import Logic.Hurkens.
Unset Universe Checking.
Definition absurd : False := TypeNeqSmallType.paradox Type eq_refl.
Theorem theorem1 : Theorem1. Proof. destruct absurd. Qed.""",
    "an axiom of the standard library": """
From Coq Require Import Compat.AdmitAxiom.
Theorem theorem1 : Theorem1. Proof. admit. Defined.""",
    "strict propositions that are computed with": """
Set Definitional UIP.
Inductive same {A} (a : A) : A -> SProp := reflexive : same a a.
Axiom absurd : same 0 1.
Theorem theorem1 : Theorem1.
Proof. exact (match absurd in same _ y return 0 = y with reflexive _ => eq_refl end). Qed.""",
    "answers that are printed otherwise": """
Global Set Printing Width 3. Global Set Printing All. Global Set Printing Depth 1.
Axiom classic : 0 = 1.
Theorem theorem1 : Theorem1. Proof. exact classic. Qed.""",
    "a notation in place of the statement": """
Notation Theorem1 := True.
Theorem theorem1 : Theorem1. Proof. exact I. Qed.""",
}


def check(
    folder: Path, statement: str, main: str, project: str = "Statement.v\nMain.v\n"
) -> subprocess.CompletedProcess[str]:
    """Run `make check` of the proofs on a development of two files, and others in the folder."""
    require_coq()
    for name in ("Makefile", "check-assumptions"):
        shutil.copy(PROOFS / name, folder / name)
    texts = {
        "_CoqProject": f"-Q . Crossbandit\n{project}",
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


def test_an_axiom_of_a_file_that_is_not_in_the_list_is_refused(tmp_path: Path) -> None:
    require_coq()
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner/Hidden.v").write_text("Axiom absurd : False.\n", encoding="utf-8")
    command = ["coqc", "-q", "-Q", ".", "Crossbandit", "inner/Hidden.v"]
    subprocess.run(command, cwd=tmp_path, check=True)
    main = """From Crossbandit Require Import inner.Hidden.
Theorem theorem1 : Theorem1. Proof. destruct absurd. Qed."""
    done = check(tmp_path, FALSE, main)
    assert done.returncode != 0
    assert "Hidden.absurd" in done.stderr


def test_a_statement_that_another_file_can_give_a_meaning_is_refused(tmp_path: Path) -> None:
    (tmp_path / "Words.v").write_text('Notation "0" := 1.\n', encoding="utf-8")
    statement = f"Require Import Crossbandit.Words.\n{FALSE}"
    main = "Theorem theorem1 : Theorem1. Proof. reflexivity. Qed.\n"
    done = check(tmp_path, statement, main, "Words.v\nStatement.v\nMain.v\n")
    assert list(tmp_path.glob("Main.vo")), f"The trick must compile:\n{done.stderr}"
    assert done.returncode != 0, f"The check accepts a proof of 0 = 1:\n{done.stdout}"
    assert "Crossbandit.Words" in done.stderr
