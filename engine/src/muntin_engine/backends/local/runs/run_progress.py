"""The progress of a run: how much is done, how long the rest takes, and a line that says so to whoever waits for it."""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from time import monotonic
from types import TracebackType
from typing import Any, Final, Self

PROGRESS: Final = "MUNTIN_PROGRESS"
"""The environment variable that hides the line if it is `off`."""

_HIDDEN_SECONDS: Final = 2.0
"""The seconds after which a run shows its progress: most runs are over before."""

_REFRESH_SECONDS: Final = 0.25

_MINUTE: Final = 60


class Stage:
    """A part of a run, in which things of one kind are done one after the other.

    Attributes:
        words: The words for the things that are done.
        total: The number of things; None if it is not known.
        done: The number of things that are done.
    """

    def __init__(self, words: str, total: int | None) -> None:
        """Begin the stage.

        Args:
            words: The words for the things that are done, such as `rows read`.
            total: The number of things; None if it is not known.
        """
        self.words = words
        self.total = total
        self.done = 0
        self._start = monotonic()

    def add(self, number: int) -> None:
        """Count things that are done."""
        self.done += number

    @property
    def seconds_left(self) -> float | None:
        """The seconds that the rest takes at the speed so far; None if the rest or the speed is not known."""
        if self.total is None or not self.done:
            return None
        return (monotonic() - self._start) / self.done * max(self.total - self.done, 0)

    @property
    def expected_seconds(self) -> float:
        """The seconds that the rest is expected to take, by which a run decides whether workers pay off."""
        seconds = self.seconds_left
        if seconds is not None:
            return seconds
        if self.total is None:
            return monotonic() - self._start  # where nothing is known of the rest, it is taken for half of the stage
        return 0.0  # nothing is done yet, so the speed is not known

    def describe(self) -> str:
        """Say how much is done.

        Example:
            >>> stage = Stage("rows read", 50_000_000)
            >>> stage.add(1_000_000)
            >>> stage.describe().split(",  ")[0]
            '1,000,000 of 50,000,000 rows read'
        """
        if self.total is None:
            return f"{self.done:,} {self.words}"
        amount = f"{self.done:,} of {self.total:,} {self.words}"
        seconds = self.seconds_left
        return amount if seconds is None else f"{amount},  {_spelled_seconds(seconds)} left"


def _spelled_seconds(seconds: float) -> str:
    """Spell seconds as a clock does.

    Example:
        >>> _spelled_seconds(8.2), _spelled_seconds(75)
        ('8 s', '1:15 min')
    """
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    return f"{whole // _MINUTE}:{whole % _MINUTE:02} min"


class ProgressLine(ABC):
    """A place where a line of text is shown."""

    @abstractmethod
    def show(self, text: str) -> None:
        """Show a line in the place of the one before."""

    @abstractmethod
    def clear(self) -> None:
        """Take the line away."""


class NoLine(ProgressLine):
    """Shows nothing, as nobody looks."""

    def show(self, text: str) -> None:
        """Show nothing."""

    def clear(self) -> None:
        """There is nothing to take away."""


class TerminalLine(ProgressLine):
    """The last line of a terminal."""

    def show(self, text: str) -> None:
        """Write over the line."""
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()

    def clear(self) -> None:
        """Empty the line."""
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


class NotebookLine(ProgressLine):
    """A line under the cell of a notebook that runs."""

    def __init__(self, display: Any) -> None:
        """Begin without a line.

        Args:
            display: The function of IPython that shows an object, and returns a handle that can change it.
        """
        self._display = display
        self._handle: Any = None

    def show(self, text: str) -> None:
        """Change the line."""
        shown = {"text/plain": text}
        if self._handle is None:
            self._handle = self._display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)

    def clear(self) -> None:
        """Empty the line."""
        if self._handle is not None:
            self._handle.update({"text/plain": ""}, raw=True)


def progress_line() -> ProgressLine:
    """Return the place where a user can see the progress of a run: a notebook, a terminal, or no place at all."""
    if os.environ.get(PROGRESS, "").casefold() == "off":
        return NoLine()
    # Not imported: in a notebook both packages have been imported, and elsewhere they need not be installed.
    ipython: Any = sys.modules.get("IPython")
    if "ipykernel" in sys.modules and ipython is not None and ipython.get_ipython() is not None:
        return NotebookLine(ipython.display.display)
    if sys.stderr is not None and sys.stderr.isatty():
        return TerminalLine()
    return NoLine()


class RunProgress:
    """Shows how far a run is, once it takes longer than a moment, until it ends."""

    def __init__(self, line: ProgressLine | None = None) -> None:
        """Begin a run.

        Args:
            line: The place where its progress is shown; None for the place that `progress_line` finds.
        """
        self._line = progress_line() if line is None else line
        self._stage: Stage | None = None
        self._next_refresh = monotonic() + _HIDDEN_SECONDS
        self._is_shown = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._is_shown:
            self._line.clear()

    def begin(self, words: str, total: int | None) -> Stage:
        """Begin a stage, whose progress is shown from now on."""
        self._stage = Stage(words, total)
        return self._stage

    def refresh(self) -> None:
        """Show how far the stage is, unless it was shown a moment ago or the run has only begun."""
        now = monotonic()
        if self._stage is None or now < self._next_refresh:
            return
        self._next_refresh = now + _REFRESH_SECONDS
        self._is_shown = True
        self._line.show(f"muntin: {self._stage.describe()}")
