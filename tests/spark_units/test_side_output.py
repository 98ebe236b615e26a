"""Rows that were set aside, as JSON."""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from muntin import INFINITY
from muntin_engine.core.changes import InputChange, Reason, Rejection
from muntin_engine.exchange.side_output import row_as_json, side_output_row
from tests.spark_units.tasks import task_of

NAMES = {
    "k0": "station",
    "change": "what",
    "id": "ride",
    "start": "since",
    "end": "until",
    "new_end": "back",
    "i0": "km",
}


def extent(of: pa.DataType) -> pa.Schema:
    return pa.schema([("key", pa.string()), ("window", pa.struct([("start", of), ("end", of)])), ("m", pa.int64())])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (2**70, 2**70),
        (1.5, 1.5),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
        (b"\xff\x00", "/wA="),
        (Decimal("1.10"), "1.10"),
        (date(2024, 5, 1), "2024-05-01"),
        (datetime(2024, 5, 1, 8, tzinfo=UTC), "2024-05-01T08:00:00+00:00"),
        (timedelta(minutes=1), "0:01:00"),
        ([1, [math.inf]], [1, ["Infinity"]]),
        ({"x": b"a", "y": None}, {"x": "YQ==", "y": None}),
        ([("a", math.nan)], [["a", "NaN"]]),
        ("München", "München"),
    ],
)
def test_any_value_becomes_valid_json(value: Any, expected: Any) -> None:
    text = row_as_json(task_of(names=NAMES).input, {"i0": value})
    assert json.loads(text, parse_constant=pytest.fail) == {"km": expected}


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (pa.int64(), 1_500_000),
        (pa.timestamp("us", tz="UTC"), "1970-01-01T00:00:01.500000+00:00"),
        (pa.timestamp("us"), "1970-01-01T00:00:01.500000"),
    ],
)
def test_times_are_readable(of: pa.DataType, expected: Any) -> None:
    task = task_of(names=NAMES, results=extent(of))
    row = json.loads(row_as_json(task.input, {"start": 1_500_000, "end": INFINITY, "new_end": None}))
    assert row == {"since": expected, "until": None, "back": None}


def test_a_time_beyond_the_calendar_stays_a_number() -> None:
    task = task_of(names=NAMES, results=extent(pa.timestamp("us", tz="UTC")))
    assert json.loads(row_as_json(task.input, {"start": 2**61})) == {"since": 2**61}


@pytest.mark.parametrize(("new_end", "kind"), [(None, "insert"), (8, "revise"), (3, "retract")])
def test_what_the_evaluator_sets_aside_is_the_row_again(new_end: int | None, kind: str) -> None:
    rejection = Rejection(Reason.LATE, "it came late", InputChange(5, 3, 9, (1.5,), new_end))
    row = side_output_row(task_of(names=NAMES), ("north",), rejection)
    assert (row.is_late, row.reason, row.message) == (True, "late", "it came late")
    shown = {"station": "north", "what": kind, "ride": 5, "since": 3, "until": 9, "back": new_end, "km": 1.5}
    assert json.loads(row.row) == shown


def test_only_a_late_row_is_late() -> None:
    rejection = Rejection(Reason.DUPLICATE_ID, "it is there", InputChange(5, 3, INFINITY, (1.5,)))
    assert not side_output_row(task_of(names=NAMES), ("north",), rejection).is_late
