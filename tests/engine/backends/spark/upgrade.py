"""`python -m tests.engine.backends.spark.upgrade PYTHON ...`: each Python continues the checkpoint of the one before.

The Pythons are those of environments that differ in Spark or in themselves. Each reads one file more of the input than
the one before, one per micro-batch. In the end rows and state have to be those that the last Python gives alone.
`make test-versions VERSIONS=upgrade` runs it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from muntin import hopping, session, snapshot, tumbling
from muntin_engine import Query, events, local_session, module, one_pass, read_state, stop_session
from tests.engine.backends.spark.connect_server import printed_json
from tests.journeys.running import collect, read_stream, write_batches
from tests.modules.members import Members

_THIS: Final = "tests.engine.backends.spark.upgrade"
MOST_PYTHONS: Final = 5

# A micro-batch for each Python: a row in each of twenty ticks, that lasts six ticks, with the next of four keys.
BATCHES: Final = [
    pa.table(
        {
            "key": ["a", "b", "c", None] * 5,
            "at": [20 * number + place for place in range(20)],
            "until": [20 * number + place + 6 for place in range(20)],
            "x": [number * place for place in range(20)],
        }
    )
    for number in range(MOST_PYTHONS)
]


def main(pythons: list[str]) -> int:
    """Return 1 if the last Python has other rows or another state than alone."""
    assert 2 <= len(pythons) <= MOST_PYTHONS, f"between 2 and {MOST_PYTHONS} Pythons, not {len(pythons)}"
    with TemporaryDirectory() as folder:
        for files, python in enumerate(pythons, 1):
            continued = printed_json(python, _THIS, "run", str(Path(folder, "continued")), str(files))
            changes = continued["changed"] or "no change"
            print(f"{python}: Spark {continued['spark']}, {continued['states']} rows of state, {changes}")
        alone = printed_json(pythons[-1], _THIS, "run", str(Path(folder, "alone")), str(len(pythons)))

    is_same = continued["rows"] == alone["rows"] and continued["states"] == alone["states"]
    verdict = "are those" if is_same else "differ from those"
    print(f"rows and state {verdict} of the last one alone")
    return not is_same


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


def run_queries(spark: SparkSession, folder: Path, files: int) -> dict[str, Any]:
    """Run the queries over so many files, and return what the checkpoint, its check and the sinks say then."""
    query = one_pass(**queries(read_stream(spark, write_batches(folder / "input", BATCHES[:files]))))
    sinks = {name: folder / name for name in query.queries}
    changed = query.check(folder / "checkpoint")
    query.write(checkpoint=folder / "checkpoint", results=sinks, available_now=True).awaitTermination()
    rows = {name: sorted(map(str, collect(spark.read.parquet(str(sink))))) for name, sink in sinks.items()}
    states = read_state(spark, folder / "checkpoint").count()
    return {"spark": spark.version, "changed": changed, "states": states, "rows": rows}


def run_here(folder: Path, files: int) -> dict[str, Any]:
    """Run the queries with this Python in a session of their own."""
    folder.mkdir(parents=True, exist_ok=True)
    spark = local_session("upgrade", log=folder / "spark.log")
    answers = run_queries(spark, folder, files)
    stop_session(spark)
    return answers


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["run", run_folder, file_count]:
            print(f"\n{json.dumps(run_here(Path(run_folder), int(file_count)))}")
        case pythons:
            sys.exit(main(pythons))
