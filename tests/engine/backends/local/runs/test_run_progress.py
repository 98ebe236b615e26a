"""The progress of a run: shown after a moment, where somebody looks, and taken away at the end."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from muntin_engine.backends.local.runs import run_progress
from muntin_engine.backends.local.runs.run_progress import (
    NoLine,
    NotebookLine,
    ProgressLine,
    RunProgress,
    Stage,
    progress_line,
)


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    test_clock = Clock()
    monkeypatch.setattr(run_progress, "monotonic", test_clock)
    return test_clock


class Lines(ProgressLine):
    def __init__(self) -> None:
        self.shown: list[str] = []

    def show(self, text: str) -> None:
        self.shown.append(text)

    def clear(self) -> None:
        self.shown.append("")


def test_a_run_of_a_moment_shows_nothing(clock: Clock) -> None:
    lines = Lines()
    with RunProgress(lines) as progress:
        progress.begin("rows read", 10).add(5)
        clock.now = 1.9
        progress.refresh()
    assert lines.shown == []


def test_a_longer_run_shows_what_is_done_and_what_is_left(clock: Clock) -> None:
    lines = Lines()
    with RunProgress(lines) as progress:
        stage = progress.begin("rows read", 4_000)
        stage.add(1_000)
        clock.now = 2.5
        progress.refresh()
        progress.refresh()  # a moment later: the line stays
        clock.now = 50
        progress.begin("rows read", None).add(7)
        progress.refresh()
    assert lines.shown == ["muntin: 1,000 of 4,000 rows read,  8 s left", "muntin: 7 rows read", ""]


def test_the_time_that_is_left_follows_from_the_speed(clock: Clock) -> None:
    stage = Stage("rows read", 100)
    assert stage.expected_seconds == 0
    stage.add(25)
    clock.now = 10
    assert stage.expected_seconds == 30
    unknown = Stage("rows read", None)
    clock.now = 14
    assert (unknown.seconds_left, unknown.expected_seconds) == (None, 4)


def test_without_a_terminal_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(progress_line(), NoLine)
    monkeypatch.setattr(sys, "stderr", None)  # of a program with windows
    assert isinstance(progress_line(), NoLine)


def test_a_notebook_shows_a_line_under_its_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []

    def display(data: Any, **options: Any) -> Any:
        shown.append(data)
        return SimpleNamespace(update=lambda data, **options: shown.append(data))

    ipython = SimpleNamespace(get_ipython=object, display=SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "ipykernel", SimpleNamespace())
    line = progress_line()
    assert isinstance(line, NotebookLine)
    line.show("a")
    line.show("b")
    line.clear()
    assert [data["text/plain"] for data in shown] == ["a", "b", ""]
    monkeypatch.setenv("MUNTIN_PROGRESS", "off")
    assert isinstance(progress_line(), NoLine)


SCRIPT = """
import time
import pyarrow as pa
from muntin import tumbling
from muntin_engine import events, module
from muntin_engine.backends.local.runs import run_progress
run_progress._HIDDEN_SECONDS = 0
def slow(values: list[int]) -> int:
    time.sleep(0.05)
    return 0
frame = pa.table({"k": list(range(20)), "at": list(range(20))})
query = events(frame, key="k", at="at").window(tumbling(10)).aggregate(n=module(slow, "at"))
print(query.results(workers=1).num_rows)
"""


@pytest.mark.skipif(os.name == "nt", reason="there are no pseudo-terminals")
@pytest.mark.parametrize("setting", ["on", "off"])
def test_a_terminal_shows_a_line_unless_a_setting_says_off(setting: str) -> None:
    import pty

    reader, terminal = pty.openpty()
    environment = {**os.environ, "MUNTIN_PROGRESS": setting}
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=terminal, text=True, env=environment, check=True)
    os.close(terminal)
    os.set_blocking(reader, False)
    try:
        terminal_text = os.read(reader, 100_000).decode()
    except OSError:
        terminal_text = ""
    os.close(reader)
    assert done.stdout == "20\n"
    assert ("16 parts of the keys evaluated" in terminal_text) == (setting == "on")
    if setting == "on":
        assert terminal_text.endswith("\r\x1b[K")
