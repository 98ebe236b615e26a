"""Row windows in scripts: the reference evaluator, against the definition over whole histories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin import Event, Window
from muntin.errors import QueryError
from muntin.rows import ElapsedPolicy, LastRows, PartitionedRows, Row, batch, delta, last
from muntin.testing import Computation, OutputEvent, Script, WindowedQuery, evaluate
from tests.rows.following import Full
from tests.rows.meaning import computed, full
from tests.rows.modules import Listed
from tests.rows.random_rows import rows_for, sliding, tumbling

LISTED = [Computation(Listed())]


def test_a_script_shows_the_windows_of_each_key_in_the_order_of_its_rows() -> None:
    script = Script().point("a", 1, 10, key="x").point("b", 1, 20, key="x").point("c", 4, 30, key="x").punctuate(4)
    assert script.run(WindowedQuery(last(2), LISTED)) == {
        "x": [OutputEvent(Window(1, 2), 1, 2, ([10],)), OutputEvent(Window(1, 2), 1, 2, ([10, 20],))]
    }
    closed = script.close().run(WindowedQuery(batch(2), LISTED))
    assert closed["x"] == [OutputEvent(Window(1, 2), 1, 2, ([10, 20],)), OutputEvent(Window(4, 5), 4, 5, ([30],))]


@dataclass(frozen=True)
class Price:
    price: int


def test_what_windows_read_is_a_part_of_the_payload() -> None:
    script = Script().point("a", 1, Price(1)).point("b", 2, Price(3)).point("c", 3, Price(4)).close()
    lists = [Computation(Listed(), select=lambda payload: payload.price)]
    (found,) = script.run(WindowedQuery(batch(delta("price", 2)), lists)).values()
    assert [row.value for row in found] == [([1, 3],), ([4],)]


def test_a_row_without_what_windows_read_is_refused_with_what_to_give() -> None:
    for payload in (2.5, {"price": 1}):
        script = Script().point("a", 1, payload).close()
        with pytest.raises(QueryError, match=r"(?s)the windows read 'size' .* has no such field.*dicts"):
            script.run(WindowedQuery(batch(delta("size", 2)), LISTED))


def rows_and_events(windows: PartitionedRows, data: st.DataObject) -> tuple[list[Row], list[Event[Any]]]:
    rows = data.draw(rows_for(windows))
    payloads = [{**dict(zip(windows.reads, row.values, strict=True)), "number": row.number} for row in rows]
    return rows, [Event.point(row.time, payload) for row, payload in zip(rows, payloads, strict=True)]


@settings(max_examples=100, derandomize=True, database=None, deadline=None)
@given(st.one_of(sliding(), tumbling()), st.data())
def test_the_reference_computes_what_the_definition_says(windows: PartitionedRows, data: st.DataObject) -> None:
    rows, events = rows_and_events(windows, data)
    tick = (rows[-1].time if rows else 0) + data.draw(st.integers(1, 12))
    query = WindowedQuery(windows, [Computation(Listed(), select=lambda payload: payload["number"])])
    found = [(row.window, list(row.value[0])) for row in evaluate(query, events, tick, tick)]
    wanted = [(one.window, list(one.rows)) for one in computed(windows, rows, tick)]
    assert sorted(found) == sorted(wanted)


@settings(max_examples=150, derandomize=True, database=None, deadline=None)
@given(st.one_of(sliding(), st.builds(LastRows, st.builds(ElapsedPolicy, st.integers(1, 3)))), st.data())
def test_a_window_is_full_when_its_definition_says_and_once(windows: LastRows, data: st.DataObject) -> None:
    rows, events = rows_and_events(windows, data)
    tick = (rows[-1].time if rows else 0) + data.draw(st.integers(1, 12))
    query = WindowedQuery(windows, [Computation(Full())])
    found = [row.value for row in evaluate(query, events, tick, tick)]
    assert sorted(found) == sorted(time for _, time in full(windows, rows, tick - 1))
