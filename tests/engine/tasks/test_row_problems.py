"""What is wrong with a row, as far as it shows: values that Python cannot hold are refused before any evaluator."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

import pyarrow as pa
import pytest

from muntin import INFINITY
from muntin.schemas import describe
from muntin_engine.modules.skipping import forbids
from muntin_engine.tasks.input_rows import read_rows
from muntin_engine.tasks.reported_progress import signals_in
from muntin_engine.tasks.row_problems import PROBLEMS
from muntin_engine.time.changes import LATEST
from muntin_engine.wire.task_payload import TaskPayload
from muntin_engine.wire.value_flags import forbidden_nulls, unreadable
from tests.engine.wire.payloads import UTC, rows, task_of

CHANGING = task_of(has_changes=True)


@dataclass
class Reading:
    value: float
    note: str | None
    marks: list[int]


def reasons(task: TaskPayload, **columns: Any) -> list[str | None]:
    """Return why a map task finds each of these rows to be bad; None for a good one."""
    codes = read_rows(task.input, rows(**columns)).rows.column("problem").to_pylist()
    return [None if code is None else PROBLEMS[code].reason for code in codes]


def test_good_rows_have_no_problem() -> None:
    assert reasons(task_of(), start=[0, -5, 3], end=[1, 0, None]) == [None, None, None]


@pytest.mark.parametrize(
    ("reason", "row"),
    [
        ("unknown change", {"change": "upsert"}),
        ("unknown change", {"change": "INSERT"}),
        ("unknown change", {"change": None}),
        ("null time", {"start": None}),
        ("null time", {"change": "punctuate", "start": None}),
        ("null time", {"change": "revise", "new_end": None}),
        ("null signal", {"change": "signal", "start": None}),
        ("null id", {"id": None}),
        ("null id", {"change": "revise", "id": None, "new_end": 6}),
        ("null id", {"change": "retract", "id": None}),
        ("empty lifetime", {"end": 3}),
        ("empty lifetime", {"end": 2}),
        ("time out of range", {"start": LATEST, "end": None}),
        ("time out of range", {"start": -LATEST}),
        ("time out of range", {"end": INFINITY - 1}),
        ("time out of range", {"change": "revise", "new_end": LATEST}),
    ],
)
def test_each_problem_has_its_reason(reason: str, row: dict[str, Any]) -> None:
    good_row = {"change": "insert", "id": 1, "start": 3, "end": 5, "new_end": None, "i0": 7}
    columns = {name: [value] for name, value in (good_row | row).items()}
    assert reasons(CHANGING, **columns) == [reason]


def test_what_a_row_does_not_need_may_be_null() -> None:
    columns = {
        "change": ["revise", "retract", "punctuate", "close"],
        "id": [1, 1, None, None],
        "start": [3, 3, 3, None],
        "end": [None, None, None, None],
        "new_end": [4, None, None, None],
        "i0": [None, None, None, None],
    }
    assert reasons(CHANGING, **columns) == [None, None], "punctuation and the close go no further as rows"


def test_without_a_column_of_ids_nothing_can_be_revised() -> None:
    assert reasons(CHANGING, change=["insert", "retract"], start=[3, 3], end=[5, 5]) == [None, "null id"]


def test_an_end_given_as_infinity_is_an_open_end() -> None:
    assert reasons(CHANGING, change=["insert"], id=[1], start=[3], end=[INFINITY]) == [None]


def test_a_row_that_a_module_does_not_accept_is_no_bad_row_and_is_counted_for_that_module() -> None:
    columns = {
        "change": ["insert", "insert", "revise", "upsert"],
        "id": [1, 2, 1, 4],
        "start": [3, 3, 3, 3],
        "end": [5, 5, 5, 5],
        "new_end": [None, None, 6, None],
        "i0": [None, 7, None, None],  # of these only the insertion has a payload that a module would read
    }
    assert reasons(CHANGING, **columns) == [None, None, None, "unknown change"]
    read = read_rows(CHANGING.input, rows(**columns))
    assert CHANGING.labels_of_skipping_modules == ("m",)
    assert read.counts.unaccepted == (1,)


@pytest.mark.parametrize(
    ("declared_type", "values", "has_forbidden_null"),
    [
        (int, pa.array([1, None]), [False, True]),
        (int | None, pa.array([1, None]), [False, False]),
        (list[int], pa.array([[1], [None, 2], None, []]), [False, True, True, False]),
        (list[int | None] | None, pa.array([[1], [None], None]), [False, False, False]),
        (list[list[int]], pa.array([[[1], [2]], [[None]], [[1], None]]), [False, True, True]),
        (
            dict[str, int],
            pa.array([[("a", 1)], [("a", 1), ("b", None)]], pa.map_(pa.string(), pa.int64())),
            [False, True],
        ),
        (dict[str, int | None], pa.array([[("b", None)]], pa.map_(pa.string(), pa.int64())), [False]),
        (tuple[int, str | None], pa.array([{"x": 1, "y": None}, {"x": None, "y": "b"}]), [False, True]),
    ],
)
def test_a_null_that_a_type_does_not_allow_is_found_at_any_depth_in_arrays_and_in_values(
    declared_type: Any, values: pa.Array, has_forbidden_null: list[bool]
) -> None:
    assert forbidden_nulls(values, describe(declared_type)).tolist() == has_forbidden_null
    assert [forbids(value, describe(declared_type)) for value in values.to_pylist()] == has_forbidden_null


def test_a_null_in_a_struct_counts_by_the_field_and_not_below_a_missing_struct() -> None:
    good = {"marks": [1], "note": None, "value": 1.0}
    values = pa.array([good, good | {"value": None}, good | {"marks": [None]}, None, good])
    assert forbidden_nulls(values, describe(Reading)).tolist() == [False, True, True, True, False]
    assert forbidden_nulls(values, describe(Reading | None)).tolist() == [False, True, True, False, False]
    without_first = values.slice(1)
    assert forbidden_nulls(without_first, describe(Reading)).tolist() == [True, True, True, False]


# Values that Python cannot hold, in keys and in inputs, are refused before any evaluator sees them.


def text(*values: bytes | None) -> pa.Array:
    """Return an array of text of these bytes, which need not be text in UTF-8."""
    return pa.array(values, pa.binary()).view(pa.string())


def days(*values: int | None) -> pa.Array:
    """Return an array of dates, given as days since 1970."""
    return pa.array(values, pa.int32()).view(pa.date32())


FIRST_DAY = -719_162
LAST_DAY = 2_932_896
"""The first and last day that Python's calendar has."""

