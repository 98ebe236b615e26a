"""The map side: what becomes of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

import pyarrow as pa
import pytest

from muntin import INFINITY, IncrementalAggregate, Window, hopping, tumbling
from muntin.errors import ModuleDefinitionError, ModuleFailedError
from muntin_engine.core.evaluator_query import Binding, whole_payload
from muntin_engine.core.window_grid import NEVER
from muntin_engine.evaluators.arrays.state_module import StateModule
from muntin_engine.exchange.spreading import buckets_of
from tests.core.sliced.build import (
    Answer,
    DeductingMembers,
    Feed,
    Members,
    Row,
    SlicedQuery,
    Total,
    all_answers,
    answers,
    blobs_of,
    sliced,
)


def test_a_module_gets_all_rows_of_a_group_in_one_call() -> None:
    module = Members()
    feed = Feed(sliced(tumbling(10), module))
    rows = [Row(("a",), 3, 3), Row(("a",), 4, 1), Row(("b",), 1, 2), Row(("b",), 2, 9), Row(("a",), 41, 5)]
    blobs = blobs_of(feed.query, rows)
    assert module.calls == {"create_state": 3, "add_events": 3, "payloads": 5}
    feed.batch(rows, INFINITY, blobs)
    assert sorted(feed.output) == [
        Answer(("a",), 0, ((1, 3),)),
        Answer(("a",), 4, ((5,),)),
        Answer(("b",), 0, ((2, 9),)),
    ]


def test_a_bucket_gets_the_states_of_its_keys() -> None:
    query = sliced([tumbling(10), hopping(20, 10)], Members(), Total())
    rows = [Row((key, key % 2 == 0), tick, tick) for tick in range(0, 40, 3) for key in range(7)]
    blobs = query.lift(rows, 3)
    assert [blob.bucket for blob in blobs] == [0, 1, 2]
    keys = [pa.array(column) for column in zip(*(row.key for row in rows), strict=True)]
    places = buckets_of(keys, len(rows), 3)
    for bucket, blob in blobs:
        store = query.store()
        store.take([blob], -NEVER)
        found = answers(query, store.close(0, -NEVER, NEVER))
        assert {answer.key for answer in found} == {
            row.key for row, place in zip(rows, places, strict=True) if place == bucket
        }


def test_no_module_sees_a_row_in_a_gap() -> None:
    """
              0    4    8    12   16
    windows   [--)      [--)      [--)           3 long every 8
    rows       1 3      8
    """
    module = Members()
    feed = Feed(sliced(hopping(3, 8), module))
    rows = [Row(("k",), tick, tick) for tick in (1, 3, 8)]
    feed.batch(rows)
    assert module.calls["payloads"] == 2
    assert feed.accepted == 3


def test_a_slice_that_one_specification_skips_and_another_has_is_no_gap() -> None:
    module = Members()
    feed = Feed(sliced([hopping(3, 8), hopping(3, 8, 3)], module))
    feed.batch([Row(("k",), tick, tick) for tick in range(8)])
    assert module.calls["payloads"] == 6


@dataclass
class Trade:
    price: float
    size: int


class Turnover(IncrementalAggregate[Trade, float, float]):
    name, version = "test.turnover", "1.0.0"

    def create_state(self) -> float:
        return 0.0

    def add_events(self, state: float, payloads: Sequence[Trade]) -> float:
        return state + sum(trade.price * trade.size for trade in payloads)

    def combine(self, state: float, other: float) -> float:
        return state + other

    def compute_result(self, state: float) -> float:
        return state


class Many(IncrementalAggregate[None, int, int]):
    name, version = "test.many", "1.0.0"

    def create_state(self) -> int:
        return 0

    def add_events(self, state: int, payloads: Sequence[None]) -> int:
        assert set(payloads) == {None}
        return state + len(payloads)

    def combine(self, state: int, other: int) -> int:
        return state + other

    def compute_result(self, state: int) -> int:
        return state


def test_modules_read_their_own_columns() -> None:
    bindings = [
        Binding(Turnover(), lambda row: Trade(row[0], row[1])),
        Binding(Members(), itemgetter(1)),
        Binding(Many(), lambda row: None),
    ]
    query = SlicedQuery.of([tumbling(10)], bindings, 2)
    rows = [Row(("k",), tick, payload) for tick, payload in ((0, (1.5, 10)), (1, (2.0, 20)), (10, (4.0, 30)))]
    assert results(query, rows) == [Answer(("k",), 0, (55.0, (10, 20), 2)), Answer(("k",), 1, (120.0, (30,), 1))]


def test_a_query_may_read_no_column_at_all() -> None:
    query = SlicedQuery.of([tumbling(10)], [Binding(Many(), lambda row: None)], 0)
    rows = [Row(("k",), tick, ()) for tick in (0, 1, 10)]
    assert results(query, rows) == [Answer(("k",), 0, (2,)), Answer(("k",), 1, (1,))]


def results(query: SlicedQuery, rows: Sequence[Row]) -> list[Answer]:
    """Return the results of a store that was read back."""
    store = query.store()
    delta, _ = store.take(blobs_of(query, rows), -NEVER)
    assert delta is not None
    return all_answers(query, store.write(delta, -NEVER))


def test_a_selector_of_one_column_costs_nothing_per_row() -> None:
    columns = [[1, 2], [3, 4]]
    assert StateModule(Binding(Members(), itemgetter(1))).payloads(columns, 2) is columns[1]
    assert StateModule(Binding(Members(), itemgetter(1, 0))).payloads(columns, 2) == [(3, 1), (4, 2)]
    assert StateModule(Binding(Members(), whole_payload)).payloads(columns, 2) == [(1, 3), (2, 4)]


@pytest.mark.parametrize("method", ["create_state", "add_events"])
def test_a_failure_names_module_key_and_slice(method: str) -> None:
    class Fragile(Total):
        name = "test.fragile"
        calls = 0

        def create_state(self) -> int:
            type(self).calls += 1
            if method == "create_state" and self.calls == 3:
                raise KeyError("no")
            return 0

        def add_events(self, state: int, payloads: Sequence[int]) -> int:
            if method == "add_events" and 13 in payloads:
                raise KeyError("no")
            return state

    query = sliced(tumbling(10, 3), Members(), Fragile())
    rows = [
        Row((f"k{place}",), tick, payload) for place, tick, payload in ((0, 3, 1), (1, 25, 2), (2, 73, 13), (3, 99, 1))
    ]
    with pytest.raises(ModuleFailedError, match=f"test.fragile 2.0.0 failed in {method}: KeyError") as caught:
        query.lift(rows)
    assert (caught.value.module, caught.value.key, caught.value.method) == ("test.fragile", ("k2",), method)
    assert caught.value.window == Window(73, 83)
    assert isinstance(caught.value.__cause__, KeyError)


def test_combine_is_required() -> None:
    class Alone(IncrementalAggregate[int, int, int]):
        name, version = "test.alone", "1.0.0"

        def create_state(self) -> int:
            return 0

        def add_events(self, state: int, payloads: Sequence[int]) -> int:
            return state

        def compute_result(self, state: int) -> int:
            return state

    with pytest.raises(ModuleDefinitionError, match="does not define combine"):
        sliced(tumbling(10), DeductingMembers(), Alone())
