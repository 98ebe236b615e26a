"""Results that start no earlier than what caused them: the module promises it, or the query asks for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from muntin import ClipPolicy, Event, Operator, OutputContract, Window, tumbling
from muntin_engine import events, module
from tests.spark.running import plain, run, stream_of


class Largest(Operator[int, int]):
    """The largest payload so far, from when it came on."""

    name, version = "show.largest_so_far", "1.0.0"
    is_time_sensitive = True
    contract = OutputContract.TIME_BOUND
    accepted_clips = frozenset({ClipPolicy.FULL})

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> Iterable[Event[int]]:
        ordered = sorted(events, key=lambda event: (event.start, -event.payload))
        rises = [e for i, e in enumerate(ordered) if all(e.payload > before.payload for before in ordered[:i])]
        ends = [after.start for after in rises[1:]] + [window.end]
        return [Event(rise.start, end, rise.payload) for rise, end in zip(rises, ends, strict=True)]


def test_an_eager_result_is_shortened_instead_of_retracted(spark: SparkSession, tmp_path: Path) -> None:
    batches = [pa.table({"at": [1, 3], "x": [5, 4]}), pa.table({"at": [6], "x": [9]}), pa.table({"at": [30], "x": [1]})]
    stream = events(stream_of(spark, tmp_path / "stream", batches), at="at", delay=3, buckets=1)
    query = stream.window(tumbling(10), clip="full", timestamps="unchanged", emit="eager").apply(module(Largest, "x"))
    results = query.results()
    assert results.columns == ["window", "lifetime", "change", "event_id", "new_end", "value"]

    outcome = run(results, tmp_path / "checkpoint")
    shown = [
        (number, row["change"], row["value"], row["lifetime"]["start"], row["lifetime"]["end"], row["new_end"])
        for number, batch in sorted(outcome.batches.items())
        for row in plain(batch)
    ]
    assert shown[:3] == [(0, "insert", 5, 1, 10, None), (1, "revise", 5, 1, 10, 6), (1, "insert", 9, 6, 10, None)]
