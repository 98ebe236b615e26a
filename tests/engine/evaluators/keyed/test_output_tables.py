"""Output of buckets as typed rows: results, events for another query, rows that were set aside, watermarks."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from muntin import EARLIEST, INFINITY, Aggregate, Event, Operator, Window
from muntin.errors import ModuleContractError
from muntin_engine.evaluators.keyed import output_tables as output
from muntin_engine.evaluators.keyed.output_tables import result_tables
from muntin_engine.time.changes import InputChange, OutputChange, OutputKind, Reason, Rejection
from muntin_engine.wire.blob_readers import BlobReader, EventReader, WatermarkReader
from muntin_engine.wire.blobs import to_blob
from muntin_engine.wire.side_output import row_as_json, side_output_row, side_output_table
from tests.engine.wire.payloads import TICKS, X, task_of

FIRST_WINDOW = Window(0, 10)


@dataclass
class Pair:
    left: int
    right: str | None


class Pairs(Operator[int, Pair]):
    """An operator whose rows are records."""

    name, version = "show.pairs", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> list[Pair]:
        return []


class Numbers(Operator[int, int]):
    """An operator whose rows are plain values."""

    name, version = "show.numbers", "1.0.0"
    is_time_sensitive = True

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> list[int]:
        return []


class Largest(Aggregate[int, int]):
    name, version = "show.largest", "2.0.0"

    def compute_result(self, payloads: Sequence[int]) -> int:
        return max(payloads)


def insertion(value: Any, window: Window = FIRST_WINDOW, start: int = 0, end: int = 10, id: int = 1) -> OutputChange:
    return OutputChange(OutputKind.INSERT, id, window, start, end, value)


def schema(*columns: tuple[str, pa.DataType]) -> pa.Schema:
    """Return the schema of results with the columns of a module."""
    return pa.schema([("key", pa.string()), ("window", TICKS), *columns])


def rows_of(task: Any, *changes: OutputChange, key: Any = "a") -> list[dict[str, Any]]:
    """Return changes of a key as rows of results."""
    rows: list[dict[str, Any]] = []
    for table in result_tables(task, [((key,), changes)]):
        rows += table.to_pylist()
    return rows


def test_the_fields_of_an_operators_row_become_columns() -> None:
    task = task_of(Pairs(), results=schema(("left", pa.int64()), ("right", pa.string())))
    key_and_window = {"key": "a", "window": {"start": 0, "end": 10}}
    assert rows_of(task, insertion(Pair(1, "x")), insertion(Pair(2, None))) == [
        key_and_window | {"left": 1, "right": "x"},
        key_and_window | {"left": 2, "right": None},
    ]


def test_an_operators_row_that_is_a_plain_value_is_the_column_value() -> None:
    task = task_of(Numbers(), results=schema(("value", pa.int64())))
    assert rows_of(task, insertion(7)) == [{"key": "a", "window": {"start": 0, "end": 10}, "value": 7}]


def test_changes_of_the_output_have_columns_for_lifetime_kind_id_and_new_end() -> None:
    columns = [("lifetime", TICKS), ("change", pa.string()), ("event_id", pa.int64()), ("new_end", pa.int64())]
    task = task_of(Numbers(), results=schema(*columns, ("value", pa.int64())))
    inserted = insertion(7, start=3, end=INFINITY, id=5)
    revised = OutputChange(OutputKind.REVISE, 5, FIRST_WINDOW, start=3, end=INFINITY, value=7, new_end=8)
    columns_of_both = {
        "key": "a",
        "window": {"start": 0, "end": 10},
        "value": 7,
        "event_id": 5,
        "lifetime": {"start": 3, "end": None},
    }
    assert rows_of(task, inserted, revised) == [
        columns_of_both | {"change": "insert", "new_end": None},
        columns_of_both | {"change": "revise", "new_end": 8},
    ]


@pytest.mark.parametrize(
    ("key_type", "key"),
    [
        (pa.list_(pa.int64()), [1, None]),
        (pa.struct([("x", pa.int64()), ("y", pa.list_(pa.string()))]), {"x": None, "y": ["a"]}),
        (pa.binary(), b"\xff"),
    ],
)
def test_a_key_of_any_type_comes_back_as_it_was(key_type: pa.DataType, key: Any) -> None:
    results = pa.schema([("key", key_type), ("window", TICKS), ("m", pa.list_(pa.int64()))])
    (row,) = rows_of(task_of(keys=(key_type,), results=results), insertion(([],)), key=key)
    assert row["key"] == key


@pytest.mark.parametrize(
    ("limit", "value", "rows_by_table"), [("MOST_ROWS", 4, [4, 4, 2]), ("MOST_BYTES", 1, [1] * 10)]
)
def test_tables_of_output_are_bounded_by_rows_and_by_bytes(
    limit: str, value: int, rows_by_table: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    ten_changes = [insertion(([number],)) for number in range(10)]
    monkeypatch.setattr(output, limit, value)
    tables = result_tables(task_of(), [(("a",), ten_changes)])
    assert [table.num_rows for table in tables] == rows_by_table


def test_the_error_for_a_value_of_another_type_names_module_value_key_and_window() -> None:
    task = task_of(Largest(), results=schema(("m", pa.int64())))
    with pytest.raises(ModuleContractError) as caught:
        rows_of(task, insertion((1,)), insertion(("two",), Window(10, 20)), key="north")
    assert str(caught.value) == (
        "show.largest 2.0.0 returned a value that is not what it declares: "
        "'m' is 'two' of type str, declared integer | None\n"
        "  key: ('north',)\n  window: [10, 20)\n"
        "  return what the class declares in its brackets, or declare what it returns"
    )


@pytest.mark.parametrize("row", [5, {"left": 1}, ("a", "b", "c")])
def test_a_row_without_the_declared_fields_is_refused(row: Any) -> None:
    results = schema(("left", pa.int64()), ("right", pa.string()))
    task = task_of(Pairs(), (X,), results=results)
    with pytest.raises(ModuleContractError, match=r"show\.pairs 1\.0\.0 .*declared struct<left: integer"):
        rows_of(task, insertion(Pair(1, "x")), insertion(row))


# What comes out of buckets as typed rows: results, events for another query, and rows with a watermark.


EXTENT = pa.struct([("start", pa.int64()), ("end", pa.int64())])
RESULT_COLUMNS = [("window", EXTENT), ("n", pa.int64())]
EVENTS = pa.schema([*RESULT_COLUMNS, ("__muntin_change", pa.string()), ("__muntin_source", pa.string())])
RESULTS_AND_MARK = pa.schema([*RESULT_COLUMNS, ("mark", pa.int64())])

NARROW_EXTENT = pa.struct([("start", pa.int32()), ("end", pa.int32())])
RESULTS = pa.table({"window": pa.array([{"start": 0, "end": 10}], NARROW_EXTENT), "n": pa.array([3], pa.int32())})
"""A row of results, in narrower types than those of the schemas."""


class BucketBlob(NamedTuple):
    """A blob that a bucket puts out: a table and its number of rows, or a watermark alone."""

    bucket: int
    rows_or_watermark: int
    table: pa.Table | None = None


def results_of(bucket: int, table: pa.Table = RESULTS) -> BucketBlob:
    return BucketBlob(bucket, table.num_rows, table)


def watermark_of(bucket: int, watermark: int) -> BucketBlob:
    return BucketBlob(bucket, watermark)


def blob_batch(*blobs: BucketBlob) -> pa.RecordBatch:
    """Return blobs as a batch of the rows that buckets put out."""
    data = [None if blob.table is None else to_blob(blob.table) for blob in blobs]
    columns = {
        "bucket": [blob.bucket for blob in blobs],
        "rows": [blob.rows_or_watermark for blob in blobs],
        "data": pa.array(data, pa.binary()),
    }
    return pa.record_batch(columns)


def read(reader: BlobReader, *batches: pa.RecordBatch) -> list[dict[str, Any]]:
    """Return the rows that a reader makes of batches of blobs."""
    rows: list[dict[str, Any]] = []
    for output_batch in reader(batches):
        rows += output_batch.to_pylist()
    return rows


def test_results_get_the_types_of_the_schema() -> None:
    reader = BlobReader(pa.schema(RESULT_COLUMNS))
    for batch in reader([blob_batch(results_of(bucket=5), results_of(bucket=6))]):
        assert batch.schema == pa.schema(RESULT_COLUMNS)


def test_a_reader_of_results_has_the_rows_of_all_buckets() -> None:
    reader = BlobReader(pa.schema(RESULT_COLUMNS))
    rows = read(reader, blob_batch(results_of(bucket=5), results_of(bucket=6)))
    assert rows == [{"window": {"start": 0, "end": 10}, "n": 3}] * 2


def test_a_reader_of_results_ignores_watermarks() -> None:
    reader = BlobReader(pa.schema(RESULT_COLUMNS))
    assert read(reader, blob_batch(watermark_of(bucket=5, watermark=7))) == []


@pytest.mark.parametrize(
    ("watermark", "change", "start"), [(20, "punctuate", 20), (INFINITY, "close", None)], ids=["punctuation", "end"]
)
def test_results_and_watermarks_are_events_whose_source_is_their_bucket(
    watermark: int, change: str, start: int | None
) -> None:
    batch = blob_batch(results_of(bucket=5), watermark_of(6, watermark))
    assert read(EventReader(EVENTS, "window"), batch) == [
        {"window": {"start": 0, "end": 10}, "n": 3, "__muntin_change": "insert", "__muntin_source": "5"},
        {"window": {"start": start, "end": None}, "n": None, "__muntin_change": change, "__muntin_source": "6"},
    ]


def test_a_retracted_result_is_an_event_that_is_retracted() -> None:
    events_with_change = EVENTS.insert(2, pa.field("change", pa.string()))
    retracted = RESULTS.append_column("change", pa.array(["retract"]))
    (event,) = read(EventReader(events_with_change, "window"), blob_batch(results_of(5, retracted)))
    assert event["__muntin_change"] == "retract"


def test_a_watermark_is_a_row_with_the_last_tick_before_it() -> None:
    batch = blob_batch(results_of(bucket=5), watermark_of(6, watermark=20))
    assert read(WatermarkReader(RESULTS_AND_MARK), batch) == [
        {"window": {"start": 0, "end": 10}, "n": 3, "mark": None},
        {"window": None, "n": None, "mark": 19},
    ]


def test_the_watermark_at_the_end_of_the_stream_is_in_the_last_year_of_the_calendar() -> None:
    (row,) = read(WatermarkReader(RESULTS_AND_MARK), blob_batch(watermark_of(6, watermark=INFINITY)))
    end_of_year_9999 = 253_402_300_800_000_000
    assert row["mark"] == end_of_year_9999 - 2


def test_of_the_watermarks_of_several_buckets_the_least_counts_in_whichever_batches_they_come() -> None:
    reader = WatermarkReader(RESULTS_AND_MARK)
    watermarks = blob_batch(watermark_of(bucket=6, watermark=30), watermark_of(bucket=7, watermark=20))
    results_and_watermark = blob_batch(results_of(bucket=5), watermark_of(bucket=8, watermark=40))
    for batches in ([watermarks, results_and_watermark], [results_and_watermark, watermarks]):
        marks = [row["mark"] for row in read(reader, *batches)]
        assert marks == [None, 19], "a row of results, and one for all watermarks; none of an earlier run"


def test_there_is_no_watermark_if_a_bucket_has_none_yet() -> None:
    batch = blob_batch(watermark_of(bucket=6, watermark=30), watermark_of(bucket=7, watermark=EARLIEST))
    assert read(WatermarkReader(RESULTS_AND_MARK), batch) == []


@pytest.mark.parametrize("reader", [EventReader(EVENTS, "window"), WatermarkReader(RESULTS_AND_MARK)])
def test_before_the_first_watermark_there_is_no_row_for_one(reader: BlobReader) -> None:
    assert read(reader, blob_batch(watermark_of(bucket=6, watermark=EARLIEST))) == []


# Rows that were set aside, late or rejected, as JSON.


NAMES = {
    "k0": "station",
    "change": "what",
    "id": "ride",
    "start": "since",
    "end": "until",
    "new_end": "back",
    "i0": "km",
}


def results_with_times(time_type: pa.DataType) -> pa.Schema:
    """Return a schema of results: rows that are set aside have their times in its type, too."""
    window = pa.struct([("start", time_type), ("end", time_type)])
    return pa.schema([("key", pa.string()), ("window", window), ("m", pa.int64())])


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
    ("time_type", "expected"),
    [
        (pa.int64(), 1_500_000),
        (pa.timestamp("us", tz="UTC"), "1970-01-01T00:00:01.500000+00:00"),
        (pa.timestamp("us"), "1970-01-01T00:00:01.500000"),
    ],
)
def test_times_are_written_in_the_type_of_the_querys_times(time_type: pa.DataType, expected: Any) -> None:
    task = task_of(names=NAMES, results=results_with_times(time_type))
    row = json.loads(row_as_json(task.input, {"start": 1_500_000, "end": INFINITY, "new_end": None}))
    assert row == {"since": expected, "until": None, "back": None}


def test_a_time_beyond_the_calendar_stays_a_number() -> None:
    task = task_of(names=NAMES, results=results_with_times(pa.timestamp("us", tz="UTC")))
    assert json.loads(row_as_json(task.input, {"start": 2**61})) == {"since": 2**61}


@pytest.mark.parametrize(("new_end", "kind"), [(None, "insert"), (8, "revise"), (3, "retract")])
def test_a_late_row_is_written_as_it_came_in(new_end: int | None, kind: str) -> None:
    change = InputChange(id=5, start=3, end=9, payload=(1.5,), new_end=new_end)
    row = side_output_row(task_of(names=NAMES), ("north",), Rejection(Reason.LATE, "it came late", change))
    assert row.is_late
    assert row.reason == "late"
    assert row.message == "it came late"
    assert json.loads(row.row) == {
        "station": "north",
        "what": kind,
        "ride": 5,
        "since": 3,
        "until": 9,
        "back": new_end,
        "km": 1.5,
    }


@pytest.mark.parametrize(
    ("time_type", "lateness_type", "expected"),
    [
        (pa.int64(), pa.int64(), 90_000_000),
        (pa.decimal128(19, 2), pa.decimal128(19, 2), Decimal("900000.00")),
        (pa.timestamp("us", tz="UTC"), pa.duration("us"), timedelta(seconds=90)),
        (pa.timestamp("us"), pa.duration("us"), timedelta(seconds=90)),
    ],
    ids=str,
)
def test_lateness_is_an_interval_between_timestamps_and_a_number_between_numbers(
    time_type: pa.DataType, lateness_type: pa.DataType, expected: object
) -> None:
    task = task_of(names=NAMES, results=results_with_times(time_type))
    change = InputChange(id=5, start=3, end=9, payload=(1.5,))
    late = Rejection(Reason.LATE, "it came late", change, late_by=90_000_000)
    after_the_end = Rejection(Reason.LATE, "it came after the end of the stream", change)

    rows = [side_output_row(task, ("north",), rejection) for rejection in (late, after_the_end)]
    table = side_output_table(task, rows)
    assert table.schema.field("late_by").type == lateness_type
    assert table.column("late_by").to_pylist() == [expected, None]


def test_a_row_that_is_rejected_for_another_reason_is_not_late() -> None:
    change = InputChange(id=5, start=3, end=INFINITY, payload=(1.5,))
    rejection = Rejection(Reason.DUPLICATE_ID, "an event with this id is alive", change)
    assert not side_output_row(task_of(names=NAMES), ("north",), rejection).is_late
