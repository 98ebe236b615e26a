"""The map side: rows to buckets, times to ticks, and the progress of inputs, sources and keys."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from muntin import EARLIEST, INFINITY, hopping
from muntin.progress import bounded_disorder, ordered, punctuated
from muntin_engine.state.cells import MemoryCells
from muntin_engine.tasks import map_task
from muntin_engine.tasks.bucket_rows import read_bucket_rows
from muntin_engine.tasks.bucket_task import run_bucket
from muntin_engine.tasks.input_rows import read_rows
from muntin_engine.time.changes import LATEST, Progress
from muntin_engine.time.progress_tracker import Observation
from muntin_engine.wire.task_payload import TaskPayload
from tests.engine.wire.payloads import IDS, bucket_input, map_output_rows, refusal_reasons, rows, task_of

CHANGING = task_of(has_changes=True)


def progress_of(task: TaskPayload, **columns: Any) -> Progress:
    return read_rows(task.input, rows(**columns)).progress


def column(task: TaskPayload, name: str, **columns: Any) -> list[Any]:
    values: list[Any] = read_rows(task.input, rows(**columns)).rows.column(name).to_pylist()
    return values


def test_a_task_without_rows_still_reports() -> None:
    assert [(row["bucket"], row["rows"], row["newest"]) for row in map_output_rows(task_of())] == [
        (bucket, None, EARLIEST) for bucket in IDS
    ]


def test_small_batches_are_gathered_into_one_blob() -> None:
    batches = [rows(start=[tick], end=[tick + 1]) for tick in range(50)]
    assert sum(row["rows"] is not None for row in map_output_rows(task_of(), *batches)) == 1


def test_a_blob_is_bounded_by_rows_and_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = [rows(start=[tick] * 4, end=[99] * 4) for tick in range(6)]
    monkeypatch.setattr(map_task, "MOST_ROWS", 8)
    assert sum(row["rows"] is not None for row in map_output_rows(task_of(), *batches)) == 3
    monkeypatch.setattr(map_task, "MOST_WAITING_BYTES", 1)
    assert sum(row["rows"] is not None for row in map_output_rows(task_of(), *batches)) == 6


@pytest.mark.parametrize(
    "times",
    [
        pa.array([datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)], pa.timestamp("us", tz="America/New_York")),
        pa.array([datetime(1970, 1, 1, 0, 0, 1)], pa.timestamp("us")),  # noqa: DTZ001
        pa.array([1_000_000], pa.int32()),
        pa.array([1_000_000], pa.int64()),
    ],
)
def test_times_become_ticks(times: pa.Array) -> None:
    assert column(task_of(), "start", start=times, end=times) == [1_000_000]


def test_timestamps_travel_in_utc_and_instants_as_ticks() -> None:
    at = pa.array([[datetime(2024, 5, 1, 8, tzinfo=UTC)]], pa.list_(pa.timestamp("us", tz="Asia/Tokyo")))
    in_utc = task_of(inputs=(pa.list_(pa.timestamp("us", tz="UTC")),))
    assert column(in_utc, "i0", start=[1], i0=at) == [[datetime(2024, 5, 1, 8, tzinfo=UTC)]]
    as_ticks = task_of(inputs=(pa.list_(pa.int64()),))
    assert column(as_ticks, "i0", start=[1], i0=at) == [[1_714_550_400_000_000]]


def test_a_huge_integer_read_as_a_float_is_rounded_and_not_refused() -> None:
    assert column(task_of(inputs=(pa.float64(),)), "i0", start=[1], i0=[2**60 + 1]) == [2.0**60]


def test_a_batch_of_punctuation_alone_sends_no_blob() -> None:
    reports = map_output_rows(CHANGING, rows(start=[30], end=[None], change=["punctuate"]))
    assert {(row["rows"], row["watermark"]) for row in reports} == {(None, 30)}


def test_a_close_row_needs_no_time() -> None:
    table, progress, *_ = read_rows(CHANGING.input, rows(start=[None], end=[None], change=["close"]))
    assert table.num_rows == 0
    assert progress == Progress(INFINITY, EARLIEST, EARLIEST)


@pytest.mark.parametrize("tick", [LATEST, INFINITY])
def test_punctuation_beyond_all_times_closes_without_saying_that_they_were_seen(tick: int) -> None:
    assert progress_of(
        CHANGING, start=[4, tick], end=[5, None], id=[1, None], change=["insert", "punctuate"]
    ) == Progress(INFINITY, 5, 4)


def test_the_horizon_lies_past_starts_and_ends_with_their_reach() -> None:
    assert progress_of(task_of(), start=[4, 6], end=[9, None]) == Progress(EARLIEST, 9, 6)
    assert progress_of(task_of(), start=[4, 11], end=[9, None]) == Progress(EARLIEST, 12, 11)
    reaching = task_of(plan={"window": hopping(10, 10, reach=5)})
    assert progress_of(reaching, start=[4], end=[9]) == Progress(EARLIEST, 14, 4)


def test_a_new_end_moves_the_horizon_and_not_the_newest_start() -> None:
    progress = progress_of(CHANGING, start=[4], end=[9], new_end=[40], id=[1], change=["revise"])
    assert progress == Progress(EARLIEST, 40, EARLIEST)


def test_a_bad_row_says_nothing_about_progress() -> None:
    assert progress_of(task_of(), start=[90], end=[80]) == Progress()


def test_a_row_that_a_module_does_not_accept_says_how_far_the_input_is() -> None:
    assert progress_of(task_of(), start=[90], end=[95], i0=[None]) == Progress(EARLIEST, 95, 90)


# What a task of the map side says of progress: of the whole input, of each source, and of keys.


SOURCES = ("north", "south")


def task_with_sources(policy: Any = None, **changed: Any) -> TaskPayload:
    return task_of(has_changes=True, policy=policy or ordered(), sources=SOURCES, **changed)


def batch(*row_values: tuple[str, int | None, str | None]) -> pa.RecordBatch:
    """Return rows with a change, a start and a source each."""
    changes, starts, sources = zip(*row_values, strict=True)
    return rows(
        start=list(starts),
        end=[None] * len(row_values),
        change=list(changes),
        source=pa.array(sources, pa.string()),
    )


def test_punctuation_without_a_source_is_of_all_sources() -> None:
    _, progress, observed, *_ = read_rows(
        task_with_sources().input, batch(("punctuate", 7, None), ("close", None, "south"))
    )
    assert sorted(observed, key=str) == [
        Observation("south", watermark=INFINITY),
        Observation(None, watermark=7),
    ]
    assert progress.watermark == 7


def test_a_row_of_an_undeclared_source_is_set_aside_and_says_nothing() -> None:
    changes = batch(("insert", 5, "west"), ("insert", 6, None), ("punctuate", 9, "west"), ("insert", 3, "north"))
    assert read_rows(task_with_sources().input, changes).observations == [Observation("north", 3, 1)]
    assert (
        refusal_reasons(read_bucket_rows(task_with_sources(), bucket_input(task_with_sources(), changes).rows).rejected)
        == ["undeclared source"] * 3
    )


def test_only_the_largest_starts_are_kept_however_many_rows_come() -> None:
    task = task_of(policy=bounded_disorder(2), buckets=1)
    batches = [rows(start=list(range(low, low + 50)), end=[None] * 50) for low in (100, 0, 40)]
    (observed,) = bucket_input(task, *batches).reports[0].observations
    assert observed == Observation(None, 149, 150, (149, 148, 147))


def test_a_reading_of_a_clock_is_progress_and_no_row_of_any_source() -> None:
    table, progress, observed, *_ = read_rows(
        task_with_sources().input, batch(("clock", 50, None), ("clock", 40, "anyone"))
    )
    assert (table.num_rows, observed) == (0, [])
    assert progress == Progress(clock=50)


@pytest.mark.parametrize(("tick", "key_watermark"), [(7, 7), (LATEST, INFINITY)])
def test_punctuation_of_a_key_travels_with_its_key_and_is_no_event(tick: int, key_watermark: int) -> None:
    task = task_of(has_changes=True, policy=punctuated().with_key_punctuation())
    changes = rows(start=[5, tick], end=[9, None], change=["insert", "punctuate_key"], k0=["a", "b"])
    came = bucket_input(task, changes)
    assert came.reports[0].progress == Progress(EARLIEST, 9, 5)
    intake = read_bucket_rows(task, came.rows)
    assert (intake.key_watermarks, [key for key, _ in intake.changes]) == ([[(("b",), key_watermark)]], [("a",)])


def test_a_key_cannot_punctuate_itself_unless_the_policy_says_so() -> None:
    task = task_of(has_changes=True)
    came = bucket_input(task, rows(start=[70], end=[None], change=["punctuate_key"]))
    assert refusal_reasons(read_bucket_rows(task, came.rows).rejected) == ["undeclared punctuation"]
    assert came.reports[0].progress == Progress()


def test_sources_are_counted_once_and_late_rows_with_the_rows() -> None:
    task = task_with_sources(buckets=1)
    cells = MemoryCells()
    first = batch(("insert", 5, "north"), ("insert", 25, "north"), ("insert", 30, "south"))
    second = batch(("insert", 3, "south"), ("insert", 33, "south"))
    first_bucket, second_bucket = IDS[:2]
    for bucket, changes, expected in (
        (first_bucket, first, {"accepted": 3, "rows_north": 2, "rows_south": 1, "results": 2}),
        (first_bucket, second, {"accepted": 1, "late": 1, "rows_south": 2, "late_south": 1}),
        (second_bucket, second, {"accepted": 1, "late": 1, "late_south": 1}),
    ):
        state = cells if bucket == first_bucket else MemoryCells()
        if bucket == second_bucket:
            list(run_bucket(task, bucket, state, bucket_input(task, first)))
        counts = {blob.stream: blob.rows for blob in run_bucket(task, bucket, state, bucket_input(task, changes))}
        assert {
            name: counts[name] for name in counts if re.match("accepted|results|late$|late_south|rows_", name)
        } == expected
