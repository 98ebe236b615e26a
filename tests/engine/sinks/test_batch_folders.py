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
    """Stage a folder with one file, and put it in the place of a micro-batch."""
    staged = folders.new_path()
    staged.mkdir()
    (staged / "rows").write_text(text)
    folders.put(staged, batch_id)


def visible(folder: Path) -> dict[str, str]:
    """Return the text in each folder that readers see: they skip names that start with an underscore."""
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


def test_a_folder_that_was_cut_short_is_never_seen_and_does_not_get_in_the_way(tmp_path: Path) -> None:
    cut_short = LocalBatchFolders(tmp_path).new_path()
    cut_short.mkdir()
    (cut_short / "half").touch()
    assert visible(tmp_path) == {}
    put(LocalBatchFolders(tmp_path), 0, "whole")
    assert visible(tmp_path) == {"batch=0": "whole"}
    assert [file.name for file in (tmp_path / "batch=0").iterdir()] == ["rows"]


def test_a_crash_while_an_earlier_attempt_is_replaced_is_made_good_by_the_next_one(tmp_path: Path) -> None:
    put(LocalBatchFolders(tmp_path), 0, "first")
    (tmp_path / "batch=0").rename(tmp_path / "_replaced")  # as far as a run got that was killed
    put(LocalBatchFolders(tmp_path), 0, "again")
    put(LocalBatchFolders(tmp_path), 0, "and again")
    assert visible(tmp_path) == {"batch=0": "and again"}


def test_a_micro_batch_that_is_empty_when_it_comes_again_is_dropped(tmp_path: Path) -> None:
    folders = LocalBatchFolders(tmp_path)
    put(folders, 0, "a")
    folders.drop(0)
    folders.drop(1)  # it has no folder
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
    folders.undo_record(6)  # which has no record: nothing is to be undone
    assert folders.last_record == LastBatch(batch=5, watermark=30, previous_watermark=10, writes=2)
    folders.undo_record(5)
    assert folders.last_record == LastBatch(batch=4, watermark=10, previous_watermark=None, writes=3)
    folders.record_batch(5, 30)
    # By `writes` a reader sees that something happened.
    assert folders.last_record == LastBatch(batch=5, watermark=30, previous_watermark=10, writes=4)


def test_when_a_micro_batch_before_the_last_is_replaced_no_watermark_is_known(tmp_path: Path) -> None:
    """As with a checkpoint that was put back further than by one micro-batch."""
    folders = LocalBatchFolders(tmp_path)
    for batch_id, watermark in [(4, 10), (5, 30), (6, 40)]:
        folders.record_batch(batch_id, watermark)
    folders.undo_record(5)
    assert folders.last_record == LastBatch(batch=4, watermark=None, previous_watermark=None, writes=4)
    folders.record_batch(5, 20)
    assert folders.last_record == LastBatch(batch=5, watermark=20, previous_watermark=None, writes=5)


class Uncountable:
    """A micro-batch that can be written into a folder, and has no method by which a job would count its rows."""

    @property
    def write(self) -> Uncountable:
        return self

    def parquet(self, path: str) -> None:
        folder = Path(path.removeprefix("file:"))
        folder.mkdir(parents=True)
        (folder / "rows").write_text("some")


def test_a_sink_that_is_given_the_number_of_rows_counts_none_and_writes_no_empty_folder_but_the_first(
    tmp_path: Path,
) -> None:
    sink = ParquetFolder(tmp_path / "out")
    batch: Any = Uncountable()
    sink.open("q")
    for batch_id, row_count in enumerate([0, 3, 0]):
        sink.take_count(row_count)
        sink.write(batch, batch_id)
    assert sorted(visible(tmp_path / "out")) == ["batch=0", "batch=1"]  # the first has the schema


def test_the_last_micro_batch_is_known_whether_or_not_it_had_rows_or_was_cut_short(tmp_path: Path) -> None:
    folders = LocalBatchFolders(tmp_path)
    assert folders.last_written == WrittenBatch(-1)
    put(folders, 0, "a")
    assert folders.last_written == WrittenBatch(0), "it was cut short between its folder and its record"
    folders.record_batch(0, input_id="one file")
    folders.record_batch(1, input_id="another one")
    assert folders.last_written == WrittenBatch(1, "another one"), "it had no rows"
    put(folders, 2, "b")
    (tmp_path / "batch=x").mkdir()  # is none of its folders
    assert folders.last_written == WrittenBatch(2)


