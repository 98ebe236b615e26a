"""Folders of one query: one per micro-batch, versions of a table and their pointer, whatever happens in between."""

from __future__ import annotations

import json
import os
import shutil
import stat
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from muntin.errors import QueryError
from muntin_engine import ChangelogTable, ParquetFolder, StateError
from muntin_engine.sinks.batch_folders import BatchFolders, LastBatch
from muntin_engine.sinks.owned_folder import OwnedFolder, checksummed
from muntin_engine.sinks.table_versions import Pointer, TableVersions
from muntin_engine.sinks.written_batch import WrittenBatch


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


def test_the_newest_folder_is_missed_when_it_or_a_file_in_it_is_gone(tmp_path: Path) -> None:
    folders = BatchFolders(tmp_path)
    for batch_id, text in enumerate(["a", "bb", ""]):
        if text:
            put(folders, batch_id, text)
            (tmp_path / f"batch={batch_id}/more").write_text("more")
        folders.keep(batch_id)
    assert folders.last_written == WrittenBatch(2)
    put(folders, 1, "bb")  # the size was kept with two files
    said = (
        r"batch=1, which micro-batch 1 wrote, has files of rows of 2 bytes, and had 6\n  what the checkpoint has done"
    )
    with pytest.raises(StateError, match=said):
        _ = folders.last_written
    shutil.rmtree(tmp_path / "batch=1")
    with pytest.raises(
        StateError, match=r"batch=1, which micro-batch 1 wrote, is gone\n  what the checkpoint has done"
    ):
        _ = folders.last_written
    folders.go_back(2)
    with pytest.raises(StateError, match="is gone"):
        _ = folders.last_written
    folders.go_back(1)
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
    first, second = ParquetFolder(tmp_path / "out"), ParquetFolder(tmp_path / "out")
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
    folders, drops = BatchFolders(tmp_path), BatchFolders.drop

    def drop(self: BatchFolders, batch_id: int) -> None:
        drops(self, batch_id)
        monkeypatch.setattr(BatchFolders, "drop", drops)
        put(BatchFolders(tmp_path), batch_id, "of another run")

    monkeypatch.setattr(BatchFolders, "drop", drop)
    put(folders, 3, "mine")
    assert visible(tmp_path) == {"batch=3": "mine"}


def test_runs_of_one_process_write_one_after_the_other(tmp_path: Path) -> None:
    first, second = ParquetFolder(tmp_path / "out"), ParquetFolder(tmp_path / "out")
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


@dataclass
class Disk:
    """What a loss of power leaves: the files that were synced, by the names that synced folders had for them.

    Attributes:
        files: The inodes of all that was synced.
        names: What each synced folder named when it was synced, by their inodes.
    """

    files: set[int] = field(default_factory=set)
    names: dict[int, dict[str, int]] = field(default_factory=dict)

    def sync(self, descriptor: int) -> None:
        """Take the place of `os.fsync`."""
        inode = os.fstat(descriptor).st_ino
        self.files.add(inode)
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            self.names[inode] = {entry.name: entry.inode() for entry in os.scandir(descriptor)}

    def lost(self, folder: Path) -> list[str]:
        """Return the files and folders in a folder that a loss of power would take, or leave without content."""
        lost: list[str] = []
        for path in folder.rglob("*"):
            inode = path.stat().st_ino
            names = self.names.get(path.parent.stat().st_ino, {})
            if inode not in self.files or names.get(path.name) != inode:
                lost.append(str(path.relative_to(folder)))
        return lost


def test_a_loss_of_power_takes_no_micro_batch_that_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk()
    monkeypatch.setattr(os, "fsync", disk.sync)
    sink = ParquetFolder(tmp_path / "out")
    sink.open("q")
    for batch_id in (0, 1, 1, 2):
        write_some(sink, Uncounted(), batch_id)
        assert disk.lost(tmp_path) == []

    (tmp_path / "table").mkdir()
    for batch_id in range(3):
        write(tmp_path / "table", batch_id, "rows")
        assert disk.lost(tmp_path / "table") == []


def test_old_folders_and_files_that_are_no_rows_may_be_removed(tmp_path: Path) -> None:
    folders = BatchFolders(tmp_path)
    for batch_id in range(3):
        put(folders, batch_id, "rows")
        (tmp_path / f"batch={batch_id}/_SUCCESS").write_text("nothing")
        folders.keep(batch_id)
    shutil.rmtree(tmp_path / "batch=0")
    shutil.rmtree(tmp_path / "batch=1")
    (tmp_path / "batch=2/_SUCCESS").unlink()
    assert folders.last_written == WrittenBatch(2)


def test_a_record_of_an_older_version_says_nothing_of_files(tmp_path: Path) -> None:
    record = {"batch": 1, "tick": 10, "before": None, "writes": 2, "read": "x"}
    (tmp_path / "_last.json").write_text(checksummed(record))
    assert BatchFolders(tmp_path).last_written == WrittenBatch(1, "x")


