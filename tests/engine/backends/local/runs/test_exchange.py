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
FIRST = rows(start=[1, 2, 12], end=[2, 3, 13], k0=["a", "b", "a"])
SECOND = rows(start=[3, 25], end=[4, 26], k0=["b", "a"])


def starts_by_bucket(filled: Exchange) -> dict[int, list[int]]:
    """Return the starts of the rows that arrive at each bucket."""
    starts: dict[int, list[int]] = {}
    for bucket in filled.buckets():
        for blob in filled.pop_input(bucket).arrivals(1).rows[0]:
            starts.setdefault(bucket, []).extend(from_blob(blob).column("start").to_pylist())
    return starts


def filled(folder: SpillFolder, *map_tasks: list[pa.RecordBatch]) -> Exchange:
    filled_exchange = Exchange(TASK, folder)
    for batches in map_tasks:
        filled_exchange.add_batches(distribute(TASK, batches))
    return filled_exchange


def test_each_bucket_gets_its_rows_in_the_order_of_the_map_tasks() -> None:
    with SpillFolder() as folder:
        starts = starts_by_bucket(filled(folder, [FIRST], [SECOND]))
    assert sorted(starts.values()) == [[1, 12, 25], [2, 3]]


def test_all_buckets_get_the_reports_and_one_the_counts_of_rows_that_none_gets() -> None:
    with SpillFolder() as folder:
        filled_exchange = filled(folder, [FIRST], [SECOND])
        arrivals = [filled_exchange.pop_input(bucket).arrivals(1) for bucket in filled_exchange.buckets()]
    assert len(arrivals) == len(TASK.buckets)
    assert {bucket_arrivals.reports[0].progress.newest for bucket_arrivals in arrivals} == {25}
    assert [len(bucket_arrivals.durations) for bucket_arrivals in arrivals] == [2, 0, 0, 0]


def test_without_a_map_task_no_bucket_gets_anything() -> None:
    with SpillFolder() as folder:
        assert Exchange(TASK, folder).buckets() == []


def test_blobs_go_to_files_when_they_are_many_and_the_files_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    with SpillFolder() as folder:
        expected = starts_by_bucket(filled(folder, [FIRST], [SECOND]))
        monkeypatch.setattr(exchange, "MOST_BYTES_IN_MEMORY", 100)
        spilled = filled(folder, [FIRST], [SECOND])
        path = folder.path
        assert len(list(path.iterdir())) == 2
        assert starts_by_bucket(spilled) == expected
    assert not path.exists()


def fail_after_writing(folder: SpillFolder) -> None:
    with folder:
        folder.write([b"first"])
        raise ValueError("at the second blob")


def test_files_are_removed_after_an_error() -> None:
    folder = SpillFolder()
    with pytest.raises(ValueError, match="at the second blob"):
        fail_after_writing(folder)
    assert not folder.path.exists()


def test_a_bucket_that_was_taken_is_no_longer_held() -> None:
    with SpillFolder() as folder:
        filled_exchange = filled(folder, [FIRST])
        for bucket in filled_exchange.buckets():
            filled_exchange.pop_input(bucket)
        assert starts_by_bucket(filled_exchange) == {}


def test_blobs_of_another_process_come_behind_those_that_are_there(tmp_path: Path) -> None:
    spilled_blobs = SentBlobs()
    for batch in distribute(TASK, [SECOND]):
        spilled_blobs.add_batch(batch)
    spilled_blobs.spill(tmp_path)
    assert spilled_blobs.bytes_in_memory == 0
    with SpillFolder() as folder:
        filled_exchange = filled(folder, [FIRST])
        filled_exchange.add(spilled_blobs)
        assert sorted(starts_by_bucket(filled_exchange).values()) == [[1, 12, 25], [2, 3]]
