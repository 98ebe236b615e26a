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
    """The clock of all progress, at 0 seconds."""
    test_clock = Clock()
    monkeypatch.setattr(run_progress, "monotonic", test_clock)
    return test_clock


class NotedLine(ProgressLine):
    """A line that keeps what it has shown, with an empty text where it was cleared."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def show(self, text: str) -> None:
        self.shown.append(text)

    def clear(self) -> None:
        self.shown.append("")


def test_a_run_of_less_than_two_seconds_shows_nothing(clock: Clock) -> None:
    line = NotedLine()
    with RunProgress(line) as progress:
        progress.begin("rows read", 10).add(5)
        clock.now = 1.9
        progress.refresh()
    assert line.shown == []


def test_a_longer_run_shows_what_is_done_and_what_is_left(clock: Clock) -> None:
    line = NotedLine()
    with RunProgress(line) as progress:
        stage = progress.begin("rows read", 4_000)
        stage.add(1_000)
        clock.now = 2.5
        progress.refresh()
        progress.refresh()  # at the same time: the line stays
        clock.now = 50
        progress.begin("rows read", None).add(7)  # of nobody knows how many
        progress.refresh()
    # A quarter took 2.5 seconds; the end clears the line.
    assert line.shown == ["muntin: 1,000 of 4,000 rows read,  8 s left", "muntin: 7 rows read", ""]


def test_the_time_that_is_left_follows_from_the_speed(clock: Clock) -> None:
    stage = Stage("rows read", 100)
    assert stage.expected_seconds == 0
    stage.add(25)
    clock.now = 10
    assert stage.expected_seconds == 30


def test_a_stage_of_unknown_length_is_expected_to_take_as_long_again(clock: Clock) -> None:
    stage = Stage("rows read", None)
    clock.now = 4
    assert stage.seconds_left is None
    assert stage.expected_seconds == 4


def test_without_a_terminal_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(progress_line(), NoLine)
    monkeypatch.setattr(sys, "stderr", None)  # as in a program without a console
    assert isinstance(progress_line(), NoLine)


@pytest.fixture
def displayed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a notebook displays, in which the test seems to run."""
    displayed_data: list[Any] = []

    def display(data: Any, **options: Any) -> Any:
        displayed_data.append(data)
        return SimpleNamespace(update=lambda data, **options: displayed_data.append(data))

    ipython = SimpleNamespace(get_ipython=object, display=SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "ipykernel", SimpleNamespace())
    return displayed_data


def test_a_notebook_shows_a_line_under_its_cell(displayed: list[Any]) -> None:
    line = progress_line()
    assert isinstance(line, NotebookLine)
    line.show("a")
    line.show("b")
    line.clear()
    assert [data["text/plain"] for data in displayed] == ["a", "b", ""]


@pytest.mark.usefixtures("displayed")
def test_a_notebook_shows_no_line_if_a_setting_says_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUNTIN_PROGRESS", "off")
    assert isinstance(progress_line(), NoLine)


SLOW_QUERY = """
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


def terminal_text_of_slow_query(setting: str) -> str:
    """Run the slow query with a terminal for its errors, and return what the terminal was sent."""
    import pty

    reader, terminal = pty.openpty()
    environment = {**os.environ, "MUNTIN_PROGRESS": setting}
    command = [sys.executable, "-c", SLOW_QUERY]
    process = subprocess.run(command, stdout=subprocess.PIPE, stderr=terminal, text=True, env=environment, check=True)
    assert process.stdout == "20\n"

    os.close(terminal)
    os.set_blocking(reader, False)
    try:
        return os.read(reader, 100_000).decode()
    except OSError:  # nothing was sent
        return ""
    finally:
        os.close(reader)


@pytest.mark.skipif(os.name == "nt", reason="there are no pseudo-terminals")
def test_a_terminal_shows_a_line_and_clears_it_at_the_end() -> None:
    clears_line = "\r\x1b[K"
    terminal_text = terminal_text_of_slow_query("on")
    assert "16 parts of the keys evaluated" in terminal_text
    assert terminal_text.endswith(clears_line)


@pytest.mark.skipif(os.name == "nt", reason="there are no pseudo-terminals")
def test_a_terminal_shows_no_line_if_a_setting_says_off() -> None:
    assert "evaluated" not in terminal_text_of_slow_query("off")