@pytest.mark.parametrize("path", ["s3://b/results", "hdfs:/results", "dbfs:/results", "file://host/results", ""])
def test_a_path_that_cannot_be_renamed_on_is_refused(path: str) -> None:
    with pytest.raises(QueryError, match="is not a path of this machine's file system") as caught:
        OwnedFolder(path)
    assert "write elsewhere with a function" in str(caught.value)


@pytest.mark.parametrize("path", ["file:/data/a b%20é", "file:///data/a b%20é", "/data/a b%20é"])
def test_a_url_of_a_file_is_its_path(path: str) -> None:
    assert OwnedFolder(path).path == Path("/data/a b%20é")


def test_a_home_folder_is_no_name() -> None:
    with pytest.raises(QueryError, match=r"would be a folder that is called '~'\n.*os.path.expanduser"):
        OwnedFolder("~/results")


def test_a_folder_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "photo.jpeg").touch()
    with pytest.raises(QueryError, match=r"holds 'photo.jpeg', which no query wrote"):
        OwnedFolder(tmp_path).check()


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "results").touch()
    with pytest.raises(QueryError, match="results is a file"):
        OwnedFolder(tmp_path / "results").check()


def test_a_new_folder_and_one_that_the_query_has_claimed_are_fine(tmp_path: Path) -> None:
    folder = OwnedFolder(tmp_path / "a" / "b")
    folder.check()
    folder.claim("q")
    (folder.path / ".current.json.partial").touch()  # left by a run that was killed
    folder.check()
    folder.claim("q")
    assert folder.path.is_dir()


def test_another_query_is_refused_with_both_ids(tmp_path: Path) -> None:
    OwnedFolder(tmp_path).claim("one")
    with pytest.raises(QueryError, match="of another query: of one, and this one is two"):
        OwnedFolder(tmp_path).claim("two")


def test_a_folder_that_was_deleted_since_is_not_made_anew(tmp_path: Path) -> None:
    folder = OwnedFolder(tmp_path / "results")
    folder.claim("q")
    folder.check_owned()
    (folder.path / "_muntin.json").unlink()
    for is_there in (True, False):
        if not is_there:
            folder.path.rmdir()
        with pytest.raises(StateError, match=r"results is gone, which this query wrote to\n  .*put the folder back"):
            folder.check_owned()


DEEP = "[" * 100_000
WRONG = ('{"query": 7}', '{"name": "q"}', '{"query": "q", "n": 1}', "[1]", "null", '"q"', DEEP, DEEP + "]" * 100_000)


@pytest.mark.parametrize("text", ["", '{"query": "a', "\x00\x00", *WRONG], ids=lambda text: repr(text)[:20])
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "_muntin.json").write_text(text)
    with pytest.raises(StateError, match=r"_muntin.json is damaged: .*\n  expected JSON") as caught:
        OwnedFolder(tmp_path).claim("q")
    assert caught.value.__cause__ is not None


def test_a_file_is_replaced_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    folder = OwnedFolder(tmp_path)
    assert folder.read("f.json", Pointer) is None
    folder.replace("f.json", Pointer("one", 1))
    folder.replace("f.json", Pointer("two", 2))
    assert folder.read("f.json", Pointer) == Pointer("two", 2)
    assert [file.name for file in tmp_path.iterdir()] == ["f.json"]


def test_no_byte_of_a_file_can_change_without_being_noticed(tmp_path: Path) -> None:
    folder = OwnedFolder(tmp_path)
    folder.replace("f.json", Pointer("version-3", 3, watermark=41, read="a"))
    whole = (tmp_path / "f.json").read_bytes()
    for place, byte in enumerate(whole):
        for bit in range(8):
            (tmp_path / "f.json").write_bytes(whole[:place] + bytes([byte ^ (1 << bit)]) + whole[place + 1 :])
            with pytest.raises(StateError, match=r"f.json is damaged: "):
                folder.read("f.json", Pointer)


def write(path: Path, batch_id: int, text: str) -> None:
    table = TableVersions(path)
    folder = table.new_version(batch_id)
    folder.mkdir()
    (folder / "rows").write_text(text)
    table.publish(folder, batch_id)


def rows(path: Path) -> str:
    folder = TableVersions(path).rows
    assert folder is not None
    return (folder / "rows").read_text()


def test_a_table_that_was_never_written_has_no_rows_and_no_micro_batch(tmp_path: Path) -> None:
    table = TableVersions(tmp_path)
    assert table.current is None
    assert table.rows is None
    assert not table.last_written.includes(0)


def test_the_pointer_names_the_rows_and_the_last_micro_batch(tmp_path: Path) -> None:
    write(tmp_path, 0, "a")
    write(tmp_path, 1, "b")
    assert rows(tmp_path) == "b"
    assert [TableVersions(tmp_path).last_written.includes(batch_id) for batch_id in range(3)] == [True, True, False]


