"""The columns in which the blobs of a task leave it: those of `OutputBlob.columns`, with the bucket and the query."""

from __future__ import annotations

from typing import Final

from pyspark.sql import types as spark_types

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

`place` is the place of its query among those of one pass, or 0. The metrics are in `totals`, by name.
"""
