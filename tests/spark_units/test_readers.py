"""What comes out of buckets as typed rows: results, events for another query, and rows with a watermark."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from muntin import EARLIEST, INFINITY
from muntin_engine.exchange.readers import BlobReader, EventReader, WatermarkReader
from muntin_engine.exchange.shuffle import to_blob

EXTENT = pa.struct([("start", pa.int64()), ("end", pa.int64())])
NARROW = pa.struct([("start", pa.int32()), ("end", pa.int32())])
RESULTS = pa.table({"window": pa.array([{"start": 0, "end": 10}], NARROW), "n": pa.array([3], pa.int32())})
TYPED = [("window", EXTENT), ("n", pa.int64())]
EVENTS = pa.schema([*TYPED, ("__muntin_change", pa.string()), ("__muntin_source", pa.string())])
MARKED = pa.schema([*TYPED, ("mark", pa.int64())])


def read(reader: BlobReader, *given: tuple[int, int, pa.Table | None]) -> list[dict[str, Any]]:
    """Return the rows of output: the bucket, how many rows or which tick, and a table if it is rows."""
    buckets, numbers, tables = zip(*given, strict=True)
    blobs = [None if table is None else to_blob(table) for table in tables]
    batch = pa.record_batch([buckets, numbers, pa.array(blobs, pa.binary())], names=["bucket", "rows", "data"])
    return [row for found in reader([batch]) for row in found.to_pylist()]


def test_rows_get_the_types_of_the_schema() -> None:
    reader = BlobReader(pa.schema(TYPED))
    assert read(reader, (5, 1, RESULTS), (6, 1, RESULTS)) == [{"window": {"start": 0, "end": 10}, "n": 3}] * 2
    assert read(reader, (5, 7, None)) == []


@pytest.mark.parametrize(
    ("tick", "change", "start"), [(20, "punctuate", 20), (INFINITY, "close", None)], ids=["punctuation", "end"]
)
def test_events_say_what_they_do_and_whose_they_are(tick: int, change: str, start: int | None) -> None:
    retracted = RESULTS.append_column("change", pa.array(["retract"]))
    assert read(EventReader(EVENTS, "window"), (5, 1, RESULTS), (6, tick, None)) == [
        {"window": {"start": 0, "end": 10}, "n": 3, "__muntin_change": "insert", "__muntin_source": "5"},
        {"window": {"start": start, "end": None}, "n": None, "__muntin_change": change, "__muntin_source": "6"},
    ]
    schema = EVENTS.insert(2, pa.field("change", pa.string()))
    assert read(EventReader(schema, "window"), (5, 1, retracted))[0]["__muntin_change"] == "retract"


def test_a_watermark_is_a_row_that_holds_the_last_time_before_it() -> None:
    assert read(WatermarkReader(MARKED), (5, 1, RESULTS), (6, 20, None)) == [
        {"window": {"start": 0, "end": 10}, "n": 3, "mark": None},
        {"window": None, "n": None, "mark": 19},
    ]
    (closed,) = read(WatermarkReader(MARKED), (6, INFINITY, None))
    assert closed["mark"] == 253_402_300_799_999_998


def test_of_several_watermarks_the_least_counts_however_they_come() -> None:
    reader = WatermarkReader(MARKED)
    batches = [[(6, 30, None), (7, 20, None)], [(5, 1, RESULTS), (8, 40, None)]]
    for given in (batches, batches[::-1]):
        blobs = [
            pa.record_batch(
                [
                    [bucket for bucket, _, _ in rows],
                    [number for _, number, _ in rows],
                    pa.array([None if table is None else to_blob(table) for _, _, table in rows], pa.binary()),
                ],
                names=["bucket", "rows", "data"],
            )
            for rows in given
        ]
        found = [row["mark"] for batch in reader(blobs) for row in batch.to_pylist()]
        assert found == [None, 19]  # a row of results, and one of all watermarks; nothing is left of the run before
    assert read(reader, (6, 30, None), (7, EARLIEST, None)) == [], "one bucket knows nothing yet"


@pytest.mark.parametrize("reader", [EventReader(EVENTS, "window"), WatermarkReader(MARKED)])
def test_before_anything_is_known_there_is_no_watermark(reader: BlobReader) -> None:
    assert read(reader, (6, EARLIEST, None)) == []
