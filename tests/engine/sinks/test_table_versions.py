"""Versions of a table and the pointer to the current one, whatever happens in between."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from muntin_engine import ChangelogTable, StateError
from muntin_engine.sinks.owned_folder import checksummed
from muntin_engine.sinks.table_versions import TableVersions
from muntin_engine.sinks.written_batch import WrittenBatch
from tests.engine.sinks.synced_disk import Disk


def write(path: Path, batch_id: int, text: str) -> None:
    """Write a version of a table with one file, and publish it."""
    table = TableVersions(path)
    folder = table.new_version(batch_id)
    folder.mkdir()
    (folder / "rows").write_text(text)
    table.publish(folder, batch_id)


def rows(path: Path) -> str:
    """Return the text in the current version of a table."""
    folder = TableVersions(path).rows_folder
    assert folder is not None
    return (folder / "rows").read_text()


def test_a_table_that_was_never_written_has_no_rows_and_no_micro_batch(tmp_path: Path) -> None:
    table = TableVersions(tmp_path)
    assert table.current is None
    assert table.rows_folder is None
    assert not table.last_written.includes(0)


def test_the_pointer_names_the_rows_and_the_last_micro_batch(tmp_path: Path) -> None:
    write(tmp_path, 0, "a")
    write(tmp_path, 1, "b")
    assert rows(tmp_path) == "b"
    last_written = TableVersions(tmp_path).last_written
    assert last_written.includes(1)
    assert not last_written.includes(2)


def test_the_version_before_the_current_one_is_left_to_its_readers(tmp_path: Path) -> None:
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
    folder = table.rows_folder
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
    table = TableVersions(tmp_path)
    folder = table.rows_folder
    assert folder is not None
    watermarks = []
    for batch_id, watermark in enumerate([None, 5, None, 3, 9], 1):
        table.publish(folder, batch_id, watermark=watermark)
        pointer = TableVersions(tmp_path).current
        assert pointer is not None
        assert pointer.batch == batch_id
        watermarks.append(pointer.watermark)
    assert watermarks == [None, 5, 5, 5, 9]


def test_the_pointer_says_whether_rows_are_revisable(tmp_path: Path) -> None:
    write(tmp_path, 0, "a")
    table = TableVersions(tmp_path)
    folder = table.rows_folder
    assert folder is not None
    for batch_id, is_revisable in [(1, False), (2, True)]:
        table.publish(folder, batch_id, is_revisable=is_revisable)
        pointer = TableVersions(tmp_path).current
        assert pointer is not None
        assert pointer.is_revisable == is_revisable


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


def test_a_loss_of_power_takes_no_version_that_was_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk()
    monkeypatch.setattr(os, "fsync", disk.sync)
    for batch_id in range(3):
        write(tmp_path, batch_id, "rows")
        assert disk.lost(tmp_path) == []


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
def test_a_pointer_whose_members_are_others_is_damaged_although_its_checksum_is_right(
    tmp_path: Path, changed: dict[str, Any], why: str
) -> None:
    write(tmp_path, 0, "a")
    pointer = tmp_path / "current.json"
    members = json.loads(pointer.read_text()) | changed
    del members["crc32"]
    pointer.write_text(checksummed(members))
    with pytest.raises(StateError, match=rf"current.json is damaged: .*{why}"):
        TableVersions(tmp_path).last_written.includes(1)


def test_rows_that_are_gone_or_fewer_are_noticed(tmp_path: Path) -> None:
    write(tmp_path, 0, "a b c")  # five bytes
    for content in ("a", ""):
        (tmp_path / "version-0" / "rows").write_text(content)
        with pytest.raises(StateError, match=r"files of rows in .*version-0 take [01] bytes, and had 5\n"):
            TableVersions(tmp_path).last_written.includes(1)
    shutil.rmtree(tmp_path / "version-0")
    with pytest.raises(StateError, match=r"files of rows in .*version-0 take 0 bytes, and had 5"):
        TableVersions(tmp_path).last_written.includes(1)


def test_the_pointer_has_the_input_of_its_micro_batch(tmp_path: Path) -> None:
    write(tmp_path, 0, "a")
    table = TableVersions(tmp_path)
    assert ChangelogTable(tmp_path).last_written == WrittenBatch(0, "")
    assert table.rows_folder is not None
    table.publish(table.rows_folder, 1, input_id="these files")
    assert ChangelogTable(tmp_path).last_written == WrittenBatch(1, "these files")
