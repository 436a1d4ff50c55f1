"""Every example of the gallery runs, is short, and its picture and the page are the latest."""

import re

import pytest

from benchmarks.gallery import FOLDER, NAMES, PAGE, darkened, page, pictures

TEXT = re.compile(r"<text[^>]*>(.*?)</text>", re.DOTALL)


def texts(picture: str) -> list[str]:
    """Return the titles, labels and numbers of a picture."""
    return [re.sub(r"<[^>]*>|\s+", "", one) for one in TEXT.findall(picture)]


@pytest.mark.parametrize("name", NAMES)
def test_an_example_draws_its_picture(name: str) -> None:
    """The texts are compared, and not the lines: these differ between machines by rounding."""
    for path, made in pictures(name).items():
        committed = path.read_text(encoding="utf-8")
        assert texts(committed) == texts(made), f"Run: python -m benchmarks.gallery {name}"
        assert len(texts(made)) > 8
        assert len(committed) < 100_000


@pytest.mark.parametrize("name", NAMES)
def test_the_dark_picture_is_the_light_one(name: str) -> None:
    light, dark = (
        (FOLDER / "pictures" / f"{name}-{tone}.svg").read_text(encoding="utf-8")
        for tone in ("light", "dark")
    )
    assert dark == darkened(light) != light
    assert "#ffffff" not in dark
    assert "#222222" not in dark


def test_every_file_is_on_the_page_and_short() -> None:
    scripts = sorted(FOLDER.glob("*.py"))
    assert [path.stem for path in scripts] == sorted(NAMES)
    assert len(scripts) == 6
    for path in scripts:
        assert len(path.read_text(encoding="utf-8").splitlines()) < 40, path.name
    assert len(list((FOLDER / "pictures").iterdir())) == 2 * len(NAMES)


def test_the_page_is_the_latest() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "Run: python -m benchmarks.gallery"
