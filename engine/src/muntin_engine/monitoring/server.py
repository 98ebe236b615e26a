"""A small web server that tells what runs in a session: a page, and the same as JSON. It changes nothing."""

from __future__ import annotations

import hmac
import ipaddress
import json
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from threading import Thread
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from muntin.errors import QueryError

DATA: Final = "/queries.json"
_PAGE: Final = "watch.html"
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; frame-ancestors 'none'",
}


class WatchServer:
    """Serves a page until it is stopped; a context manager.

    Attributes:
        url: The address of the page, with the token if there is one.
    """

    def __init__(
        self, told: Callable[[], list[Any]], close: Callable[[], None], host: str, port: int, token: str | None
    ) -> None:
        """Begin to serve; see `serve`.

        Args:
            told: Returns what to tell, as plain data.
            close: Called when it is stopped.
            host: The address to listen at.
            port: The port; 0 for any that is free.
            token: The token that each request has to bring; None to ask for none.

        Raises:
            QueryError: It would be open to others without a token.
            OSError: The port is taken.
        """
        if not _is_loopback(host) and not token:
            raise QueryError(
                f"host={host!r} would show the queries to whoever reaches this machine\n"
                "  expected: the loopback address 127.0.0.1, or a token: serve(..., token=secrets.token_urlsafe())"
            )
        page = files("muntin_engine.monitoring").joinpath(_PAGE).read_bytes()
        self._close = close
        self._server = ThreadingHTTPServer((host, port), _handler(told, page, token, asks_host=_is_loopback(host)))
        self._server.daemon_threads = True
        at = f"[{host}]" if ":" in host else host
        self.url = f"http://{at}:{self._server.server_port}/" + (f"?token={token}" if token else "")
        self._thread = Thread(target=self._server.serve_forever, name="muntin serves what runs", daemon=True)
        self._thread.start()

    def __enter__(self) -> WatchServer:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._close()


def _handler(
    told: Callable[[], list[Any]], page: bytes, token: str | None, *, asks_host: bool
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answers GET and HEAD; `http.server` refuses all else."""

        server_version, sys_version = "muntin", ""

        def do_GET(self) -> None:
            self._answer(with_body=True)

        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def _answer(self, *, with_body: bool) -> None:
            path = urlsplit(self.path).path
            status, kind, body = HTTPStatus.OK, "text/html; charset=utf-8", page
            if not self._is_allowed():
                status, kind, body = HTTPStatus.FORBIDDEN, "text/plain", b"wrong token or host\n"
            elif path == DATA:
                try:
                    kind, body = "application/json", json.dumps(told(), default=str).encode()
                except Exception as error:  # the session has ended, say; the program goes on
                    status, kind, body = HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", f"{error}\n".encode()
            elif path != "/":
                status, kind, body = HTTPStatus.NOT_FOUND, "text/plain", b"there are / and /queries.json\n"
            self.send_response(status)
            for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **_HEADERS}.items():
                self.send_header(name, value)
            self.end_headers()
            if with_body:
                self.wfile.write(body)

        def _is_allowed(self) -> bool:
            # a page elsewhere whose name leads to this machine must not read it
            host = urlsplit(f"//{self.headers.get('Host', '')}").hostname or ""
            if asks_host and not _is_loopback(host):
                return False
            (given,) = parse_qs(urlsplit(self.path).query).get("token", [""])[:1]
            given = self.headers.get("Authorization", "").removeprefix("Bearer ") or given
            return token is None or hmac.compare_digest(given.encode(), token.encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing."""

    return Handler


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
