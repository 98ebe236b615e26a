"""Spark's stateful operator around a bucket. It holds bytes and calls `run_bucket`.

Spark starts a Python process on the driver for each such operator of a query, which only asks for its state. So what
evaluates is imported where rows are: importing it takes longer than all else that this process does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pyspark.sql import Row
from pyspark.sql import types as spark_types
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

OUTPUT: Final = spark_types.StructType(
    [
        spark_types.StructField("bucket", spark_types.IntegerType()),
        spark_types.StructField("place", spark_types.IntegerType()),
        spark_types.StructField("stream", spark_types.StringType()),
        spark_types.StructField("rows", spark_types.LongType()),
        spark_types.StructField("data", spark_types.BinaryType()),
        spark_types.StructField("totals", spark_types.MapType(spark_types.StringType(), spark_types.LongType())),
    ]
)
"""The output of a bucket: blobs of results, late and rejected rows, its watermarks, and one row with all its metrics.

`place` is that of its query among those of one pass; 0 where there is only one. The metrics are in `totals`, by name.
"""

_NAME: Final = spark_types.StructType([spark_types.StructField("name", spark_types.StringType())])
_DATA: Final = spark_types.StructType([spark_types.StructField("data", spark_types.BinaryType())])


class MapCells:
    """Cells in a map of Spark's state store."""

    def __init__(self, state: Any) -> None:
        self._state = state

    def get(self, name: str) -> bytes | None:
        """Return a cell's bytes, or None if it is empty."""
        value = self._state.getValue((name,))
        return None if value is None else bytes(value[0])

    def put(self, name: str, data: bytes) -> None:
        """Set a cell."""
        self._state.updateValue((name,), (data,))

    def remove(self, name: str) -> None:
        """Empty a cell."""
        self._state.removeKey((name,))


class BucketProcessor(StatefulProcessor):
    """Runs the buckets of a streaming query, or of several in one pass.

    It is pickled, sent and made anew for each partition of each micro-batch; what lasts is in the state store.
    """

    def __init__(self, tasks: Mapping[int, bytes]) -> None:
        """Take the packed task of each bucket."""
        self._tasks = tasks

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state. The tasks stay closed: this runs where its modules may not be importable."""
        self._cells = MapCells(handle.getMapState("cells", _NAME, _DATA))

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        """Evaluate one bucket."""
        from muntin_engine.exchange.bucket_task import run_bucket, with_totals
        from muntin_engine.exchange.shuffle import collect
        from muntin_engine.spark.shipping.packed_task import open_task

        task = open_task(self._tasks[key[0]])
        found = run_bucket(task, key[0], self._cells, collect(rows, len(task.inputs)))
        for blob in with_totals(found):
            own = {"stream": blob.stream, "rows": blob.rows, "data": blob.data, "totals": blob.totals}
            yield Row(bucket=key[0], place=task.place, **own)

    def close(self) -> None:
        """Nothing is held open."""
