"""Folders of Parquet files on file systems that are not this machine's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from pyarrow import dataset, fs

from muntin.errors import QueryError
from muntin_engine import ParquetFolder
from muntin_engine.errors import StateError
from muntin_engine.sinks.sink_arguments import choose_sinks
from muntin_engine.testing import ArrowBatch, check_sink
from tests.engine.sinks.s3_server import SECRET, address_of, running_s3


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    with running_s3() as options:
        yield options


@pytest.fixture(params=["memory", "s3"])
def folder(request: pytest.FixtureRequest) -> str:
    """The address of a folder, with its name left open."""
    place = request.node.name.replace("[", "-").rstrip("]")
    if request.param == "memory":
        return f"memory://{place}/{{}}"
    return address_of(f"{place}/{{}}", request.getfixturevalue("s3"))


def file_system(address: str) -> tuple[Any, str]:
    """Return the file system of an address and the path there, as pyarrow has them."""
    if address.startswith("memory:"):
        handler = fs.FSSpecHandler(pytest.importorskip("fsspec").filesystem("memory"))
        return fs.PyFileSystem(handler), "/" + address.removeprefix("memory://")
    return cast("tuple[Any, str]", fs.FileSystem.from_uri(address))


def read(address: str) -> pa.Table:
    """Return the rows in a folder, by pyarrow alone; a column that a file lacks is null there."""
    system, path = file_system(address)
    files = system.get_file_info(fs.FileSelector(path, recursive=True, allow_not_found=True))
    paths = [file.path for file in files if file.is_file and file.base_name[0] not in "._"]
    if not paths:
        return pa.table({})
    schemas = [dataset.dataset(path_of_file, filesystem=system).schema for path_of_file in paths]
    return dataset.dataset(paths, filesystem=system, schema=pa.unify_schemas(schemas)).to_table()


@pytest.mark.cases(1)
# after a crash that is only an exception, the writer of a file is let go when the file is closed already
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_folders_in_object_stores_keep_the_laws_of_sinks(folder: str) -> None:
    # The more lines of the sink lie between two crashes, the fewer crashes are tried.
    lines_between_crashes = 5 if folder.startswith("memory:") else 25
    if "MUNTIN_KILLS" in os.environ:
        lines_between_crashes = 1

    def make(place: str) -> ParquetFolder:
        return ParquetFolder(folder.format(place))

    def take_away(place: str) -> None:
        system, path = file_system(folder.format(place))
        system.delete_file(f"{path}/batch=2/rows.parquet")  # what was written last

    def read_place(place: str) -> pa.Table:
        return read(folder.format(place))

    verdicts = check_sink(make, read_place, every=lines_between_crashes, take_away=take_away)
    assert set(verdicts.values()) == {"holds"}


def test_an_address_with_a_secret_is_a_folder_whose_name_does_not_show_it(s3: str) -> None:
    address = address_of("results", s3)
    assert SECRET in address
    sinks = choose_sinks({"": {"results": address, "metrics": "memory://metrics"}}, "checkpoint")[""]
    assert str(sinks["results"]) == "ParquetFolder('s3://bucket/results')"
    assert sinks["results"].destination == "s3://bucket/results"
    assert str(sinks["metrics"]) == "ParquetFolder('memory:///metrics')"
    assert sinks["metrics"].destination == "memory:///metrics"
    with pytest.raises(QueryError, match="are the same sink, ParquetFolder") as caught:
        choose_sinks({"": {"results": address, "late_rows": address}}, "checkpoint")
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("s3n://user:hidden@bucket/results", "has a scheme that no sink is for: 's3n:'\n  did you mean 's3"),
        ("detla:lake/hours?password=hidden", "did you mean 'delta:'"),
        ("teapot://user:hidden@bucket/results", r"one of these schemes\n  known: delta: \(muntin-engine\[delta\]\)"),
        ("sftp://user:hidden@127.0.0.1:1/results", "is not a place that can be written to"),
    ],
)
def test_an_address_that_no_sink_is_for_is_refused_without_its_password(address: str, message: str) -> None:
    with pytest.raises(QueryError, match=message) as caught:
        choose_sinks({"": {"results": address}}, "checkpoint")
    assert "hidden" not in str(caught.value)


class BreakingOff:
    """A micro-batch of which a worker is lost after a thousand rows."""

    columns = ("n",)
    schema = None

    def isEmpty(self) -> bool:
        return False

    def toArrow(self) -> Any:
        return self

    def cast(self, schema: pa.Schema) -> BreakingOff:
        return self

    def to_reader(self) -> pa.RecordBatchReader:
        def rows() -> Iterator[pa.RecordBatch]:
            yield pa.record_batch({"n": list(range(1000))})
            raise OSError("the worker is gone")

        return pa.RecordBatchReader.from_batches(pa.schema({"n": pa.int64()}), rows())


def test_a_file_whose_rows_stop_coming_is_never_in_place(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The schema of this micro-batch is None, and is not to be looked into.
    monkeypatch.setattr("muntin_engine.sinks.rows_on_driver._nullable", lambda schema: schema)
    address = folder.format("results")
    sink: Any = ParquetFolder(address)
    sink.open("q")
    sink.write(ArrowBatch(pa.table({"n": [1]})), 0)
    with pytest.raises(OSError, match="the worker is gone"):
        sink.write(BreakingOff(), 1)
    assert read(address).to_pylist() == [{"n": 1}]

    sink_of_next_run: Any = ParquetFolder(address)
    sink_of_next_run.open("q")
    assert sink_of_next_run.last_written.number == 0
    sink_of_next_run.write(ArrowBatch(pa.table({"n": [2]})), 1)
    assert read(address)["n"].to_pylist() == [1, 2]


def test_a_folder_that_was_emptied_is_not_begun_anew() -> None:
    import fsspec

    sink: Any = ParquetFolder("memory://emptied/results")
    sink.open("q")
    sink.write(ArrowBatch(pa.table({"n": [1]})), 0)
    fsspec.filesystem("memory").rm("/emptied", recursive=True)
    with pytest.raises(StateError, match="is gone, which this query wrote to"):
        sink.write(ArrowBatch(pa.table({"n": [1]})), 1)


def test_a_folder_on_this_machine_keeps_the_laws_of_sinks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass
    class Writer:
        """Writes the rows of a micro-batch into files, as Spark does for `batch.write.parquet(path)`."""

        batch: ArrowBatch

        def parquet(self, path: str) -> None:
            folder = Path(path.removeprefix("file://"))
            folder.mkdir(parents=True)
            dataset.write_dataset(self.batch.toArrow(), folder, format="parquet")

    monkeypatch.setattr(ArrowBatch, "write", property(Writer), raising=False)
    verdicts = check_sink(lambda place: ParquetFolder(tmp_path / place), lambda place: read_local(tmp_path / place))
    assert set(verdicts.values()) == {"holds"}


def read_local(folder: Path) -> pa.Table:
    """Return the rows in a folder of this machine; a column that a file lacks is null there."""
    files = [str(file) for file in folder.glob("batch=*/*")]
    if not files:
        return pa.table({})
    schemas = [dataset.dataset(file).schema for file in files]
    return dataset.dataset(files, schema=pa.unify_schemas(schemas)).to_table()


def test_the_newest_file_of_a_store_is_missed_when_it_or_a_part_of_it_is_gone(folder: str) -> None:
    """Micro-batches 0 and 1 have a row each; micro-batch 2 has none, so the newest file is of 1."""
    address = folder.format("results")
    sink: Any = ParquetFolder(address)
    sink.open("q")
    for number, rows in enumerate([[1], [2], []]):
        sink.write(ArrowBatch(pa.table({"n": pa.array(rows, pa.int64())})), number)
    system, path = file_system(address)
    system.delete_file(f"{path}/batch=0/rows.parquet")
    assert ParquetFolder(address).last_written.number == 2, "old ones may be removed"

    system.delete_file(f"{path}/batch=1/rows.parquet")
    is_gone = r"/results/batch=1, which micro-batch 1 wrote, is gone\n  what the checkpoint"
    with pytest.raises(StateError, match=is_gone):
        _ = ParquetFolder(address).last_written

    with system.open_output_stream(f"{path}/batch=1/rows.parquet") as file:
        file.write(b"half of it")
    with pytest.raises(StateError, match=r"batch=1, .*, has files of rows of 10 bytes, and had \d"):
        _ = ParquetFolder(address).last_written
