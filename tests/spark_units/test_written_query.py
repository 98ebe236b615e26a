"""A query that runs, when somebody presses Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest

from muntin_engine.spark.writing.write import free_name
from muntin_engine.spark.writing.written_query import WrittenQuery


class Running:
    """Stands for Spark's query in its JVM: it ends when it is stopped."""

    def __init__(self) -> None:
        self.stopped = threading.Event()
        self.waits_in_main = False

    def awaitTermination(self) -> None:
        self.waits_in_main = threading.current_thread() is threading.main_thread()
        os.kill(os.getpid(), signal.SIGINT)  # to the process, as Ctrl-C does: the main thread wakes up of it
        self.stopped.wait()

    def stop(self) -> None:
        self.stopped.set()


@pytest.mark.parametrize(
    ("running", "free"),
    [([], "daily"), ([None, "other"], "daily"), (["daily"], "daily (2)"), (["daily (2)", "daily"], "daily (3)")],
)
def test_a_query_without_a_name_gets_one_that_no_running_query_has(running: list[str | None], free: str) -> None:
    active = [SimpleNamespace(name=name) for name in running]
    assert free_name(cast(Any, SimpleNamespace(streams=SimpleNamespace(active=active))), "daily") == free


def test_an_interrupt_stops_the_query_and_ends_a_program_with_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spark's own handler calls the JVM, so the main thread must not be in such a call itself."""
    former: list[Any] = []
    monkeypatch.setattr(sys, "excepthook", lambda *told: former.append(told))
    running = Running()
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore interrupts
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            WrittenQuery(cast(Any, SimpleNamespace(_jsq=running))).awaitTermination()
    finally:
        signal.signal(signal.SIGINT, handler)
    assert running.stopped.is_set()
    assert not running.waits_in_main
    sys.excepthook(caught.type, caught.value, caught.tb)
    sys.excepthook(ValueError, ValueError("another"), None)
    assert capsys.readouterr().err == (
        "muntin: interrupted: the query has stopped, and goes on from its checkpoint when it is started again\n"
    )
    assert [told[0] for told in former] == [ValueError]


def test_what_waiting_raises_is_raised_where_it_is_waited_for() -> None:
    class Broken(Running):
        def awaitTermination(self) -> None:
            raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        WrittenQuery(cast(Any, SimpleNamespace(_jsq=Broken()))).awaitTermination()
