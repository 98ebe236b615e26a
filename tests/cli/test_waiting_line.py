"""The line that says what a command is doing."""

from __future__ import annotations

import io
import sys
from time import sleep

import pytest

from muntin_cli import waiting_line
from muntin_cli.waiting_line import WaitingLine


class Terminal(io.StringIO):
    """A terminal that keeps what is written."""

    def isatty(self) -> bool:
        return True


def watched(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Return the standard error, on which a command waits for a moment that is short enough for a test.

    It is no fixture: pytest sets the standard error between those and the test.
    """
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(waiting_line, "_HIDDEN_SECONDS", 0.02)
    monkeypatch.setattr(waiting_line, "_REFRESH_SECONDS", 0.02)
    monkeypatch.setenv("COLUMNS", "40")
    return terminal


def wait_for(text: str, terminal: Terminal) -> None:
    for _ in range(2000):
        if text in terminal.getvalue():
            return
        sleep(0.005)
    raise AssertionError(terminal.getvalue())


def test_a_terminal_shows_what_is_done_and_no_more_when_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch)
    with WaitingLine("loading plugins") as progress:
        wait_for("\r\x1b[Kmuntin: loading plugins, ", terminal)
        progress.say("trying laws")
        wait_for("\r\x1b[Kmuntin: trying laws, ", terminal)
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_a_line_is_cut_where_the_terminal_would_break_it(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch)
    with WaitingLine("x" * 100):
        wait_for("\r\x1b[Kmuntin: ", terminal)
    assert max(map(len, terminal.getvalue().split("\r\x1b[K"))) == 39


def test_what_is_over_in_a_moment_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch)
    monkeypatch.setattr(waiting_line, "_HIDDEN_SECONDS", 60)
    with WaitingLine("loading plugins"):
        pass
    assert not terminal.getvalue()


def test_a_file_and_those_who_want_no_line_get_none(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch)
    monkeypatch.setenv("MUNTIN_PROGRESS", "off")
    with WaitingLine("loading plugins"):
        sleep(0.05)
    monkeypatch.delenv("MUNTIN_PROGRESS")
    file = io.StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    with WaitingLine("loading plugins"):
        sleep(0.05)
    assert not terminal.getvalue()
    assert not file.getvalue()
