"""The live page in a real browser: it shows what the node says, at two widths, light and dark."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from zoneinfo import ZoneInfo

import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route

from benchmarks.live_server import LiveServer
from crossbandit.service import BidderSettings, Node, open_store
from crossbandit.service.http import Access, create_app
from crossbandit.service.http.access import AccessToken
from tests.service.page.stub import StubNode, budget, figures, trained

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

CHROMIUM = Path("/usr/bin/chromium")
EVIL = "<img src=x onerror=alert(1)>"
WIDTHS = {"wide": 1280, "phone": 360}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if "CI" not in os.environ:
        pytest.importorskip("playwright", reason="playwright is not installed")
        if not CHROMIUM.exists():
            pytest.skip(f"there is no {CHROMIUM}")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tool:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        found = tool.chromium.launch(executable_path=str(CHROMIUM), args=flags)
        yield found
        found.close()


@pytest.fixture(scope="module")
def node() -> StubNode:
    made = StubNode()
    made.all["shop"] = trained(), figures("shop")
    classes = trained(classes=["site"])
    made.all["video"] = classes, figures("video", limits=(budget(),), limited=True)
    made.all["new"] = trained(0), figures("new", won=0, lost=0, learned=0, history=())
    made.all[EVIL] = None, figures(EVIL, alerts=(EVIL,), refused={"expired": 3})
    return made


@pytest.fixture(scope="module")
def server(node: StubNode) -> Iterator[LiveServer]:
    with LiveServer(node) as made:
        yield made


class Opened:
    """A page, and what went wrong in it."""

    def __init__(self, browser: Browser, url: str, **options: Any) -> None:
        self.page: Page = browser.new_page(**options)
        self.problems: list[str] = []
        self.requests: set[str] = set()
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", self._heard)
        self.page.on("request", lambda one: self.requests.add(one.url.split("?")[0]))
        self.page.goto(url)
        self.page.wait_for_selector("#rows tr")

    def _heard(self, message: Any) -> None:
        if message.type == "error":
            self.problems.append(message.text)

    def close(self) -> None:
        self.page.close()
        assert self.problems == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_everything_is_shown(server: LiveServer, browser: Browser, width: str, theme: Any) -> None:
    size: Any = {"width": WIDTHS[width], "height": 800}
    opened = Opened(browser, server.url + "#video", viewport=size, color_scheme=theme)
    page = opened.page
    page.wait_for_selector("#multiplier svg path.curve", state="attached")
    assert page.locator("#rows tr").count() == 4
    assert page.locator("#rows tr[aria-current] th").inner_text() == "video"
    assert page.locator("#name").inner_text().split() == ["video", "learning"]
    assert "30.0 %" in page.locator("#tiles").inner_text()
    for place in ("bids", "law", "surplus", "spend", "wins"):
        assert page.locator(f"#{place} svg path.curve").count() >= 1, place
    assert page.locator("#law svg path.curve").count() == 2  # one per class
    assert page.locator("#bids svg path.band").count() == 2
    assert page.locator("#spend svg path.reference").count() == 1  # the plan
    assert page.locator("#figure-exploration").is_hidden()
    # Nothing sticks out, and the two themes differ.
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 23, 21)"}[theme]
    assert opened.requests == {server.url, server.url + "events"}
    opened.close()


def test_names_and_alerts_are_text(server: LiveServer, browser: Browser) -> None:
    opened = Opened(browser, server.url)
    page = opened.page
    page.wait_for_selector("#alerts li")  # the bidder with an alert comes first, so it is chosen
    assert page.locator("#rows tr th").first.inner_text() == EVIL
    assert page.locator("#alerts li").inner_text() == EVIL
    assert page.locator("main img").count() == 0
    assert "expired" in page.locator("#refusals").inner_text()
    assert page.locator("#figure-bids .empty").is_visible()
    opened.close()


def test_it_updates_by_itself(server: LiveServer, node: StubNode, browser: Browser) -> None:
    opened = Opened(browser, server.url + "#shop")
    page = opened.page
    page.wait_for_selector("#tiles >> text=30.0 %")
    bidder, _ = node.all["shop"]
    node.all["shop"] = bidder, figures("shop", won=60, lost=40)
    page.wait_for_selector("#tiles >> text=60.0 %")
    page.wait_for_selector("#rows >> text=60.0 %")
    node.all["another"] = bidder, figures("another")
    page.wait_for_selector("#rows >> text=another")
    node.all["shop"] = bidder, figures("shop")
    del node.all["another"]
    page.wait_for_selector("#rows >> text=another", state="detached")
    opened.close()


def test_keys_choose_a_bidder_and_read_a_chart(server: LiveServer, browser: Browser) -> None:
    opened = Opened(browser, server.url + "#shop")
    page = opened.page
    page.wait_for_selector("#bids svg path.curve", state="attached")
    page.locator("#rows a", has_text="video").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#name >> text=video")
    assert page.evaluate("document.activeElement.id") == "name"
    page.wait_for_selector("#law svg path.curve", state="attached")
    page.locator("#law").focus()
    page.keyboard.press("End")
    said = page.locator("#live").inner_text()
    assert said.startswith("bid 10: ")
    assert "100.0 %" in said
    assert page.locator("#law .tip").is_visible()
    page.wait_for_timeout(2500)  # new data do not take the values away that somebody reads
    assert page.locator("#law .tip").is_visible()
    opened.close()


def test_it_says_when_the_service_is_gone_and_comes_back(node: StubNode, browser: Browser) -> None:
    with LiveServer(node) as first:
        opened = Opened(browser, first.url)
        page = opened.page
        page.wait_for_selector("#connection >> text=live")
    page.wait_for_selector("#connection >> text=disconnected")
    assert "last update" in page.locator("#updated").inner_text()
    assert page.locator("#rows tr").count() == 4  # what was known stays
    with LiveServer(node, first.port):
        page.wait_for_selector("#connection >> text=live", timeout=20_000)
        opened.problems.clear()  # the browser notes each attempt that was refused
        opened.close()


def test_times_are_those_of_the_clock_of_the_reader(server: LiveServer, browser: Browser) -> None:
    opened = Opened(browser, server.url + "#shop", timezone_id="Asia/Kolkata")
    page = opened.page
    page.wait_for_selector("#surplus svg path.curve", state="attached")
    labels = [text for text in page.locator("#surplus svg text").all_text_contents() if ":" in text]
    zone = ZoneInfo("Asia/Kolkata")
    since = datetime.now(zone) - timedelta(minutes=25)  # other zones differ by 30 minutes or more
    for label in labels:
        hours, minutes, *seconds = map(int, label.split(":"))
        at = datetime.now(zone).replace(hour=hours, minute=minutes, second=0)
        assert since < at < datetime.now(zone) or hours == 23  # yesterday
        assert seconds in ([], [0], [30])  # round times
    assert len(labels) >= 2
    opened.close()


def test_ticks_say_where_they_are(browser: Browser) -> None:
    drawing = (files("crossbandit.core.report") / "assets" / "drawing.js").read_text()
    page = browser.new_page()
    page.set_content('<script id="data" type="application/json">{}</script>')
    for high in (0.0012, 0.013, 0.9, 12.3, 1_300.0):
        ticks = f"linearTicks([0, {high}], 6).map((one) => [one, tickText(one), tickPercent(one)])"
        for tick, *texts in page.evaluate(f"() => {{ {drawing}; return {ticks} }}"):
            plain = [one.replace(",", "").replace("\N{MINUS SIGN}", "-") for one in texts]
            assert float(plain[0]) == pytest.approx(tick, rel=1e-9)
            assert float(plain[1].removesuffix(" %")) == pytest.approx(100 * tick, rel=1e-9)
    page.close()


def test_a_service_with_access_tokens_asks_for_one(node: StubNode, browser: Browser) -> None:
    secret = "a-secret-of-the-test"  # noqa: S105
    access = Access([AccessToken("reader", ["decide"], secret=secret)])
    app: Any = create_app(cast("Node", node), access=access, hosts=["127.0.0.1"])
    with LiveServer(node, app=app) as server:
        page = browser.new_page()
        page.goto(server.url)
        page.wait_for_selector("#access:visible")
        page.locator("#token").fill("wrong")
        page.keyboard.press("Enter")
        page.wait_for_selector("#refused >> text=does not accept")
        assert page.locator("#rows tr").count() == 0
        page.locator("#token").fill(secret)
        page.keyboard.press("Enter")
        page.wait_for_selector("#rows tr")
        assert page.locator("#access").is_hidden()
        assert page.locator("#connection").inner_text() == "live"
        page.close()


ATTACK = """async ([path, how]) => {
    if (how === "form") {
        document.body.innerHTML = `<form method="post" target="hidden" action="${path}"></form>`;
        const frame = document.createElement("iframe");
        frame.name = "hidden";
        document.body.append(frame);
        const done = new Promise((resolve) => (frame.onload = resolve));
        document.querySelector("form").submit();
        await done;
    } else {
        await fetch(path, { method: "POST", mode: "no-cors" });
    }
}"""


def test_a_page_of_another_origin_cannot_pause_a_bidder(browser: Browser, tmp_path: Path) -> None:
    node = Node(open_store(tmp_path / "service.db"))
    node.start()
    node.create("shop", BidderSettings(value_range=(0, 10), bids=11))
    app: Any = create_app(node)
    evil = Starlette(routes=[Route("/", lambda _: HTMLResponse("<p>A page of somebody else."))])
    with LiveServer(None, app=evil) as foreign, LiveServer(node, app=app) as server:
        path = f"{server.url}v1/bidders/shop/pause"
        others = (foreign.url, foreign.url.replace("127.0.0.1", "localhost"))
        for url in others:  # another port, and another host
            for how in ("fetch", "form"):
                page = browser.new_page()
                page.goto(url)
                with page.expect_response(path) as answered:
                    page.evaluate(ATTACK, [path, how])
                assert answered.value.status == 403, (url, how)
                assert not node.figures("shop").paused
                page.close()
        own = browser.new_page()
        own.goto(server.url)
        own.evaluate(ATTACK, [path, "fetch"])
        assert node.figures("shop").paused
        own.close()
    node.close()


def test_nothing_to_show(browser: Browser) -> None:
    with LiveServer(StubNode()) as server:
        page = browser.new_page()
        page.goto(server.url)
        page.wait_for_selector("#none:visible")
        assert page.locator("#detail").is_hidden()
        assert page.locator("#list").is_hidden()
        page.close()


def test_many_bidders_can_be_found(browser: Browser) -> None:
    many = StubNode()
    for number in range(40):
        name = f"campaign-{number:02d}-of-a-customer-with-a-long-name-{'x' * 60}"
        many.all[name] = None, figures(name)
    with LiveServer(many) as server:
        size: Any = {"width": 360, "height": 800}
        opened = Opened(browser, server.url, viewport=size)
        page = opened.page
        assert page.locator("#rows tr").count() == 40
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.locator("#filter").fill("campaign-07")
        assert page.locator("#rows tr").count() == 1
        opened.close()
