"""A query that kills its JVM in the middle, and is gone on with in another session."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from muntin import tumbling
from muntin_engine import events, module
from tests.journeys.running import read_stream
from tests.modules.members import Count, Members


def run_query(spark: SparkSession, folder: Path, kill_after: int | None = None) -> None:
    """Run the query over the remaining rows of a stream, and write each micro-batch into a file of its own.

    Args:
        spark: The session.
        folder: The folder with the `stream`.
        kill_after: Number of micro-batches after which the JVM is killed; None to let it live.
    """
    (folder / "parts").mkdir(exist_ok=True)

    def write(batch: DataFrame, number: int) -> None:
        pq.write_table(batch.toArrow(), folder / "parts" / f"{number:04}.parquet")
        if number + 1 == kill_after:
            gateway: Any = SparkContext._gateway
            os.kill(gateway.proc.pid, signal.SIGKILL)

    stream = events(read_stream(spark, folder / "stream"), key="key", at="at", watermark="0 seconds", buckets=4)
    query = stream.window(tumbling("15 seconds")).aggregate(n=module(Count), all=module(Members, "x"))
    writer = query.results().writeStream.trigger(availableNow=True)
    writer.option("checkpointLocation", str(folder / "checkpoint")).foreachBatch(write).start().awaitTermination()
