"""Tables and judgements: their width, and their colours."""

from __future__ import annotations

import io
import sys

import pytest

from muntin_cli.output import coloured, show_data, show_table
from tests.cli.test_waiting_line import Terminal

ROWS = [("patterns.followed_by", "finding", "word " * 60)]


def file_as_output(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Return the standard output as a file. It is no fixture: pytest sets the standard output after those."""
    file = io.StringIO()
    monkeypatch.setattr(sys, "stdout", file)
    monkeypatch.delenv("COLUMNS", raising=False)
    return file


def terminal_as_output(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Return the standard output as a terminal with colours."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return terminal


def widths(stream: io.StringIO) -> list[int]:
    """Return the number of characters of each line."""
    return [len(line) for line in stream.getvalue().splitlines()]


def test_a_table_in_a_file_has_at_most_120_columns_and_loses_no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    file = file_as_output(monkeypatch)
    show_table(("name", "result", "why"), ROWS)
    assert max(widths(file)) <= 120
    assert file.getvalue().count("word") == 60
    assert "patterns.followed_by" in file.getvalue(), "a name is not broken"


@pytest.mark.parametrize("columns", ["80", "200"])
def test_a_table_in_a_file_is_as_wide_as_columns_says(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = file_as_output(monkeypatch)
    monkeypatch.setenv("COLUMNS", columns)
    show_table(("name", "result", "why"), ROWS)
    slack = 10  # a line ends before a word that does not fit
    assert int(columns) - slack < max(widths(file)) <= int(columns)


def test_a_wide_table_and_rows_of_data_have_a_row_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    file = file_as_output(monkeypatch)
    show_table(("name", "result", "why"), ROWS, is_wide=True)
    show_data(("name", "result", "why"), ROWS)
    heads, row, *lines_of_data = file.getvalue().splitlines()
    assert lines_of_data == [heads, row]
    assert len(row) > 300, "the whole text of the row"


def test_a_terminal_gets_its_own_width_and_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_as_output(monkeypatch)
    monkeypatch.setenv("COLUMNS", "60")
    show_data(("name", "result", "why"), ROWS)
    assert len(terminal.getvalue().splitlines()) > 5
    assert "\x1b[31mfinding\x1b[0m" in terminal.getvalue()
    assert coloured("ok") == "\x1b[32mok\x1b[0m"


def test_a_terminal_gets_no_colours_where_the_user_wants_none(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal_as_output(monkeypatch)
    monkeypatch.setenv("NO_COLOR", "1")
    assert coloured("ok") == "ok"


def test_a_file_gets_no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    file = file_as_output(monkeypatch)
    show_table((), ROWS)
    assert coloured("finding") == "finding"
    assert "\x1b" not in file.getvalue()
