"""Queries that go on with the checkpoint of another Spark or Python: `python -m tests.versions.story FOLDER FILES`.

They read so many files of their input, one per micro-batch, and print as JSON what the checkpoint is checked for, what
the sinks hold and how many rows of state there are. `python -m tests.versions.upgrade` runs it in several environments.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from muntin import hopping, session, snapshot, tumbling
from muntin_engine import Query, events, local_session, module, one_pass, read_state, stop_session
from tests.journeys.running import collect, read_stream, write_batches
from tests.modules.members import Members

FILES: Final = 4
BATCHES: Final = [
    pa.table(
        {
            "key": ["a", "b", "c", None] * 5,
            "at": [20 * number + place for place in range(20)],
            "until": [20 * number + place + 6 for place in range(20)],
            "x": [number * place for place in range(20)],
        }
    )
    for number in range(FILES)
]


def queries(stream: DataFrame) -> dict[str, Query]:
    """Return queries whose states are of the kinds that there are: arrays, records, states of modules and events."""
    points = events(stream, key="key", at="at", watermark=3, buckets=3)
    lasting = events(stream, key="key", start="at", end="until", watermark=3, buckets=3)
    return {
        "columnar": points.window(hopping(9, 4)).aggregate(n=module("stats.count"), mean=module("stats.average", "x")),
        "general": points.window(tumbling(8), emit="speculative").aggregate(members=module(Members, "x")),
        "sessions": points.window(session(3)).aggregate(total=module("stats.sum", "x")),
        "snapshots": lasting.window(snapshot()).aggregate(n=module("stats.count")),
    }


def tell(spark: SparkSession, folder: Path, files: int) -> dict[str, Any]:
    """Run the queries over so many files, and return what is there then."""
    asked = one_pass(**queries(read_stream(spark, write_batches(folder / "input", BATCHES[:files]))))
    sinks = {name: folder / name for name in asked.queries}
    changed = asked.check(folder / "checkpoint")
    asked.write(checkpoint=folder / "checkpoint", results=sinks, available_now=True).awaitTermination()
    rows = {name: sorted(map(str, collect(spark.read.parquet(str(sink))))) for name, sink in sinks.items()}
    states = read_state(spark, folder / "checkpoint").count()
    return {"spark": spark.version, "changed": changed, "states": states, "rows": rows}


def main() -> None:
    """Tell it of a folder."""
    folder, files = Path(sys.argv[1]), int(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    spark = local_session("versions", log=folder / "spark.log")
    told = tell(spark, folder, files)
    stop_session(spark)
    print(f"\n{json.dumps(told)}")


if __name__ == "__main__":
    main()
