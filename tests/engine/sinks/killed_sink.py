"""A program that writes micro-batches to a sink and notes each of them, until somebody kills it."""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
from pyarrow import parquet

from muntin_engine import DatabaseTable, DeltaLakeTable, IcebergTable, KafkaTopic, ParquetFolder, Sink
from muntin_engine.testing import ArrowBatch
from muntin_engine.testing.sink_stream import KEYS, micro_batch
from tests.engine.sinks.kafka_brokers import read_topic


class FileBatch(ArrowBatch):
    """A micro-batch that writes its rows into files, as Spark does for `batch.write.parquet(path)`."""

    @property
    def write(self) -> FileBatch:
        """The writer."""
        return self

    def parquet(self, path: str) -> None:
        """Write the rows to a folder."""
        folder = Path(path.removeprefix("file://"))
        folder.mkdir(parents=True)
        parquet.write_table(self.toArrow(), folder / "part-0.parquet")


def sink_of(kind: str, place: str) -> Sink:
    """Return the sink of a kind, such as `delta` or, for a changelog, `delta-merged`."""
    match kind.removesuffix("-merged"):
        case "delta":
            return DeltaLakeTable(place)
        case "iceberg":
            return IcebergTable("bikes.hours", Path(place))
        case "sqlite" | "postgresql":
            return DatabaseTable(place)
        case "kafka":
            return KafkaTopic(place)
        case _:
            return ParquetFolder(place)


def main(kind: str, place: str, progress: str) -> None:
    """Write micro-batch after micro-batch, until the process is killed.

    It begins after the one that the file `progress` names, as a query goes on where its checkpoint says, and notes each
    one there when it is written. So the sink may have one micro-batch more than the file says.

    Args:
        kind: The kind of the sink.
        place: The address of the sink.
        progress: The path of the file.
    """
    has_changes = kind.endswith("-merged")
    done = Path(progress)
    first_batch = int(done.read_text()) + 1 if done.exists() else 0

    def batch_of(number: int) -> Any:
        return FileBatch(micro_batch(number, changes=has_changes))

    sink = sink_of(kind, place)
    sink.keyed_by(KEYS)
    sink.check(batch_of(0).columns)
    sink.open("query")
    last_written = sink.last_written
    if kind == "kafka":
        assert last_written is None, "a topic does not know what it has"
    else:
        assert last_written is not None
        assert last_written.number in (first_batch - 1, first_batch), f"{last_written} of {first_batch - 1}"

    sys.stdout.write("begins\n")
    sys.stdout.flush()
    for number in count(first_batch):
        sink.take_input_id(f"read {number}")
        sink.write(batch_of(number), number)
        new_file = done.with_suffix(".new")
        new_file.write_text(str(number))
        new_file.replace(done)


def rows_in(kind: str, place: str) -> pa.Table:
    """Return the rows of a sink, as a reader without Muntin reads them."""
    match kind.removesuffix("-merged"):
        case "delta":
            from deltalake import DeltaTable

            return DeltaTable(place).to_pyarrow_table()
        case "iceberg":
            return _rows_of_iceberg(place)
        case "sqlite" | "postgresql":
            return _rows_of_database(place)
        case "kafka":
            return _rows_of_topic(place)
        case _:
            return _rows_of_folder(place)


def _rows_of_iceberg(place: str) -> pa.Table:
    from pyiceberg.catalog import load_catalog

    catalog = load_catalog("muntin", type="sql", uri=f"sqlite:///{place}/catalog.db", warehouse=f"file://{place}")
    return catalog.load_table("bikes.hours").scan().to_arrow()


def _rows_of_database(place: str) -> pa.Table:
    """Return the rows of the table `hours`, with their windows as records again."""
    address = place.partition("?table=")[0].replace("&table=hours", "")
    connect: Any = sqlite3.connect if address.startswith("sqlite:") else psycopg.connect
    with closing(connect(address.removeprefix("sqlite:"))) as connection:
        cursor = connection.execute("SELECT * FROM hours")
        names = [name for name, *_ in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    for row in rows:
        row["window"] = {"start": row["window_start"], "end": row["window_end"]}
    return pa.Table.from_pylist(rows)


def _rows_of_topic(place: str) -> pa.Table:
    """Return the rows of a topic. Messages with the same id must be equal, and count once."""
    servers, _, topic = place.removeprefix("kafka://").partition("/")
    values_by_id: dict[Any, Any] = {}
    for message in read_topic(servers, topic):
        value = message.value()
        row_id = dict(message.headers() or [])["muntin-id"]
        assert values_by_id.setdefault(row_id, value) == value
    return pa.Table.from_pylist([json.loads(value) for value in values_by_id.values()])


def _rows_of_folder(place: str) -> pa.Table:
    """Return the rows of a folder on this machine or on S3."""
    from pyarrow import dataset, fs

    if "://" not in place:
        return dataset.dataset(place, partitioning="hive").to_table()
    system, path = fs.FileSystem.from_uri(place)
    return dataset.dataset(path, filesystem=system, partitioning="hive").to_table()


if __name__ == "__main__":
    main(*sys.argv[1:])
