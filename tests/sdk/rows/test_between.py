"""Windows from a row that opens to one that closes: case by case."""

from __future__ import annotations

from typing import Any

import pytest

from muntin import INFINITY
from muntin.errors import WindowError
from muntin.rows import Row, RowsBetween, between, elapsed
from muntin.testing import Computation, Script, WindowedQuery
from muntin.windows import WindowContext
from tests.modules.rows import Listed
from tests.sdk.rows.tracing import Trace

LETTERS = {"o": (True, False), "c": (False, True), "b": (True, True), ".": (False, False), "?": (None, None)}


def rows_of(line: str) -> list[Row]:
    """A row per letter, at times 1, 2, 3, ...: it opens, closes, does both, neither, or nobody knows."""
    return [Row(place, place, LETTERS[letter]) for place, letter in enumerate(line, 1)]


def windows_of(windows: RowsBetween, line: str, end: int | None = None) -> list[tuple[int, int, tuple[int, ...]]]:
    """Return start, end and row numbers of each window that is computed; the stream ends at a tick, or never."""
    trace = Trace(windows).rows(*rows_of(line))
    if end is not None:
        trace.close(end)
    return [(window.start, window.end, rows) for window, _, rows in trace.computed]


SIMPLE = between("o", "c")


def test_a_window_that_nobody_closes_is_not_kept_for_longer_than_it_may_last() -> None:
    windows = between("o", "c", within=10)
    trace = Trace(windows).rows(*rows_of("o.."))
    assert windows.next_tick(trace.state) == 11
    assert not windows.is_empty(trace.state)
    trace.advance(11)
    assert windows.is_empty(trace.state)
    assert windows.next_tick(trace.state) == INFINITY


def test_partitions_are_bounded_together() -> None:
    windows = between("o", "c").partition("p", most=1, age=3)
    trace = Trace(windows).rows(Row(1, 1, ("a", True, False)), Row(2, 2, ("b", True, False)))
    trace.rows(Row(3, 3, ("a", False, True)), Row(4, 4, ("b", False, True)))
    assert [(computed.partition, computed.rows) for computed in trace.computed] == [("b", (2, 4))]
    late = Trace(windows).rows(Row(1, 1, ("a", True, False)), Row(2, 4, ("a", False, True)))
    assert late.computed == []


def test_a_script_runs_over_them_with_conditions_by_name() -> None:
    rows = [{"number": row.number, "o": row.values[0], "c": row.values[1]} for row in rows_of(".o.co")]
    script = Script()
    for row in rows:
        script = script.point(row["number"], row["number"], row)
    query = WindowedQuery(SIMPLE, [Computation(Listed(), select=lambda payload: payload["number"])])
    (results,) = script.close().run(query).values()
    assert [row.value for row in results] == [([2, 3, 4],), ([5],)]


REFUSED: dict[str, Any] = {
    "no condition": (between, "has no condition"),
    "no text": (lambda: between(3), "takes a column or an SQL expression as text, got 3"),  # type: ignore[arg-type]
    "separators": (lambda: between(closes="m", closing_row=False), r"write batch\(marker\('m'\)\)"),
    "each row reopens": (lambda: between(closes="m", reopens=True), "rows that close alone"),
    "nothing to wait for": (lambda: between("m", reopens=True), "rows that open alone"),
    "never empty": (lambda: between("m").with_empty(), "never empty"),
    "no time": (lambda: between("m", within=0), "above zero"),
    "no field": (lambda: RowsBetween.from_dict({"open": "m"}), "is not a between window"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_contradicts_itself_is_refused_with_what_to_write(name: str) -> None:
    make, message = REFUSED[name]
    with pytest.raises(WindowError, match=message):
        make()


def test_they_are_told_as_they_are_written() -> None:
    windows = between("x > 1", "x < 0", closing_row=False, reopens=True, within=9, closed_only=True).partition("p")
    text = "between('x > 1', 'x < 0', closing_row=False, reopens=True, within=9, closed_only=True).partition('p')"
    assert str(windows) == text
    assert windows.conditions == ("x > 1", "x < 0")
    assert windows.reads == ("p", "x > 1", "x < 0")
    assert windows.with_lengths(lambda length: length * 10).within == elapsed(90)
    assert (SIMPLE.context, windows.context) == (WindowContext.BACKWARD, WindowContext.FORWARD)
