"""Values that Python cannot hold, in keys and in inputs, are refused before any evaluator sees them."""

from __future__ import annotations

from datetime import date
from typing import Any

import pyarrow as pa
import pytest

from muntin import INFINITY
from muntin_engine.exchange.distribute import read_rows, signals_in
from muntin_engine.exchange.problems import PROBLEMS
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.exchange.value_flags import unreadable
from tests.spark_units.tasks import UTC, rows, task_of


def text(*values: bytes | None) -> pa.Array:
    """Return an array of text, whose bytes nobody looks at."""
    return pa.array(values, pa.binary()).view(pa.string())


def days(*values: int | None) -> pa.Array:
    return pa.array(values, pa.int32()).view(pa.date32())


BAD = text(b"ok", b"\xff", None)
FIRST, LAST = -719_162, 2_932_896
ARRAYS = {
    "text": BAD,
    "text without any bad one": text(b"a", "ä".encode(), None),
    "dates": days(FIRST, FIRST - 1, LAST, LAST + 1, None),
    "timestamps": pa.array([0, 2**62, -(2**62), None], pa.int64()).view(UTC),
    "local timestamps": pa.array([253_402_300_799_999_999, 253_402_300_800_000_000]).view(pa.timestamp("us")),
    "lists": pa.ListArray.from_arrays([0, 1, 1, 3], BAD),
    "structs": pa.StructArray.from_arrays([BAD, days(0, 1, LAST + 1)], ["a", "b"]),
    "maps": pa.MapArray.from_arrays([0, 1, 3], text(b"a", b"b", b"\xff"), BAD),
    "numbers": pa.array([1.5, None, float("nan")]),
    "durations": pa.array([2**63 - 1, -(2**63)], pa.int64()).view(pa.duration("us")),
    "bytes": pa.array([b"\xff"]),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_what_python_cannot_hold_is_found_at_any_depth(name: str) -> None:
    values = ARRAYS[name]
    for some in (values, values.slice(1), values.slice(0, 0)):
        assert unreadable(some).tolist() == [_raises(value) for value in some]


def _raises(value: pa.Scalar) -> bool:
    try:
        value.as_py()
    except (OverflowError, ValueError):
        return True
    return False


def reasons(task: TaskPayload, **columns: Any) -> list[str | None]:
    codes = read_rows(task.input, rows(**columns)).rows.column("problem").to_pylist()
    return [None if code is None else PROBLEMS[code].reason for code in codes]


@pytest.mark.parametrize(
    ("task", "columns"),
    [
        (task_of(), {"k0": text(b"a", b"\xff")}),
        (task_of(keys=(pa.date32(),)), {"k0": days(0, LAST + 1)}),
        (task_of(keys=(pa.list_(pa.string()),)), {"k0": pa.ListArray.from_arrays([0, 1, 2], text(b"a", b"\xff"))}),
        (task_of(inputs=(pa.string(),)), {"i0": text(b"a", b"\xff")}),
        (task_of(inputs=(pa.date32(),)), {"i0": days(0, FIRST - 1)}),
        (task_of(), {"id": text(b"a", b"\xff")}),
    ],
)
def test_keys_ids_and_values_are_treated_alike(task: TaskPayload, columns: dict[str, Any]) -> None:
    assert reasons(task, start=[3, 3], end=[5, 5], **columns) == [None, "unreadable value"]


@pytest.mark.parametrize("is_point", [True, False])
@pytest.mark.parametrize("start", [INFINITY, INFINITY - 1, 2**62, -(2**63), -(2**62)])
def test_times_near_the_end_of_64_bits_are_out_of_range(start: int, is_point: bool) -> None:
    assert reasons(task_of(is_point=is_point), start=[start], end=[5]) == ["time out of range"]


def test_a_signal_that_is_no_text_is_refused_and_wakes_nothing() -> None:
    task = task_of(has_changes=True)
    batch = rows(start=[None, None], end=[None, None], change=["signal"] * 2, signal=text(b"dusk", b"\xff"))
    assert signals_in(batch) == {"dusk"}
    assert [PROBLEMS[code].reason for code in read_rows(task.input, batch).rows.column("problem").to_pylist()] == [
        "unreadable value"
    ]


def test_dates_and_moments_at_the_ends_of_the_calendar_are_good() -> None:
    assert ARRAYS["dates"][0].as_py() == date.min
    assert ARRAYS["dates"][2].as_py() == date.max
