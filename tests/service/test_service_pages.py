"""The pages about the service: their commands run, and what they name exists."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import typer.main

from crossbandit.cli.app import app
from crossbandit.service import BidderSettings, Node, open_store
from crossbandit.service.causes import STATUS
from crossbandit.service.client.client import Transport
from crossbandit.service.figures import CampaignFigures, ShadingFigures
from crossbandit.service.http.handlers import OPERATIONS
from crossbandit.service.http.metrics import RequestMetrics, metrics_text, node_families
from tests.service.conftest import new_database
from tests.service.page.stub import budget, figures

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.postgresql_server import PostgresqlServer

ROOT = Path(__file__).parents[2]
OPERATE = ROOT / "docs/how-to/operate.md"
TUTORIAL = ROOT / "docs/tutorials/service.md"
HOW_TO = [ROOT / f"docs/how-to/{name}.md" for name in ("deploy", "operate")]


def blocks(page: Path, kind: str) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"```{kind}\n(.*?)```", text, flags=re.DOTALL)


@pytest.mark.parametrize("page", [TUTORIAL, *HOW_TO], ids=lambda page: page.stem)
def test_options_on_the_page_exist(page: Path) -> None:
    command = typer.main.get_command(app).commands["serve"]  # type: ignore[attr-defined]
    known = {option for one in command.params for option in one.opts}
    text = re.sub(r"\\\n|\", \\?\s*\"", " ", page.read_text(encoding="utf-8"))
    used = [line.partition("serve")[2] for line in text.splitlines() if "crossbandit serve" in line]
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", " ".join(used))) <= known | {"--help"}


def test_the_reference_lists_all_operations_with_their_roles() -> None:
    text = (ROOT / "docs/reference/http.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([A-Z]+ [^`]+)` \| (\w+) \|", text, flags=re.MULTILINE))
    roles = {"open": "none", "read": "any"}
    found = {f"{one.method} {one.path}": roles.get(one.role, one.role) for one in OPERATIONS}
    assert rows == found | {"GET /": "none", "GET /events": "any"}


def test_the_reference_lists_all_codes_of_errors() -> None:
    text = (ROOT / "docs/reference/http.md").read_text(encoding="utf-8")
    listed: dict[str, set[int]] = {}
    for statuses, codes in re.findall(r"^\| ([\d, ]+) \| (.*) \|$", text, flags=re.MULTILINE):
        for code in re.findall(r"`([a-z-]+)`", codes):
            listed[code] = {int(status) for status in statuses.split(",")}
    assert set(listed) == set(STATUS)
    assert all(STATUS[code] in statuses for code, statuses in listed.items())


def test_metrics_on_the_page_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(open_store(tmp_path / "store.db"))
    shading = ShadingFigures(fraction=0.5, gain=0.1, error=0.01)
    shoes = CampaignFigures(paused=False, won=1, lost=2, value_won=3.0, spend=2.0)
    known = figures(limits=(budget(),), refused={"expired": 1}, delay=2.0, shading=shading)
    known = msgspec.structs.replace(known, campaigns={"shoes": shoes})
    monkeypatch.setattr(node, "all_figures", lambda: {"shop": known})
    requests = RequestMetrics()
    requests.note("/", "GET", 200, 0.1)
    text = metrics_text([*requests.families(), *node_families(node)]).decode()
    node.close()
    page = OPERATE.read_text(encoding="utf-8")
    named = set(re.findall(r"crossbandit_[a-z_]+", page))
    assert named <= set(re.findall(r"^# TYPE (\S+)", text, flags=re.MULTILINE))
    assert len(named) > 10


# --------------------------------------------------------------------------- a session of a shell


class Shell:
    """Runs the commands of pages in one folder; what serves runs in the background."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._serving: subprocess.Popen[bytes] | None = None

    def run(self, block: str) -> str:
        code = block.replace("127.0.0.1:8000", f"127.0.0.1:{self.port}")
        if code.startswith("crossbandit serve"):
            self._serve(code)
            return ""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", code],  # noqa: S607 - as a reader would
            cwd=self._folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, f"{code}\n{done.stderr}"
        return done.stdout

    def _serve(self, code: str) -> None:
        arguments = code.split()[1:]
        command = [sys.executable, "-m", "crossbandit", *arguments, "--port", str(self.port)]
        self._serving = subprocess.Popen(command, cwd=self._folder, stdout=subprocess.DEVNULL)
        end = time.monotonic() + 120
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5).close()
            except OSError:
                assert time.monotonic() < end
                assert self._serving.poll() is None
                time.sleep(0.1)
            else:
                return

    def close(self) -> None:
        if self._serving is not None:
            self._serving.send_signal(signal.SIGTERM)
            assert self._serving.wait(30) == 0
            self._serving = None


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    made = Shell(tmp_path)
    try:
        yield made
    finally:
        made.close()


