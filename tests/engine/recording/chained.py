"""Chains of two queries that are recorded as they run, without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from muntin import Event
from muntin_engine import Recording
from muntin_engine.sinks.recordings.recording_writer import RecordedQuery, RecordingWriter
from muntin_engine.state.cells import MemoryCells
from muntin_engine.tasks.bucket_task import run_bucket
from muntin_engine.tasks.map_task import distribute
from muntin_engine.tasks.recorded_rows import PASSED_ON, RowRecording
from muntin_engine.wire.blob_readers import CHANGE, SOURCE, EventReader
from muntin_engine.wire.blobs import from_blob, to_blob
from muntin_engine.wire.bucket_ids import bucket_ids
from muntin_engine.wire.shuffle import collect
from muntin_engine.wire.task_as_data import task_to_data
from tests.engine.recording.recorded import RecordedRun, arrivals, program_modules
from tests.scenarios.query import Query
from tests.scenarios.running import comparable
from tests.scenarios.scenario import Scenario

BUCKETS: Final = 3
"""The number of buckets of the first query."""

BUCKET_SOURCES: Final = ((),) * BUCKETS
"""The sources of the second query, one for each bucket of the first; no lifetimes are changed."""


class Reading(Query):
    """A query that reads the results of another one, whose buckets are its `sources`."""

    @property
    def _source_names(self) -> tuple[str, ...]:
        return tuple(map(str, bucket_ids(BUCKETS)))


class ChainedRun(RecordedRun):
    """A recorded run of two queries, the second of which reads the results of the first.

    The payload of an event of the second query is a number that stands for the result.

    Attributes:
        reading_plan: The plan of the second query.
        numbers: The numbers by results: their keys, starts and values.
        emitted: The changes of the output of the second query in each micro-batch.
    """

    def __init__(self, scenario: Scenario, reading: Reading, folder: Path, *, is_regrouped: bool) -> None:
        """Begin a run.

        Args:
            scenario: The first query with its streams, and the mishaps on the way of both.
            reading: The second query.
            folder: The folder of the recording.
            is_regrouped: True if the second query has a single key `all`; otherwise it has the keys of the first.
        """
        self._reading = reading
        self._is_regrouped = is_regrouped
        self.reading_plan = next(iter(reading.evaluators.values()))
        self._second = reading.task(self.reading_plan)
        self._second_cells = {bucket: MemoryCells() for bucket in self._second.buckets}
        self.numbers: dict[Any, int] = {}
        self._ids: dict[Any, int] = {}
        self.emitted: list[list[dict[str, Any]]] = []
        super().__init__(scenario, next(iter(scenario.query.evaluators)), folder)

    def start(self) -> None:
        """Begin a run of the recording."""
        self._writer = RecordingWriter(self._recorder, 1)
        second = task_to_data(self.reading_plan, self._second)
        first = RecordedQuery(self._data, self._cells_table)
        self._writer.begin(RecordedQuery(second, self._cells_table, (0,)), "id", self._number, [first])

    @property
    def _rows_recording(self) -> RowRecording:
        return self._writer.inner_rows[0]

    def number(self, key: Any, event: Event[Any]) -> int:
        """Return the number that stands for a result of the first query, also after its end was revised."""
        return self.numbers.setdefault((key, event.start, event.payload), len(self.numbers))

    def _pass_on(self) -> None:
        """Run the second query over the results that the first one has just written, in two map tasks."""
        buckets = self._random.sample(self.task.buckets, BUCKETS)
        map_output: list[dict[str, Any]] = []
        for partition, task_buckets in enumerate((buckets[:1], buckets[1:])):
            for batch in self._read(partition, task_buckets):
                map_output += batch.to_pylist()

        results: list[dict[str, Any]] = []
        for bucket, cells in self._second_cells.items():
            bucket_rows = [row for row in map_output if row["bucket"] == bucket]
            for blob in run_bucket(self._second, bucket, cells, collect(bucket_rows, 1)):
                if blob.stream == "results" and blob.data:
                    results += from_blob(blob.data).to_pylist()
        self.emitted.append(results)

    def _read(self, partition: int, buckets: list[int]) -> Iterator[pa.RecordBatch]:
        """Run a map task of the second query, which reads the results of these buckets of the first.

        Args:
            partition: The number of the task.
            buckets: The buckets.

        Returns:
            The output of the task, for the buckets of the second query.
        """
        schema = self.task.results.append(pa.field(CHANGE, pa.string())).append(pa.field(SOURCE, pa.string()))
        batches = list(EventReader(schema, self.task.plan.lifetime_column)([self._blobs(buckets)]))

        # What the first query passes on is recorded as it comes, and what the second one reads as it is projected.
        passed_on = self._writer.inner_rows[0].of_task(self._number, partition, PASSED_ON)
        assert passed_on is not None
        rows: list[dict[str, Any]] = []
        for batch in batches:
            passed_on.write(batch)
            rows += map(self._projected, batch.to_pylist())
        passed_on.finish((), ())

        projected = self._reading.projected(rows)
        return distribute(self._second, [projected], self._writer.rows.of_task(self._number, partition))

    def _blobs(self, buckets: list[int]) -> pa.RecordBatch:
        """Return the results of these buckets as blobs, each after its output watermark, which is in `rows`."""
        blobs: list[dict[str, Any]] = []
        for bucket in buckets:
            place = self.task.buckets.index(bucket)
            results = [row for row in self.output_changes if self.bucket_of(row["key"]) == place]
            data = to_blob(pa.Table.from_pylist(results, self.task.results))
            blobs.append({"bucket": bucket, "rows": self.output_watermarks[bucket], "data": None})
            blobs.append({"bucket": bucket, "rows": len(results), "data": data})
        schema = pa.schema([("bucket", pa.int32()), ("rows", pa.int64()), ("data", pa.binary())])
        return pa.RecordBatch.from_pylist(blobs, schema)

    def _projected(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return a result of the first query as Spark would project it for the second query."""
        lifetime = row[self.task.plan.lifetime_column]
        projected = {
            "change": row[CHANGE],
            "source": row[SOURCE],
            **lifetime,
            "key": None,
            "id": None,
            "new_end": None,
            "payload": None,
        }
        if row[CHANGE] in ("punctuate", "close"):
            return projected

        projected["key"] = "all" if self._is_regrouped else row["key"]
        # The ids of results are unique in a key only; here they become numbers that are unique in all keys.
        projected["id"] = self._ids.setdefault((row["key"], row.get("event_id")), len(self._ids))
        projected["new_end"] = row.get("new_end")
        if row[CHANGE] == "insert":
            values = tuple(comparable(row[part.name]) for part in self.task.plan.outputs)
            projected["payload"] = self.number(row["key"], Event(lifetime["start"], lifetime["end"], values))
        return projected


def chained(scenario: Scenario, reading: Reading, folder: Path, *, is_regrouped: bool) -> tuple[ChainedRun, Recording]:
    """Run a chain over all of its streams, and return the run and its recording; the arguments are a `ChainedRun`'s."""
    run = ChainedRun(scenario, reading, folder, is_regrouped=is_regrouped)
    for arrival in arrivals(scenario):
        run.process(arrival)
    first_plan = next(iter(scenario.query.evaluators.values()))
    modules = [*program_modules(first_plan), *program_modules(run.reading_plan)]
    return run, Recording(folder, modules=modules)
