"""The bucket side: blobs back to changes by key, and rows that cannot be taken."""

from __future__ import annotations

import json
import math
from typing import Any

import pyarrow as pa
import pytest

from muntin_engine.exchange.intake import Intake, take_in
from muntin_engine.exchange.task_payload import TaskPayload
from tests.spark.modules import Count
from tests.spark_units.tasks import UTC, arrived, rows, task_of

CHANGING = task_of(
    has_changes=True,
    names={"k0": "station", "change": "what", "id": "ride", "start": "since", "end": "until", "i0": "km"},
)
FAR = 2**61
"""A tick in the year 75,000, where Python's calendar has ended."""


def taken(task: TaskPayload, *batches: pa.RecordBatch) -> Intake:
    return take_in(task, arrived(task, *batches).inputs[0].rows)


@pytest.mark.parametrize(
    ("keys", "groups"),
    [
        (pa.array([[1, 2], [1, 2], None, [2, 1]]), 3),
        (pa.array([{"x": 1, "y": "a"}, {"x": 1, "y": "a"}, {"x": None, "y": "a"}, {"x": 1, "y": None}]), 3),
        (pa.array([math.nan, math.nan, -0.0, 0.0]), 2),
        (pa.array([[math.nan], [math.nan], [-0.0], [0.0]]), 2),
        (pa.array([b"\xff", b"\xff", b"", None]), 3),
        (pa.array([True, True, False, None]), 3),
    ],
)
def test_keys_of_any_type_find_their_group(keys: pa.Array, groups: int) -> None:
    intake = taken(task_of(keys=(keys.type,)), rows(start=[1, 2, 3, 4], end=[9] * 4, k0=keys))
    assert len(intake.changes) == groups
    assert sum(len(changes) for _, changes in intake.changes) == 4


def test_an_array_or_a_struct_can_be_an_id() -> None:
    for ids in (pa.array([[1, 2], None]), pa.array([{"x": 1, "y": [2]}, None])):
        intake = taken(CHANGING, rows(start=[1, 2], end=[9, 9], id=ids, change=["insert"] * 2))
        ((_, [change]),) = intake.changes
        assert hash(change.id) is not None
        assert [row.reason for row in intake.rejected] == ["null id"]


def test_a_refused_row_is_shown_under_the_querys_own_names() -> None:
    intake = taken(CHANGING, rows(start=[None], end=[8], id=[1], change=["insert"], i0=[None], k0=["north"]))
    (row,) = intake.rejected
    assert (row.is_late, row.reason, row.message) == (False, "null time", "its time is null")
    assert json.loads(row.row) == {
        "station": "north",
        "what": "insert",
        "ride": 1,
        "since": None,
        "until": 8,
        "km": None,
    }


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, FAR, 2]).cast(UTC),
        pa.array([[1], [0, FAR], []], pa.list_(pa.int64())).cast(pa.list_(UTC)),
        pa.array([1, 2**30, 2], pa.int32()).cast(pa.date32()),
        pa.array([b"a", b"\xff", b"c"]).view(pa.string()),
    ],
)
@pytest.mark.parametrize("place", ["k0", "i0", "id"])
def test_a_value_that_python_cannot_hold_costs_its_row_alone(values: pa.Array, place: str) -> None:
    types: dict[str, Any] = (
        {"keys": (values.type,)} if place == "k0" else {"inputs": (values.type,)} if place == "i0" else {}
    )
    task = task_of(Count(), has_changes=True, **types)
    columns = {"id": [1, 2, 3], "change": ["insert"] * 3, "start": [1, 2, 3], "end": [9] * 3} | {place: values}
    intake = taken(task, rows(**columns))
    assert sorted(change.start for _, changes in intake.changes for change in changes) == [1, 3]
    assert [row.reason for row in intake.rejected] == ["unreadable value"]
    assert json.loads(intake.rejected[0].row)["since"] == 2
