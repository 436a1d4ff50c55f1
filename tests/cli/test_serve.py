"""`crossbandit serve`, as a process."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

from crossbandit.cli.serve import serve
from crossbandit.errors import InvalidParameterError
from crossbandit.service.client.client import Transport
from crossbandit.service.serving import (
    bound_socket,
    default_url,
    is_loopback,
    read_key,
)
from crossbandit.service.settings import add_bidders
from tests.service.live import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BIDDERS = """
[bidders.shop]
value_range = [0, 10]
bids = 11

[bidders.capped]
value_range = [0, 10]
bids = 11
budget = { amount = 100, pacing = "asap" }
"""
TOKENS = """
[[token]]
name = "boss"
roles = ["admin"]
secret = "0123456789abcdef"
"""


def command(*options: str) -> list[str]:
    return [sys.executable, "-m", "crossbandit", "serve", *options]


@contextmanager
def serving(folder: Path, *options: str, **variables: str) -> Iterator[tuple[str, Any]]:
    """Start the command; yield its address and the process."""
    environment = {**os.environ, "COLUMNS": "200", **variables}
    process = subprocess.Popen(
        command("--port", "0", *options),
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        for line in process.stdout or ():
            if "http://" in line:
                address = next(word for word in line.split() if word.startswith("http://"))
                yield address.rstrip("/"), process
                break
        else:
            raise AssertionError(process.communicate())
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_serves_until_it_is_stopped_and_goes_on_later(tmp_path: Path) -> None:
    (tmp_path / "bidders.toml").write_text(BIDDERS)
    (tmp_path / "tokens.toml").write_text(TOKENS)
    options = ("bidders.toml", "--tokens-file", "tokens.toml", "--store", "kept.db")
    with serving(tmp_path, *options, CROSSBANDIT_KEY="a key") as (url, process):
        transport = Transport(url, "0123456789abcdef")
        with closing(Transport(url)) as stranger:
            assert stranger.request("GET", "/v1/bidders").status == 401
        assert transport.request("GET", "/v1/bidders").json() == {"bidders": ["capped", "shop"]}
        path = "/v1/bidders/shop"
        made = transport.request("POST", f"{path}/decide", {"value": 8.0}).json()
        assert transport.request("GET", f"{path}/snapshot").headers["crossbandit-signed"] == "1"
        row = {"token": made["token"], "won": False, "highest_competing_bid": 9.0}
        assert transport.request("POST", f"{path}/outcome", row).json()["accepted"] == 1
        transport.close()
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert "Stopped." in err
        assert "0123456789abcdef" not in out + err
        assert "a key" not in out + err
    (tmp_path / "bidders.toml").write_text(BIDDERS.replace("amount = 100", "amount = 50"))
    with serving(tmp_path, *options, "--limits-from-file", CROSSBANDIT_KEY="a key") as started:
        url, process = started
        transport = Transport(url, "0123456789abcdef")
        eventually(lambda: transport.request("GET", f"{path}/figures").json()["lost"] == 1)
        settings = transport.request("GET", "/v1/bidders/capped").json()["settings"]
        assert settings["budget"]["amount"] == 50.0
        again = transport.request("POST", f"{path}/outcome", row)  # still one of its decisions
        assert again.status == 200
        transport.close()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130
        assert err.splitlines()[-1] == "Stopped."


def test_the_log_is_json_lines_of_the_wanted_level(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("a key that everybody can read")
    (tmp_path / "key").chmod(0o644)
    options = ("--log-format", "json", "--log-level", "info", "--key-file", "key")
    with serving(tmp_path, *options) as (url, process):
        with closing(Transport(url)) as transport:
            assert transport.request("GET", "/v1/bidders/example").status == 200
            assert transport.request("GET", "/v1/bidders/none").status == 404
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    found = [json.loads(line) for line in err.splitlines()]  # every line is JSON
    requests = [one for one in found if "status" in one]
    assert [(one["bidder"], one["status"]) for one in requests] == [("example", 200), ("none", 404)]
    assert "All users of this machine can read" in found[0]["message"]
    assert found[-1]["message"] == "Stopped."
    assert all({"time", "level", "logger", "message"} <= set(one) for one in found)
    with serving(tmp_path) as (url, process):
        with closing(Transport(url)) as transport:
            assert transport.request("GET", "/v1/bidders/none").status == 404
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert "/v1/bidders" not in err  # by default, warnings and errors only


def test_an_error_that_ends_the_command_is_a_json_line(tmp_path: Path) -> None:
    options = ("--port", "0", "--log-format", "json", "--store", "none/of/these")
    done = subprocess.run(
        command(*options), cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "cannot be opened" in json.loads(done.stderr)["message"]


def test_another_host_needs_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crossbandit.service.log_lines.begin_log", lambda *_: None)
    with pytest.raises(InvalidParameterError, match="Other machines can reach") as caught:
        serve(host="0.0.0.0")  # noqa: S104 - refused
    assert "--without-tokens" in str(caught.value)


def test_an_address_that_no_node_could_use_is_refused(tmp_path: Path) -> None:
    from crossbandit.service import Node, open_store

    for url in ("shop.example.org", "ftp://shop:1", "http://", "http://shop:x", "http://shop?a=1"):
        with pytest.raises(InvalidParameterError, match="--url must be an addr"):
            serve(url=url, port=0)
        with pytest.raises(InvalidParameterError, match="'url' parameter of Node must be an addr"):
            Node(open_store(tmp_path / "s.db"), url=url)


def test_a_bad_file_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "bad.toml"
    file.write_text("[bidders.shop]\nvalue_range = [0, 10]\nbids = 'x'")
    with pytest.raises(InvalidParameterError, match=r"table \[bidders.shop\], key 'bids'"):
        serve(bidders=file, port=0)
    assert list(tmp_path.iterdir()) == [file]  # nothing was begun


def test_a_port_in_use_is_explained() -> None:
    with bound_socket("127.0.0.1", 0) as first:
        first.listen()
        port = first.getsockname()[1]
        with pytest.raises(InvalidParameterError, match=f"127.0.0.1, port {port}: Address already"):
            bound_socket("127.0.0.1", port)
    with pytest.raises(InvalidParameterError, match="Cannot listen on no such host"):
        bound_socket("no such host", 0)


def test_keys(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_bytes(b"secret\n")
    assert read_key(file, {"CROSSBANDIT_KEY": "other"}) == b"secret"
    assert read_key(None, {"CROSSBANDIT_KEY": "other"}) == b"other"
    assert read_key(None, {}) is None
    file.write_bytes(b"\n")
    with pytest.raises(InvalidParameterError, match="from 1 to 64 bytes"):
        read_key(file, {})
    with pytest.raises(InvalidParameterError, match="cannot be read: No such file"):
        read_key(tmp_path / "none", {})


def test_a_bidder_keeps_the_settings_it_learned_with(tmp_path: Path) -> None:
    from crossbandit.service import BidderSettings, Node, open_store

    node = Node(open_store(tmp_path / "s.db"))
    node.start()
    first = {"a": BidderSettings(value_range=(0, 10), bids=11)}
    assert add_bidders(node, first) == ["a"]
    assert add_bidders(node, first) == []
    with pytest.raises(InvalidParameterError, match="'a' is in the store with another 'bids': 11"):
        add_bidders(node, {"a": BidderSettings(value_range=(0, 10), bids=12)})
    node.close()


def test_two_nodes_may_start_with_the_same_file_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from crossbandit.service import BidderSettings, Node, open_store

    wanted = {"a": BidderSettings(value_range=(0, 10), bids=11)}
    node = Node(open_store(tmp_path / "s.db"))
    node.start()
    add_bidders(node, wanted)
    monkeypatch.setattr(node, "names", list)  # as it was just before
    assert add_bidders(node, wanted) == []
    node.close()


def test_limits_of_the_store_hold_unless_those_of_the_file_are_asked_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from crossbandit.service import BidderSettings, BudgetSettings, Node, open_store

    def wanted(amount: float) -> dict[str, BidderSettings]:
        budget = BudgetSettings(amount, per="day")
        return {"a": BidderSettings(value_range=(0, 10), bids=11, budget=budget)}

    node = Node(open_store(tmp_path / "s.db"))
    node.start()
    add_bidders(node, wanted(50.0))
    assert not caplog.text
    add_bidders(node, wanted(70.0))
    assert node.settings("a") == wanted(50.0)["a"]
    assert "start with --limits-from-file" in caplog.text
    add_bidders(node, wanted(70.0), limits_from_file=True)
    assert node.settings("a") == wanted(70.0)["a"]
    assert "The budget of the bidder 'a' is now" in caplog.text
    node.close()


def test_addresses() -> None:
    assert [is_loopback(one) for one in ("127.8.0.1", "::1", "localhost")] == [True] * 3
    others = ("localhost.example.org", "127.example.org", "10.0.0.1", "::", "")
    assert not any(map(is_loopback, others))
    assert default_url("127.0.0.1", 80) == "http://127.0.0.1:80"
    assert default_url("::", 80) == f"http://{socket.gethostname()}:80"


def test_the_demonstration(tmp_path: Path) -> None:
    with serving(tmp_path, "--demo") as (url, process), closing(Transport(url)) as transport:
        names = transport.request("GET", "/v1/bidders").json()["bidders"]
        assert len(names) > 3
        path = f"/v1/bidders/{names[0]}/figures"
        eventually(lambda: transport.request("GET", path).json()["won"] > 0)
        assert b"<html" in transport.request("GET", "/").content
        assert list(tmp_path.iterdir()) == []  # nothing is kept
        transport.close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_the_example_and_what_it_answers(tmp_path: Path) -> None:
    with serving(tmp_path) as (url, process):
        with closing(Transport(url)) as transport:
            assert transport.request("GET", "/openapi.json").json()["openapi"] == "3.1.0"
            path = "/v1/bidders/example/decide"
            assert transport.request("POST", path, {"value": 8.0}).json()["token"]
        assert (tmp_path / "crossbandit.db").exists()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


REQUEST = b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@pytest.mark.parametrize("sent", [b"", 3 * REQUEST], ids=["idle", "not reading"])
def test_thousands_of_clients_that_do_nothing_keep_nobody_out(tmp_path: Path, sent: bytes) -> None:
    count = 2_600
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count + 200:
        if hard < count + 200:
            pytest.skip(f"This process may open {hard} files only.")
        resource.setrlimit(resource.RLIMIT_NOFILE, (count + 200, hard))
    with serving(tmp_path) as (url, _), ExitStack() as stack:
        host, port = url.removeprefix("http://").split(":")
        for _ in range(count):
            made = stack.enter_context(socket.socket())
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            made.settimeout(30)
            made.connect((host, int(port)))
            with suppress(ConnectionError):
                made.sendall(sent)
        with closing(Transport(url, timeout=20.0)) as transport:
            assert transport.request("GET", "/healthz").json() == {"status": "ok"}
        with closing(Transport(url, timeout=20.0)) as transport:
            path = "/v1/bidders/example/decide"
            eventually(lambda: transport.request("POST", path, {"value": 5.0}).status == 200)
