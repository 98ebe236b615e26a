"""The rows of a micro-batch on the driver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from muntin_engine.sinks.distributed_rows import changelogs_of
from muntin_engine.sinks.net_changes_on_driver import net_changes_on_driver

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_SCHEMA: Final = "org.apache.spark.sql.parquet.row.metadata"
"""The place in a file's metadata where Spark keeps a schema, with the metadata of columns."""

MANY: Final = 100_000
"""The number of rows up to which all come at once, by one job of Spark's."""


def record_batches(batch: DataFrame, row_count: int | None = None) -> pa.RecordBatchReader:
    """Read the rows of a DataFrame; the reader can be used once.

    Every column may be null, so that a table which began with these rows can get columns that they lack.

    Args:
        batch: The rows.
        row_count: The number of rows, at the most; None if it is not known: all of them come at once
            then.

    Cost: up to `MANY` rows, or all if their number is not known, come at once. More come one partition at a time, by a
    job of Spark's for each, so the driver holds no more than the largest partition.
    """
    import pyarrow as pa

    if _are_few(row_count):
        return _reader(batch.toArrow())
    schema = _nullable(batch.limit(0).toArrow().schema)
    return pa.RecordBatchReader.from_batches(schema, _by_partition(batch, schema))


def net_batches(batch: DataFrame, names: Sequence[str], row_count: int | None = None) -> pa.RecordBatchReader:
    """Read the net changes of a changelog; the reader can be used once.

    Args:
        batch: The changes.
        names: The columns that identify a row: the keys, and `event_id` as the last one.
        row_count: The number of rows, at the most; None if it is not known.

    Cost: up to `MANY` changes, or all if their number is not known, are added up on the driver, and more by Spark.
    """
    if not _are_few(row_count):
        net_changes = changelogs_of(batch).net_changes(batch, names[:-1])  # the keys, without `event_id`
        return record_batches(net_changes, row_count)
    return _reader(net_changes_on_driver(batch.toArrow(), names))


def write_file(batch: DataFrame, row_count: int | None, path: Any) -> None:
    """Write the rows of a DataFrame to a file of Parquet, from which Spark reads the same schema.

    Args:
        batch: The rows.
        row_count: The number of rows, at the most; None if it is not known.
        path: The path of the file, which has a method `open`.
    """
    from pyarrow.parquet import ParquetWriter

    rows = record_batches(batch, row_count)
    schema = rows.schema
    spark_schema = getattr(batch, "schema", None)  # None for the batches of `check_sink`, which are not Spark's
    if spark_schema is not None:
        schema = schema.with_metadata({_SCHEMA: spark_schema.json()})
    with path.open() as file, ParquetWriter(file, schema) as writer:
        for record_batch in rows:
            writer.write_batch(record_batch)


def _are_few(row_count: int | None) -> bool:
    """Return True if rows are to be read all at once: up to `MANY`, and if their number is not known."""
    return row_count is None or row_count <= MANY


def _reader(table: pa.Table) -> pa.RecordBatchReader:
    """Return a reader of a table, whose columns may be null."""
    return table.cast(_nullable(table.schema)).to_reader()


def _by_partition(batch: DataFrame, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a DataFrame, of which the driver holds one partition at a time.

    Args:
        batch: The rows.
        schema: The schema to which their columns are cast.
    """
    import pyarrow as pa

    # Spark passes plain rows to the driver, so the workers pack each record batch into one row of bytes.
    for row in batch.mapInArrow(_packed, "data binary").toLocalIterator():
        for record_batch in pa.ipc.open_stream(row.data):
            yield from pa.Table.from_batches([record_batch]).cast(schema).to_batches()


def _packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turn each record batch into a row with its bytes in a column `data`; runs on the workers."""
    import pyarrow as pa

    for batch in batches:
        buffer = pa.BufferOutputStream()
        with pa.ipc.new_stream(buffer, batch.schema) as stream:
            stream.write_batch(batch)
        yield pa.record_batch({"data": pa.array([buffer.getvalue().to_pybytes()], pa.binary())})


def _nullable(schema: pa.Schema) -> pa.Schema:
    """Return a schema whose columns may be null, and so may the values that records, lists and maps hold."""
    import pyarrow as pa

    def nullable(field: pa.Field) -> pa.Field:
        """Return a field that may be null, with all fields and values inside of it; keys of maps stay as they are."""
        arrow_type = field.type
        # A type of Arrow cannot be changed, so types that contain others are made anew from the inside out.
        if pa.types.is_struct(arrow_type):
            arrow_type = pa.struct([nullable(inner_field) for inner_field in arrow_type])
        elif pa.types.is_list(arrow_type):
            arrow_type = pa.list_(nullable(arrow_type.value_field))
        elif pa.types.is_map(arrow_type):
            arrow_type = pa.map_(arrow_type.key_field, nullable(arrow_type.item_field))
        return field.with_type(arrow_type).with_nullable(True)

    return pa.schema([nullable(field) for field in schema], schema.metadata)