LAST_MICROSECOND = 253_402_300_799_999_999
"""The last microsecond of the last day."""

TEXT = text(b"ok", b"\xff", None)
ARRAYS = {
    "text": TEXT,
    "text without any bad one": text(b"a", "ä".encode(), None),
    "dates": days(FIRST_DAY, FIRST_DAY - 1, LAST_DAY, LAST_DAY + 1, None),
    "timestamps": pa.array([0, 2**62, -(2**62), None], pa.int64()).view(UTC),
    "local timestamps": pa.array([LAST_MICROSECOND, LAST_MICROSECOND + 1]).view(pa.timestamp("us")),
    "lists": pa.ListArray.from_arrays([0, 1, 1, 3], TEXT),
    "structs": pa.StructArray.from_arrays([TEXT, days(0, 1, LAST_DAY + 1)], ["a", "b"]),
    "maps": pa.MapArray.from_arrays([0, 1, 3], text(b"a", b"b", b"\xff"), TEXT),
    "numbers": pa.array([1.5, None, float("nan")]),
    "durations": pa.array([2**63 - 1, -(2**63)], pa.int64()).view(pa.duration("us")),
    "bytes": pa.array([b"\xff"]),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_what_python_cannot_hold_is_found_at_any_depth(name: str) -> None:
    values = ARRAYS[name]
    for part in (values, values.slice(1), values.slice(0, 0)):
        assert unreadable(part).tolist() == [_raises(value) for value in part]


def _raises(value: pa.Scalar) -> bool:
    """Tell whether a value cannot be made one of Python."""
    try:
        value.as_py()
    except (OverflowError, ValueError):
        return True
    return False


@pytest.mark.parametrize(
    ("task", "columns"),
    [
        (task_of(), {"k0": text(b"a", b"\xff")}),
        (task_of(keys=(pa.date32(),)), {"k0": days(0, LAST_DAY + 1)}),
        (task_of(keys=(pa.list_(pa.string()),)), {"k0": pa.ListArray.from_arrays([0, 1, 2], text(b"a", b"\xff"))}),
        (task_of(inputs=(pa.string(),)), {"i0": text(b"a", b"\xff")}),
        (task_of(inputs=(pa.date32(),)), {"i0": days(0, FIRST_DAY - 1)}),
        (task_of(), {"id": text(b"a", b"\xff")}),
    ],
    ids=["text key", "date key", "list key", "text payload", "date payload", "text id"],
)
def test_a_row_with_a_key_a_payload_or_an_id_that_python_cannot_hold_is_bad(
    task: TaskPayload, columns: dict[str, Any]
) -> None:
    assert reasons(task, start=[3, 3], end=[5, 5], **columns) == [None, "unreadable value"]


@pytest.mark.parametrize("is_point", [True, False])
@pytest.mark.parametrize("start", [INFINITY, INFINITY - 1, 2**62, -(2**63), -(2**62)])
def test_times_near_the_end_of_64_bits_are_out_of_range(start: int, is_point: bool) -> None:
    assert reasons(task_of(is_point=is_point), start=[start], end=[5]) == ["time out of range"]


def test_a_signal_that_is_no_text_is_refused_and_wakes_nothing() -> None:
    columns = {
        "change": ["signal", "signal"],
        "signal": text(b"dusk", b"\xff"),
        "start": [None, None],
        "end": [None, None],
    }
    assert signals_in(rows(**columns)) == {"dusk"}
    assert reasons(CHANGING, **columns) == ["unreadable value"], "good signals go no further as rows"


def test_the_first_and_last_day_here_are_those_of_pythons_calendar() -> None:
    first_and_last = days(FIRST_DAY, LAST_DAY)
    assert first_and_last.to_pylist() == [date.min, date.max]
