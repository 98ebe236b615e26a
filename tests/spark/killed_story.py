"""Run a query in a session of its own, and kill the JVM once so many micro-batches are out."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark import SparkContext
from pyspark.sql import DataFrame

from muntin import tumbling
from muntin_engine import events, module
from muntin_engine.spark.session import local_session, stop_session
from tests.spark.modules import Count, Members
from tests.spark.running import read_stream


def main(folder: Path, kill_after: int) -> None:
    (folder / "parts").mkdir(exist_ok=True)
    conf = {"spark.sql.session.timeZone": "America/New_York"}
    spark = local_session("killed", log=folder / "spark.log", conf=conf)

    def write(batch: DataFrame, number: int) -> None:
        pq.write_table(batch.toArrow(), folder / "parts" / f"{number:04}.parquet")
        if number + 1 == kill_after:
            gateway: Any = SparkContext._gateway
            os.kill(gateway.proc.pid, signal.SIGKILL)

    stream = events(read_stream(spark, folder / "stream"), key="key", at="at", delay="0 seconds", buckets=4)
    query = stream.window(tumbling("15 seconds")).aggregate(n=module(Count), all=module(Members, "x"))
    writer = query.results().writeStream.trigger(availableNow=True)
    writer.option("checkpointLocation", str(folder / "checkpoint")).foreachBatch(write).start().awaitTermination()
    stop_session(spark)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
