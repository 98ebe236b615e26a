"""The page of a story that goes on, served to this machine alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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


@dataclass(frozen=True)
class _StoryVersion:
    """A story as it was at some version.

    Attributes:
        version: The version; it differs once the story has gone on.
        story: The story.
        data: Its packed data, as JSON.
    """

    version: Hashable
    story: Story
    data: bytes


class _ServedStory:
    """A story and its packed data, read anew when its version has changed."""

    def __init__(self, read: Callable[[], Story], read_version: Callable[[], Hashable]) -> None:
        self._read = read
        self._read_version = read_version
        self._lock = Lock()
        self._last: _StoryVersion | None = None

    def current(self) -> _StoryVersion:
        """Return the story as it is now; it is read only if its version has changed."""
        with self._lock:  # requests come in threads of their own
            version = self._read_version()
            if self._last is None or self._last.version != version:
                story = self._read()
                self._last = _StoryVersion(version, story, json.dumps(packed(story), allow_nan=False).encode())
            return self._last


@contextmanager
def served_page(read: Callable[[], Story], read_version: Callable[[], Hashable]) -> Iterator[str]:
    """Serve the page of a story while the block runs, and yield its address.

    The page asks every two seconds whether the story has gone on. Requests that name another host than this machine
    are refused, so that no page of another site reads a recording.

    Args:
        read: Function that reads the present story.
        read_version: Function that returns another value when the story has gone on; it is read again only then.
    """
    served_story = _ServedStory(read, read_version)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Answer with the page or the data of the story, to requests that name this machine as their host."""
            port = self.server.server_port  # type: ignore[attr-defined]  # it is a ThreadingHTTPServer
            if self.headers.get("Host") not in (f"{_HOST}:{port}", f"localhost:{port}"):
                self.send_error(HTTPStatus.FORBIDDEN, "This page is for this machine alone")
            elif self.path not in ("/", "/story"):
                self.send_error(HTTPStatus.NOT_FOUND)
            else:
                self._answer_story()

        def _answer_story(self) -> None:
            """Answer with the page or the data of the story; with the text of the error if it cannot be read now."""
            try:
                current = served_story.current()
            except (MuntinError, OSError) as error:
                self._answer(str(error).encode(), "text/plain; charset=utf-8", HTTPStatus.SERVICE_UNAVAILABLE)
                return
            if self.path == "/":
                self._answer(page_of(current.story, live=True).encode(), "text/html; charset=utf-8")
            else:
                self._answer(current.data, "application/json")

        def _answer(self, body: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK) -> None:
            """Send a body, or only that the browser's copy of it is still right."""
            version = f'"{sha256(body).hexdigest()[:32]}"'
            is_unchanged = self.headers.get("If-None-Match") == version
            self.send_response(HTTPStatus.NOT_MODIFIED if is_unchanged else status)
            self.send_header("ETag", version)  # the script of the page remembers it
            self.send_header(
                "Cache-Control", "no-store"
            )  # no recording stays in the browser when the command has ended
            if not is_unchanged:
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if not is_unchanged:
                self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Log no requests: the terminal belongs to the command."""

    with ThreadingHTTPServer((_HOST, 0), Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://{_HOST}:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()
