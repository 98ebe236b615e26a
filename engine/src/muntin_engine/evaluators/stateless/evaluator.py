"""The evaluator of stream operators without state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muntin import IntervalOperator, StreamOperator
from muntin_engine.evaluators.evaluator import Evaluator, InMemory
from muntin_engine.plan.module_plan import ModulePlan
from muntin_engine.plan.plan import Plan
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec

if TYPE_CHECKING:
    import pyarrow as pa

    from muntin_engine.evaluators.batch import BucketBatch, Evaluated
    from muntin_engine.exchange.task_payload import TaskPayload


class StatelessEvaluator(Evaluator):
    """Runs a stream operator that keeps no state over events that have no watermark.

    Nothing then depends on other rows: neither what the operator returns, nor whether a row is late. So each task hands
    the events of its rows over at once, and there are no buckets.
    """

    name = "stateless"
    advantage = "its operator keeps no state, and no row is late"
    takes_windows = False
    keeps_state = False
    unreported = frozenset(
        {"keys", "windows_closed", "windows_revisable", "keys_held", "events_held", "state_bytes", "bytes_written"}
        | {"watermark", "output_watermark", "late_by", "intake_us", "lift_us"}
    )

    def why_not(self, plan: Plan) -> str | None:
        """Return why it cannot run a query: something is remembered from one row to another."""
        modules = [module.module for module in plan.modules]
        if len(modules) != 1 or not isinstance(modules[0], StreamOperator) or isinstance(modules[0], IntervalOperator):
            return "it has no operator that follows points"
        of = type(modules[0])
        if of.create_state is not StreamOperator.create_state or of.next_time is not StreamOperator.next_time:
            return f"{plan.modules[0].label} keeps a state, or asks for wake-ups"
        if plan.says_when_complete:
            return "the input has a watermark, by which rows may be late; without a delay no row is"
        return "events have ids, so they may be revised" if plan.input.columns.id is not None else None

    def explain_module(self, plan: Plan, module: ModulePlan) -> str:
        """Say how it is called."""
        return "called with each event at once, in the order in which rows come"

    def explain_row(self, plan: Plan) -> str:
        """Say what a row costs."""
        return "a call of the operator, in the task that reads the row, without a shuffle"

    def explain_state(self, plan: Plan) -> str:
        """Say what is kept between micro-batches: nothing."""
        return "none"

    def explain_output(self, plan: Plan) -> tuple[str, str]:
        """Say when the output is complete: it has no watermark, as the input has none."""
        return "each row is final at once; as for the input, nothing says how complete it is", "no output watermark"

    def load(self) -> None:
        """Import what micro-batches need."""
        import muntin_engine.evaluators.stateless.result_tables  # noqa: F401

    def follow(self, task: TaskPayload, rows: pa.Table) -> pa.Table:
        """Return the results of good rows."""
        from muntin_engine.evaluators.stateless.result_tables import results_of

        return results_of(task, rows)

    def process(self, task: TaskPayload, bucket: int, cells: Cells, batch: BucketBatch) -> Evaluated:
        """Fail: there are no buckets."""
        raise AssertionError(f"{task.plan.spelled_grouping} has no bucket {bucket}, but {batch} came, with {cells}")

    def in_memory(self, plan: Plan, cells: Cells, codec: Codec) -> InMemory:
        """Fail: a script has a watermark, and nothing would be lost when a process ends."""
        raise AssertionError(f"{plan.spelled_grouping} has no state in {cells}, written by {codec}")
