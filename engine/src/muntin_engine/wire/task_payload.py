"""A planned query as it travels to the workers, and each input of it as the tasks that read its rows see it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from muntin import Module
from muntin.schemas import Field
from muntin_engine.modules.meter import Meter, clock
from muntin_engine.modules.skipping import forbids_null
from muntin_engine.plan import Input, Plan
from muntin_engine.plan.evaluator_query import EvaluatorQuery, MakesOnce, evaluator_query
from muntin_engine.plan.identity import plan_compatibility
from muntin_engine.plan.window_steps import steps_of
from muntin_engine.plan.worker_settings import WorkerSettings
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.time.progress_tracker import ProgressTracker
from muntin_engine.time.window_grid import TickGrid, grid_of
from muntin_engine.wire.bucket_ids import bucket_ids
from muntin_engine.wire.overflows import Overflows


@dataclass(frozen=True, slots=True)
class InputColumns:
    """The form in which the columns of an input travel.

    Attributes:
        payload: The Arrow types in which the columns `i0`, `i1`, ... of the payload travel. If the input keeps events
            that a filter leaves out, the last column flags all other events.
        has_changes: True if a column names the change of each row; otherwise each is an insertion.
        id: The Arrow type in which ids travel; None if events have none.
    """

    payload: tuple[pa.DataType, ...]
    has_changes: bool = False
    id: pa.DataType | None = None


@dataclass(frozen=True)
class Read:
    """The fact that a module reads a column of an input, with the type that it expects.

    Attributes:
        place: The place of the column in the payload of its input.
        field: The type that the module reads.
        reader: The label of the module in the query's metrics.
        sources: The sources of the rows that it reads; empty for all sources.
    """

    place: int
    field: Field
    reader: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class InputTask:
    """One input of a query, as the tasks that read its rows see it.

    Attributes:
        query: The query.
        side: The place of the input among the inputs of the query.
    """

    query: TaskPayload
    side: int

    @cached_property
    def plan_input(self) -> Input:
        """The input as the plan describes it."""
        return self.query.plan.inputs[self.side]

    @cached_property
    def columns(self) -> InputColumns:
        """The form in which the columns of the input travel, without those of keys."""
        return self.query.columns[self.side]

    @cached_property
    def tracker(self) -> ProgressTracker:
        """The tracker of the input's progress."""
        plan_input = self.plan_input
        return ProgressTracker(
            policy=plan_input.progress,
            sources=plan_input.sources,
            steps=steps_of(self.query.plan),  # windows at whose ends the watermark matters: it moves from end to end
            changes=plan_input.changes,
            rules=plan_input.rules,
        )

    @cached_property
    def key_names(self) -> tuple[str, ...]:
        """The names of the key columns."""
        return tuple(f"k{place}" for place, _ in enumerate(self.query.keys))

    @cached_property
    def payload_names(self) -> tuple[str, ...]:
        """The names of the columns that make the payload."""
        return tuple(f"i{place}" for place in range(len(self.columns.payload)))

    @cached_property
    def projected_payload_names(self) -> tuple[str, ...]:
        """The names of the payload columns that the projected rows have.

        The mark of filtered events, if there is one, is not projected: a map task adds it as the last column.
        """
        return self.payload_names[:-1] if self.plan_input.keeps_filtered else self.payload_names

    @cached_property
    def reads(self) -> tuple[Read, ...]:
        """The columns in which a module does not accept every null: it skips a row with a forbidden null there."""
        reads: list[Read] = []
        for module in self.query.plan.modules:
            if module.side != self.side:
                continue
            for stream in module.streams:
                for place, part in zip(stream.columns, stream.reads, strict=True):
                    if forbids_null(part):
                        read = Read(place=place, field=part, reader=module.metric_label, sources=stream.sources)
                        reads.append(read)
        return tuple(reads)

    @cached_property
    def carried_names(self) -> tuple[str, ...]:
        """The names of all columns of the projected rows of the input."""
        columns = self.plan_input.columns
        names = ["start"]
        for role in ("end", "id", "new_end", "signal", "source"):
            if getattr(columns, role) is not None:
                names.append(role)
        if self.columns.has_changes:
            names.append("change")
        if columns.conditions:
            names.append("kept")
        names += [column.name for column in self.plan_input.length_columns]
        return (*names, *self.key_names, *columns.ranges, *self.projected_payload_names)


