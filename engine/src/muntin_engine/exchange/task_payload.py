"""What travels to the workers: the query, its modules and its schemas."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from muntin import Module
from muntin.schemas import Field
from muntin.windows import RegularWindows
from muntin_engine.core.query import WindowedQuery
from muntin_engine.core.slice_grid import Grid, RangeGrid, SliceGrid
from muntin_engine.exchange.bound_form import BoundForm
from muntin_engine.exchange.worker_settings import WorkerSettings
from muntin_engine.progress import ProgressTracker
from muntin_engine.state.codec import Codec, records_of
from muntin_engine.state.compatibility import Compatibility


@dataclass(frozen=True)
class Read:
    """What a module reads of an input.

    Attributes:
        place: The place of the input among all of the query.
        field: The type it reads.
        reader: What the module is called in the query's metrics.
    """

    place: int
    field: Field
    reader: str


@dataclass(frozen=True)
class TaskPayload:
    """Everything a worker needs to evaluate a query.

    Attributes:
        query: The query in the evaluator's terms.
        identity: What the state depends on.
        keys: The Arrow types in which the key columns `k0`, `k1`, ... travel.
        inputs: The Arrow types in which the input columns `i0`, `i1`, ... travel.
        reads: What the modules read of the inputs, as far as they do not accept every null.
        names: By the name of a travelling column, the query's own name for it; those the query does not name are left
            out.
        has_changes: True if rows say what they do; otherwise each is an insertion.
        is_point: True if events last one tick.
        is_static: True if the input is a static DataFrame, so that everything closes after its rows.
        reach: See `Plan.reach`.
        buckets: The ids of the buckets.
        results: The Arrow schema of the results.
        outputs: The types of the modules' results.
        evaluator: The name of the evaluator.
        forms: The modules' columnar forms, if the evaluator computes with them.
        steps: The windows at whose ends alone output changes; none if it may change elsewhere.
        window_names: What the results call them; none if there is one specification.
        tracker: What says how far the input is.
        is_timed: True if the query says how long its stages and modules take.
        unit: The unit of integer times, if they have one.
        has_filter: True if insertions are tested; a column `kept` says which of them are left out.
        worker: How workers look after themselves.
    """

    query: WindowedQuery
    identity: Mapping[str, Any]
    keys: tuple[pa.DataType, ...]
    inputs: tuple[pa.DataType, ...]
    reads: tuple[Read, ...]
    names: Mapping[str, str]
    has_changes: bool
    is_point: bool
    is_static: bool
    reach: int
    buckets: tuple[int, ...]
    results: pa.Schema
    outputs: tuple[Field, ...]
    evaluator: str
    forms: tuple[BoundForm, ...] = ()
    steps: tuple[RegularWindows, ...] = ()
    window_names: tuple[str, ...] = ()
    tracker: ProgressTracker = ProgressTracker()  # noqa: RUF009  # it is frozen
    is_timed: bool = False
    unit: str | None = None
    has_filter: bool = False
    worker: WorkerSettings = WorkerSettings()  # noqa: RUF009  # it is frozen

    @cached_property
    def name(self) -> bytes:
        """Names the query among all that a worker may see, also those of other sessions."""
        return os.urandom(16)

    @property
    def compatibility(self) -> Compatibility:
        """What the state depends on, with the modules that may go on from older versions."""
        return Compatibility(self.identity, self.modules, [bound.form for bound in self.forms])

    @property
    def modules(self) -> list[Module]:
        """The modules."""
        return [binding.module for binding in self.query.bindings]

    @property
    def grids(self) -> tuple[Grid, ...]:
        """The slices of the query, or its ranges of windows; none if windows close elsewhere than at their ends."""
        return SliceGrid.shared(self.steps) if self.is_point and self.steps else tuple(map(RangeGrid.of, self.steps))

    @property
    def key_names(self) -> tuple[str, ...]:
        """The names of the key columns in the projected input."""
        return tuple(f"k{place}" for place in range(len(self.keys)))

    @property
    def input_names(self) -> tuple[str, ...]:
        """The names of the input columns in the projected input."""
        return tuple(f"i{place}" for place in range(len(self.inputs)))

    @property
    def choosy_labels(self) -> list[str]:
        """What the modules that do not accept every row are called in the query's metrics."""
        return list(dict.fromkeys(read.reader for read in self.reads))

    @property
    def module_labels(self) -> list[str]:
        """What the modules are called in the query's metrics."""
        if self.query.is_operator:
            return [self.query.bindings[0].module.name]
        return [output.name for output in self.outputs]

    @property
    def time_type(self) -> pa.DataType:
        """The type of times in the results."""
        return self.results.field("window").type.field("start").type

    @cached_property
    def codec(self) -> Codec:
        """The codec for this query's state."""
        return Codec(set().union(*(records_of(binding.module) for binding in self.query.bindings)))
