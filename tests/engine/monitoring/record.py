"""`python -m tests.engine.monitoring.record`: run a query and write down what it says of itself, for the tests here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from muntin import Aggregate, tumbling
from muntin_engine import events, module
from muntin_engine.backends.spark.session.local import local_session, stop_session
from tests.engine.monitoring.queries import RECORDED
from tests.journeys.running import stream_of

MINUTE = 60_000_000
EIGHT = 1_714_550_400_000_000

# windows of 10 minutes; the input is complete up to 5 minutes before the newest start
#            0            10            20            30
# batch 0     a b a
# batch 1                     b   a                        closes [0, 10) of both
# batch 2       a late             a, and one without km
# batch 3                                      b           closes [10, 20) of both
BATCHES: list[list[tuple[str, int, float | None]]] = [
    [("a", 1, 3.5), ("b", 2, 1.0), ("a", 3, 2.0)],
    [("a", 16, 1.5), ("b", 14, 4.0)],
    [("a", 5, 1.0), ("a", 17, 2.5), ("b", 18, None)],
    [("b", 27, 1.0)],
]


class Longest(Aggregate[float, float]):
    """The longest ride."""

    name, version = "rides.longest", "1.0.0"

    def compute_result(self, payloads: Sequence[float]) -> float:
        return max(payloads)


def main() -> None:
    spark = local_session("muntin record")
    try:
        with TemporaryDirectory() as folder:
            batches = run(spark, Path(folder))
    finally:
        stop_session(spark)
    RECORDED.write_text("".join(f"{json.dumps(batch_progress)}\n" for batch_progress in batches), encoding="utf-8")


def run(spark: Any, folder: Path) -> list[dict[str, Any]]:
    """Return the progress of the query; what only Spark reads, or what names places of this machine, is left out."""
    stream = stream_of(spark, folder / "stream", [table(rows) for rows in BATCHES])
    query = events(stream, key="station", at="at", watermark="5 minutes", buckets=2).window(tumbling("10 minutes"))
    results = query.aggregate(longest=module(Longest, "km")).results()
    writer = results.writeStream.format("noop").option("checkpointLocation", str(folder / "checkpoint"))
    running = writer.trigger(availableNow=True).start()
    running.awaitTermination()
    recent = [json.loads(batch_progress.json) for batch_progress in running.recentProgress]
    return [
        {**batch_progress, "stateOperators": [], "sources": [], "sink": {"description": "noop", "numOutputRows": -1}}
        for batch_progress in recent
    ]


def table(rows: Sequence[tuple[str, int, float | None]]) -> pa.Table:
    """Return rides, given as their stations, minutes after 8 o'clock, and kilometers, as a table of the stream."""
    stations, minutes, kilometers = zip(*rows, strict=True)
    times = [datetime.fromtimestamp((EIGHT + minute * MINUTE) / 1_000_000, UTC) for minute in minutes]
    return pa.table(
        {
            "station": pa.array(stations),
            "km": pa.array(kilometers),
            "at": pa.array(times, pa.timestamp("us", tz="UTC")),
        }
    )


if __name__ == "__main__":
    main()
