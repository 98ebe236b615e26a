"""Copies of checkpoints as files, without Spark: on disks and object stores, refused, cut short and checked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from pyarrow import fs

from muntin.errors import QueryError
from muntin_engine import copy_checkpoint
from muntin_engine.errors import StateError
from muntin_engine.sinks.checkpoint_copy import schema_files_in
from tests.engine.sinks.s3_server import SECRET, address_of, running_s3

SCHEMA = "state/0/_stateSchema/default/0_cafe"
METADATA = "state/0/_metadata/v2/0"


def metadata_of(root: str) -> str:
    """Return the metadata of an operator as Spark writes them, with the parts that a copy reads."""
    store = {"storeName": "default", "numPartitions": 2, "stateSchemaFilePaths": [f"{root}/{SCHEMA}"]}
    stores = {"operatorInfo": {"operatorId": 0}, "stateStoreInfo": [store], "operatorPropertiesJson": '{"x":"é/y"}'}
    return "v2\n" + json.dumps(stores, separators=(",", ":"), ensure_ascii=False)


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """The files of a checkpoint whose last micro-batch is 7; micro-batch 8 was planned, and not committed."""
    root = tmp_path / 'a "checkpoint" [1]'
    record = {"queries": [], "names": [], "text": "", "destinations": [f"{tmp_path}/late", f"{tmp_path}/results"]}
    contents = {
        "metadata": '{"id":"00000000-0000-0000-0000-000000000001"}',
        ".metadata.crc": "crc",
        "offsets/7": "v1\n{}",
        "offsets/8": "v1\n{}",
        "commits/7": "v1\n{}",
        "muntin/0/part-00000-a.txt": json.dumps(record | {"destinations": ["elsewhere"]}),
        "muntin/3/part-00000-b.txt": json.dumps(record),
        "muntin/3/.part-00000-b.txt.crc": "crc",
        "muntin/8/part-00000-c.txt": json.dumps(record | {"destinations": ["never committed"]}),
        METADATA: metadata_of(f"file:{root}"),
        "state/0/_metadata/v2/.0.crc": "crc",
        SCHEMA: "a schema",
        "state/0/1/SSTs/1.sst": "x" * 100_000,
    }
    for name, content in contents.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


def contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of each file in a folder, by its path there."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_copy_is_the_checkpoint_but_for_the_paths_in_it(checkpoint: Path, tmp_path: Path) -> None:
    original_files = contents(checkpoint)
    copy = copy_checkpoint(checkpoint, f"file:{tmp_path}/to/copy")
    assert contents(checkpoint) == original_files

    copied_files = contents(tmp_path / "to/copy")
    changed_names = {name for name, content in copied_files.items() if original_files[name] != content}
    assert changed_names == {METADATA}
    assert copied_files[METADATA].decode() == metadata_of(f"file:{tmp_path}/to/copy")
    assert original_files.keys() - copied_files.keys() == {"state/0/_metadata/v2/.0.crc"}, "its checksum is stale"

    assert (copy.path, copy.files, copy.last_batch) == (f"{tmp_path}/to/copy", len(copied_files), 7)
    assert copy.size == sum(map(len, copied_files.values()))
    assert copy.destinations == (f"{tmp_path}/late", f"{tmp_path}/results"), "those of the last committed record"


def test_a_copy_names_the_folders_that_were_copied_with_it_as_its_own(checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "results/batch=7").mkdir(parents=True)
    (tmp_path / "results/batch=7/part-0.parquet").write_text("rows")
    copy = copy_checkpoint(checkpoint, tmp_path / "copy", {tmp_path / "results": tmp_path / "copied"})
    assert contents(tmp_path / "copied") == {"batch=7/part-0.parquet": b"rows"}
    assert copy.destinations == (f"{tmp_path}/copied", f"{tmp_path}/late")
    record = tmp_path / "copy/muntin/3/part-00000-b.txt"
    assert json.loads(record.read_text())["destinations"] == [f"{tmp_path}/copied", f"{tmp_path}/late"]
    assert not record.with_name(f".{record.name}.crc").exists()


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    with running_s3() as options:
        yield options


def test_a_checkpoint_goes_to_an_object_store_and_back(checkpoint: Path, tmp_path: Path, s3: str) -> None:
    address = address_of("savepoints/1", s3).replace("s3:", "s3a:")
    copy = copy_checkpoint(checkpoint, address)
    assert copy.path == "s3a://bucket/savepoints/1"
    assert SECRET not in str(copy)
    system, _ = fs.FileSystem.from_uri(address_of("savepoints/1", s3))
    with system.open_input_stream(f"bucket/savepoints/1/{METADATA}") as file:
        assert file.read().decode() == metadata_of("s3a://bucket/savepoints/1")
    listed = system.get_file_info(fs.FileSelector("bucket/savepoints/1", recursive=True))
    names = [info.path.removeprefix("bucket/savepoints/1/") for info in listed if info.is_file]
    assert sorted(names) == sorted(name for name in contents(checkpoint) if not name.endswith(".crc"))

    other_scheme = address_of("savepoints/2", s3)  # Spark's connector has one scheme, and pyarrow another
    copy_checkpoint(address, other_scheme)
    with system.open_input_stream(f"bucket/savepoints/2/{METADATA}") as file:
        assert file.read().decode() == metadata_of("s3a://bucket/savepoints/2")

    copy_checkpoint(other_scheme, tmp_path / "back")
    back = contents(tmp_path / "back")
    assert back.pop(METADATA).decode() == metadata_of(f"file:{tmp_path}/back")
    assert back == {name: content for name, content in contents(checkpoint).items() if name in back}


def test_a_checkpoint_goes_to_any_file_system_of_fsspec_and_from_there(checkpoint: Path) -> None:
    copy_checkpoint(checkpoint, "memory://savepoints/1")
    copy = copy_checkpoint("memory://savepoints/1", "memory://savepoints/2")
    assert copy.last_batch == 7
    assert copy.path == "memory:///savepoints/2"


def assert_refused(source: Path | str, target: Path | str, message: str) -> None:
    """Copy a checkpoint, which must fail with a message."""
    with pytest.raises((QueryError, StateError), match=message):
        copy_checkpoint(source, target)


def test_a_folder_that_is_no_checkpoint_is_not_copied(checkpoint: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    assert_refused(tmp_path / "nothing", target, r"is no checkpoint: it is not there, and no file 'metadata'")
    assert_refused(checkpoint / "state", target, r"state is no checkpoint: it has 0, and no file 'metadata'")


def test_a_checkpoint_is_not_copied_into_itself_nor_around_itself(checkpoint: Path, tmp_path: Path) -> None:
    for target in (checkpoint / "copy", tmp_path, checkpoint):
        assert_refused(checkpoint, target, "lie in each other")


def test_a_checkpoint_is_copied_into_an_empty_folder_alone(checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    copy_checkpoint(checkpoint, tmp_path / "copy")
    assert_refused(checkpoint, tmp_path / "copy", "is not empty")


def test_a_folder_of_results_that_has_no_files_is_refused_before_anything_is_copied(
    checkpoint: Path, tmp_path: Path
) -> None:
    with pytest.raises(QueryError, match=r"late has no files\n  expected a folder that the query writes to"):
        copy_checkpoint(checkpoint, tmp_path / "other", {tmp_path / "late": tmp_path / "of late"})
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("text", ["v2\n{", "v2\n[]\n{}", 'v2\n{"stateStoreInfo": [7]}', "v2\n\xff"])
def test_damaged_metadata_are_named_and_nothing_is_left(checkpoint: Path, tmp_path: Path, text: str) -> None:
    (checkpoint / METADATA).write_bytes(text.encode("latin-1"))
    assert_refused(checkpoint, tmp_path / "copy", rf"{METADATA} is damaged: .*\n  expected: the metadata")
    assert not (tmp_path / "copy").exists()


def test_a_checkpoint_without_a_file_that_it_names_is_refused(checkpoint: Path, tmp_path: Path) -> None:
    (checkpoint / SCHEMA).unlink()
    assert_refused(checkpoint, tmp_path / "copy", rf"lacks the file {SCHEMA}, which {METADATA} names")
    assert not (tmp_path / "copy").exists()


def test_a_query_that_commits_a_micro_batch_while_it_is_copied_is_noticed(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def commit_and_compute(content: bytes, start: int = 0) -> int:
        """Compute a checksum, as of each block that is copied; a micro-batch is committed meanwhile."""
        (checkpoint / "commits/8").write_text("v1\n{}")
        return crc32(content, start)

    monkeypatch.setattr("muntin_engine.sinks.stored_folder.crc32", commit_and_compute)
    assert_refused(checkpoint, tmp_path / "copy", r"changed while it was copied: its query runs\n.*\n  stop it")
    assert not (tmp_path / "copy").exists()


def test_a_file_that_is_read_back_otherwise_than_it_was_written_is_noticed(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = count(1)

    def compute_right_at_first(content: bytes, start: int = 0) -> int:
        """Compute a checksum: from the sixteenth on, when files are read back, a wrong one."""
        return crc32(content, start) if next(calls) < 16 else 0

    monkeypatch.setattr("muntin_engine.sinks.stored_folder.crc32", compute_right_at_first)
    assert_refused(checkpoint, tmp_path / "copy", "is not what was written to it")
    assert not (tmp_path / "copy").exists()


def test_a_copy_that_was_cut_short_cannot_be_copied(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        # The process is killed in the last step, and cannot delete what it has copied.
        context.setattr("muntin_engine.sinks.stored_folder.StoredFolder.delete", lambda *_: None)
        context.setattr("muntin_engine.sinks.checkpoint_copy._check_schema_files", interrupt)
        with pytest.raises(KeyboardInterrupt):
            copy_checkpoint(checkpoint, tmp_path / "copy")
    assert_refused(tmp_path / "copy", tmp_path / "second", "is a copy that was cut short: files are missing in it")


def test_the_paths_of_schemas_are_read_from_the_metadata_of_an_operator() -> None:
    root = "hdfs://name/data/state/0/_stateSchema/x"  # of which a part looks like the path of a schema
    (file,) = schema_files_in(metadata_of(root), "a name")
    assert file.root == root
    assert file.inside == SCHEMA
