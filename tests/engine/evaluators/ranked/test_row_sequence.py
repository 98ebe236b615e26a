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


def drawn(random: Random, orders: int) -> list[Placed]:
    rows: list[Placed] = []
    for _ in range(random.randint(1, 40)):
        payload: list[Any] = [random.choice((None, "a", "B", "é", "z"))]
        payload += [random.choice((None, 1, 2, -7)) for _ in range(orders)]
        rows.append(Placed(random.randrange(3), random.choice((0, 1, 5, 2**55)), tuple(payload)))
    return rows


def as_table(rows: list[Placed]) -> StretchTable:
    columns = {
        f"i{place}": pa.array(values) for place, values in enumerate(zip(*(row.payload for row in rows), strict=True))
    }
    times = np.array([row.time for row in rows])
    keys = np.array([row.key for row in rows])
    parts = {ROWS: RowValues.of(pa.table(columns))}
    return StretchTable(keys, times, times + 1, np.ones(len(rows), np.int64), parts)


@pytest.mark.cases(32)
@pytest.mark.parametrize("seed", range(32))
def test_the_order_is_that_of_the_keyed_evaluators(seed: int) -> None:
    random = Random(seed)
    places = random.choice(([0], [1], [2, 0], [1, 2]))
    rows = drawn(random, 2)
    place = OrderByColumns(tuple(places))
    expected: list[Placed] = []
    for key in range(3):
        of_key = [row for row in rows if row.key == key]
        expected += in_sequence(of_key, lambda row: (row.time, place(row.payload)), attrgetter("payload"))
    ordered = RowSequence.by_columns(places).sorted(as_table(rows))
    payloads = zip(*(column.to_pylist() for column in ordered.parts[ROWS].table.columns), strict=True)
    assert list(map(Placed, ordered.keys.tolist(), ordered.low.tolist(), payloads)) == expected


def test_times_in_order_are_not_sorted_and_far_times_are() -> None:
    assert time_order(np.array([1, 1, 3])) == slice(None)
    assert time_order(np.array([2**61, -(2**61), 0])).tolist() == [1, 2, 0]  # type: ignore[union-attr]
