"""The evaluators of joins, and of events that are results themselves, key by key in plain Python."""

from __future__ import annotations

from collections.abc import Iterator

from muntin import EmitPolicy
from muntin_engine.evaluators.joins.join_reader import rows_of_join, rows_of_passed_events
from muntin_engine.evaluators.joins.join_run import JoinRun, PassingRun
from muntin_engine.evaluators.joins.matching import JoinQuery
from muntin_engine.evaluators.keyed.keyed_evaluator import KeyedEvaluator
from muntin_engine.evaluators.keyed.keyed_run import KeyedRun
from muntin_engine.plan.evaluator_query import EvaluatorQuery, events_query
from muntin_engine.plan.plan import Plan
from muntin_engine.state.bucket_reader import BucketReader, StateRow
from muntin_engine.wire.task_payload import TaskPayload


class JoinEvaluator(KeyedEvaluator):
    """Runs temporal joins of two inputs, of any kind, revisions in and retractions out, key by key in plain Python."""

    def run_class(self, plan: Plan) -> type[KeyedRun]:
        """Return the class of a micro-batch of a bucket."""
        return JoinRun

    def query_of(self, plan: Plan) -> JoinQuery:
        """Return a join in the terms of its evaluator."""
        return join_query(plan)

    def query_of_task(self, task: TaskPayload) -> JoinQuery:
        """Return the join of a task in the terms of its evaluator, cached."""
        return task.once(_query_of)

    def state_rows(self, bucket: BucketReader) -> Iterator[StateRow]:
        """Yield the events of both inputs, and the rows that were emitted and may change."""
        return rows_of_join(bucket)


class PassingEvaluator(JoinEvaluator):
    """Returns the events of one input as they are, changed and filtered, with revisions in and retractions out.

    The query is planned as an anti join with an input that never has an event; see `Plan.passes_events`.
    """

    def run_class(self, plan: Plan) -> type[KeyedRun]:
        """Return the class of a micro-batch of a bucket."""
        return PassingRun

    def state_rows(self, bucket: BucketReader) -> Iterator[StateRow]:
        """Yield the events that may still change, and those of them that were emitted."""
        return rows_of_passed_events(bucket)


def join_query(plan: Plan) -> JoinQuery:
    """Return what the evaluator of joins needs to know of a plan.

    Events that pass as they are become an anti join in which nothing matches, as the right input has no event.
    """
    assert plan.join is not None, "the planner chooses this evaluator for joins, and plans events that pass as joins"
    left_query = events_query(plan, plan.inputs[0])
    if plan.passes_events:  # the right input is one that never has an event
        right_query = EvaluatorQuery(left_query.window, (), axis=plan.words.axis)
    else:
        right_query = events_query(plan, plan.inputs[1])
    return JoinQuery(
        kind=plan.join.kind,
        sides=(left_query, right_query),
        columns=plan.joined_columns,
        is_eager=plan.emit is EmitPolicy.EAGER,
        condition=plan.join.on,
    )


def _query_of(task: TaskPayload) -> JoinQuery:
    """Return the join of a task; for `once`, which caches it by this function."""
    return join_query(task.plan)
