"""The page of a story that goes on, served to this machine alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Final

from muntin.errors import MuntinError
from muntin_cli.story_page.packing import packed
from muntin_cli.story_page.page import page_of

if TYPE_CHECKING:
    from muntin_engine.recording.story import Story

_HOST: Final = "127.0.0.1"


class _ServedStory:
    """A story and its packed data, told anew when it has gone on."""

    def __init__(self, tell: Callable[[], Story], version: Callable[[], Hashable]) -> None:
        self._tell = tell
        self._version = version
        self._lock = Lock()
        self._known: tuple[Hashable, Story, bytes] | None = None

    def now(self) -> tuple[Story, bytes]:
        with self._lock:
            version = self._version()
            if self._known is None or self._known[0] != version:
                story = self._tell()
                self._known = version, story, json.dumps(packed(story), allow_nan=False).encode()
            return self._known[1:]


@contextmanager
def served_page(tell: Callable[[], Story], version: Callable[[], Hashable]) -> Iterator[str]:
    """Serve the page of a story while the block runs, and yield its address.

    The page asks every two seconds whether the story has gone on. Requests that name another host than this machine
    are refused, so that no page of another site reads a recording.

    Args:
        tell: Tells the story as it is now.
        version: Returns another value when the story has gone on; it is told again only then.
    """
    told = _ServedStory(tell, version)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            port = self.server.server_port  # type: ignore[attr-defined]  # it is a ThreadingHTTPServer
            if self.headers.get("Host") not in (f"{_HOST}:{port}", f"localhost:{port}"):
                self.send_error(HTTPStatus.FORBIDDEN, "This page is for this machine alone")
            elif self.path not in ("/", "/story"):
                self.send_error(HTTPStatus.NOT_FOUND)
            else:
                self._tell()

        def _tell(self) -> None:
            try:
                story, data = told.now()
            except (MuntinError, OSError) as error:
                self._answer(str(error).encode(), "text/plain; charset=utf-8", HTTPStatus.SERVICE_UNAVAILABLE)
                return
            if self.path == "/":
                self._answer(page_of(story, live=True).encode(), "text/html; charset=utf-8")
            else:
                self._answer(data, "application/json")

        def _answer(self, body: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK) -> None:
            version = f'"{sha256(body).hexdigest()[:32]}"'
            is_known = self.headers.get("If-None-Match") == version
            self.send_response(HTTPStatus.NOT_MODIFIED if is_known else status)
            self.send_header("ETag", version)
            self.send_header("Cache-Control", "no-store")
            if not is_known:
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if not is_known:
                self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing: the terminal belongs to the command."""

    with ThreadingHTTPServer((_HOST, 0), Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://{_HOST}:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()
