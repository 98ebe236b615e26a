"""Windows from a row that opens to one that closes: case by case."""

from __future__ import annotations

from typing import Any

import pytest

from muntin import INFINITY
from muntin.errors import WindowError
from muntin.rows import Row, RowsBetween, between, elapsed
from muntin.testing import Computation, Script, WindowedQuery
from muntin.windows import WindowContext
from tests.rows.modules import Listed
from tests.rows.tracing import Trace

LETTERS = {"o": (True, False), "c": (False, True), "b": (True, True), ".": (False, False), "?": (None, None)}


def rows_of(line: str) -> list[Row]:
    """A row per letter, at times 1, 2, 3, ...: it opens, closes, does both, neither, or nobody knows."""
    return [Row(place, place, LETTERS[letter]) for place, letter in enumerate(line, 1)]


def told(windows: RowsBetween, line: str, end: int | None = None) -> list[tuple[int, int, tuple[int, ...]]]:
    found = Trace(windows).rows(*rows_of(line))
    if end is not None:
        found.close(end)
    return [(window.start, window.end, rows) for window, _, rows in found.computed]


SIMPLE = between("o", "c")


@pytest.mark.parametrize(
    ("windows", "line", "expected"),
    [
        (SIMPLE, ".o..c.", [(2, 6, (2, 3, 4, 5))]),
        (between("o", "c", closing_row=False), ".o..c.", [(2, 5, (2, 3, 4))]),
        (SIMPLE, "c.c", []),
        (SIMPLE, "oo.c.c", [(1, 5, (1, 2, 3, 4))]),
        (between("o", "c", reopens=True), "oo.c", [(1, 2, (1,)), (2, 5, (2, 3, 4))]),
        (between("o", "c", reopens=True, closed_only=True), "oo.c", [(2, 5, (2, 3, 4))]),
        (SIMPLE, "b.b", [(1, 2, (1,)), (3, 4, (3,))]),
        (SIMPLE, "o.bo", [(1, 4, (1, 2, 3))]),
        (between("o", "c", closing_row=False), "o.b.b", [(1, 3, (1, 2)), (3, 5, (3, 4))]),
        (SIMPLE, "?o?c?", [(2, 5, (2, 3, 4))]),
        (between("o", "c", within=3), "o...o.c", [(1, 4, (1, 2, 3)), (5, 8, (5, 6, 7))]),
        (between("o", "c", within=3, closed_only=True), "o...o.c", [(5, 8, (5, 6, 7))]),
        (between("o", "c", within=3), "o..c", [(1, 4, (1, 2, 3))]),
    ],
    ids=str,
)
def test_windows_go_from_a_row_that_opens_to_one_that_closes(windows: RowsBetween, line: str, expected: Any) -> None:
    """Predicates for entry and exit (ON-15): a wish of the Onyx windowing proposal that its code never met."""
    assert told(windows, line) == expected


def test_with_one_condition_windows_follow_each_other() -> None:
    numbers = [Row(place, place, (letter == "m",)) for place, letter in enumerate(".m..m.", 1)]
    assert [one.rows for one in Trace(between("m")).rows(*numbers).computed] == [(2, 3, 4)]
    assert [one.rows for one in Trace(between(closes="m")).rows(*numbers).computed] == [(1, 2), (3, 4, 5)]


def test_a_window_that_is_open_at_the_end_of_the_stream_ends_there() -> None:
    assert told(SIMPLE, "o.", end=9) == [(1, 9, (1, 2))]
    assert told(between("o", "c", closed_only=True), "o.", end=9) == []
    assert told(between("o", "c", within=4), "o.", end=9) == [(1, 5, (1, 2))]


def test_rows_at_one_time_follow_their_order() -> None:
    rows = [Row(1, 5, (True, False)), Row(2, 5, (False, True)), Row(3, 5, (True, False)), Row(4, 5, (False, True))]
    assert [one.rows for one in Trace(SIMPLE).rows(*rows).computed] == [(1, 2), (3, 4)]


def test_a_window_that_nobody_closes_is_not_kept_for_longer_than_it_may_last() -> None:
    windows = between("o", "c", within=10)
    found = Trace(windows).rows(*rows_of("o.."))
    assert windows.next_tick(found.state) == 11
    assert not windows.is_empty(found.state)
    found.advance(11)
    assert windows.is_empty(found.state)
    assert windows.next_tick(found.state) == INFINITY


def test_partitions_are_bounded_together() -> None:
    windows = between("o", "c").partition("p", most=1, age=3)
    found = Trace(windows).rows(Row(1, 1, ("a", True, False)), Row(2, 2, ("b", True, False)))
    found.rows(Row(3, 3, ("a", False, True)), Row(4, 4, ("b", False, True)))
    assert [(one.partition, one.rows) for one in found.computed] == [("b", (2, 4))]
    late = Trace(windows).rows(Row(1, 1, ("a", True, False)), Row(2, 4, ("a", False, True)))
    assert late.computed == []


def test_a_script_runs_over_them_with_conditions_by_name() -> None:
    rows = [{"number": row.number, "o": row.values[0], "c": row.values[1]} for row in rows_of(".o.co")]
    script = Script()
    for row in rows:
        script = script.point(row["number"], row["number"], row)
    query = WindowedQuery(SIMPLE, [Computation(Listed(), select=lambda payload: payload["number"])])
    (found,) = script.close().run(query).values()
    assert [row.value for row in found] == [([2, 3, 4],), ([5],)]


REFUSED: dict[str, Any] = {
    "no condition": (between, "has no condition"),
    "no text": (lambda: between(3), "takes a column or an SQL expression as text, got 3"),  # type: ignore[arg-type]
    "separators": (lambda: between(closes="m", closing_row=False), r"write batch\(marker\('m'\)\)"),
    "each row reopens": (lambda: between(closes="m", reopens=True), "rows that close alone"),
    "nothing to wait for": (lambda: between("m", reopens=True), "rows that open alone"),
    "never empty": (lambda: between("m").with_empty(), "never empty"),
    "no time": (lambda: between("m", within=0), "above zero"),
    "no field": (lambda: RowsBetween.from_dict({"open": "m"}), "is no between window"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_contradicts_itself_is_refused_with_what_to_write(name: str) -> None:
    make, message = REFUSED[name]
    with pytest.raises(WindowError, match=message):
        make()


def test_they_are_told_as_they_are_written() -> None:
    windows = between("x > 1", "x < 0", closing_row=False, reopens=True, within=9, closed_only=True).partition("p")
    told = "between('x > 1', 'x < 0', closing_row=False, reopens=True, within=9, closed_only=True).partition('p')"
    assert str(windows) == told
    assert windows.conditions == ("x > 1", "x < 0")
    assert windows.reads == ("p", "x > 1", "x < 0")
    assert windows.with_lengths(lambda length: length * 10).within == elapsed(90)
    assert (SIMPLE.context, windows.context) == (WindowContext.BACKWARD, WindowContext.FORWARD)
