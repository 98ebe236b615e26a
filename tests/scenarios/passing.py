"""Events that are the results of a query: the query for the planner, and what has to be live by definition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from muntin import INFINITY, EmitPolicy, Event, JoinKind
from muntin.schemas import describe
from muntin.windows.specification import Unwindowed
from muntin_engine.evaluators.declarations import DECLARATIONS
from muntin_engine.plan import Plan
from muntin_engine.plan.identity import plan_identity
from muntin_engine.plan.join_plan import JoinedColumn, JoinPlan
from muntin_engine.plan.planner import checked_plan
from muntin_engine.time.lifetimes import LifetimeChange
from muntin_engine.wire.task_payload import InputColumns, TaskPayload
from tests.scenarios.columns import schema_of
from tests.scenarios.join import ExpectedJoinOutput, Join
from tests.scenarios.query import Lifetimes, Query
from tests.scenarios.running import Row


def passing(
    lifetimes: Lifetimes,
    *,
    is_eager: bool = False,
    changes: tuple[LifetimeChange, ...] = (),
    streams: int = 0,
    is_filtered: bool = False,
) -> Passing:
    """Return a query of events of a kind, of one stream or of a union of several."""
    return Passing(
        JoinKind.ANTI,
        (lifetimes, lifetimes),
        is_eager=is_eager,
        changes=(changes, ()),
        united=(streams, 0),
        is_filtered=is_filtered,
    )


@dataclass(frozen=True)
class Passing(Join):
    """Events of one input, which are the results: an anti join whose right side is not there."""

    def __str__(self) -> str:
        emitted = "eager" if self.is_eager else "final"
        return f"{self.lifetimes[0]} themselves, {emitted}, changed by {self.changes[0]}, filtered {self.is_filtered}"

    @cached_property
    def stream(self) -> Query:
        """The events, as a query of one stream has them."""
        return Query(
            Unwindowed(),
            (),
            lifetimes=self.lifetimes[0],
            changes=self.changes[0],
            sources=((),) * self.united[0],
            is_filtered=self.is_filtered,
            late=self.late,
        )

    @property
    def places(self) -> Sequence[tuple[int, str]]:
        """The side of each stream, which is the only one, and its name in the union that the input may be."""
        return self.stream.places

    def plan(self, evaluator: str | None = None, buckets: int = 3) -> Plan:
        """Return the plan for an evaluator, or for the one that the planner chooses."""
        column = JoinedColumn(describe(int | None, "x"), 0, 0)
        emit = EmitPolicy.EAGER if self.is_eager else EmitPolicy.FINAL
        unchecked = replace(self.stream.unchecked, join=JoinPlan(JoinKind.ANTI, (column,)), emit=emit)
        return checked_plan(replace(unchecked, buckets=buckets, requested_evaluator=evaluator), DECLARATIONS)

    def task(self, plan: Plan) -> TaskPayload:
        """Return the task that travels to the workers."""
        columns = InputColumns((pa.int64(), *([pa.bool_()] * self.stream.input.keeps_filtered)), has_changes=True)
        results = schema_of((pa.string(),), plan.engine_columns, plan.outputs)
        return TaskPayload(plan.for_workers(), plan_identity(plan), (pa.string(),), (columns,), results)

    def projected(self, rows: Sequence[dict[str, Any]]) -> pa.RecordBatch:
        """Return rows as the projection of the query has them."""
        return self.stream.projected(rows)

    @property
    def expected(self) -> Passed:
        """The expected output, as it learns of micro-batches."""
        return Passed(self)


class Passed(ExpectedJoinOutput):
    """The expected output where events are the results: those that are there, and that nothing can change."""

    query: Passing

    def _expected_rows(self) -> Counter[Row]:
        """Return the live output: all events if it is eager, otherwise those that are final."""
        expected = Counter[Row]()
        for key, events in self._events(0).items():
            for event in events:
                if self.query.is_eager or self._is_final(event):
                    extent = (event.start, event.end)
                    expected[Row(key, extent, extent, (event.payload,))] += 1
        return expected

    def _is_final(self, event: Event[Any]) -> bool:
        """Return True if no change may come any more that moves the end of an event, or deletes it.

        A change is legal from the watermark on: the end that it changes, or that it sets, may lie there, and a sample
        may come there that ends the one before it.
        """
        watermark = self._watermarks[0]
        if watermark == INFINITY:
            return True
        if self.query.stream.has_ids:
            return event.end < watermark
        if self.query.stream.lifetimes == "samples":
            return event.end <= watermark
        return True
