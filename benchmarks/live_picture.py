"""The picture of the live page in the documentation.

`python -m benchmarks.live_picture` writes docs/pictures/live.png, in two minutes. It plays the
demonstration, and photographs its page in Chromium. It needs the extras `serve` and `dev`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from benchmarks.live_server import LiveServer
from crossbandit.service import Node, open_store
from crossbandit.service.demo import play

PICTURE = Path(__file__).parents[1] / "docs/pictures/live.png"
_CHROMIUM = "/usr/bin/chromium"
_SECONDS = 90


def main() -> None:
    """Write the picture."""
    with tempfile.TemporaryDirectory() as folder:
        node = Node(open_store(Path(folder) / "demo.db"))
        node.start()
        end = play(node, seed=1)
        try:
            with LiveServer(node) as server:
                photograph(server.url + "#video", PICTURE)
        finally:
            end()
            node.close()
    print(f"{PICTURE} has {PICTURE.stat().st_size:,} bytes.")


def photograph(url: str, path: Path) -> None:
    """Write a picture of the page after it has been open for a while.

    Args:
        url: The address of the page.
        path: The PNG file.
    """
    with sync_playwright() as tool:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = tool.chromium.launch(executable_path=_CHROMIUM, args=flags)
        page = browser.new_page(viewport={"width": 1200, "height": 1225}, color_scheme="light")
        page.goto(url)
        page.wait_for_timeout(1000 * _SECONDS)
        path.parent.mkdir(exist_ok=True)
        page.screenshot(path=path)
        browser.close()


if __name__ == "__main__":
    main()
