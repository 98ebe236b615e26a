"""A line that says what a command is doing, once that takes longer than a moment."""

from __future__ import annotations

import os
import shutil
import sys
from threading import Event, Thread
from time import monotonic
from types import TracebackType
from typing import Final, Self

VARIABLE: Final = "MUNTIN_PROGRESS"
"""The environment variable that hides the line if it is `off`, as it does for queries in this process."""

_HIDDEN_SECONDS: Final = 2.0
_REFRESH_SECONDS: Final = 0.25


class WaitingLine:
    """Shows what a command is doing, and for how many seconds, once the block takes longer than two.

    The line is the last one of the terminal that the standard error goes to, and is taken away when the block ends.
    Where the standard error is no terminal, nothing is shown.
    """

    def __init__(self, words: str) -> None:
        """Take the words for what is done, such as `loading plugins`."""
        self._words = words
        self._is_over = Event()
        self._thread: Thread | None = None

    def say(self, words: str) -> None:
        """Change the words."""
        self._words = words

    def __enter__(self) -> Self:
        if _is_watched():
            self._thread = Thread(target=self._show, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._thread is not None:
            self._is_over.set()
            self._thread.join()

    def _show(self) -> None:
        """Show the line until the block is over; it runs in a thread of its own, as that of the block is busy."""
        start = monotonic()
        if self._is_over.wait(_HIDDEN_SECONDS):
            return
        while True:
            line = f"muntin: {self._words}, {monotonic() - start:.0f} s"
            # A line that the terminal breaks in two would not be written over.
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write(f"\r\x1b[K{line[:width]}")  # back to the start of the line, and erase it
            sys.stderr.flush()
            if self._is_over.wait(_REFRESH_SECONDS):
                break
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def _is_watched() -> bool:
    """Return True if the standard error is a terminal, and the line is not switched off."""
    is_hidden = os.environ.get(VARIABLE, "").casefold() == "off"
    return not is_hidden and sys.stderr.isatty()
