"""The line that says what a command is doing."""

from __future__ import annotations

import io
import sys
from time import sleep

import pytest

from muntin_cli import waiting_line
from muntin_cli.waiting_line import WaitingLine

A_MOMENT = 0.02
"""The seconds that work takes before a line is shown, and from one renewal of the line to the next."""

LONG_ENOUGH = 0.05
"""The seconds of work after which a terminal would show a line."""


class Terminal(io.StringIO):
    """A terminal that keeps what is written."""

    def isatty(self) -> bool:
        return True


def terminal_as_errors(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Return the standard error as a terminal of 40 columns, where a line comes after a moment and is soon renewed.

    It is no fixture: pytest sets the standard error between those and the test.
    """
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(waiting_line, "_HIDDEN_SECONDS", A_MOMENT)
    monkeypatch.setattr(waiting_line, "_REFRESH_SECONDS", A_MOMENT)
    monkeypatch.setenv("COLUMNS", "40")
    return terminal


def wait_for(text: str, terminal: Terminal) -> None:
    """Wait until a text is written, at most for ten seconds."""
    for _ in range(2000):
        if text in terminal.getvalue():
            return
        sleep(0.005)
    raise AssertionError(terminal.getvalue())


ERASE = "\r\x1b[K"
"""What a terminal reads as: go back to the start of the line, and erase it."""


def test_a_terminal_shows_what_is_done_and_erases_it_when_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_as_errors(monkeypatch)
    with WaitingLine("loading plugins") as line:
        wait_for(f"{ERASE}muntin: loading plugins, ", terminal)
        line.say("trying laws")
        wait_for(f"{ERASE}muntin: trying laws, ", terminal)
    assert terminal.getvalue().endswith(ERASE)


def test_a_line_is_cut_where_the_terminal_would_break_it(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_as_errors(monkeypatch)
    with WaitingLine("x" * 100):
        wait_for(f"{ERASE}muntin: ", terminal)
    lines = terminal.getvalue().split(ERASE)
    assert max(map(len, lines)) == 39, "one less than the columns of the terminal"


def test_work_that_is_over_in_a_moment_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_as_errors(monkeypatch)
    monkeypatch.setattr(waiting_line, "_HIDDEN_SECONDS", 60)  # longer than any machine takes for it
    with WaitingLine("loading plugins"):
        pass
    assert not terminal.getvalue()


def test_a_user_who_wants_no_line_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_as_errors(monkeypatch)
    monkeypatch.setenv("MUNTIN_PROGRESS", "off")
    with WaitingLine("loading plugins"):
        sleep(LONG_ENOUGH)
    assert not terminal.getvalue()


def test_a_file_gets_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal_as_errors(monkeypatch)
    file = io.StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    with WaitingLine("loading plugins"):
        sleep(LONG_ENOUGH)
    assert not file.getvalue()
