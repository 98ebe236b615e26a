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
from tests.scenarios.join_meaning import Condition, Side, final_rows, rows
from tests.scenarios.known import Arrival, joined, replaced, under
from tests.scenarios.lifetimes import watermark
from tests.scenarios.query import Lifetimes, Query
from tests.scenarios.running import Row, Run, differ


@dataclass(frozen=True)
class Join:
    """A join of two streams by their key.

    Attributes:
        kind: The kind of the join.
        lifetimes: The kinds of events on both sides.
        is_eager: True if results are emitted at once, and corrected.
        on: The condition that two payloads have to meet.
        changes: The changes of the lifetimes of the events of both sides.
        united: The numbers of streams that make a side, where it is a union; otherwise 0.
        is_filtered: True if `where("is_kept")` leaves out events of both sides.
        late: What becomes of late rows of both sides.
        is_bare: True if pairs have no column of the right side.
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
    has_clock, signals, repeats_points = False, frozenset[str](), False

    def __str__(self) -> str:
        emitted = "eager" if self.is_eager else "final"
        return f"{self.kind} join of {self.lifetimes[0]} and {self.lifetimes[1]} on {self.on}, {emitted}"

    @cached_property
    def sides(self) -> tuple[Query, Query]:
        """The streams, as queries of one stream have them."""
        left, right = (
            Query(
                Unwindowed(),
                (),
                lifetimes=lifetimes,
                changes=changes,
                sources=((),) * count,
                is_filtered=self.is_filtered,
                late=self.late,
                ids=self.ids,
            )
            for lifetimes, changes, count in zip(self.lifetimes, self.changes, self.united, strict=True)
        )
        return left, right

    @cached_property
    def places(self) -> Sequence[tuple[int, str]]:
        """The side of each stream, and its name in the union that the side may be."""
        return [(side, "abc"[place]) for side, count in enumerate(self.united) for place in range(max(1, count))]

    @cached_property
    def evaluators(self) -> Mapping[str, Plan]:
        """The plans of all evaluators that can run it."""
        return plans_by_evaluator(self.plan)

    @property
    def expected(self) -> Joined:
        """What has to be live of it, as it learns of micro-batches."""
        return Joined(self)

    def hasty(self, tick: int) -> int:
        """Return what an input says that is complete up to a tick."""
        return tick

    def at_version(self, number: int) -> Join:
        """Return the same query: it has no modules that are upgraded."""
        return self

    def plan(self, evaluator: str | None = None, buckets: int = 3) -> Plan:
        """Return the plan for an evaluator, or for the one that the planner chooses."""
        names = ("left", "right")
        inputs = tuple(replace(side.input, name=name) for side, name in zip(self.sides, names, strict=True))
        columns = tuple(JoinedColumn(describe(int | None, name), side, 0) for side, name in enumerate(names))
        join = JoinPlan(self.kind, columns[: 1 + self.has_pairs], self._condition)
        emit = EmitPolicy.EAGER if self.is_eager else EmitPolicy.FINAL
        plain = self.sides[0].unchecked
        return checked_plan(
            replace(plain, inputs=inputs, join=join, emit=emit, buckets=buckets, wanted=evaluator), DECLARATIONS
        )

    def task(self, plan: Plan) -> TaskPayload:
        """Return what travels to the workers."""
        columns = tuple(
            InputColumns(
                (pa.int64(), *([pa.bool_()] * side.input.keeps_filtered)),
                has_changes=True,
                id=in_utc(self.ids) if side.has_ids else None,
            )
            for side in self.sides
        )
        results = schema_of((pa.string(),), plan.added, plan.outputs)
        return TaskPayload(plan.for_workers(), plan_identity(plan), (pa.string(),), columns, results)

    def projected(self, rows: Sequence[dict[str, Any]]) -> pa.RecordBatch:
        """Return rows of both streams as Spark unites them."""
        tables = []
        for place, side in enumerate(self.sides):
            own = side.projected([row for row in rows if row["side"] == place])
            columns = {shared_name(place, name): own.column(name) for name in own.schema.names}
            tables.append(pa.table({SIDE: pa.array([place] * len(own), pa.int32()), **columns}))
        both = pa.concat_tables(tables, promote_options="default").combine_chunks()
        return both.to_batches()[0]

    @property
    def has_pairs(self) -> bool:
        """True if its results have a column of each side."""
        return self.kind.pairs and not self.is_bare

    @property
    def _condition(self) -> Any:
        if self.on is None:
            return None
        asked = condition(self.on, left=("left",), right=("right",))
        given = [describe(int | None, name) for name in ("left", "right")]
        return plan_condition(asked.function, {}, given, lambda number, _: (number, 0), ["left.x", "right.x"])


class Joined:
    """What must be live of a join; it is also what is known of its streams."""

    late = shed = unknown = 0

    def __init__(self, query: Join) -> None:
        self.query, self.known = query, self
        self._histories = [StreamHistory(), StreamHistory()]
        self._told = [EARLIEST] * len(query.places)

    @property
    def replaced(self) -> int:
        """The number of samples that gave way to another one of their time."""
        count = 0
        for side, history in zip(self.query.sides, self._histories, strict=True):
            if side.lifetimes == "samples":
                count += replaced([list(fold(changes).items()) for changes in history.accepted.values()], side)
        return count

    @property
    def now(self) -> Progress:
        """How far both streams are."""
        return Progress(min(self._watermarks))

    @property
    def _watermarks(self) -> list[int]:
        """The watermark of each side: what the least of its streams says of events that are changed."""
        least = [INFINITY, INFINITY]
        for (side, _), told in zip(self.query.places, self._told, strict=True):
            least[side] = min(least[side], told)
        return [
            watermark(changes, tick, event_ends_move=side.has_ids)
            for changes, tick, side in zip(self.query.changes, least, self.query.sides, strict=True)
        ]

    @property
    def is_waiting(self) -> bool:
        """True if changes wait for others of their event."""
        return any(history.waiting for history in self._histories)

    def take(self, arrival: Arrival, run: Run) -> None:
        """Take a micro-batch that was run, and compare what came of it.

        Raises:
            AssertionError: The output is another.
        """
        for place, batch in enumerate(arrival.batches):
            for step in batch.changes:
                self._histories[self.query.places[place][0]].add(step)
            told = EARLIEST if batch.punctuation is None else batch.punctuation
            self._told[place] = max(self._told[place], told)
        if not self.is_waiting:
            differ(run.output, self._wanted())

    def _wanted(self) -> Counter[Row]:
        query, found = self.query, Counter[Row]()
        sides = [Side(side.has_ids, side.lifetimes == "samples") for side in query.sides]
        histories = [self._events(side) for side in range(2)]
        for key in {*histories[0], *histories[1]}:
            both = [history.get(key, []) for history in histories]
            if query.is_eager:
                live = rows(query.kind, both[0], both[1], query.on)
            else:
                live = final_rows(query.kind, sides, both, self._watermarks, query.on)
            for (start, end, left, right), count in live.items():
                values = (left, right) if query.has_pairs else (left,)
                found[Row(key, (start, end), (start, end), values)] += count
        return found

    def _events(self, side: int) -> Mapping[Hashable, list[Event[Any]]]:
        found = {key: list(fold(some).items()) for key, some in self._histories[side].accepted.items()}
        is_sampled = self.query.sides[side].lifetimes == "samples"
        lasting = {key: joined(some, self.query.sides[side]) if is_sampled else some for key, some in found.items()}
        changes, keeps = self.query.changes[side], self.query.sides[side].keeps
        kept = {key: [event for _, event in some if keeps(event.payload)] for key, some in lasting.items()}
        return {key: [of for event in some for of in under(changes, event)] for key, some in kept.items()}


def meets_often(left: int, right: int) -> bool | None:
    """Return whether two payloads meet, as most do; of some it is not known."""
    return None if (left + right) % 7 == 0 else left % 4 != right % 4


def meets_rarely(left: int, right: int) -> bool:
    """Return whether two payloads meet, as few do."""
    return left % 3 == right % 3


CONDITIONS: Sequence[Callable[[Any, Any], bool | None] | None] = (None, meets_often, meets_rarely)
"""Conditions of joins."""
