"""The exchange in this process: blobs wait by bucket, in memory or in files, and are freed when they are taken."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from muntin_engine.backends.local.runs import exchange
from muntin_engine.backends.local.runs.exchange import Exchange, SentBlobs
from muntin_engine.backends.local.runs.spilled_blobs import SpillFolder
from muntin_engine.tasks.map_task import distribute
from muntin_engine.wire.blobs import from_blob
from tests.engine.wire.payloads import rows, task_of

TASK = task_of(is_static=True, is_timed=True)
# Keys a and b are in two of the four buckets.
FIRST = rows(start=[1, 2, 12], end=[2, 3, 13], k0=["a", "b", "a"])
SECOND = rows(start=[3, 25], end=[4, 26], k0=["b", "a"])


def pop_starts(filled_exchange: Exchange) -> dict[int, list[int]]:
    """Take the inputs of all buckets, and return the starts of the rows of each bucket that has some."""
    starts: dict[int, list[int]] = {}
    for bucket in filled_exchange.buckets():
        for blob in filled_exchange.pop_input(bucket).arrivals(1).rows[0]:
            starts.setdefault(bucket, []).extend(from_blob(blob).column("start").to_pylist())
    return starts


def exchange_after(folder: SpillFolder, *map_tasks: list[pa.RecordBatch]) -> Exchange:
    """Return an exchange with what map tasks send, each of which reads some batches."""
    filled_exchange = Exchange(TASK, folder)
    for batches in map_tasks:
        filled_exchange.add_batches(distribute(TASK, batches))
    return filled_exchange


def test_each_bucket_gets_its_rows_in_the_order_of_the_map_tasks() -> None:
    with SpillFolder() as folder:
        starts = pop_starts(exchange_after(folder, [FIRST], [SECOND]))
    assert sorted(starts.values()) == [[1, 12, 25], [2, 3]]


def test_all_buckets_get_the_reports_and_one_the_durations_of_the_map_tasks() -> None:
    with SpillFolder() as folder:
        filled_exchange = exchange_after(folder, [FIRST], [SECOND])
        arrivals_by_bucket = [filled_exchange.pop_input(bucket).arrivals(1) for bucket in filled_exchange.buckets()]
    assert len(arrivals_by_bucket) == len(TASK.buckets) == 4
    # Each bucket hears of the newest row, and only the first one how long the two map tasks took.
    assert [arrivals.reports[0].progress.newest for arrivals in arrivals_by_bucket] == [25] * 4
    assert [len(arrivals.durations) for arrivals in arrivals_by_bucket] == [2, 0, 0, 0]


def test_without_a_map_task_no_bucket_gets_anything() -> None:
    with SpillFolder() as folder:
        assert Exchange(TASK, folder).buckets() == []


def test_blobs_go_to_files_when_they_are_many_and_the_files_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    with SpillFolder() as folder:
        expected = pop_starts(exchange_after(folder, [FIRST], [SECOND]))
        monkeypatch.setattr(exchange, "MOST_BYTES_IN_MEMORY", 100)  # less than a map task sends
        spilled = exchange_after(folder, [FIRST], [SECOND])
        path = folder.path
        assert len(list(path.iterdir())) == 2  # one of each map task
        assert pop_starts(spilled) == expected
    assert not path.exists()


def fail_after_writing(folder: SpillFolder) -> None:
    """Write a file into a folder, and raise before the folder is left."""
    with folder:
        folder.write([b"first"])
        raise ValueError("at the second blob")


def test_files_are_removed_after_an_error() -> None:
    folder = SpillFolder()
    with pytest.raises(ValueError, match="at the second blob"):
        fail_after_writing(folder)
    assert not folder.path.exists()


def test_the_input_of_a_bucket_that_was_taken_is_no_longer_held() -> None:
    with SpillFolder() as folder:
        filled_exchange = exchange_after(folder, [FIRST])
        for bucket in filled_exchange.buckets():
            filled_exchange.pop_input(bucket)
        assert pop_starts(filled_exchange) == {}


def test_blobs_of_another_process_come_behind_those_that_are_there(tmp_path: Path) -> None:
    blobs_of_another_process = SentBlobs()
    for batch in distribute(TASK, [SECOND]):
        blobs_of_another_process.add_batch(batch)
    blobs_of_another_process.spill(tmp_path)
    assert blobs_of_another_process.bytes_in_memory == 0

    with SpillFolder() as folder:
        filled_exchange = exchange_after(folder, [FIRST])
        filled_exchange.add(blobs_of_another_process)
        assert sorted(pop_starts(filled_exchange).values()) == [[1, 12, 25], [2, 3]]
