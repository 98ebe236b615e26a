"""A folder per micro-batch, whatever happens in between."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from muntin_engine import ParquetFolder
from muntin_engine.writing.batch_folders import BatchFolders, LastBatch
from muntin_engine.writing.sink import WrittenBatch


def put(folders: BatchFolders, batch_id: int, text: str) -> None:
    staged = folders.staged()
    staged.mkdir()
    (staged / "rows").write_text(text)
    folders.put(batch_id)


def visible(folder: Path) -> dict[str, str]:
    """Return what readers see, who leave out names that start with an underscore."""
    return {part.name: (part / "rows").read_text() for part in folder.glob("[!_]*")}


def test_each_micro_batch_has_a_folder_of_its_own(tmp_path: Path) -> None:
    assert BatchFolders(tmp_path).is_empty
    put(BatchFolders(tmp_path), 0, "a")
    put(BatchFolders(tmp_path), 11, "b")
    assert not BatchFolders(tmp_path).is_empty
    assert visible(tmp_path) == {"batch=0": "a", "batch=11": "b"}


def test_a_micro_batch_that_comes_again_replaces_what_it_wrote(tmp_path: Path) -> None:
    put(BatchFolders(tmp_path), 3, "first")
    put(BatchFolders(tmp_path), 3, "again")
    assert visible(tmp_path) == {"batch=3": "again"}
    assert [part.name for part in tmp_path.iterdir()] == ["batch=3"]


def test_what_was_cut_short_is_never_seen_and_does_not_get_in_the_way(tmp_path: Path) -> None:
    cut_short = BatchFolders(tmp_path).staged()
    cut_short.mkdir()
    (cut_short / "half").touch()
    assert visible(tmp_path) == {}
    put(BatchFolders(tmp_path), 0, "whole")
    assert visible(tmp_path) == {"batch=0": "whole"}
    assert [file.name for file in (tmp_path / "batch=0").iterdir()] == ["rows"]


def test_a_crash_while_the_old_attempt_is_removed_is_made_good_by_the_next(tmp_path: Path) -> None:
    put(BatchFolders(tmp_path), 0, "first")
    (tmp_path / "batch=0").rename(tmp_path / "_replaced")  # as far as a run got that was killed
    put(BatchFolders(tmp_path), 0, "again")
    put(BatchFolders(tmp_path), 0, "and again")
    assert visible(tmp_path) == {"batch=0": "and again"}


def test_a_micro_batch_that_is_empty_when_it_comes_again_is_dropped(tmp_path: Path) -> None:
    folders = BatchFolders(tmp_path)
    put(folders, 0, "a")
    folders.drop(0)
    folders.drop(1)
    assert visible(tmp_path) == {}


def test_the_watermark_is_kept_with_the_last_micro_batch_and_never_goes_back(tmp_path: Path) -> None:
    folders = BatchFolders(tmp_path)
    assert folders.last is None
    folders.keep(0, 10)
    folders.keep(1, 30)
    folders.keep(2, 20)  # a micro-batch without a row knows less
    kept = BatchFolders(tmp_path).last
    assert kept == LastBatch(batch=2, tick=30, before=30, writes=3)
    assert visible(tmp_path) == {}


def test_while_a_micro_batch_is_replaced_the_one_before_it_counts(tmp_path: Path) -> None:
    folders = BatchFolders(tmp_path)
    folders.keep(4, 10)
    folders.keep(5, 30)
    folders.go_back(6)
    assert folders.last == LastBatch(batch=5, tick=30, before=10, writes=2), "it is new"
    folders.go_back(5)
    assert folders.last == LastBatch(batch=4, tick=10, before=None, writes=3)
    folders.keep(5, 30)
    again = folders.last
    assert again == LastBatch(batch=5, tick=30, before=10, writes=4), "a reader sees that something happened"


def test_of_a_checkpoint_that_was_put_back_nothing_is_known(tmp_path: Path) -> None:
    folders = BatchFolders(tmp_path)
    for batch_id, tick in [(4, 10), (5, 30), (6, 40)]:
        folders.keep(batch_id, tick)
    folders.go_back(5)
    assert folders.last == LastBatch(batch=4, tick=None, before=None, writes=4)
    folders.keep(5, 20)
    assert folders.last == LastBatch(batch=5, tick=20, before=None, writes=5)


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
    sink, batch = ParquetFolder(tmp_path / "out"), Uncounted()
    counted: Any = batch
    sink.open("q")
    for batch_id, rows in enumerate([0, 3, 0]):  # the very first is there for its schema
        sink.take_count(rows)
        sink.write(counted, batch_id)
    assert sorted(visible(tmp_path / "out")) == ["batch=0", "batch=1"]


def test_the_last_micro_batch_is_known_whether_or_not_it_had_rows_or_was_cut_short(tmp_path: Path) -> None:
    folders = BatchFolders(tmp_path)
    assert folders.last_written == WrittenBatch(-1)
    put(folders, 0, "a")
    assert folders.last_written == WrittenBatch(0), "its writing was cut short before that was kept"
    folders.keep(0, read="one file")
    folders.keep(1, read="another one")
    assert folders.last_written == WrittenBatch(1, "another one"), "it had no rows"
    put(folders, 2, "b")
    (tmp_path / "batch=x").mkdir()
    assert folders.last_written == WrittenBatch(2)
