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

W = Window(0, 10)


@dataclass
class Pair:
    left: int
    right: str | None


class Pairs(Operator[int, Pair]):
    name, version = "show.pairs", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> list[Pair]:
        return []


class Numbers(Operator[int, int]):
    name, version = "show.numbers", "1.0.0"
    is_time_sensitive = True

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> list[int]:
        return []


class Largest(Aggregate[int, int]):
    name, version = "show.largest", "2.0.0"

    def compute_result(self, payloads: Sequence[int]) -> int:
        return max(payloads)


def insertion(value: Any, window: Window = W, start: int = 0, end: int = 10, id: int = 1) -> OutputChange:
    return OutputChange(OutputKind.INSERT, id, window, start, end, value)


def schema(*columns: tuple[str, pa.DataType], of: pa.DataType = TICKS) -> pa.Schema:
    return pa.schema([("key", pa.string()), ("window", of), *columns])


def rows_of(task: Any, *changes: OutputChange, key: Any = "a") -> list[dict[str, Any]]:
    """Return the rows of the tables that changes of a key make."""
    rows: list[dict[str, Any]] = []
    for table in result_tables(task, [((key,), changes)]):
        rows += table.to_pylist()
    return rows


def test_the_fields_of_an_operators_row_become_columns() -> None:
    task = task_of(
        Pairs(),
        results=schema(("left", pa.int64()), ("right", pa.string())),
    )
    shown = {"key": "a", "window": {"start": 0, "end": 10}}
    assert rows_of(task, insertion(Pair(1, "x")), insertion(Pair(2, None))) == [
        shown | {"left": 1, "right": "x"},
        shown | {"left": 2, "right": None},
    ]


def test_a_plain_row_is_one_column_and_changes_carry_lifetime_id_and_new_end() -> None:
    columns = [("lifetime", TICKS), ("change", pa.string()), ("event_id", pa.int64()), ("new_end", pa.int64())]
    task = task_of(Numbers(), results=schema(*columns, ("value", pa.int64())))
    revision = OutputChange(OutputKind.REVISE, 5, W, 3, INFINITY, 7, 8)
    shown = {"key": "a", "window": {"start": 0, "end": 10}, "value": 7}
    assert rows_of(task, insertion(7, start=3, end=INFINITY, id=5), revision) == [
        shown | {"lifetime": {"start": 3, "end": None}, "change": "insert", "event_id": 5, "new_end": None},
        shown | {"lifetime": {"start": 3, "end": None}, "change": "revise", "event_id": 5, "new_end": 8},
    ]


@pytest.mark.parametrize(
    ("of", "key"),
    [
        (pa.list_(pa.int64()), [1, None]),
        (pa.struct([("x", pa.int64()), ("y", pa.list_(pa.string()))]), {"x": None, "y": ["a"]}),
        (pa.binary(), b"\xff"),
    ],
)
def test_a_key_of_any_type_comes_back_as_it_was(of: pa.DataType, key: Any) -> None:
    results = pa.schema([("key", of), ("window", TICKS), ("m", pa.list_(pa.int64()))])
    assert rows_of(task_of(keys=(of,), results=results), insertion(([],)), key=key)[0]["key"] == key


def test_blobs_of_output_are_bounded_by_rows_and_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [(("a",), [insertion(([place],)) for place in range(10)])]
    monkeypatch.setattr(output, "MOST_ROWS", 4)
    assert [table.num_rows for table in result_tables(task_of(), lines)] == [4, 4, 2]
    monkeypatch.setattr(output, "MOST_BYTES", 1)
    assert [table.num_rows for table in result_tables(task_of(), lines)] == [1] * 10


def test_a_value_of_another_type_names_module_key_window_and_value() -> None:
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
def test_a_row_without_the_declared_fields_is_no_row(row: Any) -> None:
    results = schema(("left", pa.int64()), ("right", pa.string()))
    task = task_of(Pairs(), (X,), results=results)
    with pytest.raises(ModuleContractError, match=r"show\.pairs 1\.0\.0 .*declared struct<left: integer"):
        rows_of(task, insertion(Pair(1, "x")), insertion(row))


# What comes out of buckets as typed rows: results, events for another query, and rows with a watermark.


EXTENT = pa.struct([("start", pa.int64()), ("end", pa.int64())])
NARROW = pa.struct([("start", pa.int32()), ("end", pa.int32())])
RESULTS = pa.table({"window": pa.array([{"start": 0, "end": 10}], NARROW), "n": pa.array([3], pa.int32())})
TYPED = [("window", EXTENT), ("n", pa.int64())]
EVENTS = pa.schema([*TYPED, ("__muntin_change", pa.string()), ("__muntin_source", pa.string())])
MARKED = pa.schema([*TYPED, ("mark", pa.int64())])


class BucketBlob(NamedTuple):
    """A blob of a bucket: a table and its number of rows, or a tick alone."""

    bucket: int
    number: int
    table: pa.Table | None = None


