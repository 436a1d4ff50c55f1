"""Pages: everything is inside them, and nothing breaks out."""

import json
import re

import pytest

from crossbandit.core.report import Chart, Series, render
from crossbandit.core.report.pages import script_json

EVIL = "</script><script>alert(1)</script>{{ title }}\"'"
CHART = Chart(
    title=EVIL, x_label=EVIL, y_label="y", series=(Series(name=EVIL, x=(1.0,), y=(2.0,)),)
)


@pytest.fixture(scope="module")
def text() -> str:
    return render(
        "crossbandit.core.report", "page.html", title=EVIL, charts={"a": [CHART]}, names=[EVIL]
    )


def test_text_is_escaped(text: str) -> None:
    assert "<script>alert" not in text
    assert "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;{{ title }}" in text


def test_data_survives_its_escapes(text: str) -> None:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.DOTALL)
    assert found
    data = json.loads(found[1])
    assert data["names"] == [EVIL]
    assert data["charts"]["a"][0]["series"][0]["name"] == EVIL


def test_a_page_loads_nothing(text: str) -> None:
    assert "default-src 'none'" in text
    assert set(re.findall(r"https?://[^\"'\s)]+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"@import|url\((?!#)|\bfetch\(|XMLHttpRequest|\bimport\(", text)
    links = re.findall(r"(?:href|src)=\"([^\"]*)\"", text)
    assert all(link.startswith(("#", "data:")) for link in links)


def test_a_number_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        script_json({"x": float("nan")})
