import pytest

from crossbandit.cli.study import _first_sentence


@pytest.mark.parametrize(
    ("docstring", "sentence"),
    [
        ("The rule of Neu et al. for graphs. More.", "The rule of Neu et al. for graphs."),
        ("After Alon et al. 2015. More.", "After Alon et al. 2015."),
        ("Rates, e.g. Exp3.P, by N. Alon. More follows.", "Rates, e.g. Exp3.P, by N. Alon."),
        ("One line", "One line."),
        ("Two\nlines. `More` here.\n\nAnd more.", "Two lines."),
    ],
)
def test_an_abbreviation_does_not_end_a_sentence(docstring: str, sentence: str) -> None:
    def builder() -> None: ...

    builder.__doc__ = docstring
    assert _first_sentence(builder) == sentence
