"""A process that writes micro-batches to a sink and says so, until somebody kills it."""

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
    """Writes files as Spark does."""

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
    """Return the sink of a kind, such as `delta-merged`."""
    if kind.startswith("delta"):
        return DeltaLakeTable(place)
    if kind.startswith(("sqlite", "postgresql")):
        return DatabaseTable(place)
    if kind == "kafka":
        return KafkaTopic(place)
    return IcebergTable("bikes.hours", Path(place)) if kind.startswith("iceberg") else ParquetFolder(place)


def batch_of(number: int, changes: bool) -> Any:
    """Return a micro-batch."""
    return FileBatch(micro_batch(number, changes=changes))


def main(kind: str, place: str, progress: str) -> None:
    """Go on where the progress says, as a query goes on where its checkpoint says."""
    changes = kind.endswith("-merged")
    done = Path(progress)
    sink = sink_of(kind, place)
    sink.keyed_by(KEYS)
    sink.check(batch_of(0, changes).columns)
    sink.open("query")
    first = int(done.read_text()) + 1 if done.exists() else 0
    last = sink.last_written
    assert (last is None) == (kind == "kafka"), "each of the others knows"
    assert last is None or first - 1 <= last.number <= first, f"{last} of {first - 1}"
    sys.stdout.write("begins\n")
    sys.stdout.flush()
    for number in count(first):
        sink.take_input_id(f"read {number}")
        sink.write(batch_of(number, changes), number)
        new_file = done.with_suffix(".new")
        new_file.write_text(str(number))
        new_file.replace(done)


def rows_in(kind: str, place: str) -> pa.Table:
    """Read the rows as readers do. Messages with the same id must be equal, and count once."""
    if kind.startswith(("sqlite", "postgresql")):
        address = place.partition("?table=")[0].replace("&table=hours", "")
        connect: Any = sqlite3.connect if kind.startswith("sqlite") else psycopg.connect
        with closing(connect(address.removeprefix("sqlite:"))) as connection:
            cursor = connection.execute("SELECT * FROM hours")
            names = [name for name, *_ in cursor.description]
            rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        return pa.Table.from_pylist(
            [row | {"window": {"start": row["window_start"], "end": row["window_end"]}} for row in rows]
        )
    if kind == "kafka":
        servers, _, topic = place.removeprefix("kafka://").partition("/")
        values_by_id: dict[Any, Any] = {}
        for message in read_topic(servers, topic):
            value = message.value()
            row_id = dict(message.headers() or [])["muntin-id"]
            assert values_by_id.setdefault(row_id, value) == value
        return pa.Table.from_pylist([json.loads(value) for value in values_by_id.values()])
    if kind.startswith("delta"):
        from deltalake import DeltaTable

        return DeltaTable(place).to_pyarrow_table()
    if kind.startswith("iceberg"):
        from pyiceberg.catalog import load_catalog

        catalog = load_catalog("muntin", type="sql", uri=f"sqlite:///{place}/catalog.db", warehouse=f"file://{place}")
        return catalog.load_table("bikes.hours").scan().to_arrow()
    from pyarrow import dataset, fs

    if "://" not in place:
        return dataset.dataset(place, partitioning="hive").to_table()
    system, path = fs.FileSystem.from_uri(place)
    return dataset.dataset(path, filesystem=system, partitioning="hive").to_table()


if __name__ == "__main__":
    main(*sys.argv[1:])
