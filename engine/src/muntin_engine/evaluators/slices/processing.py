"""A micro-batch of a bucket, evaluated with Python states."""

from __future__ import annotations

from operator import sub

from muntin_engine.evaluators.batch import BucketBatch, Evaluated
from muntin_engine.evaluators.over_slices.processing import process_slices
from muntin_engine.evaluators.slices.lifting import sliced_query_of
from muntin_engine.evaluators.slices.result_tables import run_tables
from muntin_engine.evaluators.slices.runs import WindowRuns
from muntin_engine.evaluators.slices.states import StateStore
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.state.cells import Cells


def process(task: TaskPayload, bucket: int, cells: Cells, batch: BucketBatch) -> Evaluated:
    """Evaluate a micro-batch of a bucket and write its state."""

    def count(runs: WindowRuns) -> int:
        return sum(map(sub, runs.lasts, runs.firsts))

    return process_slices(task, bucket, cells, batch, lambda: StateStore(sliced_query_of(task)), run_tables, count)
