"""A job for a cluster: one streaming query in the session of `spark-submit`; prints its rows and its executors."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from muntin import Aggregate, tumbling
from muntin_engine import events, module, prepare_session


class Spread(Aggregate[float, float]):
    """The difference of the largest and the smallest payload, in code of no package."""

    name, version = "job.spread", "1.0.0"

    def compute_result(self, payloads):  # type: ignore[no-untyped-def]
        return max(payloads) - min(payloads)


def main(folder: Path) -> None:
    """Run a query over rides in a folder, and print the number of executors and the results as JSON."""
    spark = prepare_session(SparkSession.builder.getOrCreate())
    spark.conf.set("spark.sql.shuffle.partitions", "2")

    # Forty rides, one in each tick, at four stations by turns: five of each station in a window.
    (folder / "rides").mkdir()
    rides_as_dicts = [{"station": f"s{number % 4}", "at": number, "km": float(number)} for number in range(40)]
    (folder / "rides" / "1.json").write_text("".join(f"{json.dumps(ride)}\n" for ride in rides_as_dicts))
    rides = spark.readStream.schema("station string, at long, km double").json(str(folder / "rides"))

    windows = events(rides, key="station", at="at", watermark=0).window(tumbling(20))
    query = windows.aggregate(spread=module(Spread, "km"), rides=module("stats.count"))
    running = query.write(
        checkpoint=folder / "checkpoint", results=folder / "results", available_now=True, on_end="close"
    )
    running.awaitTermination()

    results = spark.read.parquet(str(folder / "results")).orderBy("window", "station").collect()
    rows = [[row.station, *row.window, row.spread, row.rides] for row in results]
    executors = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1  # the driver is among them
    print(json.dumps({"executors": executors, "rows": rows}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