@dataclass(frozen=True)
class TaskPayload(MakesOnce):
    """A planned query as it travels to the workers.

    Everything else that a worker needs to know of the query is derived from the fields, once in each worker.

    Attributes:
        plan: The plan, as `Plan.for_workers` returns it.
        identity: The parts of the query that its state depends on, as the driver spells them.
        keys: The Arrow types in which the key columns `k0`, `k1`, ... travel.
        columns: The form in which the columns of each input travel.
        results: The Arrow schema of the results.
        evicted: The Arrow schema of the output for rows that leave; None if the query has no such output.
        is_static: True if the input is a static DataFrame, so that everything closes after its rows.
        is_timed: True if the query says how long its stages and modules take.
        worker: The limits that workers observe.
        place: The place of the query among the queries of one pass.
    """

    plan: Plan
    identity: Mapping[str, Any]
    keys: tuple[pa.DataType, ...]
    columns: tuple[InputColumns, ...]
    results: pa.Schema
    evicted: pa.Schema | None = None
    is_static: bool = False
    is_timed: bool = False
    worker: WorkerSettings = WorkerSettings()  # noqa: RUF009  # it is frozen
    place: int = 0

    def __getstate__(self) -> dict[str, object]:
        """Pickle the fields only, without what was derived from them."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @cached_property
    def cache_token(self) -> bytes:
        """A name of the query that no other has in this worker, in any session."""
        return os.urandom(16)

    @cached_property
    def meters(self) -> list[Meter]:
        """The meter of each module's calls."""
        return [Meter(clock if self.is_timed else None) for _ in self.plan.modules]

    @cached_property
    def overflows(self) -> Overflows:
        """The results that their columns could not hold."""
        return Overflows(fails=self.worker.overflow_fails)

    @cached_property
    def query(self) -> EvaluatorQuery:
        """The query in the terms of evaluators."""
        query = evaluator_query(self.plan, self.meters)
        return replace(
            query,
            # A static input is one batch, after which no key holds events: there is nothing to shed.
            most_held=None if self.is_static else query.most_held,
            most_wake_ups=self.worker.most_wake_ups,
            most_patterns=self.worker.most_patterns,
        )

    @cached_property
    def inputs(self) -> tuple[InputTask, ...]:
        """The inputs, as the tasks that read their rows see them."""
        return tuple(InputTask(self, side) for side, _ in enumerate(self.columns))

    @cached_property
    def trackers(self) -> tuple[ProgressTracker, ...]:
        """The tracker of the progress of each input."""
        return tuple([input_task.tracker for input_task in self.inputs])

    @property
    def input(self) -> InputTask:
        """The input of a query that has only one."""
        (input_task,) = self.inputs
        return input_task

    @cached_property
    def buckets(self) -> tuple[int, ...]:
        """The ids of the buckets."""
        return bucket_ids(self.plan.buckets, self.place)

    @cached_property
    def window_grids(self) -> tuple[TickGrid, ...]:
        """The grids of the windows, by which open windows are counted; none unless windows are regular."""
        steps = steps_of(self.plan)  # the windows at whose ends alone output changes
        if steps:
            return tuple(map(grid_of, steps))
        grid = self.plan.window.grid()
        return () if grid is None else (grid_of(grid),)

    @cached_property
    def labels_of_skipping_modules(self) -> tuple[str, ...]:
        """The labels of the modules that do not accept every row, such as one with a null that they do not read."""
        return tuple(module.metric_label for module in self.plan.modules if module.skips_rows)

    @cached_property
    def compatibility(self) -> Compatibility:
        """The query's identity, with the modules that may continue from older versions."""
        return plan_compatibility(self.plan, self.identity)

    @cached_property
    def codec(self) -> Codec:
        """The codec for this query's state."""
        return Codec.of(self.modules)

    @property
    def modules(self) -> list[Module]:
        """The modules of the plan."""
        return [module.module for module in self.plan.modules]

    @cached_property
    def key_names(self) -> tuple[str, ...]:
        """The names of the key columns in the projected inputs."""
        return self.inputs[0].key_names

    @cached_property
    def time_type(self) -> pa.DataType:
        """The type of times in the results."""
        return self.results.field(self.plan.lifetime_column).type.field("start").type
