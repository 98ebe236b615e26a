"""Copies of checkpoints as files, without Spark: on disks and object stores, refused, cut short and checked."""

from __future__ import annotations

import json
from collections.abc import Iterator
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
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_copy_is_the_checkpoint_but_for_the_paths_in_it(checkpoint: Path, tmp_path: Path) -> None:
    before = contents(checkpoint)
    copy = copy_checkpoint(checkpoint, f"file:{tmp_path}/to/copy")
    after = contents(tmp_path / "to/copy")
    assert {name for name in before if name not in after} == {"state/0/_metadata/v2/.0.crc"}, "its checksum is stale"
    assert {name for name, content in after.items() if before[name] != content} == {METADATA}
    assert after[METADATA].decode() == metadata_of(f"file:{tmp_path}/to/copy")
    assert contents(checkpoint) == before
    assert (copy.path, copy.files, copy.last_batch) == (f"{tmp_path}/to/copy", len(after), 7)
    assert copy.size == sum(map(len, after.values())), (
        "the sizes are those of the copies, some of which have other text"
    )
    assert copy.destinations == (f"{tmp_path}/late", f"{tmp_path}/results"), "those of the last committed record"


def test_folders_that_are_copied_too_are_those_that_the_copy_has_written_to(checkpoint: Path, tmp_path: Path) -> None:
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
    far = copy_checkpoint(checkpoint, address)
    assert far.path == "s3a://bucket/savepoints/1"
    assert SECRET not in str(far)
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


def test_any_file_system_of_fsspec_will_do(checkpoint: Path) -> None:
    copy_checkpoint(checkpoint, "memory://savepoints/1")
    copied = copy_checkpoint("memory://savepoints/1", "memory://savepoints/2")
    assert (copied.last_batch, copied.path) == (7, "memory:///savepoints/2")


def refused(source: Path | str, target: Path | str, message: str) -> None:
    with pytest.raises((QueryError, StateError), match=message):
        copy_checkpoint(source, target)


def test_what_is_no_checkpoint_and_no_place_for_one_is_refused(checkpoint: Path, tmp_path: Path) -> None:
    refused(tmp_path / "nothing", tmp_path / "copy", r"is no checkpoint: it is not there, and no file 'metadata'")
    refused(checkpoint / "state", tmp_path / "copy", r"state is no checkpoint: it has 0, and no file 'metadata'")
    refused(checkpoint, checkpoint / "copy", "lie in each other")
    refused(checkpoint, tmp_path, "lie in each other")
    refused(checkpoint, checkpoint, "lie in each other")
    (tmp_path / "copy").mkdir()
    copy_checkpoint(checkpoint, tmp_path / "copy")
    refused(checkpoint, tmp_path / "copy", "is not empty")
    with pytest.raises(QueryError, match=r"late has no files\n  expected a folder that the query writes to"):
        copy_checkpoint(checkpoint, tmp_path / "other", {tmp_path / "late": tmp_path / "of late"})
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("text", ["v2\n{", "v2\n[]\n{}", 'v2\n{"stateStoreInfo": [7]}', "v2\n\xff"])
def test_damaged_metadata_are_named_and_nothing_is_left(checkpoint: Path, tmp_path: Path, text: str) -> None:
    (checkpoint / METADATA).write_bytes(text.encode("latin-1"))
    refused(checkpoint, tmp_path / "copy", rf"{METADATA} is damaged: .*\n  expected: the metadata")
    assert not (tmp_path / "copy").exists()


def test_a_checkpoint_without_a_file_that_it_names_is_refused(checkpoint: Path, tmp_path: Path) -> None:
    (checkpoint / SCHEMA).unlink()
    refused(checkpoint, tmp_path / "copy", rf"lacks the file {SCHEMA}, which {METADATA} names")
    assert not (tmp_path / "copy").exists()


def test_a_query_that_runs_meanwhile_is_noticed(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []

    def changing(content: bytes, start: int = 0) -> int:
        if not read:  # as a micro-batch is committed while the first file is copied
            (checkpoint / "commits/8").write_text("v1\n{}")
        read.append(len(content))
        return crc32(content, start)

    monkeypatch.setattr("muntin_engine.sinks.stored_folder.crc32", changing)
    refused(checkpoint, tmp_path / "copy", r"changed while it was copied: its query runs\n.*\n  stop it")
    assert not (tmp_path / "copy").exists()


def test_a_file_that_arrives_otherwise_is_noticed(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []

    def rotting(content: bytes, start: int = 0) -> int:
        read.append(len(content))
        return crc32(content, start) if len(read) < 16 else 0

    monkeypatch.setattr("muntin_engine.sinks.stored_folder.crc32", rotting)
    refused(checkpoint, tmp_path / "copy", "is not what was written to it")
    assert not (tmp_path / "copy").exists()


def test_a_copy_that_was_cut_short_is_not_copied_on(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as context:

        def killed(*_: Any) -> None:
            raise KeyboardInterrupt

        context.setattr("muntin_engine.sinks.stored_folder.StoredFolder.delete", lambda *_: None)
        context.setattr("muntin_engine.sinks.checkpoint_copy._check_schema_files", killed)
        with pytest.raises(KeyboardInterrupt):
            copy_checkpoint(checkpoint, tmp_path / "copy")
    refused(tmp_path / "copy", tmp_path / "second", "is a copy that was cut short: files are missing in it")


def test_the_paths_of_schemas_are_read_from_the_metadata_of_an_operator() -> None:
    (file,) = schema_files_in(metadata_of("hdfs://name/data/state/0/_stateSchema/x"), "a name")
    assert (file.root, file.inside) == ("hdfs://name/data/state/0/_stateSchema/x", SCHEMA)