def test_the_commands_of_the_pages_run(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    install, *commands = blocks(TUTORIAL, "sh")
    assert install.splitlines()[-1] == "crossbandit serve --demo"  # the demonstration has tests
    answers = [shell.run(command) for command in commands]
    assert '"token":"' in answers[-2]
    assert answers[-1] == '{"accepted":1,"errors":[]}'
    assert {"shop", "campaign"} <= set(_figures(shell, "/v1/bidders")["bidders"])

    for block in blocks(TUTORIAL, "py"):
        exec(compile(block.replace(":8000", f":{shell.port}"), "serve.md", "exec"), {})  # noqa: S102
    end = time.monotonic() + 30
    while _figures(shell, "/v1/bidders/shop/figures")["last"] < 4:  # one by curl, three by Python
        assert time.monotonic() < end
        time.sleep(0.1)

    page = urllib.request.urlopen(f"http://127.0.0.1:{shell.port}/").read().decode()
    assert "<h1>Bidders</h1>" in page
    metrics, sqlite, _, change, _, campaigns = blocks(OPERATE, "sh")
    assert 'crossbandit_outcomes_total{bidder="shop",kind="lost"}' in shell.run(metrics)
    assert '"campaign"' in shell.run(change)
    clothes = {"value_range": [0, 10], "campaigns": {"shoes": {"budget": {"amount": 200}}}}
    with closing(Transport(f"http://127.0.0.1:{shell.port}")) as transport:
        transport.request("PUT", "/v1/bidders/clothes", clothes).check()
    assert '"amount":300.0' in (paused := shell.run(campaigns))
    assert '"paused":true' in paused
    if os.access("/usr/bin/sqlite3", os.X_OK) or "CI" in os.environ:
        shell.run(sqlite)
        copy = Node(open_store(tmp_path / "backup.db"))
        copy.start()
        assert copy.figures("shop").last == 4
        copy.close()


def test_the_commands_for_postgresql_run(server: PostgresqlServer, tmp_path: Path) -> None:
    address = new_database(server)
    store = open_store(address)
    node = Node(store)
    node.start()
    node.create("shop", BidderSettings(value_range=(0, 10), bids=11))
    node.close()
    _, _, block, *_ = blocks(OPERATE, "sh")
    dump, restore = block.splitlines()
    page = "postgresql://crossbandit@db/bidders"
    empty = new_database(server, empty=True)
    for line, found in ((dump, address), (restore, empty)):
        assert page in line
        code = line.replace(page, f"'{found}'")
        subprocess.run(["bash", "-euc", code], cwd=tmp_path, check=True)  # noqa: S607
    restored = Node(open_store(empty))
    restored.start()
    assert restored.names() == ["shop"]
    restored.close()


def _figures(shell: Shell, path: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"http://127.0.0.1:{shell.port}{path}") as answer:
        found: dict[str, Any] = msgspec.json.decode(answer.read())
    return found
