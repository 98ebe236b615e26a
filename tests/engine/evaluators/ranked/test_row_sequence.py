"""Rows on arrays have the order that the keyed evaluators give them: by time, by columns, then by content."""

from __future__ import annotations

from operator import attrgetter
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from muntin_engine.evaluators.arrays.stretches.row_values import RowValues
from muntin_engine.evaluators.arrays.stretches.stretch_table import ROWS, StretchTable
from muntin_engine.evaluators.keyed.sequence import in_sequence
from muntin_engine.evaluators.ranked.row_sequence import RowSequence, time_order
from muntin_engine.plan.inputs import OrderByColumns


class Placed(NamedTuple):
    """A row with its key and time."""

    key: int
    time: int
    payload: tuple[Any, ...]


def random_rows(random: Random) -> list[Placed]:
    """Draw rows of three keys, whose payloads are a text and two numbers."""
    rows: list[Placed] = []
    for _ in range(random.randint(1, 40)):
        text = random.choice((None, "a", "B", "é", "z"))
        numbers = [random.choice((None, 1, 2, -7)) for _ in range(2)]
        time = random.choice((0, 1, 5, 2**55))
        rows.append(Placed(key=random.randrange(3), time=time, payload=(text, *numbers)))
    return rows


def as_table(rows: list[Placed]) -> StretchTable:
    columns: dict[str, pa.Array] = {}
    for place in range(3):
        columns[f"i{place}"] = pa.array([row.payload[place] for row in rows])
    times = np.array([row.time for row in rows])
    keys = np.array([row.key for row in rows])
    parts = {ROWS: RowValues.of(pa.table(columns))}
    return StretchTable(keys, times, times + 1, np.ones(len(rows), np.int64), parts)


def as_rows(table: StretchTable) -> list[Placed]:
    payloads = [tuple(payload.values()) for payload in table.parts[ROWS].table.to_pylist()]
    return list(map(Placed, table.keys.tolist(), table.low.tolist(), payloads))


@pytest.mark.cases(32)
@pytest.mark.parametrize("seed", range(32))
def test_the_order_is_that_of_the_keyed_evaluators(seed: int) -> None:
    random = Random(seed)
    order_columns = random.choice(([0], [1], [2, 0], [1, 2]))
    rows = random_rows(random)

    order_of = OrderByColumns(tuple(order_columns))
    expected: list[Placed] = []
    for key in range(3):
        key_rows = [row for row in rows if row.key == key]
        expected += in_sequence(key_rows, lambda row: (row.time, order_of(row.payload)), attrgetter("payload"))

    ordered = RowSequence.by_columns(order_columns).sorted(as_table(rows))
    assert as_rows(ordered) == expected


def test_times_that_ascend_are_not_sorted() -> None:
    assert time_order(np.array([1, 1, 3])) == slice(None)


def test_times_that_are_far_apart_are_sorted() -> None:
    assert time_order(np.array([2**61, -(2**61), 0])).tolist() == [1, 2, 0]  # type: ignore[union-attr]
