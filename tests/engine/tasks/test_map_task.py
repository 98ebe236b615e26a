"""The map side: rows to buckets, times to ticks, and the progress of inputs, sources and keys."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from muntin import EARLIEST, INFINITY, hopping
from muntin.progress import bounded_disorder, ordered, punctuated
from muntin.schemas import describe
from muntin_engine.state.cells import MemoryCells
from muntin_engine.tasks import map_task
from muntin_engine.tasks.bucket_rows import read_bucket_rows
from muntin_engine.tasks.bucket_task import run_bucket
from muntin_engine.tasks.input_rows import read_rows
from muntin_engine.time.changes import LATEST, Progress
from muntin_engine.time.progress_tracker import Observation
from muntin_engine.wire.task_payload import TaskPayload
from tests.engine.wire.payloads import IDS, bucket_input, map_output_rows, refusal_reasons, rows, task_of
from tests.modules.columnar import INVERTIBLE

CHANGING = task_of(has_changes=True)


def progress_of(task: TaskPayload, **columns: Any) -> Progress:
    """Return the progress that a map task reads from rows of these columns."""
    return read_rows(task.input, rows(**columns)).progress


def values_of(column: str, task: TaskPayload, **columns: Any) -> list[Any]:
    """Return the values of a column as a map task reads it from rows of these columns."""
    values: list[Any] = read_rows(task.input, rows(**columns)).rows.column(column).to_pylist()
    return values


def number_of_blobs(task: TaskPayload, *batches: pa.RecordBatch) -> int:
    """Return how many blobs of rows a map task sends; its other rows only report progress."""
    return sum(output_row["rows"] is not None for output_row in map_output_rows(task, *batches))


def test_a_task_without_rows_still_reports_to_each_bucket() -> None:
    reports = map_output_rows(task_of())
    assert [report["bucket"] for report in reports] == list(IDS)
    for report in reports:
        assert report["rows"] is None
        assert report["newest"] == EARLIEST


def test_small_batches_are_gathered_into_one_blob() -> None:
    batches = [rows(start=[tick], end=[tick + 1]) for tick in range(50)]
    assert number_of_blobs(task_of(), *batches) == 1


def test_a_blob_is_bounded_by_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(map_task, "MOST_ROWS", 8)
    six_batches_of_four_rows = [rows(start=[tick] * 4, end=[99] * 4) for tick in range(6)]
    assert number_of_blobs(task_of(), *six_batches_of_four_rows) == 3


def test_a_blob_is_bounded_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(map_task, "MOST_WAITING_BYTES", 1)
    six_batches = [rows(start=[tick] * 4, end=[99] * 4) for tick in range(6)]
    assert number_of_blobs(task_of(), *six_batches) == 6


def lifting_task() -> TaskPayload:
    """Return the task of a query whose rows are lifted before the shuffle."""
    (module,) = INVERTIBLE["sums"]
    return task_of(module, (describe(int | None, "x"),), evaluator="columnar")


@pytest.mark.parametrize("ends", [[], [80]], ids=["no row", "a bad row alone"])
def test_a_task_without_a_row_to_lift_sends_no_partial_states(ends: list[int]) -> None:
    """A row that ends before it starts is bad."""
    batch = rows(start=[90] * len(ends), end=ends, i0=[1] * len(ends))
    sent_batches = list(map_task.distribute(lifting_task(), [batch]))
    assert [sent.num_rows for sent in sent_batches if sent.num_rows == 0] == []


def test_a_blob_of_bad_rows_beside_rows_to_lift_is_bounded_by_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(map_task, "MOST_ROWS", 8)
    batch = rows(start=[90] * 20, end=[80] * 20, i0=[1] * 20)
    assert number_of_blobs(lifting_task(), batch) == 3


@pytest.mark.parametrize(
    "times",
    [
        pa.array([datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)], pa.timestamp("us", tz="America/New_York")),
        pa.array([datetime(1970, 1, 1, 0, 0, 1)], pa.timestamp("us")),  # noqa: DTZ001
        pa.array([1_000_000], pa.int32()),
        pa.array([1_000_000], pa.int64()),
    ],
    ids=["time of a zone", "time of no zone", "32 bits", "64 bits"],
)
def test_times_become_ticks(times: pa.Array) -> None:
    assert values_of("start", task_of(), start=times, end=times) == [1_000_000]


TIMES_OF_TOKYO = pa.array([[datetime(2024, 5, 1, 8, tzinfo=UTC)]], pa.list_(pa.timestamp("us", tz="Asia/Tokyo")))


def test_timestamps_travel_in_utc() -> None:
    task = task_of(inputs=(pa.list_(pa.timestamp("us", tz="UTC")),))
    assert values_of("i0", task, start=[1], i0=TIMES_OF_TOKYO) == [[datetime(2024, 5, 1, 8, tzinfo=UTC)]]


def test_timestamps_that_a_module_reads_as_instants_travel_as_ticks() -> None:
    task = task_of(inputs=(pa.list_(pa.int64()),))
    assert values_of("i0", task, start=[1], i0=TIMES_OF_TOKYO) == [[1_714_550_400_000_000]]


def test_a_huge_integer_read_as_a_float_is_rounded_and_not_refused() -> None:
    assert values_of("i0", task_of(inputs=(pa.float64(),)), start=[1], i0=[2**60 + 1]) == [2.0**60]


def test_a_batch_of_punctuation_alone_sends_no_blob() -> None:
    reports = map_output_rows(CHANGING, rows(start=[30], end=[None], change=["punctuate"]))
    assert {(report["rows"], report["watermark"]) for report in reports} == {(None, 30)}


def test_a_close_row_needs_no_time() -> None:
    table, progress, *_ = read_rows(CHANGING.input, rows(start=[None], end=[None], change=["close"]))
    assert table.num_rows == 0
    assert progress == Progress(watermark=INFINITY)


@pytest.mark.parametrize("tick", [LATEST, INFINITY])
def test_punctuation_beyond_all_times_closes_the_input_and_moves_neither_horizon_nor_newest_start(tick: int) -> None:
    changes = {"change": ["insert", "punctuate"], "id": [1, None], "start": [4, tick], "end": [5, None]}
    assert progress_of(CHANGING, **changes) == Progress(watermark=INFINITY, horizon=5, newest=4)


def test_the_horizon_lies_past_starts_and_ends_with_their_reach() -> None:
    assert progress_of(task_of(), start=[4, 6], end=[9, None]) == Progress(horizon=9, newest=6)
    assert progress_of(task_of(), start=[4, 11], end=[9, None]) == Progress(horizon=12, newest=11)
    with_reach = task_of(plan={"window": hopping(10, 10, reach=5)})
    assert progress_of(with_reach, start=[4], end=[9]) == Progress(horizon=9 + 5, newest=4)


def test_a_new_end_moves_the_horizon_and_not_the_newest_start() -> None:
    progress = progress_of(CHANGING, start=[4], end=[9], new_end=[40], id=[1], change=["revise"])
    assert progress == Progress(horizon=40)


def test_a_bad_row_says_nothing_about_progress() -> None:
    assert progress_of(task_of(), start=[90], end=[80]) == Progress()


def test_a_row_that_a_module_does_not_accept_says_how_far_the_input_is() -> None:
    assert progress_of(task_of(), start=[90], end=[95], i0=[None]) == Progress(horizon=95, newest=90)


# What a task of the map side says of progress: of the whole input, of each source, and of keys.


SOURCES = ("north", "south")


def task_with_sources(**parts: Any) -> TaskPayload:
    """Return a task whose input has two sources, each in order of time, and which has other parts."""
    return task_of(has_changes=True, policy=ordered(), sources=SOURCES, **parts)


def row(change: str, start: int | None, source: str | None) -> dict[str, Any]:
    """Return a row of a source."""
    return {"change": change, "start": start, "source": source}


def batch_of(*changes: dict[str, Any]) -> pa.RecordBatch:
    """Return rows of sources as a batch, without ends."""
    return rows(
        change=[change["change"] for change in changes],
        start=[change["start"] for change in changes],
        end=[None] * len(changes),
        source=pa.array([change["source"] for change in changes], pa.string()),
    )


def test_punctuation_without_a_source_is_of_all_sources() -> None:
    batch = batch_of(row("punctuate", start=7, source=None), row("close", start=None, source="south"))
    read = read_rows(task_with_sources().input, batch)
    assert sorted(read.observations, key=str) == [
        Observation("south", watermark=INFINITY),
        Observation(None, watermark=7),
    ]
    assert read.progress.watermark == 7


def test_a_row_of_an_undeclared_source_is_rejected_and_says_nothing_about_progress() -> None:
    task = task_with_sources()
    batch = batch_of(
        row("insert", start=5, source="west"),
        row("insert", start=6, source=None),
        row("punctuate", start=9, source="west"),
        row("insert", start=3, source="north"),
    )
    assert read_rows(task.input, batch).observations == [Observation("north", newest=3, rows=1)]
    bucket_rows = read_bucket_rows(task, bucket_input(task, batch).rows)
    assert refusal_reasons(bucket_rows.rejected) == ["undeclared source"] * 3


def test_only_the_largest_starts_are_kept_however_many_rows_come() -> None:
    task = task_of(policy=bounded_disorder(2), buckets=1)
    batches = [rows(start=list(range(first, first + 50)), end=[None] * 50) for first in (100, 0, 40)]
    (observation,) = bucket_input(task, *batches).reports[0].observations
    assert observation == Observation(None, newest=149, rows=3 * 50, latest=(149, 148, 147))


def test_a_reading_of_a_clock_is_progress_and_no_row_of_any_source() -> None:
    batch = batch_of(row("clock", start=50, source=None), row("clock", start=40, source="anyone"))
    read = read_rows(task_with_sources().input, batch)
    assert read.rows.num_rows == 0
    assert read.observations == []
    assert read.progress == Progress(clock=50)


@pytest.mark.parametrize(("tick", "key_watermark"), [(7, 7), (LATEST, INFINITY)])
def test_punctuation_of_a_key_travels_with_its_key_and_is_no_event(tick: int, key_watermark: int) -> None:
    task = task_of(has_changes=True, policy=punctuated().with_key_punctuation())
    changes = rows(start=[5, tick], end=[9, None], change=["insert", "punctuate_key"], k0=["a", "b"])
    arrivals = bucket_input(task, changes)
    assert arrivals.reports[0].progress == Progress(horizon=9, newest=5), "punctuation of one key moves no watermark"

    bucket_rows = read_bucket_rows(task, arrivals.rows)
    assert bucket_rows.key_watermarks == [[(("b",), key_watermark)]]
    assert [key for key, _ in bucket_rows.changes] == [("a",)]


def test_a_key_cannot_punctuate_itself_unless_the_policy_says_so() -> None:
    task = task_of(has_changes=True)
    arrivals = bucket_input(task, rows(start=[70], end=[None], change=["punctuate_key"]))
    assert refusal_reasons(read_bucket_rows(task, arrivals.rows).rejected) == ["undeclared punctuation"]
    assert arrivals.reports[0].progress == Progress()


def counts_of(task: TaskPayload, bucket: int, cells: MemoryCells, batch: pa.RecordBatch) -> dict[str, int]:
    """Run a micro-batch of a bucket, and return the counts of its rows, of all and of each source."""
    counts: dict[str, int] = {}
    for blob in run_bucket(task, bucket, cells, bucket_input(task, batch)):
        if re.match("accepted|results|late$|late_south|rows_", blob.stream):
            counts[blob.stream] = blob.rows
    return counts


def test_rows_of_a_source_are_counted_by_the_first_bucket_alone_and_its_late_rows_by_each_that_has_them() -> None:
    task = task_with_sources(buckets=1)
    first_batch = batch_of(
        row("insert", start=5, source="north"),
        row("insert", start=25, source="north"),
        row("insert", start=30, source="south"),
    )
    second_batch = batch_of(row("insert", start=3, source="south"), row("insert", start=33, source="south"))
    first_bucket, second_bucket, *_ = IDS

    cells = MemoryCells()
    counts = counts_of(task, first_bucket, cells, first_batch)
    assert counts == {"accepted": 3, "rows_north": 2, "rows_south": 1, "results": 2}
    counts = counts_of(task, first_bucket, cells, second_batch)
    assert counts == {"accepted": 1, "late": 1, "rows_south": 2, "late_south": 1}

    # what the second bucket would count, had it these rows
    cells = MemoryCells()
    counts_of(task, second_bucket, cells, first_batch)
    counts = counts_of(task, second_bucket, cells, second_batch)
    assert counts == {"accepted": 1, "late": 1, "late_south": 1}
