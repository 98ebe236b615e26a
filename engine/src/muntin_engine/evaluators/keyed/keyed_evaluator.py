"""The base of evaluators that run key by key in plain Python, each with a run of its own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from muntin import EmitPolicy
from muntin_engine.evaluators.batch import BucketBatch, Evaluated
from muntin_engine.evaluators.contracts import InMemory, KeepsState
from muntin_engine.evaluators.keyed.bucket import KeyedBucket
from muntin_engine.evaluators.keyed.keyed_run import BatchResult, KeyedRun
from muntin_engine.evaluators.keyed.output_tables import evicted_tables, result_tables
from muntin_engine.modules.meter import Meter
from muntin_engine.plan.evaluator_query import evaluator_query
from muntin_engine.plan.identity import plan_identity
from muntin_engine.plan.plan import Plan
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec
from muntin_engine.state.store_cache import STORE_CACHE
from muntin_engine.time.changes import InputChange, Key, OutputChange, OutputKind, Progress, Timing
from muntin_engine.time.progress_tracker import ProgressTracker
from muntin_engine.wire.shuffle import InputReport
from muntin_engine.wire.task_payload import TaskPayload


class KeyedEvaluator(KeepsState):
    """Runs queries key by key in plain Python, with revisions."""

    @abstractmethod
    def run_class(self, plan: Plan) -> type[KeyedRun]:
        """Return the class of a micro-batch of a bucket."""

    def query_of(self, plan: Plan) -> Any:
        """Return a query in the terms of its run, with a meter for the calls of each module."""
        return evaluator_query(plan, [Meter() for _ in plan.modules])

    def query_of_task(self, task: TaskPayload) -> Any:
        """Return the query of a task in the terms of its run, cached."""
        return task.query

    def process(self, task: TaskPayload, bucket: int, cells: Cells, batch: BucketBatch) -> Evaluated:
        """Process a micro-batch of a bucket and write its state."""
        STORE_CACHE.most = task.worker.cache_bytes  # of the cache that all queries of this process share
        keyed_bucket = KeyedBucket(
            self.run_class(task.plan),
            self.query_of_task(task),
            cells,
            task.codec,
            task.identity,
            task.trackers,
            cache=None if task.is_static else STORE_CACHE,  # a static query has no later batch that would read it
            name=(task.cache_token, bucket),
        )
        result = keyed_bucket.process(batch.changes, batch.reports, batch.signals)
        return Evaluated(
            tables=result_tables(task, result.output) if result.output else (),
            accepted=result.accepted,
            output_watermark=result.watermark,
            progress=result.progress,
            metrics=_metrics(task.plan, result),
            rejections=result.rejections,
            evicted=evicted_tables(task, result.evicted) if result.evicted else (),
            inputs=result.inputs,
        )

    def in_memory(self, plan: Plan, cells: Cells, codec: Codec) -> InMemory:
        """Return a bucket of a query in this process, without a cache; its inputs report the watermark themselves."""
        trackers = [ProgressTracker() for _ in plan.inputs]
        bucket = KeyedBucket(self.run_class(plan), self.query_of(plan), cells, codec, plan_identity(plan), trackers)
        return KeyedInMemory(bucket, len(plan.inputs))


def _metrics(plan: Plan, result: BatchResult) -> Mapping[str, int]:
    """Return the values of metrics by name; `bucket_metrics` leaves out those that the evaluator does not report."""
    metrics = {
        "keys": result.keys,
        "windows_closed": result.windows_closed,
        "keys_forgotten": result.keys_forgotten,
        "windows_revisable": result.held.windows,
        "partitions_held": result.held.windows,  # for row windows, which are never revised, this counts partitions
        "keys_held": result.held.keys,
        "events_held": result.held.events,
        "state_bytes": result.held.bytes,
    }
    if plan.emission is not EmitPolicy.FINAL:
        changes = [change for _, key_changes in result.output for change in key_changes]
        metrics["retractions"] = sum(change.kind is not OutputKind.INSERT for change in changes)
        metrics["early"] = sum(change.timing is Timing.EARLY for change in changes)
    return metrics


class KeyedInMemory:
    """A bucket without Spark, for restart tests.

    Attributes:
        evicted: The rows of the second output, of the last micro-batch.
    """

    def __init__(self, bucket: KeyedBucket, input_count: int) -> None:
        """Wrap a bucket that has a number of inputs."""
        self.evicted: Sequence[tuple[Key, OutputChange]] = ()
        self._bucket = bucket
        self._input_count = input_count

    def process(self, rows: Sequence[tuple[Key, InputChange]], reported: Progress) -> list[tuple[Key, OutputChange]]:
        """Process a micro-batch, write the state and return the changes of the output.

        Args:
            rows: The rows of all inputs, each with its key.
            reported: The progress that each input reports.
        """
        rows_by_key = [(key, [row]) for key, row in rows]
        result = self._bucket.process(rows_by_key, [InputReport(reported)] * self._input_count)
        self.evicted = list(_one_by_one(result.evicted))
        return list(_one_by_one(result.output))


def _one_by_one(output: Iterable[tuple[Key, Sequence[OutputChange]]]) -> Iterator[tuple[Key, OutputChange]]:
    """Yield each change of an output with its key."""
    for key, changes in output:
        for change in changes:
            yield key, change
