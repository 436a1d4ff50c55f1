"""`crossbandit serve`: bidders over HTTP."""

from __future__ import annotations

import logging
import os
import signal
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crossbandit.cli.terminal import notify, say, takes_options
from crossbandit.errors import CrossbanditError, InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from crossbandit.service import BidderSettings, Node
    from crossbandit.service.http.access import AccessToken

_STORE = "crossbandit.db"
_log = logging.getLogger("crossbandit.service")


class LogLevel(StrEnum):
    """The lowest level of the lines of the log."""

    debug = "debug"
    info = "info"
    warning = "warning"
    error = "error"


class LineFormat(StrEnum):
    """The form of the lines of the log."""

    text = "text"
    json = "json"


@dataclass(frozen=True)
class PlaceOptions:
    """Which bidders are served, and where."""

    bidders: Annotated[
        Path | None,
        typer.Argument(
            metavar="BIDDERS.toml",
            help="File that describes bidders. Without a file, those in the store are served; an "
            "empty store gets an example.",
        ),
    ] = None
    store: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|postgresql://...",
            help="Where to store the bidders and their logs. \\[default: "
            f"{_STORE}; with --demo, a temporary file]",
        ),
    ] = None
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1"
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 for any free port.")
    ] = 8000
    url: Annotated[
        str | None,
        typer.Option(
            help="Address at which other nodes reach this one. \\[default: host and port]"
        ),
    ] = None


@dataclass(frozen=True)
class AccessOptions:
    """Who may do what."""

    key_file: Annotated[
        Path | None,
        typer.Option(
            help="File with the key that signs decisions. "
            "\\[default: the variable CROSSBANDIT_KEY, or a key that the store keeps]"
        ),
    ] = None
    tokens_file: Annotated[
        Path | None,
        typer.Option(
            help="File with access tokens and roles. \\[default: the variable CROSSBANDIT_TOKENS]"
        ),
    ] = None
    without_tokens: Annotated[
        bool,
        typer.Option(
            "--without-tokens", help="Allow everything to everybody who can reach --host."
        ),
    ] = False


@dataclass(frozen=True)
class RequestLogOptions:
    """How the log is written."""

    log_level: Annotated[
        LogLevel, typer.Option(help="What to log. Requests are logged from info on.")
    ] = LogLevel.warning
    log_format: Annotated[
        LineFormat, typer.Option(help="How to write the log to the standard error.")
    ] = LineFormat.text


@takes_options
def serve(
    place: PlaceOptions,
    *,
    demo: Annotated[
        bool, typer.Option("--demo", help="Add five bidders that take part in simulated auctions.")
    ] = False,
    access: AccessOptions,
    limits_from_file: Annotated[
        bool,
        typer.Option(
            "--limits-from-file",
            help="Change budgets and targets in the store to those of the file.",
        ),
    ] = False,
    rate: Annotated[
        float, typer.Option(min=1, help="Requests per second that each access token may send.")
    ] = 20_000.0,
    log: RequestLogOptions,
) -> None:
    """Serve bidders over HTTP, with a page that shows them live."""
    from crossbandit.service import Node, open_store
    from crossbandit.service.client.client import address_parts
    from crossbandit.service.http import Access
    from crossbandit.service.log_lines import begin_log
    from crossbandit.service.serving import bound_socket, default_url, read_key
    from crossbandit.service.serving import serve as serve_node
    from crossbandit.service.settings import read_bidders

    if place.url is not None:
        address_parts("serve", place.url)
    wanted = {} if place.bidders is None else read_bidders(place.bidders)
    begin_log(log.log_level, log.log_format)  # before a warning about a file with secrets
    tell = notify if log.log_format == LineFormat.text else _log.info  # so that every line is JSON
    with _errors(log.log_format), ExitStack() as stack:
        tokens = _tokens(access, place.host)
        key = read_key(access.key_file, os.environ)
        listening = stack.enter_context(bound_socket(place.host, place.port))
        store = place.store or _STORE
        if demo and place.store is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="crossbandit-demo-"))
            store = str(Path(folder) / _STORE)
        address = place.url or default_url(place.host, listening.getsockname()[1])
        node = Node(open_store(store), key=key, url=address)
        stack.callback(node.close)
        node.start()
        _add_bidders(stack, node, wanted, demo=demo, limits_from_file=limits_from_file)

        def begun() -> None:
            _say_where(node, address, store, demo=demo)
            tell("Stop with Ctrl-C.")

        ended_by = serve_node(node, listening, access=Access(tokens, rate=rate), begun=begun)
    if ended_by == signal.SIGINT:
        raise KeyboardInterrupt
    tell("Stopped.")


@contextmanager
def _errors(form: LineFormat) -> Iterator[None]:
    """Log an error that ends the command, if every line is JSON."""
    try:
        yield
    except CrossbanditError as error:
        if form == LineFormat.text:
            raise
        _log.error("%s", error)
        raise SystemExit(2) from None


def _tokens(access: AccessOptions, host: str) -> list[AccessToken]:
    """Return the access tokens; raise if there are none and other machines can connect."""
    from crossbandit.service.http import read_tokens
    from crossbandit.service.serving import is_loopback

    tokens = read_tokens(access.tokens_file, os.environ)
    if not tokens and not is_loopback(host) and not access.without_tokens:
        raise InvalidParameterError(
            f"Other machines can reach the service on {host}. Give access tokens with "
            "--tokens-file, or use --without-tokens to allow everything to everybody."
        )
    return tokens


def _add_bidders(
    stack: ExitStack,
    node: Node,
    wanted: Mapping[str, BidderSettings],
    *,
    demo: bool,
    limits_from_file: bool,
) -> None:
    """Add the bidders of the file, those of the demonstration, or an example."""
    from crossbandit.service.settings import EXAMPLE, add_bidders

    add_bidders(node, wanted, limits_from_file=limits_from_file)
    if demo:
        from crossbandit.service.demo import play

        stack.callback(play(node))
    elif not node.names():
        add_bidders(node, EXAMPLE)


def _say_where(node: Node, address: str, store: str, *, demo: bool) -> None:
    if demo:
        say(f"Simulated auctions are running. Open {address}/")
    else:
        names = node.names()
        shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        say(f"Bidders: {shown}. Store: {store_name(store)}")
        say(f"Open {address}/ (operations: {address}/openapi.json)")


def store_name(store: str) -> str:
    """Return the address of a store without a password.

    >>> store_name("postgresql://shop:secret@db/bidders")
    'postgresql://shop@db/bidders'
    """
    from urllib.parse import urlsplit

    if "://" not in store:
        return store
    parts = urlsplit(store)
    user, _, where = parts.netloc.rpartition("@")
    name = user.partition(":")[0]
    return parts._replace(netloc=f"{name}@{where}" if name else where, query="").geturl()
