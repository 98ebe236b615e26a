"""The evaluator of joins, and what is so of any."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, cast

from muntin import EmitPolicy, JoinKind
from muntin.windows import WindowKind
from muntin_engine.evaluators.evaluator import Evaluator
from muntin_engine.evaluators.keyed.keyed_evaluator import KeyedEvaluator
from muntin_engine.plan.module_plan import ModulePlan
from muntin_engine.plan.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from muntin_engine.evaluators.joins.matching import JoinQuery
    from muntin_engine.evaluators.keyed.bucket import BeginsRun
    from muntin_engine.state.stored_bucket import HeldRow, StoredBucket
    from muntin_engine.wire.task_payload import TaskPayload


class OverlapEvaluator(Evaluator):
    """Runs joins, which have two inputs and neither windows nor modules."""

    takes_inputs = range(2, 3)
    takes_windows = False

    def explain_module(self, plan: Plan, module: ModulePlan) -> str:
        """Say how it computes a module: a join has none."""
        raise AssertionError(f"a join of {len(plan.inputs)} inputs has no modules, got {module.label}")

    def explain_output(self, plan: Plan) -> tuple[str, str]:
        """Say when the output is complete, and how far its watermark is behind the inputs'."""
        del plan
        least = "the least watermark of the two inputs"
        return f"a pair is final, and emitted, when both events are there; complete to {least}", "none"


class JoinEvaluator(OverlapEvaluator, KeyedEvaluator):
    """Runs temporal joins of two inputs, of any kind, revisions in and retractions out, key by key in plain Python."""

    name = "joining"
    advantage = "two streams meet where their events overlap"
    unreported = frozenset({"windows_closed", "windows_open", "windows_revisable", "early"})

    def why_not(self, plan: Plan) -> str | None:
        """Return why it cannot run a query: its inputs are not joined."""
        return "its inputs are not joined" if plan.join is None or plan.passes_events else None

    def explain_row(self, plan: Plan) -> str:
        """Say what a row costs."""
        if join_query(plan).waits:
            return "a step for each kept event of its key, once in a batch, and for each event that it overlaps"
        return "a search among the kept events of its key, and a step for each event that it overlaps"

    def explain_state(self, plan: Plan) -> str:
        """Say what is kept between micro-batches, and its bound."""
        left, right = (given.name for given in plan.inputs)
        moving = [given.name for given in plan.inputs if given.event_ends_move]
        kept = f"an event of {left} until the watermark of {right} has passed its end"
        if join_query(plan).kind is JoinKind.INNER:
            kept += ", and the other way round"
        elif join_query(plan).kind is JoinKind.CLIP:
            kept += f", or the event that clips it; one of {right} until that of {left} has, and while it clips one"
        else:
            kept += f", one of {right} until that of {left} has, and no kept event of {left} starts before its end"
        kept += "".join(f"; one of {name} at least until its end can no longer move" for name in moving)
        if not join_query(plan).emits_at_once:
            kept += "; which rows were emitted of kept events"
        return f"{kept}; in a log per bucket: a batch appends the changes of the keys that have rows or a timer"

    def explain_output(self, plan: Plan) -> tuple[str, str]:
        """Say when the output is complete, and how far its watermark is behind the inputs'."""
        query = join_query(plan)
        if query.emits_at_once:
            return super().explain_output(plan)
        if query.is_eager:
            least = "the least watermark of the two inputs"
            return f"rows are emitted at once, and change until they are settled; complete to {least}", "none"
        final = "a row is emitted when nothing can change it: the watermarks have passed the ends that may move"
        return f"{final}, and that of {plan.inputs[1].name} the part without its events", (
            "as long as a row waits for that, as it starts before"
        )

    def load(self) -> None:
        """Import what micro-batches need."""
        super().load()
        import muntin_engine.evaluators.joins.join_run  # noqa: F401

    def run_of(self, plan: Plan) -> BeginsRun:
        """Return the function that begins a micro-batch of a bucket."""
        from muntin_engine.evaluators.joins.join_run import JoinRun

        return JoinRun

    def query_of(self, plan: Plan) -> JoinQuery:
        """Return a join in the terms of its evaluator."""
        return join_query(plan)

    def query_of_task(self, task: TaskPayload) -> JoinQuery:
        """Return the same of a task, made once."""
        return task.once(_query_of)

    def held_rows(self, stored: StoredBucket) -> Iterator[HeldRow]:
        """Yield the events of both inputs, and the rows that were emitted and may change."""
        from muntin_engine.evaluators.joins.stored_join import rows_of_join

        return rows_of_join(stored)


