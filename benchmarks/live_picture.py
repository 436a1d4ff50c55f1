"""The pictures of the live page in the documentation.

`python -m benchmarks.live_picture` writes docs/pictures/live-light.png and live-dark.png, in two
minutes. It plays the demonstration, and photographs its page in Chromium. It needs the extras
`serve` and `dev`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from benchmarks.live_server import LiveServer
from crossbandit.service import Node, open_store
from crossbandit.service.demo import play

FOLDER = Path(__file__).parents[1] / "docs/pictures"
_CHROMIUM = "/usr/bin/chromium"
_SECONDS = 90


def main() -> None:
    """Write the pictures."""
    with tempfile.TemporaryDirectory() as folder:
        node = Node(open_store(Path(folder) / "demo.db"))
        node.start()
        end = play(node, seed=1)
        try:
            with LiveServer(node) as server:
                photograph(server.url + "#video")
        finally:
            end()
            node.close()


def photograph(url: str) -> None:
    """Write pictures of the page, light and dark, after it has been open for a while.

    Args:
        url: The address of the page.
    """
    with sync_playwright() as tool:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = tool.chromium.launch(executable_path=_CHROMIUM, args=flags)
        page = browser.new_page(viewport={"width": 1200, "height": 1225}, color_scheme="light")
        page.goto(url)
        page.wait_for_timeout(1000 * _SECONDS)
        page.screenshot(path=FOLDER / "live-light.png")
        page.emulate_media(color_scheme="dark")
        page.wait_for_timeout(1000)
        page.screenshot(path=FOLDER / "live-dark.png")
        browser.close()


if __name__ == "__main__":
    main()
