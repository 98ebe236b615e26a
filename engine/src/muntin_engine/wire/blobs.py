"""Tables as bytes, and back: Arrow IPC streams. The output of buckets is read back in `blob_readers`."""

from __future__ import annotations

import pyarrow as pa


def to_blob(table: pa.RecordBatch | pa.Table) -> bytes:
    """Write a table as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write(table)
    blob: bytes = sink.getvalue().to_pybytes()
    return blob


def from_blob(blob: bytes) -> pa.Table:
    """Read the table that `to_blob` wrote."""
    with pa.ipc.open_stream(blob) as reader:
        return reader.read_all()
