"""Watching a query while it runs, in the program that runs it."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from muntin.errors import QueryError
from muntin_engine.monitoring.recent_batches import Watched
from muntin_engine.needed import required_module

if TYPE_CHECKING:
    from rich.live import Live

_LONGEST_PAUSE: Final = 0.1
"""The longest time in seconds until Ctrl-C is noticed."""


def monitor(query: Watched, *, refresh: float = 1.0) -> None:
    """Show the metrics of a streaming query in the terminal until it ends.

    It shows the metrics of the last micro-batch, their sums over the micro-batches that Spark keeps, and what holds the
    results back. It needs rich, which `muntin` brings, as does the extra `monitor` of `muntin-engine`.

    Ctrl-C ends the watching and never the query. A query that fails is shown as failed; `query.awaitTermination()`
    then raises its error.

    Args:
        query: A `StreamingQuery` that contains one Muntin query or several.
        refresh: The seconds to wait between looks.

    Raises:
        QueryError: The object to watch is not a streaming query.
        SetupError: rich is not installed.
        ValueError: The time between looks is not above zero.
    """
    query_class: Any = type(query)
    if not (hasattr(query_class, "isActive") and hasattr(query_class, "recentProgress")):
        raise QueryError(
            f"monitor() watches a streaming query, got {query_class.__name__}\n"
            "  expected: what query.write(...) or .writeStream.start() returns"
        )
    if not refresh > 0:
        raise ValueError(f"refresh must be a number of seconds above zero, got {refresh!r}")
    rich_live: Any = required_module("rich.live", feature="monitor()", extra="monitor")
    watch_on(query, rich_live.Live(auto_refresh=False), refresh)


def watch_on(query: Watched, live: Live, refresh: float, pause: Callable[[float], None] = time.sleep) -> None:
    """Show a query until it ends or Ctrl-C is pressed; the last picture stays.

    Args:
        query: The query.
        live: The display.
        refresh: The seconds to wait between looks.
        pause: A function that waits for a number of seconds.
    """
    from muntin_engine.monitoring.terminal_panels import picture_of  # it imports rich, which is an extra

    with noticing_interrupts() as is_interrupted, live:
        is_active = True
        while is_active and not is_interrupted():
            is_active = query.isActive  # asked first, so that the last micro-batch is in the last picture
            live.update(picture_of(query, is_active=is_active), refresh=True)
            # Wait in short pauses, after each of which Ctrl-C is noticed.
            seconds_waited = 0.0
            while is_active and seconds_waited < refresh and not is_interrupted():
                pause(min(_LONGEST_PAUSE, refresh - seconds_waited))
                seconds_waited += _LONGEST_PAUSE


@contextmanager
def noticing_interrupts() -> Iterator[Callable[[], bool]]:
    """Keep Ctrl-C from raising an exception in the block; yield a function that says whether it was pressed.

    On Ctrl-C PySpark itself would cancel every task of the session, and so the queries. And an exception during a call
    of the JVM would leave the answer to be read by the next call. Outside the main thread nothing is changed.
    """
    was_pressed = False

    def notice(_number: int, _frame: FrameType | None) -> None:
        """Remember that Ctrl-C was pressed, as the handler of its signal."""
        nonlocal was_pressed
        was_pressed = True

    if threading.current_thread() is not threading.main_thread():
        yield lambda: was_pressed  # Python sets handlers of signals only in the main thread
        return
    previous_handler = signal.signal(signal.SIGINT, notice)
    try:
        yield lambda: was_pressed
    finally:
        signal.signal(signal.SIGINT, previous_handler)
