"""Ctrl-C while a query is watched."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


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
