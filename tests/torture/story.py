"""A query with all sinks over files, to be killed and to be run again; started as a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from muntin import hopping, snapshot, tumbling
from muntin.rows import last
from muntin_engine import ChangelogTable, Query, events, module, one_pass
from tests.journeys.running import read_stream
from tests.modules.members import Count, Members

STORIES = ("final", "speculative", "columnar")
EVERY = (*STORIES, "one pass", "chain", "join", "rows", "operator")
"""The stories, and further ones whose results are written as Parquet files alone."""


def query_of(rows: DataFrame, story: str) -> Query:
    """Return the query of a story over rows."""
    if story == "columnar":
        points = events(rows, key="key", at="start", order="id", change="change", buckets=4)
        return points.window(hopping(9, 3)).aggregate(n=module("stats.count"), s=module("stats.sum", "payload"))
    points = events(rows, key="key", at="start", order="id", change="change", buckets=4)
    if story == "rows":
        return points.window(last(3).trigger(2)).aggregate(n=module("stats.count"), s=module("stats.sum", "payload"))
    if story == "operator":
        return points.apply(module("patterns.silence", after=5))
    if story == "join":
        return points.extend(4).join(
            points.extend(7), left_columns={"left": "payload"}, right_columns={"right": "payload"}
        )
    if story == "chain":
        sums = points.window(tumbling(5)).aggregate(s=module("stats.sum", "payload")).as_events(key="key", buckets=2)
        return sums.window(tumbling(20)).aggregate(s=module("stats.sum", "s"))
    named = events(rows, key="key", id="id", start="start", end="end", change="change", new_end="new_end", buckets=4)
    if story == "final":
        return named.window(hopping(10, 5)).aggregate(n=module(Count), all=module(Members, "payload"))
    return named.window(snapshot(), emit="speculative").aggregate(n=module(Count), all=module(Members, "payload"))


def run(spark: SparkSession, stream: Path, folder: Path, story: str) -> None:
    """Run what is left of the stream into the sinks of a folder, until the stream has no more files."""
    rows = read_stream(spark, stream)
    if story == "one pass":
        # The results of the second query go where other stories have their late rows.
        result_folders = {"columnar": folder / "results", "rows": folder / "late"}
        both_queries = one_pass(columnar=query_of(rows, "columnar"), rows=query_of(rows, "rows"))
        started = both_queries.write(
            checkpoint=folder / "checkpoint",
            results=result_folders,
            metrics={"rows": folder / "progress"},
            available_now=True,
        )
    else:
        results = ChangelogTable(folder / "results", key="key") if story == "speculative" else folder / "results"
        query = query_of(rows, story)
        sinks: dict[str, Any] = {"rejected_rows": folder / "rejected", "metrics": folder / "progress"}
        if story in ("final", "speculative"):
            sinks["late_rows"] = folder / "late"
        started = query.write(checkpoint=folder / "checkpoint", results=results, available_now=True, **sinks)
    started.awaitTermination()


def main(stream: str, folder: str, story: str) -> None:
    """Run it in a session of its own."""
    from tests.torture.session import session

    run(session(), Path(stream), Path(folder), story)


if __name__ == "__main__":
    main(*sys.argv[1:])