def test_one_old_version_is_left_to_its_readers(tmp_path: Path) -> None:
    for batch_id in range(4):
        write(tmp_path, batch_id, str(batch_id))
    assert sorted(part.name for part in tmp_path.glob("version-*")) == ["version-2", "version-3"]


def test_a_version_that_was_cut_short_counts_for_nothing(tmp_path: Path) -> None:
    write(tmp_path, 0, "a")
    cut_short = TableVersions(tmp_path).new_version(1)
    cut_short.mkdir()
    (cut_short / "half").touch()
    assert rows(tmp_path) == "a"
    assert not TableVersions(tmp_path).last_written.includes(1)

    write(tmp_path, 1, "b")
    assert rows(tmp_path) == "b"
    assert [file.name for file in (tmp_path / "version-1").iterdir()] == ["rows"]


def test_micro_batches_without_a_change_move_the_pointer_alone(tmp_path: Path) -> None:
    write(tmp_path, 0, "a")
    table = TableVersions(tmp_path)
    folder = table.rows
    assert folder is not None
    table.publish(folder, 1)
    table.publish(folder, 2)
    assert table.current is not None
    assert table.current.watermark is None
    assert table.last_written.includes(2)
    assert rows(tmp_path) == "a"
    assert [part.name for part in tmp_path.glob("version-*")] == ["version-0"]


def test_the_watermark_moves_with_the_pointer_and_never_back(tmp_path: Path) -> None:
    write(tmp_path, 0, "a")
    table, found = TableVersions(tmp_path), []
    folder = table.rows
    assert folder is not None
    for batch_id, watermark in enumerate([None, 5, None, 3, 9], 1):
        table.publish(folder, batch_id, watermark=watermark, is_revisable=batch_id > 2)
        pointer = TableVersions(tmp_path).current
        assert pointer is not None
        found.append((pointer.batch, pointer.watermark, pointer.is_revisable))
    assert found == [(1, None, False), (2, 5, False), (3, 5, True), (4, 5, True), (5, 9, True)]


def test_a_table_without_its_pointer_does_not_begin_anew(tmp_path: Path) -> None:
    write(tmp_path, 0, "a")
    write(tmp_path, 1, "b")
    (tmp_path / "current.json").unlink()
    with pytest.raises(StateError, match=r"current.json is damaged: it is gone, and there are version-0, version-1"):
        TableVersions(tmp_path).last_written.includes(2)
    shutil.rmtree(tmp_path / "version-0")
    with pytest.raises(StateError, match=r"current.json is damaged: it is gone, and there is version-1\n"):
        TableVersions(tmp_path).new_version(2)
    TableVersions(tmp_path).new_version(1)  # that may be the first, which was cut short


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"folder": "../other"}, r"folder is '\.\./other', and versions are version-<micro-batch>"),
        ({"folder": "version-1/../../other"}, "folder is "),
        ({"batch": "1"}, "batch is '1'"),
        ({"batch": True}, "batch is True"),
        ({"watermark": 1.5}, "watermark is 1.5"),
        ({"is_revisable": 0}, "is_revisable is 0"),
        ({"rows": 3}, "unexpected keyword argument 'rows'"),
    ],
)
def test_a_pointer_with_anything_else_in_it_is_damaged(tmp_path: Path, changed: dict[str, Any], why: str) -> None:
    write(tmp_path, 0, "a")
    pointer = tmp_path / "current.json"
    said = json.loads(pointer.read_text()) | changed
    del said["crc32"]
    pointer.write_text(checksummed(said))
    with pytest.raises(StateError, match=rf"current.json is damaged: .*{why}"):
        TableVersions(tmp_path).last_written.includes(1)


def test_rows_that_are_gone_or_fewer_are_noticed(tmp_path: Path) -> None:
    write(tmp_path, 0, "a b c")
    for left in ("a", ""):
        (tmp_path / "version-0" / "rows").write_text(left)
        with pytest.raises(StateError, match=r"files of rows in .*version-0 take [01] bytes, and had 5\n"):
            TableVersions(tmp_path).last_written.includes(1)
    shutil.rmtree(tmp_path / "version-0")
    with pytest.raises(StateError, match=r"files of rows in .*version-0 take 0 bytes, and had 5"):
        TableVersions(tmp_path).last_written.includes(1)


def test_the_pointer_says_what_its_micro_batch_read(tmp_path: Path) -> None:
    write(tmp_path, 0, "a")
    table = TableVersions(tmp_path)
    assert ChangelogTable(tmp_path).last_written == WrittenBatch(0, "")
    assert table.rows is not None
    table.publish(table.rows, 1, read="these files")
    assert ChangelogTable(tmp_path).last_written == WrittenBatch(1, "these files")
