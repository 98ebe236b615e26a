"""Progress without a terminal: a line now and then."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from demo.__main__ import _progress
from demo.progress_lines import ProgressLines


def test_a_line_comes_when_it_is_due_and_something_has_moved() -> None:
    clock, said = [0.0], list[str]()
    lines = ProgressLines(said.append, every=10, now=lambda: clock[0])
    for at, done in [(1, 1), (9, 2), (10, 2), (11, 3), (20, 3), (25, 4), (31, 4), (32, 5)]:
        clock[0] = float(at)
        lines.update("busiest", done, 5, f"{done} in")
    assert said == [
        "    10 s  busiest   2/5  2 in",
        "    20 s  busiest   3/5  3 in",
        "    31 s  busiest   4/5  4 in",
        "    32 s  busiest   5/5  5 in",
    ]


def test_each_thing_has_lines_of_its_own() -> None:
    clock, said = [0.0], list[str]()
    lines = ProgressLines(said.append, every=10, now=lambda: clock[0])
    clock[0] = 12.0
    for name in ("busiest", "delays", "busiest"):
        lines.update(name, 1, 5, "")
    assert [line.split()[2] for line in said] == ["busiest", "delays"]


def test_where_there_is_no_terminal_lines_are_printed_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    with _progress(["busiest"], 1, Console(file=io.StringIO())) as show:
        show("busiest", 1, "7 in")
        assert "busiest   1/1  7 in\n" in capsys.readouterr().out
