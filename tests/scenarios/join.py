"""Joins of two streams: the query for the planner, and what has to be live by the definition of joins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from muntin import EARLIEST, INFINITY, EmitPolicy, Event, JoinKind, Lateness
from muntin.changes import fold
from muntin.progress import Punctuated
from muntin.schemas import describe
from muntin.testing.stream_history import StreamHistory
from muntin.windows.specification import Unwindowed
from muntin_engine import condition
from muntin_engine.evaluators.declarations import DECLARATIONS
from muntin_engine.plan import Plan
from muntin_engine.plan.identity import plan_identity
from muntin_engine.plan.join_plan import JoinedColumn, JoinPlan, plan_condition
from muntin_engine.plan.planner import checked_plan
from muntin_engine.time.changes import Progress
from muntin_engine.time.lifetimes import LifetimeChange
from muntin_engine.wire.event_ids import in_utc
from muntin_engine.wire.shuffle import SIDE, shared_name
from muntin_engine.wire.task_payload import InputColumns, TaskPayload
from tests.engine.plan.plans import plans_by_evaluator
from tests.scenarios.columns import schema_of
from tests.scenarios.join_definition import Condition, Side, final_rows, joined_rows
from tests.scenarios.lifetimes import watermark
from tests.scenarios.query import Lifetimes, Query
from tests.scenarios.reference_input import Arrival, NamedEvents, changed_events, lasting_samples, replaced_samples
from tests.scenarios.running import Row, Run, assert_same_rows


@dataclass(frozen=True)
class Join:
    """A join of two streams by their key.

    Attributes:
        kind: Kind of the join.
        lifetimes: Kinds of events on both sides.
        is_eager: True if results are emitted at once, and corrected.
        on: Condition that two payloads have to meet.
        changes: Changes of the lifetimes of the events of both sides.
        united: Numbers of streams that make a side, where it is a union; otherwise 0.
        is_filtered: True if `where("is_kept")` leaves out events of both sides.
        late: Policy for late rows of both sides.
        is_bare: True if pairs have no column of the right side.
        ids: Type of ids.
    """

    kind: JoinKind
    lifetimes: tuple[Lifetimes, Lifetimes]
    is_eager: bool = False
    on: Condition | None = None
    changes: tuple[tuple[LifetimeChange, ...], tuple[LifetimeChange, ...]] = ((), ())
    united: tuple[int, int] = (0, 0)
    is_filtered: bool = False
    late: Lateness = Lateness()  # noqa: RUF009  # it is frozen
    is_bare: bool = False
    ids: pa.DataType = pa.int64()  # noqa: RUF009
    progress = Punctuated()
    has_clock = False
    signals = frozenset[str]()
    repeats_points = False

    def __str__(self) -> str:
        left, right = self.lifetimes
        emitted = "eager" if self.is_eager else "final"
        return f"{self.kind} join of {left} and {right} on {self.on}, {emitted}"

    @cached_property
    def sides(self) -> tuple[Query, Query]:
        """The streams, as queries of one stream have them."""
        return self._side_query(0), self._side_query(1)

    def _side_query(self, side: int) -> Query:
        """Return the query that has the events of a side as its input."""
        return Query(
            Unwindowed(),
            (),
            lifetimes=self.lifetimes[side],
            changes=self.changes[side],
            sources=((),) * self.united[side],
            is_filtered=self.is_filtered,
            late=self.late,
            ids=self.ids,
        )

    @cached_property
    def places(self) -> Sequence[tuple[int, str]]:
        """The side of each stream, and its name in the union that the side may be."""
        places: list[tuple[int, str]] = []
        for side, count in enumerate(self.united):
            for name in "abc"[: max(1, count)]:
                places.append((side, name))
        return places

    @cached_property
    def evaluators(self) -> Mapping[str, Plan]:
        """The plans of all evaluators that can run it."""
        return plans_by_evaluator(self.plan)

    @property
    def expected(self) -> ExpectedJoinOutput:
        """The expected output, as it learns of micro-batches."""
        return ExpectedJoinOutput(self)

    def punctuation_time(self, watermark: int) -> int:
        """Return the time of punctuation that makes a watermark: the same, without allowed lateness."""
        return watermark

    def at_version(self, number: int) -> Join:
        """Return this query: it has no modules that are upgraded."""
        return self

    def plan(self, evaluator: str | None = None, buckets: int = 3) -> Plan:
        """Return the plan for an evaluator, or for the one that the planner chooses."""
        left, right = self.sides
        inputs = (replace(left.input, name="left"), replace(right.input, name="right"))
        columns = [JoinedColumn(describe(int | None, "left"), 0, 0)]
        if self.has_pairs:
            columns.append(JoinedColumn(describe(int | None, "right"), 1, 0))
        join = JoinPlan(self.kind, tuple(columns), self._condition)
        emit = EmitPolicy.EAGER if self.is_eager else EmitPolicy.FINAL
        return checked_plan(
            replace(
                left.unchecked, inputs=inputs, join=join, emit=emit, buckets=buckets, requested_evaluator=evaluator
            ),
            DECLARATIONS,
        )

    def task(self, plan: Plan) -> TaskPayload:
        """Return the task that travels to the workers."""
        columns: list[InputColumns] = []
        for side in self.sides:
            payload_types = (pa.int64(), pa.bool_()) if side.input.keeps_filtered else (pa.int64(),)
            id_type = in_utc(self.ids) if side.has_ids else None
            columns.append(InputColumns(payload_types, has_changes=True, id=id_type))
        results = schema_of((pa.string(),), plan.engine_columns, plan.outputs)
        return TaskPayload(plan.for_workers(), plan_identity(plan), (pa.string(),), tuple(columns), results)

    def projected(self, rows: Sequence[dict[str, Any]]) -> pa.RecordBatch:
        """Return rows of both streams as Spark unites them: in one table, with the columns of either side."""
        tables: list[pa.Table] = []
        for place, side in enumerate(self.sides):
            side_rows = side.projected([row for row in rows if row["side"] == place])
            columns = {shared_name(place, name): side_rows.column(name) for name in side_rows.schema.names}
            tables.append(pa.table({SIDE: pa.array([place] * len(side_rows), pa.int32()), **columns}))
        united = pa.concat_tables(tables, promote_options="default").combine_chunks()
        return united.to_batches()[0]

    @property
    def has_pairs(self) -> bool:
        """True if its results have a column of each side."""
        return self.kind.pairs and not self.is_bare

    @property
    def _condition(self) -> Any:
        """The condition in the plan, which reads the payloads of both sides."""
        if self.on is None:
            return None
        join_condition = condition(self.on, left=("left",), right=("right",))
        fields = [describe(int | None, name) for name in ("left", "right")]
        return plan_condition(join_condition.function, {}, fields, lambda number, _: (number, 0), ["left.x", "right.x"])


class ExpectedJoinOutput:
    """The expected output of a join; it is its own reference input, as no row of a join is refused."""

    late = 0
    shed = 0
    unknown = 0

    def __init__(self, query: Join) -> None:
        self.query = query
        self.reference_input = self
        self._histories = [StreamHistory(), StreamHistory()]
        self._punctuations = [EARLIEST] * len(query.places)  # of each stream

    @property
    def replaced(self) -> int:
        """The number of samples that were replaced by another one of their time."""
        count = 0
        for side, history in zip(self.query.sides, self._histories, strict=True):
            if side.lifetimes == "samples":
                histories = [list(fold(changes).items()) for changes in history.accepted.values()]
                count += replaced_samples(histories, side)
        return count

    @property
    def progress(self) -> Progress:
        """The progress of both streams together."""
        return Progress(min(self._watermarks))

    @property
    def _watermarks(self) -> list[int]:
        """The watermark of each side: that of the least of its streams, after changes of lifetimes."""
        least = [INFINITY, INFINITY]
        for (side, _), punctuation in zip(self.query.places, self._punctuations, strict=True):
            least[side] = min(least[side], punctuation)
        watermarks: list[int] = []
        for changes, tick, side_query in zip(self.query.changes, least, self.query.sides, strict=True):
            watermarks.append(watermark(changes, tick, event_ends_move=side_query.has_ids))
        return watermarks

    @property
    def is_waiting(self) -> bool:
        """True if changes wait for others of their event."""
        return any(history.waiting for history in self._histories)

    def check(self, arrival: Arrival, run: Run) -> None:
        """Add a micro-batch that was run, and compare the output with the expected one.

        Raises:
            AssertionError: The output differs.
        """
        for place, batch in enumerate(arrival.batches):
            side, _ = self.query.places[place]
            for step in batch.changes:
                self._histories[side].add(step)
            if batch.punctuation is not None:
                self._punctuations[place] = max(self._punctuations[place], batch.punctuation)
        if not self.is_waiting:
            assert_same_rows(run.output, self._expected_rows())

    def _expected_rows(self) -> Counter[Row]:
        """Return the live output: all rows of an eager join, or those that are final."""
        query = self.query
        sides = [Side(side.has_ids, side.lifetimes == "samples") for side in query.sides]
        left_events = self._events(0)
        right_events = self._events(1)
        expected = Counter[Row]()
        for key in {*left_events, *right_events}:
            left = left_events.get(key, [])
            right = right_events.get(key, [])
            if query.is_eager:
                live = joined_rows(query.kind, left, right, query.on)
            else:
                live = final_rows(query.kind, sides, [left, right], self._watermarks, query.on)
            for (start, end, left_value, right_value), count in live.items():
                values = (left_value, right_value) if query.has_pairs else (left_value,)
                expected[Row(key, (start, end), (start, end), values)] += count
        return expected

    def _events(self, side: int) -> Mapping[Hashable, list[Event[Any]]]:
        """Return the events of a side by key, as the join sees them."""
        query = self.query.sides[side]
        events: dict[Hashable, list[Event[Any]]] = {}
        for key, key_changes in self._histories[side].accepted.items():
            named_events: NamedEvents = list(fold(key_changes).items())
            if query.lifetimes == "samples":
                named_events = lasting_samples(named_events, query)
            events[key] = []
            for _, event in named_events:
                if query.keeps(event.payload):
                    events[key] += changed_events(self.query.changes[side], event)
        return events


def meets_often(left: int, right: int) -> bool | None:
    """True if two payloads meet, as most do; None for some, of which it is unknown."""
    return None if (left + right) % 7 == 0 else left % 4 != right % 4


def meets_rarely(left: int, right: int) -> bool:
    """True if two payloads meet, as few do."""
    return left % 3 == right % 3


CONDITIONS: Sequence[Callable[[Any, Any], bool | None] | None] = (None, meets_often, meets_rarely)
"""Conditions of joins."""
