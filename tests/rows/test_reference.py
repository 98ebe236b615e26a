"""Row windows in scripts: the reference evaluator, against the definition over whole histories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from muntin import Event, Window
from muntin.errors import QueryError
from muntin.rows import LastRows, PartitionedRows, Row, RowBatches, batch, delta, last
from muntin.testing import Computation, OutputEvent, Script, WindowedQuery, evaluate
from tests.rows.following import Full
from tests.rows.meaning import computed, full
from tests.rows.modules import Listed
from tests.rows.random_rows import drawn

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


def events_of(windows: PartitionedRows, rows: Sequence[Row]) -> list[Event[Any]]:
    payloads = [{**dict(zip(windows.reads, row.values, strict=True)), "number": row.number} for row in rows]
    return [Event.point(row.time, payload) for row, payload in zip(rows, payloads, strict=True)]


def test_the_reference_computes_what_the_definition_says() -> None:
    for windows, rows, random in drawn((LastRows, RowBatches), are_defined=True):
        tick = (rows[-1].time if rows else 0) + random.randint(1, 12)
        query = WindowedQuery(windows, [Computation(Listed(), select=lambda payload: payload["number"])])
        found = evaluate(query, events_of(windows, rows), tick, tick)
        wanted = sorted((one.window, list(one.rows)) for one in computed(windows, rows, tick))
        assert sorted((row.window, list(row.value[0])) for row in found) == wanted, windows


def test_a_window_is_full_when_its_definition_says_and_once() -> None:
    for windows, rows, random in drawn(LastRows, are_defined=True, count=100):
        assert isinstance(windows, LastRows)
        tick = (rows[-1].time if rows else 0) + random.randint(1, 12)
        found = evaluate(WindowedQuery(windows, [Computation(Full())]), events_of(windows, rows), tick, tick)
        assert sorted(row.value for row in found) == sorted(at for _, at in full(windows, rows, tick - 1)), windows
