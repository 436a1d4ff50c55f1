"""`crossbandit serve`: bidders over HTTP."""

from __future__ import annotations

import logging
import os
import signal
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from crossbandit.cli.terminal import Within, notify, say, takes_options
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


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """Options.

    Attributes:
        bidders (BIDDERS.toml): File that describes bidders. Without a file, those in the store are
            served; an empty store gets an example.
        store (FILE|postgresql://...): Where to store the bidders and their logs. [default:
            crossbandit.db; with --demo, a temporary file]
        host: Address to listen on.
        port: Port to listen on; 0 for any free port.
        url: Address at which other nodes reach this one. [default: host and port]
        demo: Add five bidders that take part in simulated auctions.
        key_file: File with the key that signs decisions. [default: the variable CROSSBANDIT_KEY, or
            a key that the store keeps]
        tokens_file: File with access tokens and roles. [default: the variable CROSSBANDIT_TOKENS]
        without_tokens: Allow everything to everybody who can reach --host.
        limits_from_file: Change budgets and targets in the store to those of the file.
        rate: Requests per second that each access token may send.
        log_level: What to log. Requests are logged from info on.
        log_format: How to write the log to the standard error.
    """

    bidders: Path | None = field(default=None, kw_only=False)
    store: str | None = None
    host: str = "127.0.0.1"
    port: Annotated[int, Within(0, 65_535)] = 8000
    url: str | None = None
    demo: bool = False
    key_file: Path | None = None
    tokens_file: Path | None = None
    without_tokens: bool = False
    limits_from_file: bool = False
    rate: Annotated[float, Within(1)] = 20_000.0
    log_level: LogLevel = LogLevel.warning
    log_format: LineFormat = LineFormat.text


@takes_options
def serve(options: ServeOptions) -> None:
    """Serve bidders over HTTP, with a page that shows them live."""
    from crossbandit.service import Node, open_store
    from crossbandit.service.client.client import address_parts
    from crossbandit.service.http import Access
    from crossbandit.service.log_lines import begin_log
    from crossbandit.service.serving import bound_socket, default_url, read_key
    from crossbandit.service.serving import serve as serve_node
    from crossbandit.service.settings import read_bidders

    if options.url is not None:
        address_parts("serve", options.url)
    wanted = {} if options.bidders is None else read_bidders(options.bidders)
    begin_log(options.log_level, options.log_format)  # before a warning about a file with secrets
    tell = (
        notify if options.log_format == LineFormat.text else _log.info
    )  # so that every line is JSON
    with _errors(options.log_format), ExitStack() as stack:
        tokens = _tokens(options)
        key = read_key(options.key_file, os.environ)
        listening = stack.enter_context(bound_socket(options.host, options.port))
        store = options.store or _STORE
        if options.demo and options.store is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="crossbandit-demo-"))
            store = str(Path(folder) / _STORE)
        address = options.url or default_url(options.host, listening.getsockname()[1])
        node = Node(open_store(store), key=key, url=address)
        stack.callback(node.close)
        node.start()
        _add_bidders(stack, node, wanted, options)

        def begun() -> None:
            _say_where(node, address, store, demo=options.demo)
            tell("Stop with Ctrl-C.")

        ended_by = serve_node(
            node, listening, access=Access(tokens, rate=options.rate), begun=begun
        )
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


def _tokens(options: ServeOptions) -> list[AccessToken]:
    """Return the access tokens; raise if there are none and other machines can connect."""
    from crossbandit.service.http import read_tokens
    from crossbandit.service.serving import is_loopback

    tokens = read_tokens(options.tokens_file, os.environ)
    if not tokens and not is_loopback(options.host) and not options.without_tokens:
        raise InvalidParameterError(
            f"Other machines can reach the service on {options.host}. Give access tokens with "
            "--tokens-file, or use --without-tokens to allow everything to everybody."
        )
    return tokens


def _add_bidders(
    stack: ExitStack, node: Node, wanted: Mapping[str, BidderSettings], options: ServeOptions
) -> None:
    """Add the bidders of the file, those of the demonstration, or an example."""
    from crossbandit.service.settings import EXAMPLE, add_bidders

    add_bidders(node, wanted, limits_from_file=options.limits_from_file)
    if options.demo:
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