def blob_batch(*blobs: BucketBlob) -> pa.RecordBatch:
    """Return blobs as a batch of the rows that buckets put out."""
    data = [None if blob.table is None else to_blob(blob.table) for blob in blobs]
    buckets = [blob.bucket for blob in blobs]
    numbers = [blob.number for blob in blobs]
    return pa.record_batch([buckets, numbers, pa.array(data, pa.binary())], names=["bucket", "rows", "data"])


def read(reader: BlobReader, *batches: pa.RecordBatch) -> list[dict[str, Any]]:
    """Return the rows that a reader makes of batches of blobs."""
    rows: list[dict[str, Any]] = []
    for output_batch in reader(batches):
        rows += output_batch.to_pylist()
    return rows


def test_rows_get_the_types_of_the_schema() -> None:
    reader = BlobReader(pa.schema(TYPED))
    results = blob_batch(BucketBlob(5, 1, RESULTS), BucketBlob(6, 1, RESULTS))
    assert read(reader, results) == [{"window": {"start": 0, "end": 10}, "n": 3}] * 2
    assert read(reader, blob_batch(BucketBlob(5, 7))) == []


@pytest.mark.parametrize(
    ("tick", "change", "start"), [(20, "punctuate", 20), (INFINITY, "close", None)], ids=["punctuation", "end"]
)
def test_events_say_what_they_do_and_whose_they_are(tick: int, change: str, start: int | None) -> None:
    retracted = RESULTS.append_column("change", pa.array(["retract"]))
    batch = blob_batch(BucketBlob(5, 1, RESULTS), BucketBlob(6, tick))
    assert read(EventReader(EVENTS, "window"), batch) == [
        {"window": {"start": 0, "end": 10}, "n": 3, "__muntin_change": "insert", "__muntin_source": "5"},
        {"window": {"start": start, "end": None}, "n": None, "__muntin_change": change, "__muntin_source": "6"},
    ]
    schema = EVENTS.insert(2, pa.field("change", pa.string()))
    (retraction,) = read(EventReader(schema, "window"), blob_batch(BucketBlob(5, 1, retracted)))
    assert retraction["__muntin_change"] == "retract"


def test_a_watermark_is_a_row_that_holds_the_last_time_before_it() -> None:
    batch = blob_batch(BucketBlob(5, 1, RESULTS), BucketBlob(6, 20))
    assert read(WatermarkReader(MARKED), batch) == [
        {"window": {"start": 0, "end": 10}, "n": 3, "mark": None},
        {"window": None, "n": None, "mark": 19},
    ]
    (closed,) = read(WatermarkReader(MARKED), blob_batch(BucketBlob(6, INFINITY)))
    assert closed["mark"] == 253_402_300_799_999_998


def test_of_several_watermarks_the_least_counts_however_they_come() -> None:
    reader = WatermarkReader(MARKED)
    watermarks = blob_batch(BucketBlob(6, 30), BucketBlob(7, 20))
    results_and_watermark = blob_batch(BucketBlob(5, 1, RESULTS), BucketBlob(8, 40))
    for batches in ([watermarks, results_and_watermark], [results_and_watermark, watermarks]):
        marks = [row["mark"] for row in read(reader, *batches)]
        assert marks == [None, 19]  # a row of results, and one of all watermarks; nothing is left of the run before
    one_without_watermark = blob_batch(BucketBlob(6, 30), BucketBlob(7, EARLIEST))
    assert read(reader, one_without_watermark) == []


@pytest.mark.parametrize("reader", [EventReader(EVENTS, "window"), WatermarkReader(MARKED)])
def test_before_anything_is_known_there_is_no_watermark(reader: BlobReader) -> None:
    assert read(reader, blob_batch(BucketBlob(6, EARLIEST))) == []


# Rows that were set aside, as JSON.


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


@pytest.mark.parametrize(
    ("times", "of", "expected"),
    [
        (pa.int64(), pa.int64(), 90_000_000),
        (pa.decimal128(19, 2), pa.decimal128(19, 2), Decimal("900000.00")),
        (pa.timestamp("us", tz="UTC"), pa.duration("us"), timedelta(seconds=90)),
        (pa.timestamp("us"), pa.duration("us"), timedelta(seconds=90)),
    ],
    ids=str,
)
def test_lateness_is_an_interval_between_timestamps_and_a_number_between_numbers(
    times: pa.DataType, of: pa.DataType, expected: object
) -> None:
    task = task_of(names=NAMES, results=extent(times))
    late = Rejection(Reason.LATE, "it came late", InputChange(5, 3, 9, (1.5,)), late_by=90_000_000)
    after_the_end = Rejection(Reason.LATE, "it came after the end", InputChange(6, 3, 9, (1.5,)))
    table = side_output_table(task, [side_output_row(task, ("north",), row) for row in (late, after_the_end)])
    assert table.schema.field("late_by").type == of
    assert table.column("late_by").to_pylist() == [expected, None]


def test_only_a_late_row_is_late() -> None:
    rejection = Rejection(Reason.DUPLICATE_ID, "it is there", InputChange(5, 3, INFINITY, (1.5,)))
    assert not side_output_row(task_of(names=NAMES), ("north",), rejection).is_late
