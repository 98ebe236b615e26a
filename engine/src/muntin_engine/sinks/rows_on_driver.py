"""The rows of a micro-batch on the driver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from muntin_engine.sinks.distributed_rows import changelogs_of
from muntin_engine.sinks.net_table import net_table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_SCHEMA: Final = "org.apache.spark.sql.parquet.row.metadata"
"""The place in a file's metadata where Spark keeps a schema, with the metadata of columns."""

MANY: Final = 100_000
"""The number of rows up to which all come at once, by one job of Spark's."""


def record_batches(batch: DataFrame, count: int | None = None) -> pa.RecordBatchReader:
    """Return the rows of a DataFrame, to be read once.

    Args:
        batch: The rows.
        count: How many there are, at the most; None if that is not known.

    Every column may be null, so that a table which began with these rows can get columns that they lack.

    Cost: up to `MANY` rows come at once. More come one partition at a time, by a job of Spark's for each, so the driver
    holds no more than the largest partition.
    """
    import pyarrow as pa

    if _are_few(count):
        return _reader(batch.toArrow())
    schema = _nullable(batch.limit(0).toArrow().schema)
    return pa.RecordBatchReader.from_batches(schema, _by_partition(batch, schema))


def net_batches(batch: DataFrame, names: Sequence[str], count: int | None = None) -> pa.RecordBatchReader:
    """Return the net changes of a changelog, to be read once.

    Args:
        batch: The changes.
        names: The columns that name a row: the keys and `event_id`.
        count: As for `record_batches`.

    Cost: up to `MANY` changes are added up here, more by Spark.
    """
    if not _are_few(count):
        net_changes = changelogs_of(batch).net_changes(batch, names[:-1])
        return record_batches(net_changes, count)
    return _reader(net_table(batch.toArrow(), names))


def write_file(batch: DataFrame, count: int | None, path: Any) -> None:
    """Write the rows of a DataFrame to a file of Parquet, from which Spark reads the same schema.

    Args:
        batch: The rows.
        count: As for `record_batches`.
        path: The file, something with a method `open`.
    """
    from pyarrow.parquet import ParquetWriter

    rows = record_batches(batch, count)
    schema = rows.schema
    if (of_spark := getattr(batch, "schema", None)) is not None:
        schema = schema.with_metadata({_SCHEMA: of_spark.json()})
    with path.open() as file, ParquetWriter(file, schema) as writer:
        for part in rows:
            writer.write_batch(part)


def _are_few(count: int | None) -> bool:
    return count is None or count <= MANY


def _reader(table: pa.Table) -> pa.RecordBatchReader:
    return table.cast(_nullable(table.schema)).to_reader()


def _by_partition(batch: DataFrame, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for row in batch.mapInArrow(_packed, "data binary").toLocalIterator():
        for part in pa.ipc.open_stream(row.data):
            yield from pa.Table.from_batches([part]).cast(schema).to_batches()


def _packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turn each record batch into a row of bytes; runs on the workers."""
    import pyarrow as pa

    for batch in batches:
        out = pa.BufferOutputStream()
        with pa.ipc.new_stream(out, batch.schema) as stream:
            stream.write_batch(batch)
        yield pa.record_batch({"data": pa.array([out.getvalue().to_pybytes()], pa.binary())})


def _nullable(schema: pa.Schema) -> pa.Schema:
    import pyarrow as pa

    def of(field: pa.Field) -> pa.Field:
        kind = field.type
        if pa.types.is_struct(kind):
            kind = pa.struct([of(kind.field(place)) for place in range(kind.num_fields)])
        elif pa.types.is_list(kind):
            kind = pa.list_(of(kind.value_field))
        elif pa.types.is_map(kind):
            kind = pa.map_(kind.key_field, of(kind.item_field))
        return field.with_type(kind).with_nullable(True)

    return pa.schema([of(field) for field in schema], schema.metadata)
