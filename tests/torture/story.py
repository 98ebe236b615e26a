"""A query with all sinks over files, to be killed and to be run again; started as a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from muntin import hopping, snapshot
from muntin_engine import ChangelogTable, Query, events, module
from tests.spark.modules import Count, Members
from tests.spark.running import read_stream

STORIES = ("final", "speculative", "columnar")


def query_of(spark: SparkSession, stream: Path, story: str) -> Query:
    """Return the query of a story."""
    rows = read_stream(spark, stream)
    if story == "columnar":
        points = events(rows, key="key", at="start", change="change", buckets=4)
        return points.window(hopping(9, 3)).aggregate(n=module("stats.count"), s=module("stats.sum", "payload"))
    named = events(rows, key="key", id="id", start="start", end="end", change="change", new_end="new_end", buckets=4)
    if story == "final":
        return named.window(hopping(10, 5)).aggregate(n=module(Count), all=module(Members, "payload"))
    return named.window(snapshot(), emit="speculative").aggregate(n=module(Count), all=module(Members, "payload"))


def run(spark: SparkSession, stream: Path, folder: Path, story: str) -> None:
    """Run what is left of the stream into the sinks of a folder."""
    results = ChangelogTable(folder / "results", key="key") if story == "speculative" else folder / "results"
    query = query_of(spark, stream, story)
    sinks: dict[str, Any] = {"rejected": folder / "rejected", "progress": folder / "progress"}
    if story != "columnar":
        sinks["late"] = folder / "late"
    started = query.write(checkpoint=folder / "checkpoint", results=results, trigger="available_now", **sinks)
    started.awaitTermination()


def main(stream: str, folder: str, story: str) -> None:
    """Run it in a session of its own."""
    from tests.torture.session import session

    run(session(), Path(stream), Path(folder), story)


if __name__ == "__main__":
    main(*sys.argv[1:])