def test_the_newest_folder_is_missed_when_it_or_a_file_in_it_is_gone(tmp_path: Path) -> None:
    folders = LocalBatchFolders(tmp_path)
    for batch_id, text in [(0, "a"), (1, "bb")]:
        put(folders, batch_id, text)
        (tmp_path / f"batch={batch_id}/more").write_text("more")
        folders.record_batch(batch_id)
    folders.record_batch(2)  # it had no rows, so the newest folder is that of 1
    assert folders.last_written == WrittenBatch(2)

    put(folders, 1, "bb")  # without the file `more`
    fewer_bytes = (
        r"batch=1, which micro-batch 1 wrote, has files of rows of 2 bytes, and had 6\n  what the checkpoint has done"
    )
    with pytest.raises(StateError, match=fewer_bytes):
        _ = folders.last_written

    shutil.rmtree(tmp_path / "batch=1")
    is_gone = r"batch=1, which micro-batch 1 wrote, is gone\n  what the checkpoint has done"
    with pytest.raises(StateError, match=is_gone):
        _ = folders.last_written
    folders.undo_record(2)
    with pytest.raises(StateError, match="is gone"):
        _ = folders.last_written
    folders.undo_record(1)
    assert folders.last_written == WrittenBatch(0), "it is written again"


class Interrupted(Uncountable):
    """A micro-batch during whose writing something else happens."""

    def __init__(self, interruption: Callable[[Path], object]) -> None:
        """Take what happens when the folder is written, and not yet in its place; it gets the path of the folder."""
        self.interruption = interruption

    def parquet(self, path: str) -> None:
        super().parquet(path)
        self.interruption(Path(path.removeprefix("file:")))


def write_three_rows(sink: ParquetFolder, batch: Any, batch_id: int = 0) -> None:
    sink.take_count(3)
    sink.write(batch, batch_id)


def test_two_runs_at_one_micro_batch_leave_its_folder(tmp_path: Path) -> None:
    """A query is started again while it runs: the second run writes the micro-batch before the first one has."""
    sink_of_first_run = ParquetFolder(tmp_path / "out")
    sink_of_second_run = ParquetFolder(tmp_path / "out")
    sink_of_first_run.open("q")
    sink_of_second_run.open("q")

    def second_run_writes(_: Path) -> None:
        write_three_rows(sink_of_second_run, Uncountable())

    write_three_rows(sink_of_first_run, Interrupted(second_run_writes))
    assert visible(tmp_path / "out") == {"batch=0": "some"}
    assert sink_of_second_run.last_written.number == 0
    assert sorted(part.name for part in (tmp_path / "out").iterdir()) == ["_last.json", "_muntin.json", "batch=0"]


def test_the_folder_of_a_micro_batch_stays_if_the_one_that_replaces_it_is_gone(tmp_path: Path) -> None:
    sink = ParquetFolder(tmp_path / "out")
    sink.open("q")
    write_three_rows(sink, Uncountable())
    with pytest.raises(FileNotFoundError):
        write_three_rows(sink, Interrupted(shutil.rmtree))
    assert visible(tmp_path / "out") == {"batch=0": "some"}


def test_a_folder_that_another_run_puts_there_meanwhile_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    sink_of_first_run = ParquetFolder(tmp_path / "out")
    sink_of_second_run = ParquetFolder(tmp_path / "out")
    events: list[str] = []
    is_over = threading.Event()

    def start_second_run(_: Path) -> None:
        threading.Thread(target=run_second).start()
        time.sleep(0.1)  # if it did not wait, it would write within this time
        events.append("the first run ends")

    def run_second() -> None:
        sink_of_second_run.open("q")  # else it would remove what the first run has staged
        write_three_rows(sink_of_second_run, Interrupted(lambda _: events.append("the second run writes")))
        is_over.set()

    sink_of_first_run.open("q")
    write_three_rows(sink_of_first_run, Interrupted(start_second_run))
    assert is_over.wait(10)
    assert events == ["the first run ends", "the second run writes"]
    assert visible(tmp_path / "out") == {"batch=0": "some"}


def test_folders_that_were_cut_short_are_removed_when_the_sink_is_opened(tmp_path: Path) -> None:
    sink = ParquetFolder(tmp_path / "out")
    sink.open("q")
    write_three_rows(sink, Uncountable())
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
        write_three_rows(sink, Uncountable(), batch_id)
        assert disk.lost(tmp_path) == []


def test_older_folders_and_files_without_rows_may_be_removed(tmp_path: Path) -> None:
    folders = LocalBatchFolders(tmp_path)
    for batch_id in range(3):
        put(folders, batch_id, "rows")
        (tmp_path / f"batch={batch_id}/_SUCCESS").write_text("nothing")
        folders.record_batch(batch_id)
    shutil.rmtree(tmp_path / "batch=0")
    shutil.rmtree(tmp_path / "batch=1")
    (tmp_path / "batch=2/_SUCCESS").unlink()
    assert folders.last_written == WrittenBatch(2)


def test_a_record_of_an_older_version_without_the_size_of_files_is_read(tmp_path: Path) -> None:
    record = {"batch": 1, "watermark": 10, "previous_watermark": None, "writes": 2, "input_id": "x"}
    (tmp_path / "_last.json").write_text(checksummed(record))
    assert LocalBatchFolders(tmp_path).last_written == WrittenBatch(1, "x")
