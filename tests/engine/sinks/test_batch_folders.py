"""Folders of one query: one per micro-batch, whatever happens in between."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from muntin_engine import ParquetFolder, StateError
from muntin_engine.sinks.batch_folders import BatchFolders, LastBatch, LocalBatchFolders
from muntin_engine.sinks.owned_folder import checksummed
from muntin_engine.sinks.written_batch import WrittenBatch
from tests.engine.sinks.synced_disk import Disk


def put(folders: BatchFolders, batch_id: int, text: str) -> None:
    staged = folders.new_path()
    staged.mkdir()
    (staged / "rows").write_text(text)
    folders.put(staged, batch_id)


def visible(folder: Path) -> dict[str, str]:
    """Read the folders as readers do, who skip names that start with an underscore."""
    return {part.name: (part / "rows").read_text() for part in folder.glob("[!_]*")}


def test_each_micro_batch_has_a_folder_of_its_own(tmp_path: Path) -> None:
    assert LocalBatchFolders(tmp_path).is_empty
    put(LocalBatchFolders(tmp_path), 0, "a")
    put(LocalBatchFolders(tmp_path), 11, "b")
    assert not LocalBatchFolders(tmp_path).is_empty
    assert visible(tmp_path) == {"batch=0": "a", "batch=11": "b"}


def test_a_micro_batch_that_comes_again_replaces_what_it_wrote(tmp_path: Path) -> None:
    put(LocalBatchFolders(tmp_path), 3, "first")
    put(LocalBatchFolders(tmp_path), 3, "again")
    assert visible(tmp_path) == {"batch=3": "again"}
    assert [part.name for part in tmp_path.iterdir()] == ["batch=3"]


def test_what_was_cut_short_is_never_seen_and_does_not_get_in_the_way(tmp_path: Path) -> None:
    cut_short = LocalBatchFolders(tmp_path).new_path()
    cut_short.mkdir()
    (cut_short / "half").touch()
    assert visible(tmp_path) == {}
    put(LocalBatchFolders(tmp_path), 0, "whole")
    assert visible(tmp_path) == {"batch=0": "whole"}
    assert [file.name for file in (tmp_path / "batch=0").iterdir()] == ["rows"]


def test_a_crash_while_the_old_attempt_is_removed_is_made_good_by_the_next(tmp_path: Path) -> None:
    put(LocalBatchFolders(tmp_path), 0, "first")
    (tmp_path / "batch=0").rename(tmp_path / "_replaced")  # as far as a run got that was killed
    put(LocalBatchFolders(tmp_path), 0, "again")
    put(LocalBatchFolders(tmp_path), 0, "and again")
    assert visible(tmp_path) == {"batch=0": "and again"}


def test_a_micro_batch_that_is_empty_when_it_comes_again_is_dropped(tmp_path: Path) -> None:
    folders = LocalBatchFolders(tmp_path)
    put(folders, 0, "a")
    folders.drop(0)
    folders.drop(1)
    assert visible(tmp_path) == {}


def test_the_watermark_is_kept_with_the_last_micro_batch_and_never_goes_back(tmp_path: Path) -> None:
    folders = LocalBatchFolders(tmp_path)
    assert folders.last_record is None
    folders.record_batch(0, 10)
    folders.record_batch(1, 30)
    folders.record_batch(2, 20)  # a micro-batch without a row knows less
    assert LocalBatchFolders(tmp_path).last_record == LastBatch(batch=2, watermark=30, previous_watermark=30, writes=3)
    assert visible(tmp_path) == {}


def test_while_a_micro_batch_is_replaced_the_one_before_it_counts(tmp_path: Path) -> None:
    folders = LocalBatchFolders(tmp_path)
    folders.record_batch(4, 10)
    folders.record_batch(5, 30)
    folders.undo_record(6)
    assert folders.last_record == LastBatch(batch=5, watermark=30, previous_watermark=10, writes=2), "it is new"
    folders.undo_record(5)
    assert folders.last_record == LastBatch(batch=4, watermark=10, previous_watermark=None, writes=3)
    folders.record_batch(5, 30)
    again = folders.last_record
    assert again == LastBatch(batch=5, watermark=30, previous_watermark=10, writes=4), (
        "a reader sees that something happened"
    )


def test_of_a_checkpoint_that_was_put_back_nothing_is_known(tmp_path: Path) -> None:
    folders = LocalBatchFolders(tmp_path)
    for batch_id, tick in [(4, 10), (5, 30), (6, 40)]:
        folders.record_batch(batch_id, tick)
    folders.undo_record(5)
    assert folders.last_record == LastBatch(batch=4, watermark=None, previous_watermark=None, writes=4)
    folders.record_batch(5, 20)
    assert folders.last_record == LastBatch(batch=5, watermark=20, previous_watermark=None, writes=5)


class Uncounted:
    """A micro-batch that can be written, and whose rows must not be counted by a job."""

    @property
    def write(self) -> Uncounted:
        return self

    def parquet(self, path: str) -> None:
        folder = Path(path.removeprefix("file:"))
        folder.mkdir(parents=True)
        (folder / "rows").write_text("some")


def test_a_folder_that_is_told_the_number_of_rows_counts_none(tmp_path: Path) -> None:
    sink = ParquetFolder(tmp_path / "out")
    batch: Any = Uncounted()
    sink.open("q")
    for batch_id, rows in enumerate([0, 3, 0]):  # the very first is there for its schema
        sink.take_count(rows)
        sink.write(batch, batch_id)
    assert sorted(visible(tmp_path / "out")) == ["batch=0", "batch=1"]


def test_the_last_micro_batch_is_known_whether_or_not_it_had_rows_or_was_cut_short(tmp_path: Path) -> None:
    folders = LocalBatchFolders(tmp_path)
    assert folders.last_written == WrittenBatch(-1)
    put(folders, 0, "a")
    assert folders.last_written == WrittenBatch(0), "its writing was cut short before that was kept"
    folders.record_batch(0, input_id="one file")
    folders.record_batch(1, input_id="another one")
    assert folders.last_written == WrittenBatch(1, "another one"), "it had no rows"
    put(folders, 2, "b")
    (tmp_path / "batch=x").mkdir()
    assert folders.last_written == WrittenBatch(2)


def test_the_newest_folder_is_missed_when_it_or_a_file_in_it_is_gone(tmp_path: Path) -> None:
    folders = LocalBatchFolders(tmp_path)
    for batch_id, text in enumerate(["a", "bb", ""]):
        if text:
            put(folders, batch_id, text)
            (tmp_path / f"batch={batch_id}/more").write_text("more")
        folders.record_batch(batch_id)
    assert folders.last_written == WrittenBatch(2)
    put(folders, 1, "bb")  # the size was kept with two files
    message = (
        r"batch=1, which micro-batch 1 wrote, has files of rows of 2 bytes, and had 6\n  what the checkpoint has done"
    )
    with pytest.raises(StateError, match=message):
        _ = folders.last_written
    shutil.rmtree(tmp_path / "batch=1")
    with pytest.raises(
        StateError, match=r"batch=1, which micro-batch 1 wrote, is gone\n  what the checkpoint has done"
    ):
        _ = folders.last_written
    folders.undo_record(2)
    with pytest.raises(StateError, match="is gone"):
        _ = folders.last_written
    folders.undo_record(1)
    assert folders.last_written == WrittenBatch(0), "it is written again"


class InTheMeantime(Uncounted):
    """A micro-batch during whose writing something else happens."""

    def __init__(self, happens: Callable[[Path], object]) -> None:
        self.happens = happens

    def parquet(self, path: str) -> None:
        super().parquet(path)
        self.happens(Path(path.removeprefix("file:")))


def write_some(sink: ParquetFolder, batch: Any, batch_id: int = 0) -> None:
    sink.take_count(3)
    sink.write(batch, batch_id)


def test_two_runs_at_one_micro_batch_leave_its_folder(tmp_path: Path) -> None:
    """A query that is started again while it runs: the second run writes it, before the first one puts it in place."""
    first = ParquetFolder(tmp_path / "out")
    second = ParquetFolder(tmp_path / "out")
    first.open("q")
    second.open("q")
    write_some(first, InTheMeantime(lambda _: write_some(second, Uncounted())))
    assert visible(tmp_path / "out") == {"batch=0": "some"}
    assert second.last_written.number == 0
    assert sorted(part.name for part in (tmp_path / "out").iterdir()) == ["_last.json", "_muntin.json", "batch=0"]


def test_a_folder_is_taken_away_only_for_another_one(tmp_path: Path) -> None:
    sink = ParquetFolder(tmp_path / "out")
    sink.open("q")
    write_some(sink, Uncounted())
    with pytest.raises(FileNotFoundError):
        write_some(sink, InTheMeantime(shutil.rmtree))
    assert visible(tmp_path / "out") == {"batch=0": "some"}


def test_a_folder_that_comes_in_between_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = LocalBatchFolders(tmp_path)
    drop = LocalBatchFolders.drop

    def drop_before_another_run_puts(self: LocalBatchFolders, batch_id: int) -> None:
        drop(self, batch_id)
        monkeypatch.setattr(LocalBatchFolders, "drop", drop)
        put(LocalBatchFolders(tmp_path), batch_id, "of another run")

    monkeypatch.setattr(LocalBatchFolders, "drop", drop_before_another_run_puts)
    put(folders, 3, "mine")
    assert visible(tmp_path) == {"batch=3": "mine"}


def test_runs_of_one_process_write_one_after_the_other(tmp_path: Path) -> None:
    first = ParquetFolder(tmp_path / "out")
    second = ParquetFolder(tmp_path / "out")
    events: list[str] = []
    first.open("q")

    def waits(_: Path) -> None:
        threading.Thread(target=other_run).start()
        time.sleep(0.1)
        events.append("the first run ends")

    def other_run() -> None:
        second.open("q")  # else it would remove what the first run has staged
        write_some(second, InTheMeantime(lambda _: events.append("the second run writes")))
        is_over.set()

    is_over = threading.Event()
    write_some(first, InTheMeantime(waits))
    assert is_over.wait(10)
    assert events == ["the first run ends", "the second run writes"]
    assert visible(tmp_path / "out") == {"batch=0": "some"}


def test_what_was_cut_short_is_removed_when_the_folder_is_opened(tmp_path: Path) -> None:
    sink = ParquetFolder(tmp_path / "out")
    sink.open("q")
    write_some(sink, Uncounted())
    for name in ("_staged", "_staged-1", "_replaced", "_replaced-2"):
        (tmp_path / "out" / name).mkdir()
        (tmp_path / "out" / name / "half").touch()
    ParquetFolder(tmp_path / "out").open("q")
    assert sorted(part.name for part in (tmp_path / "out").iterdir()) == ["_last.json", "_muntin.json", "batch=0"]


def test_a_loss_of_power_takes_no_micro_batch_that_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk()
    monkeypatch.setattr(os, "fsync", disk.sync)
    sink = ParquetFolder(tmp_path / "out")
    sink.open("q")
    for batch_id in (0, 1, 1, 2):
        write_some(sink, Uncounted(), batch_id)
        assert disk.lost(tmp_path) == []


def test_old_folders_and_files_that_are_no_rows_may_be_removed(tmp_path: Path) -> None:
    folders = LocalBatchFolders(tmp_path)
    for batch_id in range(3):
        put(folders, batch_id, "rows")
        (tmp_path / f"batch={batch_id}/_SUCCESS").write_text("nothing")
        folders.record_batch(batch_id)
    shutil.rmtree(tmp_path / "batch=0")
    shutil.rmtree(tmp_path / "batch=1")
    (tmp_path / "batch=2/_SUCCESS").unlink()
    assert folders.last_written == WrittenBatch(2)


def test_a_record_of_an_older_version_says_nothing_of_files(tmp_path: Path) -> None:
    record = {"batch": 1, "watermark": 10, "previous_watermark": None, "writes": 2, "input_id": "x"}
    (tmp_path / "_last.json").write_text(checksummed(record))
    assert LocalBatchFolders(tmp_path).last_written == WrittenBatch(1, "x")
