"""Watching a query while it runs."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from types import FrameType
from typing import Any, Final, Protocol

from muntin.errors import QueryError
from muntin_engine.errors import SetupError
from muntin_engine.monitoring.history import Watch, Watched
from muntin_engine.monitoring.notebook import NotebookDisplay, is_notebook

_SLICE: Final = 0.1
"""For so many seconds at most Ctrl-C goes unanswered."""


class Display(Protocol):
    """The display of a watched query."""

    def show(self, watch: Watch) -> None:
        """Show the present status."""
        ...


def monitor(query: Watched, *, refresh: float = 1.0) -> None:
    """Show the metrics of a streaming query until it ends, in a terminal or in a notebook.

    Ctrl-C, or interrupting the notebook's kernel, ends the watching and never the query. A query that fails is shown
    as failed; `query.awaitTermination()` then raises its error.

    Args:
        query: A `StreamingQuery` that contains one Muntin query or several.
        refresh: The seconds to wait between looks.

    Raises:
        QueryError: The thing to watch is no streaming query.
        SetupError: In a terminal: rich is not installed.
        ValueError: The time between looks is not above zero.
    """
    given: Any = type(query)
    if not (hasattr(given, "isActive") and hasattr(given, "recentProgress")):
        raise QueryError(
            f"monitor() watches a streaming query, got {given.__name__}\n"
            "  expected: what query.write(...) or .writeStream.start() returns"
        )
    if not refresh > 0:
        raise ValueError(f"refresh must be a number of seconds above zero, got {refresh!r}")
    watch_on(Watch(query), _display(), refresh)


def watch_on(
    watch: Watch,
    display: AbstractContextManager[Display],
    refresh: float,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Show a watched query until it ends or Ctrl-C comes.

    Args:
        watch: The query.
        display: Where it is shown.
        refresh: Seconds between looks.
        pause: Waits for some seconds.
    """
    with noticing_interrupts() as is_interrupted, display as shown:
        while watch.look():
            shown.show(watch)
            waited = 0.0
            while waited < refresh and not is_interrupted():
                pause(min(_SLICE, refresh - waited))
                waited += _SLICE
            if is_interrupted():
                watch.leave()
                break
        shown.show(watch)


def _display() -> AbstractContextManager[Any]:
    if is_notebook():
        return NotebookDisplay()
    if find_spec("rich") is None:
        raise SetupError(
            "monitor() shows metrics with rich, which is not installed\n"
            "  install it: pip install 'muntin-engine[monitor]'"
        )
    from muntin_engine.monitoring.terminal import TerminalDisplay

    return TerminalDisplay()


@contextmanager
def noticing_interrupts() -> Iterator[Callable[[], bool]]:
    """Notice Ctrl-C and do nothing else about it; yield a function that says whether it came.

    PySpark's own answer to Ctrl-C cancels every task of the session, and so the queries; and an exception amidst a call
    of the JVM leaves its answer behind for the next call. Outside the main thread nothing is changed.
    """
    has_come = False

    def notice(_number: int, _frame: FrameType | None) -> None:
        nonlocal has_come
        has_come = True

    if threading.current_thread() is not threading.main_thread():
        yield lambda: has_come
        return
    before = signal.signal(signal.SIGINT, notice)
    try:
        yield lambda: has_come
    finally:
        signal.signal(signal.SIGINT, before)
