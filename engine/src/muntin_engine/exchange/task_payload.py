"""A planned query as it travels to the workers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import pyarrow as pa

from muntin import Module
from muntin.schemas import Field
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.core.meter import Meter, clock
from muntin_engine.core.slice_grid import Grid, RangeGrid, SliceGrid
from muntin_engine.exchange.bound_form import BoundForm, bound_forms
from muntin_engine.exchange.bucket_ids import bucket_ids
from muntin_engine.exchange.input_task import InputColumns, InputTask
from muntin_engine.plan.plan import Plan
from muntin_engine.plan.windowed import windowed_query
from muntin_engine.state.codec import Codec, records_of
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.workers.settings import WorkerSettings


@dataclass(frozen=True)
class TaskPayload:
    """The plan of a query, and what only the workers need besides.

    All else that they read of a query follows from these; a worker works it out once.

    Attributes:
        plan: The plan, as `Plan.for_workers` returns it.
        identity: What the state depends on, as the driver spells it.
        keys: The Arrow types in which the key columns `k0`, `k1`, ... travel.
        columns: The form in which the columns of each input travel.
        results: The Arrow schema of the results.
        is_static: True if the input is a static DataFrame, so that everything closes after its rows.
        is_timed: True if the query says how long its stages and modules take.
        worker: How workers look after themselves.
    """

    plan: Plan
    identity: Mapping[str, Any]
    keys: tuple[pa.DataType, ...]
    columns: tuple[InputColumns, ...]
    results: pa.Schema
    is_static: bool = False
    is_timed: bool = False
    worker: WorkerSettings = WorkerSettings()  # noqa: RUF009  # it is frozen

    def __getstate__(self) -> dict[str, object]:
        """Leave everything out of the pickle that follows from the fields."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @cached_property
    def name(self) -> bytes:
        """Names the query among all that a worker may see, also those of other sessions."""
        return os.urandom(16)

    @cached_property
    def meters(self) -> list[Meter]:
        """The meter of each module's calls."""
        return [Meter(clock if self.is_timed else None) for _ in self.plan.modules]

    @cached_property
    def query(self) -> EvaluatorQuery:
        """The query in the evaluators' terms."""
        return windowed_query(self.plan, self.meters)

    @cached_property
    def forms(self) -> tuple[BoundForm, ...]:
        """The modules' columnar forms, if the evaluator computes with them."""
        return bound_forms(self.plan, self.meters)

    @cached_property
    def inputs(self) -> tuple[InputTask, ...]:
        """The inputs, as the tasks that read their rows see them."""
        return tuple(
            InputTask(self.plan, side, self.keys, columns, self.time_type) for side, columns in enumerate(self.columns)
        )

    @property
    def input(self) -> InputTask:
        """The input of a query that has only one."""
        (only,) = self.inputs
        return only

    @cached_property
    def buckets(self) -> tuple[int, ...]:
        """The ids of the buckets."""
        return bucket_ids(self.plan.buckets)

    @cached_property
    def grids(self) -> tuple[Grid, ...]:
        """The slices of the query, or its ranges of windows; none if windows close elsewhere than at their ends."""
        steps = self.plan.steps
        return SliceGrid.shared(steps) if self.plan.input.is_point and steps else tuple(map(RangeGrid.of, steps))

    @cached_property
    def compatibility(self) -> Compatibility:
        """The query's identity, with the modules that may continue from older versions."""
        return Compatibility(self.identity, self.modules, self.plan.forms)

    @cached_property
    def codec(self) -> Codec:
        """The codec for this query's state."""
        return Codec(set().union(*map(records_of, self.modules)))

    @property
    def modules(self) -> list[Module]:
        """The modules."""
        return [module.module for module in self.plan.modules]

    @cached_property
    def key_names(self) -> tuple[str, ...]:
        """The names of the key columns in the projected inputs."""
        return self.inputs[0].key_names

    @cached_property
    def outputs(self) -> tuple[Field, ...]:
        """The columns of the modules' results, as `Plan.outputs` has them."""
        return self.plan.outputs

    @cached_property
    def time_type(self) -> pa.DataType:
        """The type of times in the results."""
        return self.results.field("window").type.field("start").type
