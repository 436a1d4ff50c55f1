(** The theorems are those that Statement states. Nothing is imported, so that no notation of
    another file can change what a name means here. The script check-assumptions compiles this file.
    *)
Require Crossbandit.Statement Crossbandit.Main.
Definition checked1 : Crossbandit.Statement.Proposition2_explicit :=
  Crossbandit.Main.proposition2_explicit.
Definition checked2 : Crossbandit.Statement.Proposition2 := Crossbandit.Main.proposition2.
Definition checked3 : Crossbandit.Statement.Theorem1_explicit := Crossbandit.Main.theorem1_explicit.
Definition checked4 : Crossbandit.Statement.Theorem1 := Crossbandit.Main.theorem1.
Definition checked5 : Crossbandit.Statement.Theorem1_paper := Crossbandit.Main.theorem1_paper.
