"""The script that measures how large the code is counts right."""

from pathlib import Path

import pytest

from benchmarks.house import House, Row, beside, own_house, sections

FILES = {
    "__init__.py": '"""A house."""\n\n__all__: list[str] = []\n',
    "__main__.py": "",
    "shop/__init__.py": """
        from house.shop.till import Till, price
        from house.shop import rates
        again = price
        __all__ = ["Till", "again", "rates"]
    """,
    "shop/till.py": '''
        """Sells."""

        import json  # two lines
        from os import (
            path,
        )


        class _Base:
            def shown(self, a):
                """Show.

                Args:
                    a: A number, over
                        two lines.
                """


        class Till(_Base):
            """A till."""

            def play(self, a, b, c, d, e, f, *g):
                """Play.

                Args:
                    a: Can be reached.
                """

            def _hidden(self):
                """Hide.

                Returns:
                    Nothing.

                >>> 1
                1

                Raises:
                    ValueError: Always.
                """
                return json, path


        def price(bid):
            """Return a price.

            Args:
                bid: Can be reached by another name.
            """
            return Till()._hidden()


        def unused(): ...
    ''',
    "shop/rates.py": '''
        class Bid:
            """A bid.

            Attributes:
                amount: Can be reached as `rates.Bid`.
            """


        class Inner:
            class Bid: ...
    ''',
    "cellar.py": '''
        from house.shop.rates import Bid


        class OwnBids: ...


        class Body(msgspec.Struct):
            """A body.

            Attributes:
                bid: Can be reached over HTTP.
            """


        def helper(decision: Bid) -> None:
            """Help.

            Args:
                decision: Nobody exports it.

            Returns:
                What it returns.
            """

            def learn(): ...
    ''',
}


@pytest.fixture
def house(tmp_path: Path) -> House:
    for name, text in FILES.items():
        path = tmp_path / "house" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("\n        ", "\n"), encoding="utf-8")
    return House(tmp_path / "house")


def test_a_small_house_is_counted(house: House) -> None:
    rows = list(house.rows())
    assert [row.found for row in rows] == [
        (26,),  # lines of code
        (6, 26 / 6),
        (7,),
        (2,),  # cellar, shop
        (2, 200 / 7),  # `_hidden` and `price`
        (1, 7),
        (1,),
        (1, 0),  # `learn` is no method
        (1,),
        (8,),
    ]
    assert rows[6].names == ("Bid 2",)
    assert rows[8].names == ("Bid",)
    assert rows[9].names == ("house.cellar.helper 4", "house.shop.till._hidden 4")


def test_a_page_makes_a_name_public(house: House) -> None:
    shown = House(house.folder, ("house.cellar.helper",))
    assert [name for name, _ in shown.unreachable_sections()] == ["house.shop.till._hidden"]


def test_sections_end_where_the_indent_does() -> None:
    text = "One.\n\nArgs:\n    a: A.\n\n    b: B.\nTwo.\n\nReturns:\n    C."
    assert list(sections(text)) == [["Args:", "    a: A.", "    b: B."], ["Returns:", "    C."]]


def test_a_bar_holds_for_all_parts() -> None:
    assert Row("both", (1, 2), (1, 2)).kept
    assert not Row("both", (1, 3), (1, 2)).kept
    assert Row("none", (1e9,)).kept


def test_only_public_names_describe_their_arguments() -> None:
    assert list(own_house().unreachable_sections()) == []


def test_help_prints_the_docstrings_of_commands(tmp_path: Path) -> None:
    described = '    """Do.\n\n    Args:\n        a: A.\n    """\n'
    (tmp_path / "commands.py").write_text(
        f"class Own:\n{described}class Other:\n{described}@takes_options\ndef run(a: Own):\n"
        f"{described}def walk(a: Other):\n{described}"
    )
    found = [name.rpartition(".")[2] for name, _ in House(tmp_path).unreachable_sections()]
    assert found == ["Other", "walk"]


def test_what_is_beside_the_code_is_counted(tmp_path: Path) -> None:
    for name, text in {
        "a/b.pxd": "x\n\ny\n",
        "c.js": "1\n",
        "d.css": "2\n",
        "e.html": "3\n",
    }.items():
        path = tmp_path / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert [row.found for row in beside(tmp_path)] == [(0, 0), (2, 1, 2), (0, 0)]
