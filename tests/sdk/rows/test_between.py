"""Windows from a row that opens to one that closes: case by case."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from muntin import INFINITY
from muntin.errors import WindowError
from muntin.rows import Row, RowsBetween, between, elapsed
from muntin.testing import Computation, Script, WindowedQuery
from muntin.windows import WindowContext
from tests.modules.rows import Listed
from tests.sdk.rows.tracing import Trace

OPENS_AND_CLOSES = {"o": (True, False), "c": (False, True), ".": (False, False)}


def rows_of(line: str) -> list[Row]:
    """Return a row for each letter, at times 1, 2, 3, ...: `o` opens a window, `c` closes it, `.` does neither."""
    return [Row(place, place, OPENS_AND_CLOSES[letter]) for place, letter in enumerate(line, 1)]


def test_a_window_that_nobody_closes_is_held_as_long_as_it_may_last() -> None:
    windows = between("o", "c", within=10)
    trace = Trace(windows).rows(*rows_of("o.."))  # it opens at 1
    assert windows.next_tick(trace.state) == 11
    assert not windows.is_empty(trace.state)

    trace.advance(11)
    assert windows.is_empty(trace.state)
    assert windows.next_tick(trace.state) == INFINITY


def row_between(time: int, partition: str, *, opens: bool = False, closes: bool = False) -> Row:
    """Return a row with these values, whose number is its time."""
    return Row(time, time, (partition, opens, closes))


def test_a_partition_beyond_the_greatest_number_is_removed_with_its_open_window() -> None:
    trace = Trace(between("o", "c").partition("p", most=1)).rows(
        row_between(1, "a", opens=True),
        row_between(2, "b", opens=True),  # the second partition, so a is removed
        row_between(3, "a", closes=True),
        row_between(4, "b", closes=True),
    )
    assert [(computed.partition, computed.rows) for computed in trace.computed] == [("b", (2, 4))]


def test_a_partition_without_a_row_for_its_age_is_removed_with_its_open_window() -> None:
    trace = Trace(between("o", "c").partition("p", age=3)).rows(
        row_between(1, "a", opens=True),
        row_between(4, "a", closes=True),
    )
    assert trace.computed == []


def test_a_script_runs_over_windows_between_rows_and_reads_conditions_by_name() -> None:
    script = Script()
    for row in rows_of(".o.co"):
        opens, closes = row.values
        script = script.point(row.number, row.time, {"number": row.number, "o": opens, "c": closes})
    list_numbers = Computation(Listed(), select=lambda payload: payload["number"])
    (results,) = script.close().run(WindowedQuery(between("o", "c"), [list_numbers])).values()
    assert [row.value for row in results] == [([2, 3, 4],), ([5],)]


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "no condition": (between, "has no condition"),
    "no text": (lambda: between(3), "takes a column or an SQL expression as text, got 3"),  # type: ignore[arg-type]
    "separators": (lambda: between(closes="m", closing_row=False), r"write batch\(marker\('m'\)\)"),
    "each row reopens": (lambda: between(closes="m", reopens=True), "rows that close alone"),
    "nothing to wait for": (lambda: between("m", reopens=True), "rows that open alone"),
    "never empty": (lambda: between("m").with_empty(), "never empty"),
    "no time": (lambda: between("m", within=0), "above zero"),
    "no field": (lambda: RowsBetween.from_dict({"open": "m"}), "is not a between window"),
}


@pytest.mark.parametrize("contradiction", REFUSED)
def test_windows_that_contradict_themselves_are_refused_with_what_to_write(contradiction: str) -> None:
    make_windows, message = REFUSED[contradiction]
    with pytest.raises(WindowError, match=message):
        make_windows()


def test_windows_between_rows_are_shown_as_they_are_written_and_say_what_they_read() -> None:
    text = "between('x > 1', 'x < 0', closing_row=False, reopens=True, within=9, closed_only=True).partition('p')"
    windows = between("x > 1", "x < 0", closing_row=False, reopens=True, within=9, closed_only=True).partition("p")
    assert str(windows) == text
    assert windows.conditions == ("x > 1", "x < 0")
    assert windows.reads == ("p", "x > 1", "x < 0")


def test_the_time_limit_of_a_window_between_rows_scales_with_the_axis() -> None:
    assert between("o", "c", within=9).with_lengths(lambda length: length * 10).within == elapsed(90)


def test_windows_between_rows_depend_on_earlier_rows_and_on_later_ones_where_only_closed_ones_count() -> None:
    assert between("o", "c").context == WindowContext.BACKWARD
    assert between("o", "c", closed_only=True).context == WindowContext.FORWARD
