"""Progress where there is no terminal: lines for a file or a pipe."""

from __future__ import annotations

import time
from collections.abc import Callable


class ProgressLines:
    """Says how far each of several things is, in a line now and then, as long as it moves."""

    def __init__(
        self, write: Callable[[str], None], *, every: float = 10.0, now: Callable[[], float] = time.monotonic
    ) -> None:
        """Take where lines go.

        Args:
            write: Writes a line at once; nothing of it is kept back.
            every: How many seconds lie between two lines on the same thing, but for the last one.
            now: Says what time it is, in seconds.
        """
        self._write = write
        self._every = every
        self._now = now
        self._started = now()
        self._said: dict[str, tuple[float, int]] = {}

    def update(self, name: str, done: int, total: int, line: str) -> None:
        """Say how far a thing is, if that is due and has changed.

        Args:
            name: The thing.
            done: How many of its steps are done.
            total: How many there are.
            line: What else there is to say.
        """
        last, before = self._said.get(name, (self._started, 0))
        is_due = self._now() - last >= self._every or done == total
        if done == before or not is_due:
            return
        self._said[name] = (self._now(), done)
        self._write(f"{self._now() - self._started:6.0f} s  {name:<9} {done}/{total}  {line}")
