"""The evaluators of row windows and of stream operators, with state and without."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from muntin import RowOperator
from muntin_engine.evaluators.contracts import AnswersAtOnce
from muntin_engine.evaluators.keyed.key_reader import query_without_modules, rows_of_keys
from muntin_engine.evaluators.keyed.keyed_evaluator import KeyedEvaluator
from muntin_engine.evaluators.keyed.keyed_run import KeyedRun
from muntin_engine.evaluators.ordered.row_aggregates import AggregatesRun
from muntin_engine.evaluators.ordered.row_handlers import HandlersRun
from muntin_engine.evaluators.ordered.rows_state import RowsState
from muntin_engine.evaluators.ordered.stateless import passed_events, results_of
from muntin_engine.evaluators.ordered.stream_operator import OperatorState, StreamRun
from muntin_engine.plan.plan import Plan
from muntin_engine.state.bucket_reader import BucketReader, StateRow
from muntin_engine.wire.task_payload import TaskPayload


class RowsEvaluator(KeyedEvaluator):
    """Runs windows that follow rows in their order. Rows wait in a delay buffer until the watermark has passed them."""

    def run_class(self, plan: Plan) -> type[KeyedRun]:
        """Return the class of a micro-batch of a bucket."""
        return HandlersRun if isinstance(plan.modules[0].module, RowOperator) else AggregatesRun

    def state_rows(self, bucket: BucketReader) -> Iterator[StateRow]:
        """Yield the rows that wait, and the rows or the states in the window of each partition."""
        return rows_of_keys(bucket, RowsState, query_without_modules(bucket.identity, bucket.identity))


class EventByEventEvaluator(KeyedEvaluator):
    """Runs a stream operator, key by key in plain Python. Events wait in a delay buffer until the watermark has passed.

    A key's timer is its first waiting event, or its wake-up.
    """

    def run_class(self, plan: Plan) -> type[KeyedRun]:
        """Return the class of a micro-batch of a bucket."""
        return StreamRun

    def state_rows(self, bucket: BucketReader) -> Iterator[StateRow]:
        """Yield the events that wait, and the operator's state of each key."""
        return rows_of_keys(bucket, OperatorState, query_without_modules(bucket.identity, bucket.identity))


class StatelessEvaluator(AnswersAtOnce):
    """Runs a stream operator that keeps no state over events that have no watermark, or returns such events themselves.

    Nothing then depends on other rows: neither what the operator returns, nor whether a row is late. So each task hands
    the events of its rows over at once, and there are no buckets.
    """

    def results(self, task: TaskPayload, rows: pa.Table) -> pa.Table:
        """Return the results of good rows."""
        if task.plan.passes_events:
            return passed_events(task, rows)
        return results_of(task, rows)