class PassingEvaluator(JoinEvaluator):
    """Returns the events of one input as they are, changed and filtered, with revisions in and retractions out.

    It is an anti join with an input that ended before anything came: no event of that ever covers one.
    """

    name = "passing"
    advantage = "its events are its results"
    takes_inputs = range(1, 2)

    def why_not(self, plan: Plan) -> str | None:
        """Return why it cannot run a query: the events are not the results."""
        return None if plan.passes_events else "its results are not the events themselves"

    def explain_row(self, plan: Plan) -> str:
        """Say what a row costs."""
        del plan
        return "a step for itself, and one for each kept event of its key, once in a batch"

    def explain_state(self, plan: Plan) -> str:
        """Say what is kept between micro-batches, and its bound."""
        if not plan.input.event_ends_move:
            return "none but the progress of the input, as nothing can change an event that came"
        return (
            "an event until its end can no longer move, in a log per bucket: "
            "a batch appends the changes of the keys that have rows or a timer"
        )

    def explain_output(self, plan: Plan) -> tuple[str, str]:
        """Say when the output is complete, and how far its watermark is behind the input's."""
        if plan.emit is EmitPolicy.EAGER:
            return "events are emitted at once, and corrected when they are revised; complete to the watermark", "none"
        if not plan.input.event_ends_move:
            return "an event is final, and emitted, when it comes; complete to the watermark", "none"
        return "an event is emitted when the watermark has passed its end, which may move until then", (
            "as long as an event waits for that, as it starts before"
        )

    def run_of(self, plan: Plan) -> BeginsRun:
        """Return the function that begins a micro-batch of a bucket."""
        from muntin_engine.evaluators.joins.join_run import PassingRun

        return PassingRun

    def held_rows(self, stored: StoredBucket) -> Iterator[HeldRow]:
        """Yield the events that may still change, and those of them that were emitted."""
        from muntin_engine.evaluators.joins.stored_join import rows_of_passed_events

        return rows_of_passed_events(stored)


def join_query(plan: Plan) -> JoinQuery:
    """Return a join in the terms of its evaluator; where events pass, the other input is one without events."""
    from muntin_engine.core.evaluator_query import EvaluatorQuery
    from muntin_engine.evaluators.joins.matching import JoinQuery

    assert plan.join is not None, "the planner asks for joins alone"
    no_windows = cast(WindowKind, plan.window)
    sides = [
        EvaluatorQuery(
            no_windows,
            (),
            axis=plan.words,
            is_edge=given.has_samples,
            has_ids=given.columns.id is not None,
            late=given.late,
            order=given.order_of_rows(),
            keeps=itemgetter(len(given.columns.payload)) if given.keeps_filtered else None,
        )
        for given in plan.inputs
    ]
    if plan.passes_events:
        sides.append(EvaluatorQuery(no_windows, (), axis=plan.words))
    left, right = sides
    columns = tuple((column.side, column.place) for column in plan.join.columns)
    return JoinQuery(plan.join.kind, (left, right), columns, plan.emit is EmitPolicy.EAGER, plan.join.on)


def _query_of(task: TaskPayload) -> JoinQuery:
    return join_query(task.plan)
